"""Fitting formulas of the user's own: their unknown coefficients by weighted least squares, series by series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.formulas.formula import Formula
from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml.files import load_machine
from simcodesign.describe.yaml.formulas import load_formulas
from simcodesign.fitting.fit import check_sizes
from simcodesign.fitting.fits import checked_level
from simcodesign.fitting.formulas.form import Form, form_of
from simcodesign.fitting.formulas.formula_fit import FormulaFit, FormulaFits
from simcodesign.fitting.formulas.known_names import KnownNames, names_of_machine
from simcodesign.fitting.formulas.variable_projection import Problem, solve
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable, as_measurements
from simcodesign.fitting.selection.candidate_fits import Block
from simcodesign.fitting.weights import block_of

#: A formula as a user may give it: an expression, also with a name before it, or the path of a file of formulas.
GivenFormula = str | Path | Formula
#: One or several.
GivenFormulas = GivenFormula | Iterable[GivenFormula]


def fit_formula(
    measurements: Measurements | BenchmarkTable | str | Path,
    formulas: GivenFormulas,
    *,
    known: Mapping[str, float] | None = None,
    machine: Machine | str | Path | None = None,
    nonnegative: bool = False,
    weighting: str = "relative",
    level: float = 0.9,
    on_progress: Callable[[int], object] | None = None,
) -> FormulaFits:
    """Fit the unknown coefficients of each formula to each series of the measurements.

    ``measurements``: the path of a file, or what ``read_table`` returns.
    ``formulas``: ``"c0 + c1*log2(P)*m + c2*P**x"``, ``"NAME = EXPRESSION"``, the path of a ``.yaml`` file of formulas,
    a ``Formula``, or several of these; totals are fitted. A name that is no parameter of the measurements is a
    coefficient, unless its value is ``known`` (by name, in SI units) or a constant of the ``machine`` (a description,
    or the name or path of one). ``nonnegative``: coefficients that enter linearly are zero or more. ``weighting``: as
    in ``fit``. ``level``: how surely an interval holds a coefficient. ``on_progress``: called with the number of
    series that were finished.

    Linear least squares for coefficients that enter linearly, variable projection for the others. Points where a
    formula's condition does not hold are left out.

    Raises InputError for a formula that cannot be fitted (see ``form_of``), two of one name, one that is undefined
    at measured points for all coefficients tried, an unknown weighting, and values that
    ``fit`` refuses for their size.

    >>> import simcodesign as sc
    >>> from pathlib import Path
    >>> file = Path("runs.csv")
    >>> _ = file.write_text("p,value\\n2,6\\n4,12\\n8,24\\n16,48\\n32,96\\n")
    >>> (one,) = sc.fit_formula(file, "slope*p")
    >>> round(one.values["slope"], 9)
    3.0
    """
    checked_level(level)
    measurements = as_measurements(measurements)
    given = (
        {} if machine is None else names_of_machine(machine if isinstance(machine, Machine) else load_machine(machine))
    )
    names = KnownNames(dict(known or {}), given)
    for name in measurements.parameters:
        if name in names.given:
            raise InputError("a value for a parameter of the measurements", value=name, allowed="other names")
    forms = tuple(form_of(formula, measurements.parameters, names) for formula in _given(formulas))
    check_sizes(measurements)
    block = block_of(measurements.means, measurements.counts, weighting, True)
    fits = []
    for row in range(len(measurements.regions)):
        fits += [_fit(measurements, form, block, row, nonnegative, level) for form in forms]
        if on_progress:
            on_progress(1)
    return FormulaFits(measurements, forms, tuple(fits))


def _given(formulas: GivenFormulas) -> list[Formula]:
    """All formulas, each with a name of its own."""
    several = [formulas] if isinstance(formulas, str | Path | Formula) else list(formulas)
    every: list[Formula] = []
    for number, one in enumerate(several, start=1):
        if not isinstance(one, str | Path | Formula):
            raise InputError(
                "not a formula", value=one, allowed="an expression, the path of a .yaml file, or a Formula"
            )
        default = "formula" if len(several) == 1 else f"formula {number}"
        every += [one] if isinstance(one, Formula) else load_formulas(one, default).formulas
    for formula in every:
        if sum(other.name == formula.name for other in every) > 1:
            raise InputError("two formulas have one name", value=formula.name, allowed="NAME = EXPRESSION")
    if not every:
        raise InputError("no formula", allowed="at least one")
    return every


def _fit(measurements: Measurements, form: Form, block: Block, row: int, nonnegative: bool, level: float) -> FormulaFit:
    region, metric = measurements.regions[row], measurements.metrics[row]
    there = block.root[row] > 0
    used = there & form.holds(measurements.points)
    series = measurements.place(row).path
    if not used.any():
        what = f"formula {form.name!r} is outside its range at all points"
        valid = form.formula.valid
        raise InputError(what, Place(path=series), value=None if valid is None else valid.text)
    problem = Problem(form, measurements.points[used], block.root[row][used], block.scaled[row][used], nonnegative)
    solution = solve(problem)
    if solution is None:
        what = f"formula {form.name!r} is not finite at measured points"
        allowed = "'valid:' with a condition in a file of formulas, or a form that is defined there"
        raise InputError(what, Place(path=series), value=form.text, allowed=allowed)
    return FormulaFit(region, metric, form, problem, solution, int((there & ~used).sum()), level)
