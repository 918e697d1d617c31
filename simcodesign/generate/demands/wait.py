"""Waiting and polling as operations of no time.

``generate/side_chains.py`` and ``generate/polled_parts.py`` find what they belong to.
"""

from __future__ import annotations

from simcodesign.core.operation_kinds import WAIT
from simcodesign.describe.demands.wait import Poll, Wait
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.plan_builder import StepWriter
from simcodesign.generate.polled_parts import POLLS, role


class WaitLowering(Lowering[Wait]):
    """An operation of no time of each rank for each name."""

    def operations(self, demand: Wait, writer: StepWriter) -> float:
        return len(demand.names) * writer.builder.ranks

    def write(self, demand: Wait, writer: StepWriter) -> None:
        """Write nothing: it is written with the previous operation in its block."""


class PollLowering(Lowering[Poll]):
    """An operation for each name, of the ranks that have started a part of this name and poll it."""

    def operations(self, demand: Poll, writer: StepWriter) -> float:
        return len(demand.names) * writer.builder.ranks

    def write(self, demand: Poll, writer: StepWriter) -> None:
        builder = writer.builder
        for name in demand.names:
            who = builder.polling.get(name)
            if who is not None:
                writer.columns.work(WAIT, 0.0, 0.0, who, {"polled": role(builder.polled_names, name, POLLS)})


LOWERINGS.add(Wait, WaitLowering())
LOWERINGS.add(Poll, PollLowering())
