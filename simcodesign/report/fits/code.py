"""Fitted models to be pasted elsewhere: a LaTeX table, and a Python module with one function for each series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from simcodesign.fitting.fit import Fit, Fits
from simcodesign.fitting.normal_form import Factor, Model, Term
from simcodesign.report.fits.names import TAKEN, identifier, latex_name, latex_text, python_names, renamed
from simcodesign.report.fits.tables import Heading, short

#: Tables with more rows are broken over pages.
_PAGE = 40


# --- LaTeX ----------------------------------------------------------------------------------------------------


def latex_head(heading: Heading, series: int) -> str:
    """How the table begins."""
    names = {name: latex_name(name) for name in heading.parameters}
    at = ", ".join(
        f"{_symbol(names[name])} = {_number(value)}"
        for name, value in zip(heading.parameters, heading.target, strict=True)
    )
    kind = "longtable" if series > _PAGE else "tabular"
    needs = "% needs \\usepackage{longtable}\n" if series > _PAGE else ""
    columns = ["Region", "Metric", "Model", r"SMAPE (\%)", f"at ${at}$", rf"{heading.level * 100:.6g}\,\% interval"]
    return f"{needs}\\begin{{{kind}}}{{lllrrr}}\n\\hline\n{' & '.join(columns)} \\\\\n\\hline\n"


def latex_tail(series: int) -> str:
    """Return the last lines of the LaTeX table, which is a ``longtable`` if it has many series."""
    return f"\\hline\n\\end{{{'longtable' if series > _PAGE else 'tabular'}}}\n"


def latex_rows(fits: Fits, target: Sequence[float], level: float) -> list[str]:
    """One row of the table for each series."""
    return [_latex_row(fit, target, level) for fit in fits]


def _latex_row(fit: Fit, target: Sequence[float], level: float) -> str:
    names = {name: latex_name(name) for name in fit.model.parameters}
    prediction = fit.predict(target, level)
    interval = (
        "--" if prediction.low != prediction.low else f"${_number(prediction.low)}$ to ${_number(prediction.high)}$"
    )
    cells = [
        latex_text(fit.region),
        latex_text(fit.metric),
        f"${renamed(fit.model, names).latex}$",
        short(fit.smape if fit.smape >= 1e-9 else 0.0),
        f"${_number(prediction.value)}$",
        interval,
    ]
    return " & ".join(cells) + " \\\\\n"


def _symbol(name: str) -> str:
    """As models write the parameter."""
    return Model((name,), 0.0, (Term(1.0, (Factor(name, Fraction(1)),)),)).latex.partition(r" \, ")[2]


def _number(value: float) -> str:
    return Model((), value).latex


# --- Python ---------------------------------------------------------------------------------------------------


def python_head(heading: Heading) -> str:
    """Head of the module: its description, and the parameter of each argument."""
    names = python_names(heading.parameters)
    other = [f"{new} is {old!r}" for old, new in names.items() if old != new]
    arguments = [f"Arguments: {', '.join(names.values())}{' (' + ', '.join(other) + ')' if other else ''}."]
    text = " ".join(["Models that were fitted to measurements.", *arguments])
    return f"{text!r}\n\nfrom math import log2\n"


def python_parts(fits: Fits) -> list[tuple[str, str, str, float]]:
    """Region, metric, formula and SMAPE of each series."""
    names = python_names(fits.measurements.parameters)
    return [(fit.region, fit.metric, renamed(fit.model, names).python, fit.smape) for fit in fits]


class PythonModule:
    """Makes the functions of a module one after the other, and at the end the table of them all."""

    def __init__(self, parameters: Sequence[str]) -> None:
        self._arguments = ", ".join(python_names(parameters).values())
        self._taken = {*TAKEN}
        self._made: list[tuple[str, str, str]] = []

    def functions(self, parts: Sequence[tuple[str, str, str, float]]) -> Iterator[str]:
        """Yield a function for each series."""
        for region, metric, formula, smape in parts:
            name = identifier(f"{region}_{metric}", self._taken)
            self._made.append((region, metric, name))
            docstring = f"Region {region!r}, metric {metric!r}; SMAPE {smape:.3g} % at the measured points."
            yield f"\n\ndef {name}({self._arguments}):\n    {docstring!r}\n    return {formula}\n"

    def table(self) -> Iterator[str]:
        """All functions by region and metric."""
        yield "\n\nMODELS = {\n"
        for region, metric, name in self._made:
            yield f"    ({region!r}, {metric!r}): {name},\n"
        yield "}\n"
