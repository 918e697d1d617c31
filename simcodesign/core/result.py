"""The answer of a reading: one shape for forecast and simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.forecast_parts import (
    Bounds,
    Bubble,
    ChosenAlgorithm,
    DemandTime,
    FailureForecast,
    LongestPath,
    Pipelined,
    SharedLinks,
    SharedTime,
)
from simcodesign.core.operation_kinds import COMPONENTS, PROCESSOR_LIMIT_NAMES
from simcodesign.core.shown_answers import Drawn
from simcodesign.core.simulation_parts import (
    MOST_LISTED,
    Failures,
    PowerProfile,
    RankCounters,
    RankTimes,
    Requests,
    Timeline,
)
from simcodesign.core.stations.uses import NO_STATIONS, StationUses
from simcodesign.core.to_json import PlainResult, attributes_of, fields_of
from simcodesign.core.units import FloatOrArray

if TYPE_CHECKING:
    import pandas as pd

#: Phases of checkpoints and of failures.
CHECKPOINTS, FAILURES = "checkpoints", "failures"

#: Attributes of a Result that are always among its ``json_fields``.
_ALWAYS_SHOWN = (
    *("reading", "workload", "machine", "preset", "values", "makespan_s", "messages", "message_bytes", "disk_bytes"),
    *("flops", "instructions", "served", "hit_methods", "footprint_bytes", "capacity_bytes"),
)


@dataclass(frozen=True)
class BackgroundUse:
    """Messages of other jobs on the same links: ``about`` describes it, ``nodes`` of them send.

    In a simulation with it, ``fraction`` is the fraction of the links' busy time, and ``link_load`` the fraction of the
    makespan in which it used the link that it used longest; None if background traffic is left out.
    """

    about: str
    nodes: int
    load: float
    fraction: float | None = None
    link_load: float | None = None

    @property
    def text(self) -> str:
        """All of it."""
        if self.fraction is None or self.link_load is None:
            return self.about + (", left out here" if self.nodes > 1 else "")
        busiest = f"{min(self.link_load, 1.0):.1%} of the time on its busiest link"
        return f"{self.about}: {self.fraction:.1%} of what links carry, {busiest}"


@dataclass(frozen=True)
class MachineUse:
    """How many ``nodes`` of ``of_nodes`` have ranks, and so on.

    ``links``: those between nodes that carry messages, counted by a simulation with the effect ``links``, otherwise
    None; ``inside_links``: those inside nodes, with the effect ``node``, of ``of_inside_links`` (0 for a machine
    without networks inside nodes). ``hint``: how else ranks may be placed, where nodes are left. ``background``:
    what other jobs send; None without any.
    """

    nodes: int
    of_nodes: int
    processors: int
    of_processors: int
    of_links: int
    links: int | None = None
    hint: str = ""
    background: BackgroundUse | None = None
    of_inside_links: int = 0
    inside_links: int | None = None

    def json_fields(self) -> dict[str, Any]:
        """Return the fields; links inside nodes and background traffic only if there are any."""
        inside = () if self.of_inside_links else ("of_inside_links", "inside_links")
        return fields_of(self, without=(*inside, *(() if self.background else ("background",))))

    @property
    def text(self) -> str:
        """All of it in a line."""
        parts = [
            _share(self.nodes, self.of_nodes, "node"),
            _share(self.processors, self.of_processors, "processor"),
            *([] if self.links is None else [_share(self.links, self.of_links, "link")]),
            *(
                []
                if not self.inside_links
                else [f"{_share(self.inside_links, self.of_inside_links, 'link')} inside nodes"]
            ),
        ]
        more = [self.hint, "" if self.background is None else self.background.text]
        return "; ".join([", ".join(parts), *filter(None, more)])


def _share(part: int, whole: int, name: str) -> str:
    if part == whole > 1:
        return f"all {whole:,} {name}s"
    return f"{part:,} of {whole:,} {name}{'' if whole == 1 else 's'}"


@dataclass(frozen=True)
class Result(PlainResult, Drawn):
    """The answer of one reading.

    A forecast over many design points holds arrays of one shape instead of each number here. A value is None if the
    description does not state it, or this reading does not have it.

    - ``reading``: ``forecast`` or ``simulation``. ``workload``, ``machine``, ``preset``: their names. ``values``: every
      parameter and ``P``. ``settings``: what was set of the workload, as ``KEY=VALUE``.
    - ``makespan_s``: time of the whole program. ``phases``: phase -> component -> seconds, which add up to it: in a
      simulation, and in a forecast that is the longest path, those along the critical path, from the last event back
      through whatever each step waited for.
    - ``messages``, ``message_bytes``: of all ranks. ``disk_bytes``: bytes that all ranks read and write.
    - ``flops``, ``instructions``: what all ranks compute, as far as it is described in these (and not in seconds).
    - ``served``: accesses of all ranks by the level of the caches that served them, and by ``memory``; ``hit_methods``:
      how the accesses of each level were counted (``full``, ``binomial``: the stack model; ``sets``: the hierarchy
      itself).
      ``prefetched``: of the accesses that memory served, those whose lines were fetched ahead.
    - ``footprint_bytes``: memory that a rank needs; ``capacity_bytes``: memory that it has;
      ``accelerator_footprint_bytes``, ``accelerator_capacity_bytes``: of the accelerator of a rank. ``size``: of the
      problem, in the workload's own unit. ``used``: amounts of the machine's resources, of all ranks.
      ``limits_s``: seconds of all ranks in kernels and copies of accelerators, by what limits these: ``flops``,
      ``memory``, ``launch``, ``link``.
    - ``processor_limits_s``: for a program that uses caches and memory, seconds of all ranks on processors by what
      limits these, each rank by itself: ``computation``, ``latency``, bandwidths of caches by name and of ``memory``,
      and ``sockets`` for what lies between these. ``controller_busy_s``: in a forecast, how long the memory controller
      with the most ranks, ``controller_ranks``, is busy, at one design point if all ranks are alike.
      ``phase_limits_s``: in a forecast, both by phase; kernels and copies by ``accelerator flops`` and so on.
    - ``energy_j``, ``peak_power_w``, ``static_power_w``: of the whole machine, idle parts too. A forecast's peak is
      P_max, all ranks at work on all that a phase uses; a simulation's is the highest of its ``power_profile``.
    - ``response_s``, ``blocked``, ``link_load``, ``requests``: of an open stream, the mean time in the system of the
      requests that are served, the fraction that is blocked, the fraction of time that the busiest link is busy (0 if
      links are not looked at), and, in a simulation, each request.
    - ``algorithms``: those that collective operations with ``algorithm: auto`` take. ``use``: the part of the machine
      that has ranks; None for several numbers of ranks.
    - ``checkpoints``: how many are written. ``failures``: in a forecast, what they would add to its makespan; in a
      simulation with this effect, what they did add. Their phases are ``CHECKPOINTS`` and ``FAILURES``.
    - ``demands``: what each demand of the program adds, in its order, of one design point: they add up to the makespan
      (in a forecast to the sum of closed forms) except for the waits of ``formulas``, checkpoints and failures. Empty
      for
      streams and schedules.

    In forecasts: ``bounds``, between which simulations lie; ``formulas``, the queueing formulas applied; ``basis``:
    the method, if it is not the sum over the program; ``pipelined``: the time if operations overlap that
    the sum adds up; ``shared_links``: the time with the operations for which fair sharing of links has a closed form
    (``analytic.messages.even_sharing``); ``loaded_s``: the time with the operations whose messages share the memory
    and the interfaces of their nodes (``analytic.collectives.loaded``), and of one design point ``loaded``, these
    operations; ``longest_path``: of a program whose ranks differ, at one design point; ``sum_s``: the sum of
    closed forms if the makespan is the longest path, or also has the bubble, otherwise None; ``bubble``: how long
    ranks of a pipeline wait by a closed form of the workload, at one design point.

    In both: ``notes``, remarks for the reader.

    In simulations: ``effects`` that were on, ``seed``, ``engine``, number of ``events``; ``ranks``: when each was done,
    and with what; ``stations``: how each was used; ``timeline``, ``counters``: if they were requested.

    >>> import simcodesign as sc
    >>> result = sc.forecast("jacobi", "torus-cluster", {"P": [4, 16]})
    >>> result.makespan_s.shape
    (2,)
    >>> sorted(result.components)
    ['communication', 'computation', 'disk', 'memory']
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
    prefetched: FloatOrArray | None = None
    footprint_bytes: FloatOrArray | None = None
    capacity_bytes: FloatOrArray | None = None
    accelerator_footprint_bytes: FloatOrArray | None = None
    accelerator_capacity_bytes: FloatOrArray | None = None
    size: FloatOrArray | None = None
    used: Mapping[str, FloatOrArray] = field(default_factory=dict)
    limits_s: Mapping[str, FloatOrArray] = field(default_factory=dict)
    processor_limits_s: Mapping[str, FloatOrArray] = field(default_factory=dict)
    phase_limits_s: Mapping[str, Mapping[str, FloatOrArray]] = field(default_factory=dict)
    controller_busy_s: float | None = None
    controller_ranks: int | None = None
    energy_j: FloatOrArray | None = None
    peak_power_w: FloatOrArray | None = None
    static_power_w: FloatOrArray | None = None
    preset: str | None = None
    effects: tuple[str, ...] = ()
    seed: int | None = None
    events: int = 0
    engine: str = ""
    bounds: Bounds | None = None
    ranks: RankTimes | None = field(default=None, repr=False)
    stations: StationUses = field(default=NO_STATIONS, repr=False)
    timeline: Timeline | None = field(default=None, repr=False)
    counters: RankCounters | None = field(default=None, repr=False)
    power_profile: PowerProfile | None = field(default=None, repr=False)
    response_s: FloatOrArray | None = None
    blocked: FloatOrArray | None = None
    link_load: FloatOrArray | None = None
    requests: Requests | None = field(default=None, repr=False)
    formulas: tuple[str, ...] = ()
    basis: tuple[str, ...] = ()
    pipelined: Pipelined | None = None
    shared_links: SharedLinks | None = None
    loaded_s: FloatOrArray | None = None
    loaded: tuple[SharedTime, ...] = ()
    longest_path: LongestPath | None = None
    sum_s: FloatOrArray | None = None
    bubble: Bubble | None = None
    demands: tuple[DemandTime, ...] = field(default=(), repr=False)
    checkpoints: FloatOrArray | None = None
    failures: Failures | FailureForecast | None = None
    algorithms: tuple[ChosenAlgorithm, ...] = ()
    use: MachineUse | None = None
    notes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    @property
    def headline_s(self) -> FloatOrArray:
        """The time that readings are compared by: the mean response time of an open stream, otherwise the makespan."""
        return self.makespan_s if self.response_s is None else self.response_s

    @property
    def components(self) -> dict[str, FloatOrArray]:
        """Seconds per component, summed over the phases."""
        zero: FloatOrArray = 0.0
        return {part: sum((times[part] for times in self.phases.values()), zero) for part in COMPONENTS}

    @property
    def limited_by(self) -> str | NDArray[np.str_] | None:
        """The limit of most of the time of kernels and copies, at every design point; None without any."""
        return _largest(self.limits_s)

    @property
    def processor_limited_by(self) -> str | NDArray[np.str_] | None:
        """The limit of most of the time on processors, at every design point; None if nothing uses memory."""
        return _largest(self.processor_limits_s)

    @property
    def limited_phases(self) -> dict[str, str]:
        """Return the limit of each phase of a forecast of one design point.

        The component with most of its time, and for computation and memory the limit of most of these
        (``phase_limits_s``). Empty without memory and accelerators.
        """
        if not self.limits_s and not self.processor_limits_s:
            return {}
        return {name: self._limit_of(name) for name in self.phases} if self.phase_limits_s else {}

    def _limit_of(self, phase: str) -> str:
        component = max(COMPONENTS, key=lambda one: float(self.phases[phase][one]))
        limits_s = self.phase_limits_s.get(phase, {})
        if component not in ("computation", "memory") or not any(map(float, limits_s.values())):
            return component if any(map(float, self.phases[phase].values())) else ""
        return max(limits_s, key=lambda one: float(limits_s[one]))

    @property
    def memory_bound(self) -> bool | NDArray[np.bool_] | None:
        """Return whether processors spend more time on memory than on computation; None if nothing uses memory.

        It is also true if the fullest memory controller is busy for longer than a rank computes.
        """
        if not self.processor_limits_s:
            return None
        zero: FloatOrArray = 0.0
        computing = self.processor_limits_s.get("computation", zero)
        of_memory = sum((it for name, it in self.processor_limits_s.items() if name != "computation"), zero)
        if self.controller_busy_s is not None:
            of_memory = np.maximum(of_memory, self.controller_busy_s * self.values["P"])
        bound = np.greater(of_memory, computing)
        return bound if np.ndim(bound) else bool(bound)

    @property
    def limits_of_a_rank_s(self) -> dict[str, FloatOrArray]:
        """Seconds of kernels and copies by what limits them, in the mean of all ranks; empty without any."""
        return {name: time_s / self.values["P"] for name, time_s in self.limits_s.items()}

    @property
    def processor_limits_of_a_rank_s(self) -> dict[str, FloatOrArray]:
        """Seconds on processors by what may limit them, in the mean of all ranks; empty if nothing uses memory."""
        if not self.served:
            return {}
        every: dict[str, FloatOrArray] = dict.fromkeys((*PROCESSOR_LIMIT_NAMES, *self.served), 0.0)
        return every | {name: time_s / self.values["P"] for name, time_s in self.processor_limits_s.items()}

    @property
    def fits(self) -> bool | NDArray[np.bool_] | None:
        """Whether a rank has the memory that it needs, in its node and in its accelerator, at every design point.

        None if nothing is known about either.
        """
        parts = [part for part in (self.fits_node, self.fits_accelerator) if part is not None]
        fits = np.logical_and.reduce(np.broadcast_arrays(*parts)) if parts else None
        return fits if fits is None or fits.ndim else bool(fits)

    @property
    def fits_node(self) -> bool | NDArray[np.bool_] | None:
        """Whether a rank has the memory of its node that it needs; None if either is unknown."""
        return _fits(self.footprint_bytes, self.capacity_bytes)

    @property
    def fits_accelerator(self) -> bool | NDArray[np.bool_] | None:
        """Whether a rank has the memory of its accelerator that it needs; None if either is unknown."""
        return _fits(self.accelerator_footprint_bytes, self.accelerator_capacity_bytes)

    def phase_rows(self) -> dict[str, dict[str, float]]:
        """Seconds per phase (and in ``total``), of each component and their ``total``.

        InputError for several design points.
        """
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
        """Return the fields that the reading has.

        Without arrays of ranks, timeline and counters, and with only the most used stations if there are more than
        ``MOST_LISTED``.
        """
        shown = attributes_of(self, *_ALWAYS_SHOWN, components_s="components", phases_s="phases")
        names = ("use", "size", "prefetched", "accelerator_footprint_bytes", "accelerator_capacity_bytes")
        shown |= {name: it for name in names if (it := getattr(self, name)) is not None}
        if self.used:
            shown["used"] = self.used
        if self.limits_s:
            shown |= attributes_of(self, "limits_s", "limited_by")
        if self.processor_limits_s:
            shown |= attributes_of(self, "processor_limits_s", "processor_limited_by", "memory_bound")
            of_controller = ("controller_busy_s", "controller_ranks")
            shown |= {name: it for name in of_controller if (it := getattr(self, name)) is not None}
        if not np.ndim(self.makespan_s) and (limited := self.limited_phases):
            shown["limited_phases"] = limited
        if self.energy_j is not None:
            shown |= attributes_of(self, "energy_j", "peak_power_w", "static_power_w")
        if self.power_profile is not None and len(self.power_profile.watts) <= MOST_LISTED:
            shown["power_profile"] = self.power_profile
        if self.response_s is not None:
            shown |= attributes_of(self, "response_s", "blocked", "link_load")
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
        if self.loaded_s is not None:
            shown |= attributes_of(self, "loaded_s", loaded_operations="loaded")
        shown |= {name: it for name in ("longest_path", "sum_s", "bubble") if (it := getattr(self, name)) is not None}
        shown |= {name: it for name in ("checkpoints", "failures") if (it := getattr(self, name)) is not None}
        if self.bounds is not None:
            shown["bounds_s"] = self.bounds
        if self.notes:
            shown["notes"] = self.notes
        if self.ranks is not None:
            shown |= attributes_of(self, "effects", "seed", "engine", "events", rank_end_s="ranks.end_s")
            stations = self.stations if len(self.stations) <= MOST_LISTED else self.stations.most_used(MOST_LISTED)
            shown |= {"station_count": len(self.stations), "stations": list(stations)}
        return shown


def _largest(limits_s: Mapping[str, FloatOrArray]) -> str | NDArray[np.str_] | None:
    """Return the limit with most of the time, at every design point; None without any."""
    if not limits_s:
        return None
    names = np.array([*limits_s])[np.argmax(np.stack(np.broadcast_arrays(*limits_s.values())), axis=0)]
    return names if names.ndim else str(names)


def _fits(needs: FloatOrArray | None, has: FloatOrArray | None) -> bool | NDArray[np.bool_] | None:
    """Return whether a memory is large enough; None if either value is unknown."""
    if needs is None or has is None:
        return None
    fits = np.asarray(needs) <= np.asarray(has)
    return fits if fits.ndim else bool(fits)
