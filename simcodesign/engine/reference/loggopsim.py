"""The reference engine for Plans by the rules of LogGOPSim (number 5 of the event contract).

Every operation and every message is a process of its own. It has a number, and waits for its turns: events at the times
at which it tries to get its processor, which of one instant come in the order of these numbers.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count, pairwise
from math import inf, isinf, nan
from typing import Any

import numpy as np
import simpy

from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.engine.event_contract import Log, count_events
from simcodesign.engine.introsort import introsort
from simcodesign.engine.reference.engine import Simulation
from simcodesign.engine.reference.environment import Process
from simcodesign.engine.reference.mailboxes import suits
from simcodesign.engine.reference.messages import Messages
from simcodesign.engine.whole_times import in_seconds, in_whole_units
from simcodesign.generate.plan import NONE, PROCESSOR, LogGOPS, Plan

#: In this order come the operations of a rank that become ready together.
ORDER: dict[int, int] = defaultdict(lambda: 2, {SEND: 0, RECEIVE: 1})


class Processor:
    """The statistics of a processor: operations and messages get it by their turns."""

    def __init__(self, env: simpy.Environment, number: int) -> None:
        self.number, self.waiting, self.longest_queue = number, 0, 0
        self.served, self.busy_s, self.wait_s = 0, 0.0, 0.0
        self.freed = env.event()  # it is known when an operation at a disk or a memory controller will be done

    def line_up(self) -> None:
        """Somebody tries to get the processor."""
        self.waiting += 1
        self.longest_queue = max(self.longest_queue, self.waiting)

    def take_up(self, busy_s: float, wait_s: float) -> None:
        """Somebody gets it."""
        self.waiting -= 1
        self.served += 1
        self.busy_s += busy_s
        self.wait_s += wait_s


class Line:
    """Queue for one processor and interface. Only the first entry, by its number, tries."""

    def __init__(self) -> None:
        self.numbers: list[int] = []  # a heap
        self.first: dict[int, simpy.Event] = {}  # a number is the first now

    def leave(self) -> None:
        """Let the next one try, when the first has got what it waited for."""
        heappop(self.numbers)
        if self.numbers and self.numbers[0] in self.first:
            self.first.pop(self.numbers[0]).succeed()


class LogGOPSimulation(Simulation):
    """The processes of a Plan with ``loggops``; all times are in whole units if possible."""

    def __init__(self, plan: Plan, messages: type[Messages]) -> None:
        plan, self.per_second = in_whole_units(plan)
        super().__init__(plan, messages)

    def make_station(self, number: int) -> Any:
        is_processor = self.plan.stations.kind[number] == PROCESSOR
        return Processor(self.env, number) if is_processor else super().make_station(number)

    def start(self) -> None:
        """Everything that waits for nothing tries to begin."""
        plan, rules = self.plan, self.plan.loggops
        assert rules is not None
        assert plan.gap_s is not None
        self.read_rules(rules)
        self.rank, self.begin_s, self.gap_s = plan.rank.tolist(), [nan] * len(plan), plan.gap_s.tolist()
        self.numbers = count()
        self.free_s = [0.0] * len(plan.stations)  # by processor: when it is free
        self.next_send_s, self.next_message_s = [0.0] * rules.interfaces, [0.0] * rules.interfaces
        self.posted: dict[int, deque[int]] = defaultdict(deque)  # receives without their message, by queue
        self.unexpected: dict[int, deque[tuple[int, float]]] = defaultdict(deque)  # messages, and their ends
        self.taken_s, self.processed_s = [nan] * len(plan), [nan] * len(plan)
        self.ready_s = [0.0] * len(plan)
        self.sent_s = [0.0] * len(plan)  # when a processor has done its part of a send
        self.missing = [0] * len(plan)
        self.edges: list[list[tuple[int, bool]]] = [[] for _ in self.missing]
        if plan.edges is not None:
            self.missing = np.bincount(plan.edges.target, minlength=len(plan)).tolist()
            every = list(zip(plan.edges.target.tolist(), plan.edges.early.tolist(), strict=True))
            self.edges = [every[low:high] for low, high in pairwise(plan.edges.start.tolist())]
        for low, high in pairwise(plan.first.tolist()):
            self.enter([op for op in range(low, high) if not self.missing[op]])

    def read_rules(self, rules: LogGOPS) -> None:
        """Read the rules as lists."""
        self.interface, self.box = rules.interface.tolist(), rules.box.tolist()
        self.receiver, self.receiver_interface = rules.receiver.tolist(), rules.receiver_interface.tolist()
        self.receive_s, self.spread_s = rules.receive_s.tolist(), rules.spread_s.tolist()
        self.rendezvous = rules.rendezvous.tolist()
        self.line, self.message_line = rules.line.tolist(), rules.message_line.tolist()
        self.lines = [Line() for _ in range(rules.lines)]
        self.served_at = [NONE] * len(self.plan) if rules.served_at is None else rules.served_at.tolist()

    # --- Operations

    def enter(self, ready: list[int]) -> None:
        """Enter these operations of a rank, which have become ready together."""
        introsort(ready, [ORDER[self.kind[op]] for op in ready], len(ready), [0] * len(ready))
        for op in ready:
            self.env.process(self.operation(op, next(self.numbers), self.earliest_s(op, unknown_s=0.0)))

    def earliest_s(self, op: int, unknown_s: float = inf) -> float:
        """Earliest time at which an operation can begin, as known now.

        ``unknown_s``: value for an unknown free time.
        """
        free_s = self.free_s[self.station[op]]
        earliest = max(self.ready_s[op], unknown_s if isinf(free_s) else free_s)
        return max(earliest, self.next_send_s[self.interface[op]]) if self.kind[op] == SEND else earliest

    def operation(self, op: int, number: int, time_s: float) -> Process:
        """Try to begin until the processor is free; then let dependent operations continue in the same instant."""
        yield self.env.turn(time_s, number)
        self.env.events += 1
        if self.kind[op] == RECEIVE:
            self.post(op)
            return
        processor = self.stations[self.station[op]]
        processor.line_up()
        yield from self.stand_in_line(self.lines[self.line[op]], number, processor, lambda: self.earliest_s(op))
        if self.served_at[op] != NONE:
            yield from self.be_served(op, processor)
            return
        now, end = self.env.now, self.env.now + self.duration_s[op]
        self.free_s[processor.number] = end
        processor.take_up(self.duration_s[op], now - self.ready_s[op])
        if self.kind[op] == SEND:
            self.next_send_s[self.interface[op]] = now + self.gap_s[op]
            self.env.process(self.deliver(op, next(self.numbers)))
        began = self.begins(op)
        self.sent_s[op] = end
        self.enter(began + ([] if self.rendezvous[op] else self.ends(op, end)))

    def be_served(self, op: int, processor: Processor) -> Process:
        """Queue at a disk or a memory controller, with the processor, which is free when that is done."""
        station, begin_s = self.stations[self.served_at[op]], self.env.now
        self.free_s[processor.number] = inf
        processor.take_up(0.0, begin_s - self.ready_s[op])
        self.enter(self.begins(op))
        yield station.request(op, self.duration_s[op])
        station.release_after(self.duration_s[op])
        end = self.env.now + self.duration_s[op]
        processor.busy_s += end - begin_s
        self.free_s[processor.number] = end
        freed, processor.freed = processor.freed, self.env.event()
        freed.succeed()
        self.enter(self.ends(op, end))

    def stand_in_line(self, line: Line, number: int, processor: Processor, earliest_s: Callable[[], float]) -> Process:
        """Wait until processor and interface are free, and no entry with a smaller number may still use them."""
        if earliest_s() <= self.env.now:
            return
        heappush(line.numbers, number)
        while line.numbers[0] != number or earliest_s() > self.env.now:
            if line.numbers[0] != number:
                line.first[number] = self.env.event()
                yield line.first[number]
            while isinf(earliest_s()):
                yield processor.freed
            yield self.env.turn(max(earliest_s(), self.env.now), number)
        line.leave()

    def post(self, op: int) -> None:
        """Let a receive take the first message in its queue that suits it, or wait there for one."""
        began = self.begins(op)
        unexpected = self.unexpected[self.box[op]]
        for place, (send, end) in enumerate(unexpected):
            if suits(self.plan, send, op):
                del unexpected[place]
                self.meet(send, op, max(end, self.env.now), began)
                return
        self.posted[self.box[op]].append(op)
        self.enter(began)

    def begins(self, op: int) -> list[int]:
        """Note that an operation begins; return the operations that become ready."""
        self.begin_s[op] = self.env.now
        return self.let_go(op, early=True, time_s=self.env.now)

    def ends(self, op: int, end_s: float) -> list[int]:
        """Note when an operation ends; return the operations that become ready."""
        self.finishes(op, end_s)
        return self.let_go(op, early=False, time_s=end_s)

    def let_go(self, op: int, early: bool, time_s: float) -> list[int]:
        """Return the operations that waited for this one last."""
        ready = []
        for target, is_early in self.edges[op]:
            if is_early == early:
                self.ready_s[target] = max(self.ready_s[target], time_s)
                self.missing[target] -= 1
                if not self.missing[target]:
                    ready.append(target)
        return ready

    # --- Messages

    def deliver(self, send: int, number: int) -> Process:
        """Let a message arrive at its receiver, and try to process it there."""
        if self.messages.route[send] == NONE:
            assert self.flight_s is not None
            first_s, lag_s = self.env.now + self.flight_s[send], 0.0
        else:
            tail_s = yield from self.messages.travel(send)
            first_s = max(self.env.now, tail_s - self.spread_s[send])
            lag_s = first_s - (tail_s - self.spread_s[send])  # the first byte came before its time was determined
        yield self.env.turn(first_s, number)
        self.arrival_s[send] = self.env.now
        processor, interface = self.stations[self.receiver[send]], self.receiver_interface[send]
        processor.line_up()
        yield from self.stand_in_line(
            self.lines[self.message_line[send]],
            number,
            processor,
            lambda: max(self.free_s[processor.number], self.next_message_s[interface]),
        )
        busy_s = self.receive_s[send] - min(lag_s, self.spread_s[send])
        end = self.env.now + busy_s
        self.free_s[processor.number] = end
        self.next_message_s[interface] = self.env.now + self.gap_s[send]
        processor.take_up(busy_s, self.env.now - first_s)
        self.taken_s[send], self.processed_s[send] = self.env.now, end
        posted = self.posted[self.box[send]]
        for place, receive in enumerate(posted):
            if suits(self.plan, send, receive):
                del posted[place]
                self.meet(send, receive, end, [])
                return
        self.unexpected[self.box[send]].append((send, end))

    def meet(self, send: int, receive: int, end_s: float, began: list[int]) -> None:
        """Give a message its receive, at whose end it is known; ``began``: what the posting has let go."""
        self.match[receive], self.match[send] = send, receive
        if not self.rendezvous[send]:
            self.enter(began + self.ends(receive, end_s))
            return
        processor, interface, now = self.station[send], self.interface[send], self.env.now
        self.free_s[processor] = max(self.free_s[processor], now)
        self.next_send_s[interface] = max(self.next_send_s[interface], now)
        sent = self.ends(send, max(now, self.sent_s[send]))
        received = self.ends(receive, end_s)
        if self.rank[send] == self.rank[receive]:
            self.enter(began + sent + received)
        elif self.rank[send] < self.rank[receive]:
            self.enter(sent)
            self.enter(began + received)
        else:
            self.enter(began + received)
            self.enter(sent)

    def log(self) -> Log:
        """Return what happened, in seconds."""
        log = super().log()
        events = count_events(self.plan, log.served)
        begin_s, taken_s, processed_s = (np.array(times) for times in (self.begin_s, self.taken_s, self.processed_s))
        log = replace(log, events=events, begin_s=begin_s, taken_s=taken_s, processed_s=processed_s)
        return in_seconds(log, self.per_second)
