"""Causes of unequal times for equal work: noise of the machine, slow nodes, bursts, imbalance of the workload.

All factors have mean 1 except for slow nodes, and bursts, which add to the time: these two are in no forecast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import format_quantity
from simcodesign.describe.randomness.distribution import MOST_VARIATION, Distribution

#: Largest factor by which a node is slow.
MOST_FACTOR = 1e6
#: Operations that noise may act on, and in words.
PARTS = {"compute": "computations", "disk": "disk accesses", "memory": "memory demands", "network": "messages"}
#: Whose shares of computation are uneven.
OWNERS = ("ranks", "nodes")
WHICH_NODES = "one of nodes, count, fraction"


@dataclass(frozen=True)
class SlowNodes:
    """Computations of the ranks on some nodes take ``factor`` times as long.

    On ``nodes``, or on ``count`` random nodes among all of the machine, or on each node with the probability
    ``fraction``.

    Raises InputError unless exactly one of these is given, and in range.
    """

    factor: float
    nodes: tuple[int, ...] = ()
    count: int = 0
    fraction: float = 0.0
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if not 1 <= self.factor <= MOST_FACTOR:
            allowed = f"1 to {MOST_FACTOR:g}"
            raise InputError("factor of slow nodes is out of range", self.place, value=self.factor, allowed=allowed)
        given = [name for name in ("nodes", "count", "fraction") if getattr(self, name)]
        if len(given) > 1:
            raise InputError("which nodes are slow", self.place, value=given, allowed=WHICH_NODES)
        if not 0 <= self.fraction <= 1:
            raise InputError(
                "fraction of slow nodes is out of range", self.place, value=self.fraction, allowed="0 to 1"
            )
        if self.count < 0 or self.count != int(self.count):
            raise InputError("count of slow nodes", self.place, value=self.count, allowed="a whole number")
        if len(set(self.nodes)) < len(self.nodes):
            raise InputError(
                "a slow node is listed twice", self.place, value=list(self.nodes), allowed="each node once"
            )

    def __bool__(self) -> bool:
        return self.factor != 1 and bool(self.nodes or self.count or self.fraction)

    @property
    def is_random(self) -> bool:
        """Whether the slow nodes are chosen at random."""
        return bool(self) and not self.nodes

    @property
    def text(self) -> str:
        """Text for a table."""
        which = f"{self.count} at random" if self.count else f"{100 * self.fraction:g} % of them, at random"
        which = ", ".join(map(str, self.nodes)) if self.nodes else which
        return f"{which}; {self.factor:g} times as long"

    def check(self, nodes: int) -> None:
        """InputError unless a machine of ``nodes`` nodes has these."""
        beyond = [node for node in self.nodes if not 0 <= node < nodes]
        if beyond:
            what = "a slow node that does not exist"
            raise InputError(what, self.place, value=beyond[0], allowed=f"0 to {nodes - 1}")
        if self.count > nodes:
            raise InputError("count of slow nodes", self.place, value=self.count, allowed=f"up to {nodes}")


@dataclass(frozen=True)
class Bursts:
    """The operating system takes ``length_s`` out of every ``period_s`` of a node's processors.

    On all nodes at the same time (``together``), or on each at a time of its own. Raises InputError unless 0 <= length
    < period.
    """

    period_s: float
    length_s: float
    together: bool = False
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.period_s < math.inf:
            raise InputError(
                "period of bursts is out of range", self.place, value=self.period_s, allowed="a time above 0"
            )
        if not 0 <= self.length_s < self.period_s:
            raise InputError(
                "length of bursts is out of range", self.place, value=self.length_s, allowed="0 to less than the period"
            )

    def __bool__(self) -> bool:
        return self.length_s > 0

    @property
    def between_s(self) -> float:
        """Work between two bursts."""
        return self.period_s - self.length_s

    @property
    def text(self) -> str:
        """Text for a table."""
        length, period = (format_quantity(time_s, "time") for time_s in (self.length_s, self.period_s))
        return (
            f"{length} of every {period}, {'all nodes together' if self.together else 'each node at times of its own'}"
        )


@dataclass(frozen=True)
class Noise:
    """Noise of a machine: a factor on the time of every computation, disk access, memory demand and message.

    Slow nodes; bursts. True if there is anything that changes a time.

    A message carries its factor along: its sender's time, its flight, and its times on the route all have it.
    """

    compute: Distribution | None = None
    disk: Distribution | None = None
    memory: Distribution | None = None
    network: Distribution | None = None
    slow_nodes: SlowNodes | None = None
    bursts: Bursts | None = None

    def __bool__(self) -> bool:
        return self.varies or bool(self.slow_nodes)

    @property
    def parts(self) -> Mapping[str, Distribution]:
        """The distributions that vary, by what they act on."""
        every = {part: getattr(self, part) for part in PARTS}
        return {part: one for part, one in every.items() if one is not None and not one.constant}

    @property
    def varies(self) -> bool:
        """Whether anything but slow nodes varies, so that no two iterations are the same."""
        return bool(self.parts) or bool(self.bursts)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield its parts, as rows of a table."""
        yield from ((f"noise of {PARTS[part]}", one.text) for part, one in self.parts.items())
        if self.slow_nodes:
            yield "slow nodes", self.slow_nodes.text
        if self.bursts:
            yield "bursts of noise", self.bursts.text
        if not self:
            yield "noise", "none"


@dataclass(frozen=True)
class Imbalance:
    """The fraction of computation that each rank has, or each node with all of its ranks, against the mean one."""

    distribution: Distribution
    of: str = "ranks"
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if self.of not in OWNERS:
            raise InputError("imbalance of", self.place, value=self.of, allowed=", ".join(OWNERS))

    def __bool__(self) -> bool:
        return not self.distribution.constant

    @property
    def text(self) -> str:
        """Text for a table."""
        return f"{self.distribution.text}, of {self.of}"


def share_as_distribution(share: float, what: str, place: Place) -> Distribution:
    """Return the lognormal distribution for a plain fraction. InputError unless it is a coefficient of variation."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= MOST_VARIATION:
        raise InputError(what, place, value=share, allowed=f"0 to {MOST_VARIATION}")
    return Distribution("lognormal", {"variation": float(share)}, place=place)
