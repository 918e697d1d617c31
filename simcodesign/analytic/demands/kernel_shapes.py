"""Flops and bytes of kernels by their shapes, in closed form.

Bytes are the compulsory ones, each operand read once and each result written once (Williams, Waterman, Patterson, CACM
52(4), 2009). With w bytes a number:

    gemm           2 m n k flops                               w (m k + k n + m n) bytes
    attention      4 batch heads sequence^2 dimension flops    4 w batch heads sequence dimension bytes
    normalisation  7 elements flops                            2 w elements bytes

Attention: T. Dao, FlashAttention-2 (arXiv 2307.08691), Sec. 4.1, for the flops; its scores, sequence x sequence, stay
on the chip (T. Dao et al., FlashAttention, NeurIPS 2022, Sec. 3.1), so that queries, keys, values and outputs are all
that passes the memory. Normalisation: J. L. Ba et al. (arXiv 1607.06450), equations 3 and 4: an addition for the mean;
a subtraction, a multiplication and an addition for the variance; two multiplications and an addition for the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.computation import Kernel
from simcodesign.describe.demands.kernel_shapes import ATTENTION, GEMM, NORMALISATION
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine_parts.rates import FORMAT_BYTES

#: Flops, and numbers that pass the memory.
FlopsAndNumbers = tuple[FloatOrArray, FloatOrArray]


def _gemm(m: FloatOrArray, n: FloatOrArray, k: FloatOrArray) -> FlopsAndNumbers:
    return 2 * m * n * k, m * k + k * n + m * n


def _attention(
    batch: FloatOrArray, heads: FloatOrArray, sequence: FloatOrArray, head_dimension: FloatOrArray
) -> FlopsAndNumbers:
    numbers = batch * heads * sequence * head_dimension
    return 4 * numbers * sequence, 4 * numbers


def _normalisation(elements: FloatOrArray) -> FlopsAndNumbers:
    return 7 * elements, 2 * elements


#: Shape -> what it takes, by its amounts.
SHAPE_FORMS: Mapping[str, Callable[..., FlopsAndNumbers]] = {
    GEMM: _gemm,
    ATTENTION: _attention,
    NORMALISATION: _normalisation,
}


def kernel_amounts(demand: Kernel, step: EvaluatedStep) -> dict[str, FloatOrArray | None]:
    """Return the ``flops`` and the ``bytes`` of one kernel, None for what it has none of, and the amounts of its shape
    by their names."""
    if demand.shape is not None:
        amounts = {name: step.amount(amount, name) for name, amount in demand.shape.named.items()}
        flops, numbers = SHAPE_FORMS[demand.shape.kind](**amounts)
        return {"flops": flops, "bytes": numbers * FORMAT_BYTES[demand.type], **amounts}
    given = {"flops": demand.flops, "bytes": demand.bytes}
    return {name: None if amount is None else step.amount(amount, name) for name, amount in given.items()}
