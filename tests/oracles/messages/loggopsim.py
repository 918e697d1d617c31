"""LogGOPSim as its makespans show it: one queue of operations and messages, ordered by the time at which they try.

T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim: simulating large-scale applications in the LogGOPS model", HPDC
2010. Whole nanoseconds. Whatever is taken from the queue either begins, or goes back with the time at which the
processor (of a send also the interface) is free; of several that try at the same time, the one that came into the queue
first. Two things are ours (docs/messages.md): an empty message has no byte, not minus one; and what waits for an
operation on another processor waits for its end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

import numpy as np

from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND
from simcodesign.describe.goal.schedule import ANY, ANY_TAG, Schedule

MESSAGE = -1
#: In this order come into the queue what becomes ready together.
ORDER = {SEND: 1, RECEIVE: 2, COMPUTE: 3}


@dataclass(frozen=True)
class LogGOPS:
    """The parameters, in nanoseconds and bytes."""

    L: int
    o: int
    g: int
    G: int
    O: int  # noqa: E741
    S: int


def as_std_sort(items: list[int], keys: list[int]) -> list[int]:
    """Sorted by keys as ``std::sort`` of GNU's library does, which keeps the order of equal ones up to 16 items only."""
    pairs = list(zip(keys, items, strict=True))

    def quicksort(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if len(pairs) <= 16:
            return pairs
        places = [1, len(pairs) // 2, len(pairs) - 1]
        low, middle, high = (pairs[place][0] for place in places)
        if low < middle:
            median = places[1 if middle < high else 2 if low < high else 0]
        else:
            median = places[0 if low < high else 2 if middle < high else 1]
        pairs[0], pairs[median] = pairs[median], pairs[0]
        pivot, up, down = pairs[0][0], 1, len(pairs)
        while True:
            up += next(step for step, pair in enumerate(pairs[up:]) if pair[0] >= pivot)
            down -= 1 + next(step for step, pair in enumerate(reversed(pairs[:down])) if pair[0] <= pivot)
            if up >= down:
                return quicksort(pairs[:up]) + quicksort(pairs[up:])
            pairs[up], pairs[down] = pairs[down], pairs[up]
            up += 1

    return [item for _, item in sorted(quicksort(pairs), key=lambda pair: pair[0])]


class LogGOPSim:
    """A run. ``end[op]``: when an operation is done."""

    def __init__(self, schedule: Schedule, model: LogGOPS) -> None:
        self.schedule, self.model, self.number, self.queue = schedule, model, count(), []
        self.cpu_free: dict[tuple[int, int], int] = defaultdict(int)  # by rank and processor
        self.next_send: dict[tuple[int, int], int] = defaultdict(int)  # by rank and interface
        self.next_receive: dict[tuple[int, int], int] = defaultdict(int)
        self.posted: list[list[int]] = [[] for _ in range(schedule.ranks)]
        self.unexpected: list[list[tuple[int, int]]] = [[] for _ in range(schedule.ranks)]  # send, its receive's end
        self.missing = np.bincount(schedule.edge_target, minlength=len(schedule)).tolist()
        self.ready_s = [0] * len(schedule)  # when the last thing happened that an operation waits for
        self.end: list[int | None] = [None] * len(schedule)
        self.sent: dict[int, int] = {}
        self.rank = np.repeat(np.arange(schedule.ranks), np.diff(schedule.first)).tolist()
        self.size = [max(int(size) - 1, 0) for size in schedule.size_bytes]
        self.calc = np.rint(schedule.calc_s * 1e9).astype(int).tolist()
        for rank in range(schedule.ranks):
            mine = range(*schedule.first[rank : rank + 2])
            self.enter([op for op in mine if not self.missing[op]])
        while self.queue:
            self.now, number, what, op = heappop(self.queue)
            (self.message if what == MESSAGE else self.operation)(op, number)

    @property
    def makespan(self) -> int | None:
        """The last end, None if the ranks wait for each other."""
        return None if None in self.end else max([0, *self.cpu_free.values()])

    def enter(self, ready: list[int]) -> None:
        """These operations of a rank have become ready together."""
        for op in as_std_sort(ready, [ORDER[int(self.schedule.kind[op])] for op in ready]):
            heappush(self.queue, (self.earliest(op), next(self.number), 0, op))

    def earliest(self, op: int) -> int:
        """When an operation tries first."""
        rank, cpu, nic = self.rank[op], int(self.schedule.cpu[op]), int(self.schedule.nic[op])
        gap = self.next_send[rank, nic] if self.schedule.kind[op] == SEND else 0
        return max(self.cpu_free[rank, cpu], gap, self.ready_s[op])

    def operation(self, op: int, number: int) -> None:
        """A calc, a send or a receive tries to begin."""
        schedule, model, rank = self.schedule, self.model, self.rank[op]
        if schedule.kind[op] == RECEIVE:
            self.receive(op)
            return
        if (earliest := self.earliest(op)) > self.now:
            heappush(self.queue, (earliest, number, 0, op))
            return
        size = self.size[op]
        if schedule.kind[op] == COMPUTE:
            self.cpu_free[rank, int(schedule.cpu[op])] = self.now + self.calc[op]
            self.enter([*self.released(op, True, self.now), *self.done(op, self.now + self.calc[op])])
            return
        end = self.now + model.o + size * model.O
        self.cpu_free[rank, int(schedule.cpu[op])] = end
        self.sent[op] = end
        self.next_send[rank, int(schedule.nic[op])] = self.now + model.g + size * model.G
        heappush(self.queue, (self.now + model.o + model.L, next(self.number), MESSAGE, op))
        began = self.released(op, True, self.now)
        self.enter([*began, *(self.done(op, end) if schedule.size_bytes[op] <= model.S else [])])

    def message(self, send: int, number: int) -> None:
        """The first byte of a message tries to be received."""
        schedule, model, size, rank = self.schedule, self.model, self.size[send], int(self.schedule.peer[send])
        cpu, nic = (rank, int(schedule.cpu[send])), (rank, int(schedule.nic[send]))
        if (earliest := max(self.cpu_free[cpu], self.next_receive[nic])) > self.now:
            heappush(self.queue, (earliest, number, MESSAGE, send))
            return
        self.cpu_free[cpu] = end = self.now + model.o + size * max(model.O, model.G)
        self.next_receive[nic] = self.now + model.g + size * model.G
        for receive in self.posted[rank]:
            if self.matches(send, receive):
                self.posted[rank].remove(receive)
                self.meet(send, receive, end)
                return
        self.unexpected[rank].append((send, end))

    def receive(self, op: int) -> None:
        """A receive is posted; it takes no processor."""
        rank = self.rank[op]
        began = self.released(op, True, self.now)
        for send, end in self.unexpected[rank]:
            if self.matches(send, op):
                self.unexpected[rank].remove((send, end))
                self.meet(send, op, max(end, self.now), began)
                return
        self.posted[rank].append(op)
        self.enter(began)

    def meet(self, send: int, receive: int, end: int, began: list[int] | None = None) -> None:
        """A message has its receive: that is done at ``end``, and a rendezvous lets its sender go on now."""
        released = {self.rank[receive]: began or []}
        if self.schedule.size_bytes[send] > self.model.S:
            rank = self.rank[send]
            cpu, nic = (rank, int(self.schedule.cpu[send])), (rank, int(self.schedule.nic[send]))
            self.cpu_free[cpu] = max(self.cpu_free[cpu], self.now)
            self.next_send[nic] = max(self.next_send[nic], self.now)
            released[rank] = released.get(rank, []) + self.done(send, max(self.now, self.sent[send]))
        released[self.rank[receive]] = released[self.rank[receive]] + self.done(receive, end)
        for rank in sorted(released):
            self.enter(released[rank])

    def matches(self, send: int, receive: int) -> bool:
        """Whether a message is the one that a receive waits for."""
        source, tag = self.schedule.peer[receive], self.schedule.tag[receive]
        same_source = source in (ANY, self.rank[send])
        return bool(same_source and tag in (ANY_TAG, self.schedule.tag[send]))

    def done(self, op: int, end: int) -> list[int]:
        """An operation is done at ``end``; the operations that become ready."""
        self.end[op] = end
        return self.released(op, False, end)

    def released(self, op: int, early: bool, time: int) -> list[int]:
        """The operations that waited for this one last, for its beginning (``early``) or its end."""
        ready = []
        for edge in range(*self.schedule.edge_start[op : op + 2]):
            target = int(self.schedule.edge_target[edge])
            if bool(self.schedule.edge_early[edge]) == early:
                self.ready_s[target] = max(self.ready_s[target], time)
                self.missing[target] -= 1
                if not self.missing[target]:
                    ready.append(target)
        return ready
