"""Waiting for what was started before, and polling it."""

from __future__ import annotations

from dataclasses import dataclass

from simcodesign.describe.demands.base import Demand


@dataclass(frozen=True)
class Wait(Demand):
    """Continue when all operations started under these ``names`` are done."""

    names: tuple[str, ...]
    uses_parts = frozenset[str]()

    @property
    def label(self) -> str:
        return f"wait for {', '.join(self.names)}"

    @property
    def title(self) -> str:
        return self.label


@dataclass(frozen=True)
class Poll(Demand):
    """Do the operations started under these ``names`` whose first message has arrived, and leave the others for later.

    As ``MPI_Iprobe``, and what follows if it finds a message.
    """

    names: tuple[str, ...]
    uses_parts = frozenset[str]()

    @property
    def label(self) -> str:
        return f"poll {', '.join(self.names)}"

    @property
    def title(self) -> str:
        return self.label
