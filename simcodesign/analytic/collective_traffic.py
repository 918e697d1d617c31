"""Who sends how much to whom in a collective operation: rows (source, target, bytes, messages)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.expression import Expression
from simcodesign.core.units import FloatOrArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Traffic:
    """Messages: four arrays of equal length. ``messages`` of ``size_bytes`` each go from a source to a target."""

    source: Ints
    target: Ints
    size_bytes: NDArray[np.float64]
    messages: NDArray[np.float64]

    @property
    def load_bytes(self) -> NDArray[np.float64]:
        """Bytes of all messages of a row."""
        return self.size_bytes * self.messages


def collective_traffic(name: str, algorithm: str, ranks: int, size_bytes: float) -> Traffic:
    """The messages of one collective operation."""
    return _together((*row, 1.0) for row in _MESSAGES[name, algorithm](np.arange(ranks), size_bytes))


def halo_traffic(
    grid: Sequence[int], sizes_bytes: Sequence[float], periodic: bool, messages: Sequence[float] | None = None
) -> Traffic:
    """The messages of a halo exchange on a process grid, ranks in row-major order; one to each neighbour, if None."""
    place = np.arange(int(np.prod(grid))).reshape(tuple(grid))
    several = [1.0] * len(sizes_bytes) if messages is None else messages
    return _together(_shifts(place, sizes_bytes, periodic, several))


def checked_peers(what: str, expression: Expression, values: Mapping[str, FloatOrArray], here: Ints) -> Ints:
    """The peer of each rank in ``here``. InputError for one that is no other rank."""
    ranks = int(values["P"])
    every = np.broadcast_to(np.asarray(expression.evaluate(values), dtype=np.float64), ranks)
    peer = every[here]
    bad = np.flatnonzero((peer != np.floor(peer)) | (peer < 0) | (peer >= ranks) | (peer == here))
    if len(bad):
        rank = here[bad[0]]
        raise InputError(
            f"rank {rank}: {what} = {expression.text} is no other rank", expression.place, value=float(every[rank])
        )
    return peer.astype(np.int64)


Rows = Iterator[tuple[Ints, Ints, float]]


def _together(parts: Iterable[tuple[Ints, Ints, float, float]]) -> Traffic:
    rows = [
        (source, np.broadcast_to(target, source.shape), np.full(source.shape, size), np.full(source.shape, count))
        for source, target, size, count in parts
    ]
    if not rows:
        return Traffic(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    return Traffic(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def _shifts(
    place: Ints, sizes: Sequence[float], periodic: bool, messages: Sequence[float]
) -> Iterator[tuple[Ints, Ints, float, float]]:
    for axis, (size, count) in enumerate(zip(sizes, messages, strict=True)):
        if place.shape[axis] == 1 or not count:
            continue
        upper = np.roll(place, -1, axis)
        inner = place if periodic else np.take(place, range(place.shape[axis] - 1), axis)
        above = upper if periodic else np.take(upper, range(place.shape[axis] - 1), axis)
        yield inner.ravel(), above.ravel(), size, count
        yield above.ravel(), inner.ravel(), size, count


def _tree(rank: Ints, size: float) -> Rows:
    """Every rank but 0 hears from the rank without its lowest bit."""
    yield rank[1:] & (rank[1:] - 1), rank[1:], size


def _star(rank: Ints, size: float) -> Rows:
    yield np.zeros_like(rank[1:]), rank[1:], size


def _tree_both_ways(rank: Ints, size: float) -> Rows:
    for parent, child, each in _tree(rank, size):
        yield child, parent, each
        yield parent, child, each


def _everybody(rank: Ints, size: float) -> Rows:
    """Every ordered pair of ranks."""
    source, target = (side.ravel() for side in np.meshgrid(rank, rank, indexing="ij"))
    apart = source != target
    yield source[apart], target[apart], size


def _ring(rank: Ints, size: float) -> Rows:
    for _ in range(len(rank) - 1):
        yield rank, (rank + 1) % len(rank), size


def _ring_twice(rank: Ints, size: float) -> Rows:
    for _ in range(2):
        yield from _ring(rank, size / len(rank))


def _powers(rank: Ints) -> list[int]:
    return [2**k for k in range(32) if 2**k < len(rank)]


def _bruck_gather(rank: Ints, size: float) -> Rows:
    for step in _powers(rank):
        yield rank, (rank - step) % len(rank), size * min(step, len(rank) - step)


def _bruck_all_to_all(rank: Ints, size: float) -> Rows:
    for step in _powers(rank):
        yield rank, (rank + step) % len(rank), size * np.count_nonzero(rank // step % 2)


def _dissemination(rank: Ints, size: float) -> Rows:
    for step in _powers(rank):
        yield rank, (rank + step) % len(rank), size


def _doubling(rank: Ints, size: float) -> Rows:
    """Pairs of a hypercube; the first ranks fold two by two onto its corners when P is no power of two."""
    power = max(2**k for k in range(32) if 2**k <= len(rank))
    rest = len(rank) - power
    corner = np.concatenate([rank[1 : 2 * rest : 2], rank[2 * rest :]])
    yield rank[0 : 2 * rest : 2], rank[1 : 2 * rest : 2], size
    for step in (2**k for k in range(32) if 2**k < power):
        yield corner, corner[np.arange(power) ^ step], size
    yield rank[1 : 2 * rest : 2], rank[0 : 2 * rest : 2], size


_MESSAGES: dict[tuple[str, str], Callable[[Ints, float], Rows]] = {
    ("broadcast", "binomial"): _tree,
    ("broadcast", "linear"): _star,
    ("allreduce", "recursive_doubling"): _doubling,
    ("allreduce", "ring"): _ring_twice,
    ("allreduce", "reduce_broadcast"): _tree_both_ways,
    ("allgather", "ring"): _ring,
    ("allgather", "bruck"): _bruck_gather,
    ("allgather", "linear"): _everybody,
    ("all_to_all", "pairwise"): _everybody,
    ("all_to_all", "linear"): _everybody,
    ("all_to_all", "bruck"): _bruck_all_to_all,
    ("all_broadcast", "linear"): _everybody,
    ("barrier", "dissemination"): _dissemination,
}
