"""The fraction of each job of what several jobs use: links of the network, servers of the storage, shared disks.

If J jobs use a link, a job has 1/J of its bandwidth, or its part of all their ranks if that is less: the first if
the network divides a link between jobs, the second if between messages, of which every rank has as many. The fraction
of links is the smallest over all links of the routes between the nodes of the job.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.jobs.placed import PlacedJobs
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.routing import Minimal
from simcodesign.describe.programs.program import walk

Ints = NDArray[np.int64]
#: Nodes of a job between which the routes of all pairs are made: all of them, or as many spread evenly among them.
MOST_NODES = 512
#: Pairs of nodes whose routes are made together.
PAIRS_AT_ONCE = 2**16


@dataclass(frozen=True)
class Shares:
    """Fractions of the bandwidth of links, of servers of the storage, and of disks, that a job has: 1 for all."""

    links: float = 1.0
    storage: float = 1.0
    disks: float = 1.0

    def of_machine(self, machine: Machine) -> Machine:
        """Return the machine that has these fractions of its bandwidths."""
        constants, changed = machine.constants(), {}
        model = machine.network.message_model
        by_links = {key for key, (name, _) in model.constants().items() if name == "per_byte_s"} | {"link_per_byte"}
        link_s_per_byte = np.asarray(machine.network.link_occupancy_s_per_byte)
        for path, value in constants.items():
            part, _, key = path.rpartition(".")
            if part.startswith("network") and part != "network.interfaces" and key in by_links and self.links < 1:
                own = 0.0 if key == "link_per_byte" else value
                shared = value if key == "link_per_byte" else link_s_per_byte
                changed[path] = np.maximum(own, shared / self.links)
            elif path in ("storage.per_byte", "storage.write_per_byte"):
                changed[path] = value / self.storage
            elif path == "storage.metadata_rate":
                changed[path] = value * self.storage
            elif path == "disk.per_byte":
                changed[path] = value / self.disks
        return machine.with_constants(changed) if changed else machine


def shares_of_jobs(placed: PlacedJobs) -> list[Shares]:
    """Return the shares of every job."""
    ranks = np.array([len(job.places) for job in placed.jobs])
    links = _used(_links(placed), ranks)
    storage = _used([np.zeros(int(point.workload.uses_storage), np.int64) for point in placed.points], ranks)
    disks = _used([_disks(point) for point in placed.points], ranks)
    return [Shares(*each) for each in zip(links, storage, disks, strict=True)]


def _used(units: list[Ints], ranks: Ints) -> list[float]:
    """Return the smallest share that each job has of a unit that it uses, by the units of every job."""
    count = 1 + max((int(one.max(initial=-1)) for one in units), default=-1)
    jobs, total = np.zeros(count), np.zeros(count)
    for used, own in zip(units, ranks, strict=True):
        jobs[used] += 1
        total[used] += own
    return [
        float(np.minimum(1 / jobs[used], own / total[used]).min(initial=1.0))
        for used, own in zip(units, ranks, strict=True)
    ]


def _disks(point: DesignPoint) -> Ints:
    """Return the disks that the ranks of a job access."""
    disk = point.machine.disk
    if disk is None or not any(isinstance(step, DiskAccess) for step in walk(point.workload.program)):
        return np.zeros(0, np.int64)
    return np.unique(point.machine.node_of(point.ranks) // disk.shared_by)


def _servers(point: DesignPoint) -> Ints:
    """Return the nodes with servers of the storage that a job uses, if these are on the network."""
    storage = point.machine.storage
    uses = storage is not None and point.workload.uses_storage
    return np.array(storage.nodes if storage is not None and uses else (), dtype=np.int64)


def _links(placed: PlacedJobs) -> list[Ints]:
    """Return the links between nodes that messages of each job may pass.

    All, if messages of several nodes may take routes that are not minimal.
    """
    topology = placed.machine.network.topology
    every = [np.unique(np.append(one.machine.node_of(one.ranks), _servers(one))) for one in placed.points]
    if not isinstance(placed.machine.network.routing, Minimal):
        return [np.arange(topology.link_count if len(nodes) > 1 else 0) for nodes in every]
    found = []
    for nodes in every:
        some = nodes[np.unique(np.linspace(0, len(nodes) - 1, min(len(nodes), MOST_NODES)).astype(np.int64))]
        pairs = np.arange(len(some) ** 2)
        parts = [np.zeros(0, np.int64)]
        for low in range(0, len(pairs), PAIRS_AT_ONCE):
            source, target = np.divmod(pairs[low : low + PAIRS_AT_ONCE], len(some))
            far = source != target
            parts.append(np.unique(topology.routes(some[source[far]], some[target[far]]).link))
        found.append(np.unique(np.concatenate(parts)))
    return found
