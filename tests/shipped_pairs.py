"""Which shipped workloads go with which shipped machines."""

from __future__ import annotations

from itertools import product

from simcodesign.describe.files import available, load_machine, load_workload
from simcodesign.describe.workload import References, walk


def fits(workload: str, machine: str) -> bool:
    """Whether a shipped machine has what a shipped workload needs: memory is the only thing that some lack."""
    needs = any(isinstance(step, References) for step in walk(load_workload(workload).program))
    return not needs or load_machine(machine).memory is not None


def pairs() -> list[tuple[str, str]]:
    """Shipped workloads with the shipped machines that they fit."""
    every = product(available("workloads"), available("topologies"))
    return [(workload, machine) for workload, machine in every if fits(workload, machine)]
