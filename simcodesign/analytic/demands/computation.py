"""Closed form of computation: a rate model, with the loop-level operation counts of resource-usage equations.

Armstrong and Eigenmann, SPECseis96, equation 2: the operations of a loop iteration times the range of the loop, summed
over the loops; the time is their number over the rate.
"""

from __future__ import annotations

from collections.abc import Iterator

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Count, part_draws
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.analytic.indexed_loops.index_shapes import IndexedLoop, Shape, product, total
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.computation import BLOCKS, Compute
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine_parts.processor import Processor

#: Unit of the work -> symbol of its price.
_SYMBOLS = {"flops": "t_c", "instructions": "CPI", "seconds": None, BLOCKS: "t_q"}


def compute_s(demand: Compute, processor: Processor, work: FloatOrArray) -> FloatOrArray:
    """Seconds for ``work``. InputError when instructions are to be priced without a clock."""
    if demand.unit == "seconds":
        return work
    if demand.unit == "flops":
        return work / processor.rate_flop_per_s
    if processor.clock_hz is None:
        raise InputError("a demand in instructions needs processor.clock, which this machine has not", demand.place)
    return work * processor.cycles_per_instruction / processor.clock_hz


class ComputeForm(ClosedForm[Compute]):
    """Computation."""

    def charge(self, demand: Compute, step: EvaluatedStep) -> Charge:
        work = demand.work(step.amount)
        if demand.unit == BLOCKS:
            network = step.machine.network
            time_s = work * network.packing_s_per_block
            if demand.block_bytes is not None:
                time_s = time_s + work * step.amount(demand.block_bytes, "bytes") * network.packing_s_per_byte
            return Charge("computation", time_s, draws=part_draws(step, "processor", time_s))
        time_s = compute_s(demand, step.machine.processor, work)
        counts = [Count("work", demand.unit, work)]
        if step.machine.memory is not None:
            counts.append(Count("processor limits", "computation", time_s))
        return Charge("computation", time_s, tuple(counts), draws=part_draws(step, "processor", time_s))

    def index_shape(self, demand: Compute, step: EvaluatedStep, loop: IndexedLoop) -> Shape | None:
        if demand.when is not None and loop.index in demand.when.names:
            return None
        each: list[tuple[Expression, ...]] = [(one.range, one.operations) for one in demand.loops]
        if demand.amount is not None:
            each = [(demand.amount,)]
            each += [] if demand.block_bytes is None else [(demand.amount, demand.block_bytes)]
        return total(*(product(*(Shape.of(amount.tree, loop.index) for amount in amounts)) for amounts in each))

    def requirements(self, demand: Compute, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        """Instructions and seconds are no floating-point operations."""
        work = demand.work(step.amount)
        return {"flops": work if demand.unit == "flops" else 0.0}

    def payments(self, demand: Compute, prices: SymbolicPrices) -> Iterator[Payment]:
        for loop in demand.loops:
            yield prices.of("t_c"), (to_sympy(loop.range), to_sympy(loop.operations))
        if demand.amount is not None:
            yield prices.of(_SYMBOLS[demand.unit]), (to_sympy(demand.amount),)
        if demand.amount is not None and demand.block_bytes is not None:
            yield prices.of("t_v"), (to_sympy(demand.amount), to_sympy(demand.block_bytes))

    def model_terms(self, demand: Compute) -> list[tuple[str, str]]:
        if demand.amount is not None and demand.unit == "flops":
            return [("flops", demand.amount.text)]
        return [("flops", f"({loop.range.text})*({loop.operations.text})") for loop in demand.loops]


CLOSED_FORMS.add(Compute, ComputeForm())
