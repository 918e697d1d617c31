"""When every operation and message came to each station that it passed, was granted it, and was served."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.engine.event_contract import Log
from simcodesign.engine.reference.engine import Simulation, run_simulation
from simcodesign.engine.reference.stations import Station
from simcodesign.generate.plan import Plan

Visit = tuple[int, int, float, float, float]


@dataclass(frozen=True, eq=False)
class StationVisits:
    """V visits, those of an operation (of a message: of its send) one after another in the order of its way.

    Row v: operation ``op`` came to ``station`` at ``arrival_s``, was taken up at ``grant_s`` and occupied a server
    until ``end_s``. Those of operation ``op`` are the rows ``start[op]:start[op + 1]``.
    """

    start: NDArray[np.int64]  # (N + 1,)
    op: NDArray[np.int64]  # (V,)
    station: NDArray[np.int32]
    arrival_s: NDArray[np.float64]
    grant_s: NDArray[np.float64]
    end_s: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.op)


class _Recording(Simulation):
    """The processes of the reference engine, whose stations note what they serve."""

    def make_station(self, number: int) -> object:
        """A station that adds what it serves to the visits of all."""
        station = super().make_station(number)
        if isinstance(station, Station):
            station.visits = self.visits
        return station

    def __init__(self, plan: Plan) -> None:
        self.visits: list[Visit] = []
        super().__init__(plan)


def run_with_visits(plan: Plan) -> tuple[Log, StationVisits]:
    """The log of a Plan and its visits, by the reference engine, whose times are those of the compiled one to the last
    bit. InputError where messages share links fairly or in packets: they have no turn at a station then."""
    if plan.loggops is not None or (
        plan.routes is not None and (plan.routes.fair is not None or plan.routes.packets is not None)
    ):
        raise InputError(
            "messages do not queue for links one after another",
            value="network.sharing or network.model",
            allowed="sharing: messages",
        )
    recorded: list[_Recording] = []

    class Kept(_Recording):
        def __init__(self, plan: Plan) -> None:
            super().__init__(plan)
            recorded.append(self)

    log = run_simulation(Kept, plan, None)
    return log, _in_order(len(plan), recorded[0].visits)


def _in_order(operations: int, visits: list[Visit]) -> StationVisits:
    """Sorted by operation and time; of messages of other jobs nothing is kept."""
    rows = np.array([visit for visit in visits if visit[1] < operations], dtype=np.float64).reshape(-1, 5)
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1]))]
    op = rows[:, 1].astype(np.int64)
    start = np.concatenate([[0], np.cumsum(np.bincount(op, minlength=operations))])
    return StationVisits(start, op, rows[:, 0].astype(np.int32), rows[:, 2], rows[:, 3], rows[:, 4])
