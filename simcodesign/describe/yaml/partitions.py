"""The partitions of a machine file, and mappings of ranks onto them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CONSTANTS, value_of
from simcodesign.describe.machine_parts.accelerator import Accelerator
from simcodesign.describe.machine_parts.memory import Memory
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.partitions import OF_NODES, Partition
from simcodesign.describe.topology.options import MAX_HOSTS
from simcodesign.describe.yaml.accelerators_and_storage import accelerator_from
from simcodesign.describe.yaml.constants import constants_from
from simcodesign.describe.yaml.tree import Entry

#: What a partition may state of its processors and its memory.
_KEYS = {"processor": ("rate", "clock", "cpi"), "memory": ("latency", "bandwidth", "per_byte")}
#: What all accelerators of a machine have in common.
_ALIKE = {"count": "count", "is_full_duplex": "link.duplex", "capacity_bytes": "memory.capacity"}
_ALIKE |= {"dynamic_power_w": "dynamic_power"}


def partitions_from(
    entry: Entry, items: Mapping[str, Entry], accelerator: Accelerator | None
) -> tuple[tuple[Partition, ...], Accelerator | None]:
    """The partitions of a machine file with these ``items``, and the accelerator of the machine: if it states none, the
    first one of a partition, and the partitions that state none have none. InputError for what they cannot state."""
    if not entry.sequence():
        raise entry.error("no partitions", "[{name: ..., nodes: ...}, ...], or no key")
    found: list[Partition] = []
    only_some, first = accelerator is None, accelerator
    for item in entry.sequence():
        given = item.mapping(("name", "nodes", *_KEYS, "accelerator"), ("name", "nodes"))
        own: dict[str, FloatOrArray] = {}
        for part, keys in _KEYS.items():
            if part in given:
                own |= _paths(part, constants_from(given[part], part, only=keys))
        if "accelerator" in given:
            stated = accelerator_from(_merged(items.get("accelerator"), given["accelerator"]))
            first = first or stated
            own |= _other_accelerator(stated, first, given["accelerator"])
        has = not only_some or "accelerator" in given
        found.append(Partition(given["name"].name(), given["nodes"].whole(1, MAX_HOSTS), own, has))
    return tuple(found), first


def constants_of_parts(
    processor: Processor, memory: Memory | None, accelerator: Accelerator | None
) -> dict[str, FloatOrArray]:
    """Those constants of these parts that partitions may replace, by their paths."""
    parts = {"processor": processor, "memory": memory, "accelerator": accelerator}
    values = {path: value_of(parts[CONSTANTS[path][0]], CONSTANTS[path][1]) for path in OF_NODES}
    return {path: value for path, value in values.items() if value is not None}


def ranks_on_partitions(entry: Entry, partitions: Sequence[Partition], per_node: int) -> tuple[int, ...]:
    """The node of every rank of ``{partitions: [gpu, cpu]}`` or ``{partitions: {gpu: 128, cpu: 64}}``: the nodes of one
    partition after another are filled, with as many ranks as they have processors, or as stated."""
    if not partitions:
        raise entry.error(
            "a mapping onto partitions, which the machine has not", "partitions: [{name: ..., nodes: ...}]"
        )
    first: dict[str, int] = {}
    for one in partitions:
        first[one.name] = sum(other.nodes for other in partitions[: len(first)])
    room = {one.name: one.nodes * per_node for one in partitions}
    asked = entry.mapping({"partitions"}, ("partitions",))["partitions"]
    if isinstance(asked.content, dict):
        counts = {}
        for name, item in asked.mapping().items():
            if name not in room:
                raise InputError("no partition of this name", item.place, value=name, allowed=nearest(name, room))
            counts[name] = item.whole(1, room[name])
    else:
        names = [item.text(room) for item in asked.sequence()]
        if len({*names}) < len(names):
            raise asked.error("ranks are placed on a partition once", ", ".join(room))
        counts = {name: room[name] for name in names}
    if not counts:
        raise asked.error("no rank is placed", ", ".join(room))
    return tuple(first[name] + rank // per_node for name, count in counts.items() for rank in range(count))


def _paths(part: str, values: Mapping[str, Any]) -> dict[str, FloatOrArray]:
    """Constants of a part by their paths, from those by its fields."""
    return {path: values[name] for path, (where, name, _) in CONSTANTS.items() if where == part and name in values}


def _merged(common: Entry | None, own: Entry) -> Entry:
    """What a partition states, and all else as the machine states it."""
    if common is None or not isinstance(common.content, dict) or not isinstance(own.content, dict):
        return own
    content = {key: _merged(common.content.get(key), item) for key, item in own.content.items()}
    kept = {key: item for key, item in common.content.items() if not _replaced(key, content)}
    return replace(own, content={**kept, **content})


def _replaced(key: str, content: Mapping[str, Entry]) -> bool:
    """Whether a key, or the other way to state the same, is among those of a partition."""
    other = {"bandwidth": "per_byte", "per_byte": "bandwidth"}.get(key, key)
    return key in content or other in content


def _other_accelerator(own: Accelerator, common: Accelerator, entry: Entry) -> dict[str, FloatOrArray]:
    """The constants in which an accelerator differs. InputError if it differs in anything else."""
    for name, key in _ALIKE.items():
        if getattr(own, name) != getattr(common, name):
            what = f"accelerators of partitions differ in their constants alone: accelerator.{key}"
            allowed = f"{getattr(common, name)}, as all accelerators of the machine"
            raise InputError(what, entry.place, value=getattr(own, name), allowed=allowed)
    fields = {path: CONSTANTS[path][1] for path in OF_NODES if path.startswith("accelerator.")}
    values = {path: getattr(own, name) for path, name in fields.items()}
    return {
        path: value for path, value in values.items() if value is not None and value != getattr(common, fields[path])
    }
