"""Waiting as operations: ``generate/side_chains.py`` finds the operations that are waited for."""

from __future__ import annotations

from simcodesign.describe.demands.wait import Wait
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.plan_builder import StepWriter


class WaitLowering(Lowering[Wait]):
    """An operation of no time of each rank for each name."""

    def operations(self, demand: Wait, writer: StepWriter) -> float:
        return len(demand.names) * writer.builder.ranks

    def write(self, demand: Wait, writer: StepWriter) -> None:
        """Write nothing: it is written with the previous operation in its block."""


LOWERINGS.add(Wait, WaitLowering())
