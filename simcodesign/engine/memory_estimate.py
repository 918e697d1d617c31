"""How much memory a simulation takes: one estimate for each engine and for each output of single operations.

Peaks of the resident set, less the peak of a process that has run a small case, measured on Linux with CPython 3.11
(``tests/engine/test_memory_estimate.py`` measures them). Each estimate includes the Plan.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import Place
from simcodesign.core.memory_limit import check_memory
from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.describe.python_programs.recording import BYTES_PER_ENTRY
from simcodesign.generate.plan import NONE, Plan
from simcodesign.generate.plan_size import ARRIVAL, DEPENDENCIES, KEPT, RESULT, RUN, VARIED, plan_bytes

#: The SimPy engine: bytes for an operation with its Plan, for a message with a route, for a station on its route, for a
#: strand of operations and for a message in transit (a process each), and for a recorded service; what an operation
#: takes in addition by the rules of LogGOPSim, and what each station that a packet passes leaves behind.
SIMPY_OPERATION, SIMPY_ROUTE, SIMPY_HOP, SIMPY_PROCESS, SIMPY_SERVICE = 215, 80, 20, 1_500, 250
SIMPY_LOGGOPS, SIMPY_PACKET_HOP = 900, 4
#: The compiled engine: bytes of a message in transit, a request (64), or a message of a later day (40) with its event
#: (16) and its place in a block (8).
COMPILED_MESSAGE = 64
#: In addition: by the rules of LogGOPSim for a send or a receive; with fair sharing for a message, and for a station on
#: a route of its own.
COMPILED_LOGGOPS, COMPILED_FLOW, COMPILED_FLOW_HOP = 300, 90, 24
#: Bytes of an operation in a timeline.
TIMELINE = 65
#: A chart, whatever is in it.
CHART = 25e6
#: Outputs of single operations: bytes that an operation takes while they are written, in the Plan, the timeline and
#: arrays; bytes of an event of a list and of a station that it names, and of a bar of a chart.
OPERATION, EVENT, EVENT_STATION, BAR = 150, 600, 50, 5_800
#: Bytes of an event of a trace while its part is written: its string in a list (8 bytes of a pointer, 49 of the header
#: of a string, and the characters), and its characters, with the separator, in the joined text and in the encoded one.
TEXT, MESSAGE_TEXT = (8 + 49 + characters + 2 * (characters + 2) for characters in (132, 113))
#: Bytes of a recorded service in a timeline: the station, the operation and three times.
SERVICE = 4 + 8 + 3 * 8


def check_written(output: str, operations: int, parts: int = 0, part_bytes: float = 0.0, fixed: float = 0.0) -> None:
    """Raise CapacityError if an output of this many operations would not fit.

    With ``parts`` that are in memory at a time. ``part_bytes``: of each; ``fixed``: whatever is in it.
    """
    what = f"{output} of {operations:.3g} operations takes"
    allowed = "fewer ranks or iterations" + ("" if output == "timeline" else ", or a shorter time (--from, --to)")
    check_memory(what, fixed + float(operations) * OPERATION + float(parts) * part_bytes, Place(), allowed=allowed)


def run_bytes(plan: Plan, engine: str, has_timeline: bool = False) -> float:
    """Return the memory that a run of the Plan takes on an engine."""
    messages, hops, services, on_the_way = _travelling(plan)
    kept: float = len(plan) * ((TIMELINE if has_timeline else 0) + (BYTES_PER_ENTRY if plan.lines is not None else 0))
    if engine != "simpy":
        kept += plan_bytes(plan) + len(plan) * (KEPT + VARIED + RUN + RESULT) + on_the_way * COMPILED_MESSAGE
        if plan.routes is not None or plan.flight_s is not None:
            kept += len(plan) * ARRIVAL
        if plan.edges is not None:
            kept += len(plan) * DEPENDENCIES
        if plan.polls is not None:
            kept += len(plan) * plan.polls.end.itemsize
        if plan.loggops is not None:
            kept += COMPILED_LOGGOPS * int(np.isin(plan.kind, (SEND, RECEIVE)).sum())
        if plan.routes is not None and plan.routes.fair:
            kept += COMPILED_FLOW * messages + COMPILED_FLOW_HOP * int(plan.routes.start[-1])
        return kept
    processes = int((~plan.follows_previous[:-1]).sum()) + on_the_way
    kept += SIMPY_SERVICE * services if has_timeline else 0
    kept += SIMPY_PACKET_HOP * services if services > hops else 0
    kept += SIMPY_LOGGOPS * len(plan) if plan.loggops is not None else 0
    return kept + len(plan) * SIMPY_OPERATION + messages * SIMPY_ROUTE + hops * SIMPY_HOP + processes * SIMPY_PROCESS


def _travelling(plan: Plan) -> tuple[int, int, int, int]:
    """Return the messages with a route, the stations that they pass, and the most in transit.

    Stations on their routes, and those that they or their packets pass.

    A packet is made when the previous one has left the first station, so no message has more packets in transit than
    stations.
    """
    if plan.routes is None:
        return 0, 0, 0, 0
    sends = np.flatnonzero(plan.routes.route != NONE)
    hops = (plan.routes.start[1:] - plan.routes.start[:-1])[plan.routes.route[sends]]
    packets = plan.routes.packets
    count = np.ones(len(sends), np.int64) if packets is None else packets.count[sends].astype(np.int64)
    on_the_way = _at_once(plan, sends, np.minimum(count, np.maximum(hops, 1)))
    return len(sends), int(hops.sum()), int((hops * count).sum()), on_the_way


def _at_once(plan: Plan, sends: NDArray[np.int64], count: NDArray[np.int64]) -> int:
    """Return the messages or packets that may be in transit together: for each rank, what it sends between receives.

    A send that holds its rank is one of them only as long as the next has not begun.
    """
    own = sends < len(plan)  # others are messages of background
    others, sends, count = int(count[~own].sum()), sends[own], count[own]
    if not len(sends):
        return others
    rank, received = plan.rank[sends], np.cumsum(plan.kind == RECEIVE)[sends]
    begins = (np.diff(rank) != 0) | (np.diff(received) != 0)
    if plan.routes is not None and plan.routes.holds is not None:
        begins |= plan.routes.holds[sends[:-1]]
    begins = np.append(True, begins)
    sent = np.add.reduceat(count, np.flatnonzero(begins))
    most = np.zeros(plan.ranks, np.int64)
    np.maximum.at(most, rank[begins], sent)
    return int(most.sum()) + others
