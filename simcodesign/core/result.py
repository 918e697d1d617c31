"""What a reading says: one shape of answer for forecast and simulation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.to_json import PlainResult, attributes_of
from simcodesign.core.units import FloatOrArray

#: Where time goes.
COMPONENTS = ("computation", "communication", "disk", "memory")
#: Kinds of operations, and the component that the time of each belongs to.
COMPUTE, SEND, RECEIVE, READ, WRITE, MEMORY = range(6)
KINDS = ("compute", "send", "receive", "read", "write", "memory")
COMPONENT_OF_KIND = np.array([0, 1, 1, 2, 2, 3])


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


@dataclass(frozen=True)
class RankTimes:
    """Times of every rank, (ranks, phases, components); ``busy_s`` includes ``waiting_s``. ``end_s``: (ranks,)."""

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


#: What ``RankCounters`` hold, in this order: names as in tables of hardware counters.
RANK_COUNTERS = (
    "time_s",
    "instructions",
    "cycles",
    "l1_hits",
    "l2_hits",
    "llc_hits",
    "memory_accesses",
    "loads_stores",
    "stall_cycles",
    "p2p_wait_s",
    "collective_wait_s",
    "messages",
    "message_bytes",
    "collectives",
    "collective_bytes",
)


@dataclass(frozen=True, eq=False)
class RankCounters:
    """What hardware counters and a communication profiler would show of a simulation, (counters, ranks, phases).

    ``values``: in the order of ``RANK_COUNTERS``. ``clock_hz``: of the processor, NaN without one; ``frequency_hz``:
    (phases,) that of each phase, NaN without one and where a phase has work at several clocks.

    - ``instructions``: of computations; of those in flops or seconds, what the processor retires in that time before
      noise, time x clock / CPI. Imbalance changes the work of a rank, and so its instructions. Loads and stores are
      taken to be among the instructions that a workload states, and add none.
    - ``cycles``: time of computations (noise included) and of memory demands (waits at the controller included), x
      clock; ``stall_cycles``: the memory part. Without a clock these and ``instructions`` are NaN.
    - ``l1_hits``: accesses that the first cache served, ``llc_hits`` the last of two or more, ``l2_hits`` those
      between; a cache alone is the first, and its misses are ``memory_accesses``. ``loads_stores``: all.
    - ``p2p_wait_s``, ``collective_wait_s``: time of sends and receives, waiting included; ``messages`` and
      ``message_bytes``: sent point to point; ``collectives``: calls; ``collective_bytes``: as the demands state them.
    - ``time_s``: all operations, those on disks included, and in a schedule waits for a processor that is at work.
    """

    phases: tuple[str, ...]
    values: NDArray[np.float64]
    frequency_hz: NDArray[np.float64]
    clock_hz: float

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.values.shape[1])

    def of(self, name: str) -> NDArray[np.float64]:
        """A counter of every rank in every phase, (ranks, phases). InputError for an unknown name."""
        if name not in RANK_COUNTERS:
            raise InputError("no such counter", value=name, allowed=nearest(name, RANK_COUNTERS))
        return np.asarray(self.values[RANK_COUNTERS.index(name)])


@dataclass(frozen=True)
class StationUse:
    """How a disk, interface or link was used. ``mean_queue``: requests waiting, averaged over the makespan;
    ``longest_queue``: most requests at hand at once, those about to be granted included; ``refused``: requests that
    found no room.
    """

    name: str
    kind: str
    servers: int
    served: int
    busy_s: float
    wait_s: float
    utilisation: float
    mean_queue: float
    longest_queue: int
    refused: int = 0


@dataclass(frozen=True, eq=False)
class StationUses(Sequence[StationUse]):
    """How all S stations were used: arrays of one length, and each station as a ``StationUse`` when it is asked for."""

    name: Callable[[int], str]
    kinds: tuple[str, ...]
    kind: NDArray[np.int8]
    servers: NDArray[np.int32]
    served: NDArray[np.int64]
    busy_s: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    longest_queue: NDArray[np.int64]
    span_s: float  # over which utilisation and mean queue are taken
    refused: NDArray[np.int64] | None = None  # None: nobody is

    def __len__(self) -> int:
        return len(self.kind)

    @overload
    def __getitem__(self, number: int) -> StationUse: ...
    @overload
    def __getitem__(self, number: slice) -> list[StationUse]: ...
    def __getitem__(self, number: int | slice) -> StationUse | list[StationUse]:
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(len(self)))]
        place = range(len(self))[number]  # IndexError for what is none
        servers, busy, wait = int(self.servers[place]), float(self.busy_s[place]), float(self.wait_s[place])
        return StationUse(
            name=self.name(place),
            kind=self.kinds[self.kind[place]],
            servers=servers,
            served=int(self.served[place]),
            busy_s=busy,
            wait_s=wait,
            utilisation=busy / (self.span_s * servers),
            mean_queue=wait / self.span_s,
            longest_queue=int(self.longest_queue[place]),
            refused=0 if self.refused is None else int(self.refused[place]),
        )

    def most_used(self, count: int) -> list[StationUse]:
        """The stations of the highest utilisation, of those the ones that were busy longest; the first of equals."""
        order = np.lexsort((-self.busy_s, -self.busy_s / self.servers))
        return [self[int(place)] for place in order[:count]]


@dataclass(frozen=True, eq=False)
class Requests:
    """The requests of an open stream, arrays of one length, in the order in which they arrived.

    ``arrived_s``: at the first station, or when a message was ready to be sent; ``left_s``: served by the last station
    of its way, or at its destination, NaN of one that was refused. ``source``: the rank that it came from.
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
    def refused(self) -> int:
        """How many found no place."""
        return int(np.count_nonzero(np.isnan(self.left_s)))


