"""Requirements of a process in closed form: what a program needs of every resource, whatever the machine.

Metrics of Calotoiu et al., "Lightweight requirements engineering for exascale co-design", CLUSTER 2018, Table I: memory
footprint, floating-point operations, bytes sent, loads and stores, stack distance. They depend on the parameters and on
P alone, so that no machine is asked.

Bytes sent are those of the average process. ``counting`` says how they are counted: by ``cost_functions``, as in that
paper's Table II (Allreduce(p) = log2 p for recursive doubling, Bcast(p) = (p - 1)/p for a binomial tree, Alltoall(p) =
p - 1 for pairwise exchange; a halo exchange with two neighbours in every dimension), or by the ``messages`` of the
algorithms, which are fewer where P is no power of two or a process grid has dimensions of one process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType

import numpy as np

from simcodesign.analytic.forecast import depends_on_rank
from simcodesign.analytic.halo import halo
from simcodesign.analytic.message_costs import FORMULAS, price, process_grid
from simcodesign.analytic.processor import operations
from simcodesign.core.errors import CapacityError, InputError
from simcodesign.core.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.point_to_point import Send
from simcodesign.describe.demands.replay import Replay
from simcodesign.describe.demands.resource_uses import Execute
from simcodesign.describe.demands.served_accesses import MOST_ACCESSES
from simcodesign.describe.design_point import DesignPoint, bind, finite
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts import Network, Processor
from simcodesign.describe.program import Block, Step, walk
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_workload
from simcodesign.fitting.normal_form import COLLECTIVES
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.stack.distances import stack_profile
from simcodesign.locality.streams.kernels import kernel_trace

COUNTINGS = ("cost_functions", "messages")
#: Processors of a system of which nothing else is known: more than any machine has.
MOST_PROCESSES = 10**15
#: A kernel's stack distances are counted in elements.
ELEMENT_BYTES = 8


def _each_other(ranks: FloatOrArray) -> FloatOrArray:
    found: FloatOrArray = np.asarray(ranks) - 1.0
    return found


def _both_ways(ranks: FloatOrArray) -> FloatOrArray:
    found: FloatOrArray = 2.0 * (np.asarray(ranks) - 1.0) / np.asarray(ranks)
    return found


def _named(name: str) -> Callable[[FloatOrArray], FloatOrArray]:
    def shape(ranks: FloatOrArray) -> FloatOrArray:
        found: FloatOrArray = COLLECTIVES[name].numeric(np.asarray(ranks, dtype=np.float64))
        return found

    return shape


#: (collective, algorithm) -> bytes that a process sends on average, for each byte that it contributes.
COST_FUNCTIONS: Mapping[tuple[str, str], Callable[[FloatOrArray], FloatOrArray]] = MappingProxyType(
    {
        ("broadcast", "binomial"): _named("Bcast"),
        ("broadcast", "linear"): _named("Bcast"),
        ("allreduce", "recursive_doubling"): _named("Allreduce"),
        ("allreduce", "ring"): _both_ways,
        ("allreduce", "reduce_broadcast"): _both_ways,
        ("allgather", "ring"): _each_other,
        ("allgather", "bruck"): _each_other,
        ("allgather", "linear"): _each_other,
        ("all_to_all", "pairwise"): _named("Alltoall"),
        ("all_to_all", "linear"): _named("Alltoall"),
        ("all_to_all", "bruck"): lambda ranks: 0.5 * np.asarray(ranks) * np.log2(ranks),
        ("all_broadcast", "linear"): _each_other,
        ("barrier", "dissemination"): lambda ranks: 0.0 * np.asarray(ranks),
    }
)


@dataclass(frozen=True)
class Requirements:
    """What the average process needs; numbers, or arrays of the shape of the parameters.

    ``weighted_accesses``: the sum over loads and stores of their stack distances, so that over ``loads_stores`` it is
    the mean distance (accesses that are said to go to memory always have none). ``footprint_bytes``: None where the
    workload does not say it.
    """

    flops: FloatOrArray = 0.0
    sent_bytes: FloatOrArray = 0.0
    loads_stores: FloatOrArray = 0.0
    weighted_accesses: FloatOrArray = 0.0
    disk_bytes: FloatOrArray = 0.0
    footprint_bytes: FloatOrArray | None = None

    def to_dict(self) -> dict[str, FloatOrArray | None]:
        """By name."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


