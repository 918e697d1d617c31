"""Receives in SMPI's traces whose source is not a rank.

SMPI 3.32 writes -333 for MPI_ANY_SOURCE and for MPI_PROC_NULL. The two differ in what arrives: a program that ends has
received all messages sent to each of its ranks, so that receives from any rank take what the named ones leave.
"""

from __future__ import annotations

from collections import Counter

from simcodesign.describe.recordings.rank_log import RankLog


class UnnamedReceives:
    """Count the messages to each rank, and keep its receives without a source until all lines are read."""

    def __init__(self) -> None:
        self._left = Counter[int]()  # messages to each rank less receives from named ranks
        self._receives: list[tuple[RankLog, int]] = []

    def note_send(self, to: int) -> None:
        """Count a message to a rank."""
        self._left[to] += 1

    def note_receive(self, log: RankLog, source: int | None) -> None:
        """Count the receive that the rank is about to add; ``source``: None if it names no rank."""
        if source is None:
            self._receives.append((log, len(log)))
        else:
            self._left[log.rank] -= 1

    def settle(self) -> None:
        """Turn receives of ranks to which no message is left into receives from MPI_PROC_NULL, which take nothing."""
        for log, entry in self._receives:
            if self._left[log.rank] <= 0:
                log.received(entry, log.rank, 0)  # a message of a rank to itself is no message
