"""Execute blocks as operations: each is one; ``block_schedule`` computes its duration and its power over time."""

from __future__ import annotations

from typing import Any

from simcodesign.core.operation_kinds import COMPUTE
from simcodesign.describe.demands.resource_uses import Execute, item_uses
from simcodesign.describe.effects import Mechanism
from simcodesign.generate.block_schedule import times_of_block
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.plan_builder import StepWriter


class ExecuteLowering(Lowering[Execute]):
    """One operation of each rank."""

    def write(self, demand: Execute, writer: StepWriter) -> None:
        builder = writer.builder
        parallelism = writer.amount(demand.parallelism, "parallelism")
        uses = item_uses(demand, writer.machine, writer.amount)
        for use in uses:
            writer.count(builder.totals.used, use.resource, use.amount * parallelism)
            if use.resource == "flops":
                writer.count(builder.totals.work, "flops", use.amount * parallelism)
        times = times_of_block(uses, parallelism, writer.machine.custom, Mechanism.ORDERED_USES in builder.on)
        writer.count_instructions("seconds", times.duration_s, times.duration_s)
        power: Any = {} if builder.powers is None else {"power": builder.powers.of_block(times.pieces, builder.ranks)}
        writer.work(COMPUTE, 0.0, times.duration_s, power)


LOWERINGS.add(Execute, ExecuteLowering())
