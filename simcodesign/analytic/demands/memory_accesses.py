"""Closed form of memory time: what each level serves times its latency, and no faster than memory can deliver.

With BF the blocking factor and h_l the accesses that level l serves, by the stack model (Calotoiu et al., CLUSTER 2018,
for stack distances as a requirement; Ding et al., APMT, equations 2 and 3, for the blocking factor):

    T = max(BF sum over l of h_l latency_l, the transfers)

The transfers are the bytes between each level and the next one nearer to the core, where a bandwidth is stated, and
those to and from memory, each times its time per byte: the longest of them where transfers overlap (the roofline of
Williams, Waterman, Patterson, CACM 52(4), 2009, at every level), or their sum if they follow one another (the
Execution-Cache-Memory model: Stengel, Treibig, Hager, Wellein, ICS 2015, T_nOL + T_L1L2 + T_L2L3 + T_L3Mem).

A demand that states no BF has 1 / (concurrent accesses) of the machine: the latencies of these pass together (Little's
law: accesses per second = concurrent accesses / latency). So do the latencies of the lines that a prefetcher has in
flight: of what it fetches ahead, a line comes every latency / depth, or every BF latency if that is less.

Where a node has a controller for each socket, the fraction r of its lines that are at others waits for their latency,
and passes what lies between sockets as one transfer more, r times its bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from simcodesign.analytic.demands.base import CLOSED_FORMS, Charge, ClosedForm, Count, part_draws
from simcodesign.analytic.formulas.formula_prices import Payment, SymbolicPrices
from simcodesign.core.errors import CapacityError, InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.evaluated.co_runners import co_runners
from simcodesign.describe.evaluated.served_accesses import (
    OfMemory,
    ServedAccesses,
    memories_of,
    remote_share,
    served_accesses,
)
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine_parts.memory import IN_TURN, Memory
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.served_kernels import MOST_ACCESSES
from simcodesign.locality.stack.distances import stack_profile

#: A kernel's stack distances are counted in elements.
ELEMENT_BYTES = 8


def stall_s(
    accesses: ServedAccesses, blocking: FloatOrArray, memory: Memory, remote: FloatOrArray = 0.0
) -> FloatOrArray:
    """Seconds for which a processor stalls; ``remote``: the fraction of its lines that are at other controllers."""
    *shares, from_memory = accesses.served.shares
    *latencies_s, memory_s = memory.latencies_s
    if memory.remote is not None and memory.remote.latency_s is not None:
        memory_s = memory_s + remote * (memory.remote.latency_s - memory_s)
    waiting_s = sum((share * each_s for share, each_s in zip(shares, latencies_s, strict=True)), start=0.0)
    if memory.prefetch is None:
        return blocking * accesses.accesses * (waiting_s + from_memory * memory_s)
    ahead = accesses.served.prefetched
    waiting_s = blocking * (waiting_s + (from_memory - ahead) * memory_s)
    return accesses.accesses * (waiting_s + ahead * memory_s * np.minimum(blocking, 1.0 / memory.prefetch.depth))


def transfer_s(accesses: ServedAccesses, memory: Memory) -> FloatOrArray:
    """Seconds for which the memory controller is busy with the bytes that come and go."""
    return accesses.accesses * accesses.served.traffic_bytes * memory.per_byte_s


def transfers_s(accesses: ServedAccesses, memory: Memory, remote: FloatOrArray = 0.0) -> list[FloatOrArray]:
    """Return the seconds of every transfer between two neighbours of the hierarchy that takes time.

    Memory's transfers and then those between sockets come last.
    """
    per_byte_s = {one.name: one.per_byte_s for one in memory.caches} | {"memory": memory.per_byte_s}
    moved = moved_bytes(accesses, memory)
    every_s = [size * per_byte_s[name] for name, size in moved.items()]  # type: ignore[operator]
    if memory.remote is None or memory.remote.per_byte_s is None:
        return every_s
    return [*every_s, moved["memory"] * remote * memory.remote.per_byte_s]


def moved_bytes(accesses: ServedAccesses, memory: Memory) -> dict[str, FloatOrArray]:
    """Return the bytes that leave each cache with a bandwidth for the core, by its name, and those of ``memory``."""
    served = accesses.served
    per_access = [served.loads * accesses.access_bytes, *(memory.line_bytes * lines for lines in served.lines_between)]
    caches = zip(per_access, memory.caches, strict=False)  # without caches, nothing is known of the core
    between = {one.name: accesses.accesses * size for size, one in caches if one.per_byte_s is not None}
    return {**between, "memory": accesses.accesses * served.traffic_bytes}


def accesses_s(demand: MemoryAccesses, accesses: ServedAccesses, memory: Memory, value: Evaluate) -> FloatOrArray:
    """Seconds that they take a rank that has the memory for itself."""
    stated = demand.blocking
    blocking = 1.0 / memory.outstanding if stated is None else value(stated, "blocking")
    remote = remote_share(demand, memory, value)
    every_s = transfers_s(accesses, memory, remote)
    moving_s = sum(every_s) if memory.transfers == IN_TURN else functools.reduce(np.maximum, every_s)
    time_s: FloatOrArray = np.maximum(stall_s(accesses, blocking, memory, remote), moving_s)
    return time_s


def limits_s(
    demand: MemoryAccesses, accesses: ServedAccesses, memory: Memory, value: Evaluate
) -> dict[str, FloatOrArray]:
    """Return the seconds of ``accesses_s`` by what limits them.

    ``latency``, the names of caches and ``memory`` for their bandwidths, and ``sockets`` for what lies between these.
    """
    blocking = 1.0 / memory.outstanding if demand.blocking is None else value(demand.blocking, "blocking")
    remote = remote_share(demand, memory, value)
    stalls_s, every_s = stall_s(accesses, blocking, memory, remote), transfers_s(accesses, memory, remote)
    names = [cache.name for cache in memory.caches if cache.per_byte_s is not None]
    names = [*names, "memory", "sockets"][: len(every_s)]
    if memory.transfers == IN_TURN:
        waits = np.greater_equal(stalls_s, sum(every_s))
        moving = [np.where(waits, 0.0, each_s) for each_s in every_s]
    else:
        every = np.stack(np.broadcast_arrays(stalls_s, *every_s))
        longest = np.argmax(every, axis=0)
        waits = longest == 0
        moving = [np.where(longest == number, every[number], 0.0) for number in range(1, len(every))]
    return {"latency": np.where(waits, stalls_s, 0.0), **dict(zip(names, moving, strict=True))}


class MemoryAccessesForm(ClosedForm[MemoryAccesses]):
    """Loads and stores that have the memory for themselves."""

    def charge(self, demand: MemoryAccesses, step: EvaluatedStep) -> Charge:
        several = memories_of(demand, step.machine, step.evaluation.design_point.values["P"])
        charges = [self._charge(demand, step, one) for one in several]
        first = charges[0]
        if len(charges) == 1:
            return replace(first, draws=part_draws(step, "memory", first.time_s))
        time_s, service_s = (sum(getattr(one, name) for one in charges) for name in ("time_s", "service_s"))
        counts = tuple(sorted((count for one in charges for count in one.counts), key=lambda one: one.name == "memory"))
        methods = {level: method for one in charges for level, method in (one.hit_methods or {}).items()}
        draws = part_draws(step, "memory", time_s)
        return replace(first, time_s=time_s, service_s=service_s, counts=counts, hit_methods=methods, draws=draws)

    def _charge(self, demand: MemoryAccesses, step: EvaluatedStep, of: OfMemory) -> Charge:
        """Charge of the ranks with this memory; 0 of others."""
        memory = of.memory
        accesses = served_accesses(demand, memory, step.amount, co_runners(step, memory, of.here))
        served, service_s = accesses.served, of.each(transfer_s(accesses, memory))
        time_s = of.each(accesses_s(demand, accesses, memory, step.amount))
        levels = zip(memory.level_names, served.shares, strict=True)
        counts = tuple(Count("served", level, of.each(accesses.accesses * share)) for level, share in levels)
        if memory.prefetch is not None:
            counts = (*counts, Count("prefetched", "memory", of.each(accesses.accesses * served.prefetched)))
        limits = limits_s(demand, accesses, memory, step.amount)
        counts = (
            *(Count("processor limits", name, of.each(each_s)) for name, each_s in limits.items()),
            Count("controllers", "memory", service_s),
            *counts,
        )
        methods = dict(zip(memory.level_names, served.methods, strict=False))  # memory itself has none
        hit_methods = {level: method for level, method in methods.items() if method}
        remote = remote_share(demand, memory, step.amount)
        return Charge("memory", time_s, counts, "memory", service_s, hit_methods=hit_methods, remote=remote)

    def requirements(self, demand: MemoryAccesses, step: EvaluatedStep, counting: str) -> dict[str, FloatOrArray]:
        times = step.amount(demand.times, "times")
        if demand.hits:
            what = "hits of caches do not determine stack distances, which are a requirement"
            raise InputError(what, demand.place, allowed="stack_distance, kernel or profile")
        if demand.distances:
            accesses = 0.0 if demand.accesses is None else times * step.amount(demand.accesses, "accesses")
            pairs = [(step.amount(share, "fraction"), step.amount(far, "distance")) for share, far in demand.distances]
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
    """Return the stack distances of a kernel, of which there must be one size."""
    from simcodesign.locality.streams.kernels import kernel_trace

    sizes: dict[str, object] = {}
    for name, size in demand.sizes:
        value = size if isinstance(size, str) else step.amount(size, name)
        if np.size(value) != 1:
            raise InputError(f"requirements of the kernel {demand.kernel} need a single size", demand.place)
        sizes[name] = value if isinstance(value, str) else float(np.asarray(value).item())
    trace = kernel_trace(demand.kernel, **sizes)
    if trace.accesses > MOST_ACCESSES:
        what = f"the stream of {trace.name} has {trace.accesses:.3g} accesses, too many to look at each"
        raise CapacityError(what, demand.place, allowed=f"up to {MOST_ACCESSES:.3g}")
    return stack_profile(trace, ELEMENT_BYTES)


CLOSED_FORMS.add(MemoryAccesses, MemoryAccessesForm())
