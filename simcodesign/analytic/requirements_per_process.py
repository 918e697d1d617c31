"""Requirements of a process in closed form: what a program needs of every resource, whatever the machine.

Metrics of Calotoiu et al., "Lightweight requirements engineering for exascale co-design", CLUSTER 2018, Table I: memory
footprint, floating-point operations, bytes sent, loads and stores, stack distance. They depend on the parameters and on
P alone, so that no machine is needed.

Bytes sent are an average over processes. ``counting`` selects how they are counted: by ``cost_functions``, as in that
paper's Table II (Allreduce(p) = log2 p for recursive doubling, Bcast(p) = (p - 1)/p for a binomial tree, Alltoall(p) =
p - 1 for pairwise exchange; a halo exchange with two neighbours in every dimension), or by the ``messages`` of the
algorithms, which are fewer where P is no power of two or a process grid has dimensions of one process.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

import numpy as np

from simcodesign.analytic.demands.base import closed_form
from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.design_point import DesignPoint, bind
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.network import Network
from simcodesign.describe.scenario import WorkloadSource, workload_of
from simcodesign.describe.topology.build import build_topology

COUNTINGS = ("cost_functions", "messages")
#: Processors of a system of which nothing else is known: more than any machine has.
MOST_PROCESSES = 10**15


@dataclass(frozen=True)
class Requirements:
    """Needs of the average process; numbers, or arrays of the shape of the parameters.

    ``weighted_accesses``: the sum over loads and stores of their stack distances, so that over ``loads_stores`` it is
    the mean distance (accesses described as always going to memory have none). ``footprint_bytes``: None where the
    workload does not say it.
    """

    flops: FloatOrArray = 0.0
    sent_bytes: FloatOrArray = 0.0
    loads_stores: FloatOrArray = 0.0
    weighted_accesses: FloatOrArray = 0.0
    disk_bytes: FloatOrArray = 0.0
    footprint_bytes: FloatOrArray | None = None

    def to_dict(self) -> dict[str, FloatOrArray | None]:
        """Return the needs by name."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


#: Sums over demands.
METRICS = tuple(item.name for item in fields(Requirements) if item.name != "footprint_bytes")


def skeleton() -> Machine:
    """Return a system of which nothing is known but that it has enough processors."""
    network = Network(build_topology("crossbar", 1))
    return Machine("any system", Processor(1.0), network, processors_per_node=MOST_PROCESSES)


def requirements(
    workload: WorkloadSource,
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    phases: Collection[str] | None = None,
    counting: str = "cost_functions",
) -> Requirements:
    """Return requirements of a process of the workload; ``parameters`` (with ``P``) may be arrays that broadcast.

    ``preset``: a named set of values of the workload; ``phases``: only these of its program. ``counting``: how bytes
    sent are counted, ``cost_functions`` or another one of this module.

    Raises InputError for what cannot be used: a missing P, unknown names, schedules, and ranks that differ while P is
    an array. CapacityError for kernels too long to be looked at.

    >>> from simcodesign.analytic.requirements_per_process import requirements
    >>> import simcodesign as sc
    >>> work = sc.Workload.load({"name": "work", "program": [{"compute": {"flops": "8*P"}}]})
    >>> float(requirements(work, {"P": 4}).flops)
    32.0
    """
    workload = workload_of(workload)
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
    """Return requirements of a process if every name has its value already."""
    evaluation = Evaluation.at_points(design_point)
    totals: dict[str, FloatOrArray] = dict.fromkeys(METRICS, 0.0)
    with np.errstate(all="ignore"):  # what overflows is refused below
        for step in evaluation.program.demands():
            for metric, amount in closed_form(step.demand).requirements(step.demand, step, counting).items():
                totals[metric] = totals[metric] + step.total(amount * step.present)
        means = {metric: _mean(evaluation, total) for metric, total in totals.items()}
    for metric, mean in means.items():
        if not np.all(np.isfinite(mean)):
            raise InputError(f"{metric} are too many to be a number", design_point.workload.place)
    return Requirements(**means, footprint_bytes=design_point.footprint_bytes)


def _mean(evaluation: Evaluation, total: FloatOrArray) -> FloatOrArray:
    """Over the ranks, at every design point."""
    design_point = evaluation.design_point
    if evaluation.by_rank:
        total = np.mean(np.broadcast_to(total, (*np.shape(total)[:-1], design_point.ranks)), axis=-1)
    return np.broadcast_to(total, design_point.shape) if design_point.shape else float(np.asarray(total).item())
