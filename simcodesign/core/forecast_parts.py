"""Parts of a forecast's Result in addition to its makespan."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from simcodesign.core.to_json import attributes_of
from simcodesign.core.units import FloatOrArray


@dataclass(frozen=True)
class Bounds:
    """Bounds of the simulated time, for the deterministic effects.

    ``lower_s`` names each lower bound; the bounds in ``needs_effect`` hold only with that effect: the loads of links,
    interfaces and disks bound simulations in which these are shared. ``upper_s`` is generous: every operation and every
    message alone, on the longest route.
    """

    lower_s: Mapping[str, float]
    upper_s: float
    needs_effect: Mapping[str, str] = field(default_factory=dict)

    def lower_with(self, effects: Collection[str]) -> dict[str, float]:
        """Return the lower bounds that hold for a simulation with these effects, in seconds by name."""
        on = ("", *effects)
        return {name: bound_s for name, bound_s in self.lower_s.items() if self.needs_effect.get(name, "") in on}

    def least_s(self, effects: Collection[str]) -> float:
        """Return the largest lower bound of a simulation with these effects."""
        return max(self.lower_with(effects).values())

    def json_fields(self) -> dict[str, Any]:
        """In seconds, by name."""
        return attributes_of(self, lower="lower_s", upper="upper_s")


@dataclass(frozen=True)
class DemandTime:
    """A demand of a program, ``times`` times in all: what it adds to the makespan.

    In a forecast, its closed form (of the busiest rank). In a simulation, the time from the end of everything before it
    in the program, in the last rank, to its own end in the last rank.
    """

    phase: str
    demand: str
    times: float
    time_s: float


@dataclass(frozen=True)
class SequenceTime:
    """Operations of a phase that follow one another without a synchronisation, ``times`` times in total.

    The sum of their closed forms, and the time if ranks continue as soon as they can; None if that has no closed form,
    so that the sum is used.
    """

    phase: str
    operations: str
    times: float
    sum_s: float
    pipelined_s: float | None

    @property
    def saved_s(self) -> float:
        """Time by which it is less than the sum."""
        return 0.0 if self.pipelined_s is None else self.sum_s - self.pipelined_s

    def plus(self, other: SequenceTime) -> SequenceTime:
        """Return this sequence with the times of ``other`` added."""
        both = None if self.pipelined_s is None or other.pipelined_s is None else self.pipelined_s + other.pipelined_s
        return SequenceTime(self.phase, self.operations, self.times + other.times, self.sum_s + other.sum_s, both)


@dataclass(frozen=True)
class Pipelined:
    """The makespan of a forecast if ranks continue as soon as their own part of an operation is done.

    The sum of closed forms less what its sequences save. ``sequences``: only those whose sum is not known to be exact.
    Without a makespan, ``reason`` explains why.
    """

    makespan_s: float | None
    sequences: tuple[SequenceTime, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Bubble:
    """Seconds that ranks of a pipeline wait, by a closed form of its workload.

    ``name``: as the workload states it, such as ``(p-1)/m``, the fraction of the time without a bubble.
    """

    name: str
    time_s: float

    @property
    def title(self) -> str:
        """Its name in a ladder."""
        return f"bubble {self.name}"


@dataclass(frozen=True)
class LongestPath:
    """Seconds of the longest path through the messages of a program, with its checkpoints.

    See ``analytic.longest_path.program_path``. It is the simulation without effects, to rounding, or a lower bound of
    it if something is ``left_out``. Without a time, ``reason`` states for what none is given.
    """

    time_s: float | None
    reason: str = ""
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChosenAlgorithm:
    """An algorithm that a collective operation with ``algorithm: auto`` takes in a phase.

    It has the fewest and the most ranks and bytes with which the operation takes it.
    """

    phase: str
    operation: str
    algorithm: str
    min_ranks: int
    max_ranks: int
    min_bytes: float
    max_bytes: float

    def plus(self, other: ChosenAlgorithm) -> ChosenAlgorithm:
        """Return this algorithm with the ranks and bytes of ``other`` added."""
        return replace(
            self,
            min_ranks=min(self.min_ranks, other.min_ranks),
            max_ranks=max(self.max_ranks, other.max_ranks),
            min_bytes=min(self.min_bytes, other.min_bytes),
            max_bytes=max(self.max_bytes, other.max_bytes),
        )


@dataclass(frozen=True)
class SharedTime:
    """An operation of a phase, ``times`` times in all, alone and with shared parts of the machine.

    Its time if each message is alone, as the makespan counts it, and if its messages share with each other what they
    pass: links, fairly, or the memory and the interfaces of their nodes.
    """

    phase: str
    operation: str
    times: float
    alone_s: float
    shared_s: float


@dataclass(frozen=True)
class SharedLinks:
    """The makespan of a forecast with the times of the operations for which fair sharing of links has a closed form."""

    makespan_s: float
    operations: tuple[SharedTime, ...]


@dataclass(frozen=True)
class FailureForecast:
    """Mean time that failures add to a forecast. ``mtbf_s``: between two failures of any node that the ranks run on.

    ``young_s``, ``daly_s``: the makespan by Young's first-order formula and by Daly's, exact for exponential times
    between failures (infinite where the program would hardly ever end). ``young_interval_s``, ``daly_interval_s``: the
    intervals between checkpoints that they find best; None if nothing is written.
    """

    mtbf_s: FloatOrArray
    young_s: FloatOrArray
    daly_s: FloatOrArray
    young_interval_s: FloatOrArray | None
    daly_interval_s: FloatOrArray | None
