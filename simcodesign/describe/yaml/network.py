"""The network of a machine, from a YAML tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.describe.constants import HOCKNEY_KEYS, MODEL_OF, REQUIRED_CONSTANTS, check_constant, check_not_former
from simcodesign.describe.machine_parts.interfaces import ASSIGNMENTS, DUPLEXES, Interfaces
from simcodesign.describe.machine_parts.levels import AS_OUTSIDE, PATHS, check_level
from simcodesign.describe.machine_parts.network import CHOICES, QUEUES, SHARES, SHARINGS, LocalMessages, Network, Ugal
from simcodesign.describe.machine_parts.network_checks import (
    MOST_INTERFACES,
    MOST_THRESHOLD,
    check_interfaces,
    check_occupancy,
    check_own_links,
    check_routing,
    check_saturation,
    check_sharing,
)
from simcodesign.describe.machine_parts.nodes_by_ranks import NodesByRanks
from simcodesign.describe.topology.base import ROUTINGS, TOPOLOGIES, UGAL, Topology
from simcodesign.describe.topology.build import build_topology, check_options
from simcodesign.describe.yaml.constants import constant_value, constants_from, time_per_byte
from simcodesign.describe.yaml.segments import LOCAL_KEYS, check_not_beside, segments_from
from simcodesign.describe.yaml.tree import Entry

#: Keys of a network that a level has as the network between the nodes has them.
_AS_OUTSIDE = ("model", "sharing", "sends", "hops_hold_sender", "startup_per", "switching", "routing")
#: Choices that may be mappings, of a word to how it is done.
_MAPPINGS = ("sharing", "routing")


def network_from(
    entry: Entry, nodes: int | NodesByRanks, folder: Path, path: str = PATHS[0], outer: Network | None = None
) -> Network:
    """The network of so many nodes, or the smallest of those whose nodes follow the ranks; or with the network between
    the nodes, ``outer``, that of a level inside, whose hosts are so many."""
    items = entry.mapping()
    outer_model = Network.model if outer is None else outer.model
    model = items["model"].text(CHOICES["model"]) if "model" in items else outer_model
    *required, per_byte = REQUIRED_CONSTANTS[model]
    _check_keys_of(model, items)
    parts = ("topology", "interfaces", "segments", "hops_hold_sender", *CHOICES)
    others = parts if outer is not None else (*parts, "node", "socket", "rails", "saturation")
    for key, item in items.items():
        check_not_former(f"network.{key}", item.place)
    values = constants_from(entry, path, others, {"bandwidth": per_byte})
    if "segments" in items:
        check_not_beside(items, model)
    entry.mapping(required=("topology", *(required if "segments" not in items else ())))
    if "per_byte_s" not in values and "segments" not in items:
        raise InputError(f"'bandwidth' (or {per_byte!r}) is missing", entry.place)
    texts = {key: items[key].text(allowed) for key, allowed in CHOICES.items() if key in items and key not in _MAPPINGS}
    inherited = {} if outer is None else {name: getattr(outer, name) for name in AS_OUTSIDE}
    topology = nodes.smallest() if isinstance(nodes, NodesByRanks) else _topology(items["topology"], nodes, folder)
    rails = items["rails"].whole(1, MOST_INTERFACES) if "rails" in items else Network.rails
    interfaces = _interfaces(items["interfaces"], rails, path) if "interfaces" in items else Interfaces(rails)
    own: dict[str, Any] = {**inherited, **values, **texts, **_sharing(items), **_routing(items), **_local(items)}
    if "hops_hold_sender" in items:
        own["hops_hold_sender"] = items["hops_hold_sender"].flag()
    if "segments" in items:
        own["segments"] = segments_from(items["segments"], model)
    if "saturation" in items:
        own["saturation"] = items["saturation"].number()
    network = Network(topology, interfaces=interfaces, rails=rails, **own)
    if outer is not None:
        apart = [item for key, item in items.items() if key in _AS_OUTSIDE]
        check_level(network, outer, path, (apart[0] if len(apart) == 1 else entry).place)
    stated = items.get("link_per_byte", items.get("link_bandwidth", entry))
    check_occupancy(network, "link", stated.place)
    stated = items.get("interfaces", items.get("rails", entry))
    check_occupancy(network, "interface", stated.place)
    check_interfaces(network, stated.place)
    check_saturation(network, items.get("saturation", entry).place)
    stated = items.get("hop_latency", items.get("link_per_byte", items.get("link_bandwidth", entry)))
    check_own_links(network, stated.place)
    check_sharing(network, items.get("sharing", entry).place)
    check_routing(network, items.get("routing", entry).place)
    return network


def networks_inside(
    items: Mapping[str, Entry], outer: Network, processors_per_node: int, folder: Path
) -> dict[str, Network]:
    """The networks inside nodes and sockets, by their fields of a machine."""
    if "node" not in items and "socket" not in items:
        return {}
    first = items.get("node", items.get("socket"))
    assert first is not None
    if "node" not in items:
        raise first.error("a network inside sockets, and none that joins the sockets of a node", "node.network as well")
    if outer.node is not None:
        what = "a network inside nodes, where network.node says what messages within a node cost"
        raise first.error(what, "node.network, or network.node")
    hosts, found = processors_per_node, dict[str, Network]()
    if "socket" in items:
        inside = items["socket"].mapping(("per_node", "network"), ("per_node", "network"))
        hosts = inside["per_node"].whole(low=1)
        if processors_per_node % hosts:
            raise inside["per_node"].error("sockets of a node", f"a divisor of {processors_per_node} processors")
        within = processors_per_node // hosts
        found["socket_network"] = network_from(inside["network"], within, folder, PATHS[2], outer)
    node = items["node"].mapping(("network",), ("network",))["network"]
    return {"node_network": network_from(node, hosts, folder, PATHS[1], outer)} | found


def _interfaces(entry: Entry, rails: int, path: str) -> Interfaces:
    """The network interfaces of a node, one on each rail unless it says otherwise."""
    items = entry.mapping(("count", "duplex", "assignment", "bandwidth", "per_byte"))
    if {"bandwidth", "per_byte"} <= items.keys():
        raise items["per_byte"].error(f"{path}.interfaces.per_byte is given twice: as a bandwidth and as time per byte")
    per_byte_s = None
    if "per_byte" in items:
        per_byte_s = constant_value(f"{path}.interfaces.per_byte", items["per_byte"])
    elif "bandwidth" in items:
        per_byte_s = time_per_byte(f"{path}.interfaces.bandwidth", items["bandwidth"])
    return Interfaces(
        count=items["count"].whole(1, MOST_INTERFACES) if "count" in items else rails,
        duplex=items["duplex"].text(DUPLEXES) if "duplex" in items else Interfaces.duplex,
        per_byte_s=per_byte_s,
        assignment=items["assignment"].text(ASSIGNMENTS) if "assignment" in items else None,
    )


def _sharing(items: Mapping[str, Entry]) -> dict[str, Any]:
    """How links are shared: a word, or a mapping of that word to how it is done."""
    if "sharing" not in items:
        return {}
    entry = items["sharing"]
    if not isinstance(entry.content, dict):
        return {"sharing": entry.text(SHARINGS)}
    given = entry.mapping(("max_min", "round_robin"))
    if len(given) != 1:
        raise entry.error("one way of sharing links", "{max_min: by_latency} or {round_robin: SIZE}")
    if "max_min" in given:
        return {"sharing": "max_min", "shares": given["max_min"].text(SHARES)}
    return {"sharing": "round_robin", "packet_bytes": given["round_robin"].quantity("size")}


def _routing(items: Mapping[str, Entry]) -> dict[str, Any]:
    """Which way messages take: a word, or how ``ugal`` chooses."""
    if "routing" not in items:
        return {}
    entry = items["routing"]
    if not isinstance(entry.content, dict):
        return {"routing": entry.text(ROUTINGS)}
    given = entry.mapping((UGAL,), (UGAL,))[UGAL].mapping(("threshold", "queues"))
    threshold = given["threshold"].whole(0, MOST_THRESHOLD) if "threshold" in given else Ugal.threshold
    queues = given["queues"].text(QUEUES) if "queues" in given else Ugal.queues
    return {"routing": UGAL, "ugal": Ugal(threshold, queues)}


def _local(items: Mapping[str, Entry]) -> dict[str, Any]:
    """What messages within a node cost: within a socket, and between sockets."""
    found: dict[str, Any] = {}
    for key, more in (("node", ()), ("socket", ("per_node",))):
        if key not in items:
            continue
        if "segments" in items[key].mapping():
            given = items[key].mapping(("segments", *more), ("segments", *more))
            found[key] = LocalMessages(segments=segments_from(given["segments"], Network.model, LOCAL_KEYS))
            if more:
                found["sockets_per_node"] = given["per_node"].whole(low=1)
            continue
        given = items[key].mapping(("startup", "bandwidth", *more), ("startup", "bandwidth", *more))
        startup_s = given["startup"].quantity("time")
        check_constant(f"network.{key}.startup", startup_s, given["startup"].place)
        found[key] = LocalMessages(startup_s, time_per_byte(f"network.{key}.bandwidth", given["bandwidth"]))
        if more:
            found["sockets_per_node"] = given["per_node"].whole(low=1)
    return found


def _check_keys_of(model: str, items: Mapping[str, Entry]) -> None:
    """InputError for a key that only another network model has."""
    for key, item in items.items():
        owner = "hockney" if key in HOCKNEY_KEYS else MODEL_OF.get(f"network.{key}", model)
        if owner != model:
            own = ", ".join(path.removeprefix("network.") for path, it in MODEL_OF.items() if it == model)
            what = f"{key!r} belongs to the network model {owner}, not to {model}"
            raise InputError(what, item.place, allowed=f"{own}; or 'model: {owner}'")


def nodes_by_ranks(entry: Entry, shared_disk: bool, folder: Path) -> NodesByRanks:
    """Of the part ``network`` of a machine file that says ``nodes: P``."""
    entry = entry.mapping(required=("topology",))["topology"]
    kind, options = _kind_and_options(entry, folder)
    return NodesByRanks(kind, options, shared_disk, entry.place)


def _topology(entry: Entry, nodes: int, folder: Path) -> Topology:
    kind, options = _kind_and_options(entry, folder)
    return build_topology(kind, nodes, place=entry.place, **options)


def _kind_and_options(entry: Entry, folder: Path) -> tuple[str, dict[str, Any]]:
    """As ``build_topology`` takes them."""
    known = {option.key for topology in TOPOLOGIES.values() for option in topology.options}
    items = entry.mapping({"kind", *known}, ("kind",))
    kind = items["kind"].text(TOPOLOGIES)
    options = {option.key: option for option in TOPOLOGIES[kind].options}
    given = {key: item for key, item in items.items() if key != "kind"}
    check_options(kind, given, [*options], entry.place)
    return kind, {options[key].name: options[key].read(item, folder) for key, item in given.items()}
