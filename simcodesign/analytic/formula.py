"""The forecast as a formula: seconds of every phase in symbols, to be held against equations of the literature.

The program is walked symbolically, under assumptions that let every operation be one product of a count and a price:
Hockney's messages (startup per message + bytes x time per byte) without receive overhead and without hops, all ranks
alike, P a power of two, process grids longer than two in every dimension unless they are written as numbers. Within
them the formula is what ``forecast`` computes. ``SYMBOLS`` says what the prices are; parameters and equations of the
workload keep their names. Where a block replaces a constant of the machine, its expression stands for the symbol.

Nothing is evaluated on the way (``9**9**9**9`` stays as it is): a coefficient is a list of products, and what all of
them share is found by comparing factors, not by SymPy's simplification.

Sources: R. Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994); the collectives for P = 2^k:
Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005), sections 3 and 4; Armstrong and Eigenmann, SPECseis96, equations 1 to 4.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expression import Expression, parse
from simcodesign.core.expression_sympy import to_sympy
from simcodesign.describe.constants import CONSTANTS, MODEL_OF
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.demands.replay import Replay
from simcodesign.describe.demands.resource_uses import Execute
from simcodesign.describe.program import MAIN_PHASE, Block, Step, phase_name
from simcodesign.describe.workload import Workload

#: What a formula assumes, in words.
ASSUMPTIONS = (
    "Hockney's messages without receive overhead and without hops, all ranks alike, P a power of two, "
    "more than two ranks in every dimension of a process grid"
)
#: The parameter that makes the time per byte a time per value, as the literature has it.
VALUE = "value_bytes"
#: Prices in the order in which they are printed: symbol -> (what it is, the constant of the machine behind it).
SYMBOLS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "t_c": ("seconds per flop, 1/processor.rate", "processor.rate"),
        "CPI": ("cycles per instruction, processor.cpi", "processor.cpi"),
        "t_clk": ("seconds per cycle, 1/processor.clock", "processor.clock"),
        "t_s": ("startup of a message, network.startup", "network.startup"),
        "t_w": (f"seconds per value of a message, {VALUE} x network.per_byte", "network.per_byte"),
        "t_B": ("seconds per byte of a message, network.per_byte", "network.per_byte"),
        "t_r": ("startup of a read, disk.read_startup", "disk.read_startup"),
        "t_x": ("startup of a write, disk.write_startup", "disk.write_startup"),
        "t_d": ("seconds per byte of a read or write, disk.per_byte", "disk.per_byte"),
    }
)
#: (collective, algorithm) -> messages one after another for P = 2^k, and what they carry in units of ``bytes``.
COLLECTIVES: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType(
    {
        ("broadcast", "binomial"): ("log2(P)", "log2(P)"),
        ("broadcast", "linear"): ("P - 1", "P - 1"),
        ("allreduce", "recursive_doubling"): ("log2(P)", "log2(P)"),
        ("allreduce", "ring"): ("2*(P - 1)", "2*(P - 1)/P"),
        ("allreduce", "reduce_broadcast"): ("2*log2(P)", "2*log2(P)"),
        ("allgather", "ring"): ("P - 1", "P - 1"),
        ("allgather", "bruck"): ("log2(P)", "P - 1"),
        ("allgather", "linear"): ("P - 1", "P - 1"),
        ("all_to_all", "pairwise"): ("P - 1", "P - 1"),
        ("all_to_all", "linear"): ("P - 1", "P - 1"),
        ("all_to_all", "bruck"): ("log2(P)", "log2(P)*P/2"),
        ("all_broadcast", "linear"): ("P - 1", "P - 1"),
        ("barrier", "dissemination"): ("log2(P)", "log2(P)"),
    }
)
#: A formula with more parts than this is not put together.
MOST_PARTS = 20_000
#: Constants of a machine that no symbol stands for; a block may set them to 0.
_LEFT_OUT = {"network.receive_overhead", "network.hop_latency"}
_LEFT_OUT |= {path for path in CONSTANTS if MODEL_OF.get(path, "hockney") != "hockney"}
_ONE = parse(1)


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
    if workload.is_open:
        raise InputError("an open stream has formulas of its own, which the forecast names", workload.place)
    try:
        booked = [
            (price, (*(to_sympy(repeat) for repeat in where.repeats), *counts))
            for where, step in _demands(workload.program, _Where(MAIN_PHASE))
            if where.phase == phase
            for price, counts in _bookings(sympy, workload, where, step)
        ]
        return _collected(sympy, booked)
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
    to_sympy(_ONE)  # says what is missing if SymPy is
    import sympy  # optional dependency

    return sympy


def _too_deep(workload: Workload, what: str) -> InputError:
    return InputError("a formula is nested too deeply for SymPy", workload.place, value=what)


# --- The walk ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Where:
    """Phase, factors of repetition and replaced constants at one place of the program."""

    phase: str
    repeats: tuple[Expression, ...] = ()
    constants: Mapping[str, Expression] = field(default_factory=dict)


#: What is paid (place in ``SYMBOLS``, price) and the factors of how often.
_Booking = tuple[tuple[int, Any], tuple[Any, ...]]


def _demands(program: tuple[Step, ...], where: _Where) -> Iterator[tuple[_Where, Demand]]:
    for step in program:
        if isinstance(step, Block):
            constants = {**where.constants, **dict(step.constants)}
            inside = _Where(phase_name(where.phase, step.phase), (*where.repeats, step.repeat), constants)
            yield from _demands(step.body, inside)
        else:
            yield where, step


def _bookings(sympy: Any, workload: Workload, where: _Where, step: Demand) -> Iterator[_Booking]:
    """Everything that one demand pays."""
    _check_alike(step)
    _check_constants(where)
    prices = _Prices(sympy, workload, where.constants, step.place)
    match step:
        case Compute():
            yield from _compute(prices, step)
        case DiskAccess():
            size, times = to_sympy(step.bytes), to_sympy(step.times)
            yield prices.of("t_r" if step.kind == "read" else "t_x"), (times,)
            yield prices.of("t_d"), (times, size)
        case MemoryAccesses():
            raise InputError("what caches serve has no formula", step.place)
        case Exchange():
            for count, messages, size in _neighbours(step):
                yield prices.of("t_s"), (sympy.Integer(count), messages)
                yield prices.bytes(size, (sympy.Integer(count), messages))
        case Collective():
            messages, sizes = (to_sympy(parse(text)) for text in COLLECTIVES[step.name, step.algorithm])
            yield prices.of("t_s"), (messages,)
            yield prices.bytes(step.bytes, (sizes,))
        case Send():
            yield prices.of("t_s"), ()
            yield prices.bytes(step.bytes, ())


def _compute(prices: _Prices, step: Compute) -> Iterator[_Booking]:
    for loop in step.loops:
        yield prices.of("t_c"), (to_sympy(loop.range), to_sympy(loop.operations))
    if step.amount is not None:
        price = {"flops": "t_c", "instructions": "CPI", "seconds": None}[step.unit]
        yield prices.of(price), (to_sympy(step.amount),)


def _neighbours(step: Exchange) -> Iterator[tuple[int, Any, Expression]]:
    """Neighbours of a rank in every dimension, messages to each of them and the size of a message."""
    for dim, (messages, size) in enumerate(zip(step.messages_by_dim, step.bytes, strict=True)):
        count = 2
        if step.grid is not None and not step.grid[dim].names:
            extent = float(step.grid[dim].evaluate({}))
            count = 0 if extent == 1 else 2 if step.periodic else min(2, int(extent) - 1)
        yield count, to_sympy(messages), size


def _check_alike(step: Demand) -> None:
    """InputError where ranks may differ in what they pay. Whom a message goes to makes no difference."""
    if isinstance(step, Replay):
        raise InputError("a schedule has no formula", step.place, allowed="simulate it")
    if isinstance(step, Execute):
        raise InputError("the time of an execute block is the machine's, so there is no formula", step.place)
    if step.when is not None:
        raise InputError("'when' makes ranks differ, so there is no formula", step.place, value=step.when.text)
    peer = step.to if isinstance(step, Send) else step.source if isinstance(step, Receive) else None
    for amount in step.expressions():
        if amount is not peer and "rank" in amount.names:
            raise InputError("ranks differ, so there is no formula", step.place, value=amount.text)


def _check_constants(where: _Where) -> None:
    for path in sorted(_LEFT_OUT & where.constants.keys()):
        value = where.constants[path]
        if value.names or value.evaluate({}) != 0:
            what = f"{path} is not in the formula, which takes {ASSUMPTIONS}"
            raise InputError(what, value.place, value=value.text, allowed="0")


@dataclass(frozen=True)
class _Prices:
    """The symbols, or the expressions that stand for them here."""

    sympy: Any
    workload: Workload
    constants: Mapping[str, Expression]
    place: Place

    def of(self, symbol: str | None) -> tuple[int, Any]:
        """The price and its place among ``SYMBOLS``; None is a price of 1, and CPI that of an instruction."""
        names = list(SYMBOLS)
        if symbol is None:
            return len(names), self.sympy.Integer(1)
        if symbol == "CPI":
            cycles, seconds = self._price("CPI"), self._price("t_clk")
            return names.index(symbol), self.sympy.Mul(cycles, seconds, evaluate=False)
        return names.index(symbol), self._price(symbol)

    def bytes(self, size: Expression, counts: tuple[Any, ...]) -> _Booking:
        """Bytes of messages: as values where ``value_bytes`` is a factor of their number."""
        size_bytes = to_sympy(size)
        if VALUE in self.workload.parameters and "network.per_byte" not in self.constants:
            values = _divided(self.sympy, size_bytes, self.sympy.Symbol(VALUE))
            if values is not None:
                return self.of("t_w"), (*counts, values)
        return self.of("t_B"), (*counts, size_bytes)

    def _price(self, symbol: str) -> Any:
        about, path = SYMBOLS[symbol]
        if path in self.constants:
            given = to_sympy(self.constants[path])
            rate = path in ("processor.rate", "processor.clock")
            return self.sympy.Pow(given, -1, evaluate=False) if rate else given
        if symbol in self.workload.parameters or symbol in self.workload.equations:
            what = f"the name {symbol} of the workload is that of a symbol of its formula ({about})"
            raise InputError(what, self.place, allowed="another name in the workload")
        return self.sympy.Symbol(symbol)


# --- Sums of products ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Product:
    """A number times factors, none of which is a number or a product."""

    number: Any
    factors: tuple[Any, ...]

    def without(self, number: Any, shared: Counter[Any]) -> _Product:
        """Divided by these factors, which it has."""
        left, rest = Counter(shared), []
        for factor in self.factors:
            if left[factor]:
                left[factor] -= 1
            else:
                rest.append(factor)
        return _Product(self.number / number, tuple(rest))

    def expression(self, sympy: Any) -> Any:
        if not self.factors:
            return self.number
        factors = self.factors if self.number == 1 else (self.number, *self.factors)
        return factors[0] if len(factors) == 1 else sympy.Mul(*factors, evaluate=False)


def _collected(sympy: Any, booked: Iterable[_Booking]) -> Any:
    """The sum of all that is booked: by price, with what all have in common in front."""
    priced: dict[tuple[int, Any], list[_Product]] = {}
    for key, counts in booked:
        product = _product(sympy, counts)
        if product.number != 0 and key[1] != 0:
            priced.setdefault(key, []).append(product)
    every = [product for products in priced.values() for product in products]
    front = _shared(every) if len(priced) > 1 else Counter[Any]()
    terms = []
    for key in sorted(priced, key=lambda key: key[0]):
        often = _factored(sympy, [product.without(1, front) for product in priced[key]])
        price = _product(sympy, (key[1],))
        if often.number == 0:
            continue
        terms.append(_Product(often.number * price.number, (*often.factors, *price.factors)).expression(sympy))
    if not terms:
        return sympy.Integer(0)
    total = terms[0] if len(terms) == 1 else sympy.Add(*terms, evaluate=False)
    return _Product(sympy.Integer(1), (*front.elements(), total)).expression(sympy)


def _factored(sympy: Any, products: Sequence[_Product]) -> _Product:
    """The sum of products as one product: like terms together, common factors in front of the sum of the others."""
    products = _merged(products)
    if len(products) <= 1:
        return products[0] if products else _Product(sympy.Integer(0), ())
    shared = _shared(products)
    rest = [product.without(1, shared) for product in products]
    number = _shared_number(sympy, [product.number for product in rest])
    parts = [part for product in rest for part in _parts(sympy, product.without(number, Counter()))]
    terms = [product.expression(sympy) for product in _merged(parts)]
    if not terms:
        return _Product(sympy.Integer(0), ())
    if len(terms) == 1:
        return _product(sympy, (number, *shared.elements(), *terms))
    return _Product(number, (*shared.elements(), sympy.Add(*terms, evaluate=False)))


def _parts(sympy: Any, product: _Product) -> list[_Product]:
    """The terms of a product that is nothing but a sum."""
    if product.number == 1 and len(product.factors) == 1 and isinstance(product.factors[0], sympy.Add):
        return [_product(sympy, (term,)) for term in product.factors[0].args]
    return [product]


def _merged(products: Iterable[_Product]) -> list[_Product]:
    """Products of the same factors added up; what cancels is left out."""
    found: dict[frozenset[tuple[Any, int]], _Product] = {}
    for product in products:
        key = frozenset(Counter(product.factors).items())
        known = found.get(key)
        found[key] = product if known is None else _Product(known.number + product.number, known.factors)
    return [product for product in found.values() if product.number != 0]


def _shared(products: Sequence[_Product]) -> Counter[Any]:
    """The factors that all products have."""
    every = (Counter(product.factors) for product in products)
    return functools.reduce(lambda a, b: a & b, every) if products else Counter()


def _shared_number(sympy: Any, numbers: Sequence[Any]) -> Any:
    """The largest rational number that leaves whole numbers, 1 if one of the numbers is a float."""
    if not numbers or not all(number.is_Rational for number in numbers):
        return sympy.Integer(1)
    whole = math.gcd(*(int(number.p) for number in numbers))
    return sympy.Rational(whole, math.lcm(*(int(number.q) for number in numbers)))


def _product(sympy: Any, expressions: Iterable[Any]) -> _Product:
    """All of them multiplied: numbers together, products as their factors, x/x of a name x left out."""
    number, factors = sympy.Integer(1), list[Any]()
    for expression in expressions:
        for factor in _factors(sympy, expression, False):
            inverse = _inverse(sympy, factor)
            if factor.is_Number:
                number = number * factor
            elif inverse in factors and (factor.is_Symbol or inverse.is_Symbol):
                factors.remove(inverse)
            else:
                factors.append(factor)
    return _Product(number, tuple(factors))


def _factors(sympy: Any, expression: Any, inverted: bool) -> Iterator[Any]:
    if isinstance(expression, sympy.Mul):
        for factor in expression.args:
            yield from _factors(sympy, factor, inverted)
    elif isinstance(expression, sympy.Pow) and expression.args[1] == -1:
        yield from _factors(sympy, expression.args[0], not inverted)
    else:
        yield _inverse(sympy, expression) if inverted else expression


def _inverse(sympy: Any, factor: Any) -> Any:
    """1/x; of a number as a number."""
    if factor.is_Number and factor != 0:
        return 1 / factor
    if isinstance(factor, sympy.Pow) and factor.args[1] == -1:
        return factor.args[0]
    return sympy.Pow(factor, -1, evaluate=False)


def _divided(sympy: Any, expression: Any, symbol: Any) -> Any | None:
    """The expression over the symbol if that is a factor of it (of all terms, in a sum), else None."""
    if expression == symbol:
        return sympy.Integer(1)
    if isinstance(expression, sympy.Add):
        terms = [_divided(sympy, term, symbol) for term in expression.args]
        return None if None in terms else sympy.Add(*terms, evaluate=False)
    for place, factor in enumerate(expression.args if isinstance(expression, sympy.Mul) else ()):
        quotient = _divided(sympy, factor, symbol)
        if quotient is not None:
            others = (*expression.args[:place], quotient, *expression.args[place + 1 :])
            return _product(sympy, others).expression(sympy)
    return None


# --- Equations put in ----------------------------------------------------------------------------------------


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
