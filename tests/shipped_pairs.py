"""Which shipped workloads go with which shipped machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import product
from math import isqrt

import pytest
from _pytest.mark import ParameterSet

from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.demands.computation import Compute, Kernel
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.resource_uses import Execute
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.rates import FORMAT_BYTES
from simcodesign.describe.programs.program import walk
from simcodesign.describe.yaml import files
from simcodesign.describe.yaml.files import available

#: Shipped files are read once: descriptions do not change.
load_workload, load_machine = cache(files.load_workload), cache(files.load_machine)


def needs_memory(workload: str) -> bool:
    """Whether a shipped workload looks things up in memory."""
    return any(isinstance(step, MemoryAccesses) for step in walk(load_workload(workload).program))


def resources_of(workload: str) -> set[str]:
    """The resources of a machine that a shipped workload uses."""
    steps = walk(load_workload(workload).program)
    return {use.resource for step in steps if isinstance(step, Execute) for use in step.uses}


def plain_workloads() -> list[str]:
    """The shipped programs for any number of ranks, or powers of two or squares, that use no resource, accelerator or
    storage which only some machines have."""
    return [
        name
        for name in available("workloads")
        if name not in (*GRIDS, *CUBES) and not (resources_of(name) or is_open(name) or needs_parts(name))
    ]


def needs_parts(workload: str) -> bool:
    """Whether a shipped workload uses accelerators or storage."""
    return load_workload(workload).uses_accelerators or load_workload(workload).uses_storage


def formats_of(workload: str) -> set[str]:
    """The number formats of the kernels of a shipped workload, by default."""
    described = load_workload(workload)
    types = [step.type for step in walk(described.program) if isinstance(step, Kernel) and step.type]
    values = {name: parameter.default for name, parameter in described.parameters.items()}
    values |= {
        name: described.equations[name].evaluate(values) for name in ("other_type",) if name in described.equations
    }
    names = [*FORMAT_BYTES]
    return {one if isinstance(one, str) else names[int(one.evaluate(values)) - 1] for one in types}


def is_open(workload: str) -> bool:
    """Whether a shipped workload is an open stream of requests."""
    return load_workload(workload).is_open


def arrives(workload: str, to: str) -> bool:
    """Whether a shipped workload has requests for disks, or messages, that arrive from outside."""
    return any(isinstance(step, Arrivals) and step.to == to for step in load_workload(workload).program)


def needs_clock(workload: str) -> bool:
    """Whether a shipped workload counts instructions."""
    return any(
        isinstance(step, Compute) and step.unit == "instructions" for step in walk(load_workload(workload).program)
    )


def is_loggops(machine: str) -> bool:
    """Whether the messages of a shipped machine are of LogGOPS, in which forecasts of programs are estimates."""
    return load_machine(machine).network.message_model.name == "loggop"


def fits(workload: str, machine: str) -> bool:
    """Whether a shipped machine has what a shipped workload needs: some lack a memory, a disk, a clock or resources."""
    described = load_machine(machine)
    if machine in ("frontier-cabinet", "two-partitions") and not needs_parts(workload):
        return False  # whose messages are sent together: the sum of closed forms is not what these take
    if arrives(workload, "disk") and described.disk is None:
        return False
    if arrives(workload, "network") and described.network.interfaces.count > 1:  # no closed form
        return False
    if is_loggops(machine) and workload not in IN_LOGGOPS:
        return False
    if not resources_of(workload) <= described.custom.resources.keys():
        return False
    if needs_clock(workload) and described.processor.clock_hz is None:
        return False
    if load_workload(workload).may_use("disk") and described.disk is None:
        return False
    if load_workload(workload).uses_accelerators and described.accelerator is None:
        return False
    if any(getattr(described.accelerator.rates, name) is None for name in formats_of(workload)):
        return False
    if load_workload(workload).may_use("link") and described.accelerator.link_per_byte_s is None:
        return False
    if load_workload(workload).uses_storage and described.storage is None:
        return False
    return not needs_memory(workload) or described.memory is not None


#: Watts of a rank, and joules of a byte.
POWER = {
    "processor.dynamic_power": 20.0,
    "network.dynamic_power": 5.0,
    "disk.dynamic_power": 7.0,
    "memory.dynamic_power": 11.0,
    "accelerator.dynamic_power": 13.0,
    "network.energy_per_byte": 1e-8,
}


def powered(name: str) -> Machine:
    """A shipped machine that draws power, whatever its file says of it."""
    return with_power(load_machine(name))


def with_power(bare: Machine) -> Machine:
    """The machine with power for all parts that it has."""
    return bare.with_constants({path: value for path, value in POWER.items() if getattr(bare, path.partition(".")[0])})


#: Machines that differ from another in counts and constants alone: workloads without a footprint run on that one.
ALIKE = {
    "strawman-vector": "strawman-massively-parallel",
    "strawman-hybrid": "strawman-massively-parallel",
    "xeon-4-nodes": "xeon-cluster",
}

#: Workloads that go to machines in LogGOPS: those of one operation, whose forecast is exact there.
IN_LOGGOPS = ("burst", "burst-loggp")

#: Workloads that only some numbers of ranks fit.
SQUARES = ("npb-bt", "npb-sp")
CUBES = ("dns-matmul", "lulesh-leapfrog")
POWERS_OF_TWO = ("cg", "fft-binary-exchange", "npb-cg", "npb-ft", "npb-lu", "npb-mg")
BY_SQUARE_OR_POWER = (*SQUARES, *POWERS_OF_TWO[2:])
#: Workloads whose ranks differ, so that a forecast takes one number of ranks at a time.
RANKS_DIFFER = (
    *("checkpoint-to-storage", "cice", "npb-bt", "npb-cg", "npb-lu", "npb-sp", "ping-pong"),
    *("pipeline", "seismic-at-once", "serial-fraction"),
)
#: Those, and two of many operations: tests/test_npb_workloads.py takes them through both readings and engines, in small.
ELSEWHERE = (*BY_SQUARE_OR_POWER, "cice", "homme")
#: Workloads that do not take the sum of their closed forms: phases without waiting between them, messages to and fro, and
#: ranks at the border of a cube, which have fewer neighbours, and stages (tests/system/classics/test_collective_costs.py,
#: tests/system/classics/test_ping_pong.py; tests/system: test_lulesh.py, test_pipelines.py, test_gpt.py,
#: test_mixture_of_experts.py).
NOT_THE_SUM = (
    *(
        "collective-costs",
        "fugaku-collectives",
        "gpt",
        "lulesh-leapfrog",
        "mixture-of-experts",
        "ping-pong",
        "pipeline",
    ),
)
#: Algorithms on a process grid whose rows and columns are groups: tests/system/test_grid_workloads.py takes these.
GRIDS = ("cannon", "cg-2d", "dns-matmul", "hpl", "pencil-fft", "simple-matmul", "summa", "sweep3d")


def ranks_of(workload: str, wanted: Iterable[int]) -> tuple[int, ...]:
    """Those of the wanted numbers of ranks that a shipped workload fits."""
    if workload in SQUARES:
        return tuple(ranks for ranks in wanted if isqrt(ranks) ** 2 == ranks)
    return tuple(ranks for ranks in wanted if workload not in POWERS_OF_TWO or not ranks & (ranks - 1))


@cache
def pairs() -> list[tuple[str, str]]:
    """Shipped workloads with the shipped machines that they fit."""
    every = product(available("workloads"), available("topologies"))
    return [
        (workload, machine)
        for workload, machine in every
        if workload not in (*ELSEWHERE, *GRIDS, *NOT_THE_SUM)
        and fits(workload, machine)
        and (machine not in ALIKE or load_workload(workload).footprint is not None)
    ]


@cache
def covering_pairs() -> set[tuple[str, str]]:
    """Some of the pairs in which every workload and every machine comes: what the ordinary suite takes."""
    chosen: list[tuple[str, str]] = []
    machines: Counter[str] = Counter()
    for workload in available("workloads"):
        possible = [machine for other, machine in pairs() if other == workload]
        if possible:
            machine = min(possible, key=lambda name: machines[name])
            machines[machine] += 1
            chosen.append((workload, machine))
    for machine in available("topologies"):
        possible = [pair for pair in pairs() if pair[1] == machine]
        if possible and not machines[machine]:
            chosen.append(possible[0])
    return {*chosen}


#: The part of a machine that a step of a workload uses; other classes of steps use processors, or only order these.
PART_USED = {
    **dict.fromkeys(("Collective", "Exchange", "Send"), "network"),
    **dict.fromkeys(("MetadataOperations", "StorageAccess"), "storage"),
    **dict.fromkeys(("Copy", "Kernel"), "accelerator"),
    "Arrivals": "open",
    "DiskAccess": "disk",
    "Execute": "resources",
    "MemoryAccesses": "memory",
}


@cache
def kind_of_workload(name: str) -> frozenset[str]:
    """Return the parts of a machine that a workload uses."""
    steps = {type(step).__name__ for step in walk(load_workload(name).program)}
    return frozenset(PART_USED[step] for step in steps if step in PART_USED)


@cache
def kind_of_machine(name: str) -> tuple[object, ...]:
    """Return what decides which rules the messages of a machine follow."""
    machine = load_machine(name)
    network = machine.network
    model = network.message_model
    words = tuple(getattr(model, key) for key in (*model.choices, *model.flags))
    rules = (model.name, *words, network.switching, network.sharing, network.distance)
    inside = network.node is not None, machine.has_levels, bool(machine.partitions), machine.processors_per_node > 1
    return *rules, *inside


@cache
def pairs_of_kinds() -> set[tuple[str, str]]:
    """Return some of the pairs: each workload meets each kind of machine, each machine each kind of workload.

    Pairs that are new for both are taken first, and then those that are new for one of them.
    """
    chosen, met = set[tuple[str, str]](), set[tuple[str, object]]()
    for wanted in (2, 1):
        for workload, machine in pairs():
            new = {(workload, kind_of_machine(machine)), (machine, kind_of_workload(workload))} - met
            if len(new) >= wanted:
                chosen.add((workload, machine))
                met |= new
    return chosen


def pair_parameters() -> list[ParameterSet]:
    """Return pairs for ``parametrize``: those of kinds, marked ``thorough``, and those of the ordinary suite.

    For a pair that is left out, the machine meets another workload of its kind, and the workload another machine of its
    kind.
    """
    return [
        pytest.param(*pair, marks=() if pair in covering_pairs() else pytest.mark.thorough, id="-".join(pair))
        for pair in pairs()
        if pair in covering_pairs() | pairs_of_kinds()
    ]
