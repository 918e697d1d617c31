"""Partitions of a machine: nodes of different kinds, numbered one partition after another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CONSTANTS, check_constant, is_of, value_of, with_values
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.levels import NodeKind
from simcodesign.describe.machine_parts.memory import CacheLevel
from simcodesign.describe.machine_parts.rates import FORMAT_BYTES
from simcodesign.describe.network.network import Network
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.noise import PARTS, Noise

#: The constants of its own processors and memory that a rank takes by its node.
OF_NODES = (
    *("processor.rate", "processor.clock", "processor.cpi"),
    *("memory.latency", "memory.per_byte"),
    *("disk.read_startup", "disk.write_startup", "disk.per_byte"),
    *("accelerator.rate", "accelerator.efficiency", "accelerator.attention_efficiency", "accelerator.launch"),
    *(f"accelerator.rates.{name}" for name in FORMAT_BYTES),
    *(f"accelerator.{part}.{key}" for part in ("memory", "link") for key in ("latency", "per_byte")),
)
_NAME = re.compile(r"[A-Za-z_][\w-]*")


#: The constant of its own interfaces to the network between the nodes.
INTERFACE = "network.interfaces.per_byte"
#: How the paths of constants of the networks inside nodes begin, and the fields of a machine and a kind of nodes.
INSIDE = {"node.network.": "node_network", "socket.network.": "socket_network"}


@dataclass(frozen=True)
class Partition:
    """``nodes`` nodes that are alike, with ``constants`` of their own, in SI units.

    ``constants`` are by their paths (``OF_NODES``, and constants of the networks inside); all other constants are the
    machine's. ``has_accelerator``: whether they have the accelerators of the machine. ``processors_per_node``: None for
    as many as the machine states. ``inside``: the networks that join the processors of a node, outermost first, () for
    none; None: the machine's. ``interfaces``: of a node to the network, no more than the network states; None: as many
    as that. ``caches``: of its processors; ``noise`` of its ranks, without slow nodes and bursts; None: the machine's.
    """

    name: str
    nodes: int
    constants: Mapping[str, FloatOrArray] = field(default_factory=dict)
    has_accelerator: bool = True
    processors_per_node: int | None = None
    inside: tuple[Network, ...] | None = None
    interfaces: int | None = None
    caches: tuple[CacheLevel, ...] | None = None
    noise: Noise | None = None

    @property
    def of_ranks(self) -> dict[str, FloatOrArray]:
        """The constants that a rank takes by its node."""
        return {path: value for path, value in self.constants.items() if path in OF_NODES}

    @property
    def differs_inside(self) -> bool:
        """Whether its nodes have another number of anything, other networks or other caches than the machine states."""
        own = (self.processors_per_node, self.inside, self.interfaces, self.caches)
        return any(one is not None for one in own)

    def paths(self) -> dict[str, FloatOrArray]:
        """Its constants by the paths by which they are set: ``partitions.NAME.processor.rate``."""
        return {f"partitions.{self.name}.{path}": value for path, value in self.constants.items()}


def partitions_of(partitions: Sequence[Partition], node: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the partition of every node, (n,)."""
    return np.searchsorted(np.cumsum([one.nodes for one in partitions]), node, side="right")


def constants_of_ranks(
    partitions: Sequence[Partition], common: Mapping[str, FloatOrArray], node: NDArray[np.int64]
) -> dict[str, FloatOrArray]:
    """Return the constants that differ between partitions, of every rank by its ``node`` (P,): arrays (..., P).

    ``common``: the constants of the machine.
    """
    number = partitions_of(partitions, node)
    values: dict[str, FloatOrArray] = {}
    for path in dict.fromkeys(path for one in partitions for path in one.of_ranks):
        each = np.broadcast_arrays(*(one.constants.get(path, common[path]) for one in partitions))
        values[path] = np.stack(each, axis=-1)[..., number]
    return values


def kinds_of(partitions: Sequence[Partition], common: NodeKind) -> tuple[NodeKind, ...]:
    """Return the kinds of nodes of a machine: one, or one of each partition.

    Nodes are as ``common`` unless partitions differ.
    """
    if not any(one.differs_inside for one in partitions):
        return (common,)
    kinds, first = list[NodeKind](), 0
    for one in partitions:
        own: dict[str, Any] = {"first_node": first, "nodes": one.nodes, "caches": one.caches}
        own |= {} if one.processors_per_node is None else {"processors": one.processors_per_node}
        own |= {} if one.interfaces is None else {"interfaces": one.interfaces}
        kinds.append(replace(common, **own, **_networks(one, common)))
        first += one.nodes
    return tuple(kinds)


def interface_factors(partitions: Sequence[Partition], common_s_per_byte: FloatOrArray) -> NDArray[np.float64] | None:
    """Return the time for which a byte occupies an interface of every node, over ``common_s_per_byte``.

    The latter is the network's time. Shape (..., nodes); None if no partition states its own.
    """
    if not any(INTERFACE in one.constants for one in partitions):
        return None
    some = np.asarray(common_s_per_byte) > 0
    every = (one.constants.get(INTERFACE, common_s_per_byte) for one in partitions)
    factors = [np.where(some, own / np.where(some, common_s_per_byte, 1.0), 1.0) for own in every]
    each = np.stack(np.broadcast_arrays(*factors), axis=-1)
    each = each[..., 0, :] if each.ndim > 1 else each  # constants with an axis of the ranks, of length one
    return np.repeat(each, [one.nodes for one in partitions], axis=-1)