#: Stations in ``Result.to_dict``: all of them, or as many of the most used; and steps of the power, or none.
MOST_LISTED = 10_000
#: No stations: what a forecast has, and a simulation in which nothing is shared.
NO_STATIONS = StationUses(
    name=str,
    kinds=(),
    kind=np.zeros(0, np.int8),
    servers=np.zeros(0, np.int32),
    served=np.zeros(0, np.int64),
    busy_s=np.zeros(0),
    wait_s=np.zeros(0),
    longest_queue=np.zeros(0, np.int64),
    span_s=1.0,
)


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
        """The area under it."""
        return float(self.watts @ np.diff(self.edges_s))

    @property
    def peak_w(self) -> float:
        """The most that is drawn at any time; 0 of a run that takes none."""
        return float(self.watts.max(initial=0.0))


@dataclass(frozen=True)
class SettledLoop:
    """A repeated block of which only ``simulated`` iterations were; each of the rest takes ``iteration_s``."""

    phase: str
    repeat: int
    simulated: int
    iteration_s: float


@dataclass(frozen=True)
class SteadyState:
    """What was simulated, and what extrapolated: a loop had settled when ``times`` iterations in a row took the same
    time within ``tolerance``. Without a ``reason`` against it, the times and counts of the Result are extrapolated."""

    loops: tuple[SettledLoop, ...]
    times: int
    tolerance: float
    reason: str = ""

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
    how those of each level were found (``full``, ``binomial``: the stack model; ``sets``: the hierarchy itself).
    ``footprint_bytes``: memory that a rank needs, ``capacity_bytes``: memory that it has; None where nothing is said.
    ``size``: of the problem, in the workload's own unit; None where the workload does not say it.
    ``used``: amounts of the machine's resources, of all ranks. ``energy_j``, ``peak_power_w``, ``static_power_w`` (of
    the whole machine, idle parts too): None where the machine says nothing of power. A forecast's peak is P_max, all
    ranks at work on all that a phase uses; a simulation's is the highest of its ``power_profile``.
    ``response_s``, ``refused``: of an open stream, the mean time in the system of the requests that are served, and the
    share that is refused; ``requests``: each of them, in a simulation. None where there is no such stream.
    ``formulas``: the formulas of queueing theory that a forecast used, with their names.
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
    refused: FloatOrArray | None = None
    requests: Requests | None = field(default=None, repr=False)
    formulas: tuple[str, ...] = ()

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
        """Whether a rank has the memory that it needs, at every design point; None where one of the two is not said."""
        if self.footprint_bytes is None or self.capacity_bytes is None:
            return None
        fits = np.asarray(self.footprint_bytes) <= np.asarray(self.capacity_bytes)
        return fits if fits.ndim else bool(fits)

    def table(self) -> pd.DataFrame:
        """Seconds per phase (rows, with a total) and component (columns). InputError for several design points."""
        if np.ndim(self.makespan_s):
            raise InputError("a table shows one design point", value=f"{np.size(self.makespan_s)} of them")
        rows = {name: dict(times) for name, times in self.phases.items()} | {"total": self.components}
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=list(COMPONENTS)).astype(float)
        return frame.assign(total=frame.sum(axis=1))

    def station_table(self) -> pd.DataFrame:
        """One row per station."""
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
            shown |= attributes_of(self, "response_s", "refused")
        if self.formulas:
            shown["formulas"] = self.formulas
        if self.bounds is not None:
            shown["bounds_s"] = {"lower": self.bounds.lower_s, "upper": self.bounds.upper_s}
        if self.ranks is not None:
            shown |= attributes_of(self, "effects", "seed", "engine", "events", rank_end_s="ranks.end_s")
            if self.steady is not None:
                shown["steady"] = self.steady
            stations = self.stations if len(self.stations) <= MOST_LISTED else self.stations.most_used(MOST_LISTED)
            shown |= {"station_count": len(self.stations), "stations": list(stations)}
        return shown
