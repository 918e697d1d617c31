"""When every operation and message came to each station that it passed, was granted it, and was served."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.stations.services import Services
from simcodesign.engine.event_contract import Log
from simcodesign.engine.reference.run import run
from simcodesign.generate.plan import Plan


@dataclass(frozen=True, eq=False)
class StationVisits:
    """V visits, the visits of an operation (of a message: of its send) one after another in the order of its route.

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


def run_with_visits(plan: Plan) -> tuple[Log, StationVisits]:
    """Return the log of a Plan and its visits, by the reference engine.

    Its times equal the compiled engine's to the last bit. InputError if messages share links fairly or in packets: they
    have no turn at a station then.
    """
    if plan.loggops is not None or (
        plan.routes is not None and (plan.routes.fair is not None or plan.routes.packets is not None)
    ):
        raise InputError(
            "messages do not queue for links one after another",
            value="network.sharing or network.model",
            allowed="sharing: fcfs",
        )
    log = run(plan, records_services=True)
    assert log.services is not None
    return log, _in_order(len(plan), log.services)


def _in_order(operations: int, services: Services) -> StationVisits:
    """Sorted by operation and time; of messages of other jobs nothing is kept."""
    own = np.flatnonzero(services.op < operations)
    own = own[np.lexsort((services.requested_s[own], services.op[own]))]
    op = services.op[own]
    start = np.concatenate([[0], np.cumsum(np.bincount(op, minlength=operations))])
    times_s = (services.requested_s[own], services.begin_s[own], services.end_s[own])
    return StationVisits(start, op, services.station[own], *times_s)
