"""A halo exchange as messages: what each rank sends to its neighbours in a process grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcodesign.generate.columns import Int32s, Ranks


def halo_exchange(
    ranks: Ranks,
    grid: Sequence[int],
    sizes_bytes: Sequence[float],
    periodic: bool,
    messages: Sequence[int] | None = None,
    train: int = 1,
) -> None:
    """Send to both neighbours in every dimension of the grid (rank in row-major order), then wait for all.

    ``messages`` go to each neighbour (one, if None), up to ``train`` of them together.
    """
    several = [1] * len(grid) if messages is None else messages
    trains = [trains_of(count, train) for count in several]
    links = _links(ranks, grid, periodic)
    # For every neighbour: its senders, its dimension, and the column of its first message.
    before = np.concatenate([[0], np.cumsum([len(trains[dim]) for _, _, dim in links])]).astype(int).tolist()
    total = before[-1]
    for number, (to, who, dim) in enumerate(links):
        for place, together in enumerate(trains[dim], start=before[number]):
            ranks.send(to, together * sizes_bytes[dim], who, until=2 * total - place, train=together, alike=dim)
    for number, (source, who, dim) in enumerate(links):
        # The neighbour above sent downwards, in the other columns of the same dimension.
        offset = before[number ^ 1] - before[number] - total
        for together in trains[dim]:
            ranks.receive(source, together * sizes_bytes[dim], offset, who, train=together, alike=dim)


def trains_of(messages: int, train: int) -> list[int]:
    """Return the lengths of the trains of ``messages`` messages: the last one is shorter when they do not divide."""
    whole, rest = divmod(messages, train)
    return [train] * whole + [rest] * (rest > 0)


def _links(ranks: Ranks, grid: Sequence[int], periodic: bool) -> list[tuple[Int32s, Int32s | None, int]]:
    """Return neighbours upwards and downwards in every dimension.

    The neighbour, the ranks that have one (None: all), the dimension.
    """
    place = np.unravel_index(ranks.rank, tuple(grid))
    links = []
    for dim, extent in enumerate(grid):
        for way in (1, -1) if extent > 1 else ():
            moved = [*place]
            moved[dim] = (place[dim] + way) % extent
            inside = (place[dim] + way >= 0) & (place[dim] + way < extent)
            who = None if periodic else ranks.rank[inside]
            to = np.ravel_multi_index(moved, tuple(grid)).astype(np.int32)
            links.append((to if who is None else to[who], who, dim))
    return links
