"""The constants of a machine: where each stands, which of them belong together, and what values they may have."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import LEAST, MOST, NOT_NEGATIVE_RANGE, POSITIVE_RANGE, FloatOrArray, format_quantity
from simcodesign.describe.machine_parts import (
    ASSIGNMENTS,
    DIRECTION,
    DUPLEXES,
    HITS,
    ONE_BY_ONE,
    ROUND_ROBIN,
    SENDS,
    SHARES,
    TRANSFERS,
    Memory,
    Network,
    Processor,
)

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
    "failures.mtbf": ("failures", "mtbf_s", "time"),
}
#: Constants of the machine as a whole, which no phase replaces.
OF_THE_WHOLE = ("failures.mtbf",)
#: The same of powers, which no time depends on.
POWERS: dict[str, tuple[str, str, str]] = {
    **{
        f"{part}.dynamic_power": (part, "dynamic_power_w", "power")
        for part in ("processor", "memory", "disk", "network")
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
#: What a message occupies on its way -> the field of a network with the time per byte, and the path of its bandwidth.
OCCUPIED = {
    "link": ("link_per_byte_s", "network.link_bandwidth"),
    "interface": ("interfaces.per_byte_s", "network.interfaces.bandwidth"),
}
#: Interfaces of a node.
MOST_INTERFACES = 1024
#: Constants that must be above 0; the others may be 0.
POSITIVE = {"processor.rate", "processor.clock", "processor.cpi", "memory.capacity", "failures.mtbf"}
#: Constants that must be 1 or more.
AT_LEAST_ONE = {"memory.outstanding"}
#: What was written before a machine stated its interfaces together, and what is written now.
FORMER_PATHS = {
    "network.interface_per_byte": "network.interfaces.per_byte",
    "network.interface_bandwidth": "network.interfaces.bandwidth",
}
#: Path of the time per byte of a cache, which has the name that the machine file gives it.
_OF_CACHE = re.compile(r"caches\.([^.]+)\.per_byte")
#: The same, for a reader.
CACHE_PATHS = "caches.NAME.per_byte"
#: Path of the memory of a node. It is no constant of a cost model: no time depends on it, and no phase replaces it.
CAPACITY = "memory.capacity"


def cache_of(path: str) -> str | None:
    """The name of the cache whose time per byte stands at this path; None for any other path."""
    match = _OF_CACHE.fullmatch(path)
    return match.group(1) if match else None


def dimension_at(path: str) -> str | None:
    """The dimension, as the unit table names it, of the constant or power at this path; None where there is none."""
    if cache_of(path) is not None:
        return "per_byte"
    every = CONSTANTS | POWERS
    return every[path][2] if path in every else None


def cache_constants(memory: Memory | None) -> dict[str, FloatOrArray]:
    """The times per byte that caches state, by their paths."""
    caches = () if memory is None else memory.caches
    return {f"caches.{level.name}.per_byte": level.per_byte_s for level in caches if level.per_byte_s is not None}


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


def part_and_field(path: str, place: Place) -> tuple[str, str]:
    every = CONSTANTS | POWERS
    check_not_former(path, place)
    if path not in every:
        raise InputError("not a constant of a machine", place, value=path, allowed=nearest(path, [*every, CACHE_PATHS]))
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
    defaults = {name: getattr(Network, name) for name in (*HOCKNEY_KEYS, *others, "rendezvous_above_bytes")}
    return {"model": model} | defaults


def check_model(network: Network, place: Place) -> None:
    """InputError when a constant of another network model is set."""
    own = paths_of(network.model)
    fields = {CONSTANTS[path][1] for path in own}
    for path, other in MODEL_OF.items():
        name = CONSTANTS[path][1]
        value = getattr(network, name)
        if name not in fields and value is not None and np.any(np.asarray(value) != 0):
            what = f"{path} is a constant of the network model {other}, not of {network.model}"
            raise InputError(what, place, value=value, allowed=", ".join(own))
    if not isinstance(network.hops_hold_sender, bool):
        raise InputError("network.hops_hold_sender", place, value=network.hops_hold_sender, allowed="true, false")
    if network.sends not in SENDS:
        raise InputError("network.sends", place, value=network.sends, allowed=", ".join(SENDS))
    if not network.hops_hold_sender and not network.bytes_hold_sender and network.model == "hockney":
        what = "network.hops_hold_sender is for messages whose bytes hold their sender"
        raise InputError(what, place, value=f"sends: {network.sends}", allowed=f"sends: {ONE_BY_ONE}")
    for key in HOCKNEY_KEYS if network.model != "hockney" else ():
        if getattr(network, key) != getattr(Network, key):
            what = f"network.{key} belongs to the network model hockney, not to {network.model}"
            raise InputError(what, place, value=getattr(network, key))


def check_saturation(network: Network, place: Place) -> None:
    """InputError unless links may be busy for some share of the time."""
    if not 0 < network.saturation <= 1:
        raise InputError("network.saturation", place, value=network.saturation, allowed="above 0, up to 1")


def check_sharing(network: Network, place: Place) -> None:
    """InputError for fair shares of links that store whole messages; for packets in LogGOPS, of no size, or stored by
    links that are not all as fast as messages."""
    is_stored = network.switching == "store_and_forward"
    if network.shares not in SHARES:
        raise InputError("shares of links, network.shares", place, value=network.shares, allowed=", ".join(SHARES))
    if network.sharing == "fair" and is_stored:
        what = "network.sharing: fair is for messages that are on all links of their route at once"
        raise InputError(what, place, value=f"switching: {network.switching}", allowed="switching: cut_through")
    if network.sharing != "packets":
        return
    if network.model != "hockney":
        what = "network.sharing: packets is for messages of Hockney's model"
        raise InputError(what, place, value=f"model: {network.model}", allowed="model: hockney, or sharing: messages")
    if not 1 <= network.packet_bytes < np.inf:
        what = "the size of a packet, network.sharing.packets"
        raise InputError(what, place, value=network.packet_bytes, allowed="1 B or more")
    as_fast = np.all(np.asarray(network.link_occupancy_s_per_byte) == network.per_byte_s) and not network.links_differ
    if is_stored and not as_fast:
        what = "packets are stored only by links that are all as fast as messages"
        raise InputError(what, place, value=f"switching: {network.switching}", allowed="switching: cut_through")


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


def check_own_links(network: Network, place: Place) -> None:
    """InputError for a constant of all links where the topology says it of every link."""
    groups = [group for group in network.topology.link_groups if group.links]
    for path, value, own in (
        ("network.hop_latency", network.hop_latency_s, [group.latency_s for group in groups]),
        ("network.link_per_byte", network.link_per_byte_s, [group.per_byte_s for group in groups]),
    ):
        given = value is not None and bool(np.any(np.asarray(value) != 0))
        if given and own and None not in own:
            what = f"{path} says nothing, since all links of the topology have values of their own"
            raise InputError(what, place, value=value, allowed=f"{path}, or those of network.topology")


def check_local(network: Network, processors_per_node: int, place: Place) -> None:
    """InputError for costs of messages within a node that cannot be used, or that the model of messages has not."""
    for name, part in (("node", network.node), ("socket", network.socket)):
        if part is None:
            continue
        if network.model != "hockney":
            what = f"network.{name} belongs to the network model hockney, not to {network.model}"
            raise InputError(what, place, allowed=f"no network.{name}, or 'model: hockney'")
        check_constant(f"network.{name}.startup", part.startup_s, place)
        check_constant(f"network.{name}.bandwidth", part.per_byte_s, place)
    if network.socket is not None and network.node is None:
        what = "network.socket needs network.node, which says what messages within a socket cost"
        raise InputError(what, place, allowed="network.node")
    sockets = network.sockets_per_node
    if sockets < 1 or processors_per_node % sockets or (network.socket is None and sockets > 1):
        what = f"sockets of a node with {processors_per_node} processors"
        raise InputError(what, place, value=sockets, allowed=f"a divisor of {processors_per_node}")


def check_interfaces(network: Network, place: Place) -> None:
    """InputError for interfaces of a node that cannot be."""
    interfaces, topology = network.interfaces, network.topology
    for name, value, allowed in (
        ("duplex", interfaces.duplex, DUPLEXES),
        ("assignment", interfaces.assignment, (*ASSIGNMENTS, None)),
    ):
        if value not in allowed:
            raise InputError(f"network.interfaces.{name}", place, value=value, allowed=", ".join(filter(None, allowed)))
    if not 1 <= interfaces.count <= MOST_INTERFACES:
        allowed_counts = f"1 to {MOST_INTERFACES}"
        raise InputError("network.interfaces.count", place, value=interfaces.count, allowed=allowed_counts)
    if interfaces.assignment == DIRECTION and interfaces.count != topology.directions:
        what = f"{interfaces.count} interfaces, one for each direction of a {topology.label}"
        directions = f"count: {topology.directions}" if topology.directions else "a mesh or torus"
        raise InputError(what, place, value=f"assignment: {DIRECTION}", allowed=f"{directions}; or {ROUND_ROBIN}")


def check_occupancy(network: Network, part: str, place: Place) -> None:
    """InputError if links or interfaces of a network are slower than the messages that pass them. Links of their own
    may be: they slow messages down."""
    name, key = OCCUPIED[part]
    stated, whole = value_of(network, name), np.asarray(network.per_byte_s)
    occupancy = whole if stated is None else np.asarray(stated)
    if np.any(occupancy > whole * (1 + 1e-12)):
        slowest = float(1 / np.max(occupancy))
        message = "infinite" if not np.min(whole) else format_quantity(float(1 / np.min(whole)), "bandwidth")
        what = f"a message cannot pass faster than its {part}: network.bandwidth is {message}, {key}"
        allowed = f"at least the bandwidth of messages, or no {key} at all"
        raise InputError(what, place, value=format_quantity(slowest, "bandwidth"), allowed=allowed)
