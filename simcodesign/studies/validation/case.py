"""A validation case: a number of the literature or of theory (or a row of them), and how this system computes it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from simcodesign.comparison.compare import Comparison
from simcodesign.comparison.formulas.ladder import FormulaComparison
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.describe.measured.times import MeasuredValue

#: Name of one value of a case: a word, or a number on the axis of the case.
Label = str | int | float
#: Which reading a case tests. ``source`` compares numbers of the source with each other, and tests neither.
READINGS = ("forecast", "simulation", "both", "source")
SENSES = ("equal", "at_least", "at_most")
#: Where an input of a case is from. ``published``: legible in the text of the source. ``public``: printed by others.
#: ``reconstructed``: lost, and derived from other numbers of the source. ``assumed``: not known. ``chosen``: by us,
#: among readings that the text allows, or because it fits.
ORIGINS = ("published", "public", "reconstructed", "assumed", "chosen")
#: Origins of numbers that are ours.
OURS = ("reconstructed", "assumed", "chosen")
#: Values by label. Keys of a Mapping are invariant, so that words alone would be no labels.
Values = Mapping[Any, float]
NAME = re.compile(r"[a-z0-9.-]+(/[a-z0-9.-]+)+")


#: Subjects of the collections of cases, in the order of the report.
KINDS = ("papers", "theory", "measurements", "other simulators", "")


@dataclass(frozen=True)
class Collection:
    """Cases of one card of the report, as ``COLLECTION`` in the ``__init__.py`` of their folder declares.

    The subject of the collection, one of ``KINDS``, and its title. InputError for another kind.
    """

    kind: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError("kind of a collection of cases", value=self.kind, allowed=", ".join(KINDS[:-1]))


@dataclass(frozen=True)
class Tolerance:
    """How far a value may be from what is expected, and why.

    The limit is ``relative`` of that or ``absolute`` in the unit of the case, whichever is more. ``sense``: where only
    ``at_least`` or ``at_most`` is claimed. InputError without a reason, and for what would let everything or nothing
    pass.
    """

    reason: str
    relative: float = 0.0
    absolute: float = 0.0
    sense: str = "equal"

    def __post_init__(self) -> None:
        if self.sense not in SENSES:
            raise InputError("sense of a tolerance", value=self.sense, allowed=", ".join(SENSES))
        if not self.reason:
            raise InputError("a tolerance without a reason")
        for name, margin in (("relative", self.relative), ("absolute", self.absolute)):
            if not (math.isfinite(margin) and margin >= 0):
                raise InputError(f"{name} part of a tolerance", value=margin, allowed="a number of 0 or above")

    def holds(self, value: float, expected: float) -> bool:
        """Return whether the value is what is expected.

        Nothing is within a tolerance of what is no number, or no finite one: it would be beyond every bound.
        """
        if not (math.isfinite(value) and math.isfinite(expected)):
            return False
        margin = max(self.absolute, self.relative * abs(expected))
        match self.sense:
            case "at_least":
                return value >= expected - margin
            case "at_most":
                return value <= expected + margin
            case _:
                return abs(value - expected) <= margin

    @property
    def two_sided(self) -> Tolerance:
        """Return the tolerance for both sides: for a known value, not only a bound on it."""
        return replace(self, sense="equal")

    def __str__(self) -> str:
        allowed = [f"{100 * self.relative:g} %"] if self.relative else []
        allowed += [f"{self.absolute:g}"] if self.absolute else []
        return {"equal": "", "at_least": "at least; ", "at_most": "at most; "}[self.sense] + (
            f"within {' or '.join(allowed)}" if allowed else "exact"
        )


@dataclass(frozen=True)
class Derived:
    """One line of a derivation, ``symbol = formula``, evaluated with these values."""

    symbol: str
    formula: str
    values: Mapping[str, float] = field(default_factory=dict)
    unit: str = ""
    about: str = ""

    @cached_property
    def expression(self) -> Expression:
        """The formula, parsed."""
        return parse(self.formula)

    @cached_property
    def value(self) -> float:
        """Its value."""
        return float(self.expression.evaluate(self.values))

    @property
    def filled(self) -> str:
        """The formula with the numbers filled in."""
        numbers = {name: _number(value) for name, value in self.values.items()}
        return re.sub(r"[A-Za-z_]\w*", lambda word: numbers.get(word[0], word[0]), self.formula)

    def __str__(self) -> str:
        parts = [self.symbol, self.formula, *([self.filled] if self.values else [])]
        return " = ".join([*parts, f"{self.value:.6g} {self.unit}".rstrip()])


def _number(value: float) -> str:
    """As in a formula: whole numbers in full, negative ones in brackets."""
    text = f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"
    return f"({text})" if value < 0 else text


@dataclass(frozen=True)
class Readings:
    """The answers to a case: a value for every label, by each reading that is under test.

    ``formula``: value of a formula of the literature; it is shown with the readings, and not judged.
    ``ladders``: where the readings differ, or a formula and the simulation, which effect explains it, by a title.
    ``plot`` draws on the axes that it is given (Matplotlib); without one, the values are plotted over the labels.
    """

    forecast: Values = field(default_factory=dict)
    simulation: Values = field(default_factory=dict)
    ladders: Mapping[str, Comparison | FormulaComparison] = field(default_factory=dict)
    derivation: tuple[Derived, ...] = ()
    notes: tuple[str, ...] = ()
    plot: Callable[[Any], None] | None = None
    formula: Values = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A claim, its author, and how it is measured here.

    ``expected``: values of the source, by label; ``own``: results of the source's own equations, if they are known to
    give something else. ``needs``: inputs of which the source may lack some (None): then nothing can be recovered from
    it. ``measure`` returns the answers; a case of the reading ``source`` has none, but an own value for each expected
    one. ``because``: why the claim, which is of other runs or machines, does not hold here; a case that is
    reproduced after all differs then, since the reason is none. ``quick`` cases run in the tests, ``full`` ones only
    on demand. ``measured``: what was measured on a real machine, with its spread, by label, in the unit of the case;
    mostly what is expected is the value of each. The report then shows formula, forecast, simulation and measured
    value, the error of each, and what the simulation does not explain. ``collection``:
    set as cases are loaded. ``printed``: whether the source prints what is expected; without it, what is expected was
    computed here, and the case is a consistency check of our own. ``inputs``: the origin, one of ``ORIGINS``, of
    everything that the computation of own values and readings needs. The verdict depends on both: a source is
    inconsistent only if all inputs are published, and a number that needs an input of ours is reproduced under a
    chosen reading. InputError for a case that cannot be judged, or that checks nothing.
    """

    name: str
    claim: str
    source: str
    unit: str
    expected: Values
    tolerance: Tolerance
    reading: str
    measure: Callable[[], Readings] | None = None
    own: Values = field(default_factory=dict)
    needs: Mapping[str, float | None] = field(default_factory=dict)
    workload: str = ""
    machine: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    axis: str = ""
    derivation: tuple[Derived, ...] = ()
    because: str = ""
    quick: bool = False
    full: bool = False
    measured: Mapping[Any, MeasuredValue] = field(default_factory=dict)
    collection: Collection = field(default_factory=Collection)
    printed: bool = False
    inputs: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InputError("name of a case", value=self.name, allowed="group/name in small letters, digits, . and -")
        if self.reading not in READINGS:
            raise InputError(f"{self.name}: reading", value=self.reading, allowed=", ".join(READINGS))
        if not (self.claim and self.source and self.expected):
            raise InputError(f"{self.name}: a case needs a claim, a source and expected values")
        if not self.own.keys() <= self.expected.keys():
            raise InputError(f"{self.name}: recomputed what is not expected", value=[*self.own])
        if not self.measured.keys() <= self.expected.keys():
            raise InputError(f"{self.name}: measured what is not expected", value=[*self.measured])
        if self.measured and self.own:
            raise InputError(f"{self.name}: own values of what was measured", value=[*self.own], allowed="because")
        if unknown := {*self.inputs.values()} - {*ORIGINS}:
            raise InputError(f"{self.name}: origin of an input", value=min(unknown), allowed=", ".join(ORIGINS))
        if self.missing:
            return
        if (self.measure is None) != (self.reading == "source"):
            raise InputError(f"{self.name}: measure", allowed="needed for every reading but source")
        if self.reading == "source" and self.own.keys() != self.expected.keys():
            raise InputError(f"{self.name}: own values", value=[*self.own], allowed="one for every expected value")

    @property
    def group(self) -> str:
        """Group of the case: the first part of its name."""
        return self.name.partition("/")[0]

    @property
    def missing(self) -> tuple[str, ...]:
        """Inputs that the source lacks."""
        return tuple(name for name, value in self.needs.items() if value is None or math.isnan(value))

    @property
    def is_published(self) -> bool:
        """Whether what is expected was printed or measured by others."""
        return self.printed or bool(self.measured)

    @property
    def ours(self) -> tuple[str, ...]:
        """Inputs that are not from the source nor from anything public, with their origins."""
        return tuple(f"{name} ({origin})" for name, origin in self.inputs.items() if origin in OURS)

    @property
    def can_contradict(self) -> bool:
        """Whether a contradiction is one of the source: it prints the number and every input."""
        return self.printed and bool(self.inputs) and {*self.inputs.values()} == {"published"}

    @property
    def tested(self) -> tuple[str, ...]:
        """The readings under test."""
        return {"both": ("forecast", "simulation"), "source": ()}.get(self.reading, (self.reading,))
