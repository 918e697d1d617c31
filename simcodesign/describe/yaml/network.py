"""The network of a machine, from a YAML tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import MODELS_OF, check_constant, check_not_former
from simcodesign.describe.demands.collective import ALGORITHMS, ORDERS, SEGMENTED, algorithm_in_order
from simcodesign.describe.machine_parts.levels import PATHS, check_level, check_outer
from simcodesign.describe.network.interfaces import ASSIGNMENTS, DUPLEXES, AlgorithmTuning, Interfaces
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel
from simcodesign.describe.network.message_models.hockney import Hockney, HockneySegment
from simcodesign.describe.network.network import CHOICES, LocalMessages, Network
from simcodesign.describe.network.network_checks import (
    MOST_INTERFACES,
    check_interfaces,
    check_occupancy,
    check_own_links,
    check_routing,
    check_saturation,
    check_sharing,
    check_tunings,
)
from simcodesign.describe.network.nodes_by_ranks import NodesByRanks
from simcodesign.describe.network.routing import ROUTINGS, Routing
from simcodesign.describe.network.sharing import SHARINGS, Sharing
from simcodesign.describe.topology.base import TOPOLOGIES, Topology
from simcodesign.describe.topology.build import build_topology, check_options
from simcodesign.describe.yaml.constants import constant_value, constants_from, time_per_byte
from simcodesign.describe.yaml.resources import quantity_or_expression
from simcodesign.describe.yaml.segments import LOCAL_KEYS, check_not_beside, segments_from
from simcodesign.describe.yaml.tree import Entry

#: Keys of a network that a level has as the network between the nodes has them.
_AS_OUTSIDE = ("model", "sharing", "sends", "hops_hold_sender", "startup_per", "switching", "routing")
#: How the fields of a model of messages begin among those of a network.
_OF_MODEL = "message_model."
#: The inner parts of a network, which have readers of their own; and those of the network between the nodes alone.
_PARTS = ("topology", "interfaces", "segments", "sharing", "model")
_OUTSIDE = ("node", "socket", "rails", "saturation", "algorithms")


def network_from(
    entry: Entry, nodes: int | NodesByRanks, folder: Path, path: str = PATHS[0], outer: Network | None = None
) -> Network:
    """The network of so many nodes, or the smallest of those whose nodes follow the ranks; or with the network between
    the nodes, ``outer``, that of a level inside, whose hosts are so many."""
    items = entry.mapping()
    before = Network.message_model if outer is None else outer.message_model
    model = MESSAGE_MODELS[items["model"].text(MESSAGE_MODELS)] if "model" in items else type(before)
    *required, per_byte = model.required
    _check_keys_of(model, items)
    words = (key for one in MESSAGE_MODELS.values() for key in (*one.choices, *one.flags))
    others = (*_PARTS, *words, *CHOICES, *(_OUTSIDE if outer is None else ()))
    if outer is None or "routing" in items:  # a level has only one, which it need not state
        others += ("routing",)
    for key, item in items.items():
        check_not_former(f"network.{key}", item.place)
    values = constants_from(entry, path, others, {"bandwidth": per_byte})
    if "segments" in items:
        check_not_beside(items, model)
    entry.mapping(required=("topology", *(required if "segments" not in items else ())))
    of_model: dict[str, Any] = {
        name.removeprefix(_OF_MODEL): values.pop(name) for name in [*values] if name.startswith(_OF_MODEL)
    }
    if "per_byte_s" not in of_model and "segments" not in items:
        raise InputError(f"'bandwidth' (or {per_byte!r}) is missing", entry.place)
    topology = nodes.smallest() if isinstance(nodes, NodesByRanks) else _topology(items["topology"], nodes, folder)
    rails = items["rails"].whole(1, MOST_INTERFACES) if "rails" in items else Network.rails
    own: dict[str, Any] = {} if outer is None else {"switching": outer.switching}
    own |= {
        **values,
        **{key: items[key].text(allowed) for key, allowed in CHOICES.items() if key in items},
        **_local(items),
    }
    if "saturation" in items:
        own["saturation"] = items["saturation"].number()
    if "algorithms" in items:
        own["tunings"] = _tunings(items["algorithms"])
    network = Network(
        topology,
        _message_model(model, of_model, items, None if outer is None else outer.message_model),
        _sharing(items, Network.sharing if outer is None else outer.sharing),
        _routing(items),
        interfaces=_interfaces(items["interfaces"], rails, path) if "interfaces" in items else Interfaces(rails),
        rails=rails,
        **own,
    )
    if outer is None:
        stated = next((items[key] for key in network.message_model.flags_of_level if key in items), entry)
        check_outer(network, stated.place)
    else:
        apart = [item for key, item in items.items() if key in _AS_OUTSIDE]
        check_level(network, outer, path, (apart[0] if len(apart) == 1 else entry).place)
    stated = items.get("link_per_byte", items.get("link_bandwidth", entry))
    check_occupancy(network, "link", stated.place)
    stated = items.get("interfaces", items.get("rails", entry))
    check_occupancy(network, "interface", stated.place)
    check_interfaces(network, stated.place)
    check_tunings(network, items.get("algorithms", entry).place)
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
    node = items["node"].mapping(("network", "memory"), ("network",))["network"]
    return {"node_network": network_from(node, hosts, folder, PATHS[1], outer)} | found


def _interfaces(entry: Entry, rails: int, path: str) -> Interfaces:
    """The network interfaces of a node, one on each rail unless it says otherwise."""
    rates = ("bandwidth", "per_byte"), ("loaded_bandwidth", "loaded_per_byte")
    items = entry.mapping(("count", "duplex", "assignment", *rates[0], *(rates[1] if path == PATHS[0] else ())))
    own_s, loaded_s = (_time_per_byte(items, f"{path}.interfaces", *keys) for keys in rates)
    return Interfaces(
        count=items["count"].whole(1, MOST_INTERFACES) if "count" in items else rails,
        duplex=items["duplex"].text(DUPLEXES) if "duplex" in items else Interfaces.duplex,
        per_byte_s=own_s,
        loaded_per_byte_s=loaded_s,
        assignment=items["assignment"].text(ASSIGNMENTS) if "assignment" in items else None,
    )


def _tunings(entry: Entry) -> dict[tuple[str, str], AlgorithmTuning]:
    """How the messages of collective algorithms are sent, in every order of children that an algorithm has."""
    found: dict[tuple[str, str], AlgorithmTuning] = {}
    for one in entry.sequence():
        items = one.mapping(("operation", "algorithm", "interfaces", "segment"), ("operation", "algorithm"))
        operation = items["operation"].text(ALGORITHMS)
        key = operation, items["algorithm"].text(ALGORITHMS[operation])
        if "segment" in items and key not in SEGMENTED:
            known = ", ".join(f"{algorithm} of {operation}" for operation, algorithm in sorted(SEGMENTED))
            raise items["segment"].error(f"{key[1]} of {operation} has no segments", known)
        names = [algorithm_in_order(*key, order) for order in ("near", "far")] if key in ORDERS else [key[1]]
        if (operation, names[0]) in found:
            raise items["algorithm"].error("an algorithm is given twice", "one entry for each")
        interfaces = items["interfaces"].whole(1, MOST_INTERFACES) if "interfaces" in items else None
        segment = quantity_or_expression(items["segment"], "size") if "segment" in items else None
        if segment is not None and not segment.names <= {"n"}:
            raise items["segment"].error("a segment depends on the bytes of the operation alone", "the name n")
        for name in names:
            has_segments = (operation, name) in SEGMENTED
            found[operation, name] = AlgorithmTuning(interfaces, segment if has_segments else None)
    return found


def _time_per_byte(items: Mapping[str, Entry], path: str, bandwidth: str, per_byte: str) -> FloatOrArray | None:
    """What one of these two keys states, as a time per byte; None where neither does."""
    if {bandwidth, per_byte} <= items.keys():
        raise items[per_byte].error(f"{path}.{per_byte} is given twice: as a bandwidth and as time per byte")
    if per_byte in items:
        return constant_value(f"{path}.{per_byte}", items[per_byte])
    return time_per_byte(f"{path}.{bandwidth}", items[bandwidth]) if bandwidth in items else None


def _message_model(
    model: type[MessageModel], values: Mapping[str, Any], items: Mapping[str, Entry], outer: MessageModel | None
) -> MessageModel:
    """The model of messages with these constants, and what else the file says of it; inside a node, as outside it."""
    own = dict(values)
    if isinstance(outer, model):
        as_outside = (key for key in (*model.choices, *model.flags) if key not in model.flags_of_level)
        own |= {key: getattr(outer, key) for key in as_outside}
    own |= {key: items[key].text(allowed) for key, allowed in model.choices.items() if key in items}
    own |= {key: items[key].flag() for key in model.flags if key in items}
    if "segments" in items:
        own["segments"] = segments_from(items["segments"], model)
    return model(**own)


def _sharing(items: Mapping[str, Entry], default: Sharing) -> Sharing:
    """How links are shared: a word, or a mapping of that word to how it is done."""
    if "sharing" not in items:
        return default
    entry = items["sharing"]
    if not isinstance(entry.content, dict):
        return SHARINGS[entry.text(SHARINGS)]()
    options = {name: rule.option for name, rule in SHARINGS.items() if rule.option is not None}
    given = entry.mapping(tuple(options))
    if len(given) != 1:
        ways = (
            f"{{{name}: {kind.upper() if isinstance(kind, str) else kind[-1]}}}" for name, (_, kind) in options.items()
        )
        raise entry.error("one way of sharing links", " or ".join(ways))
    ((name, item),) = given.items()
    field, kind = options[name]
    return SHARINGS[name](**{field: item.quantity(kind) if isinstance(kind, str) else item.text(kind)})


def _routing(items: Mapping[str, Entry]) -> Routing:
    """Which way messages take: a word, or a mapping of that word to how it chooses."""
    if "routing" not in items:
        return Network.routing
    entry = items["routing"]
    if not isinstance(entry.content, dict):
        return ROUTINGS[entry.text(ROUTINGS)]()
    options = {name: routing.options for name, routing in ROUTINGS.items() if routing.options}
    given = entry.mapping(tuple(options), tuple(options) if len(options) == 1 else ())
    if len(given) != 1:
        raise entry.error("one routing", " or ".join(f"{{{name}: ...}}" for name in options))
    ((name, item),) = given.items()
    said = item.mapping(tuple(options[name]))
    values = {
        key: said[key].whole(0, kind) if isinstance(kind, int) else said[key].text(kind)
        for key, kind in options[name].items()
        if key in said
    }
    return ROUTINGS[name](**values)


def _local(items: Mapping[str, Entry]) -> dict[str, Any]:
    """What messages within a node cost: within a socket, and between sockets."""
    found: dict[str, Any] = {}
    for key, more in (("node", ()), ("socket", ("per_node",))):
        if key not in items:
            continue
        if "segments" in items[key].mapping():
            given = items[key].mapping(("segments", *more), ("segments", *more))
            found[key] = LocalMessages(segments=_local_segments(given["segments"]))
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


def _local_segments(entry: Entry) -> tuple[HockneySegment, ...]:
    """Segments of messages within a node, which have a startup and a bandwidth."""
    return tuple(one for one in segments_from(entry, Hockney, LOCAL_KEYS) if isinstance(one, HockneySegment))


def _check_keys_of(model: type[MessageModel], items: Mapping[str, Entry]) -> None:
    """InputError for a key that only another network model has."""
    owners: dict[str, str] = {}
    for one in MESSAGE_MODELS.values():
        owners = {**dict.fromkeys((*one.choices, *one.flags), one.name), **owners}  # a subclass has those of its base
    for key, item in items.items():
        owner = owners.get(key) or next(iter(MODELS_OF.get(f"network.{key}", ())), model.name)
        if owner != model.name and key not in (*model.choices, *model.flags, *model.constants()):
            what = f"{key!r} belongs to the network model {owner}, not to {model.name}"
            raise InputError(what, item.place, allowed=f"{', '.join(model.constants())}; or 'model: {owner}'")


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
