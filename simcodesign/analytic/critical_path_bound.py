"""Lower bound on the run time of a program, from the ranks' own work and the global synchronisations.

Between two synchronisations, the busiest rank determines the bound. A synchronisation adds the time that the operation
itself takes after the last rank has arrived. Adding two ``Path`` objects concatenates them, in program order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """Seconds per rank before the first cut (``head``) and after the last (``tail``), all between in ``inner_s``.

    Without a cut ``inner_s`` is None and everything is in ``head``.
    """

    head: Floats
    inner_s: float | None = None
    tail: Floats | None = None

    def __add__(self, other: Path) -> Path:
        if self.inner_s is None or self.tail is None:
            return Path(self.head + other.head, other.inner_s, other.tail)
        if other.inner_s is None:
            return Path(self.head, self.inner_s, self.tail + other.head)
        inner = self.inner_s + float(np.max(self.tail + other.head)) + other.inner_s
        return Path(self.head, inner, other.tail)

    def at_least(self, since: Path, part: Path) -> Path:
        """Return the path if ``part`` ran concurrently from ``since`` on, and both are done.

        A part with a synchronisation, or concurrent with one, counts for nothing.
        """
        if self.inner_s is not None or part.inner_s is not None:
            return self
        return Path(np.maximum(self.head, since.head + part.head))

    def repeated(self, times: float) -> Path:
        """Return the path ``times`` times, which may be a fraction if nothing is cut."""
        if self.inner_s is None or self.tail is None:
            return Path(self.head * times)
        if times < 1:
            return Path(np.zeros_like(self.head))
        between = float(np.max(self.tail + self.head))
        return Path(self.head, np.floor(times) * self.inner_s + (np.floor(times) - 1) * between, self.tail)

    @property
    def length_s(self) -> float:
        """The lower bound."""
        tail = 0.0 if self.tail is None else float(self.tail.max())
        return float(self.head.max()) + (self.inner_s or 0.0) + tail


def cut(ranks: int, time_s: float) -> Path:
    """Return a synchronising operation that takes ``time_s`` after the last rank has come."""
    return Path(np.zeros(ranks), time_s, np.zeros(ranks))
