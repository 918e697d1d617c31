"""The unit of an expression over metrics, as far as it follows from the units of its names.

Units are products of powers of s, B, J, kg and money; operations and cycles count as numbers. A plain number may have
any dimension, so that ``time + energy`` is an error, and ``time + 1e-6*energy`` a choice of the user that is noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import (
    Call,
    Comparison,
    Expression,
    Name,
    Negation,
    Node,
    Number,
    Operation,
)

Powers = tuple[tuple[str, Fraction], ...]
_BASES: Mapping[str, Mapping[str, int]] = {
    "time": {"s": 1},
    "size": {"B": 1},
    "rate": {"s": -1},
    "bandwidth": {"B": 1, "s": -1},
    "per_byte": {"s": 1, "B": -1},
    "frequency": {"s": -1},
    "power": {"J": 1, "s": -1},
    "energy": {"J": 1},
    "energy_per_byte": {"J": 1, "B": -1},
    "cycles": {},
    "count": {},
}
#: Units of metrics that have no dimension in the table of units, by their names.
_OF_METRICS: Mapping[str, str] = {
    **dict.fromkeys(("price", "ownership_cost", "run_cost"), "money"),
    **dict.fromkeys(("carbon", "embodied_carbon"), "kg"),
}
#: Dimensions that are identified by their powers; a rate and a frequency are not.
_NAMED = ("time", "size", "bandwidth", "per_byte", "power", "energy", "energy_per_byte")
#: Functions whose value has the unit of their arguments.
_ALIKE = ("min", "max", "abs", "round", "ceil", "floor", "where")
_ROOTS = {"sqrt": Fraction(1, 2), "cbrt": Fraction(1, 3)}


@dataclass(frozen=True)
class Measure:
    """Powers of the base units; None if nothing is known. ``sure``: without a number that may have a unit itself."""

    powers: Powers | None
    sure: bool = True

    @property
    def plain(self) -> bool:
        """Whether it is a number without a unit, or nothing is known."""
        return not self.powers

    @property
    def dimension(self) -> str:
        """The dimension of these powers, "" for none or more than one."""
        return next((name for name in _NAMED if self.powers == powers_of(name)), "") if self.powers else ""

    @property
    def has_units(self) -> bool:
        """Whether it is of units with which numbers are printed."""
        return not {base for base, _ in self.powers or ()} & {*_OF_METRICS.values()}

    @property
    def unit(self) -> str:
        """In SI units, as ``J s`` or ``B/s``; "" for plain numbers."""
        above, below = (
            [_power(base, abs(power)) for base, power in self.powers or () if (power > 0) is positive]
            for positive in (True, False)
        )
        if not below:
            return " ".join(above)
        bottom = " ".join(below) if len(below) == 1 else f"({' '.join(below)})"
        return f"{' '.join(above) or '1'}/{bottom}"


UNKNOWN = Measure(None)
PLAIN = Measure(())


def powers_of(dimension: str) -> Powers | None:
    """Powers of a dimension of ``units.DIMENSIONS``; None for others."""
    bases = _BASES.get(dimension)
    return None if bases is None else _sorted({base: Fraction(power) for base, power in bases.items()})


def measured(expression: Expression, dimensions: Mapping[str, str]) -> tuple[Measure, tuple[str, ...]]:
    """Return the unit of an expression, and notes for the user; ``dimensions``: of its names.

    Raises InputError if it adds or compares quantities of different units.
    """
    walk = _Walk(expression, dimensions, [])
    return walk.of(expression.tree), tuple(dict.fromkeys(walk.notes))


@dataclass(frozen=True)
class _Walk:
    expression: Expression
    dimensions: Mapping[str, str]
    notes: list[str]

    def of(self, node: Node) -> Measure:
        match node:
            case Number():
                return Measure((), sure=False)
            case Name(name):
                dimension = self.dimensions.get(name, "")
                if not dimension and name in _OF_METRICS:
                    return Measure(((_OF_METRICS[name], Fraction(1)),))
                return Measure(powers_of(dimension))
            case Negation(operand):
                return self.of(operand)
            case Operation("*" | "/" | "//" as sign, left, right):
                return _product(self.of(left), self.of(right), 1 if sign == "*" else -1)
            case Operation("**", left, right):
                return _raised(self.of(left), right)
            case Operation(_, left, right):
                return self.alike([self.of(left), self.of(right)])
            case Comparison(_, operands):
                self.alike([self.of(operand) for operand in operands])
                return PLAIN
            case Call(function, arguments):
                return self.called(function, [self.of(argument) for argument in arguments])
        return UNKNOWN

    def called(self, function: str, arguments: list[Measure]) -> Measure:
        if function in _ALIKE:
            return self.alike(arguments[1:] if function == "where" else arguments)
        root, only = _ROOTS.get(function), arguments[0].powers
        if root is None or only is None:
            return UNKNOWN if root else PLAIN
        return Measure(_sorted({base: power * root for base, power in only}), arguments[0].sure)

    def alike(self, measures: list[Measure]) -> Measure:
        """Return the common unit of the terms of a sum or a comparison."""
        with_units = [measure for measure in measures if not measure.plain]
        for other in with_units[1:]:
            self.compared(with_units[0], other)
        if not with_units:
            return next(
                (measure for measure in measures if measure.powers is None),
                Measure((), all(measure.sure for measure in measures)),
            )
        return Measure(
            with_units[0].powers, all(measure.sure for measure in with_units) and len(with_units) == len(measures)
        )

    def compared(self, first: Measure, second: Measure) -> None:
        """Raise InputError for different units; add a note where a plain number may convert one into the other."""
        if first.powers == second.powers:
            return
        units = f"{first.unit} and {second.unit}"
        if first.sure and second.sure:
            what = f"{self.expression.text!r} adds or compares {units}"
            allowed = "terms of one unit, or a factor that makes them so, as in time + 1e-6*energy"
            raise InputError(what, self.expression.place, allowed=allowed)
        self.notes.append(f"{self.expression.text!r} adds or compares {units}: as numbers of SI units")


def _product(left: Measure, right: Measure, sign: int) -> Measure:
    if left.powers is None or right.powers is None:
        return Measure(None, sure=False)
    powers = dict(left.powers)
    for base, power in right.powers:
        powers[base] = powers.get(base, Fraction(0)) + sign * power
    return Measure(_sorted(powers), left.sure and right.sure)


def _raised(base: Measure, exponent: Node) -> Measure:
    """Return the unit of a power; unknown unless the exponent is a number."""
    value = exponent.operand if isinstance(exponent, Negation) else exponent
    if base.powers is None or (base.powers and not isinstance(value, Number)):
        return Measure(None, sure=False)
    if not base.powers or not isinstance(value, Number):
        return base
    times = Fraction(float(value.value)).limit_denominator(1000) * (-1 if isinstance(exponent, Negation) else 1)
    return Measure(_sorted({name: power * times for name, power in base.powers}), base.sure)


def _sorted(powers: Mapping[str, Fraction]) -> Powers:
    return tuple((base, powers[base]) for base in sorted(powers) if powers[base])


def _power(base: str, power: Fraction) -> str:
    return base if power == 1 else f"{base}^{power}"
