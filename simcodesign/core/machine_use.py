"""How much of a machine an answer is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simcodesign.core.to_json import fields_of


@dataclass(frozen=True)
class BackgroundUse:
    """What other jobs send on the same links: ``about`` says it, ``nodes`` of them do. Of a simulation with it,
    ``fraction`` is that of the time in which links were busy, and ``link_load`` that of the makespan in which it had
    the link that it had longest; None where it is left out."""

    about: str
    nodes: int
    load: float
    fraction: float | None = None
    link_load: float | None = None

    @property
    def text(self) -> str:
        """All of it."""
        if self.fraction is None or self.link_load is None:
            return self.about + (", left out here" if self.nodes > 1 else "")
        busiest = f"{min(self.link_load, 1.0):.1%} of the time on its busiest link"
        return f"{self.about}: {self.fraction:.1%} of what links carry, {busiest}"


@dataclass(frozen=True)
class MachineUse:
    """How many ``nodes`` of ``of_nodes`` have ranks, and so on. ``links``: those that carry messages, counted by a
    simulation with the effect ``links``; else None. ``hint``: how else ranks may be placed, where nodes are left.
    ``background``: what other jobs send; None without any."""

    nodes: int
    of_nodes: int
    processors: int
    of_processors: int
    of_links: int
    links: int | None = None
    hint: str = ""
    background: BackgroundUse | None = None

    def json_fields(self) -> dict[str, Any]:
        """Of others only where there are any."""
        return fields_of(self, without=() if self.background else ("background",))

    @property
    def text(self) -> str:
        """All of it in a line."""
        parts = [
            _share(self.nodes, self.of_nodes, "node"),
            _share(self.processors, self.of_processors, "processor"),
            *([] if self.links is None else [_share(self.links, self.of_links, "link")]),
        ]
        more = [self.hint, "" if self.background is None else self.background.text]
        return "; ".join([", ".join(parts), *filter(None, more)])


def _share(part: int, whole: int, name: str) -> str:
    if part == whole > 1:
        return f"all {whole:,} {name}s"
    return f"{part:,} of {whole:,} {name}{'' if whole == 1 else 's'}"
