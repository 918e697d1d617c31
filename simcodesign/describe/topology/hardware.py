"""How many switches, ports, cables and links a network is built of, for prices and powers that follow the topology."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from simcodesign.describe.topology.link_group import LinkGroup
from simcodesign.describe.topology.link_loads import IntArray

#: Names of the counts in expressions of a machine.
NETWORK_COUNTS = ("switches", "ports", "cables", "links")


class Built(Protocol):
    """Properties of a topology that are needed to count its hardware."""

    @property
    def node_count(self) -> int:
        """Return the number of hosts."""

    @property
    def vertex_count(self) -> int:
        """Return the number of vertices, hosts and switches."""

    @property
    def link_count(self) -> int:
        """Return the number of links, one for each direction."""

    @property
    def link_groups(self) -> tuple[LinkGroup, ...]:
        """Return the groups of links that are alike."""

    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        """Return the vertices from which and to which links lead."""


@dataclass(frozen=True)
class Hardware:
    """``switches``: vertices that are no hosts.

    ``ports``: ends of cables at switches, and both ends of a cable that joins two hosts; ``cables``: pairs of opposite
    links; ``links``: directed links. A tapered tier has its number of cables divided by its taper, rounded up.
    """

    switches: int
    ports: int
    cables: int
    links: int

    def counts(self, copies: int = 1) -> dict[str, float]:
        """Return the counts by their names in expressions, for ``copies`` copies of the network."""
        return {name: float(copies * getattr(self, name)) for name in NETWORK_COUNTS}


def hosts_on_switches(topology: Built) -> Hardware:
    """Count the hardware of a network in which each host has one cable, to a switch.

    Use the closed forms of its numbers of vertices and links.

    Cables of hosts are never fewer than hosts: a taper there is a slower cable.
    """
    hosts, groups = topology.node_count, topology.link_groups
    cables = min(hosts, topology.link_count // 2) + sum(_cables(group) for group in _above_hosts(groups, hosts))
    return Hardware(topology.vertex_count - hosts, max(2 * cables - hosts, 0), cables, topology.link_count)


def hosts_joined(topology: Built) -> Hardware:
    """Count the hardware of a network without switches, whose links come in pairs of opposite ones."""
    return Hardware(0, topology.link_count, topology.link_count // 2, topology.link_count)


def counted(topology: Built) -> Hardware:
    """Count the hardware of any network, by looking at the ends of each link.

    Links in opposite directions between two vertices share cables.
    """
    count = topology.link_count
    tail, head = topology.link_ends(np.arange(count, dtype=np.int64))
    ends = np.stack([np.minimum(tail, head), np.maximum(tail, head)])
    pairs, which = np.unique(ends, axis=1, return_inverse=True)
    upward = np.bincount(which.ravel(), weights=tail < head, minlength=pairs.shape[1])
    downward = np.bincount(which.ravel(), weights=tail >= head, minlength=pairs.shape[1])
    cables = np.maximum(upward, downward).astype(np.int64)
    at_switches = (pairs >= topology.node_count).sum(axis=0)
    ports = cables @ np.where(at_switches, at_switches, 2) if count else 0
    return Hardware(topology.vertex_count - topology.node_count, int(ports), int(cables.sum()), count)


def _above_hosts(groups: Sequence[LinkGroup], hosts: int) -> list[LinkGroup]:
    """Return the links that do not lead to hosts: links of hosts are a group of their own, or begin the only group."""
    first, *rest = groups or [LinkGroup("", 0)]
    if first.links > 2 * hosts:
        return [LinkGroup(first.name, first.links - 2 * hosts, taper=first.taper), *rest]
    return rest


def _cables(group: LinkGroup) -> int:
    return math.ceil(group.links // 2 / group.taper)
