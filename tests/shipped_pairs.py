"""Which shipped workloads go with which shipped machines."""

from __future__ import annotations

from itertools import product

from simcodesign.describe.files import available, load_machine, load_workload
from simcodesign.describe.workload import References, walk


def needs_memory(workload: str) -> bool:
    """Whether a shipped workload looks things up in memory."""
    return any(isinstance(step, References) for step in walk(load_workload(workload).program))


def fits(workload: str, machine: str) -> bool:
    """Whether a shipped machine has what a shipped workload needs: memory is the only thing that some lack."""
    return not needs_memory(workload) or load_machine(machine).memory is not None


#: Machines that differ from another in counts and constants alone: workloads without a footprint run on that one.
ALIKE = {"strawman-vector": "strawman-massively-parallel", "strawman-hybrid": "strawman-massively-parallel"}


def pairs() -> list[tuple[str, str]]:
    """Shipped workloads with the shipped machines that they fit."""
    every = product(available("workloads"), available("topologies"))
    return [
        (workload, machine)
        for workload, machine in every
        if fits(workload, machine) and (machine not in ALIKE or load_workload(workload).footprint is not None)
    ]
