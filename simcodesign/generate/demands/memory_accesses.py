"""Memory demands as operations: the processor stands still, and the controller of its node moves bytes.

Where cores share the controller (``memory``), a demand becomes some slices, in each of which the bytes pass the
controller and then the processor goes through what is left of its latencies: cores that do not fill the controller
together hardly notice each other, and those that do wait for it in turn. With ``caches``, the stack model does not
price the accesses: they are sent through the sets of the real hierarchy, which also writes lines back.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import MEMORY
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.served_accesses import ServedAccesses, memory_of, served_accesses
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import IN_TURN, Memory
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.plan_builder import PlanBuilder, StepWriter
from simcodesign.locality.hits_by_level import SETS

#: Slices of a demand that shares a controller: the last core of a node waits for one slice of each other at first.
SLICES = 16


def shares_controller(machine: Machine, effects: Collection[str]) -> bool:
    """Whether memory demands meet at the controller of a node."""
    return "memory" in effects and not machine.placement.has_one_each


def operations_of(sliced: bool) -> int:
    """Operations of a rank that one demand takes."""
    return 2 * SLICES if sliced else 1


class MemoryAccessesLowering(Lowering[MemoryAccesses]):
    """One operation of each rank, or slices of it where the controller is shared."""

    def operations(self, demand: MemoryAccesses, writer: StepWriter) -> float:
        sliced = shares_controller(writer.builder.machine, writer.builder.effects)
        return operations_of(sliced) * super().operations(demand, writer)

    def write(self, demand: MemoryAccesses, writer: StepWriter) -> None:
        builder, memory = writer.builder, memory_of(demand, writer.machine)
        accesses = accesses_of(demand, memory, writer.amount, builder)
        _count(accesses, memory, writer)
        sliced = shares_controller(builder.machine, builder.effects)
        extra = writer.varying(operations_of(sliced))
        for size_bytes, duration_s in parts_of(demand, accesses, memory, writer.amount, sliced):
            writer.work(MEMORY, size_bytes, duration_s, extra)


def accesses_of(demand: MemoryAccesses, memory: Memory, value: Evaluate, builder: PlanBuilder) -> ServedAccesses:
    """How the caches serve it: with the effect ``caches`` by their sets."""
    method = SETS if "caches" in builder.effects else None
    return served_accesses(demand, memory, value, method, builder.seed)


def parts_of(
    demand: MemoryAccesses, accesses: ServedAccesses, memory: Memory, value: Evaluate, sliced: bool
) -> list[tuple[FloatOrArray, FloatOrArray]]:
    """Bytes and seconds of the operations of a rank that it takes; ``sliced``: for a controller that is shared."""
    stall_s = _latency_s(accesses, memory) * accesses.accesses
    stall_s = stall_s / memory.outstanding if demand.blocking is None else stall_s * value(demand.blocking, "blocking")
    moved_bytes = accesses.served.traffic_bytes * accesses.accesses
    transfer_s = moved_bytes * memory.per_byte_s
    before_s = _before_memory_s(accesses, memory)
    if memory.transfers == IN_TURN:
        busy_s = np.maximum(stall_s, before_s.sum(axis=0) + transfer_s)
    else:
        busy_s = np.maximum(stall_s, np.maximum(before_s.max(axis=0, initial=0.0), transfer_s))
    if not sliced:
        return [(moved_bytes, busy_s)]
    rest_s = np.maximum(busy_s - transfer_s, 0.0)
    return [(moved_bytes / SLICES, transfer_s / SLICES), (0.0, rest_s / SLICES)] * SLICES


def _before_memory_s(accesses: ServedAccesses, memory: Memory) -> NDArray[np.float64]:
    """For how long bytes go between the core and each cache, or that cache and the one before it: (caches, ...)."""
    served, rows = accesses.served, []
    for place, level in enumerate(memory.caches):
        if level.per_byte_s is None:
            continue
        if place == 0:
            size_bytes = np.multiply(accesses.access_bytes, served.loads)
        else:
            size_bytes = np.multiply(served.lines_between[place - 1], memory.line_bytes)
        rows.append(level.per_byte_s * (size_bytes * accesses.accesses))
    return np.array(np.broadcast_arrays(*rows)) if rows else np.zeros((0,))


def _latency_s(accesses: ServedAccesses, memory: Memory) -> FloatOrArray:
    """Of one access, in the mean."""
    latency_s: FloatOrArray = 0.0
    for share, each_s in zip(accesses.served.shares, memory.latencies_s, strict=True):
        latency_s = latency_s + each_s * share
    return latency_s


def _count(accesses: ServedAccesses, memory: Memory, writer: StepWriter) -> None:
    """Note for the Result where the accesses are served, and by which method that was computed."""
    builder, served = writer.builder, accesses.served
    for level, share, method in zip(memory.level_names, served.shares, (*served.methods, ""), strict=True):
        writer.count(builder.totals.served, level, accesses.accesses * share)
        if method:
            builder.totals.hit_methods[level] = method
    if builder.tally is not None:
        times = np.multiply(writer.present, writer.step.repetitions, dtype=np.float64)
        builder.tally.at_work(writer.phase, writer.machine.processor)
        builder.tally.served(writer.phase, accesses, times)


LOWERINGS.add(MemoryAccesses, MemoryAccessesLowering())
