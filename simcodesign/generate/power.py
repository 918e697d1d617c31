"""The power of operations while they run, in a table of distinct rows, since most operations have the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import COMPUTE, HELD, KERNEL, KINDS, MEMORY, READ, RECEIVE, SEND, WRITE
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.generate.block_schedule import Piece
from simcodesign.generate.columns import Column
from simcodesign.generate.plan import NONE, Powers

#: Part of a machine that draws power for an operation of a kind.
PART = {
    COMPUTE: "processor",
    SEND: "network",
    RECEIVE: "network",
    READ: "disk",
    WRITE: "disk",
    MEMORY: "memory",
    KERNEL: "accelerator",
    HELD: "network",
}
#: Bytes of an operation that its row and the sum of its power over time take at most.
BYTES_PER_OPERATION = 120

Int32s = NDArray[np.int32]


@dataclass
class PowerTable:
    """The rows met so far. A row is some pieces, and joules of a sent byte."""

    pieces: list[tuple[float, float, float]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # of every row
    per_byte_j: list[float] = field(default_factory=list)
    rows: dict[tuple[object, ...], int] = field(default_factory=dict)

    def of_kind(self, kind: int, machine: Machine) -> int:
        """Return the row of a built-in kind of operation, NONE if it draws nothing."""
        part = getattr(machine, PART[kind]) if kind in PART else None
        watts = getattr(part, "dynamic_power_w", None)
        per_byte = getattr(part, "energy_per_byte_j", None) if kind == SEND else None
        if not watts and not per_byte:
            return NONE
        return self._row(((0.0, 1.0, float(watts or 0.0)),), float(per_byte or 0.0))

    def of_block(self, pieces: Sequence[Piece], ranks: int) -> Int32s | int:
        """Return the row of a block, or the row of every rank if they differ."""
        parts = [np.broadcast_arrays(*np.atleast_1d(piece.since, piece.until, piece.watts)) for piece in pieces]
        wide = max((len(part[0]) for part in parts), default=1)
        if wide == 1:
            return self._row(tuple(tuple(float(each[0]) for each in part) for part in parts))
        every = np.array([[np.broadcast_to(each, ranks) for each in part] for part in parts])  # (pieces, 3, ranks)
        return np.array([self._row(tuple(map(tuple, rank.tolist()))) for rank in every.transpose(2, 0, 1)], np.int32)

    def _row(self, pieces: tuple[tuple[float, ...], ...], per_byte_j: float = 0.0) -> int:
        drawing = tuple(piece for piece in pieces if piece[2] and piece[1] > piece[0])
        if not drawing and not per_byte_j:
            return NONE
        key = (drawing, per_byte_j)
        if key not in self.rows:
            self.rows[key] = len(self.ends)
            self.pieces += [(since, until, watts) for since, until, watts in drawing]
            self.ends.append(len(self.pieces))
            self.per_byte_j.append(per_byte_j)
        return self.rows[key]

    def marked(self, column: Column, machine: Machine) -> Column:
        """Return the column with its rows, unless it has them."""
        if "power" in column.extra:
            return column
        rows: FloatOrArray = self.of_kind(column.kind, machine)
        return replace(column, extra={**column.extra, "power": rows})

    def of_kinds(self, kind: NDArray[np.int8], machine: Machine) -> Int32s:
        """Rows of operations by their kinds alone."""
        return np.array([self.of_kind(number, machine) for number in range(len(KINDS))], np.int32)[kind]

    def built(self, row: Int32s) -> Powers:
        """Return the table, for operations of these rows."""
        since, until, watts = np.array(self.pieces, dtype=np.float64).reshape(-1, 3).T
        start = np.array([0, *self.ends], np.int64)
        return Powers(row, start, since, until, watts, np.array(self.per_byte_j, dtype=np.float64))
