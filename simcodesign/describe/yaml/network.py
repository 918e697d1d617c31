"""The network of a machine, from a YAML tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from simcodesign.core.errors import InputError
from simcodesign.describe.constants import check_not_former
from simcodesign.describe.demands.collective import ALGORITHMS, ORDERS, SEGMENTED, algorithm_in_order
from simcodesign.describe.keys.forms import (
    ABOVE_0,
    Amount,
    Bandwidth,
    Choice,
    Constant,
    FileIn,
    Later,
    OneOf,
    Text,
    Whole,
)
from simcodesign.describe.keys.key import Form, Key
from simcodesign.describe.keys.section import Items, Named, Section
from simcodesign.describe.machine_checks.network_checks import (
    check_interfaces,
    check_occupancy,
    check_own_links,
    check_routing,
    check_saturation,
    check_sharing,
    check_tunings,
)
from simcodesign.describe.machine_parts.levels import PATHS, check_level, check_outer
from simcodesign.describe.network.algorithm_choice import Decisions, Rule
from simcodesign.describe.network.interfaces import INTERFACES, MAX_INTERFACES, AlgorithmTuning, Interfaces
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel
from simcodesign.describe.network.network import NETWORK, LocalMessages, Network
from simcodesign.describe.network.nodes_by_ranks import NodesByRanks
from simcodesign.describe.network.open_mpi_rules import LIBRARIES
from simcodesign.describe.network.routing import ROUTINGS, Minimal, Routing
from simcodesign.describe.network.sharing import SHARINGS, Fcfs, Sharing
from simcodesign.describe.topology.base import TOPOLOGIES, Topology
from simcodesign.describe.topology.build import build_topology, check_options
from simcodesign.describe.yaml.resources import QuantityOrFormula
from simcodesign.describe.yaml.segments import LOCAL_SEGMENTS, check_not_beside, segments_from, segments_key
from simcodesign.describe.yaml.tree import Entry

#: Keys of a network that a level has as the network between the nodes has them.
_AS_OUTSIDE = ("model", "sharing", "sends", "hops_hold_sender", "startup_per", "switching", "routing")
#: Prefix of the fields of a message model among the fields of a network.
_OF_MODEL = "message_model."
#: The inner parts of a network, which depend on what else the machine file states.
_PARTS = ("topology", "interfaces", "segments", "sharing", "model", "routing", "node", "socket", "algorithms")
#: Keys of ``NETWORK`` that networks inside nodes have as well, and keys of their interfaces.
_OF_LEVELS = ("hop_latency", "S", "link_bandwidth", "link_per_byte", "in_switch", "distance", "switching")
_INTERFACES_OF_LEVELS = Section(
    Key("count", Whole(1, MAX_INTERFACES), "interfaces of a host, 1 or one for each direction of a mesh or torus", "1"),
    replace(INTERFACES.by_name["assignment"], default="`direction`"),
    *INTERFACES.only("duplex", "bandwidth", "per_byte").keys,
)
_LOCAL = (
    Key("startup", Constant("time"), "startup of a message", field="startup_s"),
    Key("bandwidth", Bandwidth(), "bytes per second", field="per_byte_s"),
    Key("segments", LOCAL_SEGMENTS, "costs by the size of the message, instead of `startup` and `bandwidth`"),
)
_ALGORITHM = Section(
    Key("operation", Choice([*ALGORITHMS]), "the collective operation", required=True),
    Key("algorithm", Text(), "its name, as `algorithm` of the operation has it", required=True),
    Key(
        "interfaces",
        Whole(1, MAX_INTERFACES),
        "how many of its interfaces the messages of a rank take one after another",
        "all of them",
    ),
    Key(
        "segment",
        QuantityOrFormula("size"),
        "bytes of the largest segment, by the bytes `n` of the operation, where a program states none",
        "no segments",
    ),
)
#: Rules of ``algorithm: auto`` on a machine: largest bytes and ranks of a row.
_UP_TO, _RANKS = "up_to", "up_to_ranks"
_ROW = Section(
    Key(_UP_TO, Amount("size", ABOVE_0), "largest `bytes` of the operation for which the row holds", "no end"),
    Key(_RANKS, Whole(1), "largest number of ranks, of the operation or of its group", "no end"),
    Key("algorithm", Text(), "its name, as `algorithm` of the operation has it", required=True),
    Key("segment", Amount("size", ABOVE_0), "largest part in which the bytes are passed on", "the whole message"),
)
_TABLE = Items(_ROW, "one row; the first that holds counts, and the last one has no end")
COLLECTIVES = OneOf(Choice(tuple(LIBRARIES)), Named(OneOf(Choice(tuple(LIBRARIES)), _TABLE), "an operation"))
OneRule = TypeVar("OneRule", Sharing, Routing)
_NODE = Section(*_LOCAL)
_SOCKET = Section(*_LOCAL, Key("per_node", Whole(1), "sockets of a node", required=True, field="sockets_per_node"))


def network_section(is_inside: bool = False) -> Section:
    """Return all keys of the network between the nodes, or of one inside nodes: of every model of messages."""
    of_models = {key.name: replace(key, required=False) for model in MESSAGE_MODELS.values() for key in model.keys}
    own = NETWORK.only(*_OF_LEVELS) if is_inside else NETWORK
    keys = [
        Key("model", Choice(MESSAGE_MODELS), "what a message costs (docs/messages.md)", Network.message_model.name),
        Key("topology", topology_section(), "how nodes and switches are joined (docs/networks.md, docs/links.md)"),
        *of_models.values(),
        Key("bandwidth", Bandwidth(), "bytes per second of one message"),
        segments_key(),
        Key(
            "sharing",
            OneOf(Choice(SHARINGS), _sharing_keys()),
            "how messages share a link: first come first served, fairly, or packet by packet (docs/sharing.md)",
            Fcfs.name,
        ),
        Key(
            "routing",
            OneOf(Choice(ROUTINGS), _routing_keys()),
            "which way messages take: a word, or `{ugal: ...}` (docs/networks.md)",
            Minimal.name,
        ),
        *own.keys,
    ]
    if not is_inside:
        keys += [
            Key("node", _NODE, "what messages within a node cost", "as between nodes without hops"),
            Key("socket", _SOCKET, "what messages between the sockets of a node cost", "as `network.node`"),
            Key(
                "algorithms",
                Items(_ALGORITHM, "one algorithm"),
                "what collective algorithms have of their own (docs/interfaces.md)",
                "all are alike",
            ),
        ]
        return Section(*keys)
    keys.append(Key("interfaces", _INTERFACES_OF_LEVELS, "the interfaces of each of its hosts"))
    return Section(*(_repeated(key) if key.name in _AS_OUTSIDE else key for key in keys))


#: The network between the nodes, and one inside nodes, as other sections have them.
OUTSIDE, INSIDE = Later(network_section), Later(lambda: network_section(is_inside=True))


def _repeated(key: Key) -> Key:
    """Return the key of a network inside nodes that states what the network between them does."""
    outside = f"as `network.{key.name}`"
    return replace(key, about=f"{outside}, which it may only repeat", default=outside)


def _section_of(model: type[MessageModel], is_inside: bool, has_segments: bool) -> Section:
    """Return the keys of a network with this model of messages, as they are read."""
    of_model = [
        replace(key, field=_OF_MODEL + key.target, required=key.required and not has_segments) for key in model.keys
    ]
    per_byte = next(key for key in of_model if key.name == model.per_byte_key())
    every = {key.name: key for key in network_section(is_inside).keys}
    others = {key.name for one in MESSAGE_MODELS.values() for key in one.keys}
    kept = [key for name, key in every.items() if name not in others and name != "bandwidth"]
    kept = [replace(key, required=key.name == "topology") for key in kept]
    return Section(replace(per_byte, name="bandwidth", form=Bandwidth()), *of_model, *kept)


def topology_section() -> Section:
    """Return the keys of a topology of any kind."""
    kinds = reversed([*TOPOLOGIES.values()])  # of keys that several have, the declaration of the first one
    options = {key.name: replace(key, required=False) for kind in kinds for key in kind.options}
    return Section(Key("kind", Choice(TOPOLOGIES), "kind of network", required=True), *options.values())


def _sharing_keys() -> Section:
    return Section(*(rule.option for rule in SHARINGS.values() if rule.option is not None))


def _routing_keys() -> Section:
    with_options = (rule for rule in ROUTINGS.values() if rule.options)
    return Section(
        *(Key(one.name, Section(*one.options), f"how `{one.name}` chooses", field="") for one in with_options)
    )


def _rule(entry: Entry, rules: Mapping[str, type[OneRule]], keys: Section) -> OneRule:
    """Return the rule that an entry names: a word, or a mapping of that word to how it is done."""
    if not isinstance(entry.content, dict):
        return rules[entry.text(rules)]()
    given = keys.items(entry)
    if len(given) != 1:
        raise entry.error("one of these rules", " or ".join(f"{{{name}: ...}}" for name in keys.by_name))
    (name,) = given
    return rules[name](**keys.values(given))


def network_from(
    entry: Entry, nodes: int | NodesByRanks, folder: Path, path: str = PATHS[0], outer: Network | None = None
) -> Network:
    """Return the network of ``nodes`` nodes, or the smallest possible one if the nodes follow the ranks.

    With the network between the nodes, ``outer``, return the network of a level inside, with ``nodes`` hosts.
    """
    items = entry.mapping()
    before = Network if outer is None else outer
    model = MESSAGE_MODELS[items["model"].text(MESSAGE_MODELS)] if "model" in items else type(before.message_model)
    _check_keys_of(model, items)
    for key, item in items.items():
        check_not_former(f"network.{key}", item.place)
    if "segments" in items:
        check_not_beside(items, model)
    section = _section_of(model, outer is not None, "segments" in items)
    items = section.items(entry)
    values = section.values({key: item for key, item in items.items() if key not in _PARTS})
    of_model = {name.removeprefix(_OF_MODEL): values.pop(name) for name in [*values] if name.startswith(_OF_MODEL)}
    topology = nodes.smallest() if isinstance(nodes, NodesByRanks) else _topology(items["topology"], nodes, folder)
    rails = values.get("rails", Network.rails)
    own: dict[str, Any] = ({} if outer is None else {"switching": outer.switching}) | values | _local(items)
    if "algorithms" in items:
        own["tunings"] = _tunings(items["algorithms"])
    network = Network(
        topology,
        _message_model(model, of_model, items.get("segments"), None if outer is None else outer.message_model),
        _rule(items["sharing"], SHARINGS, _sharing_keys()) if "sharing" in items else before.sharing,
        _rule(items["routing"], ROUTINGS, _routing_keys()) if "routing" in items else Network.routing,
        interfaces=_interfaces(items.get("interfaces"), rails, outer is not None),
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
    """Return the networks inside nodes and sockets, by their fields of a machine."""
    if "node" not in items and "socket" not in items:
        return {}
    first = items.get("node", items.get("socket"))
    assert first is not None
    if "node" not in items:
        raise first.error("a network inside sockets, and none that joins the sockets of a node", "node.network as well")
    if outer.node is not None:
        what = "a network inside nodes in addition to network.node, the cost of messages within a node"
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


def _interfaces(entry: Entry | None, rails: int, is_inside: bool) -> Interfaces:
    """Return the network interfaces of a node, one on each rail unless stated otherwise."""
    section = _INTERFACES_OF_LEVELS if is_inside else INTERFACES
    own = {} if entry is None else section.values(section.items(entry))
    return Interfaces(**{"count": rails} | own)


def _tunings(entry: Entry) -> dict[tuple[str, str], AlgorithmTuning]:
    """How the messages of collective algorithms are sent, in every order of children that an algorithm has."""
    found: dict[tuple[str, str], AlgorithmTuning] = {}
    for one in entry.sequence():
        items = _ALGORITHM.items(one)
        values = _ALGORITHM.values(items)
        operation = values["operation"]
        key = operation, items["algorithm"].text(ALGORITHMS[operation])
        if "segment" in items and key not in SEGMENTED:
            raise items["segment"].error(f"{key[1]} of {operation} has no segments", _in_segments())
        names = [algorithm_in_order(*key, order) for order in ("near", "far")] if key in ORDERS else [key[1]]
        if (operation, names[0]) in found:
            raise items["algorithm"].error("an algorithm is given twice", "one entry for each")
        interfaces = values.get("interfaces")
        segment = values.get("segment")
        if segment is not None and not segment.names <= {"n"}:
            raise items["segment"].error("a segment depends on the bytes of the operation alone", "the name n")
        for name in names:
            has_segments = (operation, name) in SEGMENTED
            found[operation, name] = AlgorithmTuning(interfaces, segment if has_segments else None)
    return found


def _message_model(
    model: type[MessageModel], values: Mapping[str, Any], segments: Entry | None, outer: MessageModel | None
) -> MessageModel:
    """Return the model of messages with these values and segments; inside a node, as outside it."""
    own: dict[str, Any] = {}
    if isinstance(outer, model):
        as_outside = (key for key in (*model.choices, *model.flags) if key not in model.flags_of_level)
        own |= {key: getattr(outer, key) for key in as_outside}
    if segments is not None:
        own["segments"] = segments_from(segments, model)
    return model(**own | dict(values))


def _local(items: Mapping[str, Entry]) -> dict[str, Any]:
    """Cost of messages within a node: within a socket, and between sockets."""
    found: dict[str, Any] = {}
    for key, section in (("node", _NODE), ("socket", _SOCKET)):
        if key not in items:
            continue
        keys = ("segments",) if "segments" in items[key].mapping() else ("startup", "bandwidth")
        needed = (*keys, *section.required)
        values = section.values(items[key].mapping(needed, needed))
        if section.required:
            found["sockets_per_node"] = values.pop("sockets_per_node")
        found[key] = LocalMessages(**values)
    return found


def _check_keys_of(model: type[MessageModel], items: Mapping[str, Entry]) -> None:
    """InputError for a key that only another network model has."""
    own = {key.name for key in model.keys}
    owners = {key.name: one.name for one in reversed([*MESSAGE_MODELS.values()]) for key in one.keys}
    for key, item in items.items():
        if key in owners and key not in own:
            what = f"{key!r} belongs to the network model {owners[key]}, not to {model.name}"
            allowed = f"{', '.join(model.constants())}; or 'model: {owners[key]}'"
            raise InputError(what, item.place, allowed=allowed)


def nodes_by_ranks(entry: Entry, shared_disk: bool, folder: Path) -> NodesByRanks:
    """Read the part ``network`` of a machine file with ``nodes: P``."""
    entry = entry.mapping(required=("topology",))["topology"]
    kind, options = _kind_and_options(entry, folder)
    return NodesByRanks(kind, options, shared_disk, entry.place)


def _topology(entry: Entry, nodes: int, folder: Path) -> Topology:
    kind, options = _kind_and_options(entry, folder)
    return build_topology(kind, nodes, place=entry.place, **options)


def _kind_and_options(entry: Entry, folder: Path) -> tuple[str, dict[str, Any]]:
    """As ``build_topology`` takes them."""
    items = topology_section().items(entry)
    kind = items["kind"].text(TOPOLOGIES)
    options = {option.name: option for option in TOPOLOGIES[kind].options}
    given = {key: item for key, item in items.items() if key != "kind"}
    check_options(kind, given, [*options], entry.place)
    return kind, {options[key].target: _option(options[key].form, item, folder) for key, item in given.items()}


def _option(form: Form, entry: Entry, folder: Path) -> Any:
    return form.read_in(entry, folder) if isinstance(form, FileIn) else form.read(entry)


def _in_segments() -> str:
    """Return the algorithms that have segments."""
    return ", ".join(f"{algorithm} of {operation}" for operation, algorithm in sorted(SEGMENTED))


def decisions_from(entry: Entry) -> Decisions:
    """Return the rules by operation: rules of a library, or a table for each named operation.

    Raises InputError for operations and algorithms that there are not, and for a table whose last row has an end.
    """
    if isinstance(entry.content, str):
        return LIBRARIES[entry.text(LIBRARIES)]
    found: dict[str, tuple[Rule, ...]] = {}
    for operation, table in entry.mapping([*ALGORITHMS]).items():
        if isinstance(table.content, str):
            library = table.text([name for name, rules in LIBRARIES.items() if operation in rules])
            found[operation] = LIBRARIES[library][operation]
        else:
            found[operation] = _decision_rules(operation, table)
    return found


def _decision_rules(operation: str, table: Entry) -> tuple[Rule, ...]:
    every = table.sequence()
    if not every:
        raise table.error("no rows", "one or more, the last one without an end")
    rules = []
    for row in every:
        items = _ROW.items(row)
        values = _ROW.values(items)
        algorithm = items["algorithm"].text(ALGORITHMS[operation])
        bounds = [f"({name} <= {values[key]!r})" for name, key in (("n", _UP_TO), ("P", _RANKS)) if key in values]
        if bool(bounds) == (row is every[-1]):
            raise row.error(
                "the last row has an end" if bounds else "a row without an end before others",
                f"{_UP_TO} or {_RANKS} in each row but the last one",
            )
        if "segment" in items and (operation, algorithm) not in SEGMENTED:
            raise items["segment"].error(f"{algorithm} of {operation} has no segments", _in_segments())
        rules.append(Rule(algorithm, " * ".join(bounds) or "1", values.get("segment")))
    return tuple(rules)
