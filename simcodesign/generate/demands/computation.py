"""Computations as operations: how long one occupies its processor, by the simulation's own rate model."""

from __future__ import annotations

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPUTE
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.computation import BLOCKS, Compute
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.plan_builder import StepWriter


class ComputeLowering(Lowering[Compute]):
    """One operation of each rank."""

    def write(self, demand: Compute, writer: StepWriter) -> None:
        work = demand.work(writer.amount)
        if demand.unit == BLOCKS:
            size_bytes = 0.0 if demand.block_bytes is None else writer.amount(demand.block_bytes, "bytes")
            _copy(writer, work, size_bytes)
            return
        writer.count(writer.builder.totals.work, demand.unit, work)
        duration_s = duration_of_computation_s(demand, writer.machine.processor, work)
        writer.count_instructions(demand.unit, work, duration_s)
        writer.count(writer.builder.totals.processor_limits_s, "computation", duration_s)
        writer.work(COMPUTE, 0.0, duration_s, writer.varying())


def _copy(writer: StepWriter, blocks: FloatOrArray, block_bytes: FloatOrArray) -> None:
    """Write one operation of each rank that copies ``blocks`` blocks, unless that takes no time."""
    each_s = writer.columns.data_costs.copy_s(block_bytes)
    if np.any(each_s > 0):
        writer.count_instructions("seconds", blocks * each_s, blocks * each_s)
        writer.work(COMPUTE, 0.0, blocks * each_s)


def duration_of_computation_s(demand: Compute, processor: Processor, work: FloatOrArray) -> FloatOrArray:
    """Seconds for ``work``. Raises InputError for a demand in instructions on a machine without a clock."""
    if demand.unit == "seconds":
        return work
    if demand.unit == "flops":
        return work / processor.rate_flop_per_s
    if processor.clock_hz is None:
        raise InputError("a demand in instructions needs processor.clock, which this machine has not", demand.place)
    return work * processor.cycles_per_instruction / processor.clock_hz


LOWERINGS.add(Compute, ComputeLowering())
