"""Layouts: which bytes of memory one item of a datatype has, in the order in which they are sent.

MPI 4.1, chapter 5: a type map is a sequence of basic types and displacements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
#: Types by the number of bytes copied together.
_UNITS: dict[int, np.dtype[Any]] = {
    16: np.dtype("c16"),
    8: np.dtype("u8"),
    4: np.dtype("u4"),
    2: np.dtype("u2"),
    1: np.dtype("u1"),
}


@dataclass(frozen=True)
class Layout:
    """Blocks of bytes at ``offsets`` with ``lengths``, shape (blocks,), from ``lb`` to ``lb + extent``.

    ``alignment``: in bytes, of the largest basic type; ``resized``: whether the program has set the bounds.
    """

    offsets: Places
    lengths: Places
    lb: int
    extent: int
    alignment: int = 1
    resized: bool = False

    @cached_property
    def size(self) -> int:
        """Bytes of one item, without gaps."""
        return int(self.lengths.sum())

    @cached_property
    def true_bounds(self) -> tuple[int, int]:
        """First byte, and end, of one item without gaps at its ends."""
        if not self.size:
            return 0, 0
        return int(self.offsets.min()), int((self.offsets + self.lengths).max())

    def bounds_of(self, count: int) -> tuple[int, int]:
        """Return first byte, and end, of ``count`` items, from the place of the first one."""
        (low, high), last = self.true_bounds, (count - 1) * self.extent
        return min(0, last) + low, max(0, last) + high

    @cached_property
    def is_dense(self) -> bool:
        """Whether items one after another have no gaps and begin at their nominal place."""
        return len(self.offsets) == 1 and not self.offsets[0] and not self.lb and self.extent == self.lengths[0]

    @cached_property
    def unit(self) -> int:
        """Bytes that can be copied together: a power of two up to 16."""
        common = gcd(16, self.extent, *map(int, np.unique(self.offsets)), *map(int, np.unique(self.lengths)))
        return common & -common

    @cached_property
    def _one_item(self) -> Places:
        return ranges(self.offsets // self.unit, self.lengths // self.unit)

    def index(self, at: int, count: int) -> Places:
        """Return the places of ``count`` items from item ``at`` on, in units, in the order of sending."""
        steps = np.arange(at, at + count, dtype=np.int64)[:, None] * (self.extent // self.unit)
        return (steps + self._one_item).ravel()

    def gather(self, memory: NDArray[np.uint8], at: int, count: int) -> NDArray[np.uint8]:
        """Return the bytes of ``count`` items from item ``at`` on, without gaps."""
        return self._in_units(memory)[self.index(at, count)].view(np.uint8)

    def scatter(self, memory: NDArray[np.uint8], at: int, data: NDArray[np.uint8]) -> None:
        """Put bytes where the items from item ``at`` on have them; the last item may be incomplete."""
        places = self.index(at, -(-len(data) // self.size))
        if len(data) % self.unit:
            memory[(places[:, None] * self.unit + np.arange(self.unit)).ravel()[: len(data)]] = data
        else:
            self._in_units(memory)[places[: len(data) // self.unit]] = data.view(_UNITS[self.unit])

    def _in_units(self, memory: NDArray[np.uint8]) -> NDArray[Any]:
        return memory[: len(memory) // self.unit * self.unit].view(_UNITS[self.unit])


EMPTY = Layout(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, 0)


def ranges(starts: Places, lengths: Places) -> Places:
    """Return ``start, start + 1 ...``, ``length`` of each, one after another."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()), dtype=np.int64)


def items_at(layout: Layout, places: Places) -> Layout:
    """Return the layout of one item of a layout at each of ``places``, in bytes."""
    if not len(places):
        return EMPTY
    offsets = (places[:, None] + layout.offsets).ravel()
    joined = _joined(offsets, np.tile(layout.lengths, len(places)))
    lb, ub = int(places.min()) + layout.lb, int(places.max()) + layout.lb + layout.extent
    return _bounded(joined, lb, ub, layout.alignment, layout.resized)


def blocks_at(layout: Layout, places: Places, counts: Places) -> Layout:
    """Return the layout of ``counts[i]`` items one after another from each of ``places``, in bytes."""
    if layout.is_dense:  # one block each, however long
        starts, lengths = places[counts > 0], counts[counts > 0] * layout.extent
        if not len(starts):
            return EMPTY
        lb, ub = int(starts.min()), int((starts + lengths).max())
        return _bounded(_joined(starts, lengths), lb, ub, layout.alignment, layout.resized)
    return items_at(layout, np.repeat(places, counts) + ranges(np.zeros_like(counts), counts) * layout.extent)


def together(parts: Sequence[Layout]) -> Layout:
    """Return the layout of several, one after another in the order of sending, at the offsets that they have."""
    filled = [part for part in parts if len(part.offsets) or part.resized]
    if not filled:
        return EMPTY
    joined = _joined(*(np.concatenate([getattr(part, name) for part in filled]) for name in ("offsets", "lengths")))
    resized = any(part.resized for part in filled)
    judged = [part for part in filled if part.resized or not resized]
    lb, ub = min(part.lb for part in judged), max(part.lb + part.extent for part in judged)
    return _bounded(joined, lb, ub, max(part.alignment for part in filled), resized)


def _bounded(blocks: tuple[Places, Places], lb: int, ub: int, alignment: int, resized: bool) -> Layout:
    """Apply MPI 4.1, section 5.1.7: the end is rounded up to the alignment, unless the program has set it."""
    return Layout(*blocks, lb, ub - lb + (0 if resized else -(ub - lb) % alignment), alignment, resized)


def of_grid(layout: Layout, sizes: Sequence[int], kept: Sequence[Places], *, fortran: bool) -> Layout:
    """Return the layout of the items of a grid that have ``kept[d]`` as their places in dimension d.

    The extent is the whole grid's. ``fortran``: the first dimension is the fastest, otherwise the last.
    """
    shape, chosen = (list(sizes), list(kept)) if not fortran else (list(sizes)[::-1], list(kept)[::-1])
    items = np.zeros(1, np.int64)
    for length, places in zip(shape, chosen, strict=True):
        items = (items[:, None] * length + places).ravel()
    offsets = (items[:, None] * layout.extent + layout.offsets).ravel()
    joined = _joined(offsets, np.tile(layout.lengths, len(items)))
    whole = layout.extent * int(np.prod(np.array(shape, np.int64)))
    return Layout(*joined, 0, whole, layout.alignment, resized=True)


def _joined(offsets: Places, lengths: Places) -> tuple[Places, Places]:
    """Return blocks of which none begins at the end of the previous one."""
    filled = lengths > 0
    offsets, lengths = offsets[filled], lengths[filled]
    if not len(offsets):
        return offsets, lengths
    first = np.flatnonzero(np.concatenate(([True], offsets[1:] != offsets[:-1] + lengths[:-1])))
    return offsets[first], np.add.reduceat(lengths, first)
