"""A formula that a user brings for the time of a workload."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.operation_kinds import COMPONENTS


@dataclass(frozen=True)
class Formula:
    """Seconds of a workload in a closed form of the user's.

    For the ``total``, for ``phases`` or for ``components``, as far as given. Expressions are over parameters and
    equations of the workload, ``P``, the symbols in ``describe.formulas.symbols``, constants of the machine by their
    paths, and ``symbols`` of its own. ``valid``: the condition under which it holds, everywhere if None. ``word``:
    bytes of a value, which makes ``t_w`` a time per value.
    """

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
        """Yield the times that it gives, in words, with the expression of each."""
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


def check_components(components: Collection[str], place: Place) -> None:
    """InputError for a component of time that there is not."""
    for name in components:
        if name not in COMPONENTS:
            raise InputError("no such component of time", place, value=name, allowed=nearest(name, COMPONENTS))


def check_phases(given: Iterable[str], phases: Collection[str], place: Place) -> None:
    """InputError for a phase that the workload, which has these, has not."""
    for name in given:
        if name not in phases:
            raise InputError("no such phase", place, value=name, allowed=nearest(name, phases))
