"""The boundary of a region in which a quantity that grows with two costs stays at or below zero.

Everything is in offsets from the corner where both costs are least. The boundary is followed along rays from there.
Where the quantity is convex, as a longest path of linear times is, the region is convex too, and between two points the
boundary is at most twice as far from a straight line as it is on the ray through their middle.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from scipy.optimize import brentq

Excess = Callable[[float, float], float]
Spot = tuple[float, float]
#: Start of a search, and its limit: seconds.
FIRST, LAST = 1e-9, 1e12
#: Where a quantity that need not grow steadily is looked at, in parts of its first zero: far apart, and close together
#: if it falls between any two of the first.
FAR_APART = (0.25, 0.5, 0.75, *(0.88 + 0.02 * step for step in range(13)), 1.2, 1.35, 1.5, 2.0)
CLOSE = tuple(0.75 + 0.005 * step for step in range(151))


class Counted:
    """A function of two numbers that remembers its values; ``runs``: how often it was evaluated."""

    def __init__(self, function: Excess) -> None:
        self._function = function
        self._known: dict[Spot, float] = {}

    def __call__(self, x: float, y: float) -> float:
        if (x, y) not in self._known:
            self._known[x, y] = self._function(x, y)
        return self._known[x, y]

    @property
    def runs(self) -> int:
        """Evaluations so far."""
        return len(self._known)


@dataclass(frozen=True)
class Corner:
    """Start of a search: the smallest costs, which leave ``excess(0, 0) <= 0``. ``most``: the largest offsets.

    ``steady``: whether the excess never falls with a cost. Otherwise a point of the boundary is the largest second cost
    at its first one, and ``gaps`` collects the stretches below it where the excess is positive, from point to point.
    """

    excess: Excess
    most: Spot
    accuracy: float
    steady: bool = True
    gaps: list[tuple[Spot, Spot]] = field(default_factory=list)

    def intercepts(self) -> Spot:
        """Return the largest offset of each cost, the other at its least; infinite for one that changes nothing."""
        return (
            self._largest((1.0, 0.0), FIRST, self.most[0]),
            self._largest((0.0, 1.0), FIRST, self.most[1]),
        )

    def on_ray(self, x: float, y: float) -> Spot:
        """Return the point of the boundary on the ray through this one."""
        farthest = min(most / part for most, part in zip(self.most, (x, y), strict=True) if part > 0)
        far = along(lambda far: self.excess(far * x, far * y), min(1.0, farthest), farthest, self.accuracy)
        return far * x, self._outermost((far * x, 0.0), (0.0, 1.0), far * y, self.most[1])

    def _largest(self, ray: Spot, guess: float, most: float) -> float:
        """Return the largest offset along an axis, up to ``most``, whose excess is not positive."""
        x, y = ray
        first = along(lambda far: self.excess(far * x, far * y), guess, most, self.accuracy)
        return self._outermost((0.0, 0.0), ray, first, most)

    def _outermost(self, start: Spot, way: Spot, first: float, most: float) -> float:
        """Return the largest multiple of ``way`` from ``start`` on whose excess is not positive, near the ``first``."""
        if self.steady or first == 0 or math.isinf(first):
            return first

        def spot(far: float) -> Spot:
            return start[0] + far * way[0], start[1] + far * way[1]

        zeros = all_zeros(lambda far: self.excess(*spot(far)), first, most, self.accuracy)
        pairs = zip(zeros[:-1:2], zeros[1::2], strict=True)
        self.gaps.extend((spot(begin), spot(end)) for begin, end in pairs)
        return zeros[-1]


def along(excess: Callable[[float], float], guess: float, most: float, accuracy: float) -> float:
    """Return the largest number up to ``most`` whose excess is not positive, infinite if there is no largest.

    Bracketed by growing steps in proportion to what is missing.
    """
    at_zero = excess(0.0)
    slack = accuracy * abs(at_zero)
    low, below, high = 0.0, at_zero, min(guess, most)
    above = excess(high)
    while above < -slack:
        if high >= most:
            return most
        if high > LAST:
            return math.inf
        rise = (above - below) / (high - low)
        step = -above / rise if rise > 0 else math.inf
        low, below = high, above
        high = min(high + min(max(step * (1 + 1e-6), high * 1e-9), 1e6 * high), most)
        above = excess(high)
    if abs(above) <= slack:
        return high
    return float(brentq(excess, low, high, xtol=1e-300, rtol=max(accuracy, 1e-15)))


def all_zeros(excess: Callable[[float], float], first: float, most: float, accuracy: float) -> list[float]:
    """Return the zeros of an excess that is negative at 0, in increasing order.

    An odd number, beyond the last of which it is positive. ``first``: one of them.

    With queueing, times can fall because messages then miss each other. The excess is looked at on both sides of
    ``first``, and more closely if it falls anywhere there; stretches shorter than the distances may be missed.
    """
    slack = accuracy * abs(excess(0.0))
    parts: tuple[float, ...] = FAR_APART
    values = [excess(min(first * part, most)) for part in parts]
    if any(later < earlier - slack for earlier, later in pairwise(values)):
        parts = tuple(sorted({*FAR_APART, *CLOSE}))
    spots = sorted({0.0, *(min(first * part, most) for part in parts)} - {first})
    changes = [(low, high) for low, high in pairwise(spots) if (excess(low) > slack) != (excess(high) > slack)]
    if len(changes) == 1 and changes[0][0] < first < changes[0][1]:
        return [first]
    zeros = [_zero(excess, low, high, accuracy) for low, high in changes]
    return zeros if len(zeros) % 2 else [*zeros, along(excess, spots[-1], most, accuracy)]


def _zero(excess: Callable[[float], float], low: float, high: float, accuracy: float) -> float:
    """Return a zero between two numbers of which one has a positive excess."""
    if (excess(low) > 0) == (excess(high) > 0):  # the other is above 0 by rounding
        return low if excess(high) > excess(low) else high
    return float(brentq(excess, low, high, xtol=1e-300, rtol=max(accuracy, 1e-15)))


def rays(corner: Corner, ends: Spot, shares: Iterable[float]) -> list[Spot]:
    """Points of the boundary on the rays through these shares of the line between the intercepts, 1 on the x axis."""
    first, second = ends
    inner = {0.0: (0.0, second), 1.0: (first, 0.0)}
    return [inner.get(share) or corner.on_ray(share * first, (1 - share) * second) for share in shares]


def bisected(corner: Corner, ends: Spot, points: int, tolerance: float) -> tuple[list[Spot], float]:
    """At most ``points`` points, and how far the boundary may still be from straight lines between them.

    The ray through the middle of two neighbours gives a new point; if that is farther than ``tolerance`` (in parts
    of the intercepts) from the straight line, both halves are examined as well, the worst first.
    """
    first, second = ends
    boundary = [(0.0, second), (first, 0.0)]
    waiting = [(-math.inf, boundary[0], boundary[1])] if first > 0 and second > 0 else []
    while waiting and len(boundary) < points:
        _, left, right = heapq.heappop(waiting)
        x, y = (left[0] + right[0]) / 2, (left[1] + right[1]) / 2
        spot = corner.on_ray(x, y)
        boundary.append(spot)
        off = max(abs(spot[0] - x) / first, abs(spot[1] - y) / second)
        if off > tolerance:
            heapq.heappush(waiting, (-off, left, spot))
            heapq.heappush(waiting, (-off, spot, right))
    unknown = max((-priority for priority, _, _ in waiting), default=0.0)
    return sorted(boundary, key=lambda spot: math.atan2(spot[0] / (first or 1.0), spot[1] / (second or 1.0))), unknown
