"""What the makespan of a run consists of: the path back from its last event through whatever each step waited for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.engine.contract import Log
from simcodesign.generate.plan import Plan
from simcodesign.result import COMPONENT_OF_KIND, COMPONENTS, RECEIVE

_COMMUNICATION = COMPONENTS.index("communication")


def critical_path_s(plan: Plan, log: Log) -> NDArray[np.float64]:
    """Seconds by phase and component (phases, components) along the critical path; they add up to the makespan.

    The path begins at the operation that is done last (the first of them). From an operation it goes back to the one
    before it in its rank; from a receive that had to wait for its message it goes to the send, and the time between the
    start of the send and the arrival is communication. Waiting for a disk is disk time.
    """
    times = np.zeros((len(plan.phases), len(COMPONENTS)))
    if not len(plan):
        return times
    finish, arrival, kind, phase = log.finish_s, log.arrival_s, plan.kind, plan.phase
    op = int(np.argmax(finish))
    while True:
        ready = finish[op - 1] if plan.chained[op] else 0.0
        send = int(plan.match[op]) if kind[op] == RECEIVE else op
        if send != op and arrival[send] > ready:
            times[phase[op], _COMMUNICATION] += finish[op] - arrival[send]
            ready = finish[send - 1] if plan.chained[send] else 0.0
            times[phase[send], _COMMUNICATION] += arrival[send] - ready
            op = send
        else:
            times[phase[op], COMPONENT_OF_KIND[kind[op]]] += finish[op] - ready
        if not plan.chained[op]:
            return times
        op -= 1
