"""What the network of a machine may be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import format_quantity
from simcodesign.describe.constants import CONSTANTS, HOCKNEY_KEYS, MODEL_OF, check_constant, paths_of, value_of
from simcodesign.describe.machine_parts.interfaces import ASSIGNMENTS, DIRECTION, DUPLEXES, NEAREST, RANK, ROUND_ROBIN
from simcodesign.describe.machine_parts.network import BLOCKING, CHOICES, QUEUES, SENDS, SHARES, Network
from simcodesign.describe.machine_parts.size_segments import IN_SEGMENTS, KEYS, PATH, SizeSegment, check_segments
from simcodesign.describe.topology.base import TOPOLOGIES, UGAL, VALIANT

#: Interfaces of a node.
MOST_INTERFACES = 1024
#: Messages times links by which the queue of a minimal route may be the longer one.
MOST_THRESHOLD = 1_000_000
#: What a message occupies on its way -> the field of a network with the time per byte, and the path of its bandwidth.
OCCUPIED = {
    "link": ("link_per_byte_s", "network.link_bandwidth"),
    "interface": ("interfaces.per_byte_s", "network.interfaces.bandwidth"),
}


def check_choices(network: Network, place: Place, path: str = "network") -> None:
    """InputError for a field that is none of the few words which it may be."""
    for name, allowed in CHOICES.items():
        if getattr(network, name) not in allowed:
            raise InputError(f"{path}.{name}", place, value=getattr(network, name), allowed=", ".join(allowed))


def check_network(network: Network, place: Place, path: str = "network") -> None:
    """InputError for what no network of any level can be."""
    check_choices(network, place, path)
    try:
        check_model(network, place)
        check_size_segments(network, place)
        for part in OCCUPIED:
            check_occupancy(network, part, place)
        check_own_links(network, place)
        check_interfaces(network, place)
        check_sharing(network, place)
        check_saturation(network, place)
        check_routing(network, place)
    except InputError as error:
        if path == "network":
            raise
        raise InputError(f"{path}: {error.what}", place, value=error.value, allowed=error.allowed) from None


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
        raise InputError(what, place, value=f"sends: {network.sends}", allowed=f"sends: {BLOCKING}")
    for key in HOCKNEY_KEYS if network.model != "hockney" else ():
        if getattr(network, key) != getattr(Network, key):
            what = f"network.{key} belongs to the network model hockney, not to {network.model}"
            raise InputError(what, place, value=getattr(network, key))


def check_size_segments(network: Network, place: Place) -> None:
    """InputError for segments of messages by size that are none, or beside what says the same."""
    every = ((PATH, network), ("network.node.segments", network.node), ("network.socket.segments", network.socket))
    for path, part in every:
        if part is None or not part.segments:
            continue
        of_all = [one for one in part.segments if one.rendezvous or one.receive_overhead_s is not None]
        if part is not network and of_all:
            what = f"{path}: who waits, and what receivers pay, is said for all messages"
            raise InputError(what, place, allowed=f"{PATH}, network.S, network.receive_overhead")
        for key in IN_SEGMENTS[network.model]:
            name = KEYS[network.model][key][0]
            if np.any(np.asarray(getattr(part, name, 0.0)) != 0):
                where = path.replace("segments", key)
                raise InputError(f"{where} is said by {path}", place, value=getattr(part, name), allowed=f"no {where}")
        check_segments(part.segments, path, place)
        _check_costs(part.segments, network.model, path, place)
        if network.rendezvous_above_bytes is not None and any(segment.rendezvous for segment in part.segments):
            what = "network.S and segments with rendezvous both say whose senders wait for their receivers"
            raise InputError(what, place, allowed="one of them")


def _check_costs(segments: Sequence[SizeSegment], model: str, path: str, place: Place) -> None:
    """InputError for constants of the other model, and for values that none can have."""
    own = {name for name, _ in KEYS[model].values()}
    alien = {name: key for keys in KEYS.values() for key, (name, _) in keys.items() if name not in own}
    for number, segment in enumerate(segments, start=1):
        for key, (name, _) in KEYS[model].items():
            value = getattr(segment, name)
            if value is not None:
                check_constant(f"{path}.{number}.{key}", value, place)
        for name, key in alien.items():
            value = getattr(segment, name)
            if value is not None and np.any(np.asarray(value) != 0):
                what = f"{path}.{number}.{key} is no constant of the network model {model}"
                raise InputError(what, place, value=value, allowed=", ".join(KEYS[model]))


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
    if network.sharing == "max_min" and is_stored:
        what = "network.sharing: max_min is for messages that are on all links of their route at once"
        raise InputError(what, place, value=f"switching: {network.switching}", allowed="switching: cut_through")
    if network.sharing != "round_robin":
        return
    if network.model != "hockney":
        what = "network.sharing: round_robin is for messages of Hockney's model"
        raise InputError(what, place, value=f"model: {network.model}", allowed="model: hockney, or sharing: fcfs")
    if not 1 <= network.packet_bytes < np.inf:
        what = "the size of a packet, network.sharing.round_robin"
        raise InputError(what, place, value=network.packet_bytes, allowed="1 B or more")
    sent = [segment.per_byte_s for segment in network.segments] or [network.per_byte_s]
    links = np.asarray(network.link_occupancy_s_per_byte)
    as_fast = all(np.all(links == per_byte_s) for per_byte_s in sent) and not network.links_differ
    if is_stored and not as_fast:
        what = "packets are stored only by links that are all as fast as messages"
        raise InputError(what, place, value=f"switching: {network.switching}", allowed="switching: cut_through")


def check_routing(network: Network, place: Place) -> None:
    """InputError for a routing that the topology has not, or that does not go with how messages pass links."""
    topology, routing = network.topology, network.routing
    if routing not in topology.routings:
        kinds = ", ".join(name for name, kind in TOPOLOGIES.items() if routing in kind.routings)
        what = f"network.routing: {routing} has no routes on a {topology.kind}"
        raise InputError(what, place, allowed=f"{', '.join(topology.routings)}; or one of {kinds}")
    if routing in (VALIANT, UGAL) and network.startup_per == "hop":
        what = f"network.routing: {routing} is not for messages that are sent anew at every hop"
        raise InputError(what, place, value="startup_per: hop", allowed="startup_per: message")
    if routing != UGAL:
        return
    if network.ugal.queues not in QUEUES:
        what = "the queues by which ugal chooses, network.routing.ugal.queues"
        raise InputError(what, place, value=network.ugal.queues, allowed=", ".join(QUEUES))
    if not 0 <= network.ugal.threshold <= MOST_THRESHOLD:
        what = "network.routing.ugal.threshold"
        raise InputError(what, place, value=network.ugal.threshold, allowed=f"0 to {MOST_THRESHOLD:,}")
    if network.sharing != "fcfs" or network.model != "hockney":
        what = "network.routing: ugal is for messages of Hockney's model that queue for links one after another"
        given = f"model: {network.model}, sharing: {network.sharing}"
        raise InputError(what, place, value=given, allowed="valiant or ecmp; or model: hockney, sharing: fcfs")
    if network.interfaces.count > 1 and network.interfaces_have_directions:
        what = "network.routing: ugal chooses among routes by one and the same interface"
        raise InputError(what, place, value=f"assignment: {DIRECTION}", allowed=f"assignment: {ROUND_ROBIN}")


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
    if not 1 <= network.rails <= MOST_INTERFACES:
        raise InputError("network.rails", place, value=network.rails, allowed=f"1 to {MOST_INTERFACES}")
    if interfaces.count % network.rails:
        what = f"interfaces of a node on {network.rails} rails, as many on each: network.interfaces.count"
        raise InputError(what, place, value=interfaces.count, allowed=f"{network.rails}, or a multiple of it")
    if interfaces.assignment == DIRECTION and network.rails > 1:
        what = "interfaces stand for rails here: network.interfaces.assignment"
        raise InputError(what, place, value=DIRECTION, allowed=f"{RANK}, {NEAREST}, {ROUND_ROBIN}, or one rail")
    if interfaces.assignment == DIRECTION and interfaces.count != topology.directions:
        what = f"{interfaces.count} interfaces, one for each direction of a {topology.label}"
        directions = f"count: {topology.directions}" if topology.directions else "a mesh or torus"
        raise InputError(what, place, value=f"assignment: {DIRECTION}", allowed=f"{directions}; or {ROUND_ROBIN}")


def check_nearest_interfaces(network: Network, sockets: int, place: Place) -> None:
    """InputError for interfaces of sockets that cannot be shared out evenly."""
    count = network.interfaces.count
    if network.interfaces.assignment == NEAREST and count % sockets and sockets % count:
        what = f"{count} interfaces of a node with {sockets} sockets: network.interfaces.assignment"
        allowed = f"{RANK}, {ROUND_ROBIN}; or a count that divides {sockets}, or is a multiple of it"
        raise InputError(what, place, value=NEAREST, allowed=allowed)


def check_occupancy(network: Network, part: str, place: Place) -> None:
    """InputError if links or interfaces of a network are slower than the messages that pass them. Links of their own
    may be: they slow messages down."""
    name, key = OCCUPIED[part]
    stated, whole = value_of(network, name), np.asarray(network.least_s_per_byte)
    occupancy = whole if stated is None else np.asarray(stated)
    if np.any(occupancy > whole * (1 + 1e-12)):
        slowest = float(1 / np.max(occupancy))
        message = "infinite" if not np.min(whole) else format_quantity(float(1 / np.min(whole)), "bandwidth")
        what = f"a message cannot pass faster than its {part}: network.bandwidth is {message}, {key}"
        allowed = f"at least the bandwidth of messages, or no {key} at all"
        raise InputError(what, place, value=format_quantity(slowest, "bandwidth"), allowed=allowed)
