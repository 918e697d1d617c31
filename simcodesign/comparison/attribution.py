"""How much of a gap each step explains, and how large a difference is beside what it is a difference of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

#: Differences below this share of the first time are rounding: each reading adds some 10^5 numbers.
ROUNDING = 1e-10


def changes_of(times_s: Sequence[float]) -> list[tuple[float, float]]:
    """What each time adds to the one before it, in seconds, and its share of the whole gap (nan when there is none)."""
    least_s = ROUNDING * times_s[0]
    changes = [0.0 if abs(after - before) <= least_s else after - before for before, after in pairwise(times_s)]
    gap = sum(changes)
    return [(change, change / gap if gap else float("nan")) for change in changes]


def relative_error(forecast: float, simulated: float) -> float:
    """(forecast - simulated) / simulated; 0 when both are 0, nan when only ``simulated`` is."""
    if simulated == 0:
        return 0.0 if forecast == 0 else float("nan")
    return (forecast - simulated) / simulated