def skeleton() -> Machine:
    """A system of which nothing is known but that it has enough processors."""
    network = Network(build_topology("crossbar", 1))
    return Machine("any system", Processor(1.0), network, processors_per_node=MOST_PROCESSES)


def requirements(
    workload: Workload | str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    phases: Collection[str] | None = None,
    counting: str = "cost_functions",
) -> Requirements:
    """Requirements of a process of the workload; ``parameters`` (with ``P``) may be arrays that broadcast.

    Raises InputError for what cannot be used: a missing P, unknown names, schedules, and ranks that differ while P is
    an array. CapacityError for kernels too long to be looked at.
    """
    workload = workload if isinstance(workload, Workload) else load_workload(workload)
    given = parameters or {}
    if "P" not in given and (P := workload.parameters.get("P")) is not None and P.default is not None:
        given = {**given, "P": P.default}
    if "P" not in given:
        raise InputError("requirements of a process need P, the number of processes", workload.place)
    if counting not in COUNTINGS:
        raise InputError("counting of bytes sent", value=counting, allowed=", ".join(COUNTINGS))
    design_point = bind(workload, skeleton(), given, preset=preset, phases=phases)
    return requirements_of(design_point, counting)


def requirements_of(design_point: DesignPoint, counting: str = "cost_functions") -> Requirements:
    """Requirements of a process where every name has its value already."""
    reading = _Reading(design_point, counting)
    with np.errstate(all="ignore"):  # what overflows is refused below
        reading.program(design_point.workload.program, 1.0)
        return reading.result()


