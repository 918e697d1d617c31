"""The run state of the compiled engine, and operations that become ready: what all its other modules build on."""

from __future__ import annotations

from typing import NamedTuple

from simcodesign.core.jit import inlined, prefetcher
from simcodesign.core.operation_kinds import RECEIVE
from simcodesign.engine.compiled.calendar import Calendar
from simcodesign.engine.compiled.flows import Flows
from simcodesign.engine.compiled.journeys import Journeys
from simcodesign.engine.compiled.others import Others
from simcodesign.engine.compiled.packets import Packets
from simcodesign.engine.compiled.state import GRANTED, MET, READY, Memory, Program, Requests, StationStates
from simcodesign.engine.compiled.turns import Rules, Turns
from simcodesign.generate.plan import NONE

prefetch = prefetcher()


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
