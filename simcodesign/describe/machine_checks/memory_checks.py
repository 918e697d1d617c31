"""Checks of the memory and the caches of a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import check_constant
from simcodesign.describe.machine_parts.memory import HITS, POLICIES, TRANSFERS, Memory
from simcodesign.describe.machine_parts.processor import Processor

#: Streams that a prefetcher may recognise: each line that comes from memory is compared with all of them.
MOST_STREAMS = 1024


def check_memory(memory: Memory, per_node: int, sockets: int, place: Place) -> None:
    """InputError for caches that cannot be, latencies that are not, and an unknown way to find hits.

    InputError also for caches and controllers that do not fit a node of ``per_node`` processors, and of ``sockets``
    sockets by its messages.
    """
    if memory.hits not in HITS:
        raise InputError(
            "memory.hits: not one of the choices", place, value=memory.hits, allowed=nearest(str(memory.hits), HITS)
        )
    for name, value, words in (
        ("transfers", memory.transfers, TRANSFERS),
        ("policy", memory.policy, POLICIES),
    ):
        if value not in words:
            raise InputError(f"memory.{name}", place, value=value, allowed=", ".join(words))
    names = memory.level_names
    if len(set(names)) < len(names):
        raise InputError("names of caches", place, value=list(names), allowed="each once, and not memory")
    for level in memory.caches:
        check_constant(f"caches.{level.name}.latency", level.latency_s, place)
        for clock_hz in (level.clock_hz, level.bandwidth_clock_hz):
            if clock_hz is not None:
                check_constant("processor.clock", clock_hz, place)
    try:
        memory.geometries()
    except InputError as error:
        raise InputError(f"caches: {error}", place) from None
    _check_prefetch(memory, place)
    _check_controllers(memory, per_node, sockets, place)
    _check_sharing(memory, per_node // max(memory.controllers, sockets), place)


def _check_prefetch(memory: Memory, place: Place) -> None:
    """InputError for a prefetcher without a cache, and for one of too many streams."""
    if memory.prefetch is None:
        return
    if not memory.caches:
        raise InputError("memory.prefetch brings lines to a cache, and there is none", place, allowed="caches")
    most = float(np.max(memory.prefetch.streams))
    if most > MOST_STREAMS:
        raise InputError("memory.prefetch.streams is out of range", place, value=most, allowed=f"1 to {MOST_STREAMS}")


def _check_controllers(memory: Memory, per_node: int, sockets: int, place: Place) -> None:
    """InputError for controllers that are not one for each socket, with as many processors."""
    count = memory.controllers
    if count < 1 or per_node % count:
        what = f"controllers of a node with {per_node} processors, one for each socket: memory.controllers"
        raise InputError(what, place, value=count, allowed=f"a divisor of {per_node}")
    if count > 1 and sockets > 1 and count != sockets:
        what = "memory.controllers, of which each socket has one, and network.socket.per_node"
        raise InputError(what, place, value=(count, sockets), allowed="the same number")
    if count == 1 and memory.remote is not None:
        what = "memory.remote, where a node has one controller"
        raise InputError(what, place, allowed="memory.controllers: 2 or more")


def _check_sharing(memory: Memory, per_socket: int, place: Place) -> None:
    """InputError for caches that the processors of a socket cannot share evenly, one within the other."""
    inner = 1
    for level in memory.caches:
        count = level.shared_by
        if count < 1 or per_socket % count:
            what = f"caches.{level.name}.shared_by, with {per_socket} processors at a memory controller"
            raise InputError(what, place, value=count, allowed=f"a divisor of {per_socket}")
        if count % inner:
            what = f"caches.{level.name}.shared_by, where a cache before it is shared by {inner}"
            raise InputError(what, place, value=count, allowed=f"{inner}, or a multiple of it")
        inner = count


def clocked(memory: Memory, processor: Processor, place: Place) -> Memory:
    """Return the memory with caches at the clock of the processor. InputError without one for a latency in cycles."""
    counted = [f"{level.name}.latency" for level in memory.caches if level.clock_hz is not None]
    counted += [f"{level.name}.bandwidth" for level in memory.caches if level.bandwidth_clock_hz is not None]
    if not counted:
        return memory
    if processor.clock_hz is None:
        what = f"caches.{counted[0]} is in cycles, and the processor has no clock"
        raise InputError(what, place, allowed="processor.clock, or no cycles: a time, a bandwidth in B/s")
    clock_hz = processor.clock_hz
    return replace(memory, caches=tuple(level.clocked(clock_hz) for level in memory.caches))


def with_cache_constants(
    memory: Memory | None, values: Mapping[str, FloatOrArray], machine: str, place: Place
) -> Memory:
    """Return the memory with these times per byte of caches, by their names.

    InputError for a cache that is not there.
    """
    levels = {level.name: level for level in (() if memory is None else memory.caches)}
    for name, value in values.items():
        if memory is None or name not in levels:
            allowed = nearest(name, levels) if levels else "a machine with caches"
            raise InputError(f"{machine} has no cache of this name", place, value=name, allowed=allowed)
        levels[name] = replace(levels[name], per_byte_s=value, bandwidth_clock_hz=None)
    assert memory is not None
    return replace(memory, caches=tuple(levels.values()))
