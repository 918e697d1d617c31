"""A formula that a user brings for the time of a workload, and times that were measured."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.operation_kinds import COMPONENTS


@dataclass(frozen=True)
class Formula:
    """Seconds of a workload in a closed form of the user's: for the ``total``, for ``phases`` or for ``components``, as
    far as it says. Expressions are over parameters and equations of the workload, ``P``, the symbols in
    ``describe.formulas.symbols``, constants of the machine by their paths, and ``symbols`` of its own. ``valid``: the
    condition under which it holds, everywhere if None. ``word``: bytes of a value, which makes ``t_w`` a time per
    value."""

    name: str
    total: Expression | None = None
    phases: Mapping[str, Expression] = field(default_factory=dict)
    components: Mapping[str, Expression] = field(default_factory=dict)
    valid: Expression | None = None
    symbols: Mapping[str, Expression] = field(default_factory=dict)
    word: Expression | None = None
    source: str = ""
    about: str = ""
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if self.total is None and not self.phases and not self.components:
            what = f"formula {self.name!r} gives no time"
            raise InputError(what, self.place, allowed="total, phases or components, with an expression each")
        check_components(self.components, self.place)

    def times(self) -> Iterator[tuple[str, Expression]]:
        """What it gives times of, in words, and the expression of each."""
        if self.total is not None:
            yield "total", self.total
        yield from ((f"phase {name}", expression) for name, expression in self.phases.items())
        yield from self.components.items()

    def json_fields(self) -> dict[str, object]:
        """Its texts."""
        shown: dict[str, object] = {"name": self.name}
        if self.total is not None:
            shown["total"] = self.total.text
        for key in ("phases", "components", "symbols"):
            if texts := {name: expression.text for name, expression in getattr(self, key).items()}:
                shown[key] = texts
        shown |= {key: one.text for key in ("valid", "word") if (one := getattr(self, key)) is not None}
        return shown | {key: text for key in ("source", "about") if (text := getattr(self, key))}


@dataclass(frozen=True)
class MeasuredTimes:
    """Seconds that were measured: of the whole, of phases and of components, as far as known. ``at``: the values of
    parameters, ``P`` among them, and ``machine`` the name of the machine, at which: a design point must have all of
    these; any has an empty name."""

    total_s: float | None = None
    phases_s: Mapping[str, float] = field(default_factory=dict)
    components_s: Mapping[str, float] = field(default_factory=dict)
    at: Mapping[str, float] = field(default_factory=dict)
    machine: str = ""
    source: str = ""
    about: str = ""
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if self.total_s is None and not self.phases_s and not self.components_s:
            raise InputError("no time was measured", self.place, allowed="total, phases or components")
        check_components(self.components_s, self.place)
        for time_s in (self.total_s or 0.0, *self.phases_s.values(), *self.components_s.values()):
            if not 0 <= time_s < float("inf"):
                raise InputError("a measured time", self.place, value=time_s, allowed="0 or above")


def check_components(components: Collection[str], place: Place) -> None:
    """InputError for a component of time that there is not."""
    for name in components:
        if name not in COMPONENTS:
            raise InputError("no such component of time", place, value=name, allowed=nearest(name, COMPONENTS))


def check_phases(given: Iterable[Formula | MeasuredTimes], phases: Collection[str]) -> None:
    """InputError for a phase that the workload, which has these, has not."""
    for one in given:
        for name in one.phases if isinstance(one, Formula) else one.phases_s:
            if name not in phases:
                raise InputError("no such phase", one.place, value=name, allowed=nearest(name, phases))
