"""Checks of the network of a machine."""

from __future__ import annotations

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.describe.constants import check_constant, value_of
from simcodesign.describe.machine_parts.storage import Storage
from simcodesign.describe.network.interfaces import (
    ASSIGNMENTS,
    DIRECTION,
    DUPLEXES,
    MAX_INTERFACES,
    NEAREST,
    RANK,
    ROUND_ROBIN,
)
from simcodesign.describe.network.message_models.base import MessageModel
from simcodesign.describe.network.network import CHOICES, ROUNDING, LocalMessages, Network
from simcodesign.describe.network.routing import check_is_on
from simcodesign.describe.network.size_segments import PATH, check_segments

#: Parts that a message occupies on its route -> the field of a network with the time per byte, and the path of its
#: bandwidth.
OCCUPIED = {
    "link": ("link_per_byte_s", "network.link_bandwidth"),
    "interface": ("interfaces.per_byte_s", "network.interfaces.bandwidth"),
}


def check_network(network: Network, place: Place, path: str = "network") -> None:
    """InputError for what no network of any level can be."""
    for name, allowed in CHOICES.items():
        if (value := getattr(network, name)) not in allowed:
            raise InputError(f"{path}.{name}", place, value=value, allowed=", ".join(allowed))
    try:
        network.message_model.check(place)
        check_size_segments(network, place)
        for part in OCCUPIED:
            check_occupancy(network, part, place)
        check_own_links(network, place)
        check_interfaces(network, place)
        check_tunings(network, place)
        check_sharing(network, place)
        check_matching(network, place)
        check_saturation(network, place)
        check_routing(network, place)
    except InputError as error:
        if path == "network":
            raise
        raise InputError(f"{path}: {error.what}", place, value=error.value, allowed=error.allowed) from None


def check_size_segments(network: Network, place: Place) -> None:
    """InputError for invalid segments of messages by size, or for segments together with the constants they replace."""
    model = network.message_model
    if model.segments:
        _check_segments(model, model, PATH, place)
        if model.rendezvous_above_bytes is not None and any(segment.rendezvous for segment in model.segments):
            what = "network.S and segments with rendezvous both say whose senders wait for their receivers"
            raise InputError(what, place, allowed="one of them")
    for path, part in (("network.node.segments", network.node), ("network.socket.segments", network.socket)):
        if part is None or not part.segments:
            continue
        if any(one.rendezvous or one.receive_overhead_s is not None for one in part.segments):
            what = f"{path}: waiting senders, and costs of receivers, apply to all messages"
            raise InputError(what, place, allowed=f"{PATH}, network.S, network.receive_overhead")
        _check_segments(part, model, path, place)


def _check_segments(part: MessageModel | LocalMessages, model: MessageModel, path: str, place: Place) -> None:
    """Raise InputError for segments that cannot be used.

    They are of another model, together with constants they replace, and for values that none can have.
    """
    for number, segment in enumerate(part.segments, start=1):
        if not isinstance(segment, model.segment):
            what = f"{path}.{number} is no segment of the network model {model.name}"
            raise InputError(what, place, value=type(segment).__name__, allowed=model.segment.__name__)
    for key in model.in_segments():
        name = model.constants()[key][0]
        if np.any(np.asarray(getattr(part, name, 0.0)) != 0):
            where = path.replace("segments", key)
            raise InputError(
                f"{where} and {path} exclude each other", place, value=getattr(part, name), allowed=f"no {where}"
            )
    check_segments(part.segments, path, place)
    for number, segment in enumerate(part.segments, start=1):
        for key, (name, _) in model.constants_by_size().items():
            value: FloatOrArray | None = getattr(segment, name)
            if value is not None:
                check_constant(f"{path}.{number}.{key}", value, place)


def check_saturation(network: Network, place: Place) -> None:
    """InputError unless links may be busy for some share of the time."""
    if not 0 < network.saturation <= 1:
        raise InputError(
            "network.saturation is out of range", place, value=network.saturation, allowed="above 0, up to 1"
        )


