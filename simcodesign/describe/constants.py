"""The constants of a machine: where each stands, which of them belong together, and what values they may have."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import LEAST, MOST, NOT_NEGATIVE_RANGE, POSITIVE_RANGE, FloatOrArray
from simcodesign.describe.machine_parts.memory import Memory
from simcodesign.describe.machine_parts.network import Network
from simcodesign.describe.machine_parts.size_segments import SEGMENT_PATHS, segment_at, segment_dimension

#: Path in a file -> (part of the machine, field or field of a field, dimension of the unit table).
CONSTANTS: dict[str, tuple[str, str, str]] = {
    "processor.rate": ("processor", "rate_flop_per_s", "rate"),
    "processor.clock": ("processor", "clock_hz", "frequency"),
    "processor.cpi": ("processor", "cycles_per_instruction", "count"),
    "network.startup": ("network", "startup_s", "time"),
    "network.per_byte": ("network", "per_byte_s", "per_byte"),
    "network.receive_overhead": ("network", "receive_overhead_s", "time"),
    "network.hop_latency": ("network", "hop_latency_s", "time"),
    "network.L": ("network", "latency_s", "time"),
    "network.o": ("network", "overhead_s", "time"),
    "network.g": ("network", "gap_s", "time"),
    "network.G": ("network", "per_byte_s", "per_byte"),
    "network.O": ("network", "overhead_per_byte_s", "per_byte"),
    "network.S": ("network", "rendezvous_above_bytes", "size"),
    "network.reduction_per_byte": ("network", "reduction_per_byte_s", "per_byte"),
    "network.link_per_byte": ("network", "link_per_byte_s", "per_byte"),
    "network.interfaces.per_byte": ("network", "interfaces.per_byte_s", "per_byte"),
    "disk.read_startup": ("disk", "read_startup_s", "time"),
    "disk.write_startup": ("disk", "write_startup_s", "time"),
    "disk.per_byte": ("disk", "per_byte_s", "per_byte"),
    "memory.latency": ("memory", "latency_s", "time"),
    "memory.per_byte": ("memory", "per_byte_s", "per_byte"),
    "memory.outstanding": ("memory", "outstanding", "count"),
    "memory.prefetch.streams": ("memory", "prefetch.streams", "count"),
    "memory.prefetch.depth": ("memory", "prefetch.depth", "count"),
    "memory.remote.latency": ("memory", "remote.latency_s", "time"),
    "memory.remote.per_byte": ("memory", "remote.per_byte_s", "per_byte"),
    "accelerator.rate": ("accelerator", "rate_flop_per_s", "rate"),
    "accelerator.launch": ("accelerator", "launch_s", "time"),
    "accelerator.memory.latency": ("accelerator", "memory_latency_s", "time"),
    "accelerator.memory.per_byte": ("accelerator", "memory_per_byte_s", "per_byte"),
    "accelerator.memory.capacity": ("accelerator", "capacity_bytes", "size"),
    "accelerator.link.latency": ("accelerator", "link_latency_s", "time"),
    "accelerator.link.per_byte": ("accelerator", "link_per_byte_s", "per_byte"),
    "storage.latency": ("storage", "latency_s", "time"),
    "storage.per_byte": ("storage", "per_byte_s", "per_byte"),
    "storage.write_per_byte": ("storage", "write_per_byte_s", "per_byte"),
    "storage.metadata_rate": ("storage", "metadata_rate_per_s", "operation_rate"),
    "storage.metadata_latency": ("storage", "metadata_latency_s", "time"),
    "failures.mtbf": ("failures", "mtbf_s", "time"),
}
#: Constants of a network that those inside nodes and sockets have too.
_OF_EVERY_LEVEL = (
    *("startup", "per_byte", "receive_overhead", "hop_latency", "L", "o", "g", "G", "O", "S"),
    *("link_per_byte", "interfaces.per_byte"),
)
#: Parts of a machine with a network of their own, and their field of the machine.
_INNER = {"node": "node_network", "socket": "socket_network"}
CONSTANTS |= {
    f"{level}.network.{key}": (part, *CONSTANTS[f"network.{key}"][1:])
    for level, part in _INNER.items()
    for key in _OF_EVERY_LEVEL
}
#: Constants of the machine as a whole, which no phase replaces.
OF_THE_WHOLE = ("failures.mtbf", "accelerator.memory.capacity")
#: The same of powers, which no time depends on.
POWERS: dict[str, tuple[str, str, str]] = {
    **{
        f"{part}.dynamic_power": (part, "dynamic_power_w", "power")
        for part in ("processor", "accelerator", "memory", "disk", "network")
    },
    "network.energy_per_byte": ("network", "energy_per_byte_j", "energy_per_byte"),
}
#: Network model -> the constants that it must be given, the time per byte last, and those that it may be given too.
REQUIRED_CONSTANTS = {"hockney": ("startup", "per_byte"), "loggop": ("L", "o", "g", "G")}
OPTIONAL_CONSTANTS = {"hockney": ("receive_overhead",), "loggop": ("O",)}
#: Path of a constant -> the only network model that has it.
MODEL_OF = {
    f"network.{key}": model
    for model, required in REQUIRED_CONSTANTS.items()
    for key in (*required, *OPTIONAL_CONSTANTS[model])
}
#: What else only Hockney's model knows.
HOCKNEY_KEYS = ("startup_per", "hops_hold_sender", "sends")
#: Constants that must be above 0; the others may be 0.
POSITIVE = {"processor.rate", "processor.clock", "processor.cpi", "memory.capacity", "failures.mtbf"}
POSITIVE |= {"accelerator.rate", "accelerator.memory.capacity", "storage.metadata_rate"}
#: Constants that must be 1 or more.
AT_LEAST_ONE = {"memory.outstanding", "memory.prefetch.streams", "memory.prefetch.depth"}
#: What was written before a machine stated its interfaces together, and what is written now.
FORMER_PATHS = {
    "network.interface_per_byte": "network.interfaces.per_byte",
    "network.interface_bandwidth": "network.interfaces.bandwidth",
}
#: Path of the time per byte of a cache, which has the name that the machine file gives it.
_OF_CACHE = re.compile(r"caches\.([^.]+)\.per_byte")
#: Path of a constant of a partition, which has the name that the machine file gives it.
_OF_PARTITION = re.compile(r"partitions\.[^.]+\.(.+)")
#: The same, for a reader.
CACHE_PATHS = "caches.NAME.per_byte"
#: Path of the memory of a node. It is no constant of a cost model: no time depends on it, and no phase replaces it.
CAPACITY = "memory.capacity"


def model_at(path: str) -> str | None:
    """The only network model that has a constant, whatever its level; None where both have it."""
    level, _, rest = path.partition(".")
    return MODEL_OF.get(rest if level in _INNER else path)


def cache_of(path: str) -> str | None:
    """The name of the cache whose time per byte stands at this path; None for any other path."""
    match = _OF_CACHE.fullmatch(path)
    return match.group(1) if match else None


def in_partition(path: str) -> str | None:
    """The path within its partition of a constant of a partition; None for any other path."""
    match = _OF_PARTITION.fullmatch(path)
    return match.group(1) if match else None


def dimension_at(path: str) -> str | None:
    """The dimension, as the unit table names it, of the constant or power at this path; None where there is none."""
    if (own := in_partition(path)) is not None:
        return CONSTANTS[own][2] if own in CONSTANTS else None
    if cache_of(path) is not None:
        return "per_byte"
    segment = segment_at(path)
    if segment is not None:
        return segment_dimension(segment[1])
    every = CONSTANTS | POWERS
    return every[path][2] if path in every else None


def cache_constants(memory: Memory | None) -> dict[str, FloatOrArray]:
    """The times per byte that caches state, by their paths."""
    caches = () if memory is None else memory.caches
    return {f"caches.{level.name}.per_byte": level.per_byte_s for level in caches if level.per_byte_s is not None}


def part_and_field(path: str, place: Place) -> tuple[str, str]:
    every = CONSTANTS | POWERS
    check_not_former(path, place)
    if path not in every:
        allowed = nearest(path, [*every, CACHE_PATHS, SEGMENT_PATHS])
        raise InputError("not a constant of a machine", place, value=path, allowed=allowed)
    return every[path][0], every[path][1]


def check_not_former(path: str, place: Place) -> None:
    """InputError, with what is written now, for a path of interfaces as it was."""
    if path in FORMER_PATHS:
        now = FORMER_PATHS[path]
        key = now.rpartition(".")[2]
        what = f"{path} is now {now}, in a machine file 'interfaces: {{{key}: ...}}' under network"
        raise InputError(what, place, value=path, allowed=now)


def value_of(part: Any, name: str) -> Any:
    """A field of a part of a machine, or a field of that; None if there is no such part."""
    return functools.reduce(lambda whole, field: getattr(whole, field, None), name.split("."), part)


def with_values(part: Any, changes: Mapping[str, Any]) -> Any:
    """A part of a machine with other values of its fields, and of fields of these."""
    own = {name: value for name, value in changes.items() if "." not in name}
    for name in changes.keys() - own.keys():
        outer, _, inner = name.partition(".")
        own[outer] = replace(own.get(outer, getattr(part, outer)), **{inner: changes[name]})
    return replace(part, **own)


def paths_of(model: str) -> list[str]:
    """The network constants of a model alone."""
    return [path for path, other in MODEL_OF.items() if other == model]


def only_of(model: str) -> dict[str, Any]:
    """Fields of a network of this model without any constant of the others, and without S, which is stated anew."""
    others = [CONSTANTS[path][1] for path, other in MODEL_OF.items() if other != model]
    kept = (*HOCKNEY_KEYS, *others, "rendezvous_above_bytes", "segments")
    defaults = {name: getattr(Network, name) for name in kept}
    return {"model": model} | defaults


def check_constant(path: str, value: FloatOrArray, place: Place) -> None:
    """InputError unless the value is positive (rates), 0 or positive (times), or 1 or more (what is done at once), and
    in a sane range, everywhere."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{path} must be a number or an array of numbers", place, value=value)
    good = (array >= LEAST) & (array <= MOST)
    if path in AT_LEAST_ONE:
        good &= array >= 1
    elif path not in POSITIVE:
        good |= array == 0
    if not np.all(good):
        allowed = POSITIVE_RANGE if path in POSITIVE else NOT_NEGATIVE_RANGE
        allowed = "1 or more" if path in AT_LEAST_ONE else allowed
        raise InputError(f"{path} cannot be used", place, value=float(array[~good].flat[0]), allowed=allowed)
