"""The partitions of a machine file, and mappings of ranks onto them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CONSTANTS, value_of
from simcodesign.describe.keys.forms import Choice, Name, OneOf, Quantity, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Named, Section
from simcodesign.describe.machine_checks.network_checks import check_interfaces, check_occupancy
from simcodesign.describe.machine_parts.accelerator import ACCELERATOR, Accelerator
from simcodesign.describe.machine_parts.disk import DISK, Disk
from simcodesign.describe.machine_parts.memory import CACHE, MEMORY, CacheLevel, Memory
from simcodesign.describe.machine_parts.processor import PROCESSOR, Processor
from simcodesign.describe.network.interfaces import INTERFACES
from simcodesign.describe.network.network import Network
from simcodesign.describe.partitions import INSIDE, INTERFACE, OF_NODES, Partition, constants_inside
from simcodesign.describe.randomness.noise import Noise, share_as_distribution
from simcodesign.describe.topology.base import MAX_HOSTS
from simcodesign.describe.yaml.constants import OTHER_NAMES
from simcodesign.describe.yaml.memory import caches_from
from simcodesign.describe.yaml.network import INSIDE as NETWORK_INSIDE
from simcodesign.describe.yaml.network import networks_inside
from simcodesign.describe.yaml.noise import NOISE_OF_PARTITION, noise_from
from simcodesign.describe.yaml.tree import Entry


def _differing(section: Section, path: str) -> Section:
    """Return the keys of a part at this path, each by default as the machine states it."""
    paths = {key.name: f"{path}.{key.name}" for key in section.keys}
    return Section(
        *(
            replace(
                key,
                form=_differing(key.form, paths[key.name]) if isinstance(key.form, Section) else key.form,
                default=f"as `{paths[key.name]}`",
                required=False,
            )
            for key in section.keys
        )
    )


#: Values that a partition may state for its processors, its memory and its disks.
_PARTS = {
    "processor": _differing(PROCESSOR.only("rate", "clock", "cpi"), "processor"),
    "memory": _differing(MEMORY.only("latency", "bandwidth", "per_byte"), "memory"),
    "disk": _differing(DISK.only("read_startup", "write_startup", "bandwidth", "per_byte"), "disk"),
}
_INTERFACES = _differing(INTERFACES.only("count", "bandwidth", "per_byte"), "network.interfaces")
_NETWORK = Section(Key("interfaces", _INTERFACES, "the network interfaces of a node", required=True))
_NODE = Section(Key("network", NETWORK_INSIDE, "the network between the processors of these nodes"))
_SOCKET = Section(Key("per_node", Whole(1), "sockets of a node"), *_NODE.keys)
#: A network inside nodes, or a cache, that a partition has not, where the machine has it.
_NONE = "none"
_OR_NONE = Choice((_NONE,))
#: Keys of a partition, in addition to its name and the number of its nodes.
_OWN = (
    Key("processors_per_node", Whole(1), "processors of each of its nodes"),
    *(Key(part, section, "what differs") for part, section in _PARTS.items()),
    Key(
        "caches",
        Named(OneOf(_OR_NONE, _differing(CACHE, "caches.NAME")), "what differs of this cache; `none` if they lack it"),
        "caches of these nodes, by their names",
    ),
    Key(
        "accelerator",
        _differing(ACCELERATOR, "accelerator"),
        "what differs; all keys if the machine states none, and only these nodes have some",
    ),
    Key("network", _NETWORK, "what is their own of the network between nodes: their interfaces"),
    Key("node", OneOf(_OR_NONE, _NODE), "what these nodes have inside, or `none`"),
    Key("socket", OneOf(_OR_NONE, _SOCKET), "sockets of these nodes with a network of their own, or `none`"),
    Key(
        "noise",
        OneOf(Quantity("count"), NOISE_OF_PARTITION),
        "what varies times on these nodes, without `slow_nodes` and `bursts`",
    ),
)
#: All keys of a partition.
PARTITION = Section(
    Key("name", Name(), "its name: letters, digits, _ and -", required=True),
    Key("nodes", Whole(1, MAX_HOSTS), "its nodes", required=True),
    *(replace(key, default=f"as `{key.name}`") for key in _OWN),
)
#: Properties that all accelerators of a machine share.
_ALIKE = {"count": "count", "is_full_duplex": "link.duplex", "capacity_bytes": "memory.capacity"}
_ALIKE |= {"dynamic_power_w": "dynamic_power"}
_ALIKE |= {f"{name}_by_shape": name for name in ("efficiency", "attention_efficiency")}
_ALIKE |= {"interference": "interference", "reserved_bytes": "memory.reserved"}
#: Keys that a partition states in full, or not at all.
_WHOLE = ("topology", "segments")


@dataclass(frozen=True)
class PartitionReader:
    """Context of a partition.

    The ``items`` of its machine file, the machine's processor and its number in a node, its ``memory`` and its
    ``network`` between nodes, and the ``folder`` of the file.
    """

    items: Mapping[str, Entry]
    processor: Processor
    processors: int
    memory: Memory | None
    network: Network
    folder: Path

    def partitions(
        self, entry: Entry, accelerator: Accelerator | None
    ) -> tuple[tuple[Partition, ...], Accelerator | None]:
        """Return the partitions of a machine file, and the accelerator of the machine.

        If it states none, the first one of a partition, and the partitions that state none have none. InputError for
        what they cannot state.
        """
        if not entry.sequence():
            raise entry.error("no partitions", "[{name: ..., nodes: ...}, ...], or no key")
        found: list[Partition] = []
        only_some, first = accelerator is None, accelerator
        for item in entry.sequence():
            given = PARTITION.items(item)
            own: dict[str, FloatOrArray] = {}
            for part, section in _PARTS.items():
                if part in given:
                    own |= _paths(part, section.read(given[part]))
            if "accelerator" in given:
                stated = ACCELERATOR.read(_merged(self.items.get("accelerator"), given["accelerator"]))
                first = first or stated
                own |= _other_accelerator(stated, first, given["accelerator"])
            has = not only_some or "accelerator" in given
            processors = given["processors_per_node"].whole(low=1) if "processors_per_node" in given else None
            inside = self._inside(given, processors)
            own |= {} if inside is None else self._constants_inside(given, inside)
            interfaces = None
            if "network" in given:
                interfaces, per_byte = self._interfaces(given["network"])
                own |= per_byte
            name, nodes = given["name"].name(), given["nodes"].whole(1, MAX_HOSTS)
            caches = self._caches(given["caches"], own) if "caches" in given else None
            noise = self._noise(given["noise"], nodes) if "noise" in given else None
            found.append(Partition(name, nodes, own, has, processors, inside, interfaces, caches, noise))
        return tuple(found), first

    @staticmethod
    def _noise(entry: Entry, nodes: int) -> Noise:
        """Variation of times on the nodes of a partition; slow nodes and bursts are the machine's."""
        noise = noise_from(entry, nodes, NOISE_OF_PARTITION)
        if isinstance(noise, Noise):
            return noise
        return Noise(compute=share_as_distribution(noise, "noise", entry.place))

    def _caches(self, entry: Entry, own: Mapping[str, FloatOrArray]) -> tuple[CacheLevel, ...]:
        """Return the caches of a partition: the machine's caches with its own values, by their names.

        Without the caches for which it states ``none``; in cycles of its own clock.
        """
        if self.memory is None:
            raise entry.error("caches without a memory behind them", "memory of the machine")
        every = _merged(self.items.get("caches"), entry)
        levels = {name: item for name, item in every.mapping().items() if not item.says(_NONE)}
        processor = replace(self.processor, clock_hz=own.get("processor.clock", self.processor.clock_hz))
        return caches_from(replace(every, content=levels), self.memory.line_bytes, processor)

    def _interfaces(self, entry: Entry) -> tuple[int | None, dict[str, FloatOrArray]]:
        """Return the number of interfaces of a node to the network, None if not stated, and their constant.

        ``{interfaces: {count: 4, bandwidth: 25 GB/s}}``.
        """
        given = _NETWORK.items(entry)["interfaces"]
        items = _INTERFACES.items(given)
        values = _INTERFACES.values(items)
        own: dict[str, FloatOrArray] = {INTERFACE: values["per_byte_s"]} if "per_byte_s" in values else {}
        if own:
            interfaces = replace(self.network.interfaces, per_byte_s=own[INTERFACE])
            check_occupancy(replace(self.network, interfaces=interfaces), "interface", given.place)
        if "count" in items:
            interfaces = replace(self.network.interfaces, count=values["count"])
            check_interfaces(replace(self.network, interfaces=interfaces), items["count"].place)
        return values.get("count"), own

    def _inside(self, given: Mapping[str, Entry], processors: int | None) -> tuple[Network, ...] | None:
        """Return the networks inside the nodes of a partition, with what it does not state as the machine states it.

        None for the networks of the machine.
        """
        count = self.processors if processors is None else processors
        if not {"node", "socket"} & given.keys() and count == self.processors:
            return None
        levels: dict[str, Entry] = {}
        for key in ("node", "socket"):
            common = self.items.get(key)
            if key not in given and common is not None:
                levels[key] = common
            elif key in given and not given[key].says(_NONE):
                given[key].mapping(("network",) if key == "node" else ("per_node", "network"))
                levels[key] = _merged(common, given[key])
        if "node" in given and given["node"].says(_NONE) and "socket" not in given:
            levels.pop("socket", None)
        return tuple(networks_inside(levels, self.network, count, self.folder)[part] for part in self._parts(levels))

    @staticmethod
    def _parts(levels: Collection[str]) -> list[str]:
        """Return the fields of a machine with the networks at these keys, outermost first.

        Their reader checks the rest.
        """
        return [f"{key}_network" for key in ("node", "socket") if key in levels]

    def _constants_inside(self, given: Mapping[str, Entry], inside: Sequence[Network]) -> dict[str, FloatOrArray]:
        """Return the constants of these networks that a partition states, or that the machine has not.

        Keys are their paths.
        """
        own: dict[str, FloatOrArray] = {}
        for network, prefix in zip(inside, INSIDE, strict=False):
            key = prefix.partition(".")[0]
            stated = _keys_below(given[key].mapping()["network"]) if key in given else set()
            for path, name in constants_inside(network, INSIDE[prefix]):
                if key not in self.items or path.removeprefix(prefix) in stated:
                    own[path] = value_of(network, name)
        return own


