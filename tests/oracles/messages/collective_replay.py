"""Replay of a collective operation on data: what each rank holds is carried by the columns that were written, alone.

A test says what a rank puts into its messages and what it does with those that come, and then looks at what every rank
holds. Nothing is known here of algorithms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.generate.columns import Ranks


class Columns:
    """What was written, as tables: C operations of each of P ranks, of which some sit a column out."""

    def __init__(self, program_writer: Ranks) -> None:
        shape = (len(program_writer.columns), program_writer.count)
        self.program_writer = program_writer
        self.kind = np.array([column.kind for column in program_writer.columns], int)
        self.present = np.zeros(shape, bool)
        self.peer, self.match, self.size_bytes = np.zeros(shape, int), np.zeros(shape, int), np.zeros(shape)
        for row, column in enumerate(program_writer.columns):
            who = np.arange(program_writer.count) if column.who is None else column.who
            assert (np.diff(who) > 0).all()
            self.present[row, who] = True
            self.peer[row, who], self.size_bytes[row, who] = column.peer, column.size_bytes
            self.match[row, who] = 0 if column.match is None else column.match

    def __len__(self) -> int:
        return len(self.kind)


@dataclass
class Message:
    """One message, found from its receive: which columns of which ranks send and receive it."""

    source: int
    target: int
    sent_in: int
    received_in: int
    size: float


def paired(columns: Columns) -> list[Message]:
    """The messages; asserts that every send has exactly one receive and that both ends name each other."""
    messages = []
    for column, rank in np.argwhere(columns.present & (columns.kind == RECEIVE)[:, None]).tolist():
        source, offset = int(columns.peer[column, rank]), int(columns.match[column, rank])
        sent_in = column + offset
        assert offset < 0 <= sent_in
        assert columns.kind[sent_in] == SEND
        assert columns.present[sent_in, source]
        assert columns.peer[sent_in, source] == rank != source
        assert columns.size_bytes[sent_in, source] == columns.size_bytes[column, rank]
        messages.append(Message(source, rank, sent_in, column, float(columns.size_bytes[column, rank])))
    sends = np.argwhere(columns.present & (columns.kind == SEND)[:, None])
    assert sorted((m.sent_in, m.source) for m in messages) == [tuple(row) for row in sends.tolist()]
    return messages


@dataclass
class Replay:
    """Runs every rank's column of sends and receives; a receive waits until its message was sent.

    ``sends(rank, n, target, bytes)`` gives the payload of a rank's n-th send, ``receives(rank, source, payload)`` takes
    it in. AssertionError when ranks wait for each other.
    """

    columns: Columns
    sends: Callable[[int, int, int, float], object]
    receives: Callable[[int, int, object], None]
    sent: dict[tuple[int, int], object] = field(default_factory=dict)

    def run(self) -> None:
        count, ranks = self.columns.present.shape
        key = {(m.received_in, m.target): (m.sent_in, m.source) for m in paired(self.columns)}
        at, number = [0] * ranks, [0] * ranks
        moved = True
        while moved:
            moved = False
            for rank in range(ranks):
                while at[rank] < count and self._step(rank, at[rank], number, key):
                    at[rank] += 1
                    moved = True
        assert at == [count] * ranks

    def _step(self, rank: int, column: int, number: list[int], key: dict[tuple[int, int], tuple[int, int]]) -> bool:
        columns = self.columns
        if not columns.present[column, rank] or columns.kind[column] not in (SEND, RECEIVE):
            return True
        if columns.kind[column] == SEND:
            target, size = int(columns.peer[column, rank]), float(columns.size_bytes[column, rank])
            self.sent[column, rank] = self.sends(rank, number[rank], target, size)
            number[rank] += 1
            return True
        origin = key[column, rank]
        if origin not in self.sent:
            return False
        self.receives(rank, origin[1], self.sent.pop(origin))
        return True
