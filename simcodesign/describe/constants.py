"""The constants of a machine: their paths, which of them belong together, and their allowed values."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.registry import MadeOfRegistry
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import ABOVE_0, FROM_0, check_range
from simcodesign.describe.keys.section import Section
from simcodesign.describe.machine_parts.accelerator import ACCELERATOR
from simcodesign.describe.machine_parts.disk import DISK
from simcodesign.describe.machine_parts.memory import MEMORY, Memory
from simcodesign.describe.machine_parts.message_memory import MESSAGE_MEMORY
from simcodesign.describe.machine_parts.processor import PROCESSOR
from simcodesign.describe.machine_parts.storage import STORAGE
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel
from simcodesign.describe.network.network import NETWORK
from simcodesign.describe.network.size_segments import SEGMENT_PATHS, segment_at, segment_dimension
from simcodesign.describe.randomness.node_failures import FAILURES

#: Sections with constants: the part of a machine -> its path in a file, and its keys.
_SECTIONS: Mapping[str, tuple[str, Section]] = {
    "processor": ("processor", PROCESSOR),
    "network": ("network", NETWORK),
    "disk": ("disk", DISK),
    "memory": ("memory", MEMORY),
    "node_memory": ("node.memory", MESSAGE_MEMORY),
    "accelerator": ("accelerator", ACCELERATOR),
    "storage": ("storage", STORAGE),
    "failures": ("failures", FAILURES),
}
_POWERS = ("power", "energy_per_byte")
#: The range of each constant and power that does not depend on the model of messages, by its path.
RANGES = {path: form.range for path, section in _SECTIONS.values() for path, _, form in section.constants(path)}
#: Where each of them is, as in ``CONSTANTS`` and ``POWERS``.
_OF_PARTS: dict[str, tuple[str, str, str]] = {
    where: (part, name, form.dimension)
    for part, (path, section) in _SECTIONS.items()
    for where, name, form in section.constants(path)
}
#: Constants of a network, in addition to message constants, that the networks inside nodes and sockets have too.
_OF_EVERY_LEVEL = (
    *("hop_latency", "S", "link_per_byte", "in_switch.latency", "in_switch.per_byte", "interfaces.per_byte"),
)
#: Parts of a machine with a network of their own, and their field of the machine.
_INNER = {"node": "node_network", "socket": "socket_network"}
#: Constants of the machine as a whole, which no phase replaces.
OF_THE_WHOLE = ("failures.mtbf", "accelerator.memory.capacity")
#: Powers, which no time depends on.
POWERS = {path: one for path, one in _OF_PARTS.items() if one[2] in _POWERS}


def _every_constant(models: Sequence[type[MessageModel]]) -> dict[str, tuple[str, str, str]]:
    """Return all constants.

    Constants of message models are at the position that readers expect: the first model's before the hop latency.
    """
    of_models = [
        {
            f"network.{key}": ("network", f"message_model.{name}", dimension)
            for key, (name, dimension) in model.constants().items()
        }
        for model in models
    ]
    every: dict[str, tuple[str, str, str]] = {}
    for path, constant in _OF_PARTS.items():
        if constant[2] in _POWERS:
            continue
        if path == "network.hop_latency":
            every |= of_models[0]
        every[path] = constant
        if path == "network.hop_latency":
            every |= {other: one for several in of_models[1:] for other, one in several.items()}
    levels = {f"network.{key}" for key in _OF_EVERY_LEVEL}.union(*of_models)
    of_all = {path.removeprefix("network."): one for path, one in every.items() if path in levels}
    for level, part in _INNER.items():
        every |= {f"{level}.network.{key}": (part, *one[1:]) for key, one in of_all.items()}
    return every


#: Path in a file -> part of the machine, field or field of a field, dimension of the unit table.
CONSTANTS: MadeOfRegistry[tuple[str, str, str]] = MadeOfRegistry(MESSAGE_MODELS, _every_constant)


def _models_of(models: Sequence[type[MessageModel]]) -> dict[str, tuple[str, ...]]:
    every: dict[str, tuple[str, ...]] = {}
    for model in models:
        for key in model.constants():
            every[f"network.{key}"] = (*every.get(f"network.{key}", ()), model.name)
    return every


#: Path of a constant that only some models of messages have -> their names.
MODELS_OF: MadeOfRegistry[tuple[str, ...]] = MadeOfRegistry(MESSAGE_MODELS, _models_of)
#: Constants that must be above 0.
POSITIVE = {path for path, range in RANGES.items() if range == ABOVE_0} | {"memory.capacity"}
#: Paths from before a machine stated its interfaces together, and their present paths.
FORMER_PATHS = {
    "network.interface_per_byte": "network.interfaces.per_byte",
    "network.interface_bandwidth": "network.interfaces.bandwidth",
}
#: Path of the time per byte of a cache, which has the name that the machine file gives it.
_OF_CACHE = re.compile(r"caches\.([^.]+)\.per_byte")
#: Path of a constant of a partition, which has the name that the machine file gives it.
_OF_PARTITION = re.compile(r"partitions\.[^.]+\.(.+)")
#: The path of such a constant, for a reader.
CACHE_PATHS = "caches.NAME.per_byte"
#: Path of the memory of a node. It is no constant of a cost model: no time depends on it, and no phase replaces it.
CAPACITY = "memory.capacity"


def cache_of(path: str) -> str | None:
    """Return the name of the cache whose time per byte has this path; None for any other path."""
    match = _OF_CACHE.fullmatch(path)
    return match.group(1) if match else None


def in_partition(path: str) -> str | None:
    """Return the path within its partition of a constant of a partition; None for any other path."""
    match = _OF_PARTITION.fullmatch(path)
    return match.group(1) if match else None


def dimension_at(path: str) -> str | None:
    """Return the dimension, as the unit table names it, of the constant or power at this path.

    None if there is none.
    """
    if (own := in_partition(path)) is not None:
        return CONSTANTS[own][2] if own in CONSTANTS else None
    if cache_of(path) is not None:
        return "per_byte"
    segment = segment_at(path)
    if segment is not None:
        return segment_dimension(segment[1])
    every = {**CONSTANTS, **POWERS}
    return every[path][2] if path in every else None


def cache_constants(memory: Memory | None) -> dict[str, FloatOrArray]:
    """Return the times per byte that caches state, by their paths."""
    caches = () if memory is None else memory.caches
    return {f"caches.{level.name}.per_byte": level.per_byte_s for level in caches if level.per_byte_s is not None}


def part_and_field(path: str, place: Place) -> tuple[str, str]:
    """Return the part of the machine and the field of the constant at ``path``. Raises InputError for another path."""
    every = {**CONSTANTS, **POWERS}
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
    """Return a field of a part of a machine, or a field of that; None if there is no such part."""
    return functools.reduce(lambda whole, field: getattr(whole, field, None), name.split("."), part)


def with_values(part: Any, changes: Mapping[str, Any]) -> Any:
    """Return a part of a machine with other values of its fields, and of fields of these."""
    own = {name: value for name, value in changes.items() if "." not in name}
    for name in changes.keys() - own.keys():
        outer, _, inner = name.partition(".")
        own[outer] = replace(own.get(outer, getattr(part, outer)), **{inner: changes[name]})
    return replace(part, **own)


def is_of(path: str, model: MessageModel | type[MessageModel]) -> bool:
    """Whether a machine with this model of messages may have the constant, whatever its level."""
    level, _, rest = path.partition(".")
    return model.name in MODELS_OF.get(rest if level in _INNER else path, (model.name,))


def paths_of(model: MessageModel | type[MessageModel]) -> list[str]:
    """Return the network constants of a model of messages alone."""
    return [f"network.{key}" for key in model.constants()]


def required_paths(model: MessageModel | type[MessageModel]) -> list[str]:
    """Return the constants that it must be given, the time per byte last."""
    return [f"network.{key}" for key in model.required]


def check_constant(path: str, value: FloatOrArray, place: Place) -> None:
    """Raise InputError unless the value is in the range of its kind, everywhere.

    Positive (rates), 0 or positive (times), or 1 or more (concurrent items), and in a sane range.
    """
    check_range(path, value, place, ABOVE_0 if path == CAPACITY else RANGES.get(path, FROM_0))