def _keys_below(entry: Entry) -> set[str]:
    """Return the keys of constants that an entry states, a bandwidth as a time per byte.

    ``interfaces.per_byte`` is among them.
    """
    found: set[str] = set()
    for key, item in entry.mapping().items():
        if isinstance(item.content, dict):
            found |= {f"{key}.{inner}" for inner in _keys_below(item)}
        found |= {key, OTHER_NAMES.get(key, key)}
    return found


def with_most_interfaces(
    network: Network, partitions: Sequence[Partition], place: Place
) -> tuple[Network, tuple[Partition, ...]]:
    """Return the network with as many interfaces of a node as any partition has, and the partitions.

    Partitions that state none have as many as the network had. InputError for interfaces of directions that some nodes
    have not.
    """
    counts = [one.interfaces for one in partitions if one.interfaces is not None]
    if not counts:
        return network, tuple(partitions)
    own = network.interfaces.count
    every = tuple(one if one.interfaces is not None else replace(one, interfaces=own) for one in partitions)
    each = [one.interfaces or own for one in every]
    grown = replace(network, interfaces=replace(network.interfaces, count=max(each)))
    if min(each) < max(each) and grown.interfaces_have_directions:
        what = "interfaces of a node, one for each direction, which some partitions have not: network.interfaces"
        allowed = "as many on all nodes; or assignment: rank, or round_robin"
        raise InputError(what, place, value=max(each), allowed=allowed)
    return grown, every


