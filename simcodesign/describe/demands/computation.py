"""Computation: what a processor or an accelerator has to do, and copies between the two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import ONE, Demand, Evaluate
from simcodesign.describe.demands.kernel_shapes import ATTENTION, Shape
from simcodesign.describe.randomness.distribution import Distribution


@dataclass(frozen=True)
class Loop:
    """``range`` times ``operations`` per iteration: one row of a loop-level operation count."""

    name: str
    range: Expression
    operations: Expression


#: Unit of data that a rank copies within its memory: each block in the machine's ``network.packing``, and its bytes by
#: ``network.packing_bandwidth``.
BLOCKS = "blocks"


@dataclass(frozen=True)
class Compute(Demand):
    """Work of a processor: ``amount`` in ``unit``, or summed over ``loops`` in flops.

    ``unit`` is flops, instructions, seconds, or ``BLOCKS`` that are copied. ``block_bytes``: of each copied block; None
    for blocks whose bytes take no time.

    ``varies``, here as in other demands: each time it is done, it takes as long times a factor of its own.
    """

    unit: str
    amount: Expression | None
    loops: tuple[Loop, ...] = ()
    varies: Distribution | None = None
    block_bytes: Expression | None = None
    works_on = "processor"

    def amounts(self) -> Iterator[Expression]:
        yield from (one for one in (self.amount, self.block_bytes) if one is not None)
        for loop in self.loops:
            yield from (loop.range, loop.operations)

    def work(self, evaluate: Evaluate) -> FloatOrArray:
        """Return the amount of computation, in ``unit``.

        The operations of an iteration times the range, summed over the loops (Armstrong and Eigenmann, SPECseis96,
        equation 2).
        """
        if self.amount is not None:
            return evaluate(self.amount, self.unit)
        work: FloatOrArray = 0.0
        for loop in self.loops:
            work = work + evaluate(loop.range, "range") * evaluate(loop.operations, "operations")
        return work


#: Where computations are done, and where copies go to.
PROCESSOR, ACCELERATOR, HOST = "processor", "accelerator", "host"


@dataclass(frozen=True)
class Kernel(Demand):
    """``times`` kernels on the accelerator of a rank, one after another.

    Each of ``flops``, or of ``seconds`` that it was measured to take, during which ``bytes`` pass the memory of the
    accelerator. What is None is none. ``type``: the number format of the flops, which has a rate of its own: its name,
    or an expression of its number (``FORMAT_NUMBERS``); empty for the one rate of the machine. ``shape``: what each
    kernel is, instead of flops and bytes. ``efficiency``: ``ATTENTION`` for the machine's efficiency of attention,
    which this shape has without it; otherwise empty.
    """

    flops: Expression | None = None
    seconds: Expression | None = None
    bytes: Expression | None = None
    times: Expression = ONE
    varies: Distribution | None = None
    type: str | Expression = ""
    shape: Shape | None = None
    efficiency: str = ""
    works_on = ACCELERATOR
    can_be_started = True

    @property
    def is_attention(self) -> bool:
        """Whether the machine's efficiency of attention applies, if it states one."""
        return self.efficiency == ATTENTION or (self.shape is not None and self.shape.kind == ATTENTION)

    def amounts(self) -> Iterator[Expression]:
        yield from (part for part in (self.flops, self.seconds, self.bytes) if part is not None)
        yield from () if self.shape is None else self.shape.amounts
        yield from () if isinstance(self.type, str) else (self.type,)
        yield self.times


@dataclass(frozen=True)
class Copy(Demand):
    """``times`` copies of ``bytes`` each over the link of a rank's accelerator: ``to`` the accelerator or the host."""

    to: str
    bytes: Expression
    times: Expression
    works_on = "link"
    can_be_started = True

    @property
    def label(self) -> str:
        return f"copy to {self.to}"

    def amounts(self) -> Iterator[Expression]:
        yield from (self.bytes, self.times)
