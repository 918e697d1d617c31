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


def operations_and_traffic(demand: Kernel, writer: StepWriter) -> dict[str, FloatOrArray | None]:
    """Return what one kernel does by name: its operations (``flops``), the ``bytes`` that it moves between accelerator
    and memory, None for what it has none of; and the amounts of its shape."""
    shape = demand.shape
    if shape is None:
        flops = None if demand.flops is None else writer.amount(demand.flops, "flops")
        return {"flops": flops, "bytes": None if demand.bytes is None else writer.amount(demand.bytes, "bytes")}
    named = {name: writer.amount(amount, name) for name, amount in shape.named.items()}
    flops, size_bytes = _counted(shape.kind, [*named.values()], FORMAT_BYTES[demand.type])
    return {**named, "flops": flops, "bytes": size_bytes}


def _counted(kind: str, amounts: list[FloatOrArray], width: float) -> tuple[FloatOrArray, FloatOrArray]:
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
