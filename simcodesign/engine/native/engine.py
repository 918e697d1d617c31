"""The compiled engine, in C.

The same Plan under the same event contract as the SimPy engine (``walk.c``, and ``loggopsim.c`` for Plans by the rules
of LogGOPSim).
"""

from __future__ import annotations

import ctypes

import numpy as np

from simcodesign.core.native.shared_library import library
from simcodesign.core.operation_kinds import SEND
from simcodesign.engine.event_contract import (
    Log,
    OnProgress,
    blocked_by_station,
    check_finished,
    count_events,
    count_flows,
)
from simcodesign.engine.native.records import Run
from simcodesign.engine.native.state import every_hop_takes_time, give_more_nodes, give_plan
from simcodesign.engine.whole_times import in_seconds, in_whole_units
from simcodesign.generate.plan import Plan

#: Steps (operations, turns and arbitrations) between two reports of progress, after each of which an interrupt is
#: noticed.
REPORT_EVERY = 2_000_000


def run(plan: Plan, on_progress: OnProgress | None = None) -> Log:
    """Walk the Plan to its end. DeadlockError when ranks wait for each other."""
    if plan.loggops is not None:
        plan, per_second = in_whole_units(plan)
        return in_seconds(_log(_walked(plan, False, on_progress), plan), per_second)
    walked = _walked(plan, plan.background is None and every_hop_takes_time(plan), on_progress)
    if walked["journeys.lost"]:  # hops did not take time, after rounding
        walked = _walked(plan, False, on_progress)
    return _log(walked, plan)


def _walked(plan: Plan, on_journeys: bool, on_progress: OnProgress | None) -> Run:
    """Everything at the end of a run."""
    functions = library()
    assert functions is not None, "selection.py chooses this engine only where the library is"
    functions.engine_walk.restype = ctypes.c_double
    run = Run(functions)
    give_plan(run, plan, on_journeys)
    address = ctypes.c_void_p(run.words.ctypes.data)
    functions.engine_begin(address)
    rounds, now = 0, 0.0
    while now < np.inf:
        now = functions.engine_walk(address, ctypes.c_int64(REPORT_EVERY))
        if on_journeys and run["journeys.node_count"] == run["journeys.node_room"]:
            give_more_nodes(run)
        rounds += 1
        if on_progress is not None and now < np.inf:
            on_progress(now, rounds * REPORT_EVERY)
    if plan.background is not None:
        functions.engine_end(address)
    return run


def _log(run: Run, plan: Plan) -> Log:
    """Return the Log of a run. DeadlockError when ranks wait for each other."""
    finish, arrival, stations = run["memory.finish_s"], run["memory.arrival_s"], run["memory.stations"]
    by_loggops = plan.loggops is not None
    if not by_loggops:
        finish[run["memory.missing"] != run.layout.constants["DONE"]] = np.nan
    check_finished(plan, finish)
    stations = stations[: len(plan.stations)]
    others_busy_s = np.zeros(0) if plan.background is None else run["others.busy_s"]
    if plan.routes is not None and plan.routes.fair is not None:
        count_flows(plan, finish, stations["served"], stations["busy_s"], others_busy_s)
        most = run["flows.totals"]["longest"][: len(stations)]
        stations["longest"] = np.maximum(stations["longest"], most)
    served = stations["served"].astype(np.int64)
    blocked = np.sort(run["memory.blocked"][: run["memory.blocked_count"]]).astype(np.int64)
    return Log(
        finish_s=finish,
        arrival_s=arrival if len(arrival) else np.where(plan.kind == SEND, finish, np.nan),
        match=run["program.match"],
        served=served,
        busy_s=stations["busy_s"].copy(),
        wait_s=stations["wait_s"].copy(),
        longest_queue=stations["longest"].astype(np.int64),
        blocked=blocked_by_station(plan, blocked),
        blocked_operations=blocked,
        events=count_events(plan, served),
        begin_s=run["turns.begin_s"] if by_loggops else None,
        searched=run["program.searched"] if plan.matching_s else None,
        taken_s=run["turns.taken_s"] if by_loggops else None,
        processed_s=run["turns.processed_s"] if by_loggops else None,
        others_busy_s=None if plan.background is None else others_busy_s,
    )
