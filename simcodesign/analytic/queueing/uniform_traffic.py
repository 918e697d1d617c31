"""Uniform random traffic: every host sends messages at one rate, each to one of the other hosts, all as likely.

How many messages pass each link is a matter of counting routes: in closed form for dimension-ordered routing on meshes,
tori and hypercubes, for bus and crossbar; counted from the routes elsewhere. Up to the load at which the first link or
interface saturates, the latency is an empty network's plus the waits at all stations of the route.

Kleinrock's independence approximation (Communication Nets, 1964; Queueing Systems II, 1976, Sec. 5.6) takes the
messages at each link as a Poisson stream of their own: M/G/1. It is exact at the first station. But messages of one
size that come over the same link come one service apart and do not hinder each other again: only what comes from
different sides does. With p_f the shares of a link's messages that come over each link f before it, m the sum of their
squares and rho the load, waits are taken to be the waits of M/D/1 times (1 - m) (1 + 4/5 rho m). For k sides alike,
with m = 1/k, these are the waits at later stages of a buffered k-ary network (Kruskal, Snir and Weiss, The distribution
of waiting times in clocked multistage interconnection networks, IEEE Trans. Computers 37, 1988): 1 - m is the first
stage's, exact in clocked networks, and 4/5 rho m fits the trains in which messages leave a busy link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcodesign.analytic.messages.costs_by_size import at_size
from simcodesign.analytic.messages.message_models.base import forecast_messages
from simcodesign.analytic.messages.route_links import group_table
from simcodesign.analytic.queueing.busiest_links import busiest_link
from simcodesign.analytic.queueing.grid_traffic import Kinds, arriving_at_hosts, kinds_of_links, line_ways
from simcodesign.analytic.queueing.station import mg1
from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.network import Network
from simcodesign.describe.topology.base import MINIMAL, Topology
from simcodesign.describe.topology.grid import GridTopology
from simcodesign.describe.topology.hypercube import HypercubeTopology
from simcodesign.describe.topology.one_hop import BusTopology, CrossbarTopology

#: Hosts of a topology without a closed form: all pairs of them are looked at.
MOST_COUNTED_HOSTS = 1_024
#: How much trains of messages add to waits (Kruskal, Snir and Weiss 1988, as remembered: the paper was not at hand).
TRAINS = 0.8

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class UniformTraffic:
    """Loads for one message per second from every host.

    K kinds of links, ``links[k]`` of them with ``load[k]`` messages per second each; ``mean_hops``; ``direct``: share
    of the messages that have one hop only.

    ``merged[k]``, ``merged_square[k]``: means of m and m^2 over the links of a kind, m the sum of the squared shares of
    their messages by the preceding link; ``arriving``: the mean of m of the messages that arrive at a host.
    ``group[k]``: the group of links of the topology, where links of different groups are different kinds; otherwise 0.
    """

    hosts: int
    load: _Floats
    links: _Floats
    mean_hops: float
    direct: float
    merged: _Floats
    merged_square: _Floats
    arriving: float
    group: _Ints

    @property
    def highest_load(self) -> float:
        """Load of the most loaded link; 0 if there is none."""
        return float(np.max(self.load, initial=0.0))


@dataclass(frozen=True)
class Latency:
    """Means over all messages, from the beginning of the send to the arrival of the last byte.

    ``empty_s``: on an empty network; ``waiting_s``: at links and interfaces; ``utilisation``: of the busiest station;
    ``link_load``: of the busiest link; ``saturation_per_s``: the rate of every host at which the first station is busy
    all the time, or the first link for the fraction ``Network.saturation``. From there on waits are ``inf``.
    """

    formula: str
    latency_s: FloatOrArray
    empty_s: FloatOrArray
    waiting_s: FloatOrArray
    utilisation: FloatOrArray
    link_load: FloatOrArray
    saturation_per_s: FloatOrArray


def uniform_traffic(topology: Topology, doors: bool = False, by_group: bool = False) -> UniformTraffic:
    """Return the load of every link.

    ``doors``: what a host sends comes from its interface, no faster than a link takes it, and so counts as one more
    link before. ``by_group``: links of different groups of the topology are not one kind.

    InputError for a single host, and for too many where routes have to be counted.
    """
    hosts = topology.node_count
    if hosts < 2:
        raise InputError("uniform traffic needs other hosts", value=hosts, allowed="at least 2 hosts")
    match topology:
        case GridTopology():
            lines = [line_ways(axis.extent, axis.is_ring) for axis in topology.axes]
            kinds, arriving, direct = (
                kinds_of_links(lines, hosts, doors),
                arriving_at_hosts(lines, hosts),
                float(topology.link_count),
            )
        case HypercubeTopology():
            lines = [line_ways(2, False)] * topology.dimension
            kinds, arriving, direct = (
                kinds_of_links(lines, hosts, doors),
                arriving_at_hosts(lines, hosts),
                float(topology.link_count),
            )
        case BusTopology():
            kinds, direct = Kinds.alike(hosts * (hosts - 1.0), 1.0, doors / hosts), hosts * (hosts - 1.0)
            arriving = 1.0  # all over one link
        case CrossbarTopology():
            kinds, direct = Kinds.alike(1.0, hosts * (hosts - 1.0), float(doors)), hosts * (hosts - 1.0)
            arriving = 1 / (hosts - 1.0)
        case _:
            kinds, arriving, direct = _counted(topology, doors)
    carried, count, merged, square, group = kinds.together(by_group)
    mean_hops, pairs = topology.mean_hops(), hosts * (hosts - 1.0)
    return UniformTraffic(
        hosts, carried / (hosts - 1), count, mean_hops, direct / pairs, merged, square, arriving, group
    )


def _counted(topology: Topology, doors: bool) -> tuple[Kinds, float, float]:
    """Count over all routes."""
    hosts, links = topology.node_count, topology.link_count
    if hosts > MOST_COUNTED_HOSTS:
        what = f"uniform traffic on a {topology.kind}, whose routes must be counted"
        raise InputError(what, value=hosts, allowed=f"at most {MOST_COUNTED_HOSTS} hosts")
    passed = np.zeros(links)
    turns: list[NDArray[np.int64]] = []
    direct, arriving = 0.0, 0.0
    for target in range(hosts):
        source = np.delete(np.arange(hosts), target)
        routes = topology.routes(source, np.full(hosts - 1, target))
        passed += np.bincount(routes.link, minlength=links)
        first = np.zeros(len(routes.link), bool)
        first[routes.start[:-1]] = True
        turns.append(routes.link[:-1][~first[1:]] * links + routes.link[1:][~first[1:]])
        if doors:
            turns.append((links + source) * links + routes.link[first])
        direct += float(np.count_nonzero(np.diff(routes.start) == 1))
        arriving += float((np.unique(routes.link[routes.start[1:] - 1], return_counts=True)[1] ** 2).sum())
    turn, count = np.unique(np.concatenate(turns), return_counts=True)
    used = passed > 0
    merged = np.bincount(turn % links, weights=count.astype(float) ** 2, minlength=links)[used] / passed[used] ** 2
    kinds = Kinds(passed[used], np.ones(len(merged)), merged, merged**2, topology.group_of(np.flatnonzero(used)))
    return kinds, arriving / hosts / (hosts - 1) ** 2, direct


def saturation_per_s(
    network: Network, size_bytes: ArrayLike, *, links: bool = True, interfaces: bool = True
) -> FloatOrArray:
    """Return the rate of every host at which the first interface or link is saturated; ``inf`` if none ever is.

    An interface when it is busy all the time, a link for the fraction ``network.saturation``. Links may differ.
    """
    law = None if network.links_differ else busiest_link(network.topology)
    service = _Service.of(network, size_bytes, links, interfaces)
    if law is None:
        traffic = uniform_traffic(network.topology, by_group=network.links_differ)
        busy = service.links_busy(traffic.load, traffic.group)
    else:
        busy = service.links_busy(np.array([law.uniform]), np.zeros(1, np.int64))
    return _plain(service.saturation_per_s(busy))


def uniform_latency(
    network: Network,
    rate_per_s: ArrayLike,
    size_bytes: ArrayLike,
    variation: ArrayLike = 0.0,
    *,
    links: bool = True,
    interfaces: bool = True,
    independent: bool = False,
) -> Latency:
    """Return the mean latency of messages of ``size_bytes``, of which every host sends ``rate_per_s``.

    ``size_bytes`` is a mean, with the coefficient of variation ``variation``. One rank is on each host and nothing else
    on the network. All broadcast.

    ``links`` and ``interfaces``: whether they are shared, as the effects of a simulation. Hops are counted on the
    routes. A full-duplex interface serves what its node sends and what it receives apart, a half-duplex one both.
    ``independent``: Kleinrock's approximation, which is also taken where sizes vary. InputError for links that differ,
    for several rails, and if several interfaces of a node are shared.
    """
    if network.links_differ:
        what = "uniform traffic over links that differ has no closed form here"
        raise InputError(what, value=network.topology.label, allowed="links that are all alike")
    if interfaces or network.rails > 1 or not network.routing.has_fixed_links:
        check_closed_form(network)
    service = _Service.of(network, size_bytes, links, interfaces)
    traffic = uniform_traffic(network.topology, bool(np.all(service.interface_s >= service.link_s)))
    rate, spread = np.asarray(rate_per_s, dtype=np.float64), np.asarray(variation, dtype=np.float64)
    links_busy = service.links_busy(traffic.load, traffic.group)
    merging = not independent and not np.any(spread)
    waits = _link_waits_s(traffic, rate, service, spread, merging) + _interface_waits_s(
        traffic, rate, service, spread, merging
    )
    waits = np.where(rate * links_busy >= network.saturation, np.inf, waits)
    empty = np.broadcast_to(_empty_s(network, traffic, size_bytes, service, links), waits.shape)
    busy = np.maximum(links_busy, service.interface_busy)
    return Latency(
        formula="Kruskal-Snir-Weiss" if merging else "Kleinrock's independence",
        latency_s=_plain(empty + waits),
        empty_s=_plain(empty),
        waiting_s=_plain(waits),
        utilisation=_plain(np.broadcast_to(rate * busy, waits.shape)),
        link_load=_plain(np.broadcast_to(rate * links_busy, waits.shape)),
        saturation_per_s=_plain(np.broadcast_to(service.saturation_per_s(links_busy), waits.shape)),
    )


def _link_waits_s(traffic: UniformTraffic, rate: _Floats, service: _Service, spread: _Floats, merging: bool) -> _Floats:
    """At all links of a message. It meets load x links / hosts links of a kind in the mean."""
    met = traffic.load * traffic.links / traffic.hosts
    link_s = service.link_s[..., None]
    each = np.asarray(mg1(rate[..., None] * traffic.load, link_s, spread[..., None]).waiting_s)
    if merging:
        m, square = traffic.merged, traffic.merged_square
        load = rate[..., None] * traffic.load * link_s
        each = _scaled(each, 1 - m + TRAINS * load * (m - square))
    return np.asarray(np.sum(met * each, axis=-1))


def _interface_waits_s(
    traffic: UniformTraffic, rate: _Floats, service: _Service, spread: _Floats, merging: bool
) -> _Floats:
    """At both interfaces of a message.

    What is injected arrives at random, what is ejected comes over links; of what a half-duplex interface serves, half
    is the one and half the other.
    """
    here = rate * (1.0 if service.full_duplex else 2.0)
    injected = ejected = np.asarray(mg1(here, service.interface_s, spread).waiting_s)
    if merging:
        arriving = traffic.arriving * (1.0 if service.full_duplex else 0.25)
        m = np.where(service.link_s >= service.interface_s, arriving, 0.0)
        ejected = _scaled(ejected, (1 - m) * (1 + TRAINS * here * service.interface_s * m))
    return injected + ejected if service.full_duplex else 2 * ejected


def _scaled(waits: _Floats, factor: _Floats) -> _Floats:
    """Return times a factor, where also no part of an infinite wait is infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(factor > 0, waits * factor, np.where(np.isinf(waits), np.inf, 0.0))


