"""The verdict of ``--tolerance``: an exit status, by the errors of forecast, simulation or formulas."""

from __future__ import annotations

import math
from collections.abc import Mapping

from click.exceptions import Exit

from simcodesign.cli.options.shared import VerdictOptions, needs
from simcodesign.cli.run.scenario import parsed_share
from simcodesign.comparison.compare import Comparison
from simcodesign.comparison.measured.sources import MeasuredTable
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.report.common.terminal import complain

OUT_OF_TOLERANCE = 1
#: Possible subjects of an error of the total.
FORECAST, SIMULATION, FORMULAS = JUDGED = ("forecast", "simulation", "formulas")
NAN = float("nan")
AGAINST_MEASURED = " against what was measured"
_OF = Place("--tolerance-of")


def measured_tables(options: VerdictOptions) -> list[MeasuredTable]:
    """Return the tables of ``--measured``. Raises InputError for a column of values without any."""
    if options.value is not None and not options.measured:
        raise needs("--value", "--measured")
    return [MeasuredTable(path, options.value) for path in options.measured]


def tolerance_of(options: VerdictOptions, with_formulas: bool) -> float | None:
    """Return the fraction that an error may have; None if none is given. InputError for what cannot be judged."""
    known = JUDGED if with_formulas else (FORECAST, SIMULATION)
    for name in options.tolerance_of:
        if name not in known:
            raise InputError("no such result to judge", _OF, value=name, allowed=nearest(name, known))
    if options.tolerance_of and options.tolerance is None:
        raise needs("--tolerance-of", "--tolerance")
    return None if options.tolerance is None else parsed_share(options.tolerance, "--tolerance")


def judged_errors(comparison: Comparison, options: VerdictOptions) -> dict[str, float]:
    """Return the signed errors that count, by reading; nan if there is none.

    Errors are against the measurements if they are given, otherwise against the simulation. The error of the simulation
    is always against the measurements.
    """
    given = [one for one in comparison.formulas if one.given]
    to_measured = bool(options.measured)
    usual = SIMULATION if to_measured else FORMULAS if given else FORECAST
    against = AGAINST_MEASURED if to_measured else ""
    errors: dict[str, float] = {}
    for name in options.tolerance_of or [usual]:
        if name == FORMULAS:
            for one in given:
                error = one.measured_error if to_measured else one.error
                errors[f"formula {one.name}{against}"] = NAN if error is None else error
        elif name == SIMULATION or to_measured:
            errors[f"the {name}{AGAINST_MEASURED}"] = comparison.measured_errors.get(name, NAN)
        else:
            errors["the forecast"] = comparison.error
    return errors


def check_tolerance(errors: Mapping[str, float], limit: float | None) -> None:
    """Print the errors that exceed the limit, and exit with status 1 if any does.

    A nan error (nothing to compare with, or a total of 0) exceeds every limit.
    """
    outside = {what: error for what, error in errors.items() if limit is not None and not abs(error) <= limit}
    for what, error in outside.items():
        has_none = math.isnan(error)
        said = f"there is nothing to compare {what} with" if has_none else f"error of {what} {error:+z.3%}"
        complain(f"out of tolerance: {said}, allowed {limit:.4%}")
    if outside:
        raise Exit(OUT_OF_TOLERANCE)
