"""Kernels and copies as operations: how long they occupy an accelerator and its link, by the simulation's own model.

The processor launches a kernel, which then has its accelerator; a copy waits for its latency, and then has its link.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simcodesign.core.operation_kinds import COMPUTE, COPY_TO_ACCELERATOR, COPY_TO_HOST, KERNEL
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.computation import ACCELERATOR, Copy, Kernel
from simcodesign.describe.machine_parts.accelerator import Accelerator, efficiency_of, needed_per_byte_s, needed_rate
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.demands.kernel_shapes import operations_and_traffic
from simcodesign.generate.plan_builder import StepWriter


class KernelLowering(Lowering[Kernel]):
    """Two operations of each rank: its launches, and its kernels."""

    def operations(self, demand: Kernel, writer: StepWriter) -> float:
        return 2 * super().operations(demand, writer)

    def write(self, demand: Kernel, writer: StepWriter) -> None:
        accelerator = writer.step.accelerator
        times = writer.amount(demand.times, "times")
        amounts = operations_and_traffic(demand, writer)
        size = 0.0 if amounts["bytes"] is None else amounts["bytes"]
        if (flops := amounts["flops"]) is not None:
            writer.count(writer.builder.totals.work, "flops", times * flops)
        extra = writer.varying(2)
        writer.work(COMPUTE, 0.0, times * accelerator.launch_s, extra)
        computing_s, moving_s = _parts_s(demand, accelerator, amounts, writer)
        each_s = np.maximum(computing_s, moving_s)
        writer.work(KERNEL, np.multiply(times, size), np.multiply(times, each_s), extra)
        if demand.seconds is None:
            waits_for_memory = np.greater(moving_s, computing_s)
            limits_s = writer.builder.totals.limits_s
            writer.count(limits_s, "flops", times * np.where(waits_for_memory, 0.0, each_s))
            writer.count(limits_s, "memory", times * np.where(waits_for_memory, each_s, 0.0))
            writer.count(limits_s, "launch", times * accelerator.launch_s)


def _parts_s(
    demand: Kernel, accelerator: Accelerator, amounts: Mapping[str, FloatOrArray | None], writer: StepWriter
) -> tuple[FloatOrArray, FloatOrArray]:
    """Seconds that the flops of one kernel need, or that it was measured to take, and that its bytes need."""
    if demand.seconds is not None:
        return writer.amount(demand.seconds, "seconds"), 0.0
    computing_s: FloatOrArray = 0.0
    where = writer.machine.name, demand.place
    if (flops := amounts["flops"]) is not None:
        computing_s = flops / needed_rate(accelerator, demand.type, *where)
        if demand.type:
            computing_s = computing_s / efficiency_of(accelerator, amounts, *where)
    if (size_bytes := amounts["bytes"]) is None:
        return computing_s, 0.0
    per_byte_s = needed_per_byte_s(accelerator.memory_per_byte_s, "memory", *where)
    return computing_s, size_bytes * per_byte_s + accelerator.memory_latency_s


class CopyLowering(Lowering[Copy]):
    """Two operations of each rank: the latencies of its copies, and their bytes."""

    def operations(self, demand: Copy, writer: StepWriter) -> float:
        return 2 * super().operations(demand, writer)

    def write(self, demand: Copy, writer: StepWriter) -> None:
        machine, kind = writer.machine, COPY_TO_ACCELERATOR if demand.to == ACCELERATOR else COPY_TO_HOST
        accelerator = writer.step.accelerator
        per_byte_s = needed_per_byte_s(accelerator.link_per_byte_s, "link", machine.name, demand.place)
        times = writer.amount(demand.times, "times")
        size = np.multiply(times, writer.amount(demand.bytes, "bytes"))
        writer.work(kind, 0.0, times * accelerator.link_latency_s)
        writer.work(kind, size, size * per_byte_s)
        link_s = times * accelerator.link_latency_s + size * per_byte_s
        writer.count(writer.builder.totals.limits_s, "link", link_s)


LOWERINGS.add(Kernel, KernelLowering())
LOWERINGS.add(Copy, CopyLowering())
