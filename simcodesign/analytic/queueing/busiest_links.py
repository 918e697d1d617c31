"""How many messages pass the busiest link of a network, in closed form.

Under uniform traffic, and when every host sends to one other, by a pattern against which deterministic routes are bad.

With dimension-ordered and minimal routes these are matters of counting. With p hosts on a router:

* Dragonfly, one cable between any two groups of a routers: all (a p)^2 pairs of two groups take their cable. A link
  within a group, from router x to y, has the p^2 pairs of these two, a p^2 for each group that y leads to, and a p^2
  for each that x leads to. When all of a group send to the next one, a p messages meet on one cable, so that minimal
  routes have a throughput of 1 / (a p) (Kim et al., ISCA 2008, Sec. 4: 1 / (a h), where p = h).
* Dragonfly+: the same, over several cables by the destination; links within groups have what goes to other leaves of
  the group, spread over the spines, and what passes the cables at their spine.
* HyperX: over a link of dimension k go messages from routers that differ in the dimensions before it to those that
  differ in the dimensions behind it. When all of a router send to a neighbour, p meet on their K cables: a throughput
  of K / p, or 1 / k for the k-ary n-flat of Kim et al., ISCA 2007.
* Mesh and torus: uniform traffic as ``grid_traffic`` has it. Along a ring of k hosts, messages half way round, over
  (k - 1) / 2 hops rounded down, all go the same way (the tornado); along a line, to the mirror image, k / 2 rounded
  down meet in the middle. Hypercube: sqrt(P) / 2 of a bit reversal meet, 2^(d/2 - 1) with d / 2 rounded down (Dally and
  Towles, Principles and Practices of Interconnection Networks, 2004; Leighton, 1992).
* Slim Fly: a link between groups has its own pair of routers, 2 (q - 1) of two hops over it and another link between
  groups, and q - 1 over it and a link within a group: 3 q - 2. Links within groups have fewer.

Through random hosts (Valiant), a message makes two ways whose other ends are any hosts, so that every pattern loads
links as uniform traffic does twice, less the 1 / N of routes that end at their begin. On dragonflies, whose routes turn
at the first router of a group, the links within groups depend on the pattern.

Routes by the destination share parallel routes evenly only if the hosts divide evenly; if they do not, or if
routes depend on where cables are plugged, there is no closed form here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.analytic.queueing.grid_traffic import line_ways
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.grid import GridTopology
from simcodesign.describe.topology.hypercube import HypercubeTopology
from simcodesign.describe.topology.low_diameter.dragonfly import DragonflyTopology
from simcodesign.describe.topology.low_diameter.dragonfly_plus import DragonflyPlusTopology
from simcodesign.describe.topology.low_diameter.hyperx import HyperXTopology
from simcodesign.describe.topology.low_diameter.slim_fly import SlimFlyTopology


@dataclass(frozen=True)
class BusiestLink:
    """Messages over the busiest link when every host sends one.

    ``uniform``: in the mean, to any of the other hosts alike; ``adverse``: when each sends to one other by a
    ``pattern``. Group to group and router to router are all hosts of one to the same places of the next one, or of one
    that it is joined with; the tornado, the mirror image and the bit reversal are defined above. ``valiant``: in the
    mean, whatever the pattern, when each message goes through a random host; None if that depends on the pattern.
    """

    uniform: float
    adverse: float
    pattern: str
    valiant: float | None = None


def busiest_link(topology: Topology) -> BusiestLink | None:
    """If there is a closed form; None otherwise, and for a single host, router or group."""
    match topology:
        case GridTopology():
            return _grid(topology)
        case HypercubeTopology():
            return _hypercube(topology)
        case DragonflyTopology():
            return _dragonfly(topology)
        case DragonflyPlusTopology():
            return _dragonfly_plus(topology)
        case HyperXTopology():
            return _hyperx(topology)
        case SlimFlyTopology():
            return _slim_fly(topology)
    return None


def _grid(network: GridTopology) -> BusiestLink | None:
    axes = [axis for axis in network.axes if axis.extent > 1]
    if not axes:
        return None
    pairs = [line_ways(axis.extent, axis.is_ring).over.max() * network.node_count / axis.extent for axis in axes]
    adverse = {(axis.extent - 1) // 2 if axis.is_ring else axis.extent // 2: axis.is_ring for axis in axes}
    most = max(adverse)
    pattern = "half way round a ring" if adverse[most] else "to the mirror image"
    uniform = float(max(pairs)) / (network.node_count - 1)
    return BusiestLink(uniform, float(most), pattern, _twice(float(max(pairs)), network))


def _hypercube(network: HypercubeTopology) -> BusiestLink | None:
    if network.dimension < 2:
        return None
    pairs = network.node_count / 2
    adverse = 2.0 ** (network.dimension // 2 - 1)
    return BusiestLink(pairs / (network.node_count - 1), adverse, "with bits reversed", _twice(pairs, network))


def _twice(pairs: float, network: Topology) -> float:
    """Messages over a link, in the mean, when every host sends one through a random host."""
    return 2 * pairs / network.node_count


def _busiest(
    topology: Topology, pairs: list[float], adverse: list[float], part: str, turns_at_routers: bool = True
) -> BusiestLink:
    """Load of pairs of hosts on links between routers, and messages; a link of a host has one message each way."""
    others = topology.node_count - 1
    valiant = max(1.0, _twice(max(pairs), topology)) if turns_at_routers else None
    return BusiestLink(max(others, *pairs) / others, max(1.0, *adverse), f"{part} to {part}", valiant)


def _dragonfly(network: DragonflyTopology) -> BusiestLink | None:
    if network.groups < 2 or network.between_groups.cables_per_pair > 1:
        return None
    p, a, others = network.terminals, network.routers, network.groups - 1
    # Ports fill router after router: the first two have the most.
    first = min(network.global_links, others)
    second = min(network.global_links, others - first)
    inside = p**2 * (1 + a * (first + second)) if a > 1 else 0
    return _busiest(network, [inside, (a * p) ** 2], [a * p], "group", turns_at_routers=False)


def _dragonfly_plus(network: DragonflyPlusTopology) -> BusiestLink | None:
    cables, p, spines = network.between_groups.cables_per_pair, network.terminals, network.spines
    if network.groups < 2 or p % spines or p % cables:
        return None
    hosts = p * network.leaves
    ports = min(network.global_links, (network.groups - 1) * cables)  # in use at the first spine
    inside = p * (hosts - p) / spines + ports * p * hosts / cables
    most = p * _cables_at_one_spine(network) / cables
    # To the random leaf and from it, cables are taken by the destination, and by the destination of the leaf's host.
    return _busiest(network, [inside, hosts**2 / cables], [most, hosts / cables], "group", turns_at_routers=False)


def _cables_at_one_spine(network: DragonflyPlusTopology) -> int:
    """Return the most of the cables between a group and the next one, or the previous one.

    Only cables that are at one of its spines.
    """
    links, group = network.between_groups, np.arange(network.groups)
    cable = np.arange(links.cables_per_pair)[:, None]
    spines = [links.router(group, (group + step) % network.groups, cable) for step in (1, -1)]
    return max(int(np.bincount((network.spines * group + spine).ravel()).max()) for spine in spines)


def _hyperx(network: HyperXTopology) -> BusiestLink | None:
    if network.router_count == 1:
        return None
    pairs, adverse = [], []
    before, behind = network.terminals, network.node_count
    for extent, cables in zip(network.shape, network.cables, strict=True):
        behind //= extent
        if extent > 1:
            # Destinations are hosts in a row, which parallel cables take round robin.
            pairs.append(before * -(-behind // cables))
            adverse.append(-(-network.terminals // cables))
        before *= extent
    return _busiest(network, [*pairs], [*adverse], "router")


def _slim_fly(network: SlimFlyTopology) -> BusiestLink | None:
    p, q = network.terminals, network.q
    if p % 2 and q % 4 != 1:
        return None  # two routes between some routers take the destinations alternately, and so unevenly
    return _busiest(network, [(3 * q - 2) * p**2], [p], "router")
