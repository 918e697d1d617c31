"""What every kind of demand of a program has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from simcodesign.core.errors import Place
from simcodesign.core.expression import Expression


@dataclass(frozen=True)
class Demand:
    """What every kind of demand has: the ranks it applies to (all, when ``when`` is None) and its place in the file."""

    when: Expression | None
    place: Place = field(compare=False)

    def expressions(self) -> Iterator[Expression]:
        """Every expression of this demand."""
        if self.when is not None:
            yield self.when