def check_sharing(network: Network, place: Place) -> None:
    """InputError for messages and links that do not go with the sharing rule."""
    model = network.message_model
    sent = [segment.per_byte_s for segment in model.segments] or [model.per_byte_s]
    is_as_fast = network.is_stored and not network.links_differ
    if is_as_fast:
        links = np.asarray(network.link_occupancy_s_per_byte)
        is_as_fast = all(np.all(links == per_byte_s) for per_byte_s in sent)
    network.sharing.check(model, network.is_stored, is_as_fast, place)


def check_matching(network: Network, place: Place) -> None:
    """InputError for queues of receives in a model whose receivers take messages up as they arrive."""
    if network.message_model.has_gaps and network.matching_s is not None:
        what = "network.matching is for models in which receives take up messages one after another"
        raise InputError(what, place, value=f"model: {network.message_model.name}", allowed="model: hockney")


def check_routing(network: Network, place: Place) -> None:
    """InputError for a routing that the topology has not, or that does not go with how messages pass links."""
    check_is_on(network.routing, network.topology, place)
    by_direction = network.interfaces.count > 1 and network.interfaces_have_directions
    network.routing.check(network.message_model, network.sharing, by_direction, place)


def check_own_links(network: Network, place: Place) -> None:
    """InputError for a constant of all links if the topology gives it for every link."""
    groups = [group for group in network.topology.link_groups if group.links]
    for path, value, own in (
        ("network.hop_latency", network.hop_latency_s, [group.latency_s for group in groups]),
        ("network.link_per_byte", network.link_per_byte_s, [group.per_byte_s for group in groups]),
    ):
        given = value is not None and bool(np.any(np.asarray(value) != 0))
        if given and own and None not in own:
            what = f"{path} has no effect, because all links of the topology have values of their own"
            raise InputError(what, place, value=value, allowed=f"{path}, or the values of network.topology")


def check_local(network: Network, processors_per_node: int, place: Place) -> None:
    """InputError for costs of messages within a node that cannot be used, or that the model of messages has not."""
    for name, part in (("node", network.node), ("socket", network.socket)):
        if part is None:
            continue
        if not network.message_model.has_local_costs:
            what = f"network.{name} belongs to the network model hockney, not to {network.message_model.name}"
            raise InputError(what, place, allowed=f"no network.{name}, or 'model: hockney'")
        check_constant(f"network.{name}.startup", part.startup_s, place)
        check_constant(f"network.{name}.bandwidth", part.per_byte_s, place)
    if network.socket is not None and network.node is None:
        what = "network.socket needs network.node, which defines the cost of messages within a socket"
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
    loaded, alone = interfaces.loaded_per_byte_s, interfaces.per_byte_s
    if loaded is not None and not network.sharing.is_by_flows:
        what = "network.interfaces.loaded_bandwidth applies only if several messages pass an interface concurrently"
        raise InputError(what, place, value=f"sharing: {network.sharing.name}", allowed="sharing: max_min")
    if loaded is not None and alone is not None and np.any(loaded < np.asarray(alone) * (1 - ROUNDING)):
        value, most = (format_quantity(float(1 / np.min(one)), "bandwidth") for one in (loaded, alone))
        raise InputError(
            "network.interfaces.loaded_bandwidth is out of range",
            place,
            value=value,
            allowed=f"at most {most}, bandwidth",
        )
    if not 1 <= interfaces.count <= MAX_INTERFACES:
        allowed_counts = f"1 to {MAX_INTERFACES}"
        raise InputError(
            "network.interfaces.count is out of range", place, value=interfaces.count, allowed=allowed_counts
        )
    if not 1 <= network.rails <= MAX_INTERFACES:
        raise InputError("network.rails is out of range", place, value=network.rails, allowed=f"1 to {MAX_INTERFACES}")
    if interfaces.count % network.rails:
        what = f"interfaces of a node on {network.rails} rails, as many on each: network.interfaces.count"
        raise InputError(what, place, value=interfaces.count, allowed=f"{network.rails}, or a multiple of it")
    if interfaces.assignment == DIRECTION and network.rails > 1:
        what = "interfaces are rails here: network.interfaces.assignment"
        raise InputError(what, place, value=DIRECTION, allowed=f"{RANK}, {NEAREST}, {ROUND_ROBIN}, or one rail")
    if interfaces.assignment == DIRECTION and interfaces.count != topology.directions:
        what = f"{interfaces.count} interfaces, one for each direction of a {topology.label}"
        directions = f"count: {topology.directions}" if topology.directions else "a mesh or torus"
        raise InputError(what, place, value=f"assignment: {DIRECTION}", allowed=f"{directions}; or {ROUND_ROBIN}")


