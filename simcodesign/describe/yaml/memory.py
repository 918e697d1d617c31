"""The memory of a machine and its caches, from a YAML tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.units import POSITIVE_RANGE, FloatOrArray, has_unit, is_positive
from simcodesign.describe.constants import CAPACITY, check_constant
from simcodesign.describe.machine_parts.memory import (
    HITS,
    POLICIES,
    TRANSFERS,
    CacheLevel,
    Memory,
    Prefetcher,
    RemoteMemory,
)
from simcodesign.describe.machine_parts.message_memory import PATH, MessageMemory, check_message_memory
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.yaml.constants import constant_value, constants_from, time_per_byte, whole_bytes
from simcodesign.describe.yaml.tree import Entry
from simcodesign.locality.cache import CacheGeometry

#: Keys of ``memory`` that are no constants.
_KEYS = ("line", "hits", "capacity", "transfers", "writebacks", "prefetch", "controllers", "remote", "policy")


def memory_from(items: Mapping[str, Entry], processor: Processor) -> Memory | None:
    """The memory, and the caches before it."""
    if "memory" not in items:
        if "caches" in items:
            raise InputError("caches without a memory behind them", items["caches"].place, allowed="memory")
        return None
    entry = items["memory"]
    if "caches" not in items and {*entry.mapping()} == {"capacity"}:
        return None
    values: dict[str, Any] = {**constants_from(entry, "memory", _KEYS)}
    for name, keys in (("latency_s", "'latency'"), ("per_byte_s", "'bandwidth' (or 'per_byte')")):
        if name not in values:
            raise InputError(f"{keys} is missing", entry.place)
    given = entry.mapping()
    line = whole_bytes(given["line"]) if "line" in given else Memory.line_bytes
    caches = caches_from(items["caches"], line, processor) if "caches" in items else ()
    words = (("hits", HITS), ("transfers", TRANSFERS), ("policy", POLICIES))
    values |= {key: given[key].text(known) for key, known in words if key in given}
    if "writebacks" in given:
        values["writebacks"] = given["writebacks"].flag()
    if "controllers" in given:
        values["controllers"] = given["controllers"].whole(low=1)
    if "prefetch" in given:
        values["prefetch"] = _prefetcher(given["prefetch"])
    if "remote" in given:
        values["remote"] = _remote(given["remote"])
    return Memory(**values, caches=caches, line_bytes=line)


def message_memory_from(items: Mapping[str, Entry], memory: Memory | None) -> MessageMemory | None:
    """What messages within a node take of its memory, None if nothing is stated."""
    given = items["node"].mapping().get("memory") if "node" in items else None
    if given is None:
        return None
    values = {"copies": "copies", "cache": "cache_bytes"}
    stated = given.mapping(tuple(values))
    own = {values[key]: constant_value(f"{PATH}.{key}", item) for key, item in stated.items()}
    messages = MessageMemory(**own, copies_assumed="copies" not in stated)
    check_message_memory(messages, memory, True, given.place)
    return messages


def caches_from(entry: Entry, line_bytes: int, processor: Processor) -> tuple[CacheLevel, ...]:
    """The caches by their names, the nearest to the core first."""
    return tuple(_cache(name, item, line_bytes, processor) for name, item in entry.mapping().items())


def _prefetcher(entry: Entry) -> Prefetcher:
    items = entry.mapping(("streams", "depth"), ("streams", "depth"))
    values = {key: constant_value(f"memory.prefetch.{key}", item) for key, item in items.items()}
    return Prefetcher(**values)


def _remote(entry: Entry) -> RemoteMemory:
    items = entry.mapping(("latency", "bandwidth", "per_byte"))
    path = "memory.remote.per_byte"
    if {"bandwidth", "per_byte"} <= items.keys():
        raise items["per_byte"].error(f"{path} is given twice: as a bandwidth and as time per byte")
    if not items:
        raise entry.error("what memory at another controller costs", "latency, bandwidth, or both")
    per_byte_s = constant_value(path, items["per_byte"]) if "per_byte" in items else None
    if "bandwidth" in items:
        per_byte_s = time_per_byte(path, items["bandwidth"])
    latency_s = constant_value("memory.remote.latency", items["latency"]) if "latency" in items else None
    return RemoteMemory(latency_s, per_byte_s)


def capacity_from(items: Mapping[str, Entry]) -> float | None:
    """The memory of a node in bytes, None if it is not stated."""
    given = items["memory"].mapping() if "memory" in items else {}
    if "capacity" not in given:
        return None
    value = given["capacity"].quantity("size")
    check_constant(CAPACITY, value, given["capacity"].place)
    return value


def _cache(name: str, entry: Entry, line_bytes: int, processor: Processor) -> CacheLevel:
    if "." in name:
        raise InputError("the name of a cache", entry.place, value=name, allowed="a name without dots")
    items = entry.mapping(("size", "ways", "latency", "bandwidth", "per_byte", "shared_by"), ("size", "latency"))
    ways = None if "ways" not in items or items["ways"].says("full") else items["ways"].whole(low=1)
    latency_s, clock_hz = _latency(name, items["latency"], processor)
    per_byte_s, bandwidth_clock_hz = _cache_bandwidth(name, items, processor)
    size_bytes = whole_bytes(items["size"])
    shared_by = items["shared_by"].whole(low=1) if "shared_by" in items else CacheLevel.shared_by
    level = CacheLevel(name, size_bytes, latency_s, ways, clock_hz, per_byte_s, bandwidth_clock_hz, shared_by)
    try:
        CacheGeometry(level.size_bytes, line_bytes, ways)
    except InputError as error:
        raise InputError(str(error), entry.place) from None
    return level


def _latency(name: str, entry: Entry, processor: Processor) -> tuple[float, FloatOrArray | None]:
    """The latency of a cache, and the clock if it is in cycles (``4 cycles``), which then decides how long that is."""
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


def _cache_bandwidth(
    name: str, items: Mapping[str, Entry], processor: Processor
) -> tuple[float | None, FloatOrArray | None]:
    """The time per byte of a cache, None if it is not stated, and the clock if it is of bytes per cycle
    (``32 B/cycle``), which then decides how long that is."""
    if {"bandwidth", "per_byte"} <= items.keys():
        raise items["per_byte"].error(f"caches.{name}.per_byte is given twice: as a bandwidth and as time per byte")
    path = f"caches.{name}.per_byte"
    if "per_byte" in items:
        return constant_value(path, items["per_byte"]), None
    if "bandwidth" not in items:
        return None, None
    entry = items["bandwidth"]
    in_cycles = has_unit(entry.text(), "bytes_per_cycle")
    if not in_cycles and "cyc" in entry.text().lower():
        entry.quantity("bytes_per_cycle")  # a misspelt unit: the message names the right one
    if not in_cycles:
        return time_per_byte(path, entry), None
    if processor.clock_hz is None:
        raise entry.error("a bandwidth in bytes per cycle needs processor.clock", "a machine with a clock, or B/s")
    bytes_per_cycle = entry.quantity("bytes_per_cycle")
    if not is_positive(bytes_per_cycle):
        raise entry.error("cannot be used", POSITIVE_RANGE)
    per_byte_s = 1 / (bytes_per_cycle * float(processor.clock_hz))
    check_constant(path, per_byte_s, entry.place)
    return per_byte_s, processor.clock_hz
