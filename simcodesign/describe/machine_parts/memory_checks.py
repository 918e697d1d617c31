"""What the memory and the caches of a machine may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import check_constant
from simcodesign.describe.machine_parts.memory import HITS, TRANSFERS, Memory
from simcodesign.describe.machine_parts.processor import Processor


def check_memory(memory: Memory, place: Place) -> None:
    """InputError for caches that cannot be, latencies that are not, and an unknown way to find hits."""
    if memory.hits not in HITS:
        raise InputError("memory.hits", place, value=memory.hits, allowed=nearest(str(memory.hits), HITS))
    if memory.transfers not in TRANSFERS:
        raise InputError("memory.transfers", place, value=memory.transfers, allowed=", ".join(TRANSFERS))
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


def clocked(memory: Memory, processor: Processor, place: Place) -> Memory:
    """The memory with caches at the clock of the processor. InputError without one for a latency in cycles."""
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
    """The memory with these times per byte of caches, by their names. InputError for a cache that is not there."""
    levels = {level.name: level for level in (() if memory is None else memory.caches)}
    for name, value in values.items():
        if memory is None or name not in levels:
            allowed = nearest(name, levels) if levels else "a machine with caches"
            raise InputError(f"{machine} has no cache of this name", place, value=name, allowed=allowed)
        levels[name] = replace(levels[name], per_byte_s=value, bandwidth_clock_hz=None)
    assert memory is not None
    return replace(memory, caches=tuple(levels.values()))