def check_tunings(network: Network, place: Place) -> None:
    """InputError for algorithms that use more interfaces than a node has, or not all of one for each direction."""
    count = network.interfaces.count
    for (operation, algorithm), tuning in network.tunings.items():
        used, what = tuning.interfaces, f"interfaces of {algorithm} of {operation}"
        if used is None:
            continue
        if not 1 <= used <= count:
            raise InputError(what, place, value=used, allowed=f"1 to {count}, network.interfaces.count")
        if network.interfaces_have_directions:
            allowed = f"network.interfaces.assignment: {RANK}, {NEAREST} or {ROUND_ROBIN}"
            raise InputError(f"{what}, where the direction of a message chooses", place, value=used, allowed=allowed)


def check_nearest_interfaces(network: Network, sockets: int, place: Place) -> None:
    """InputError for interfaces of sockets that cannot be shared out evenly."""
    count = network.interfaces.count
    if network.interfaces.assignment == NEAREST and count % sockets and sockets % count:
        what = f"{count} interfaces of a node with {sockets} sockets: network.interfaces.assignment"
        allowed = f"{RANK}, {ROUND_ROBIN}; or a count that divides {sockets}, or is a multiple of it"
        raise InputError(what, place, value=NEAREST, allowed=allowed)


def check_occupancy(network: Network, part: str, place: Place) -> None:
    """InputError if links or interfaces of a network are slower than the messages that pass them.

    Links of their own may be: they slow messages down.
    """
    name, key = OCCUPIED[part]
    stated, whole = value_of(network, name), np.asarray(network.message_model.least_s_per_byte)
    occupancy = whole if stated is None else np.asarray(stated)
    if np.any(occupancy > whole * (1 + 1e-12)):
        slowest = float(1 / np.max(occupancy))
        message = "infinite" if not np.min(whole) else format_quantity(float(1 / np.min(whole)), "bandwidth")
        what = f"a message cannot pass faster than its {part}: network.bandwidth is {message}, {key}"
        allowed = f"at least the bandwidth of messages, or no {key} at all"
        raise InputError(what, place, value=format_quantity(slowest, "bandwidth"), allowed=allowed)


def check_storage_nodes(storage: Storage | None, network: Network, place: Place) -> None:
    """Raise InputError for servers of storage on nodes that do not exist, or with messages that have no price.

    Messages have none in LogGOPS, and with constants by size.
    """
    if storage is None or not storage.nodes:
        return
    last = network.topology.node_count - 1
    wrong = [one for one in storage.nodes if not 0 <= one <= last]
    if wrong:
        raise InputError("storage.nodes is out of range", place, value=wrong[0], allowed=f"0 to {last}")
    model = network.message_model
    if model.has_gaps or model.holds_both_ends or network.has_segments:
        what = "storage.nodes on a network in LogGOPS, with segments, or whose messages hold receivers"
        raise InputError(what, place, allowed="a network in Hockney's model without segments; or storage without nodes")
