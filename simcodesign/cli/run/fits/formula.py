"""``fit --formula``: forms of the user's own, fitted and judged beside the best model of the normal form."""

from __future__ import annotations

from collections.abc import Iterable

from simcodesign.cli.commands.fit import FitOptions
from simcodesign.cli.run.fits.fit import check, fit_arguments, measurements_of, target_of
from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import parse
from simcodesign.fitting.batch_predictions import default_target
from simcodesign.fitting.fit import fit
from simcodesign.fitting.formulas.fit_formula import fit_formula
from simcodesign.fitting.formulas.write_formulas import write_formulas
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.sweep_table import TOTALS
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import complain, print_all, write_json
from simcodesign.report.fits.formula_tables import FittedBeside, formula_tables, formulas_dict
from simcodesign.report.fits.tables import Heading


def run_fit_formula(options: FitOptions) -> None:
    """Fit, print, and write the fitted formulas."""
    check(options)
    known = parsed_constants(options.own.settings)
    measurements = _totals(options, measurements_of(options))
    arguments = fit_arguments(options)
    given = target_of(options, measurements)
    target = tuple(given or default_target(measurements).tolist())
    count, wanted = len(measurements.regions), not options.output.as_json
    with ProgressBar("fitting", total=count, unit="series", steps=True, wanted=wanted) as on_progress:
        own = fit_formula(
            measurements,
            options.own.formula,
            known=known,
            machine=options.machine,
            nonnegative=options.own.nonnegative,
            weighting=options.model.weighting,
            level=options.model.level,
            on_progress=on_progress,
        )
    arguments["target"] = target
    beside = FittedBeside(own, fit(measurements, **arguments))
    files = [str(file) for file in options.files]
    shown = {**arguments, "exponents": options.model.exponents, "known": known, "machine": options.machine}
    shown |= {"nonnegative": options.own.nonnegative}
    heading = Heading(measurements.parameters, target, given is not None, options.model.level, shown, files)
    if options.output.as_json:
        write_json(formulas_dict(beside, heading))
    else:
        print_all(formula_tables(beside, heading))
    if options.own.write_formulas:
        source = ", ".join(file.name for file in options.files)
        write_formulas(own, options.own.write_formulas, source, known)


def _totals(options: FitOptions, measurements: Measurements) -> Measurements:
    """Of a sweep only the times of the whole program, unless --metric chooses: those of the simulation where there are
    any, else of the forecast."""
    for total in () if options.model.metric else TOTALS:
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