def check_closed_form(network: Network, place: Place | None = None, *, have_own: bool = False) -> None:
    """Raise InputError if waits have no closed form.

    At interfaces, when the messages that one of several takes round robin do not arrive at random (unless ranks
    ``have_own`` ones); at links, when routes are not known or lead over several rails.
    """
    if not network.routing.has_fixed_links:
        what = "open streams over random routes have no closed form"
        allowed = f"network.routing: {MINIMAL}; or simulate it"
        raise InputError(what, place, value=network.routing.name, allowed=allowed)
    if network.rails > 1:
        what = "open streams over several rails have no closed form: network.rails"
        raise InputError(what, place, value=network.rails, allowed="1; or simulate it")
    if network.interfaces.count > 1 and not have_own and np.any(network.interface_occupancy_s_per_byte):
        what = "open streams through several interfaces that each rank takes have no closed form"
        allowed = "network.interfaces: {count: 1}, or one for each rank (assignment: rank); or simulate it"
        raise InputError(what, place, value=f"count: {network.interfaces.count}", allowed=allowed)


@dataclass(frozen=True)
class _Service:
    """How long a message occupies each link and each interface.

    0 if they are not shared. ``link_s``: the slowest link, ``group_s`` (..., G): one of each group of the topology, or
    of the only kind where links are alike. Links carry no more than the fraction ``saturation`` of what they could.
    """

    link_s: _Floats
    interface_s: _Floats
    group_s: _Floats
    full_duplex: bool = True
    interfaces: int = 1  # of a node
    saturation: float = 1.0
    rails: int = 1

    @classmethod
    def of(cls, network: Network, size_bytes: ArrayLike, links: bool, interfaces: bool) -> _Service:
        size = np.asarray(size_bytes, dtype=np.float64)
        link = size * network.link_occupancy_s_per_byte * (1.0 if links else 0.0)
        interface = size * network.interface_occupancy_s_per_byte * (1.0 if interfaces else 0.0)
        link, interface = np.broadcast_arrays(link, interface)
        group = link[..., None]
        if links and network.links_differ:
            group = size[..., None] * group_table(network.links_s_per_byte)
        duplex, count = network.interfaces.is_full_duplex, network.interfaces.count
        return cls(link, interface, group, duplex, count, network.saturation, network.rails)

    def links_busy(self, load: _Floats, group: _Ints) -> _Floats:
        """Utilisation of the busiest link, per message per second of every host, of which links have ``load``."""
        return np.asarray(np.max(load * self.group_s[..., group], axis=-1, initial=0.0)) / self.rails

    @property
    def interface_busy(self) -> _Floats:
        """Utilisation of the interfaces, per message per second of every host."""
        return np.asarray((1 if self.full_duplex else 2) / self.interfaces * self.interface_s)

    def saturation_per_s(self, links_busy: _Floats) -> _Floats:
        """Return the rate of every host at which an interface is busy all the time, or a link as long as it can be."""
        with np.errstate(divide="ignore"):
            return np.asarray(1 / np.maximum(links_busy / self.saturation, self.interface_busy))


