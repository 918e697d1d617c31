"""The forecast as a formula: seconds of every phase in symbols, to be compared with equations of the literature.

The program is walked symbolically, under assumptions that let every operation be one product of a count and a price:
Hockney's messages sent one by one (startup per message + bytes x time per byte) without receive overhead and without
hops, all ranks alike, P a power of two, process grids longer than two in every dimension unless they are written as
numbers. Within them the formula is what ``forecast`` computes. ``SYMBOLS`` lists the prices; parameters and
equations of the workload keep their names. If a block replaces a constant of the machine, its expression replaces
the symbol. Loops with an index are sums over it, in closed form if they are polynomial or geometric.

Nothing is evaluated before the end (``9**9**9**9`` stays as it is): a coefficient is a list of products, and what all
of them share is determined by comparing factors, not by SymPy's simplification.

Sources: R. Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994); the collectives for P = 2^k:
Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005), sections 3 and 4; Armstrong and Eigenmann, SPECseis96, equations 1 to 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simcodesign.analytic.demands.base import closed_form
from simcodesign.analytic.formulas.formula_prices import SYMBOLS, Payment, SymbolicPrices, check_constants
from simcodesign.analytic.formulas.symbolic_products import collected, put_in
from simcodesign.analytic.formulas.symbolic_sums import summed
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.units import FloatOrArray
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


def phase_formula(workload: Workload, phase: str, values: Mapping[str, FloatOrArray] | None = None) -> Any:
    """Seconds of one phase (``outer/inner`` for one in another), 0 if it takes none.

    ``values``: of parameters and equations; what is not done there is left out.

    Raises InputError without SymPy, and naming the place of whatever has no formula: a step that depends on ``rank``,
    a schedule, a replaced constant beyond the model, a name of the workload that is in ``SYMBOLS``.
    """
    sympy = _sympy()
    if workload.has_overlap:
        raise InputError("concurrent parts have no formula", workload.place, allowed="forecast it")
    if workload.is_open:
        raise InputError("an open stream has formulas of its own, which the forecast names", workload.place)
    try:
        booked = [
            payment
            for placed in placed_demands(workload.program)
            if placed.phase == phase and (values is None or placed.runs_at(values))
            for payment in _payments(sympy, workload, placed)
        ]
        return collected(sympy, booked)
    except RecursionError as error:
        raise _too_deep(workload, phase) from error


def expanded(formula: Any, workload: Workload) -> Any:
    """Return the formula with equations of the workload instead of their names, down to its parameters and symbols.

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
                definitions[symbol] = put_in(sympy, equation, definitions, workload.equations[name].place)
        if _size(formula, sizes) > MOST_PARTS:
            what = f"a formula with its equations put in has more than {MOST_PARTS:,} parts"
            raise InputError(what, workload.place, allowed="the formula in the names of its equations")
        return put_in(sympy, formula, definitions, workload.place)
    except RecursionError as error:
        raise _too_deep(workload, "with its equations put in") from error


def formula_latex(formula: Any) -> str:
    """Return a formula in LaTeX, in the order in which it was built. InputError if it is nested too deeply."""
    try:
        return str(_sympy().latex(formula, order="none"))
    except RecursionError as error:
        raise InputError("the formula is nested too deeply for LaTeX", allowed="a shallower expression") from error


def _sympy() -> Any:
    to_sympy(ONE)  # its error names what is missing if SymPy is
    import sympy  # optional dependency

    return sympy


def _too_deep(workload: Workload, what: str) -> InputError:
    return InputError("a formula is nested too deeply for SymPy", workload.place, value=what)


def _payments(sympy: Any, workload: Workload, placed: PlacedDemand) -> Iterator[Payment]:
    """Everything that one demand pays in all repetitions of the blocks around it."""
    demand, constants = placed.demand, placed.constants
    prices = SymbolicPrices(sympy, workload, constants, demand.place)
    payments = closed_form(demand).payments(demand, prices)
    _check_alike(demand)
    check_constants(constants)
    indices = {sympy.Symbol(block.index) for block in placed.blocks if block.index is not None}
    for (order, price), counts in payments:
        differs = bool(
            price.free_symbols & indices
        )  # a constant of the machine that a block replaces in each iteration
        factors = (*_condition(demand), *counts, *([price] if differs else []))
        yield prices.of(None) if differs else (order, price), _of_all_iterations(sympy, placed, factors)


def _of_all_iterations(sympy: Any, placed: PlacedDemand, factors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Factors of the sum over all iterations of the blocks around a demand, the innermost first."""
    for block in reversed(placed.blocks):
        repeat = to_sympy(block.repeat)
        if block.index is None:
            factors = (repeat, *factors)
            continue
        if block.index in SYMBOLS:
            what = f"the index {block.index} has the name of a symbol of the formula ({SYMBOLS[block.index][0]})"
            raise InputError(what, block.place, allowed="another name of the index")
        factors = summed(sympy, factors, block.index, repeat)
    return factors


def _condition(demand: Demand) -> tuple[Any, ...]:
    """1 where the condition of a demand holds, which is the same for all ranks; nothing without one."""
    when = demand.when
    return () if when is None else (to_sympy(parse(f"where({when.text}, 1, 0)", when.place)),)


def _check_alike(demand: Demand) -> None:
    """InputError where ranks may differ in what they pay. Whom a message goes to makes no difference."""
    of_ranks = {"rank", "group_rank"}
    if demand.when is not None and demand.when.names & of_ranks:
        raise InputError("'when' makes ranks differ, so there is no formula", demand.place, value=demand.when.text)
    for amount in demand.amounts():
        if amount.names & of_ranks:
            raise InputError("ranks differ, so there is no formula", demand.place, value=amount.text)


def _size(expression: Any, sizes: Mapping[Any, int]) -> int:
    """Return the number of parts, symbols counted as the expressions that they represent."""
    return sizes.get(expression, 1) + sum(_size(part, sizes) for part in expression.args)
