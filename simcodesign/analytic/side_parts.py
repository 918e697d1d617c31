"""The time of a block with concurrent parts: the longest path through it.

With t the time from the beginning of the block to a place in it:

    start x at t0, which takes T by its closed form:   t stays
    wait x at t:                                       t becomes max(t, t0 + T), of which max(0, t0 + T - t) is new

If x is the longer one, the time consists of the operations before its start, and of x; otherwise of the operations
concurrent with it. Several concurrent parts do not hold each other up. For messages that is Hockney's model, in which
a part waits for no rank except those that it exchanges messages with; in LogGOPS its overheads need the processor of
its rank as well, so that this is an estimate from below there (``docs/overlap.md``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from simcodesign.analytic.demands.base import Charge
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.wait import Wait
from simcodesign.describe.evaluation import EvaluatedBlock, EvaluatedStep

#: Seconds by phase and component.
Times = Mapping[tuple[str, str], FloatOrArray]


@dataclass(frozen=True)
class SidePart:
    """A started demand: done ``until_s`` after its block began; ``times`` are the parts of that time."""

    until_s: FloatOrArray
    times: Times


@dataclass
class BlockClock:
    """The time since a block began, done once, and what it consists of: numbers, or arrays over points and ranks."""

    now_s: FloatOrArray = 0.0
    times: Times = field(default_factory=dict)
    parts: dict[str, SidePart] = field(default_factory=dict)

    def reads(self, step: EvaluatedStep, charge: Charge) -> FloatOrArray:
        """Return the next demand of the block, and by how much the block is longer with it."""
        if isinstance(step.demand, Wait):
            return sum((self._waits(name) for name in step.demand.names), start=0.0)
        time_s = charge.time_s * step.present
        computed_s = charge.computation_s * step.present
        after = _plus(self.times, {(step.phase, "computation"): computed_s})
        after = _plus(after, {(step.phase, charge.component): time_s - computed_s})
        if step.demand.started_as:
            self.parts[step.demand.started_as] = SidePart(self.now_s + time_s, after)
            return 0.0
        self.now_s, self.times = self.now_s + time_s, after
        return time_s

    def ends(self, inner: BlockClock, block: EvaluatedBlock) -> None:
        """Note that a block in this one has ended, or a part of its iterations."""
        self.now_s = self.now_s + block.summed(inner.now_s)
        self.times = _plus(self.times, {key: block.summed(time_s) for key, time_s in inner.times.items()})

    def _waits(self, name: str) -> FloatOrArray:
        part = self.parts.pop(name)
        left_s = np.maximum(part.until_s - self.now_s, 0.0)
        is_longer, empty = np.asarray(left_s) > 0, 0.0
        self.now_s = np.maximum(self.now_s, part.until_s)
        self.times = {
            key: np.where(is_longer, part.times.get(key, empty), self.times.get(key, empty))
            for key in {**self.times, **part.times}
        }
        return left_s


def _plus(times: Times, more: Times) -> Times:
    return {key: times.get(key, 0.0) + more.get(key, 0.0) for key in {**times, **more}}
