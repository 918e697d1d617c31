"""Mailboxes: where the messages for receives from anyone are collected, as SimPy resources."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

import simpy

from simcodesign.engine.reference.environment import ContractEnvironment
from simcodesign.engine.reference.stations import Resource
from simcodesign.generate.plan import ANY, ANY_TAG, Plan


def suits(plan: Plan, send: int, receive: int) -> bool:
    """Return whether a receive takes the message of a send that arrives at its mailbox or box."""
    if plan.tag is None:
        return True
    from_there = plan.peer[receive] in (ANY, plan.rank[send])
    return bool(from_there and plan.tag[receive] in (ANY_TAG, plan.tag[send]))


class Mailbox(Resource):
    """Where messages meet receives: the first message that suits a receive there goes to the first such receive."""

    def __init__(self, env: ContractEnvironment, number: int, plan: Plan) -> None:
        super().__init__(env, number)
        self.plan = plan
        self.messages: list[tuple[float, int]] = []  # (arrival time, send), sorted
        self.receives: list[tuple[float, int, simpy.Event]] = []  # (since, receive, its message), sorted
        self.searched: dict[int, int] = {}  # by receive: messages that came earlier than its own and were still here

    def put(self, send: int) -> None:
        """Put the message of a send that has arrived."""
        insort(self.messages, (self.env.now, send))
        self.arbitrate_if_needed()

    def get(self, receive: int) -> simpy.Event:
        """Return an event: the receive has its message; the value is the send."""
        received = self.env.event()
        insort(self.receives, (self.env.now, receive, received))
        self.longest_queue = max(self.longest_queue, len(self.receives))
        self.arbitrate_if_needed()
        return received

    def can_grant(self) -> bool:
        """Return whether a message and a receive that it suits have arrived."""
        return next(self.pairs(), None) is not None

    def pairs(self) -> Iterator[tuple[tuple[float, int], tuple[float, int, simpy.Event]]]:
        """Messages and receives that they suit, the first ones first."""
        for message in self.messages if self.receives else ():
            for receive in self.receives:
                if suits(self.plan, message[1], receive[1]):
                    yield message, receive

    def grant(self) -> None:
        """Give the first message that can go to the first receive that takes it."""
        message, receive = next(self.pairs())
        (time_s, send), (since, op, received) = message, receive
        self.searched[op] = bisect_left(self.messages, (time_s, -1))
        self.messages.remove(message)
        self.receives.remove(receive)
        self.served += 1
        self.wait_s += self.env.now - since
        received.succeed(send)
