"""Flops and bytes of kernels by their shapes, as the simulation counts them: loop by loop and operand by operand."""

from __future__ import annotations

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.computation import Kernel
from simcodesign.describe.demands.kernel_shapes import ATTENTION, GEMM
from simcodesign.describe.machine_parts.rates import FORMAT_BYTES
from simcodesign.generate.plan_builder import StepWriter

#: Operations of a multiplication and the addition of its result.
MULTIPLY_ADD = 2
#: Operations of each element: mean; deviation, its square and their sum; division, scale and shift.
NORMALISING = 1 + 3 + 3


def flops_and_bytes(demand: Kernel, writer: StepWriter) -> tuple[FloatOrArray | None, FloatOrArray | None]:
    """Return the operations of one kernel, and the bytes that it moves between accelerator and memory; None for what it
    has none of."""
    shape = demand.shape
    if shape is None:
        flops = None if demand.flops is None else writer.amount(demand.flops, "flops")
        return flops, None if demand.bytes is None else writer.amount(demand.bytes, "bytes")
    amounts = [writer.amount(amount, name) for name, amount in shape.named.items()]
    width = FORMAT_BYTES[demand.type]
    if shape.kind == GEMM:
        rows, columns, depth = amounts
        operands = (rows * depth, depth * columns)
        return rows * (columns * (MULTIPLY_ADD * depth)), width * sum(operands) + width * (rows * columns)
    if shape.kind == ATTENTION:
        batch, heads, tokens, dimension = amounts
        scores = tokens * tokens * (MULTIPLY_ADD * dimension)
        weighted = tokens * dimension * (MULTIPLY_ADD * tokens)
        query = key = value = output = tokens * dimension * width
        return batch * heads * (scores + weighted), batch * heads * (query + key + value + output)
    (elements,) = amounts
    read = written = elements * width
    return NORMALISING * elements, read + written
