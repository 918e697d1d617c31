"""A wavefront as messages: for every block, what each rank receives, computes and sends on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcodesign.core.operation_kinds import COMPUTE
from simcodesign.generate.columns import Int32s, Ranks


def wavefront(
    ranks: Ranks,
    grid: tuple[int, int],
    planes: int,
    sizes_bytes: tuple[float, float],
    compute_s: float,
    corners: Sequence[tuple[int, int]],
) -> None:
    """Write sweeps of ``planes`` blocks from one corner after another.

    Over a process grid with the ranks in row-major order.
    """
    for corner in corners:
        ways = [_neighbours(ranks, grid, axis, backwards) for axis, backwards in enumerate(corner)]
        ways = [way for way in ways if len(way[0])]
        sizes = [size for size, extent in zip(sizes_bytes, grid, strict=True) if extent > 1]
        for _ in range(planes):
            for (senders, receivers), size in zip(ways, sizes, strict=True):
                order = np.argsort(receivers)
                # Its send follows the other receive and the computation.
                ranks.receive(senders[order], size, match=len(ways) + 1, who=receivers[order])
            ranks.work(COMPUTE, 0.0, compute_s)
            for (senders, receivers), size in zip(ways, sizes, strict=True):
                ranks.send(receivers, size, senders)


def _neighbours(ranks: Ranks, grid: tuple[int, int], axis: int, backwards: int) -> tuple[Int32s, Int32s]:
    """Senders and receivers along one axis; the senders ascend."""
    place = ranks.rank.reshape(grid)
    lower, upper = np.delete(place, -1, axis).ravel(), np.delete(place, 0, axis).ravel()
    return (upper, lower) if backwards else (lower, upper)
