"""How much of a machine an answer is about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineUse:
    """How many ``nodes`` of ``of_nodes`` have ranks, and so on. ``links``: those that carry messages, counted by a
    simulation with the effect ``links``; else None. ``hint``: how else ranks may be placed, where nodes are left."""

    nodes: int
    of_nodes: int
    processors: int
    of_processors: int
    of_links: int
    links: int | None = None
    hint: str = ""

    @property
    def text(self) -> str:
        """All of it in a line."""
        parts = [
            _share(self.nodes, self.of_nodes, "node"),
            _share(self.processors, self.of_processors, "processor"),
            *([] if self.links is None else [_share(self.links, self.of_links, "link")]),
        ]
        return ", ".join(parts) + (f"; {self.hint}" if self.hint else "")


def _share(part: int, whole: int, name: str) -> str:
    if part == whole > 1:
        return f"all {whole:,} {name}s"
    return f"{part:,} of {whole:,} {name}{'' if whole == 1 else 's'}"
