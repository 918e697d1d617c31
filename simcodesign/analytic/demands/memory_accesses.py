"""Closed form of memory time: what each level serves times its latency, and no faster than memory can deliver.

With BF the blocking factor and h_l the accesses that level l serves, by the stack model (Calotoiu et al., CLUSTER 2018,
for stack distances as a requirement; Ding et al., APMT, equations 2 and 3, for the blocking factor):

    T = max(BF sum over l of h_l latency_l, the transfers)

The transfers are the bytes between each level and the next one nearer to the core, where a bandwidth is stated, and
those to and from memory, each times its time per byte: the longest of them where transfers overlap (the roofline of
Williams, Waterman, Patterson, CACM 52(4), 2009, at every level), or their sum where they come in turn (the
Execution-Cache-Memory model: Stengel, Treibig, Hager, Wellein, ICS 2015, T_nOL + T_L1L2 + T_L2L3 + T_L3Mem).

A demand that states no BF has 1 / (accesses under way at once) of the machine: the latencies of these pass together
(Little's law: accesses per second = accesses under way / latency).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Count, part_draws
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.core.errors import CapacityError, InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.served_accesses import MOST_ACCESSES, ServedAccesses, memory_of, served_accesses
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine_parts.memory import IN_TURN, Memory
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.stack.distances import stack_profile

#: A kernel's stack distances are counted in elements.
ELEMENT_BYTES = 8


def stall_s(accesses: ServedAccesses, blocking: FloatOrArray, memory: Memory) -> FloatOrArray:
    """Seconds for which a processor stands still."""
    latency_s = sum(share * each_s for share, each_s in zip(accesses.served.shares, memory.latencies_s, strict=True))
    return blocking * accesses.accesses * latency_s


def transfer_s(accesses: ServedAccesses, memory: Memory) -> FloatOrArray:
    """Seconds for which the memory controller is busy with the bytes that come and go."""
    return accesses.accesses * accesses.served.traffic_bytes * memory.per_byte_s


def transfers_s(accesses: ServedAccesses, memory: Memory) -> list[FloatOrArray]:
    """Seconds of every transfer between two neighbours of the hierarchy that takes time, memory's last."""
    served = accesses.served
    per_access = [served.loads * accesses.access_bytes, *(memory.line_bytes * lines for lines in served.lines_between)]
    caches = zip(per_access, memory.caches, strict=False)  # without caches, nothing is known of the core
    between = [accesses.accesses * size * one.per_byte_s for size, one in caches if one.per_byte_s is not None]
    return [*between, transfer_s(accesses, memory)]


def accesses_s(demand: MemoryAccesses, accesses: ServedAccesses, memory: Memory, value: Evaluate) -> FloatOrArray:
    """Seconds that they take a rank that has the memory for itself."""
    stated = demand.blocking
    blocking = 1.0 / memory.outstanding if stated is None else value(stated, "blocking")
    every_s = transfers_s(accesses, memory)
    moving_s = sum(every_s) if memory.transfers == IN_TURN else functools.reduce(np.maximum, every_s)
    time_s: FloatOrArray = np.maximum(stall_s(accesses, blocking, memory), moving_s)
    return time_s


class MemoryAccessesForm(ClosedForm[MemoryAccesses]):
    """Loads and stores that have the memory for themselves."""

    def charge(self, demand: MemoryAccesses, step: EvaluatedStep) -> Charge:
        memory = memory_of(demand, step.machine)
        accesses = served_accesses(demand, memory, step.amount)
        served, service_s = accesses.served, transfer_s(accesses, memory)
        time_s = accesses_s(demand, accesses, memory, step.amount)
        levels = zip(memory.level_names, served.shares, strict=True)
        counts = tuple(Count("served", level, accesses.accesses * share) for level, share in levels)
        methods = dict(zip(memory.level_names, served.methods, strict=False))  # memory itself has none
        hit_methods = {level: method for level, method in methods.items() if method}
        draws = part_draws(step, "memory", time_s)
        return Charge("memory", time_s, counts, "memory", service_s, hit_methods=hit_methods, draws=draws)

    def requirements(self, demand: MemoryAccesses, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        times = step.amount(demand.times, "times")
        if demand.hits:
            what = "hits of caches say nothing of stack distances, which are a requirement"
            raise InputError(what, demand.place, allowed="stack_distance, kernel or profile")
        if demand.distances:
            accesses = 0.0 if demand.accesses is None else times * step.amount(demand.accesses, "accesses")
            pairs = [(step.amount(share, "share"), step.amount(far, "distance")) for share, far in demand.distances]
            mean = sum((share * far for share, far in pairs), start=np.zeros(()))
            return {"loads_stores": accesses, "weighted_accesses": accesses * mean}
        profile = demand.profile or _kernel_profile(demand, step)
        accesses = times * (profile.accesses if demand.accesses is None else step.amount(demand.accesses, "accesses"))
        mean_distance = float(profile.distance @ profile.count) / profile.accesses if profile.accesses else 0.0
        return {"loads_stores": accesses, "weighted_accesses": accesses * mean_distance}

    def payments(self, demand: MemoryAccesses, prices: SymbolicPrices) -> Iterator[Payment]:
        raise InputError("what caches serve has no formula", demand.place)

    def model_terms(self, demand: MemoryAccesses) -> list[tuple[str, str]]:
        if demand.accesses is None:
            return []
        mean = "+".join(f"({share.text})*({distance.text})" for share, distance in demand.distances)
        loads_stores = ("loads_stores", f"({demand.accesses.text})*({demand.times.text})")
        return [loads_stores, ("stack_distance", mean)] if mean else [loads_stores]


def _kernel_profile(demand: MemoryAccesses, step: EvaluatedStep) -> StackDistanceProfile:
    """The stack distances of a kernel, of which there must be one size."""
    from simcodesign.locality.streams.kernels import kernel_trace

    sizes: dict[str, object] = {}
    for name, size in demand.sizes:
        value = size if isinstance(size, str) else step.amount(size, name)
        if np.size(value) != 1:
            raise InputError(f"requirements of the kernel {demand.kernel} are those of one size", demand.place)
        sizes[name] = value if isinstance(value, str) else float(np.asarray(value).item())
    trace = kernel_trace(demand.kernel, **sizes)
    if trace.accesses > MOST_ACCESSES:
        what = f"the stream of {trace.name} has {trace.accesses:.3g} accesses, too many to look at each"
        raise CapacityError(what, demand.place, allowed=f"up to {MOST_ACCESSES:.3g}")
    return stack_profile(trace, ELEMENT_BYTES)


CLOSED_FORMS.add(MemoryAccesses, MemoryAccessesForm())
