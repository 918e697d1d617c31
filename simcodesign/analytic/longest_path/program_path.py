"""The longest path through the messages of a program: its forecast where ranks differ (``headline``).

The sum of closed forms has the busiest rank's own steps, without waits for others: for a tree written with
``send`` and ``receive`` it has the root, not the depth. Here every rank has a clock, t, and each step moves it on:

    work        t + its time by its closed form
    send        t + c; the message arrives at t + a. In LogGOPS no earlier than u after the previous send
    receive     max(t + what the message holds it for, when the message has arrived) + r. From any source: t + r
    wait        max(t, when each started part is over), which began at the t of its start operation of several ranks
    (collective, exchange, wavefront)
                its messages one by one, in the order in which every rank sends and receives them (``expansion``)

with the c, a, r and u of ``message_costs``; the n-th message from a rank to another with a tag meets the n-th
receive of it (MPI's order). With rendezvous, in Hockney's model, a sender continues no earlier than its receive begins.

It is a lower bound of the simulation without effects, by induction over the order in which events can happen. No step
begins before the previous one is done, no receive before its message has arrived, and none is shorter than above: each
line leaves something out and adds nothing. Left out are: for a receive from anyone, that it waits at all; in LogGOPS
the gaps of receives, that messages wait for the processor, rendezvous, gaps across a wait, and the order of more than
``SHORT`` messages that are posted together. There a message may be taken up before its receive's turn, which then has
max(t, its arrival + r) for its line; and t is never less than all that the rank's processor has had to do up to
here. Checkpoints are added to the headline. ``left_out`` states what is left out; if that is nothing, which
in Hockney's model takes a receive from anyone, the path is the simulation without effects itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simcodesign.analytic.collectives.on_levels import has_rendezvous
from simcodesign.analytic.demands.base import closed_form
from simcodesign.analytic.demands.point_to_point import empty_receive_s, peers_of, send_prices
from simcodesign.analytic.longest_path.booked_path import Ints
from simcodesign.analytic.longest_path.event_graph import (
    LEAST_OF_STEP,
    MOST_OPERATIONS,
    NONE,
    Act,
    EventGraph,
    Moments,
    NoPathError,
)
from simcodesign.analytic.longest_path.expansion import Expansion
from simcodesign.analytic.longest_path.operations import (
    AS_THEY_COME,
    BY_SIZE,
    Messages,
    Taken,
    join,
    receive,
    send,
    together,
)
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.demands.wait import Poll, Wait
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.evaluation import EvaluatedBlock, EvaluatedStep, Evaluation
from simcodesign.describe.machine import Machine
from simcodesign.describe.programs.program import walk
from simcodesign.describe.python_programs.recorded_program import RecordedProgram

#: Cost of the evaluation of a step, in operations of ranks.
EVALUATION = 10 * LEAST_OF_STEP
#: Some thousand additions.
ROUNDING = 1e-12


class Enter(NamedTuple):
    """Puts a step into the graph, each time that it is done, and how many operations of ranks that is."""

    into: Callable[[EventGraph], None]
    operations: float


@dataclass(frozen=True)
class ProgramPath:
    """Seconds of the longest path of a program without its checkpoints, and by phase and component.

    Without a time, ``reason`` states for what there is none. ``left_out``: what of the program is not in it.
    """

    time_s: float | None
    reason: str = ""
    left_out: tuple[str, ...] = ()
    parts_s: Mapping[tuple[str, str], float] = field(default_factory=dict)
    operations: float = 0.0


def path_of_program(design_point: DesignPoint, max_operations: float = MOST_OPERATIONS) -> ProgramPath:
    """Return the longest path of any program of one design point."""
    if design_point.ranks > max_operations:  # before anything is held for each of them
        return ProgramPath(None, f"more than {max_operations:,.0f} operations of ranks", operations=design_point.ranks)
    graph, program = EventGraph(design_point.ranks, max_operations), Evaluation.at_ranks(design_point).program
    if not design_point.machine.network.message_model.ranks_work_in_order:
        graph.left_out[AS_THEY_COME] = None
    try:
        graph.spend(design_point.ranks)
        if any(isinstance(step, RecordedProgram) for step in walk(design_point.workload.program)):
            from simcodesign.analytic.longest_path.recorded_path import enter_recording

            enter_recording(graph, next(iter(program.demands())))
        else:
            _Walk(graph, design_point).enter(program)
        times = graph.end()
    except NoPathError as error:
        return ProgramPath(None, str(error), operations=graph.spent)
    return ProgramPath(times.end_s, "", tuple(graph.left_out), times.parts_s, graph.spent)


class _Walk:
    """Steps of a program, one after another, into the graph.

    ``_parts``: when what was started is over, by name, for the ranks that started it.
    """

    def __init__(self, graph: EventGraph, design_point: DesignPoint) -> None:
        self._graph, self._ranks, self._machine = graph, design_point.ranks, design_point.machine
        self._parts: dict[str, tuple[Ints, Moments]] = {}

    def enter(self, block: EvaluatedBlock) -> None:
        """Enter a block as if it were done once."""
        for enter in self._steps(block):
            enter.into(self._graph)

    def _steps(self, block: EvaluatedBlock) -> Iterator[Enter]:
        for step in block.steps():
            if isinstance(step, EvaluatedStep):
                if isinstance(step.demand, Poll):
                    continue  # a forecast lets a polled part advance without polls
                self._graph.spend(EVALUATION)
                yield self._step(step)
            elif step.block.index is None:
                yield self._repeated(step)
            else:
                for iteration in step.iterations():
                    yield from self._steps(iteration)

    def _repeated(self, block: EvaluatedBlock) -> Enter:
        """Return a block as often as it is done whole."""
        steps, times = list(self._steps(block)), math.floor(float(np.max(block.repeat)))
        if times < np.max(block.repeat):
            self._graph.left_out["a part of a repetition"] = None

        each = LEAST_OF_STEP + sum(step.operations for step in steps)
        self._graph.check(times * each)

        def enter(graph: EventGraph) -> None:
            for _ in range(times):
                graph.spend(0)
                for step in steps:
                    step.into(graph)

        return Enter(enter, times * each)

    def _step(self, step: EvaluatedStep) -> Enter:
        demand = step.demand
        who = np.flatnonzero(np.broadcast_to(step.present, self._ranks))
        if isinstance(demand, Wait):
            return Enter(lambda graph: self._wait(demand.names, step.phase, graph), self._ranks)
        size, name, (component, act) = len(who), demand.started_as, self._act(step, who)
        label = self._graph.label_of(step.phase, component)

        def enter(graph: EventGraph) -> None:
            graph.spend(size)
            ends = graph.do(who, label, act, bool(name))
            if name:
                self._parts[name] = who, ends

        return Enter(enter, max(size, LEAST_OF_STEP))

    def _act(self, step: EvaluatedStep, who: Ints) -> tuple[str, Act]:
        """Return the action of the ranks, and the component under which it is booked.

        Own work in operations of several has components of its own.
        """
        if isinstance(step.demand, Send):
            return "communication", self._send(step.demand, step, who)
        if isinstance(step.demand, Receive):
            return "communication", self._receive(step.demand, step, who)
        form = closed_form(step.demand)
        if form.message_rows(step.demand, self._ranks) > MOST_OPERATIONS:
            raise NoPathError(f"more than {MOST_OPERATIONS:,} messages of an operation")
        ordered = form.ordered(step.demand, step)
        if ordered is not None:
            return "communication", self._together(together(ordered, who, step.machine), who)
        if form.traffic(step.demand, step) is not None:
            raise NoPathError(f"{step.demand.label}, whose messages have no known order")
        work_s = np.broadcast_to(form.occupation(step.demand, step).least_s, self._ranks)[who]
        charge = form.charge(step.demand, step)
        whole_s = np.broadcast_to(charge.time_s, self._ranks)[who]
        if (work_s < whole_s * (1 - ROUNDING)).any():
            self._graph.left_out[f"a part of {step.demand.label}"] = None
        return charge.component, lambda graph, is_started: graph.works(who, work_s, is_started)

    def _send(self, demand: Send, step: EvaluatedStep, who: Ints) -> Act:
        size = np.broadcast_to(np.asarray(step.amount(demand.bytes, "bytes"), dtype=np.float64), self._ranks)
        self._note_receives(step.machine)
        one = send_prices(demand, step).message(size).of(who)
        target = peers_of(step, "to", demand.to, who)
        messages = Messages.of(who, target, demand.tag, one, step.machine, step.machine is self._machine)
        return lambda graph, is_started: send(graph, messages, is_started)

    def _receive(self, demand: Receive, step: EvaluatedStep, who: Ints) -> Act:
        source = np.full(len(who), NONE) if demand.source is None else peers_of(step, "from", demand.source, who)
        in_order = step.machine.network.message_model.ranks_work_in_order
        self._note_receives(step.machine)
        takes_s = empty_receive_s(step.machine, self._ranks) if in_order else 0.0
        receives = Taken(who, source, np.full(len(who), demand.tag), np.full(len(who), takes_s))
        is_priced = step.machine is self._machine
        return lambda graph, is_started: receive(graph, receives, is_priced, is_started)

    def _note_receives(self, machine: Machine) -> None:
        """Note that receives take longer than computed: if senders wait, or constants differ."""
        models = [one.message_model for one in machine.levels]
        is_known = machine is self._machine and not has_rendezvous(machine)
        if not is_known and any(one.receives_by_size or one.holds_both_ends for one in models):
            self._graph.left_out[BY_SIZE] = None

    @staticmethod
    def _together(operation: Expansion, who: Ints) -> Act:
        def act(graph: EventGraph, is_started: bool) -> Moments:
            graph.spend(operation.count)
            begins, ends = join(graph, who, operation.work_s, is_started)
            operation.enter(graph, begins, ends, graph.label)
            return Moments(ends, np.zeros(len(who)))

        return act

    def _wait(self, names: Sequence[str], phase: str, graph: EventGraph) -> None:
        graph.spend(self._ranks)
        for name in names:
            who, ends = self._parts.pop(name)
            graph.label = graph.label_of(phase, "communication")
            graph.waits(who, ends)
