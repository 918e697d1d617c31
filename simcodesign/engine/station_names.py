"""Names of stations in tables and timelines: objects, not functions, so that Results can be pickled."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import level_at
from simcodesign.generate.plan import CONTROLLER, INTERFACE, LINK, MESSAGE_MEMORY, NONE, STATION_KINDS, Plan, Stations


def station_name(machine: Machine, kind: int, unit: int) -> str:
    """Return the name of the station of a kind (``generate.plan``) with this unit."""
    if kind in (INTERFACE, LINK):
        levels = machine.numbered_levels
        start = "first_interface" if kind == INTERFACE else "first_link"
        level = levels[int(level_at(levels, start, np.array(unit)))]
        return (level.interface_name if kind == INTERFACE else level.link_name)(unit)
    if kind in (CONTROLLER, MESSAGE_MEMORY) and machine.memory is not None:
        return machine.memory.station_name(unit, machine.nodes)
    return f"{STATION_KINDS[kind]} {unit}"


@dataclass(frozen=True, eq=False)
class StationNames:
    """The name of a station by its number, or by its place in ``shown``.

    Each name is made once: a list of events holds it thousands of times.
    """

    machine: Machine
    stations: Stations
    shown: NDArray[np.intp] | None = None
    _made: dict[int, str] = field(default_factory=dict, repr=False)

    def __call__(self, place: int) -> str:
        number = place if self.shown is None else int(self.shown[place])
        name = self._made.get(number)
        if name is None:
            name = station_name(self.machine, int(self.stations.kind[number]), int(self.stations.unit[number]))
            self._made[number] = name
        return name

    def kind_of(self, number: int) -> str:
        """Return the kind of the station with this number."""
        return STATION_KINDS[self.stations.kind[number]]


@dataclass(frozen=True, eq=False)
class StationsOfOperations:
    """The names of what serves an operation, and of what its message passes.

    If there are two routes to choose from, the minimal one. ``station``: (N,) that serves it; ``route``: (N,) of its
    message; ``start`` and ``passed`` as in ``Routes``.
    """

    names: StationNames
    station: NDArray[np.int32] | None
    route: NDArray[np.int32] | None
    start: NDArray[np.int64] | None
    passed: NDArray[np.int32] | None

    @classmethod
    def of(cls, names: StationNames, plan: Plan) -> StationsOfOperations:
        """Make the names for a Plan."""
        routes = plan.routes
        if routes is None:
            return cls(names, plan.station, None, None, None)
        return cls(names, plan.station, routes.route, routes.start, routes.station)

    def __call__(self, op: int) -> tuple[str, ...]:
        own = [] if self.station is None or self.station[op] == NONE else [int(self.station[op])]
        if self.route is not None and self.start is not None and self.passed is not None and self.route[op] != NONE:
            row = int(self.route[op])
            own += self.passed[self.start[row] : self.start[row + 1]].tolist()
        return tuple(map(self.names, own))
