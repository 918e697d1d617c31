"""What is looked at in a run in addition to its operations: lines as phases, and the memory of NumPy arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np

from simcodesign.describe.python_programs.recording import Recording
from simcodesign.mpi.ranks.scheduler import is_own_file
from simcodesign.mpi.ranks.world import World

#: Containers within containers, and entries of each, that are looked at.
_DEEPEST, _MOST_ENTRIES = 4, 10_000
#: Packages whose objects are not looked into: modules, functions, generators; and communicators, which hold the run.
_WITHOUT_ARRAYS = ("builtins", "simcodesign", "numpy")


def by_line(recording: Recording, name: str) -> Recording:
    """Return the recording with a phase for each line of the program that calls MPI: ``solver.py:31``."""
    lines, phase = np.unique(recording.line, return_inverse=True)
    return replace(recording, phases=tuple(f"{name}:{line}" for line in lines) or ("main",), phase=phase)


class ArrayBytes:
    """Counts arrays at each call of MPI of a run.

    ``array_bytes[rank]``: the most bytes of arrays that the rank's variables held at a call of MPI.
    """

    def __init__(self, ranks: int) -> None:
        self.array_bytes = [0] * ranks

    def attend(self, world: World) -> None:
        """Look at the calls of a run."""
        world.on_call.append(self._called)

    def _called(self, rank: int) -> None:
        self.array_bytes[rank] = max(self.array_bytes[rank], array_bytes(sys._getframe(1)))


def array_bytes(frame: FrameType | None) -> int:
    """Return the bytes of the distinct arrays that the variables of a frame and its callers hold.

    A view counts as the array that it belongs to. Arrays in lists, tuples, dictionaries and attributes of objects
    count; temporary arrays within an expression have no variable.
    """
    found: dict[int, int] = {}
    seen: set[int] = set()
    while frame is not None:
        if not is_own_file(frame.f_code.co_filename):
            # The locals of the program itself are its globals. Among them are builtins, which hold no arrays.
            names = frame.f_locals
            _look((names[name] for name in names if name != "__builtins__"), found, seen, 0)
        frame = frame.f_back
    return sum(found.values())


def _look(values: Iterable[Any], found: dict[int, int], seen: set[int], depth: int) -> None:
    """Add the arrays among these values, and in what these contain, to ``found``: bytes by identity."""
    for value in list(values):
        if isinstance(value, np.ndarray):
            while isinstance(value.base, np.ndarray):
                value = value.base
            found[id(value)] = value.nbytes
        elif depth < _DEEPEST and id(value) not in seen:
            inner = _inner(value)
            if inner:
                seen.add(id(value))
                _look(inner, found, seen, depth + 1)


def _inner(value: Any) -> Iterable[Any]:
    """Return what a container or an object contains."""
    if isinstance(value, dict):
        return value.values() if len(value) <= _MOST_ENTRIES else ()
    if isinstance(value, list | tuple | set):
        return value if len(value) <= _MOST_ENTRIES else ()
    if type(value).__module__.split(".")[0] in _WITHOUT_ARRAYS or isinstance(value, type):
        return ()
    return getattr(value, "__dict__", {}).values()
