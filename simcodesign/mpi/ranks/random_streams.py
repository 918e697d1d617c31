"""The random numbers of each rank in one process: of Python's ``random`` and of the functions of ``np.random``."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.random import mtrand

#: Bytes of the state of NumPy's Mersenne twister: 624 words of 32 bits and a place.
_STATE_BYTES = 625 * 4


class RandomStreams:
    """The streams of all ranks, from ``seed`` if the program does not seed them.

    NumPy takes 0.4 ms to return and to set its state. A turn that draws nothing therefore copies its memory only. This
    has all of the state except for a normal number that is kept for the next call, which may or may not exist.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._python: dict[int, Any] = {}  # by rank; of ranks that have had a turn
        self._numpy: dict[int, tuple[bytes, tuple[Any, ...]]] = {}  # memory and state
        self._generator = mtrand.get_bit_generator()
        self._address = self._generator.ctypes.state_address
        self._keeps_normal = True  # whether a normal number is kept in the process, or may be

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let the process draw from these streams; its own return afterwards."""
        before, set_state = (random.getstate(), np.random.get_state()), np.random.set_state

        def noted(state: Any) -> None:
            """Set the state; it may be one whose memory does not differ, with or without a normal number."""
            self._keeps_normal = True
            set_state(state)

        np.random.set_state = noted
        try:
            yield
        finally:
            np.random.set_state = set_state
            random.setstate(before[0])
            np.random.set_state(before[1])

    def enter(self, rank: int) -> None:
        """Let the streams of a rank be the process's."""
        if rank not in self._python:
            random.seed(f"{self._seed} {rank}")
            np.random.set_state(np.random.RandomState([self._seed, rank]).get_state())
            self._python[rank], self._numpy[rank] = random.getstate(), self._state()
            return
        random.setstate(self._python[rank])
        memory, state = self._numpy[rank]
        if self._keeps_normal or _keeps_normal(state) or not self._is_plain():
            np.random.set_state(state)
        else:
            ctypes.memmove(self._address, memory, _STATE_BYTES)
        self._keeps_normal = _keeps_normal(state)

    def leave(self, rank: int) -> None:
        """Keep the streams of a rank, which has had a turn."""
        self._python[rank] = random.getstate()
        if rank not in self._numpy or self._keeps_normal or not self._is_plain() or self._has_drawn(rank):
            self._numpy[rank] = self._state()

    def _has_drawn(self, rank: int) -> bool:
        return ctypes.string_at(self._address, _STATE_BYTES) != self._numpy[rank][0]

    def _is_plain(self) -> bool:
        """Return whether NumPy draws from the generator that it began with."""
        return mtrand.get_bit_generator() is self._generator

    def _state(self) -> tuple[bytes, tuple[Any, ...]]:
        state: Any = np.random.get_state()
        self._keeps_normal = _keeps_normal(state)
        return ctypes.string_at(self._address, _STATE_BYTES), state


def _keeps_normal(state: Any) -> bool:
    """Return whether a state has a normal number for the next call; True of other generators' states."""
    return not isinstance(state, tuple) or bool(state[3])
