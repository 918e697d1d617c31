"""Times of the steps of a server, each simulated with its messages when it first comes up."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from simcodesign.describe.evaluated.server import Server
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.simulate import simulate_experiment

#: Ratio of neighbouring lengths that are simulated: between them a time is linear in the length. A time that grows with
#: the square of the length is too long by at most 0.1**2/(4*1.1), 0.23 %.
RATIO = 1.1


def lengths_simulated(largest: int) -> list[int]:
    """Return the lengths at which steps are simulated, up to the first from ``largest`` on."""
    lengths = [1]
    while lengths[-1] < largest:
        lengths.append(max(lengths[-1] + 1, int(lengths[-1] * RATIO)))
    return lengths


@dataclass
class StepTimes:
    """Seconds of a prefill and of a decode step, by the requests of the batch and their mean length.

    ``experiment``: how a step is simulated; its scenario is replaced. ``largest``: the largest length.
    """

    server: Server
    experiment: Experiment
    largest: int
    _times: dict[tuple[str, int, float], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lengths = lengths_simulated(self.largest)

    def prefill_s(self, batch: int, tokens: float) -> float:
        """Return the time of a prefill of ``batch`` prompts of ``tokens`` on average."""
        if self.server.serving.prompt.varies.constant:
            return self._simulated_s(self.server.serving.prefill, batch, tokens)
        return self._between_s(self.server.serving.prefill, batch, tokens)

    def decode_s(self, batch: int, tokens: float) -> float:
        """Return the time of a step of ``batch`` requests with ``tokens`` in their caches on average."""
        return self._between_s(self.server.serving.decode, batch, tokens)

    def _between_s(self, phase: str, batch: int, tokens: float) -> float:
        """Return the time, linear between neighbouring lengths that are simulated."""
        place = bisect_left(self._lengths, tokens)
        high = self._lengths[place]
        high_s = self._simulated_s(phase, batch, high)
        if high == tokens:
            return high_s
        low = self._lengths[place - 1]
        low_s = self._simulated_s(phase, batch, low)
        return low_s + (high_s - low_s) * ((tokens - low) / (high - low))

    def _simulated_s(self, phase: str, batch: int, tokens: float) -> float:
        """Return the makespan of a step."""
        key = phase, batch, tokens
        if key not in self._times:
            step = replace(self.experiment, scenario=self.server.step(phase, batch, tokens))
            self._times[key] = float(simulate_experiment(step).makespan_s)
        return self._times[key]


#: The time of a step by its requests and their mean length.
StepTime = Callable[[int, float], float]
