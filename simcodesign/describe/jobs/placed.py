"""Jobs on a machine: the scenario of each, whose machine places its ranks, and the checks that they go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import DesignPoint, is_of_machine
from simcodesign.describe.jobs.job import Job, job_of
from simcodesign.describe.machine import Machine
from simcodesign.describe.placement import PartMapping
from simcodesign.describe.scenario import MachineSource, Scenario, machine_of, workload_of

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PlacedJobs:
    """``jobs`` on the same ``machine``, none on a node of another."""

    jobs: tuple[Job, ...]
    machine: Machine

    @classmethod
    def of(cls, jobs: Sequence[Job | str], machine: MachineSource) -> PlacedJobs:
        """Return the jobs on a machine, which has as many nodes as they need if its file states ``nodes: P``.

        Raises InputError for no jobs, places that the machine does not have, two jobs at a place, and two jobs on a
        node.
        """
        every = tuple(job_of(one) for one in jobs)
        if not every:
            raise InputError("no jobs", allowed="at least one, as jacobi@0:16")
        whole = machine_of(machine)
        last = max(job.places[-1] for job in every)
        if whole.nodes_by_ranks is not None:
            whole = replace(whole.for_ranks(float(last + 1)), nodes_by_ranks=None)
        placed = cls(every, whole)
        placed._check()
        return placed

    @cached_property
    def node_of_places(self) -> Ints:
        """Node of every place of the machine, (places,)."""
        return self.machine.node_of(self.machine.most_ranks)

    @cached_property
    def nodes(self) -> Ints:
        """The nodes that some job has, ascending."""
        return np.unique(np.concatenate([self.node_of_places[_slice(job.places)] for job in self.jobs]))

    @cached_property
    def places(self) -> Ints:
        """The places of all jobs, ascending: in this order ranks have their numbers in a run of all jobs."""
        return np.sort(np.concatenate([np.asarray(job.places, dtype=np.int64) for job in self.jobs]))

    @cached_property
    def machine_of_all(self) -> Machine:
        """The machine with the ranks of all jobs as its ranks."""
        return self._with_places(self.places)

    @cached_property
    def scenarios(self) -> tuple[Scenario, ...]:
        """Each job as a scenario of its own: alone on its part of the machine."""
        return tuple(self._scenario(job) for job in self.jobs)

    @cached_property
    def points(self) -> tuple[DesignPoint, ...]:
        """The design point of each job. Raises InputError as ``bind`` does, with the label of the job."""
        return tuple(scenario.bind() for scenario in self.scenarios)

    def _scenario(self, job: Job) -> Scenario:
        workload = workload_of(job.workload)
        machine = self._with_places(np.asarray(job.places, dtype=np.int64))
        return Scenario(workload, machine, {**job.parameters, "P": len(job.places)}, job.preset)

    def _with_places(self, places: Ints) -> Machine:
        """Return the machine whose ranks have these places; itself if these are its first ones anyway."""
        node = self.node_of_places[places]
        if np.array_equal(self.machine.node_of(len(places)), node):
            return self.machine
        return replace(self.machine, mapping=PartMapping(tuple(node.tolist()), self.machine.placement.per_node))

    def _check(self) -> None:
        """InputError for places that the machine does not have, and for two jobs at a place or on a node."""
        most = self.machine.most_ranks
        for job in self.jobs:
            if job.places[-1] >= most:
                what = f"job {job.label} has places that {self.machine.label} does not have"
                raise InputError(what, value=job.places[-1], allowed=f"0 to {most - 1}")
            if others := [name for name in job.parameters if is_of_machine(name)]:
                what = f"job {job.label} sets a constant of the machine"
                raise InputError(
                    what, value=others[0], allowed="parameters of its workload; the machine is for all jobs"
                )
        for one, other in combinations(self.jobs, 2):
            both = np.intersect1d(np.asarray(one.places), np.asarray(other.places), assume_unique=True)
            if len(both):
                what = f"jobs {one.label} and {other.label} overlap"
                raise InputError(what, value=f"place {both[0]}", allowed="each place in one job")
        owner = np.full(self.machine.nodes, -1)
        for number, job in enumerate(self.jobs):
            node = np.unique(self.node_of_places[_slice(job.places)])
            taken = node[owner[node] >= 0]
            if len(taken):
                other = self.jobs[owner[taken[0]]]
                what = f"jobs {other.label} and {job.label} share node {taken[0]}"
                each = self.machine.placement.per_node
                raise InputError(what, allowed=f"whole nodes: places in multiples of {each}, the ranks of a node")
            owner[node] = number


def _slice(places: range) -> slice:
    return slice(places.start, places.stop, places.step)
