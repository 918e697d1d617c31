"""A halo exchange in LogGOPS: ranks at an edge send earlier than others, and messages of several sizes overtake.

All ranks of a periodic one do alike: one rank stands for all, which sends to itself. Else a rank's turns are known
after k iterations (``posted``) from where the ranks up to k steps away stand. If nothing moves any more then, it does
not matter how far away an edge is that is more than k steps away: an exchange on a grid of 2 k + 3 ranks in a
dimension takes as long as one on any longer grid.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.posted_together import times_of
from simcodesign.analytic.rank_by_rank.posted import Floats, Posted, finish_s
from simcodesign.analytic.rank_by_rank.queue_order import order_of_sends
from simcodesign.core.units import FloatOrArray

#: Messages of all ranks up to which an exchange is computed.
MOST_MESSAGES = 2**13
#: Messages of a rank up to which a periodic one is.
MOST_OF_A_RANK = 64
#: Iterations on shortened grids, one after another.
ITERATIONS = (1, 3, 7)


def halo_exchange_s(
    messages: Sequence[Message], counts: Sequence[FloatOrArray], grid: Sequence[FloatOrArray], periodic: bool
) -> Floats:
    """Seconds of an exchange of so many messages to each neighbour in each dimension; of a fraction the part of what a
    whole message adds. NaN where more than ``MOST_MESSAGES`` of all ranks, or ``MOST_OF_A_RANK`` of one that stands for
    all, would have to be followed."""
    every = np.broadcast_arrays(*(part for message in messages for part in times_of(message)), *counts, *grid)
    shape, dims = every[0].shape, len(grid)
    rows = np.array([np.ravel(part) for part in every], dtype=np.float64)
    times_s, several, extents = rows[: 5 * dims].reshape(dims, 5, -1), rows[5 * dims : 6 * dims], rows[6 * dims :]
    whole = np.floor(several)
    solved = _alike_ranks_s if periodic else _with_edges_s
    least_s = solved(times_s, whole, extents)
    time_s = least_s.copy()
    for dim in np.flatnonzero((several > whole).any(axis=1)):
        one_more = whole + (np.arange(dims) == dim)[:, np.newaxis]
        part = several[dim] - whole[dim]
        some = part > 0
        more_s = solved(times_s[..., some], one_more[:, some], extents[:, some])
        time_s[some] += part[some] * (more_s - least_s[some])
    return time_s.reshape(shape)


def _alike_ranks_s(times_s: Floats, counts: Floats, extents: Floats) -> Floats:
    """The same (K,) for whole numbers of messages, if periodic."""
    time_s = np.full(times_s.shape[-1], np.nan)
    both_ways = np.where(extents > 1, 2.0 * counts, 0.0)
    few = both_ways.sum(axis=0) <= MOST_OF_A_RANK
    for _, sends, here in _groups(np.zeros_like(extents), both_ways, few):
        time_s[here] = _exchange_s(_posted_to_itself, sends, times_s[..., here])
    return time_s


def _with_edges_s(times_s: Floats, counts: Floats, extents: Floats) -> Floats:
    """The same (K,) if not periodic."""
    time_s = np.full(times_s.shape[-1], np.nan)
    unsolved = np.ones(len(time_s), dtype=np.bool_)
    for iterations in (*ITERATIONS, None):
        short = extents if iterations is None else np.minimum(extents, 2 * iterations + 3)
        for grid, several, here in _groups(short, counts, unsolved):
            is_whole = iterations is None or max(grid) < 2 * iterations + 3
            if messages_of(grid, several) <= MOST_MESSAGES:
                most = None if is_whole else iterations
                several = tuple(count * (extent > 1) for count, extent in zip(several, grid, strict=True))
                posted = functools.partial(_posted_on_grid, grid)
                time_s[here] = _exchange_s(posted, several, times_s[..., here], most)
        unsolved &= np.isnan(time_s)
    return time_s


def _groups(
    extents: Floats, counts: Floats, some: NDArray[np.bool_]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], NDArray[np.intp]]]:
    """Grids, messages in each dimension, and the places of the design points that have them."""
    places = np.flatnonzero(some)
    keys, group = np.unique(np.concatenate([extents, counts])[:, places].astype(int), axis=1, return_inverse=True)
    for number, key in enumerate(keys.T.tolist()):
        yield tuple(key[: len(extents)]), tuple(key[len(extents) :]), places[group.ravel() == number]


def messages_of(grid: Sequence[int], counts: Sequence[int]) -> float:
    """Messages of all ranks together."""
    ranks = float(np.prod([float(extent) for extent in grid]))
    return sum(2.0 * count * ranks / extent * (extent - 1) for extent, count in zip(grid, counts, strict=True))


def _exchange_s(
    posted: Callable[[tuple[int, ...], bool], Posted],
    counts: tuple[int, ...],
    times_s: Floats,
    iterations: int | None = None,
) -> Floats:
    """Seconds (K,) of an exchange. Where messages of all dimensions cost the same, they are of one kind."""
    used = [dim for dim, count in enumerate(counts) if count]
    if not used:
        return np.zeros(times_s.shape[-1])
    done = np.empty(times_s.shape[-1])
    alike = (times_s[used] == times_s[used[:1]]).all(axis=(0, 1))
    for here, kinds in ((alike, False), (~alike, True)):
        if here.any():
            some = times_s[..., here] if kinds else times_s[used[:1]][..., here]
            done[here] = finish_s(posted(counts, kinds), some, iterations)
    return done


@functools.lru_cache(maxsize=256)
def _posted_on_grid(grid: tuple[int, ...], counts: tuple[int, ...], kinds: bool) -> Posted:
    """The exchange: in each dimension first upwards, then downwards; a dimension is a kind, if there are ``kinds``."""
    rows = []
    for rank, place in enumerate(np.ndindex(*grid)):
        row = []
        for dim, extent in enumerate(grid):
            step = int(np.prod(grid[dim + 1 :]))
            ways = [way for way in (1, -1) if 0 <= place[dim] + way < extent]
            row += [(rank + way * step, dim * kinds) for way in ways for _ in range(counts[dim])]
        rows.append([row[number] for number in order_of_sends(len(row))])
    return Posted.of_sends(rows)


def _posted_to_itself(counts: tuple[int, ...], kinds: bool) -> Posted:
    """So many messages in each dimension, of a rank that stands for all."""
    row = [(0, dim * kinds) for dim, count in enumerate(counts) for _ in range(count)]
    return Posted.of_sends([[row[number] for number in order_of_sends(len(row))]])
