"""A trace that counts what is read of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from simcodesign.locality.hierarchy.counts import ByKind
from simcodesign.locality.traces.trace import CHUNK, FETCH, Accesses, Trace


class CountedTrace(Trace):
    """The first ``most_accesses`` accesses of a trace (None: all), counted by their kind while they are read.

    ``on_progress`` is called after each chunk with the number of accesses so far.
    """

    def __init__(
        self, trace: Trace, most_accesses: int | None = None, on_progress: Callable[[int], object] | None = None
    ) -> None:
        self.name, self._trace, self._most, self._on_progress = trace.name, trace, most_accesses, on_progress
        self.accesses = 0
        self.grouped = False
        self._kinds: np.ndarray | None = None

    @property
    def kinds(self) -> ByKind | None:
        """Kinds of the accesses that were read last; None if the trace has no kinds."""
        return None if self._kinds is None else ByKind(*self._kinds.tolist())

    def chunks(self, most: int = CHUNK) -> Iterator[Accesses]:
        """As the trace itself gives them, the last one cut off."""
        self.accesses, self.grouped, self._kinds = 0, False, None
        for whole in self._trace.chunks(most):
            chunk = whole if self._most is None else whole[: self._most - self.accesses]
            self._count(chunk)
            yield chunk
            if self._on_progress:
                self._on_progress(self.accesses)
            if self.accesses == self._most:
                return

    def _count(self, chunk: Accesses) -> None:
        self.accesses += len(chunk)
        self.grouped = chunk.group is not None
        if chunk.kind is not None:
            kinds = np.bincount(chunk.kind, minlength=FETCH + 1)
            self._kinds = kinds if self._kinds is None else self._kinds + kinds
