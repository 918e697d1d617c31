"""Memory demands as operations: the processor stalls, and the controller of its node moves bytes.

Where cores share the controller (``memory``), a demand becomes some slices, in each of which the bytes pass the
controller and then the processor goes through what is left of its latencies: cores that do not fill the controller
together hardly delay each other, and those that do wait for it first come, first served. If a node has a controller
for each socket, a part of each slice may pass the controllers of other sockets, and the links between. With
``caches``, the stack model does not price the accesses: they are sent through the sets of the real hierarchy, which
also writes lines back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import MEMORY
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.evaluated.co_runners import CoRunners, co_runners
from simcodesign.describe.evaluated.served_accesses import (
    OfMemory,
    ServedAccesses,
    memories_of,
    remote_share,
    served_accesses,
)
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import IN_TURN, Memory
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.plan_builder import PlanBuilder, StepWriter
from simcodesign.locality.hits_by_level import SETS

#: Slices of a demand that shares a controller: the last core of a node waits for one slice of each other at first.
SLICES = 16


@dataclass(frozen=True)
class Part:
    """An operation of a rank: ``size_bytes`` pass the controller of a socket, this many sockets on from its own.

    Or, from the number of sockets on, the links between its socket and the others. ``follows``: its predecessor and
    what it waits for, if that is not the previous operation.
    """

    size_bytes: FloatOrArray
    duration_s: FloatOrArray
    controller: int = 0
    follows: Mapping[str, int] = field(default_factory=dict)


def shares_controller(machine: Machine, on: Set[Mechanism]) -> bool:
    """Whether memory demands meet at the controllers of a node."""
    return Mechanism.CONTROLLERS in on and not machine.placement.has_one_each


def operations_of(machine: Machine, on: Set[Mechanism]) -> int:
    """Operations of a rank that one demand takes."""
    if not shares_controller(machine, on):
        return 1
    memory = machine.memory
    if memory is None or memory.controllers == 1:
        return 2 * SLICES
    links = memory.controllers - 1 if memory.remote is not None else 0
    return SLICES * (memory.controllers + links + 1)


class MemoryAccessesLowering(Lowering[MemoryAccesses]):
    """One operation of each rank, or slices of it where the controller is shared."""

    def operations(self, demand: MemoryAccesses, writer: StepWriter) -> float:
        builder = writer.builder
        return operations_of(builder.machine, builder.on) * super().operations(demand, writer)

    def write(self, demand: MemoryAccesses, writer: StepWriter) -> None:
        builder = writer.builder
        sliced = shares_controller(builder.machine, builder.on)
        several, parts = memories_of(demand, writer.machine, builder.ranks), list[list[Part]]()
        if len(several) > 1 and builder.tally is not None:
            raise InputError("counters need caches that are all alike", demand.place, allowed="ranks on one partition")
        for level in (level for of in several if len(several) > 1 for level in of.memory.level_names[:-1]):
            builder.totals.served.setdefault(level, 0.0)  # memory comes last
        for of in several:
            runners = co_runners(writer.step, of.memory, of.here)
            accesses = accesses_of(demand, of.memory, writer.amount, builder, runners)
            _count(accesses, of, writer)
            for name, each_s in limits_s(demand, accesses, of.memory, writer.amount).items():
                writer.count(builder.totals.processor_limits_s, name, of.each(each_s))
            parts.append(parts_of(demand, accesses, of.memory, writer.amount, sliced, builder.links_beside))
        extra = writer.varying(operations_of(builder.machine, builder.on))
        for part in parts[0] if len(parts) == 1 else together(parts, several):
            where = {"controller": part.controller} if builder.has_controllers else {}
            writer.work(MEMORY, part.size_bytes, part.duration_s, {**extra, **where, **part.follows})


def accesses_of(
    demand: MemoryAccesses, memory: Memory, value: Evaluate, builder: PlanBuilder, runners: CoRunners | None
) -> ServedAccesses:
    """How the caches serve it: with the effect ``caches`` by their sets."""
    method = SETS if Mechanism.CACHE_SETS in builder.on else None
    return served_accesses(demand, memory, value, runners, method, builder.seed)


def parts_of(
    demand: MemoryAccesses,
    accesses: ServedAccesses,
    memory: Memory,
    value: Evaluate,
    sliced: bool,
    beside: bool = False,
) -> list[Part]:
    """Return the operations of a rank that it takes.

    ``sliced``: for controllers that are shared; ``beside``: bytes pass between sockets does so while other bytes pass
    the controllers.
    """
    remote, moved_bytes = remote_share(demand, memory, value), accesses.served.traffic_bytes * accesses.accesses
    stall_s, before_s, transfer_s, between_s = _alone_s(demand, accesses, memory, value)
    if memory.transfers == IN_TURN:
        busy_s = np.maximum(stall_s, before_s.sum(axis=0) + transfer_s + between_s)
    else:
        before_s = np.maximum(before_s.max(axis=0, initial=0.0), between_s)
        busy_s = np.maximum(stall_s, np.maximum(before_s, transfer_s))
    if not sliced:
        return [Part(moved_bytes, busy_s)]
    moving_s = np.maximum(transfer_s, between_s) if beside else transfer_s + between_s
    rest_s = np.maximum(busy_s - moving_s, 0.0)
    if memory.controllers == 1:
        return [Part(moved_bytes / SLICES, transfer_s / SLICES), Part(0.0, rest_s / SLICES)] * SLICES
    at_each = (remote * moved_bytes / SLICES, remote * transfer_s / SLICES, between_s / SLICES)
    own = Part((1 - remote) * moved_bytes / SLICES, (1 - remote) * transfer_s / SLICES)
    return _slice(own, at_each, rest_s / SLICES, memory, beside) * SLICES


def _alone_s(
    demand: MemoryAccesses, accesses: ServedAccesses, memory: Memory, value: Evaluate
) -> tuple[FloatOrArray, NDArray[np.float64], FloatOrArray, FloatOrArray]:
    """Return what a rank takes that has the memory for itself.

    For how long its processor stands still, its bytes come to each cache with a bandwidth (caches, ...), pass the
    controllers, and pass between sockets.
    """
    remote, moved_bytes = remote_share(demand, memory, value), accesses.served.traffic_bytes * accesses.accesses
    between_s = np.multiply(remote * moved_bytes, _between_sockets_s(memory))
    stall_s = _stall_s(demand, accesses, memory, value, remote)
    return stall_s, _before_memory_s(accesses, memory), moved_bytes * memory.per_byte_s, between_s


def limits_s(
    demand: MemoryAccesses, accesses: ServedAccesses, memory: Memory, value: Evaluate
) -> dict[str, FloatOrArray]:
    """Return how long a rank that has the memory for itself waits, by what limits it.

    For latencies (``latency``), for the bandwidth of each cache, by its name, and of ``memory``, and for what lies
    between ``sockets``.
    """
    stall_s, before_s, transfer_s, between_s = _alone_s(demand, accesses, memory, value)
    names = (level.name for level in memory.caches if level.per_byte_s is not None)
    moving = dict(zip(names, before_s, strict=True)) | {"memory": transfer_s, "sockets": between_s}
    if memory.transfers == IN_TURN:
        stands = stall_s >= sum(moving.values())
        return {"latency": stall_s * stands, **{name: each_s * ~stands for name, each_s in moving.items()}}
    limits: dict[str, FloatOrArray] = {}
    left_s = np.max(np.stack(np.broadcast_arrays(stall_s, *moving.values())), axis=0)
    for name, each_s in {"latency": stall_s, **moving}.items():  # the first of several that take as long
        limits[name] = np.where(each_s == left_s, left_s, 0.0)
        left_s = left_s - limits[name]
    return limits


def together(parts: Sequence[Sequence[Part]], several: Sequence[OfMemory]) -> list[Part]:
    """Return the operations of ranks with several memories: every rank has its own."""
    return [
        replace(
            each[0],
            size_bytes=sum(of.each(one.size_bytes) for of, one in zip(several, each, strict=True)),
            duration_s=sum(of.each(one.duration_s) for of, one in zip(several, each, strict=True)),
        )
        for each in zip(*parts, strict=True)
    ]


def _slice(
    own: Part,
    at_others: tuple[FloatOrArray, FloatOrArray, FloatOrArray],
    rest_s: FloatOrArray,
    memory: Memory,
    beside: bool,
) -> list[Part]:
    """Return a slice of a demand, whose bytes come from ``own`` controller and from the others.

    From the others in equal shares: of them all, ``at_others`` are the bytes and their seconds at the controllers and
    between the sockets.
    """
    count = memory.controllers
    each_bytes, each_s, between_s = (np.divide(amount, count - 1) for amount in at_others)
    parts = [own, *(Part(each_bytes, each_s, socket) for socket in range(1, count))]
    if memory.remote is None:
        return [*parts, Part(0.0, rest_s)]
    links = [Part(each_bytes, between_s, count + socket) for socket in range(1, count)]
    if not beside:
        return [*parts, *links, Part(0.0, rest_s)]
    # The first link follows the operations before the slice; the rest the last controller, and it awaits the last link.
    links[0] = replace(links[0], follows={"back": count + 1})
    return [*parts, *links, Part(0.0, rest_s, follows={"back": count, "awaits": 1})]


def _stall_s(
    demand: MemoryAccesses, accesses: ServedAccesses, memory: Memory, value: Evaluate, remote: FloatOrArray
) -> FloatOrArray:
    """Time for which the processor stalls: all latencies one after another, except for accesses that pass together."""
    memory_s = _memory_latency_s(memory, remote)
    stall_s = _latency_s(accesses, memory, memory_s) * accesses.accesses
    blocking = None if demand.blocking is None else value(demand.blocking, "blocking")

    def left(latencies_s: FloatOrArray) -> FloatOrArray:
        return latencies_s / memory.outstanding if blocking is None else latencies_s * blocking

    if memory.prefetch is None:
        return left(stall_s)
    ahead_s = accesses.served.prefetched * accesses.accesses * memory_s
    return left(stall_s - ahead_s) + np.minimum(left(ahead_s), ahead_s / memory.prefetch.depth)


def _memory_latency_s(memory: Memory, remote: FloatOrArray) -> FloatOrArray:
    """Latency of an access to memory, in the mean over both kinds of controllers."""
    if memory.remote is None or memory.remote.latency_s is None:
        return memory.latency_s
    return (1 - remote) * memory.latency_s + remote * memory.remote.latency_s


def _between_sockets_s(memory: Memory) -> FloatOrArray:
    """For how long a byte passes between two sockets."""
    stated = None if memory.remote is None else memory.remote.per_byte_s
    return 0.0 if stated is None else stated


def _before_memory_s(accesses: ServedAccesses, memory: Memory) -> NDArray[np.float64]:
    """Return the time for which bytes go between the core and each cache, (caches, ...).

    For each cache but the first, it is the time between the previous cache and this one.
    """
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


def _latency_s(accesses: ServedAccesses, memory: Memory, memory_s: FloatOrArray) -> FloatOrArray:
    """Mean latency of one access; ``memory_s``: of an access to memory."""
    latency_s: FloatOrArray = 0.0
    for share, each_s in zip(accesses.served.shares, (*memory.latencies_s[:-1], memory_s), strict=True):
        latency_s = latency_s + each_s * share
    return latency_s


def _count(accesses: ServedAccesses, of: OfMemory, writer: StepWriter) -> None:
    """Note for the Result where the accesses are served, and by which method that was computed."""
    builder, served, memory = writer.builder, accesses.served, of.memory
    for level, share, method in zip(memory.level_names, served.shares, (*served.methods, ""), strict=True):
        writer.count(builder.totals.served, level, of.each(accesses.accesses * share))
        if method:
            builder.totals.hit_methods[level] = method
    if memory.prefetch is not None:
        writer.count(builder.totals.prefetched, "memory", of.each(accesses.accesses * served.prefetched))
    if builder.tally is not None:
        times = np.multiply(writer.present, writer.step.repetitions, dtype=np.float64)
        builder.tally.at_work(writer.phase, writer.machine.processor)
        builder.tally.served(writer.phase, accesses, times)


LOWERINGS.add(MemoryAccesses, MemoryAccessesLowering())
