"""The answer of a reading: one shape for forecast and simulation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.rank_counters import RankCounters
from simcodesign.core.station_uses import NO_STATIONS, StationUses
from simcodesign.core.to_json import PlainResult, attributes_of
from simcodesign.core.units import FloatOrArray

if TYPE_CHECKING:
    import pandas as pd

#: Where time goes.
COMPONENTS = ("computation", "communication", "disk", "memory")
#: Kinds of operations, and the component that the time of each belongs to.
COMPUTE, SEND, RECEIVE, READ, WRITE, MEMORY, WAIT = range(7)
KINDS = ("compute", "send", "receive", "read", "write", "memory", "wait")
COMPONENT_OF_KIND = np.array([0, 1, 1, 2, 2, 3, 1])


#: Phases of checkpoints and of failures.
CHECKPOINTS, FAILURES = "checkpoints", "failures"

#: Attributes of a Result that are always among its ``json_fields``.
_ALWAYS_SHOWN = (
    *("reading", "workload", "machine", "preset", "values", "makespan_s", "messages", "message_bytes", "disk_bytes"),
    *("flops", "instructions", "served", "hit_methods", "footprint_bytes", "capacity_bytes"),
)


@dataclass(frozen=True)
class Bounds:
    """Bounds of the simulated time, for the deterministic effects.

    ``lower_s`` names each lower bound; those of ``needs_effect`` hold only with that effect: the loads of links,
    interfaces and disks bound simulations in which these are shared. ``upper_s`` is generous: every operation and every
    message alone, on the longest way.
    """

    lower_s: Mapping[str, float]
    upper_s: float
    needs_effect: Mapping[str, str] = field(default_factory=dict)

    def lower_with(self, effects: Collection[str]) -> dict[str, float]:
        """The lower bounds that hold for a simulation with these effects, in seconds by name."""
        on = ("", *effects)
        return {name: bound_s for name, bound_s in self.lower_s.items() if self.needs_effect.get(name, "") in on}

    def least_s(self, effects: Collection[str]) -> float:
        """The largest lower bound of a simulation with these effects."""
        return max(self.lower_with(effects).values())

    def json_fields(self) -> dict[str, Any]:
        """In seconds, by name."""
        return attributes_of(self, lower="lower_s", upper="upper_s")


@dataclass(frozen=True)
class DemandTime:
    """A demand of a program, ``times`` times in all: what it adds to the makespan. In a forecast, its closed form (of
    the busiest rank). In a simulation, the time from the end of everything before it in the program, in the last rank,
    to its own end in the last rank."""

    phase: str
    demand: str
    times: float
    time_s: float


@dataclass(frozen=True)
class SequenceTime:
    """Operations of a phase that follow one another without a cut, ``times`` times in all: the sum of their closed
    forms, and what they take when ranks go on as soon as they can; None where that has no closed form, so that the sum
    stands."""

    phase: str
    operations: str
    times: float
    sum_s: float
    pipelined_s: float | None

    @property
    def saved_s(self) -> float:
        """By how much it is less than the sum."""
        return 0.0 if self.pipelined_s is None else self.sum_s - self.pipelined_s

    def plus(self, other: SequenceTime) -> SequenceTime:
        """The same sequence again."""
        both = None if self.pipelined_s is None or other.pipelined_s is None else self.pipelined_s + other.pipelined_s
        return SequenceTime(self.phase, self.operations, self.times + other.times, self.sum_s + other.sum_s, both)


@dataclass(frozen=True)
class Pipelined:
    """The makespan of a forecast where ranks go on as soon as their own part of an operation is done: the sum of closed
    forms less what its sequences save. ``sequences``: only those whose sum is not known to be exact. Without a
    makespan, ``reason`` says for what none is given."""

    makespan_s: float | None
    sequences: tuple[SequenceTime, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class ChosenAlgorithm:
    """An algorithm that a collective operation with ``algorithm: auto`` takes in a phase, and the fewest and the most
    ranks and bytes with which it takes it."""

    phase: str
    operation: str
    algorithm: str
    least_ranks: int
    most_ranks: int
    least_bytes: float
    most_bytes: float

    def plus(self, other: ChosenAlgorithm) -> ChosenAlgorithm:
        """The same algorithm with other ranks and bytes as well."""
        return replace(
            self,
            least_ranks=min(self.least_ranks, other.least_ranks),
            most_ranks=max(self.most_ranks, other.most_ranks),
            least_bytes=min(self.least_bytes, other.least_bytes),
            most_bytes=max(self.most_bytes, other.most_bytes),
        )


@dataclass(frozen=True)
class SharedTime:
    """An operation of a phase, ``times`` times in all: what it takes alone on the network, as the makespan counts it,
    and where its messages share links fairly with each other."""

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
    """What failures add to a forecast, on average. ``mtbf_s``: between two failures of any node that the ranks run on.

    ``young_s``, ``daly_s``: the makespan by Young's first-order formula and by Daly's, exact for exponential times
    between failures (infinite where the program would hardly ever end). ``young_interval_s``, ``daly_interval_s``: the
    intervals between checkpoints that they find best; None where nothing is written.
    """

    mtbf_s: FloatOrArray
    young_s: FloatOrArray
    daly_s: FloatOrArray
    young_interval_s: FloatOrArray | None
    daly_interval_s: FloatOrArray | None


@dataclass(frozen=True)
class Failures:
    """The ``count`` failures of a simulation: seconds of work that was lost, and of restarts."""

    count: int
    lost_s: float
    restart_s: float


@dataclass(frozen=True)
class RankTimes:
    """Times of every rank, (ranks, phases, components); ``busy_s`` includes ``waiting_s``. ``end_s``: (ranks,).

    Of a rank that does several things at once each counts, so that its times may add up to more than its end.
    """

    phases: tuple[str, ...]
    busy_s: NDArray[np.float64]
    waiting_s: NDArray[np.float64]
    end_s: NDArray[np.float64]

    @property
    def critical_rank(self) -> int:
        """The rank that is done last (the first of them)."""
        return int(np.argmax(self.end_s))

    def table(self) -> pd.DataFrame:
        """One row per rank, phase and component: busy and waiting seconds."""
        import pandas as pd

        ranks, phases, components = np.indices(self.busy_s.shape).reshape(3, -1)
        return pd.DataFrame(
            {
                "rank": ranks,
                "phase": np.array(self.phases, dtype=object)[phases],
                "component": np.array(COMPONENTS, dtype=object)[components],
                "busy_s": self.busy_s.ravel(),
                "waiting_s": self.waiting_s.ravel(),
            }
        )


@dataclass(frozen=True, eq=False)
class Requests:
    """The requests of an open stream, arrays of one length, in the order in which they arrived.

    ``arrived_s``: at the first station, or when a message was ready to be sent; ``left_s``: served by the last station
    of its way, or at its destination, NaN of one that was blocked. ``source``: the rank that it came from.
    """

    arrived_s: NDArray[np.float64]
    left_s: NDArray[np.float64]
    source: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.arrived_s)

    @property
    def response_s(self) -> NDArray[np.float64]:
        """How long each of those served took, in order of arrival."""
        response = self.left_s - self.arrived_s
        return np.asarray(response[~np.isnan(response)])

    @property
    def blocked(self) -> int:
        """Requests that were turned away because the station was full."""
        return int(np.count_nonzero(np.isnan(self.left_s)))


#: Stations in ``Result.to_dict``: all of them, or as many of the most used; and steps of the power, or none.
MOST_LISTED = 10_000


@dataclass(frozen=True)
class Timeline:
    """Who did what from when to when: one row per operation, arrays of equal length.

    ``ready_s``: the rank had come to it; ``start_s``: it stopped waiting; ``finish_s``: it was done. ``kind``: 0
    compute, 1 send, 2 receive, 3 read, 4 write, 5 memory; ``peer`` is -1 where there is none. ``match``: row of the
    other end of a message, -1 where there is none.
    """

    phases: tuple[str, ...]
    rank: NDArray[np.int32]
    phase: NDArray[np.int16]
    kind: NDArray[np.int8]
    ready_s: NDArray[np.float64]
    start_s: NDArray[np.float64]
    finish_s: NDArray[np.float64]
    peer: NDArray[np.int32]
    size_bytes: NDArray[np.float64]
    match: NDArray[np.int32]


@dataclass(frozen=True)
class PowerProfile:
    """Power over time: ``watts[i]`` from ``edges_s[i]`` to ``edges_s[i + 1]``; (steps + 1,) and (steps,)."""

    edges_s: NDArray[np.float64]
    watts: NDArray[np.float64]

    @property
    def energy_j(self) -> float:
        """Joules: the area under the profile."""
        return float(self.watts @ np.diff(self.edges_s))

    @property
    def peak_w(self) -> float:
        """The highest power in W; 0 for an empty profile."""
        return float(self.watts.max(initial=0.0))


@dataclass(frozen=True)
class SettledLoop:
    """A repeated block of which only ``simulated`` iterations were; each of the rest takes ``iteration_s``."""

    phase: str
    repeat: int
    simulated: int
    iteration_s: float


@dataclass(frozen=True)
class IndexedLoop:
    """A loop whose iterations differ by its ``index``, and ``where`` it stands in the description: never cut short."""

    phase: str
    index: str
    where: str


@dataclass(frozen=True)
class SteadyState:
    """What was simulated, and what extrapolated: a loop had settled when ``times`` iterations in a row took the same
    time within ``tolerance``. Without a ``reason`` against it, the times and counts of the Result are extrapolated.
    ``whole``: loops of which every iteration was simulated, each time that they were done."""

    loops: tuple[SettledLoop, ...]
    times: int
    tolerance: float
    reason: str = ""
    whole: tuple[IndexedLoop, ...] = ()

    @property
    def extrapolated(self) -> bool:
        """Whether anything was left out."""
        return not self.reason


@dataclass(frozen=True)
class Result(PlainResult):
    """The answer of one reading. ``phases`` maps phase -> component -> seconds, which add up to ``makespan_s``: in a
    simulation those along the critical path, from the last event back through whatever each step waited for.
    A forecast over many design points holds arrays of one shape.

    ``flops`` and ``instructions``: what all ranks compute, as far as it is described in these (and not in seconds).
    ``served``: accesses of all ranks by the level of the caches that served them, and by ``memory``; ``hit_methods``:
    how those of each level were counted (``full``, ``binomial``: the stack model; ``sets``: the hierarchy itself).
    ``footprint_bytes``: memory that a rank needs; ``capacity_bytes``: memory that it has; ``size``: of the problem, in
    the workload's own unit. They are None where the description does not state them.
    ``used``: amounts of the machine's resources, of all ranks. ``energy_j``, ``peak_power_w``, ``static_power_w`` (of
    the whole machine, idle parts too): None where the machine states no power. A forecast's peak is P_max, all
    ranks at work on all that a phase uses; a simulation's is the highest of its ``power_profile``.
    ``response_s``, ``blocked``: of an open stream, the mean time in the system of the requests that are served, and the
    share that is blocked; ``requests``: each of them, in a simulation. None where there is no such stream.
    ``formulas``: the formulas of queueing theory that a forecast used, with their names. ``basis``: what a forecast
    consists of where it is not the sum over the program (of programs in Python). ``pipelined``: of a forecast
    of one design point, the time where operations overlap that the sum adds up; None for several points and streams.
    ``shared_links``: likewise, the time with the operations for which fair sharing of links has a closed form
    (``analytic.messages.even_sharing``); None where there are none.
    ``demands``: what each demand of the program adds, in its order, of one design point: what they add up to is the
    makespan but for the waits of ``formulas``, and for checkpoints and failures. None of streams, schedules and
    extrapolated iterations.
    ``checkpoints``: how many are written; None where the workload has none. ``failures``: in a forecast, what they
    would add to its makespan; in a simulation with this effect, what they did add. The phases have their times, under
    ``CHECKPOINTS`` and ``FAILURES``. ``algorithms``: those that collective operations with ``algorithm: auto`` take.
    """

    reading: str
    workload: str
    machine: str
    values: Mapping[str, FloatOrArray]
    makespan_s: FloatOrArray
    phases: Mapping[str, Mapping[str, FloatOrArray]]
    messages: FloatOrArray
    message_bytes: FloatOrArray
    disk_bytes: FloatOrArray
    flops: FloatOrArray = 0.0
    instructions: FloatOrArray = 0.0
    served: Mapping[str, FloatOrArray] = field(default_factory=dict)
    hit_methods: Mapping[str, str] = field(default_factory=dict)
    footprint_bytes: FloatOrArray | None = None
    capacity_bytes: FloatOrArray | None = None
    size: FloatOrArray | None = None
    used: Mapping[str, FloatOrArray] = field(default_factory=dict)
    energy_j: FloatOrArray | None = None
    peak_power_w: FloatOrArray | None = None
    static_power_w: FloatOrArray | None = None
    preset: str | None = None
    effects: tuple[str, ...] = ()
    seed: int | None = None
    events: int = 0
    engine: str = ""
    steady: SteadyState | None = None
    bounds: Bounds | None = None
    ranks: RankTimes | None = field(default=None, repr=False)
    stations: StationUses = field(default=NO_STATIONS, repr=False)
    timeline: Timeline | None = field(default=None, repr=False)
    counters: RankCounters | None = field(default=None, repr=False)
    power_profile: PowerProfile | None = field(default=None, repr=False)
    response_s: FloatOrArray | None = None
    blocked: FloatOrArray | None = None
    requests: Requests | None = field(default=None, repr=False)
    formulas: tuple[str, ...] = ()
    basis: tuple[str, ...] = ()
    pipelined: Pipelined | None = None
    shared_links: SharedLinks | None = None
    demands: tuple[DemandTime, ...] = field(default=(), repr=False)
    checkpoints: FloatOrArray | None = None
    failures: Failures | FailureForecast | None = None
    algorithms: tuple[ChosenAlgorithm, ...] = ()

    @property
    def headline_s(self) -> FloatOrArray:
        """What readings are compared by: the mean response time of an open stream, else the makespan."""
        return self.makespan_s if self.response_s is None else self.response_s

    @property
    def components(self) -> dict[str, FloatOrArray]:
        """Seconds per component, summed over the phases."""
        zero: FloatOrArray = 0.0
        return {part: sum((times[part] for times in self.phases.values()), zero) for part in COMPONENTS}

    @property
    def fits(self) -> bool | NDArray[np.bool_] | None:
        """Whether a rank has the memory that it needs, at every design point; None where one of the two is unknown."""
        if self.footprint_bytes is None or self.capacity_bytes is None:
            return None
        fits = np.asarray(self.footprint_bytes) <= np.asarray(self.capacity_bytes)
        return fits if fits.ndim else bool(fits)

    def phase_rows(self) -> dict[str, dict[str, float]]:
        """Seconds per phase (and in ``total``), of each component and their ``total``. InputError for several design
        points."""
        if np.ndim(self.makespan_s):
            raise InputError("a table shows one design point", value=f"{np.size(self.makespan_s)} of them")
        rows = {
            name: {component: float(times[component]) for component in COMPONENTS}
            for name, times in [*self.phases.items(), ("total", self.components)]
        }
        return {name: times | {"total": sum(times.values())} for name, times in rows.items()}

    def table(self) -> pd.DataFrame:
        """``phase_rows`` as a table: phases are its rows, components its columns."""
        import pandas as pd

        return pd.DataFrame.from_dict(self.phase_rows(), orient="index")

    def station_table(self) -> pd.DataFrame:
        """One row per station."""
        import pandas as pd

        return pd.DataFrame([vars(station) for station in self.stations])

    def json_fields(self) -> dict[str, Any]:
        """What belongs to the reading and is there: without arrays of ranks, timeline and counters, and with the most
        used stations only where there are more than ``MOST_LISTED``."""
        shown = attributes_of(self, *_ALWAYS_SHOWN, components_s="components", phases_s="phases")
        if self.size is not None:
            shown["size"] = self.size
        if self.used:
            shown["used"] = self.used
        if self.energy_j is not None:
            shown |= attributes_of(self, "energy_j", "peak_power_w", "static_power_w")
        if self.power_profile is not None and len(self.power_profile.watts) <= MOST_LISTED:
            shown["power_profile"] = self.power_profile
        if self.response_s is not None:
            shown |= attributes_of(self, "response_s", "blocked")
        if self.algorithms:
            shown["algorithms"] = self.algorithms
        if self.formulas:
            shown["formulas"] = self.formulas
        if self.basis:
            shown["basis"] = self.basis
        if self.pipelined is not None:
            shown["pipelined"] = self.pipelined
        if self.shared_links is not None:
            shown["shared_links"] = self.shared_links
        shown |= {name: it for name in ("checkpoints", "failures") if (it := getattr(self, name)) is not None}
        if self.bounds is not None:
            shown["bounds_s"] = self.bounds
        if self.ranks is not None:
            shown |= attributes_of(self, "effects", "seed", "engine", "events", rank_end_s="ranks.end_s")
            if self.steady is not None:
                shown["steady"] = self.steady
            stations = self.stations if len(self.stations) <= MOST_LISTED else self.stations.most_used(MOST_LISTED)
            shown |= {"station_count": len(self.stations), "stations": list(stations)}
        return shown
