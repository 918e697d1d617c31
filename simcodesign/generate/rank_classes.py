"""Classes of ranks that do the same, of which one rank each is simulated.

Two ranks are in one class if all their operations are equal in kind, size, duration and place, and if the other ends
of their messages are in one class as well: the coarsest equitable partition, found by refinement (Paige and Tarjan,
SIAM J. Computing 16, 1987). As long as ranks wait for nothing but messages and operations of their peers, the
operations of a class begin and end at the same times, so a Plan with one rank for each class has the same times, to the
last bit.

The classes are found on the steps of the program, each written once, before any of them is repeated; a step is checked
again, value by value, when it is reduced to the first rank of each class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import SEND
from simcodesign.generate.plan import ANY, NONE
from simcodesign.generate.segment import BY_TAG, Segment

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
#: Refinement ends without a result if there are more classes than this fraction of the ranks.
MAX_FRACTION = 0.25


class NotAlikeError(Exception):
    """Two ranks of a class differ after all."""


@dataclass(frozen=True)
class RankClasses:
    """The class of each of P ranks, and the first rank of each of C classes."""

    of_rank: Int32s  # (P,)
    first: Int64s  # (C,)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def size(self) -> Int64s:
        """(C,) how many ranks each class has."""
        return np.bincount(self.of_rank, minlength=len(self)).astype(np.int64)

    def reduced(self, segment: Segment) -> Segment:
        """Return a segment of P ranks with the first rank of each class only, whose peers are classes.

        Raises NotAlikeError if ranks of a class differ in it.
        """
        rows = _Rows(segment)
        fields = dict(segment.fields)
        fields["peer"] = self._class_of(fields["peer"])
        kept = rows.of_ranks(self.first)
        reduced = {}
        for name, array in fields.items():
            values = rows.padded(array)
            if not np.array_equal(_bits(values), _bits(values[self.first])[self.of_rank]):
                raise NotAlikeError(name)
            reduced[name] = array[kept]
        counts = segment.counts[self.first]
        return Segment(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), reduced)

    def _class_of(self, peer: NDArray[Any]) -> NDArray[Any]:
        return np.where(peer >= 0, self.of_rank[np.maximum(peer, 0)], peer).astype(peer.dtype)


class _Rows:
    """The operations of a segment as a table: a row for each rank, filled up where a rank has fewer operations."""

    def __init__(self, segment: Segment) -> None:
        self._first, self._counts, self._width = segment.first, segment.counts, segment.width
        self._ranks, self._widest = len(segment.first) - 1, int(segment.counts.max(initial=0))

    def padded(self, array: NDArray[Any]) -> NDArray[Any]:
        """(P, W) the values of a column; -1 where a rank has no operation."""
        if self._width is not None:
            return array.reshape(self._ranks, self._width)
        table = np.full((self._ranks, self._widest), -1, array.dtype)
        table[np.arange(self._widest) < self._counts[:, None]] = array
        return table

    def of_ranks(self, ranks: Int64s) -> Int64s:
        """Return the operations of these ranks, in their order."""
        counts = self._counts[ranks]
        begins = np.repeat(self._first[ranks] - np.cumsum(counts) + counts, counts)
        return begins + np.arange(len(begins))


def _bits(values: NDArray[Any]) -> NDArray[Any]:
    """Return the values as whole numbers, so that values that are no numbers are equal to themselves."""
    return values.view(np.int64) if values.dtype == np.float64 else values


@dataclass
class ClassFinder:
    """Collects what the ranks of a program do, step by step, and divides them into classes.

    ``max_work``: how many values refinement may sort.
    """

    ranks: int
    max_work: float
    _label: Int64s = field(init=False)
    _peers: dict[bytes, Int32s] = field(default_factory=dict)  # distinct columns of peers, by their digest
    _tagged: list[Int64s] = field(default_factory=list)  # rows: rank, peer, tag, whether it sends
    _from_anyone: bool = False

    def __post_init__(self) -> None:
        self._label = np.zeros(self.ranks, np.int64)

    def add(self, segment: Segment) -> Segment:
        """Note the operations of a step; return a step without operations, so that nothing is repeated."""
        rows, fields = _Rows(segment), segment.fields
        label = _mixed(self._label, segment.counts)
        for name, array in fields.items():
            if name != "peer":
                for column in _bits(rows.padded(array)).T:
                    label = _mixed(label, column.astype(np.int64))
        self._label = label
        self._note_peers(rows.padded(fields["peer"]))
        self._note_tags(fields, np.repeat(np.arange(self.ranks), segment.counts))
        return Segment(np.zeros(self.ranks + 1, np.int64), {name: array[:0] for name, array in fields.items()})

    def _note_peers(self, table: NDArray[Any]) -> None:
        for column in np.ascontiguousarray(table.T, dtype=np.int32):
            if (column >= 0).any():
                self._peers.setdefault(hashlib.blake2b(column.tobytes(), digest_size=16).digest(), column)
            self._from_anyone |= bool((column == ANY).any())

    def _note_tags(self, fields: Mapping[str, NDArray[Any]], rank: Int64s) -> None:
        here = np.flatnonzero(fields["match"] <= BY_TAG)
        if len(here):
            columns = (rank[here], fields["peer"][here], BY_TAG - fields["match"][here], fields["kind"][here] == SEND)
            self._tagged.append(np.unique(np.stack([one.astype(np.int64) for one in columns], axis=1), axis=0))

    def classes(self) -> RankClasses | None:
        """Return the classes; None if they are too many to be of use, or messages within them could be confused."""
        if self._from_anyone:
            return None
        of_rank, count, work = *_numbered(self._label), 0.0
        while True:
            if count > MAX_FRACTION * self.ranks:
                return None
            work += float(self.ranks) * (len(self._peers) + 1)
            if work > self.max_work:
                return None
            finer = of_rank
            for peer in self._peers.values():
                there = np.where(peer >= 0, of_rank[np.maximum(peer, 0)], NONE)
                finer, _ = _numbered(finer * (count + 1) + there + 1)
            found = int(finer.max(initial=-1)) + 1
            if found == count:
                break
            of_rank, count = finer, found
        # Numbered by their first ranks, so that errors and pictures have the order of the program.
        first = np.sort(np.unique(of_rank, return_index=True)[1])
        number = np.empty(count, np.int32)
        number[of_rank[first]] = np.arange(count)
        classes = RankClasses(number[of_rank], first.astype(np.int64))
        return classes if self._can_be_paired(classes) else None

    def _can_be_paired(self, classes: RankClasses) -> bool:
        """Return whether messages paired by tag are paired in the same way between classes as between ranks.

        A rank has one partner in each class for each tag, and each of its partners has the rank.
        """
        if not self._tagged:
            return True
        rank, peer, tag, sends = np.unique(np.concatenate(self._tagged), axis=0).T
        keys = np.stack([rank, classes.of_rank[peer], tag, sends], axis=1)
        if len(np.unique(keys, axis=0)) != len(keys):
            return False
        sent = np.stack([rank, peer, tag], axis=1)[sends == 1]
        received = np.stack([peer, rank, tag], axis=1)[sends == 0]
        return np.array_equal(np.unique(sent, axis=0), np.unique(received, axis=0))


def _mixed(label: Int64s, values: Int64s) -> Int64s:
    """Labels that depend on these values, too: the mixing steps of SplitMix64 (Steele, Lea and Flood, 2014)."""
    mixed = label.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.ascontiguousarray(values).view(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))).view(np.int64)


def _numbered(label: Int64s) -> tuple[Int64s, int]:
    """Labels as numbers from 0 on, and how many there are."""
    labels, number = np.unique(label, return_inverse=True)
    return number.astype(np.int64), len(labels)
