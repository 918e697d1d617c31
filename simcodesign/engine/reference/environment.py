"""SimPy's environment with a calendar of its own, in which simultaneous events have a fixed order.

SimPy keeps simultaneous events in the order in which they were scheduled. Which of two ranks gets a disk that both
request at the same time would then depend on how many events each of them has happened to need before. Here events are
ordered by the key (time, phase, id) of the event contract, so that all arrivals and completions of an instant come
first, in any order, and the stations then choose who is next, station by station.

A subclass of ``simpy.Environment`` may have another clock and another calendar: ``now``, ``schedule``, ``peek`` and
``step`` are all that SimPy's events, timeouts and processes use of it.
"""

from __future__ import annotations

from collections.abc import Generator
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any, Protocol

import simpy
from simpy.core import EmptySchedule
from simpy.events import NORMAL

#: A process that only does something, and one that returns a time in seconds.
Process = Generator[simpy.Event, Any, None]
TimedProcess = Generator[simpy.Event, Any, float]
#: A station, the operation that it served, when that asked for it, when it began to be served, and when that was over.
Service = tuple[int, int, float, float, float]
#: Phases of an instant. TURNS are the last of phase 0 of the event contract, ARBITRATION is its phase 1.
ARRIVALS_AND_COMPLETIONS, TURNS, ARBITRATION = range(3)


class Arbiter(Protocol):
    """A resource that decides at the end of an instant who is next. ``number``: its place among all that do."""

    number: int

    def arbitrate(self) -> None:
        """Decide."""


class TimeoutAt(simpy.Event):
    """An event at an absolute time: ``now + (time_s - now)`` is not always ``time_s`` to the last bit.

    ``turn_of``: the number whose turn it is, after all that happens by itself in this instant and after the turns of
    smaller numbers.
    """

    def __init__(self, env: ContractEnvironment, time_s: float, turn_of: int | None = None) -> None:
        super().__init__(env)
        self.time_s, self.turn_of = time_s, turn_of
        self.succeed()  # puts it into the calendar, as SimPy's own ``Timeout`` does


class ContractEnvironment(simpy.Environment):
    """The clock and the calendar of a simulation, in seconds."""

    now: float = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.calendar: list[tuple[float, int, int, Any]] = []  # a heap of (time, phase, id, event or arbiter)
        self.end_s = inf  # nothing happens later
        self.event_numbers = count()
        self.events = 0  # as the event contract counts them
        self.services: list[Service] | None = None  # what stations served, if that is to be recorded

    def schedule(self, event: simpy.Event, priority: int = NORMAL, delay: float = 0.0) -> None:
        """Put an event into the calendar. SimPy calls this for every event that is triggered."""
        time_s, phase, number = self.now + delay, ARRIVALS_AND_COMPLETIONS, next(self.event_numbers)
        if isinstance(event, TimeoutAt):
            time_s = event.time_s
            if event.turn_of is not None:
                phase, number = TURNS, event.turn_of
        heappush(self.calendar, (time_s, phase, number, event))

    def arbitrate_at_end_of_instant(self, arbiter: Arbiter) -> None:
        """Let a resource arbitrate when no arrival or completion is left in this instant, in the order of numbers."""
        heappush(self.calendar, (self.now, ARBITRATION, arbiter.number, arbiter))

    def timeout_at(self, time_s: float) -> TimeoutAt:
        """Return a timeout that ends at ``time_s``."""
        return TimeoutAt(self, time_s)

    def trigger_at(self, time_s: float, event: simpy.Event) -> None:
        """Let an event happen at ``time_s``."""
        self.timeout_at(time_s).callbacks.append(event.trigger)

    def turn(self, time_s: float, number: int) -> TimeoutAt:
        """Return the turn of a number at ``time_s``."""
        return TimeoutAt(self, time_s, number)

    def peek(self) -> float:
        """Return the time of the next event; infinity if there is none."""
        return self.calendar[0][0] if self.calendar else inf

    def step(self) -> None:
        """Process the next entry of the calendar. EmptySchedule if there is none until the end."""
        if not self.calendar or self.calendar[0][0] > self.end_s:
            raise EmptySchedule
        self.now, phase, _, entry = heappop(self.calendar)
        if phase == ARBITRATION:
            entry.arbitrate()
            return
        callbacks, entry.callbacks = entry.callbacks, None  # None marks an event as processed
        for callback in callbacks:
            callback(entry)
        if not entry.ok and not entry.defused:  # a process has raised an exception that is not handled
            raise entry.value