def noises_of(
    partitions: Sequence[Partition], common: Noise, node: NDArray[np.int64], part: str
) -> list[tuple[Distribution | None, NDArray[np.bool_] | None]]:
    """Return the distributions of a part of noise, None for none.

    Also return which ranks on these nodes (P,) have each, None for all.
    """
    law = common.parts.get(part)
    if all(one.noise is None for one in partitions):
        return [(law, None)]
    number = partitions_of(partitions, node)
    return [
        (law if one.noise is None else one.noise.parts.get(part), number == place)
        for place, one in enumerate(partitions)
    ]


def varied_parts(partitions: Sequence[Partition], common: Noise) -> list[str]:
    """Return the parts of which some ranks have noise."""
    every = [common, *(one.noise for one in partitions if one.noise is not None)]
    return [part for part in PARTS if any(part in noise.parts for noise in every)]


def _networks(partition: Partition, kind: NodeKind) -> dict[str, Any]:
    """Return the networks inside the nodes of a partition.

    Its constants, and the machine's if it does not state them.
    """
    if partition.inside is None:
        return {}
    own = dict[str, Network | None].fromkeys(INSIDE.values())
    for network, part in zip(partition.inside, INSIDE.values(), strict=False):
        common = getattr(kind, part)
        changes = dict[str, FloatOrArray]()
        for path, name in () if network.message_model.segments else constants_inside(network, part):
            value = partition.constants.get(path, value_of(common, name))
            changes |= {} if value is None else {name: value}
        own[part] = with_values(network, changes)
    return own


def constants_inside(network: Network, part: str) -> Iterator[tuple[str, str]]:
    """Yield the paths and fields of the constants that a network has as this field of a machine."""
    for path, (where, name, _) in CONSTANTS.items():
        if where == part and is_of(path, network.message_model) and value_of(network, name) is not None:
            yield path, name


def check_partitions(
    partitions: Sequence[Partition],
    nodes: int,
    common: Mapping[str, FloatOrArray],
    place: Place,
    disk: Disk | None = None,
) -> None:
    """Raise InputError unless partitions have names of their own, all nodes, and constants of the machine.

    Constants of a disk are allowed only if each node has one.
    """
    names = [one.name for one in partitions]
    for one in partitions:
        if not _NAME.fullmatch(one.name) or names.count(one.name) > 1:
            allowed = "letters, digits, _ and -, each name once"
            raise InputError("the name of a partition", place, value=one.name, allowed=allowed)
        for path, value in one.constants.items():
            if path.startswith("disk.") and disk is not None and disk.shared_by > 1:
                what = f"partition {one.name} states {path}, where a disk is shared by nodes: disk.shared_by"
                raise InputError(what, place, value=disk.shared_by, allowed="1")
            prefix = next((prefix for prefix in INSIDE if path.startswith(prefix)), None)
            if path not in (*OF_NODES, INTERFACE) and (prefix is None or path not in CONSTANTS):
                raise InputError(
                    "a constant of a partition", place, value=path, allowed=nearest(path, (*OF_NODES, INTERFACE))
                )
            if prefix is not None and len(one.inside or ()) <= [*INSIDE].index(prefix):
                what = f"partition {one.name} states {path}, and has no network there of its own"
                raise InputError(what, place, allowed=f"{prefix.removesuffix('.')} of the partition")
            if path in OF_NODES and path not in common:
                what = f"partition {one.name} states {path}, which the machine does not: other nodes would have none"
                raise InputError(what, place, allowed=f"{path} of the machine as well")
            check_constant(path, value, place)
    total = sum(one.nodes for one in partitions)
    if total != nodes or min(one.nodes for one in partitions) < 1:
        what = f"nodes of the partitions {', '.join(f'{one.name} ({one.nodes})' for one in partitions)}"
        raise InputError(what, place, value=total, allowed=f"{nodes} in all, the nodes of the machine")
    for one in partitions:
        if one.processors_per_node is not None and one.processors_per_node < 1:
            what = f"processors_per_node of the partition {one.name}"
            raise InputError(what, place, value=one.processors_per_node, allowed="1 or above")


def with_partition_constants(
    partitions: Sequence[Partition], values: Mapping[str, FloatOrArray], machine: str, place: Place
) -> tuple[Partition, ...]:
    """Return the partitions with other constants, by ``partitions.NAME.PATH``.

    InputError for a partition that there is not, and for a constant that it has not.
    """
    changed = {one.name: one for one in partitions}
    for path, value in values.items():
        _, name, own = path.split(".", 2)
        if name not in changed:
            allowed = nearest(name, changed) if changed else "a machine with partitions"
            raise InputError(f"{machine} has no partition of this name", place, value=name, allowed=allowed)
        changed[name] = replace(changed[name], constants={**changed[name].constants, own: value})
    return tuple(changed.values())
