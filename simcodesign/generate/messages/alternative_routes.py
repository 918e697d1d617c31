"""The other routes that messages may take, and where they part from the first ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.machine_parts.network import ALONG_ROUTE, Ugal
from simcodesign.generate.plan import NONE, AlternativeRoutes

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


def alternatives(
    route: Int32s, other: Int32s, start: Int64s, station: Int32s, has_ends: bool, ugal: Ugal
) -> AlternativeRoutes:
    """The alternatives of all operations with a ``route``: the row ``other`` of the routes, unless it is the same way.

    ``start`` and ``station`` are those of ``Routes``; with ``has_ends`` the first and the last station of each are
    interfaces.
    """
    sends = np.flatnonzero(route != NONE)
    first, second = route[sends].astype(np.int64), other[sends].astype(np.int64)
    # A way that comes by the end of the other before its own is none to choose.
    length = np.minimum(start[first + 1] - start[first], start[second + 1] - start[second]) - has_ends
    fork = np.zeros(len(sends), np.int64)
    together = np.arange(len(sends))
    while len(together):
        together = together[fork[together] < length[together]]
        here = fork[together]
        alike = station[start[first[together]] + here] == station[start[second[together]] + here]
        together = together[alike]
        fork[together] += 1
    differs = fork < length
    chosen, place = np.full(len(route), NONE, np.int32), np.zeros(len(route), np.int32)
    chosen[sends[differs]] = second[differs]
    place[sends] = fork
    links = (np.diff(start) - 2 * has_ends).astype(np.int32)
    return AlternativeRoutes(chosen, place, links, ugal.threshold, ugal.queues == ALONG_ROUTE)
