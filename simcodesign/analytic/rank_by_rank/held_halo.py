"""A halo exchange whose messages hold their receivers on some levels of the machine, rank by rank in Hockney's model.

A rank sends to its neighbours, one after another, and then receives from them. Messages along a dimension are priced
alike, as the slowest of them; those between ranks on a level that holds receivers hold theirs as long as the sender.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Messages of all ranks that are followed; and moments that are held at once.
MOST_MESSAGES, MOST_MOMENTS = 2**21, 2**22


class _Link(NamedTuple):
    """The neighbours (P,) of all ranks in one direction of a dimension, which ranks have one, and whether the message
    from it holds its receiver."""

    dim: int
    neighbour: Ints
    is_there: NDArray[np.bool_]
    is_held: NDArray[np.bool_]


def held_halo_s(
    machine: Machine,
    messages: Sequence[Message],
    counts: Sequence[FloatOrArray],
    grid: Sequence[FloatOrArray],
    periodic: bool,
) -> Floats:
    """Seconds of an exchange of all ranks, with so many messages to each neighbour in each dimension. NaN for fractions
    of messages, and where more than ``MOST_MESSAGES`` would have to be followed."""
    dims = len(grid)
    times = (part for one in messages for part in (one.send_s, one.arrival_s, one.receive_s))
    every = np.broadcast_arrays(*times, *counts, *grid)
    shape = every[0].shape
    rows = np.array([np.ravel(part) for part in every], dtype=np.float64)
    times_s, several = rows[: 3 * dims].reshape(dims, 3, -1), rows[3 * dims :]
    time_s = np.full(rows.shape[1], np.nan)
    keys, which = np.unique(several, axis=1, return_inverse=True)
    for number, key in enumerate(keys.T):
        count, extents = key[:dims], key[dims:]
        ranks = float(np.prod(extents))
        if (count != np.floor(count)).any() or 2 * ranks * count.sum() > MOST_MESSAGES:
            continue
        links = _links(machine, tuple(int(extent) for extent in extents), periodic)
        here = np.flatnonzero(which.ravel() == number)
        at_once = max(1, int(MOST_MOMENTS // max(2 * ranks * count.sum(), 1.0)))
        for low in range(0, len(here), at_once):
            some = here[low : low + at_once]
            time_s[some] = _followed_s(links, count.astype(int).tolist(), times_s[..., some], int(ranks))
    return time_s.reshape(shape)


def _links(machine: Machine, grid: tuple[int, ...], periodic: bool) -> list[_Link]:
    """Upwards and downwards in every dimension, in the order in which all ranks send."""
    ranks = int(np.prod(grid))
    rank, links = np.arange(ranks), list[_Link]()
    holds = np.array([level.message_model.holds_both_ends for level in machine.levels])
    place = np.unravel_index(rank, grid)
    for dim, extent in enumerate(grid):
        for way in (1, -1) if extent > 1 else ():
            moved = [*place]
            moved[dim] = (place[dim] + way) % extent
            is_there = np.full(ranks, True) if periodic else (place[dim] + way >= 0) & (place[dim] + way < extent)
            neighbour = np.asarray(np.ravel_multi_index(moved, grid), dtype=np.int64)
            links.append(_Link(dim, neighbour, is_there, holds[machine.level_of(ranks, neighbour, rank)]))
    return links


def _followed_s(links: Sequence[_Link], counts: Sequence[int], times_s: Floats, ranks: int) -> Floats:
    """Seconds (K,) at K design points, with the times (dims, 3, K) of a message: c, a and r."""
    now = np.zeros((times_s.shape[-1], ranks))
    begun: list[list[Floats]] = []
    for link in links:
        send_s = times_s[link.dim, 0][:, None]
        begun.append([])
        for _ in range(counts[link.dim]):
            begun[-1].append(now)
            now = np.where(link.is_there, now + send_s, now)
    for number, link in enumerate(links):
        send_s, arrival_s, receive_s = times_s[link.dim][..., None]
        for begin in begun[number ^ 1]:  # the neighbour sent in the other direction
            turn = now + np.where(link.is_held, send_s, 0.0)
            ends = np.maximum(turn, begin[:, link.neighbour] + arrival_s) + receive_s
            now = np.where(link.is_there, ends, now)
    return np.asarray(now.max(axis=1, initial=0.0))
