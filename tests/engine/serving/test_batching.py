"""The server against a replay that is written here for itself, hand-made schedules, and laws of queues."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import simpy

from simcodesign.engine.serving.batching import BatchServer, ServerLog
from simcodesign.generate.serving.requests import RequestList


def prefill_s(batch: int, tokens: float) -> float:
    """In quarters of a second, so that sums are exact and events coincide."""
    return 0.25 * batch + 0.25 * round(batch * tokens)


def decode_s(batch: int, tokens: float) -> float:
    """The same."""
    return 0.5 + 0.25 * (batch // 2) + 0.25 * (round(batch * tokens) // 8)


@dataclass
class Replay:
    """A server in SimPy: each request is a process that counts its own tokens, and a step looks at all of them."""

    requests: RequestList
    largest: int
    continuous: bool
    room: float

    def __post_init__(self) -> None:
        count = len(self.requests)
        self.env = simpy.Environment()
        self.state = ["away"] * count  # away, waits, runs, done
        self.made = [0] * count
        self.begin_s, self.first_s, self.end_s = (np.zeros(count) for _ in range(3))

    def size(self, number: int) -> int:
        """Tokens of prompt and output."""
        return int(self.requests.prompt_tokens[number] + self.requests.output_tokens[number])

    def of(self, state: str) -> list[int]:
        """Requests in a state, in the order of their arrival."""
        return [number for number, one in enumerate(self.state) if one == state]

    def may_join(self) -> list[int]:
        """Those that are admitted."""
        inside, joining = self.of("runs"), list[int]()
        if inside and not self.continuous:
            return []
        for number in self.of("waits"):
            together = [*inside, *joining, number]
            if len(together) > self.largest or sum(map(self.size, together)) > self.room:
                break
            joining.append(number)
        return joining

    def serve(self):
        """Look at the state every instant at which something may happen."""
        arrivals = iter(self.requests.arrival_s)
        coming = next(arrivals, None)
        while coming is not None or self.of("waits") or self.of("runs"):
            for number, time_s in enumerate(self.requests.arrival_s):
                if self.state[number] == "away" and time_s <= self.env.now:
                    self.state[number] = "waits"
                    coming = next(arrivals, None)
            joining, inside = self.may_join(), self.of("runs")
            if joining:
                for number in joining:
                    self.begin_s[number], self.state[number] = self.env.now, "runs"
                prompts = sum(int(self.requests.prompt_tokens[number]) for number in joining)
                yield self.env.timeout(prefill_s(len(joining), prompts / len(joining)))
                for number in joining:
                    self.first_s[number], self.made[number] = self.env.now, 1
            elif inside:
                tokens = sum(int(self.requests.prompt_tokens[number]) + self.made[number] - 1 for number in inside)
                yield self.env.timeout(decode_s(len(inside), tokens / len(inside)))
                for number in inside:
                    self.made[number] += 1
            else:
                yield self.env.timeout(coming - self.env.now)
            inside = self.of("runs")
            complete = [number for number in inside if self.made[number] >= self.requests.output_tokens[number]]
            if self.continuous or len(complete) == len(inside):
                for number in complete:
                    self.state[number], self.end_s[number] = "done", self.env.now

    def run(self) -> None:
        """To the end."""
        self.env.process(self.serve())
        self.env.run()


def served(requests: RequestList, largest: int, continuous: bool, room: float = np.inf) -> ServerLog:
    """The log of the server under test."""
    return BatchServer(requests, largest, continuous, lambda tokens: tokens <= room, prefill_s, decode_s).run()


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("room", [np.inf, 40.0])
def test_replays(continuous: bool, room: float) -> None:
    """200 lists of requests, with many that arrive at ends of steps and at the same time."""
    for seed in range(200):
        draw = np.random.default_rng(seed)
        count = int(draw.integers(1, 25))
        arrival_s = np.cumsum(draw.integers(0, 12, count) / 4.0)
        requests = RequestList(arrival_s, draw.integers(1, 12, count), draw.integers(1, 9, count))
        largest = int(draw.integers(1, 6))
        replay = Replay(requests, largest, continuous, room)
        replay.run()
        log = served(requests, largest, continuous, room)
        for ours, theirs in ((log.begin_s, replay.begin_s), (log.first_token_s, replay.first_s)):
            assert ours.tolist() == theirs.tolist()
        assert log.end_s.tolist() == replay.end_s.tolist()


def test_a_schedule_by_hand() -> None:
    """Two requests: the second arrives in the prefill of the first, is prefilled next, and pauses it for that time."""
    requests = RequestList(np.array([0.0, 0.5]), np.array([2, 3]), np.array([3, 2]))
    log = served(requests, 2, continuous=True)
    # prefill 0.25 + 2*0.25 = 0.75; prefill of 3 tokens 1.0; one step of both, 0.75 (5 tokens); one of the first, 0.5
    assert log.begin_s.tolist() == [0.0, 0.75]
    assert log.first_token_s.tolist() == [0.75, 1.75]
    assert log.end_s.tolist() == [3.0, 2.5]
    static = served(requests, 2, continuous=False)
    assert static.end_s.tolist() == [1.75, 3.25]
    assert (log.busy_s, log.batch_time_s) == (3.0, 0.75 + 2 * 1.75 + 0.5)


def test_arrivals_that_never_meet() -> None:
    """D/D/1 below saturation: nothing waits."""
    requests = RequestList(np.arange(1, 50) * 4.0, np.full(49, 4), np.full(49, 4))
    for continuous in (False, True):
        log = served(requests, 1, continuous)
        service = 0.25 + 1.0 + 3 * 0.5
        assert log.begin_s.tolist() == requests.arrival_s.tolist()
        assert log.end_s.tolist() == (requests.arrival_s + service).tolist()


@pytest.mark.parametrize("continuous", [False, True])
def test_littles_law(continuous: bool) -> None:
    """The time integral of the number in the system, event by event, is the sum of times in the system."""
    draw = np.random.default_rng(5)
    requests = RequestList(np.cumsum(draw.exponential(3.0, 500)), draw.integers(1, 9, 500), draw.integers(1, 9, 500))
    log = served(requests, 4, continuous)
    events = sorted([(time, 1) for time in requests.arrival_s] + [(time, -1) for time in log.end_s])
    area, number = 0.0, 0
    for (time, change), (after, _) in zip(events, [*events[1:], events[-1]], strict=True):
        number += change
        area += number * (after - time)
    assert area == pytest.approx(np.sum(log.end_s - requests.arrival_s), rel=1e-9)
    assert log.busy_s <= log.end_s.max()
    assert np.all(log.begin_s >= requests.arrival_s)
    assert np.all(np.diff(log.begin_s) >= 0)  # first come, first served
