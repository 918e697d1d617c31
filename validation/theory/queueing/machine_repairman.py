"""Closed networks of queues: ranks that share a disk and a memory controller, as machines share a repairman.

Times are in mean services S of a disk. Formulas are written out here, apart from the package's: product forms and
their sums over all states, where the package solves recursions.

Sources: W. J. Gordon and G. F. Newell, "Closed queuing systems with exponential servers", Operations Research 15(2),
1967; M. Reiser and S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks", J. ACM 27(2), 1980;
L. Kleinrock, "Queueing Systems I" (1975), Sec. 3.8, and "II" (1976), Sec. 4.12 (bounds); F. Baskett, K. M. Chandy,
R. R. Muntz, F. G. Palacios, J. ACM 22(2), 1975.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

import simcodesign as sc
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.native.shared_library import library
from simcodesign.core.operation_kinds import READ
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import Memory
from simcodesign.describe.programs.program import Block, Step
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.workload import Workload
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ..machines import ROUNDING
from .long_runs import Chain, Move, requests_for
from .stations import (
    EXPONENTIAL,
    S,
    about,
    disks,
    margin_tolerance,
    program,
    weakest,
)

#: Cycles are known better than responses: a rank's own work is in them.
CLOSED_MARGIN = 0.015
#: Bytes of an access to memory, and the time of each at the controller, in seconds.
LINE_BYTES, BYTE_S = 64, 1e-9


@dataclass(frozen=True)
class Loop:
    """Ranks of one node that compute for ``own``, need the memory controller for ``memory`` and read from their disk
    with ``spindles`` for 1, all in mean services S and random, again and again."""

    own: float
    spindles: int = 1
    memory: float = 0.0
    computing: Distribution = EXPONENTIAL

    def machine(self, ranks: int) -> Machine:
        """With processors for so many ranks on its node."""
        machine = disks(spindles=self.spindles, processors_per_node=ranks)
        return Machine(
            machine.name, machine.processor, machine.network, machine.disk, ranks, memory=Memory(0.0, BYTE_S)
        )

    def work(self, cycles: int) -> Workload:
        """So many cycles of every rank."""
        body: list[Step] = [Compute(None, Place(), "seconds", parse(self.own * S), varies=self.computing)]
        if self.memory:
            every = ((parse(1), parse(1)),)
            accesses = parse(round(self.memory * S / (LINE_BYTES * BYTE_S)))
            body.append(MemoryAccesses(None, Place(), distances=every, accesses=accesses, varies=EXPONENTIAL))
        body.append(DiskAccess(None, Place(), "read", parse(0), parse(1), varies=EXPONENTIAL))
        return program(Block(parse(cycles), tuple(body), phase="cycle"))

    def forecast(self, ranks: int) -> float:
        """The mean cycle."""
        cycles = 1000
        result = sc.forecast(self.work(cycles), self.machine(ranks), {"P": ranks})
        return float(np.asarray(result.makespan_s)) / cycles / S

    def simulated(self, ranks: int, cycles: int, seed: int) -> float:
        """The mean cycle of at least so many: ranks by the reads per time, until the first rank has done all."""
        work, machine = self.work(math.ceil(1.1 * cycles / ranks)), self.machine(ranks)
        result = sc.simulate(
            work,
            machine,
            {"P": ranks},
            effects="disks, memory, noise",
            seed=seed,
            timeline=True,
        )
        assert result.timeline is not None
        assert result.ranks is not None
        until = float(result.ranks.end_s.min())
        done = (result.timeline.kind == READ) & (result.timeline.finish_s <= until)
        return ranks * until / int(np.count_nonzero(done)) / S

    def cycle(self, ranks: int) -> tuple[Derived, Derived]:
        """From the product form: weights of k ranks at the disk and P - k at their own work."""
        if self.memory:
            return self._cycle_with_memory(ranks)
        weights = []
        for k in range(ranks + 1):
            ways = math.perm(ranks, k)
            at_once = math.prod(min(each, self.spindles) for each in range(1, k + 1))
            weights.append((f"{ways // math.gcd(ways, at_once)}/{at_once // math.gcd(ways, at_once)}*x**{k}", k))
        total = " + ".join(text for text, _ in weights)
        working = " + ".join(f"{min(k, self.spindles)}*{text}" for text, k in weights[1:])
        throughput = Derived("X*S", f"({working})/({total})", {"x": 1 / self.own}, about=f"{ranks} ranks")
        return throughput, Derived("C/S", "P/X", {"P": ranks, "X": throughput.value})

    def _cycle_with_memory(self, ranks: int) -> tuple[Derived, Derived]:
        """Gordon and Newell: weights m^i Z^j / j! of i ranks at the memory, j at their own work, the rest at the disk."""

        def total(ranks: int) -> str:
            states = ((i, j) for i, j in itertools.product(range(ranks + 1), repeat=2) if i + j <= ranks)
            return " + ".join(f"m**{i}*Z**{j}/{math.factorial(j)}" for i, j in states)

        values = {"m": self.memory, "Z": self.own}
        throughput = Derived("X*S", f"({total(ranks - 1)})/({total(ranks)})", values, about=f"{ranks} ranks")
        return throughput, Derived("C/S", "P/X", {"P": ranks, "X": throughput.value})

    def chain(self, ranks: int) -> Chain:
        """Ranks at the memory and at the disk; what is counted are reads. Services at the controller are exponential
        here, and in turn."""

        def moves(state: Hashable) -> Iterator[Move]:
            assert isinstance(state, tuple)
            at_memory, at_disk = state
            own = ranks - at_memory - at_disk
            if own:
                yield own / self.own, (at_memory + 1, at_disk) if self.memory else (0, at_disk + 1), 0.0
            if at_memory:
                yield 1 / self.memory, (at_memory - 1, at_disk + 1), 0.0
            if at_disk:
                yield float(min(at_disk, self.spindles)), (at_memory, at_disk - 1), 1.0

        return Chain.explored((0, 0), moves)


STATISTICAL = margin_tolerance(CLOSED_MARGIN)
REPAIR = "The machine repairman: P ranks compute for Z, exponentially, and read from one disk"
GORDON = "Gordon and Newell 1967; Reiser and Lavenberg 1980 (exact mean value analysis); Kleinrock I, Sec. 3.8"


def _closed(
    name: str,
    claim: str,
    source: str,
    loops: Mapping[str, tuple[Loop, int]],
    seed: int,
    tolerance: Tolerance = STATISTICAL,
    long: bool = False,
) -> Iterator[Case]:
    """Cycles of these loops, each with its number of ranks: one case of the forecast, one of the simulation."""
    lines = {label: loop.cycle(ranks) for label, (loop, ranks) in loops.items()}
    expected: dict[Label, float] = {label: line[-1].value for label, line in lines.items()}
    derivation = tuple(each for line in lines.values() for each in line)
    common = {"claim": claim, "source": source, "unit": "", "expected": expected, "derivation": derivation}

    def forecast() -> dict[Label, float]:
        return {label: loop.forecast(ranks) for label, (loop, ranks) in loops.items()}

    def simulation() -> Readings:
        simulated: dict[Label, float] = {}
        notes = []
        for number, (label, (loop, ranks)) in enumerate(loops.items()):
            spread = loop.chain(ranks).spread_of_rate()
            cycles = requests_for(spread, CLOSED_MARGIN)
            simulated[label] = loop.simulated(ranks, cycles, seed + number)
            notes.append(f"{cycles} cycles; {about(label, simulated[label], spread, cycles)}")
        return Readings(forecast(), simulated, notes=(*notes, weakest(expected, simulated, tolerance.relative)))

    yield Case(
        f"{name}/forecast",
        tolerance=ROUNDING,
        reading="forecast",
        quick=True,
        measure=lambda: Readings(forecast()),
        **common,
    )  # type: ignore[arg-type]
    yield Case(
        f"{name}/simulation",
        tolerance=tolerance,
        reading="simulation",
        full=long and library() is None,
        measure=simulation,
        **common,
    )  # type: ignore[arg-type]


def _ranks(loop: Loop, *counts: int) -> dict[str, tuple[Loop, int]]:
    return {f"{ranks} rank{'s' * (ranks > 1)}": (loop, ranks) for ranks in counts}


OWN = 9.0


def _closed_cases() -> Iterator[Case]:
    yield from _closed(
        "queueing/closed/repairman",
        f"{REPAIR}: their cycle, from a free disk to one that is always at work.",
        GORDON,
        _ranks(Loop(OWN), 1, 2, 4, 16, 32),
        8100,
    )
    yield from _closed(
        "queueing/closed/spindles",
        f"{REPAIR} with several spindles: their cycle by the product form of a station with several servers.",
        GORDON,
        {
            f"{spindles} spindles, {label}": loop
            for spindles, counts in ((2, (4, 16)), (4, (16, 32)))
            for label, loop in _ranks(Loop(OWN, spindles), *counts).items()
        },
        8200,
    )
    yield from _closed(
        "queueing/closed/own-work",
        f"{REPAIR}: the cycle does not depend on the distribution of the computation, only on its mean.",
        "Baskett, Chandy, Muntz and Palacios 1975: stations without waiting may have any service",
        {
            f"{law.text}, 8 ranks": (Loop(OWN, computing=law), 8)
            for law in (Distribution("deterministic"), Distribution("gamma", {"variation": 2}))
        },
        8300,
    )


#: Chosen before anything was simulated.
SLICED = Tolerance(
    "the simulated controller goes round in 16 slices of each demand, that is neither in turn nor evenly shared, for "
    "which the product form holds; with one request at a time there is no difference, with many a small one",
    relative=0.05,
)


def _memory_cases() -> Iterator[Case]:
    yield from _closed(
        "queueing/closed/memory-and-disk",
        "P ranks compute for 2 S, need the memory controller of their node for S/2 and the disk for S, all exponential: "
        "their cycle by the product form over two queues.",
        GORDON,
        _ranks(Loop(2.0, memory=0.5), 1, 2, 4, 8),
        8400,
        SLICED,
        long=True,
    )


#: Ranks for which the bounds are shown.
BOUNDED = (1, 4, 10, 16, 64, 128)


def _bound(count: int) -> Derived:
    return Derived("C/S", "max(Z + 1, P)", {"Z": OWN, "P": count}, about="asymptotic bound")


def _bound_cases() -> Iterator[Case]:
    loop, lines = Loop(OWN), {count: _bound(count) for count in BOUNDED}

    def measure() -> Readings:
        cycles = {count: requests_for(loop.chain(count).spread_of_rate(), CLOSED_MARGIN) for count in BOUNDED}
        simulation = {count: loop.simulated(count, cycles[count], 8500 + count) for count in BOUNDED}
        return Readings({count: loop.forecast(count) for count in BOUNDED}, simulation)

    yield Case(
        name="queueing/closed/bounds",
        claim=f"{REPAIR}: no cycle is shorter than Z + S, nor than P S.",
        source="Kleinrock, Queueing Systems II, 1976, Sec. 4.12; Lazowska et al., Quantitative System Performance, "
        "1984, ch. 5",
        unit="",
        expected={count: line.value for count, line in lines.items()},
        tolerance=Tolerance(STATISTICAL.reason, relative=CLOSED_MARGIN, sense="at_least"),
        reading="both",
        measure=measure,
        axis="ranks",
        derivation=tuple(lines.values()),
    )
    many = {count: lines[count] for count in (64, 128)}
    yield Case(
        name="queueing/closed/saturated",
        claim=f"{REPAIR}: with many more than 1 + Z/S ranks the disk never rests, and a cycle is P S.",
        source="Kleinrock, Queueing Systems II, 1976, Sec. 4.12",
        unit="",
        expected={str(count): line.value for count, line in many.items()},
        tolerance=STATISTICAL,
        reading="both",
        measure=lambda: Readings(
            {str(count): loop.forecast(count) for count in many},
            {str(count): loop.simulated(count, requests_for(1.0, CLOSED_MARGIN), 8600 + count) for count in many},
        ),
        derivation=tuple(many.values()),
    )


CASES: list[Case] = [*_closed_cases(), *_memory_cases(), *_bound_cases()]
