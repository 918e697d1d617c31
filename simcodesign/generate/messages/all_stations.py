"""All stations of a Plan, in the order of arbitration, and the bandwidths of those that are links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import level_at
from simcodesign.generate.plan import (
    DISK,
    INTERFACE,
    LINK,
    MAILBOX,
    MESSAGE_MEMORY,
    PROCESSOR,
    UNLIMITED,
    Discipline,
    Int64s,
    Stations,
)


def link_bandwidths(machine: Machine, stations: Stations) -> NDArray[np.float64]:
    """(S,) bytes per second of every station that is a link, infinite if bytes take no time; 0 for other stations."""
    bandwidth, levels = np.zeros(len(stations)), machine.numbered_levels
    links = np.flatnonzero(stations.kind == LINK)
    unit = stations.unit[links]
    place = level_at(levels, "first_link", unit)
    for level in levels:
        here, network = place == level.number, level.network
        per_byte_s = np.array(network.links_s_per_byte, dtype=np.float64)
        with np.errstate(divide="ignore"):
            bandwidth[links[here]] = 1 / per_byte_s[network.link_group(unit[here] - level.first_link)]
    return bandwidth


def stations_of(
    machine: Machine,
    served: Sequence[tuple[int, Int64s]],
    processors: int,
    visited: Int64s,
    mailboxes: int,
    disk_discipline: Discipline = UNLIMITED,
) -> Stations:
    """Return all stations.

    Those at which operations are ``served``, by kind and unit (disks have this discipline), processors, interfaces and
    links, mailboxes.
    """
    last = machine.numbered_levels[-1]
    interfaces = last.first_interface + last.interfaces
    memory = interfaces + last.first_link + last.links
    kinds = np.searchsorted([interfaces, memory], visited, side="right")
    spindles = machine.disk.spindles if machine.disk else 1
    groups: Sequence[tuple[ArrayLike, Int64s]] = (
        *served,
        (PROCESSOR, np.arange(processors)),
        (np.array([INTERFACE, LINK, MESSAGE_MEMORY])[kinds], visited - np.array([0, interfaces, memory])[kinds]),
        (MAILBOX, np.arange(mailboxes)),
    )
    kind = np.concatenate([np.broadcast_to(np.asarray(kind, np.int8), len(unit)) for kind, unit in groups])
    unit = np.concatenate([unit for _, unit in groups])
    servers = np.where(kind == DISK, spindles, 1).astype(np.int32)
    factor = _interface_factors(machine, kind, unit)
    if disk_discipline == UNLIMITED:
        return Stations(kind, unit, servers, service_factor=factor)
    disciplines = (kind == DISK).astype(np.int8), (UNLIMITED, disk_discipline)
    return Stations(kind, unit, servers, *disciplines, service_factor=factor)


def _interface_factors(machine: Machine, kind: NDArray[np.int8], unit: Int64s) -> NDArray[np.float64] | None:
    """(S,) how much longer a byte occupies a station than the network states, by the partition of an interface.

    None if that is the same everywhere.
    """
    of_nodes, outer = machine.interface_factors, machine.numbered_levels[0]
    if of_nodes is None:
        return None
    factor, interfaces = np.ones(len(kind)), outer.network.interfaces
    here = np.flatnonzero((kind == INTERFACE) & (unit < outer.interfaces))
    factor[here] = of_nodes[unit[here] // interfaces.count % machine.nodes]
    return factor
