"""The forecast as a formula: seconds of every phase in symbols, to be compared with equations of the literature.

The program is walked symbolically, under assumptions that let every operation be one product of a count and a price:
Hockney's messages sent one by one (startup per message + bytes x time per byte) without receive overhead and without
hops, all ranks alike, P a power of two, process grids longer than two in every dimension unless they are written as
numbers. Within them the formula is what ``forecast`` computes. ``SYMBOLS`` says what the prices are; parameters and
equations of the workload keep their names. Where a block replaces a constant of the machine, its expression stands for
the symbol.

Nothing is evaluated on the way (``9**9**9**9`` stays as it is): a coefficient is a list of products, and what all of
them share is determined by comparing factors, not by SymPy's simplification.

Sources: R. Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994); the collectives for P = 2^k:
Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005), sections 3 and 4; Armstrong and Eigenmann, SPECseis96, equations 1 to 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simcodesign.analytic.demands.base import closed_form
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices, check_constants
from simcodesign.analytic.formulas.symbolic_products import collected
from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.describe.demands.base import ONE, Demand
from simcodesign.describe.programs.program import PlacedDemand, placed_demands
from simcodesign.describe.workload import Workload

#: A formula with more parts than this is not put together.
MOST_PARTS = 20_000


def formula(workload: Workload) -> dict[str, Any]:
    """Seconds of every phase, all its repetitions, as SymPy expressions by phase, in program order.

    Every expression is a sum of (count) x (price), unevaluated. Raises InputError like ``phase_formula``.
    """
    return {phase: phase_formula(workload, phase) for phase in workload.phases()}


def phase_formula(workload: Workload, phase: str) -> Any:
    """Seconds of one phase (``outer/inner`` for one in another), 0 if it takes none.

    Raises InputError without SymPy, and naming the place of whatever has no formula: a step that depends on ``rank``
    or has ``when``, a schedule, a replaced constant beyond the model, a name of the workload that is in ``SYMBOLS``.
    """
    sympy = _sympy()
    if workload.has_overlap:
        raise InputError("parts that go on beside others have no formula", workload.place, allowed="forecast it")
    if workload.has_index:
        what, allowed = "a loop with an index has no formula in symbols yet", "forecast it"
        raise InputError(what, workload.place, allowed=allowed)
    if workload.is_open:
        raise InputError("an open stream has formulas of its own, which the forecast names", workload.place)
    try:
        booked = [
            (price, (*(to_sympy(repeat) for repeat in placed.repeats), *counts))
            for placed in placed_demands(workload.program)
            if placed.phase == phase
            for price, counts in _payments(sympy, workload, placed)
        ]
        return collected(sympy, booked)
    except RecursionError as error:
        raise _too_deep(workload, phase) from error


def expanded(formula: Any, workload: Workload) -> Any:
    """The formula with equations of the workload in place of their names, down to its parameters and symbols.

    Only put in, not simplified. Raises InputError if it becomes larger than ``MOST_PARTS`` or too deep, or has a
    condition within a condition.
    """
    sympy = _sympy()
    sizes: dict[Any, int] = {}
    definitions: dict[Any, Any] = {}
    try:
        for name in workload.equation_order:
            symbol, equation = sympy.Symbol(name), to_sympy(workload.equations[name])
            sizes[symbol] = _size(equation, sizes)
            if sizes[symbol] <= MOST_PARTS:
                definitions[symbol] = _put_in(sympy, equation, definitions, workload.equations[name].place)
        if _size(formula, sizes) > MOST_PARTS:
            what = f"a formula with its equations put in has more than {MOST_PARTS:,} parts"
            raise InputError(what, workload.place, allowed="the formula in the names of its equations")
        return _put_in(sympy, formula, definitions, workload.place)
    except RecursionError as error:
        raise _too_deep(workload, "with its equations put in") from error


def formula_latex(formula: Any) -> str:
    """A formula in LaTeX, in the order in which it was built. InputError if it is nested too deeply."""
    try:
        return str(_sympy().latex(formula, order="none"))
    except RecursionError as error:
        raise InputError("the formula is nested too deeply for LaTeX", allowed="a shallower expression") from error


def _sympy() -> Any:
    to_sympy(ONE)  # says what is missing if SymPy is
    import sympy  # optional dependency

    return sympy


def _too_deep(workload: Workload, what: str) -> InputError:
    return InputError("a formula is nested too deeply for SymPy", workload.place, value=what)


def _payments(sympy: Any, workload: Workload, placed: PlacedDemand) -> Iterator[Payment]:
    """Everything that one demand pays."""
    demand, constants = placed.demand, placed.constants
    payments = closed_form(demand).payments(demand, SymbolicPrices(sympy, workload, constants, demand.place))
    _check_alike(demand)
    check_constants(constants)
    yield from payments


def _check_alike(demand: Demand) -> None:
    """InputError where ranks may differ in what they pay. Whom a message goes to makes no difference."""
    if demand.when is not None:
        raise InputError("'when' makes ranks differ, so there is no formula", demand.place, value=demand.when.text)
    for amount in demand.amounts():
        if "rank" in amount.names:
            raise InputError("ranks differ, so there is no formula", demand.place, value=amount.text)


def _size(expression: Any, sizes: Mapping[Any, int]) -> int:
    """Number of parts, symbols counted as what stands for them."""
    return sizes.get(expression, 1) + sum(_size(part, sizes) for part in expression.args)


def _put_in(sympy: Any, expression: Any, definitions: Mapping[Any, Any], place: Place | None) -> Any:
    """The expression with symbols replaced. SymPy's own ``subs`` and ``xreplace`` would evaluate what they touch."""
    if expression in definitions:
        return definitions[expression]
    if isinstance(expression, sympy.Piecewise):
        pieces = [tuple(_put_in(sympy, part, definitions, place) for part in piece.args) for piece in expression.args]
        if any(condition.has(sympy.Piecewise) for _, condition in pieces):
            raise InputError("a condition within a condition in SymPy", place, allowed="products, max")
        return sympy.Piecewise(*pieces, evaluate=False)
    parts = [_put_in(sympy, part, definitions, place) for part in expression.args]
    if all(new is old for new, old in zip(parts, expression.args, strict=True)):
        return expression
    for kind in (sympy.Add, sympy.Mul):
        if isinstance(expression, kind):
            parts = [inner for part in parts for inner in _flat(kind, part)]
    decided = isinstance(expression, sympy.Rel) and all(part.is_Number for part in parts)
    return expression.func(*parts, evaluate=decided)


def _flat(kind: Any, part: Any) -> tuple[Any, ...]:
    """A sum in a sum as its terms, a product in a product as its factors: without brackets, unless they begin with a
    number (``- - x``)."""
    flat = isinstance(part, kind) and not part.args[0].is_Number
    return tuple(part.args) if flat else (part,)
