"""Where the kernels and computations of a workload are in a roofline picture: operations per byte and per second.

S. Williams, A. Waterman, D. Patterson, Roofline (CACM 52(4), 2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from simcodesign.analytic.demands.accelerators import kernel_amounts, kernel_parts_s, launch_s, number_format
from simcodesign.analytic.demands.memory_accesses import moved_bytes
from simcodesign.analytic.demands.python_program import steps_on_accelerators
from simcodesign.analytic.forecast import forecast
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.computation import Compute, Copy, Kernel
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.evaluated.co_runners import co_runners
from simcodesign.describe.evaluated.served_accesses import memories_of, served_accesses
from simcodesign.describe.evaluation import EvaluatedStep, Evaluation, StepOfRanks
from simcodesign.describe.machine_parts.rates import FORMAT_NUMBERS
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.describe.scenario import Scenario


@dataclass(frozen=True)
class RooflinePoint:
    """Kernels that are alike, or the computations of a phase, of all ranks.

    Their ``flops``, the ``size_bytes`` that pass the memory, and the seconds that they take. ``roof``: what bounds
    them: the number format of an accelerator, ``accelerator`` for kernels without one, ``processor`` for the memory of
    a node, or ``processor, from CACHE``.
    """

    name: str
    roof: str
    flops: float
    size_bytes: float
    time_s: float

    @property
    def flops_per_byte(self) -> float:
        """Operations for each byte that passes the memory."""
        return self.flops / self.size_bytes

    @property
    def flop_per_s(self) -> float:
        """Operations per second of a rank."""
        return self.flops / self.time_s


@dataclass
class _Phase:
    """Work of the processors of all ranks in a phase; ``has_kernels``: accelerators work in it, too."""

    flops: float = 0.0
    size_bytes: dict[str, float] = field(default_factory=dict)
    has_kernels: bool = False


def roofline_points(scenario: Scenario) -> list[RooflinePoint]:
    """Return the points of a workload on a machine.

    Each kind of kernel, and each phase that computes on processors and uses memory, once for the memory and for each
    cache with a bandwidth. Kernels and phases without operations or without bytes have no place, nor have phases with
    both kernels and computations. Times are forecast, each rank by itself; a phase takes the time of the busiest rank.

    Raises InputError as a forecast does, and for arrays of design points.

    >>> import simcodesign as sc
    >>> from simcodesign.analytic.roofline_points import roofline_points
    >>> kernel = {"kernel": {"gemm": [4096, 4096, 4096], "type": "bf16"}}
    >>> workload = sc.Workload.load({"name": "product", "program": [kernel]})
    >>> (point,) = roofline_points(sc.Scenario.of(workload, "a100-cluster", {"P": 1}))
    >>> point.name, round(point.flops_per_byte), round(point.flop_per_s / 1e12)
    ('gemm 4096 x 4096 x 4096', 1365, 312)
    """
    point = scenario.bind()
    point.require_one_point("a roofline")
    kernels: dict[tuple[str, str], RooflinePoint] = {}
    phases: dict[str, _Phase] = {}
    for step in _steps(point):
        demand, phase = step.demand, phases.setdefault(step.phase, _Phase())
        if isinstance(demand, Kernel | Copy):
            phase.has_kernels = True
        if isinstance(demand, Kernel):
            one = _kernel(demand, step)
            if _has_place(one):
                known = kernels.get((one.name, one.roof))
                kernels[one.name, one.roof] = one if known is None else _both(known, one)
        elif isinstance(demand, Compute) and demand.unit == "flops":
            phase.flops += _of_all(step, demand.work(step.amount))
        elif isinstance(demand, MemoryAccesses):
            for level, size_bytes in _moved(demand, step):
                phase.size_bytes[level] = phase.size_bytes.get(level, 0.0) + size_bytes
    return [*kernels.values(), *filter(_has_place, _of_processors(scenario, point, phases))]


def _has_place(one: RooflinePoint) -> bool:
    return bool(one.flops and one.size_bytes and one.time_s)


def _steps(point: DesignPoint) -> Iterator[EvaluatedStep]:
    """Yield the demands of a program; of one that is recorded, its kernels."""
    for step in Evaluation.at_points(point).program.demands():
        if isinstance(step.demand, RecordedProgram):
            arguments = step.demand.arguments(point.values, point.workload.parameters)
            recording = step.demand.recorded(point.ranks, arguments)
            yield from (one for _, one in steps_on_accelerators(recording, point))
        else:
            yield step


def _of_all(step: EvaluatedStep, each: FloatOrArray) -> float:
    """Return the sum over all ranks and repetitions."""
    often: FloatOrArray = step.often.astype(np.float64) if isinstance(step, StepOfRanks) else step.present
    return float(np.asarray(step.over_ranks(step.total(each * often))).item())


def _kernel(demand: Kernel, step: EvaluatedStep) -> RooflinePoint:
    times, amounts = step.amount(demand.times, "times"), kernel_amounts(demand, step)
    time_s: FloatOrArray = times * np.maximum(*kernel_parts_s(demand, step)) + launch_s(demand, step)
    worked: list[FloatOrArray] = [0.0 if (one := amounts[name]) is None else times * one for name in ("flops", "bytes")]
    each_of_all = (_of_all(step, each) for each in (*worked, time_s))
    return RooflinePoint(_name(demand, step), _format(demand, step) or "accelerator", *each_of_all)


def _format(demand: Kernel, step: EvaluatedStep) -> str:
    """Return the number format; if it differs between ranks, the widest."""
    format = number_format(demand, step)
    return format if isinstance(format, str) else [*FORMAT_NUMBERS][int(np.min(format)) - 1]


def _name(demand: Kernel, step: EvaluatedStep) -> str:
    """Return the shape with its amounts, if these are the same everywhere.

    Otherwise the phase, and the line of the file.
    """
    if demand.shape is None:
        return f"kernel of {step.phase}" + (f", line {demand.place.line}" if demand.place.line else "")
    distinct = [np.unique(step.amount(amount, name)) for name, amount in demand.shape.named.items()]
    if any(len(values) > 1 for values in distinct):
        return f"{demand.shape.kind} of {step.phase}"
    return f"{demand.shape.kind} {' x '.join(f'{values[0]:g}' for values in distinct)}"


def _both(one: RooflinePoint, other: RooflinePoint) -> RooflinePoint:
    flops, size_bytes = one.flops + other.flops, one.size_bytes + other.size_bytes
    return replace(one, flops=flops, size_bytes=size_bytes, time_s=one.time_s + other.time_s)


def _moved(demand: Demand, step: EvaluatedStep) -> Iterator[tuple[str, float]]:
    """Bytes of loads and stores by the roof that they have."""
    assert isinstance(demand, MemoryAccesses)
    for of in memories_of(demand, step.machine, step.evaluation.design_point.values["P"]):
        accesses = served_accesses(demand, of.memory, step.amount, co_runners(step, of.memory, of.here))
        for level, size_bytes in moved_bytes(accesses, of.memory).items():
            roof = "processor" if level == "memory" else f"processor, from {level}"
            yield roof, _of_all(step, of.each(size_bytes))


def _of_processors(scenario: Scenario, point: DesignPoint, phases: dict[str, _Phase]) -> Iterator[RooflinePoint]:
    if not any(phase.size_bytes for phase in phases.values()):
        return
    times = forecast(scenario, queueing=False, longest_path=False).phases
    for name, phase in phases.items():
        if not phase.has_kernels:
            time_s = float(times[name]["computation"] + times[name]["memory"]) * point.ranks
            for roof, size_bytes in phase.size_bytes.items():
                yield RooflinePoint(name, roof, phase.flops, size_bytes, time_s)
