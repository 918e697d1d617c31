"""Fitted formulas as a file of formulas, which ``compare --formula`` takes.

Coefficients are written as numbers in their places: what is compared checks the units of every term, and a number that
is a coefficient takes the unit that its term needs. Constants of a machine stay under their names, so that the
formula can be compared on other machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.describe.yaml.formulas import formulas_from
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.fitting.as_workload.names import one_line, quoted
from simcodesign.fitting.formulas.formula_fit import FormulaFit, FormulaFits
from simcodesign.fitting.readers.sweep_table import RATIO, READINGS, TOTALS


def formulas_text(fits: FormulaFits, source: str = "", given: Mapping[str, float] | None = None) -> str:
    """Return the file's text. ``source``: what they were fitted to; ``given``: further values to insert.

    A fit to a component of a sweep (``simulated_communication_s``) is a formula of that component; any other is taken
    as one of the total in seconds. InputError for a column of a sweep that is no time.
    """
    lines = ["simcodesign: 1", "formulas:"]
    several = len(fits) > len(fits.forms)
    for fit in fits:
        name = " ".join(part for part in (fit.name, fit.region, fit.metric) if part) if several else fit.name
        lines += [f"  {quoted(name)}:", *(f"    {line}" for line in _lines(fit, source, given or {}))]
    text = "\n".join(lines) + "\n"
    formulas_from(parse_yaml(text, "formulas").mapping(("simcodesign", "formulas"))["formulas"])  # it can be read
    return text


def write_formulas(
    fits: FormulaFits, path: str | Path, source: str = "", given: Mapping[str, float] | None = None
) -> None:
    """Write the file, whole or not at all; otherwise as ``formulas_text``. InputError if it cannot be written."""
    text = formulas_text(fits, source, given)
    with replacing_text(Path(path)) as file:
        file.write(text)


def _lines(fit: FormulaFit, source: str, given: Mapping[str, float]) -> Iterator[str]:
    formula = fit.form.formula
    expression = quoted(fit.form.text_with({**given, **fit.values}))
    component = _component(fit.metric)
    yield f"total: {expression}" if component is None else f"components: {{{component}: {expression}}}"
    if formula.valid is not None:
        yield f"valid: {quoted(formula.valid.text)}"
    if formula.word is not None:
        yield f"word: {quoted(formula.word.text)}"
    if formula.source:
        yield f"source: {quoted(formula.source)}"
    yield f"about: {quoted(_about(fit, source))}"


def _component(metric: str) -> str | None:
    """Return the component of time that a column of a sweep is.

    None for a total. InputError for one that is no time.
    """
    if metric in TOTALS or not (metric.startswith(READINGS) or metric == RATIO):
        return None
    name = metric.partition("_")[2].removesuffix("_s")
    if not metric.endswith("_s") or name not in COMPONENTS:
        allowed = f"{', '.join(TOTALS)}, or a component of time: {', '.join(COMPONENTS)}"
        raise InputError("a formula for what is no time", Place("--write"), value=metric, allowed=allowed)
    return name


def _about(fit: FormulaFit, source: str) -> str:
    parameters = zip(fit.form.parameters, fit.points.min(0), fit.points.max(0), strict=True)
    ranges = ", ".join(f"{name} {low:.6g} to {high:.6g}" for name, low, high in parameters)
    fitted_to = " of ".join(part for part in (one_line(fit.metric), source) if part)
    return f"{fit.formula} fitted to {fitted_to or 'measurements'}; {ranges}; SMAPE {fit.smape:.2g} %"
