"""Exact reuse distances, measured in C: the accesses since the last use of a key, looked up in its page."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.native.records import Record
from simcodesign.locality.stack.keys import WIDE, Keys, grown, new_keys
from simcodesign.locality.stack.loops import loops
from simcodesign.locality.traces.trace import Addresses


class State(Record):
    """Accesses so far, different keys, the access that is next, and intervals that ended (in ``writebacks``)."""

    struct = "reuse_state"
    use = "a reuse distance"


class ReuseMeter:
    """Measures reuse distances of keys ``address >> shift`` over any number of chunks."""

    def __init__(self, shift: int, page_bits: int = WIDE) -> None:
        self._shift = shift
        self._keys = new_keys(np.uint64, page_bits)
        self._state = State()

    def measure(self, address: Addresses) -> NDArray[np.int64]:
        """Reuse distances of the next n accesses, int64 (n,), COLD for first touches."""
        distances = np.empty(len(address), np.int64)
        self._keys = run("reuse_measure", address, self._shift, self._state, self._keys, distances)
        return distances


def run(name: str, address: Addresses, shift: int, state: State, keys: Keys, *columns: NDArray[np.generic]) -> Keys:
    """Process all accesses by the function ``name`` of the library; return the keys, whose memory may have grown."""
    address = np.require(address, np.uint64, ["C"])
    pointers = [column.ctypes.data for column in columns]
    state.next = 0
    function = getattr(loops(), name)
    while not function(address.ctypes.data, len(address), shift, ctypes.byref(state), ctypes.byref(keys), *pointers):
        keys = grown(keys, state.distinct)
    return keys
