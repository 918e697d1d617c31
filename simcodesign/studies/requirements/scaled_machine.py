"""Machines made smaller, upgraded, or with other rates, so that designs can be simulated.

A smaller machine keeps the nodes as they are (processors, caches, memory, rates) and the kind of its network; there are
fewer of them. An upgrade changes the machine itself: nodes are added to its network, and processors to its nodes, where
they share what the node has: its memory controller and its network interfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import CacheLevel
from simcodesign.describe.network.size_segments import segment_constants
from simcodesign.describe.topology.base import TOPOLOGIES, Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.studies.requirements.upgrade_factors import Upgrade

#: Variable properties -> paths of constants, and the power of the factor: a bandwidth is the inverse of a time per
#: byte.
VARIED: Mapping[str, tuple[tuple[str, int], ...]] = {
    "processor.rate": (("processor.rate", 1), ("processor.clock", 1)),
    "network.startup": (("network.startup", 1), ("network.L", 1), ("network.o", 1), ("network.g", 1)),
    "network.hop_latency": (("network.hop_latency", 1),),
    "network.bandwidth": (("network.per_byte", -1), ("network.G", -1), ("network.link_per_byte", -1)),
    "network.interfaces.bandwidth": (("network.interfaces.per_byte", -1), ("network.interfaces.loaded_per_byte", -1)),
    "memory.latency": (("memory.latency", 1),),
    "memory.bandwidth": (("memory.per_byte", -1),),
    "disk.startup": (("disk.read_startup", 1), ("disk.write_startup", 1)),
    "disk.bandwidth": (("disk.per_byte", -1),),
    "caches.latency": (),  # no constants by path: latencies of all levels
    "caches.size": (),
    "caches.bandwidth": (),
}
#: Rate of each part of a machine, of the rates that an upgrade may change. Latencies are no rates.
RATE_OF: Mapping[str, tuple[tuple[str, int], ...]] = {
    "processor": VARIED["processor.rate"],
    "network": (*VARIED["network.bandwidth"], *VARIED["network.interfaces.bandwidth"]),
    "memory": VARIED["memory.bandwidth"],
    "disk": VARIED["disk.bandwidth"],
}


def smaller_machine(machine: Machine, ranks: int) -> Machine:
    """Return the machine with as few of its nodes as ``ranks`` fill.

    Raises InputError for a number of ranks that fills no whole nodes or more than there are, for ranks placed one by
    one, and for a network that has no smaller one of its kind.
    """
    per_node = machine.placement.per_node
    if isinstance(machine.mapping, tuple):
        raise InputError(f"{machine.name} places every rank by itself, so there is no smaller one", machine.place)
    if not (per_node <= ranks <= machine.most_ranks and ranks % per_node == 0):
        allowed = f"a multiple of {per_node}, the processors of a node, up to {machine.most_ranks}"
        raise InputError(f"ranks to be simulated on {machine.name}", machine.place, value=ranks, allowed=allowed)
    return with_nodes(machine, ranks // per_node)


def with_nodes(machine: Machine, nodes: int) -> Machine:
    """Return the machine with another number of nodes.

    Joined by a network of the same kind and number of dimensions.
    """
    if nodes == machine.nodes:
        return machine
    return machine.with_topology(resized(machine.network.topology, nodes, machine))


def resized(topology: Topology, nodes: int, machine: Machine) -> Topology:
    """Return a network of the same kind with like options.

    A grid of a similar shape, a fat tree of the same switches.
    """
    if not topology.can_be_resized:
        what = f"the network of {machine.name} is a {topology.kind}, of which there is none with other nodes"
        others = sorted(kind for kind, one in TOPOLOGIES.items() if one.can_be_resized)
        raise InputError(what, machine.place, allowed=", ".join(others))
    return build_topology(topology.kind, nodes, place=machine.place, **topology.options_for(nodes))


def upgraded_machine(machine: Machine, upgrade: Upgrade) -> Machine:
    """Return the machine after the upgrade.

    More nodes, more processors of a node, another memory of a processor, other rates.

    A node keeps its one memory controller and its network interfaces; each processor has caches like the others.
    Raises InputError if nodes or processors of a node would be no whole numbers.
    """
    nodes = _whole(machine.nodes * upgrade.nodes, "nodes", upgrade)
    per_node = _whole(machine.processors_per_node * upgrade.processors_per_node, "processors of a node", upgrade)
    grown = with_nodes(machine, nodes)
    sharing = 1.0 if machine.mapping == "one_per_node" else upgrade.processors_per_node
    capacity = None if machine.capacity_bytes is None else machine.capacity_bytes * upgrade.memory * sharing
    grown = replace(grown, processors_per_node=per_node, capacity_bytes=capacity)
    for part, factor in upgrade.rates.items():
        if part != "disk" or grown.disk is not None:
            grown = grown.with_constants(_changed(grown, RATE_OF[part], factor))
    return grown


def varied_machine(machine: Machine, name: str, factor: float) -> Machine:
    """Return the machine with one number of ``VARIED`` times the factor; the same machine if it has no such thing."""
    if name not in VARIED:
        raise InputError("cannot be varied", value=name, allowed=nearest(name, VARIED))
    if name == "caches.latency":
        return _caches(machine, lambda level: replace(level, latency_s=level.latency_s * factor))
    if name == "caches.size":
        return _caches(machine, lambda level: replace(level, size_bytes=round(level.size_bytes * factor)))
    if name == "caches.bandwidth":
        return _caches(machine, lambda level: _with_bandwidth_times(level, factor))
    return machine.with_constants(_changed(machine, VARIED[name], factor))


def _with_bandwidth_times(level: CacheLevel, factor: float) -> CacheLevel:
    """Return a cache with ``factor`` times its bandwidth, if it states one."""
    return level if level.per_byte_s is None else replace(level, per_byte_s=level.per_byte_s / factor)


def _changed(machine: Machine, paths: tuple[tuple[str, int], ...], factor: float) -> dict[str, FloatOrArray]:
    """Constants that the machine has, each times a power of the factor."""
    own, powers = machine.constants(), dict(paths)
    changed = {path: own[path] * factor**power for path, power in paths if path in own}
    for path in segment_constants(machine.network.message_model):
        whole = f"network.{path.rpartition('.')[2]}"  # of all segments of sizes, what is varied of a network without
        if whole in powers:
            changed[path] = own[path] * factor ** powers[whole]
    return changed


def _caches(machine: Machine, change: Callable[[CacheLevel], CacheLevel]) -> Machine:
    if machine.memory is None:
        return machine
    levels = tuple(change(level) for level in machine.memory.caches)
    return replace(machine, memory=replace(machine.memory, caches=levels))


def _whole(count: float, what: str, upgrade: Upgrade) -> int:
    if count < 1 or abs(count - round(count)) > 1e-9 * count:
        raise InputError(
            f"the upgrade {upgrade.name} leaves no whole number of {what}",
            value=count,
            allowed="another number of ranks, or other factors",
        )
    return round(count)
