"""A program in Python as a graph of events: the ranks' operations turn by turn, the n-th of every rank together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import algorithm_form_of
from simcodesign.analytic.collectives.on_levels import has_rendezvous
from simcodesign.analytic.demands.base import closed_form
from simcodesign.analytic.demands.point_to_point import empty_receive_s
from simcodesign.analytic.demands.python_program import COMPONENTS_OF_ENTRIES, components_of, in_phase, own_work_s
from simcodesign.analytic.longest_path.booked_path import Ints
from simcodesign.analytic.longest_path.event_graph import LEAST_OF_STEP, NONE, EventGraph, Moments
from simcodesign.analytic.longest_path.expansion import Expansion
from simcodesign.analytic.longest_path.operations import BY_SIZE, Messages, Taken, join, receive, send, together
from simcodesign.analytic.messages.message_costs import price
from simcodesign.analytic.messages.message_order import in_steps
from simcodesign.analytic.messages.route_links import links_of_messages, links_of_pairs
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.python_programs import recorded_operations as kinds
from simcodesign.describe.python_programs.matched import as_demand, collective_calls, segments_of
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.describe.python_programs.recording import Recording

#: Cost of a turn of few ranks, in steps of few ranks.
STEPS_OF_TURN = 4


def enter_recording(graph: EventGraph, step: EvaluatedStep) -> None:
    """Put the program of a step into the graph."""
    assert isinstance(step.demand, RecordedProgram)
    recording = _recorded(step.demand, step.evaluation.design_point)
    turns = int(np.diff(recording.first).max())
    graph.spend(max(len(recording.op), STEPS_OF_TURN * LEAST_OF_STEP * turns))
    _Entries(graph, recording, step).enter(turns)


def _recorded(demand: RecordedProgram, point: DesignPoint) -> Recording:
    return demand.recorded(point.ranks, demand.arguments(point.values, point.workload.parameters))


class _Entries:
    """The N entries of a recording.

    ``_begins``, ``_ends``: when what was started, or is done by several ranks, begins and is over.
    """

    def __init__(self, graph: EventGraph, recording: Recording, step: EvaluatedStep) -> None:
        self._graph, self._recording, self._machine = graph, recording, step.machine
        self._ranks, count = recording.ranks, len(recording.op)
        self._work_s = own_work_s(recording, step, step.machine)
        every = (kinds.SEND, kinds.RECEIVE)
        sizes, peers, tags = (recording.column(place, every) for place in (2, 3, 4))
        self._size_bytes = np.nan_to_num(sizes)
        self._peer = np.where(np.isnan(peers), NONE, peers).astype(np.int64)
        self._tag = np.nan_to_num(tags).astype(np.int64)
        self._kind = np.zeros(count, dtype=np.int8)
        for number, kind in enumerate((kinds.SEND, kinds.RECEIVE, kinds.COLLECTIVE), start=1):
            self._kind[recording.entries_of(recording.of_kind(kind))] = number
        self._kind[recording.waits_for != NONE] = 4
        self._begins = Moments(np.full(count, NONE), np.zeros(count))
        self._ends = Moments(np.full(count, NONE), np.zeros(count))
        self._joined_s = np.zeros(count)
        self._label = self._labels(step)
        in_order = self._machine.network.message_model.ranks_work_in_order
        self._taken_s = float(empty_receive_s(self._machine, self._ranks)) if in_order else 0.0

    def enter(self, turns: int) -> None:
        """All of them."""
        together = list(self._together())
        for entries, operation in together:
            self._joined_s[entries] = operation.work_s
        first, count = self._recording.first[:-1], np.diff(self._recording.first)
        acts = (self._works, self._sends, self._receives, self._joins, self._waits)
        for turn in range(turns):
            entries = first[count > turn] + turn
            kind = self._kind[entries]
            for number in np.unique(kind).tolist():
                some = entries[kind == number]
                started = self._recording.started[some]
                for is_started in (True, False):
                    chosen = some[started == is_started]
                    if len(chosen):
                        act = partial(acts[number], chosen, self._recording.rank[chosen])
                        ends = self._graph.do(self._recording.rank[chosen], self._label[chosen], act, is_started)
                        self._ends.node[chosen], self._ends.offset_s[chosen] = ends
        for entries, operation in together:
            left = self._ends.node[entries]
            operation.enter(self._graph, self._begins.of(entries), left, self._label[entries])

    def _labels(self, step: EvaluatedStep) -> Ints:
        """(N,) under which phase and component every entry is booked."""
        recording, component = self._recording, components_of(self._recording)
        label = np.zeros(len(component), np.int64)
        for place, phase in enumerate(recording.phases):
            name = in_phase(step, phase).phase
            for number in np.unique(component[recording.phase == place]).tolist():
                here = (recording.phase == place) & (component == number)
                label[here] = self._graph.label_of(name, COMPONENTS_OF_ENTRIES[number])
        return label

    def _works(self, entries: Ints, who: Ints, graph: EventGraph, is_started: bool) -> Moments:
        return graph.works(who, self._work_s[entries], is_started)

    def _sends(self, entries: Ints, who: Ints, graph: EventGraph, is_started: bool) -> Moments:
        op, machine = self._recording.op[entries], self._machine
        target = self._peer[op]
        if has_rendezvous(machine) and any(one.message_model.receives_by_size for one in machine.levels):
            graph.left_out[BY_SIZE] = None
        links = links_of_messages(machine, self._ranks, who, target) if machine.paths_differ else None
        one = price(machine.network, self._ranks, links=links).message(self._size_bytes[op])
        messages = Messages.of(who, target, self._tag[op], one, machine, True)
        return send(graph, messages, is_started)

    def _receives(self, entries: Ints, who: Ints, graph: EventGraph, is_started: bool) -> Moments:
        op = self._recording.op[entries]
        taken = Taken(who, self._peer[op], self._tag[op], np.full(len(who), self._taken_s))
        return receive(graph, taken, True, is_started)

    def _joins(self, entries: Ints, who: Ints, graph: EventGraph, is_started: bool) -> Moments:
        begins, ends = join(graph, who, self._joined_s[entries], is_started)
        self._begins.node[entries], self._begins.offset_s[entries] = begins
        return Moments(ends, np.zeros(len(who)))

    def _waits(self, entries: Ints, who: Ints, graph: EventGraph, is_started: bool) -> Moments:
        graph.waits(who, self._ends.of(self._recording.waits_for[entries].astype(np.int64)))
        return graph.now.of(who)

    def _together(self) -> Iterator[tuple[Ints, Expansion]]:
        """Yield the operations of several ranks with their (M,) entries: all of one kind, size and root together."""
        calls = collective_calls(self._recording)
        op = self._recording.op[calls.entry]
        for one, size in np.unique(np.stack([op, calls.size], axis=1), axis=0).tolist():
            begins = np.unique(calls.begin[(op == one) & (calls.size == size)])
            members = calls.entry_of[begins[:, None] + np.arange(size)]
            yield members.ravel(), self._alike(one, members)

    def _alike(self, op: int, members: Ints) -> Expansion:
        """Operations of one kind, (n, size) entries by rank in the group."""
        count, size = members.shape
        demand = as_demand(self._recording, op, size, self._machine.collectives)
        self._graph.spend(closed_form(demand).message_rows(demand, size) * count)
        _, _, size_bytes, _, root, _, _ = self._recording.operations[op]
        machine, (segments,) = demand.sent_on(self._machine), segments_of(self._recording, op, demand) or (1,)
        steps, parts = algorithm_form_of(demand).steps_in(size, int(segments))
        places = np.roll(np.arange(members.size).reshape(count, size), -int(root), axis=1)
        one = in_steps(steps, size_bytes, parts, places, machine.network)
        rank = self._recording.rank[members.ravel()]
        links = links_of_pairs(machine, self._ranks, rank[one.source], rank[one.target])
        return together(one.priced(machine.network, self._ranks, links), np.arange(members.size), machine)
