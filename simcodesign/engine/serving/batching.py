"""The server itself: requests wait, are admitted to the batch, and are served step by step.

A step begins when the previous one has ended, or, of an idle server, when a request arrives; requests that arrive at
that instant are included. Requests are admitted in the order of their arrival, as many as the largest batch and the
memory allow, each with room for its whole prompt and output, as Orca reserves it (Yu et al., OSDI 2022, Sec. 4.2).

- Continuous batching (Orca, Sec. 3.1): before each step, waiting requests are admitted and prefilled together, while
  the others pause; a request that has all its tokens leaves.
- Static batching: requests are admitted when the batch has ended, which is when its longest output has. Shorter ones
  occupy their places, and answers are returned, at that time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

import numpy as np
from numpy.typing import NDArray

from simcodesign.generate.serving.requests import RequestList

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ServerLog:
    """(R,) seconds at which the prefill of each request began, its first token and its answer were there.

    The time in which steps ran, and requests of the batch times the time of steps.
    """

    begin_s: Floats
    first_token_s: Floats
    end_s: Floats
    busy_s: float
    batch_time_s: float


@dataclass
class BatchServer:
    """A server whose step times are ``prefill_s(batch, tokens)`` and ``decode_s(batch, tokens)``.

    ``fits`` returns whether the memory has room for a number of tokens.
    """

    requests: RequestList
    largest_batch: int
    continuous: bool
    fits: Callable[[float], bool]
    prefill_s: Callable[[int, float], float]
    decode_s: Callable[[int, float], float]
    now_s: float = 0.0
    step: int = 0  # decode steps so far
    tokens: int = 0  # in the caches of the batch
    reserved: int = 0  # tokens for which there is room
    busy_s: float = 0.0
    batch_time_s: float = 0.0
    arrived: int = 0
    waiting: deque[int] = field(default_factory=deque)
    batch: list[tuple[int, int]] = field(default_factory=list)  # a heap: the last step of a request, and its number

    def __post_init__(self) -> None:
        of, count = self.requests, len(self.requests)
        self.arrivals_s = [*of.arrival_s.tolist(), inf]
        self.prompts, self.outputs = of.prompt_tokens.tolist(), of.output_tokens.tolist()
        self.last_step = 0  # of the batch
        self.begin_s, self.first_s, self.end_s = ([0.0] * count for _ in range(3))

    def run(self) -> ServerLog:
        """Serve all requests."""
        while self.batch or self.waiting or self.arrivals_s[self.arrived] < inf:
            if not self.waiting and not self.batch:
                self.now_s = max(self.now_s, self.arrivals_s[self.arrived])
            if self.arrivals_s[self.arrived] <= self.now_s:
                self._see_arrivals()
            admits = self.waiting and (self.continuous or not self.batch)
            if admits and (admitted := self._admit()):
                self._prefill(admitted)
            else:
                self._decode()
            if self.batch[0][0] <= self.step and (self.continuous or self.last_step <= self.step):
                self._release()
        begin_s, first_s, end_s = (np.array(times) for times in (self.begin_s, self.first_s, self.end_s))
        return ServerLog(begin_s, first_s, end_s, self.busy_s, self.batch_time_s)

    def _see_arrivals(self) -> None:
        """Let requests wait that have arrived."""
        while self.arrivals_s[self.arrived] <= self.now_s:
            self.waiting.append(self.arrived)
            self.arrived += 1

    def _admit(self) -> list[int]:
        """Take requests from the queue into the batch; those behind one that does not fit wait, too."""
        admitted = list[int]()
        while self.waiting and len(self.batch) + len(admitted) < self.largest_batch:
            request = self.waiting[0]
            size = self.prompts[request] + self.outputs[request]
            if not self.fits(self.reserved + size):
                break
            self.reserved += size
            admitted.append(self.waiting.popleft())
        return admitted

    def _prefill(self, admitted: list[int]) -> None:
        prompts = sum(self.prompts[request] for request in admitted)
        for request in admitted:
            self.begin_s[request] = self.now_s
            last = self.step + self.outputs[request] - 1
            heappush(self.batch, (last, request))
            self.last_step = max(self.last_step, last)
        self._pass(self.prefill_s(len(admitted), prompts / len(admitted)))
        self.tokens += prompts
        for request in admitted:
            self.first_s[request] = self.now_s

    def _decode(self) -> None:
        """Compute one token for each request of the batch."""
        count = len(self.batch)
        self._pass(self.decode_s(count, self.tokens / count))
        self.step += 1
        self.tokens += count

    def _pass(self, duration_s: float) -> None:
        self.now_s += duration_s
        self.busy_s += duration_s
        self.batch_time_s += len(self.batch) * duration_s

    def _release(self) -> None:
        """Let requests leave that have all their tokens; of a static batch, when all have."""
        while self.batch and self.batch[0][0] <= self.step:
            last, request = heappop(self.batch)
            self.end_s[request] = self.now_s
            self.tokens -= self.prompts[request] + self.outputs[request] - 1 + (self.step - last)
            self.reserved -= self.prompts[request] + self.outputs[request]