def constants_of_parts(
    processor: Processor, memory: Memory | None, accelerator: Accelerator | None, disk: Disk | None
) -> dict[str, FloatOrArray]:
    """Constants of these parts that partitions may replace, by their paths."""
    parts = {"processor": processor, "memory": memory, "accelerator": accelerator, "disk": disk}
    values = {path: value_of(parts[CONSTANTS[path][0]], CONSTANTS[path][1]) for path in OF_NODES}
    return {path: value for path, value in values.items() if value is not None}


def processors_of_nodes(partitions: Sequence[Partition], per_node: int) -> int | NDArray[np.int64]:
    """Processors of a node, with ``per_node`` of the machine; of every node (nodes,) if they differ."""
    each = [one.processors_per_node or per_node for one in partitions] or [per_node]
    return each[0] if min(each) == max(each) else np.repeat(each, [one.nodes for one in partitions])


def ranks_on_partitions(entry: Entry, partitions: Sequence[Partition], per_node: int) -> tuple[int, ...]:
    """Return the node of every rank of ``{partitions: [gpu, cpu]}``.

    With ``{partitions: {gpu: 128, cpu: 64}}``, the nodes of one partition after another are filled, with as many ranks
    as they have processors, or as stated. ``per_node``: processors of a node of the machine.
    """
    if not partitions:
        raise entry.error(
            "a mapping onto partitions, which the machine has not", "partitions: [{name: ..., nodes: ...}]"
        )
    first: dict[str, int] = {}
    for one in partitions:
        first[one.name] = sum(other.nodes for other in partitions[: len(first)])
    each = {one.name: one.processors_per_node or per_node for one in partitions}
    room = {one.name: one.nodes * each[one.name] for one in partitions}
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
    return tuple(first[name] + rank // each[name] for name, count in counts.items() for rank in range(count))


def _paths(part: str, values: Mapping[str, Any]) -> dict[str, FloatOrArray]:
    """Constants of a part by their paths, from those by its fields."""
    return {path: values[name] for path, (where, name, _) in CONSTANTS.items() if where == part and name in values}


def _merged(common: Entry | None, own: Entry) -> Entry:
    """Return the values of a partition, and all others from the machine."""
    if common is None or not isinstance(common.content, dict) or not isinstance(own.content, dict):
        return own
    known = common.content
    content = {key: item if key in _WHOLE else _merged(known.get(key), item) for key, item in own.content.items()}
    kept = {key: content.get(key, item) for key, item in known.items() if key in content or not _replaced(key, content)}
    return replace(own, content={**kept, **content})


def _replaced(key: str, content: Mapping[str, Entry]) -> bool:
    """Whether a partition has a key, or its inverse."""
    return key in content or OTHER_NAMES.get(key, key) in content


def _other_accelerator(own: Accelerator, common: Accelerator, entry: Entry) -> dict[str, FloatOrArray]:
    """Return the constants in which an accelerator differs. InputError if it differs in anything else."""
    for name, key in _ALIKE.items():
        if getattr(own, name) != getattr(common, name):
            what = f"accelerators of partitions differ in their constants alone: accelerator.{key}"
            allowed = f"{getattr(common, name)}, as all accelerators of the machine"
            raise InputError(what, entry.place, value=getattr(own, name), allowed=allowed)
    fields = {path: CONSTANTS[path][1] for path in OF_NODES if path.startswith("accelerator.")}
    values = {path: value_of(own, name) for path, name in fields.items()}
    return {
        path: value for path, value in values.items() if value is not None and value != value_of(common, fields[path])
    }