@dataclass
class _Reading:
    """The walk over the program. Where ranks differ, they are the last axis until the mean is taken."""

    design_point: DesignPoint
    counting: str
    by_rank: bool = field(init=False)
    names: dict[str, FloatOrArray] = field(init=False)
    totals: dict[str, FloatOrArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_rank = any(depends_on_rank(step) for step in walk(self.design_point.workload.program))
        self.names = dict(self.design_point.values)
        if self.by_rank:
            ranks = self.design_point.every_rank()
            self.names = {name: np.asarray(value)[..., None] for name, value in self.names.items()}
            self.names["rank"] = ranks

    def value(self, expression: Expression, what: str) -> FloatOrArray:
        """An amount, finite and not negative."""
        text = f"{what} = {expression.text}"
        value = finite(expression.evaluate(self.names), text, self.design_point.workload, expression)
        if np.any(np.asarray(value) < 0):
            raise InputError(f"{text} is negative", expression.place, value=float(np.min(value)))
        return value

    def program(self, steps: tuple[Step, ...], times: FloatOrArray) -> None:
        for step in steps:
            if isinstance(step, Block):
                self.program(step.body, times * self.value(step.repeat, "repeat"))
            else:
                for metric, amount in self._of(step).items():
                    each = amount * times * self._present(step)
                    self.totals[metric] = self.totals.get(metric, 0.0) + each

    def result(self) -> Requirements:
        metrics = [item.name for item in fields(Requirements) if item.name != "footprint_bytes"]
        found = {metric: self._mean(self.totals.get(metric, 0.0)) for metric in metrics}
        for metric, total in found.items():
            if not np.all(np.isfinite(total)):
                raise InputError(f"{metric} are too many to be a number", self.design_point.workload.place)
        return Requirements(**found, footprint_bytes=self.design_point.footprint_bytes)

    def _mean(self, total: FloatOrArray) -> FloatOrArray:
        """Over the ranks, at every design point."""
        if self.by_rank:
            every = np.broadcast_to(total, (*np.shape(total)[:-1], self.design_point.ranks))
            total = np.mean(every, axis=-1)
        shape = self.design_point.shape
        return np.broadcast_to(total, shape) if shape else float(np.asarray(total).item())

    def _present(self, demand: Demand) -> FloatOrArray:
        if demand.when is None:
            return 1.0
        when = demand.when.evaluate(self.names)
        return np.where(finite(when, f"when = {demand.when.text}", self.design_point.workload, demand.when), 1.0, 0.0)

    def _of(self, step: Demand) -> dict[str, FloatOrArray]:
        """What one demand adds to which metrics."""
        match step:
            case Compute():
                # Instructions and seconds are no floating-point operations.
                work = operations(step, lambda part: self.value(part, step.unit))
                return {"flops": work if step.unit == "flops" else 0.0}
            case Execute():
                parallelism = self.value(step.parallelism, "parallelism")
                flops = [self.value(use.amount, "flops") for use in step.uses if use.resource == "flops"]
                return {"flops": parallelism * sum(flops, start=np.zeros(()))}
            case DiskAccess():
                return {"disk_bytes": self.value(step.bytes, "bytes") * self.value(step.times, "times")}
            case MemoryAccesses():
                return self._memory(step)
            case Send():
                return {"sent_bytes": self.value(step.bytes, "bytes")}
            case Collective():
                return {"sent_bytes": self._collective(step)}
            case Exchange():
                return {"sent_bytes": self._exchange(step)}
            case Replay():
                raise InputError("a schedule has no closed form of its requirements", step.place)
            case Arrivals():
                raise InputError("requirements are of what ranks do, not of arrivals", step.place)
        return {}

    def _collective(self, step: Collective) -> FloatOrArray:
        size, ranks = self.value(step.bytes, "bytes"), self.names["P"]
        if self.counting == "cost_functions":
            return size * COST_FUNCTIONS[step.name, step.algorithm](ranks)
        prices = price(self.design_point.machine.network, ranks)
        return FORMULAS[step.name, step.algorithm](size, prices).message_bytes / ranks

    def _exchange(self, step: Exchange) -> FloatOrArray:
        sizes = [self.value(size, "bytes") for size in step.bytes]
        messages = [self.value(count, "messages") for count in step.messages_by_dim]
        if self.counting == "cost_functions":
            pairs = zip(sizes, messages, strict=True)
            return 2.0 * sum((size * count for size, count in pairs), start=np.zeros(()))
        ranks = self.names["P"]
        grid = process_grid(ranks, step.dims) if step.grid is None else [self.value(it, "grid") for it in step.grid]
        prices = price(self.design_point.machine.network, ranks)
        return halo(sizes, grid, step.periodic, prices, messages).message_bytes / ranks

    def _memory(self, step: MemoryAccesses) -> dict[str, FloatOrArray]:
        times = self.value(step.times, "times")
        if step.hits:
            what = "hits of caches say nothing of stack distances, which are a requirement"
            raise InputError(what, step.place, allowed="stack_distance, kernel or profile")
        if step.distances:
            accesses = times * self.value(step.accesses, "accesses") if step.accesses is not None else 0.0
            pairs = [(self.value(share, "share"), self.value(far, "distance")) for share, far in step.distances]
            mean = sum((share * far for share, far in pairs), start=np.zeros(()))
            return {"loads_stores": accesses, "weighted_accesses": accesses * mean}
        profile = step.profile or self._kernel(step)
        accesses = times * (profile.accesses if step.accesses is None else self.value(step.accesses, "accesses"))
        mean = float(profile.distance @ profile.count) / profile.accesses if profile.accesses else 0.0
        return {"loads_stores": accesses, "weighted_accesses": accesses * mean}

    def _kernel(self, step: MemoryAccesses) -> StackDistanceProfile:
        """The stack distances of a kernel, of which there must be one size."""
        sizes: dict[str, object] = {}
        for name, size in step.sizes:
            found = size if isinstance(size, str) else self.value(size, name)
            if np.size(found) != 1:
                raise InputError(f"requirements of the kernel {step.kernel} are those of one size", step.place)
            sizes[name] = found if isinstance(found, str) else float(np.asarray(found).item())
        trace = kernel_trace(step.kernel, **sizes)
        if trace.accesses > MOST_ACCESSES:
            what = f"the stream of {trace.name} has {trace.accesses:.3g} accesses, too many to look at each"
            raise CapacityError(what, step.place, allowed=f"up to {MOST_ACCESSES:.3g}")
        return stack_profile(trace, ELEMENT_BYTES)
