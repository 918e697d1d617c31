"""Closed forms of accelerators: kernels by the roofline, and copies between the host and them.

For f flops and m bytes, launched in t_l, at a rate R and a bandwidth B of the memory of the accelerator (Williams,
Waterman, Patterson, CACM 52(4), 2009), and of a copy of m bytes over the link (Hockney):

    T = times (t_l + max(f / R, latency + m / B))          T = times (latency + m / bandwidth of the link)

In a number format, R is the rate in this format times the efficiency, of attention its own if the machine states one.

A rank has its accelerator and its link for itself: waiting for shared ones is the effect ``accelerators``.

The bytes of a shape are the compulsory ones, each operand read once and each result written once (the same source).
With w bytes a number:

    gemm           2 m n k flops                               w (m k + k n + m n) bytes
    attention      4 batch heads sequence^2 dimension flops    4 w batch heads sequence dimension bytes
    normalisation  7 elements flops                            2 w elements bytes

Attention: T. Dao, FlashAttention-2 (arXiv 2307.08691), Sec. 4.1, for the flops; its scores, sequence x sequence, stay
on the chip (T. Dao et al., FlashAttention, NeurIPS 2022, Sec. 3.1), so that queries, keys, values and outputs are all
that passes the memory. Normalisation: J. L. Ba et al. (arXiv 1607.06450), equations 3 and 4: an addition for the mean;
a subtraction, a multiplication and an addition for the variance; two multiplications and an addition for the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Count, Occupation, part_draws
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.computation import ACCELERATOR, Copy, Kernel
from simcodesign.describe.demands.kernel_shapes import ATTENTION, GEMM, NORMALISATION
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.accelerator import efficiency_of, needed_per_byte_s, needed_rate
from simcodesign.describe.machine_parts.rates import FORMAT_BYTES, by_format

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


def number_format(demand: Kernel, step: EvaluatedStep) -> str | FloatOrArray:
    """Return the number format of a kernel: its name, empty for none, or its number at each point."""
    return demand.type if isinstance(demand.type, str) else step.amount(demand.type, "type")


def kernel_amounts(demand: Kernel, step: EvaluatedStep) -> dict[str, FloatOrArray | None]:
    """Return the ``flops`` and the ``bytes`` of one kernel, and the amounts of its shape by their names.

    None for what it has none of.
    """
    if demand.shape is not None:
        amounts = {name: step.amount(amount, name) for name, amount in demand.shape.named.items()}
        flops, numbers = SHAPE_FORMS[demand.shape.kind](**amounts)
        width = by_format(number_format(demand, step), demand.place, FORMAT_BYTES.__getitem__)
        return {"flops": flops, "bytes": numbers * width, **amounts}
    given = {"flops": demand.flops, "bytes": demand.bytes}
    return {name: None if amount is None else step.amount(amount, name) for name, amount in given.items()}


#: Stations of an accelerator that ranks share: itself, and the directions of its link.
TO_ACCELERATOR, TO_HOST = "link to accelerator", "link to host"
OF_ACCELERATORS = (ACCELERATOR, TO_ACCELERATOR, TO_HOST)


def kernel_parts_s(demand: Kernel, step: EvaluatedStep) -> tuple[FloatOrArray, FloatOrArray]:
    """Return the seconds that the flops of one kernel of a rank take on its accelerator, and its bytes.

    The kernel takes the longer of the two. Measured seconds replace its flops.
    """
    machine = step.machine
    accelerator = step.accelerator
    computing_s: FloatOrArray = 0.0 if demand.seconds is None else step.amount(demand.seconds, "seconds")
    moving_s: FloatOrArray = 0.0
    amounts = kernel_amounts(demand, step)
    if (flops := amounts["flops"]) is not None:
        computing_s = flops / _rate_flop_per_s(demand, step, amounts)
    if (size_bytes := amounts["bytes"]) is not None:
        per_byte_s = needed_per_byte_s(accelerator.memory_per_byte_s, "memory", machine.name, demand.place)
        moving_s = accelerator.memory_latency_s + size_bytes * per_byte_s
    return computing_s, moving_s


def _rate_flop_per_s(demand: Kernel, step: EvaluatedStep, amounts: Mapping[str, FloatOrArray | None]) -> FloatOrArray:
    """Operations per second that its kernels reach."""
    where = step.machine.name, demand.place
    rate = needed_rate(step.accelerator, number_format(demand, step), *where)
    return rate * efficiency_of(step.accelerator, amounts, *where, demand.is_attention) if demand.type else rate


def launch_s(demand: Kernel, step: EvaluatedStep) -> FloatOrArray:
    """Seconds that the processor takes to launch them."""
    accelerator = step.accelerator
    return step.amount(demand.times, "times") * accelerator.launch_s


class KernelForm(ClosedForm[Kernel]):
    """Computation on an accelerator."""

    def charge(self, demand: Kernel, step: EvaluatedStep) -> Charge:
        computing_s, moving_s = kernel_parts_s(demand, step)
        at_work_s = step.amount(demand.times, "times") * np.maximum(computing_s, moving_s)
        before_s = launch_s(demand, step)
        counts: tuple[Count, ...] = ()
        if demand.seconds is None:
            is_moving = moving_s > computing_s
            limits = {"flops": np.where(is_moving, 0.0, at_work_s), "memory": np.where(is_moving, at_work_s, 0.0)}
            counts = tuple(Count("limits", name, each) for name, each in {**limits, "launch": before_s}.items())
        if demand.flops is not None or demand.shape is not None:
            counts = (*counts, Count("work", "flops", self.requirements(demand, step, "")["flops"]))
        draws = (*part_draws(step, ACCELERATOR, at_work_s), *part_draws(step, "processor", before_s))
        return Charge("computation", before_s + at_work_s, counts, ACCELERATOR, at_work_s, draws=draws)

    def requirements(self, demand: Kernel, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        flops = kernel_amounts(demand, step)["flops"]
        return {"flops": (0.0 if flops is None else flops) * step.amount(demand.times, "times")}

    def payments(self, demand: Kernel, prices: SymbolicPrices) -> Iterator[Payment]:
        if demand.flops is not None and demand.bytes is not None:
            what, allowed = "the longer one of flops and bytes has no formula in symbols", "one of the two"
            raise InputError(what, demand.place, allowed=allowed)
        if demand.type:
            raise InputError("a kernel with a number format has no formula in symbols", demand.place)
        times = to_sympy(demand.times)
        yield prices.of("t_l"), (times,)
        if demand.bytes is not None:
            yield prices.of("t_n"), (times,)
        for symbol, work in (("t_a", demand.flops), (None, demand.seconds), ("t_m", demand.bytes)):
            if work is not None:
                yield prices.of(symbol), (times, to_sympy(work))

    def model_terms(self, demand: Kernel) -> list[tuple[str, str]]:
        return [] if demand.flops is None else [("flops", f"({demand.flops.text})*({demand.times.text})")]


class CopyForm(ClosedForm[Copy]):
    """Copies between host and accelerator."""

    def charge(self, demand: Copy, step: EvaluatedStep) -> Charge:
        latency_s, moving_s = self._parts_s(demand, step)
        return Charge("memory", latency_s + moving_s, (Count("limits", "link", latency_s + moving_s),))

    def occupation(self, demand: Copy, step: EvaluatedStep) -> Occupation:
        latency_s, moving_s = self._parts_s(demand, step)
        return Occupation(latency_s + moving_s, latency_s + moving_s, _direction(step.machine, demand.to), moving_s)

    def _parts_s(self, demand: Copy, step: EvaluatedStep) -> tuple[FloatOrArray, FloatOrArray]:
        machine, times = step.machine, step.amount(demand.times, "times")
        accelerator = step.accelerator
        per_byte_s = needed_per_byte_s(accelerator.link_per_byte_s, "link", machine.name, demand.place)
        return times * accelerator.link_latency_s, times * step.amount(demand.bytes, "bytes") * per_byte_s

    def payments(self, demand: Copy, prices: SymbolicPrices) -> Iterator[Payment]:
        times = to_sympy(demand.times)
        yield prices.of("t_k"), (times,)
        yield prices.of("t_p"), (times, to_sympy(demand.bytes))


def _direction(machine: Machine, to: str) -> str:
    """Return the direction of the link; half duplex, there is but one."""
    full = machine.accelerator is not None and machine.accelerator.is_full_duplex
    return TO_ACCELERATOR if to == ACCELERATOR or not full else TO_HOST


CLOSED_FORMS.add(Kernel, KernelForm())
CLOSED_FORMS.add(Copy, CopyForm())
