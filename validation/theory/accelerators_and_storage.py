"""Accelerators and storage: the roofline, closed loops at one accelerator and at a metadata server, and striped files.

Sources: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009; L. Kleinrock, "Queueing Systems I" (1975), Sec. 3.8 (a finite population); P. Denning,
J. Buzen, "The operational analysis of queueing network models", Computing Surveys 10(3), 1978 (asymptotes); W. Feller,
"An introduction to probability theory and its applications I" (3rd ed. 1968), Sec. II.5 (balls in cells).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import simcodesign as sc
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.computation import Compute, Kernel
from simcodesign.describe.demands.disk_access import MetadataOperations, StorageAccess
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.accelerator import Accelerator
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.machine_parts.storage import RANDOM, ROUND_ROBIN, Storage
from simcodesign.describe.network.network import Network
from simcodesign.describe.programs.program import Block
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.yaml.files import load_machine
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from .machines import ROUNDING, program

ROOFLINE = "Williams, Waterman, Patterson, CACM 52(4), 2009: attainable flops are min(peak, bandwidth x intensity)"
#: Flops of a byte: below and above the ridge of 23.95 TFLOP/s over 1.6 TB/s.
INTENSITIES = (0.125, 1.0, 8.0, 14.96875, 16.0, 64.0)
#: Seconds that a rank works by itself, and at the accelerator, in the mean; cycles of a run.
OWN_S, SERVICE_S, CYCLES = 3.0, 1.0, 4000
EXPONENTIAL = Distribution("exponential")
#: A server of storage: its number, its time for a file, and files at random with how many seeds.
SERVERS, FILE_S, SEEDS, DEVIATIONS = 8, 1.0, 600, 4.0
#: Seconds between two operations of a client, and of one at the metadata server; cycles.
THINK_S, OPERATION_S, ROUNDS = 6.0, 0.5, 20


def _machine(ranks: int, accelerator: Accelerator | None = None, storage: Storage | None = None) -> Machine:
    """One node for all ranks where they share an accelerator, otherwise one for each."""
    nodes = 1 if accelerator is not None else ranks
    network, per_node = Network(build_topology("crossbar", nodes)), ranks // nodes
    return Machine(
        "theory",
        Processor(1.0),
        network,
        processors_per_node=per_node,
        accelerator=accelerator,
        storage=storage,
    )


def _storage(allocation: str) -> Storage:
    """Servers for which a file of 8 bytes takes ``FILE_S``; every file is on one of them."""
    return Storage(SERVERS, 8, FILE_S / 8, metadata_rate_per_s=1 / OPERATION_S, allocation=allocation)


def _roofline_case() -> Case:
    bare = load_machine("frontier-cabinet", {"accelerator.launch": 0})
    part = bare.accelerator
    assert part is not None
    assert part.memory_per_byte_s is not None
    peak, per_byte_s = float(part.rate_flop_per_s), float(part.memory_per_byte_s)

    def measure() -> Readings:
        forecast, simulated = {}, {}
        for intensity in INTENSITIES:
            kernel = Kernel(None, Place(), parse(1e12 * intensity), None, parse(1e12))
            forecast[intensity] = 1e12 * intensity / float(sc.forecast(program(kernel), bare, {"P": 1}).makespan_s)
            result = sc.simulate(program(kernel), bare, {"P": 1}, effects="all", engine="simpy")
            simulated[intensity] = 1e12 * intensity / result.makespan_s
        return Readings(forecast, simulated)

    return Case(
        name="accelerators/roofline",
        claim="What an accelerator attains of kernels by their flops of a byte.",
        source=ROOFLINE,
        unit="FLOP/s",
        expected={intensity: min(peak, intensity / per_byte_s) for intensity in INTENSITIES},
        axis="flops of a byte",
        reading="both",
        tolerance=ROUNDING,
        quick=True,
        measure=measure,
    )


def repairman_cycle_s(ranks: int) -> float:
    """The mean cycle of so many ranks: N over the throughput (1 - p0) / service, with p0 from the steady state of the
    birth and death process, whose states have weights N!/(N-k)! (service / own)^k."""
    ratio = SERVICE_S / OWN_S
    weights = [math.perm(ranks, waiting) * ratio**waiting for waiting in range(ranks + 1)]
    return ranks * SERVICE_S / (1 - weights[0] / sum(weights))


def _repairman_case() -> Case:
    populations = (1, 2, 4, 8)
    margin = DEVIATIONS * math.hypot(OWN_S, SERVICE_S) / (OWN_S + SERVICE_S) / math.sqrt(CYCLES)

    def measure() -> Readings:
        forecast, simulated = {}, {}
        for ranks in populations:
            own = Compute(None, Place(), "seconds", parse(OWN_S), varies=EXPONENTIAL)
            kernel = Kernel(None, Place(), None, parse(SERVICE_S), varies=EXPONENTIAL)
            loop, machine = program(Block(parse(CYCLES), (own, kernel))), _machine(ranks, Accelerator(1, 1.0))
            forecast[ranks] = float(sc.forecast(loop, machine, {"P": ranks}).makespan_s) / CYCLES
            result = sc.simulate(loop, machine, {"P": ranks}, effects="accelerators, noise", seed=1)
            assert result.ranks is not None
            simulated[ranks] = float(result.ranks.end_s.mean()) / CYCLES
        return Readings(forecast, simulated)

    return Case(
        name="accelerators/finite-population",
        claim="The mean cycle of ranks that compute by themselves and then launch a kernel on the one accelerator of their node.",
        source="Kleinrock, Queueing Systems I, Sec. 3.8: M/M/1 with a finite population",
        unit="s",
        expected={ranks: repairman_cycle_s(ranks) for ranks in populations},
        axis="ranks",
        reading="both",
        tolerance=Tolerance(
            f"{DEVIATIONS:g} deviations of the mean of {CYCLES:,} cycles of a rank alone", relative=margin
        ),
        measure=measure,
    )


def _access(size: int) -> Demand:
    return StorageAccess(None, Place(), "write", parse(size), parse(1))


def _in_turn_case() -> Case:
    files = (1, 7, 8, 9, 16, 17, 64)

    def measure() -> Readings:
        simulated = {}
        for ranks in files:
            machine = _machine(ranks, storage=_storage(ROUND_ROBIN))
            simulated[ranks] = sc.simulate(program(_access(8)), machine, {"P": ranks}, effects="storage").makespan_s
        return Readings(simulation=simulated)

    return Case(
        name="storage/files-in-turn",
        claim=f"Files of one stripe, in turn on {SERVERS} servers: the busiest has ceil(files/servers) of them.",
        source="D/D/1 at every server; the pigeonhole principle",
        unit="s",
        expected={ranks: math.ceil(ranks / SERVERS) * FILE_S for ranks in files},
        axis="files",
        reading="simulation",
        tolerance=ROUNDING,
        quick=True,
        measure=measure,
    )


def _saturation_case() -> Case:
    files = (1, 4, 8, 16, 64)

    def measure() -> Readings:
        forecast, simulated = {}, {}
        for ranks in files:
            machine, load = _machine(ranks, storage=_storage(ROUND_ROBIN)), program(_access(8))
            forecast[ranks] = 8 * ranks / float(sc.forecast(load, machine, {"P": ranks}).makespan_s)
            simulated[ranks] = 8 * ranks / sc.simulate(load, machine, {"P": ranks}, effects="all").makespan_s
        return Readings(forecast, simulated)

    return Case(
        name="storage/saturation",
        claim="The bandwidth of files in turn grows with their number until all servers are at work.",
        source="Aggregate bandwidth: min(files, servers) times that of a server",
        unit="B/s",
        expected={ranks: min(ranks, SERVERS) * 8 / FILE_S for ranks in files},
        axis="files",
        reading="both",
        tolerance=ROUNDING,
        quick=True,
        measure=measure,
    )


def most_in_a_cell(balls: int, cells: int) -> tuple[float, float]:
    """Mean and standard deviation of the most balls in one cell, each ball in any with the same chance: those with at
    most m in every cell are balls! [x^balls] (sum of x^k/k! up to m)^cells of all cells^balls."""
    below, first, second = Fraction(0), Fraction(0), Fraction(0)
    for most in range(1, balls + 1):
        power = [Fraction(1)]
        for _ in range(cells):
            product = [Fraction(0)] * (balls + 1)
            for place, weight in enumerate(power):
                for more in range(min(most, balls - place) + 1):
                    product[place + more] += weight / math.factorial(more)
            power = product
        up_to = power[balls] * math.factorial(balls) / cells**balls
        first, second = first + most * (up_to - below), second + most**2 * (up_to - below)
        below = up_to
    return float(first), math.sqrt(float(second - first**2))


def _at_random_case() -> Case:
    files = (2, 4, 8, 12)
    exact = {ranks: most_in_a_cell(ranks, SERVERS) for ranks in files}

    def measure() -> Readings:
        simulated = {}
        for ranks in files:
            machine, load = _machine(ranks, storage=_storage(RANDOM)), program(_access(8))
            runs = (
                sc.simulate(load, machine, {"P": ranks}, effects="storage", seed=seed, engine="simpy")
                for seed in range(SEEDS)
            )
            simulated[ranks] = float(np.mean([run.makespan_s for run in runs]))
        return Readings(simulation=simulated, notes=(f"mean of {SEEDS} seeds each",))

    margin = max(deviation / mean for mean, deviation in exact.values()) * DEVIATIONS / math.sqrt(SEEDS)
    return Case(
        name="storage/files-at-random",
        claim=f"The mean of the last end of files of one stripe on any of {SERVERS} servers: balls in cells.",
        source="Feller I, Sec. II.5, by exact enumeration",
        unit="s",
        expected={ranks: mean * FILE_S for ranks, (mean, _) in exact.items()},
        axis="files",
        reading="simulation",
        tolerance=Tolerance(f"{DEVIATIONS:g} standard deviations of a mean of {SEEDS} runs at most", relative=margin),
        measure=measure,
    )


def metadata_s(clients: int) -> float:
    """The end of ``ROUNDS`` rounds: all come first at the same time, and never again if the server is not saturated,
    so that the last one continues by itself; otherwise the server has no pause from the first operation on."""
    if clients * OPERATION_S <= THINK_S + OPERATION_S:
        return THINK_S + clients * OPERATION_S + (ROUNDS - 1) * (THINK_S + OPERATION_S)
    return THINK_S + ROUNDS * clients * OPERATION_S


def _metadata_case() -> Case:
    clients = (1, 4, 13, 14, 40)

    def measure() -> Readings:
        simulated = {}
        for ranks in clients:
            think = Compute(None, Place(), "seconds", parse(THINK_S))
            loop = program(Block(parse(ROUNDS), (think, MetadataOperations(None, Place(), parse(1)))))
            machine = _machine(ranks, storage=_storage(ROUND_ROBIN))
            simulated[ranks] = sc.simulate(loop, machine, {"P": ranks}, effects="storage").makespan_s
        return Readings(simulation=simulated)

    return Case(
        name="storage/metadata-saturation",
        claim="Clients that think and then want an operation of the one metadata server: two asymptotes.",
        source="Denning, Buzen, Computing Surveys 10(3), 1978: N* = (Z + S)/S clients saturate it",
        unit="s",
        expected={ranks: metadata_s(ranks) for ranks in clients},
        axis="clients",
        reading="simulation",
        tolerance=ROUNDING,
        quick=True,
        measure=measure,
    )


CASES = [
    _roofline_case(),
    _repairman_case(),
    _in_turn_case(),
    _saturation_case(),
    _at_random_case(),
    _metadata_case(),
]