def _empty_s(
    network: Network, traffic: UniformTraffic, size_bytes: ArrayLike, service: _Service, links: bool
) -> FloatOrArray:
    """Mean latency without waiting: the head of a message sets out after the startup and takes a latency each hop.

    Its tail comes as much later as the slowest part lets it, once, or at each link where messages are stored.
    """
    size = np.asarray(size_bytes, dtype=np.float64)
    network, hops = at_size(network, size), traffic.mean_hops
    head, tail = forecast_messages(network).head_and_tail_s(network, size, hops)
    arrival = (
        head + hops * network.longest_hop_latency_s + np.maximum(tail, np.maximum(service.link_s, service.interface_s))
    )
    if not network.is_stored:
        return arrival
    share = np.minimum(
        network.sharing.stored_bytes / np.maximum(size, 1.0), 1.0
    )  # of a message, that is stored at a time
    stored = share * size * network.link_occupancy_s_per_byte
    # The receiver's interface gets the head of what is stored first, and delays its tail if slower than a link.
    slower = np.maximum(share * service.interface_s - stored, 0.0) * (1 - traffic.direct) if links else 0.0
    return arrival + (hops - 1) * stored + slower


def _plain(value: _Floats) -> FloatOrArray:
    """One number as a float."""
    return value if np.ndim(value) else float(value)
