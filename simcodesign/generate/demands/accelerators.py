"""Kernels and copies as operations: how long they occupy an accelerator and its link, by the simulation's own model.

The processor launches a kernel, which then has its accelerator; a copy waits for its latency, and then has its link.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simcodesign.core.expressions.expression import Expression
from simcodesign.core.operation_kinds import COMPUTE, COPY_TO_ACCELERATOR, COPY_TO_HOST, KERNEL
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.computation import ACCELERATOR, Copy, Kernel
from simcodesign.describe.demands.kernel_shapes import ATTENTION, GEMM
from simcodesign.describe.machine_parts.accelerator import Accelerator, efficiency_of, needed_per_byte_s, needed_rate
from simcodesign.describe.machine_parts.rates import FORMAT_BYTES, by_format
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.plan_builder import StepWriter

#: Operations of a multiplication and the addition of its result.
MULTIPLY_ADD = 2
#: Operations of each element: mean; deviation, its square and their sum; division, scale and shift.
NORMALISING = 1 + 3 + 3


def operations_and_traffic(demand: Kernel, writer: StepWriter) -> dict[str, FloatOrArray | None]:
    """Return what one kernel does by name.

    Its operations (``flops``), the ``bytes`` that it moves between accelerator and memory, None for what it has none
    of; and the amounts of its shape.
    """
    shape = demand.shape
    if shape is None:
        flops = None if demand.flops is None else writer.amount(demand.flops, "flops")
        return {"flops": flops, "bytes": None if demand.bytes is None else writer.amount(demand.bytes, "bytes")}
    named = {name: writer.amount(amount, name) for name, amount in shape.named.items()}
    width = by_format(_format(demand, writer), demand.place, FORMAT_BYTES.__getitem__)
    flops, size_bytes = _counted(shape.kind, [*named.values()], width)
    return {**named, "flops": flops, "bytes": size_bytes}


def _format(demand: Kernel, writer: StepWriter) -> str | FloatOrArray:
    """Name or number of the number format of a kernel."""
    return writer.amount(demand.type, "type") if isinstance(demand.type, Expression) else demand.type


def _counted(kind: str, amounts: list[FloatOrArray], width: FloatOrArray) -> tuple[FloatOrArray, FloatOrArray]:
    """Operations and bytes of a shape with these amounts, of numbers of ``width`` bytes."""
    if kind == GEMM:
        rows, columns, depth = amounts
        operands = rows * depth * width + depth * columns * width
        return rows * (columns * (MULTIPLY_ADD * depth)), operands + rows * columns * width
    if kind == ATTENTION:
        batch, heads, tokens, dimension = amounts
        scores = tokens * tokens * (MULTIPLY_ADD * dimension)
        weighted = tokens * dimension * (MULTIPLY_ADD * tokens)
        query = key = value = output = tokens * dimension * width
        return batch * heads * (scores + weighted), batch * heads * (query + key + value + output)
    (elements,) = amounts
    read = written = elements * width
    return NORMALISING * elements, read + written


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
        computing_s = flops / needed_rate(accelerator, _format(demand, writer), *where)
        if demand.type:
            computing_s = computing_s / efficiency_of(accelerator, amounts, *where, demand.is_attention)
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
