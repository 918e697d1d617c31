"""Polling in the reference engine: whether a part of a rank begins, which is asked at the end of an instant."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

import simpy

from simcodesign.engine.reference.environment import ContractEnvironment
from simcodesign.engine.reference.stations import Resource
from simcodesign.generate.plan import NONE, Polls


class Polling(Resource):
    """Where the polls of all ranks look whether their parts can begin, after all stations of an instant.

    ``has_come``: whether the message of a receive has arrived.
    """

    def __init__(self, env: ContractEnvironment, number: int, polls: Polls, has_come: Callable[[int], bool]) -> None:
        super().__init__(env, number)
        self.part, self.receive, self.waits = polls.part.tolist(), polls.receive.tolist(), polls.waits.tolist()
        self.has_come = has_come
        #: Events by the first operation of each part: it may begin.
        self.begun = {part: env.event() for part in sorted(set(self.part)) if part != NONE}
        self.looking: list[tuple[float, int, simpy.Event]] = []  # (since, poll, it has looked), a heap

    def look(self, poll: int) -> simpy.Event:
        """Return an event: the operation has looked; the value is whether its part begins now."""
        looked = self.env.event()
        heappush(self.looking, (self.env.now, poll, looked))
        self.arbitrate_if_needed()
        return looked

    def can_grant(self) -> bool:
        """Whether an operation is to look."""
        return len(self.looking) > 0

    def grant(self) -> None:
        """Let the first operation look."""
        _, poll, looked = heappop(self.looking)
        part = self.part[poll]
        receive = self.receive[part]
        may_begin = self.waits[poll] or receive == NONE or self.has_come(receive)
        begins = may_begin and not self.begun[part].triggered
        if begins:
            self.begun[part].succeed()
        looked.succeed(begins)
