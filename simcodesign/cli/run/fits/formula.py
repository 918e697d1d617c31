"""``fit-formula``: forms of the user's own, fitted and compared with the best model of the normal form."""

from __future__ import annotations

from collections.abc import Iterable

from simcodesign.cli.options.fit_formula_options import FILES, FitFormulaOptions
from simcodesign.cli.run.fits.fit import arguments_and_heading, check, measurements_of
from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import parse
from simcodesign.fitting.fit import fit
from simcodesign.fitting.formulas.fit_formula import fit_formula
from simcodesign.fitting.formulas.write_formulas import write_formulas
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.sweep_table import TOTALS
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import complain
from simcodesign.report.fits.formula_tables import FittedBeside, formula_tables, formulas_dict


def run_fit_formula(options: FitFormulaOptions) -> None:
    """Fit, print, and write the fitted formulas."""
    check(options)
    requested = FILES.requested(options.write)
    known = parsed_constants(options.settings)
    measurements = _totals(options, measurements_of(options, [options.file]))
    more = {"known": known, "machine": options.machine, "nonnegative": options.nonnegative}
    arguments, heading = arguments_and_heading(options, measurements, [options.file], more)
    count, wanted = len(measurements.regions), not options.as_json
    with ProgressBar("fitting", total=count, unit="series", steps=True, wanted=wanted) as on_progress:
        own = fit_formula(
            measurements,
            options.formulas,
            known=known,
            machine=options.machine,
            nonnegative=options.nonnegative,
            weighting=options.weighting,
            level=heading.level,
            on_progress=on_progress,
        )
    beside = FittedBeside(own, fit(measurements, **arguments))
    requested.show(
        beside, lambda: formula_tables(beside, heading), options.as_json, lambda: formulas_dict(beside, heading)
    )
    for file in requested.paths("formulas"):
        write_formulas(own, file, options.file.name, known)


def _totals(options: FitFormulaOptions, measurements: Measurements) -> Measurements:
    """Keep only the times of the whole program of a sweep, unless --metric chooses.

    They are simulated times if there are any, otherwise forecast ones.
    """
    for total in () if options.metric else TOTALS:
        if total in measurements.metrics:
            complain(f"note: fitted is {total} of the sweep (--metric for another column)")
            return measurements.select(metrics=[total])
    return measurements


def parsed_constants(settings: Iterable[str]) -> dict[str, float]:
    """Names and values of ``--set``, also with units (``m=64 KiB``), in SI units."""
    values: dict[str, float] = {}
    for text in settings:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (equals and name and value) or name in values:
            what = "a name that is set twice" if name in values else "not a name and its value"
            raise InputError(what, Place("--set"), value=text, allowed="name=value, e.g. n=1000 or m='64 KiB'")
        expression = parse(value, Place("--set"), with_units=True)
        if expression.names:
            raise InputError("a value that needs other names", Place("--set"), value=text, allowed="numbers")
        values[name] = float(expression.evaluate({}))
    return values
