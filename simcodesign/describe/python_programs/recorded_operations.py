"""Stored form of the operations that a program in Python yields: operations, phases, starts and waits.

An operation is a tuple: its kind, its name, its size or amount, and further parameters. Equal operations
are equal tuples, so that a program is stored as numbers of distinct operations. What is in them is checked when they
are yielded (``recording``), where the line is known.
"""

from __future__ import annotations

from typing import Any, Protocol

COMPUTE, ACCESS, SEND, RECEIVE, COLLECTIVE = "compute", "access", "send", "receive", "collective"
MEMORY, KERNEL, COPY, OVERLAP = "memory", "kernel", "copy", "overlap"
PHASE, START, WAIT = "phase", "start", "wait"
#: Part of a rank that does operations of a kind, the processor last.
PARTS = {MEMORY: "memory", ACCESS: "disk", KERNEL: "accelerator", COPY: "link", COMPUTE: "processor"}


class Operation(tuple[Any, ...]):
    """Next operation of a rank, as ``sc.rank.compute`` and the others make it; a program yields it."""

    __slots__ = ()


class Handle:
    """What ``yield sc.rank.start(...)`` gives, for ``sc.rank.wait``."""

    __slots__ = ("entry", "rank", "waited")

    def __init__(self, rank: int, entry: int) -> None:
        self.rank, self.entry, self.waited = rank, entry, False


class Run(Protocol):
    """The run of one rank, as its groups see it."""

    rank: int
    size: int

    def join(self, colour: object, line: int) -> int | None:
        """Note a call of ``sc.rank.group``; its number, or None for a rank that belongs to none."""

    def place_in(self, number: int) -> tuple[int, int]:
        """Rank in a group, and how many ranks this has."""

    def member(self, number: int, rank: int) -> int:
        """Rank among all ranks of a rank of a group whose members are known."""


#: The run that is under way; None outside.
current: list[Run | None] = [None]
