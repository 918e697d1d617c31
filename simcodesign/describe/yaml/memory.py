"""The memory of a machine and its caches, from a YAML tree."""

from __future__ import annotations

from collections.abc import Mapping

from simcodesign.core.errors import InputError
from simcodesign.core.units import POSITIVE_RANGE, FloatOrArray, has_unit, is_positive
from simcodesign.describe.constants import check_constant
from simcodesign.describe.keys.forms import Bandwidth
from simcodesign.describe.machine_parts.memory import CACHE, MEMORY, CacheLevel, Memory, RemoteMemory
from simcodesign.describe.machine_parts.message_memory import MESSAGE_MEMORY, MessageMemory, check_message_memory
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.yaml.tree import Entry
from simcodesign.locality.cache import CacheGeometry


def memory_from(items: Mapping[str, Entry], processor: Processor) -> Memory | None:
    """Return the memory, and the caches before it."""
    if "memory" not in items:
        if "caches" in items:
            raise InputError("caches without a memory behind them", items["caches"].place, allowed="memory")
        return None
    entry = items["memory"]
    if "caches" not in items and {*entry.mapping()} == {"capacity"}:
        return None
    values = MEMORY.read(entry)
    values.pop("capacity_bytes", None)
    if values.get("remote") == RemoteMemory():
        raise entry.mapping()["remote"].error("what memory at another controller costs", "latency, bandwidth, or both")
    line = values.get("line_bytes", Memory.line_bytes)
    return Memory(**values, caches=caches_from(items["caches"], line, processor) if "caches" in items else ())


def message_memory_from(items: Mapping[str, Entry], memory: Memory | None) -> MessageMemory | None:
    """Use of a node's memory by messages within it, None if nothing is stated."""
    given = items["node"].mapping().get("memory") if "node" in items else None
    if given is None:
        return None
    own = MESSAGE_MEMORY.read(given)
    messages = MessageMemory(**own, copies_assumed="copies" not in own)
    check_message_memory(messages, memory, True, given.place)
    return messages


def caches_from(entry: Entry, line_bytes: int, processor: Processor) -> tuple[CacheLevel, ...]:
    """Return the caches by their names, the nearest to the core first."""
    return tuple(_cache(name, item, line_bytes, processor) for name, item in entry.mapping().items())


def capacity_from(items: Mapping[str, Entry]) -> float | None:
    """Return the memory of a node in bytes, None if it is not stated."""
    given = items["memory"].mapping().get("capacity") if "memory" in items else None
    capacity: float | None = None if given is None else MEMORY.by_name["capacity"].form.read(given)
    return capacity


def _cache(name: str, entry: Entry, line_bytes: int, processor: Processor) -> CacheLevel:
    if "." in name:
        raise InputError("the name of a cache", entry.place, value=name, allowed="a name without dots")
    items = CACHE.items(entry)
    latency_s, clock_hz = _latency(name, items["latency"], processor)
    per_byte_s, bandwidth_clock_hz = _cache_bandwidth(items, processor)
    own = CACHE.values({key: items[key] for key in ("size", "ways", "shared_by") if key in items})
    own |= {"latency_s": latency_s, "clock_hz": clock_hz}
    level = CacheLevel(name, **own, per_byte_s=per_byte_s, bandwidth_clock_hz=bandwidth_clock_hz)
    try:
        CacheGeometry(level.size_bytes, line_bytes, level.ways)
    except InputError as error:
        raise InputError(str(error), entry.place) from None
    return level


def _latency(name: str, entry: Entry, processor: Processor) -> tuple[float, FloatOrArray | None]:
    """Return the latency of a cache, and the clock if it is in cycles (``4 cycles``).

    The clock then decides how long that is.
    """
    in_cycles = has_unit(entry.text(), "cycles")
    if not in_cycles and "cyc" in entry.text().lower():
        entry.quantity("cycles")  # a misspelt unit: the message names the right one
    if not in_cycles:
        latency_s = entry.quantity("time")
    elif processor.clock_hz is None:
        raise entry.error("a latency in cycles needs processor.clock", "a machine with a clock, or a time")
    else:
        latency_s = entry.quantity("cycles") / float(processor.clock_hz)
    check_constant(f"caches.{name}.latency", latency_s, entry.place)
    return latency_s, processor.clock_hz if in_cycles else None


def _cache_bandwidth(items: Mapping[str, Entry], processor: Processor) -> tuple[float | None, FloatOrArray | None]:
    """Return the time per byte of a cache, None if it is not stated, and the clock if it is in cycles.

    For bytes per cycle (``32 B/cycle``), the clock decides how long that is.
    """
    if "per_byte" in items:
        return CACHE.by_name["per_byte"].form.read(items["per_byte"]), None
    if "bandwidth" not in items:
        return None, None
    entry = items["bandwidth"]
    in_cycles = has_unit(entry.text(), "bytes_per_cycle")
    if not in_cycles and "cyc" in entry.text().lower():
        entry.quantity("bytes_per_cycle")  # a misspelt unit: the message names the right one
    if not in_cycles:
        return Bandwidth().read(entry), None
    if processor.clock_hz is None:
        raise entry.error("a bandwidth in bytes per cycle needs processor.clock", "a machine with a clock, or B/s")
    bytes_per_cycle = entry.quantity("bytes_per_cycle")
    if not is_positive(bytes_per_cycle):
        raise entry.error("out of range", POSITIVE_RANGE)
    per_byte_s = 1 / (bytes_per_cycle * float(processor.clock_hz))
    check_constant(entry.place.path, per_byte_s, entry.place)
    return per_byte_s, processor.clock_hz
