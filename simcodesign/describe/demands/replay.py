"""A schedule of operations from elsewhere as a demand."""

from __future__ import annotations

from dataclasses import dataclass, field

from simcodesign.describe.demands.base import NETWORK, Demand
from simcodesign.describe.goal.schedule import Schedule


@dataclass(frozen=True)
class Replay(Demand):
    """A schedule from elsewhere, which a simulation replays; it has no closed form."""

    schedule: Schedule = field(repr=False)
    uses_parts = frozenset({NETWORK, "processor"})
