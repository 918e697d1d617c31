"""The run state of the compiled engine, and operations that become ready: what all its other modules build on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import inlined, prefetcher
from simcodesign.core.operation_kinds import RECEIVE
from simcodesign.engine.compiled.calendar import Calendar
from simcodesign.engine.compiled.flows import Flows
from simcodesign.engine.compiled.journeys import Journeys
from simcodesign.engine.compiled.packets import Packets
from simcodesign.engine.compiled.state import (
    DONE,
    GRANTED,
    MET,
    READY,
    Array,
    Memory,
    Program,
    Requests,
    StationStates,
)
from simcodesign.engine.compiled.turns import Rules, Turns
from simcodesign.generate.plan import NONE, Plan

prefetch = prefetcher()


class Others(NamedTuple):
    """What others send, and when the job is over."""

    sets_out_s: Array  # by message; empty where there are none
    busy_s: Array  # by station: of their messages
    undone: NDArray[np.int64]  # the first operation that may not be done
    end_s: NDArray[np.float64]  # the latest end of those before it


def others_for(plan: Plan) -> Others:
    """None of them has set out."""
    background = plan.background
    sets_out_s = np.zeros(0) if background is None else background.sets_out_s
    stations = len(plan.stations) if len(sets_out_s) else 0
    return Others(sets_out_s, np.zeros(stations), np.zeros(1, np.int64), np.zeros(1))


class Run(NamedTuple):
    """All that a run needs and has."""

    program: Program
    requests: Requests
    stations: StationStates
    memory: Memory
    calendar: Calendar
    flows: Flows
    packets: Packets
    rules: Rules
    turns: Turns
    journeys: Journeys
    others: Others


@inlined
def waits_at(run: Run, op: int) -> int:
    """The station or mailbox at which an operation must wait now; NONE if it may begin."""
    stage = run.memory.missing[op]
    if stage == GRANTED:
        return NONE
    if (
        stage != MET
        and len(run.program.mailbox)
        and run.program.mailbox[op] != NONE
        and run.program.kind[op] == RECEIVE
    ):
        return run.program.mailbox[op]
    return run.program.station[op] if len(run.program.station) else NONE


@inlined
def fetch_operation(run: Run, op: int) -> None:
    """Fetch into the cache what will be needed of an operation that may begin soon, and of those after it."""
    prefetch(run.memory.missing, op)
    prefetch(run.memory.finish_s, op)
    prefetch(run.program.duration_s, op)
    prefetch(run.program.kind, op)
    prefetch(run.program.match, op)
    if len(run.program.route):
        prefetch(run.program.route, op)
        prefetch(run.program.cost, op)


@inlined
def go_on(run: Run, op: int, stage: int, now: float) -> None:
    """An operation has got now what it waited for."""
    run.memory.finish_s[op] = now
    run.memory.missing[op] = stage
    run.memory.stack[run.memory.state[READY]] = op
    run.memory.state[READY] += 1


@inlined
def release(run: Run, op: int, time: float) -> None:
    """One thing that an operation waited for happens at ``time``."""
    run.memory.finish_s[op] = max(run.memory.finish_s[op], time)
    run.memory.missing[op] -= 1
    if run.memory.missing[op] == 0:
        run.memory.stack[run.memory.state[READY]] = op
        run.memory.state[READY] += 1


@inlined
def is_over(others: Others, memory: Memory, now: float) -> bool:
    """Whether all operations are done before now. Each of them is looked at once."""
    op = others.undone[0]
    while op < len(memory.finish_s) and memory.missing[op] == DONE:
        others.end_s[0] = max(others.end_s[0], memory.finish_s[op])
        op += 1
    others.undone[0] = op
    return bool(op == len(memory.finish_s) and now > others.end_s[0])


@inlined
def is_over_in_loggopsim(others: Others, memory: Memory, now: float) -> bool:
    """The same by the rules of LogGOPSim, where an end is a number once it is known."""
    op = others.undone[0]
    while op < len(memory.finish_s) and not np.isnan(memory.finish_s[op]):
        others.end_s[0] = max(others.end_s[0], memory.finish_s[op])
        op += 1
    others.undone[0] = op
    return bool(op == len(memory.finish_s) and now > others.end_s[0])
