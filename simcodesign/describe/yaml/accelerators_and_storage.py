"""Accelerators and storage from a YAML tree: the parts of a machine, and the demands of a workload for them."""

from __future__ import annotations

from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.describe.constants import CONSTANTS
from simcodesign.describe.demands.base import ONE
from simcodesign.describe.demands.computation import ACCELERATOR, HOST, Copy, Kernel
from simcodesign.describe.demands.disk_access import OWN, SHARED, MetadataOperations, StorageAccess
from simcodesign.describe.machine_parts.accelerator import Accelerator
from simcodesign.describe.machine_parts.storage import ALLOCATIONS, ROUND_ROBIN, Storage
from simcodesign.describe.yaml.constants import constant_value, constants_from, time_per_byte, whole_bytes
from simcodesign.describe.yaml.distribution import varies
from simcodesign.describe.yaml.tree import Entry, amount, when

MOST_ACCELERATORS = 10_000
MOST_SERVERS = 1_000_000
#: What stands in the parts of an accelerator.
_MEMORY_KEYS = ("bandwidth", "per_byte", "latency", "capacity")
_LINK_KEYS = ("bandwidth", "per_byte", "latency", "duplex")
_STORAGE_COUNTS = ("servers", "stripe", "stripe_count", "allocation")


def accelerator_from(entry: Entry) -> Accelerator:
    """``{count, rate, launch, memory: {bandwidth, latency, capacity}, link: {bandwidth, latency, duplex}}``."""
    keys = ("count", "rate", "launch", "memory", "link", "dynamic_power")
    items = entry.mapping(keys, ("count", "rate"))
    own = {key: items[key] for key in ("rate", "launch") if key in items}
    values: dict[str, Any] = {_field(key): constant_value(f"accelerator.{key}", item) for key, item in own.items()}
    if "dynamic_power" in items:
        values["dynamic_power_w"] = constant_value("accelerator.dynamic_power", items["dynamic_power"])
    values |= _part(items["memory"], "memory", _MEMORY_KEYS) if "memory" in items else {}
    if "link" in items:
        values |= _part(items["link"], "link", _LINK_KEYS)
        link = items["link"].mapping()
        values["is_full_duplex"] = "duplex" not in link or link["duplex"].text(("full", "half")) == "full"
    return Accelerator(items["count"].whole(1, MOST_ACCELERATORS), **values)


def _field(key: str) -> str:
    return CONSTANTS[f"accelerator.{key}"][1]


def _part(entry: Entry, part: str, keys: tuple[str, ...]) -> dict[str, float]:
    """The constants of its memory or its link, by field name."""
    values: dict[str, float] = {}
    for key, item in entry.mapping(keys).items():
        if key == "duplex":
            continue
        path = f"accelerator.{part}.{'per_byte' if key == 'bandwidth' else key}"
        if CONSTANTS[path][1] in values:
            raise item.error(f"{path} is given twice: as a bandwidth and as time per byte")
        values[CONSTANTS[path][1]] = time_per_byte(path, item) if key == "bandwidth" else constant_value(path, item)
    return values


def storage_from(entry: Entry) -> Storage:
    """``{servers, stripe, stripe_count, allocation, bandwidth, write_bandwidth, latency, metadata_rate, ...}``."""
    values = constants_from(entry, "storage", _STORAGE_COUNTS)
    items = entry.mapping()
    for key in ("servers", "stripe"):
        if key not in items:
            raise InputError(f"{key!r} is missing", entry.place)
    if "per_byte_s" not in values:
        raise InputError("'bandwidth' (or 'per_byte') is missing", entry.place)
    servers = items["servers"].whole(1, MOST_SERVERS)
    every = "stripe_count" in items and items["stripe_count"].says("all")
    count = items["stripe_count"].whole(1, servers) if "stripe_count" in items and not every else 1
    return Storage(
        servers,
        whole_bytes(items["stripe"]),
        stripe_count=servers if every else count,
        allocation=items["allocation"].text(ALLOCATIONS) if "allocation" in items else ROUND_ROBIN,
        **values,
    )


def kernel_from(entry: Entry) -> Kernel:
    """``compute: {on: accelerator, flops, bytes, times}``, or ``seconds`` in place of the first two."""
    items = entry.mapping(("on", "flops", "seconds", "bytes", "times", "when", "varies"))
    given = [key for key in ("flops", "seconds", "bytes") if key in items]
    if not given or ("seconds" in given and len(given) > 1):
        allowed = "flops, bytes, or both; or seconds"
        raise InputError("how much an accelerator is to compute", entry.place, value=given, allowed=allowed)
    flops, seconds, size = (amount(items, key) for key in ("flops", "seconds", "bytes"))
    times = amount(items, "times") or ONE
    return Kernel(when(items), entry.place, flops, seconds, size, times, varies(items))


def copy_from(name: str, entry: Entry) -> Copy:
    """``copy: {to, bytes, times}``."""
    items = entry.mapping(("to", "bytes", "times", "when"), ("to", "bytes"))
    to = items["to"].text((ACCELERATOR, HOST))
    return Copy(when(items), entry.place, to, items["bytes"].expression(), amount(items, "times") or ONE)


def storage_access_from(name: str, way: str, entry: Entry) -> StorageAccess:
    """``write: {to: storage, bytes, times, file, stripe_count}``; a ``read`` is ``from`` storage."""
    items = entry.mapping((way, "bytes", "times", "file", "stripe_count", "when"), ("bytes",))
    file = items["file"].text((OWN, SHARED)) if "file" in items else OWN
    size, times, count = items["bytes"].expression(), amount(items, "times") or ONE, amount(items, "stripe_count")
    return StorageAccess(when(items), entry.place, name, size, times, file, count)


def metadata_from(name: str, entry: Entry) -> MetadataOperations:
    """``metadata: {operations}``."""
    items = entry.mapping(("operations", "when"), ("operations",))
    return MetadataOperations(when(items), entry.place, items["operations"].expression())
