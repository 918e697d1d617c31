"""Columns: one operation of every rank at a time, so that a rank program is written once and generated with NumPy.

``Ranks`` is the pen with which the collectives are written: ``send(to, size)`` appends one column in which every
rank sends. A receive says how many columns back its sender sent (``match``), so that no message has to be looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcodesign.result import RECEIVE, SEND

T = TypeVar("T", bound=np.generic)

#: ``match`` of a column whose messages are paired by (source, target, tag) in program order.
BY_ORDER = 0


@dataclass(frozen=True)
class Columns:
    """C operations of each of P ranks. ``present`` masks ranks that sit a column out.

    ``match``: for a receive, the offset (negative) to the column in which its peer sends. ``part`` numbers the
    machine variant (phase constants) that prices the column.
    """

    kind: NDArray[np.int8]  # (C,)
    phase: NDArray[np.int16]  # (C,)
    part: NDArray[np.int16]  # (C,)
    tag: NDArray[np.int32]  # (C,)
    peer: NDArray[np.int32]  # (C, P)
    match: NDArray[np.int32]  # (C, P)
    size_bytes: NDArray[np.float64]  # (C, P)
    duration_s: NDArray[np.float64]  # (C, P)
    present: NDArray[np.bool_]  # (C, P)

    def __len__(self) -> int:
        return len(self.kind)

    def repeated(self, times: int) -> Columns:
        """The columns ``times`` times one after another."""
        if times == 1:
            return self
        return Columns(**{item.name: _tile(getattr(self, item.name), times) for item in fields(self)})


def _tile(array: NDArray[T], times: int) -> NDArray[T]:
    return np.tile(array, (times,) + (1,) * (array.ndim - 1))


def joined(parts: Sequence[Columns], ranks: int) -> Columns:
    """Columns one after another; none at all when there are no parts."""
    if len(parts) == 1:
        return parts[0]
    every = [Ranks(ranks, 0, 0).columns(), *parts]
    return Columns(
        **{item.name: np.concatenate([getattr(part, item.name) for part in every]) for item in fields(Columns)}
    )


class Ranks:
    """All ranks at work on one step of the program: what they do is appended column by column."""

    def __init__(self, ranks: int, phase: int, part: int) -> None:
        self.count, self.phase, self.part = ranks, phase, part
        self.rank = np.arange(ranks, dtype=np.int32)
        self._heads: list[tuple[int, int]] = []
        self._bodies: list[tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike]] = []

    def send(self, to: ArrayLike, size_bytes: ArrayLike, when: ArrayLike = True, tag: int = 0) -> None:
        """Every rank (where ``when``) sends a message."""
        self._add(SEND, to, BY_ORDER, size_bytes, 0.0, when, tag)

    def receive(
        self,
        source: ArrayLike,
        size_bytes: ArrayLike,
        match: ArrayLike = -1,
        when: ArrayLike = True,
        tag: int = 0,
    ) -> None:
        """Every rank (where ``when``) waits for the message that its source sent ``-match`` columns before this one."""
        self._add(RECEIVE, source, match, size_bytes, 0.0, when, tag)

    def work(self, kind: int, size_bytes: ArrayLike, duration_s: ArrayLike, when: ArrayLike = True) -> None:
        """Every rank (where ``when``) computes, reads or writes for ``duration_s``."""
        self._add(kind, -1, BY_ORDER, size_bytes, duration_s, when, 0)

    def _add(
        self,
        kind: int,
        peer: ArrayLike,
        match: ArrayLike,
        size: ArrayLike,
        duration: ArrayLike,
        when: ArrayLike,
        tag: int,
    ) -> None:
        self._heads.append((kind, tag))
        self._bodies.append((peer, match, size, duration, when))

    def columns(self) -> Columns:
        """What was appended."""
        heads = np.array(self._heads, dtype=np.int32).reshape(-1, 2)
        count = len(heads)
        return Columns(
            kind=heads[:, 0].astype(np.int8),
            phase=np.full(count, self.phase, np.int16),
            part=np.full(count, self.part, np.int16),
            tag=heads[:, 1],
            peer=self._stack(0, np.int32),
            match=self._stack(1, np.int32),
            size_bytes=self._stack(2, np.float64),
            duration_s=self._stack(3, np.float64),
            present=self._stack(4, np.bool_),
        )

    def _stack(self, place: int, dtype: type[T]) -> NDArray[T]:
        stacked = np.empty((len(self._bodies), self.count), dtype)
        for row, body in zip(stacked, self._bodies, strict=True):
            row[:] = body[place]
        return stacked
