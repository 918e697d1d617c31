"""SPECseis96: the resource-usage equations 2 to 4.

Source: Armstrong and Eigenmann, Performance Forecasting: Characterization of Applications on Current and Future
Architectures. The equations are evaluated here again, from the constants of Table 6 (published) and the counts and sizes
of ``published/seismic-structure.csv`` and ``seismic-datasets.csv`` (reconstructed, not the values of the benchmark):
these cases test that the system computes the equations, not that the counts are right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

import simcodesign as sc
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.programs.program import Block
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ...published import tables

PAPER = "Armstrong and Eigenmann, SPECseis96"
WORKLOAD, MACHINE = "seismic", "power-challenge"
DATASETS = ("test", "small", "medium", "large", "xlarge", "ultra")
PHASES = {1: "generation", 2: "stacking", 3: "time-migration", 4: "depth-migration"}
#: Processors of the paper's Figure 4, and those of which a simulation takes no more than about a second.
RANKS = tuple(2**k for k in range(12))
SIMULATED = {"test": (1, 2, 4, 8, 16, 32), "small": (1, 2, 4, 8, 16)}
MOST = RANKS[-1]
RECONSTRUCTED = "Counts and sizes of messages and accesses are reconstructed; the paper prints the constants only."

CLOSED = Tolerance("the same closed form evaluated twice: rounding of some ten operations in float64", relative=1e-12)
ADDED = Tolerance("a sum of up to 10^5 durations, each addition rounded by at most 1.1e-16 of the sum", relative=1e-10)
Row = NDArray[np.float64]


# The equations, evaluated here.


@cache
def sizes(dataset: str) -> dict[str, float]:
    """The reconstructed parameters of a data set, by the names of the structure formulas."""
    columns = {
        "samples": "samples_per_trace",
        "traces": "traces_per_group",
        "groups": "groups_per_line",
        "lines": "lines",
    }
    return {name: tables.number("seismic-datasets", column, dataset=dataset) for name, column in columns.items()}


def structure(phase: int, column: str, dataset: str, ranks: Row | float) -> Row:
    """A count or size of the reconstructed structure for these numbers of processors."""
    formula = tables.text("seismic-structure", column, phase=phase)
    values = {**sizes(dataset), "P": np.asarray(ranks, float)}
    return np.asarray(parse(formula).evaluate(values)) * np.ones(np.shape(ranks))


def constant(name: str, phase: int) -> float:
    """A constant of Table 6."""
    return tables.number("seismic-table-6", f"phase{phase}", constant=name)


def communication_s(phase: int, dataset: str, ranks: Row | float) -> Row:
    """Equation 3: seconds of a processor in communication."""
    iterations, broadcasts, size = (
        structure(phase, column, dataset, ranks) for column in ("iterations", "broadcasts", "message_bytes")
    )
    message = constant("CComm-Start", phase) + constant("CComm-Trans", phase) * size
    return iterations * (np.asarray(ranks) - 1) * broadcasts * message


def disk_s(phase: int, dataset: str, ranks: Row | float) -> Row:
    """Equation 4: seconds of a processor in reads and writes."""
    per_byte, total = constant("CMem-Trans", phase), np.zeros(np.shape(ranks))
    for way, start in (("read", "CRd-Start"), ("write", "CWr-Start")):
        count, size = (structure(phase, column, dataset, ranks) for column in (f"{way}s", f"{way}_bytes"))
        total = total + count * (constant(start, phase) + per_byte * size)
    return structure(phase, "iterations", dataset, ranks) * total


def startups_s(phase: int, dataset: str, ranks: float) -> float:
    """What equation 4 gives for accesses of no bytes."""
    starts = {"reads": "CRd-Start", "writes": "CWr-Start"}
    of = {name: float(structure(phase, name, dataset, ranks)) for name in ("iterations", *starts)}
    return of["iterations"] * sum(of[name] * constant(start, phase) for name, start in starts.items())


EQUATIONS: dict[int, tuple[str, Callable[[int, str, Row], Row]]] = {
    3: ("communication", communication_s),
    4: ("disk", disk_s),
}


def filled(equation: int, phase: int, dataset: str, ranks: int) -> tuple[Derived, ...]:
    """An equation with the numbers of one point filled in."""
    of = {
        column: float(structure(phase, column, dataset, ranks))
        for column in ("iterations", "broadcasts", "message_bytes", "reads", "read_bytes", "writes", "write_bytes")
    }
    about = f"{dataset} set, phase {phase}, P = {ranks}"
    if equation == 3:
        values = {
            "Its": of["iterations"],
            "P": ranks,
            "X": of["broadcasts"],
            "start": constant("CComm-Start", phase),
            "trans": constant("CComm-Trans", phase),
            "size": of["message_bytes"],
        }
        return (Derived("T_comm", "Its*(P - 1)*X*(start + trans*size)", values, "s", about),)
    values = {
        "Its": of["iterations"],
        "mem": constant("CMem-Trans", phase),
        "reads": of["reads"],
        "rd": constant("CRd-Start", phase),
        "rd_size": of["read_bytes"],
        "writes": of["writes"],
        "wr": constant("CWr-Start", phase),
        "wr_size": of["write_bytes"],
    }
    return (Derived("T_io", "Its*(reads*(rd + mem*rd_size) + writes*(wr + mem*wr_size))", values, "s", about),)


# What the system says.


@cache
def machine(nodes: int) -> sc.Machine:
    """The Power Challenge with as many processors."""
    return sc.Machine.load(MACHINE, {"nodes": nodes})


@cache
def forecasts(dataset: str, phase: int, part: str, ranks: tuple[int, ...] = RANKS) -> Row:
    """Forecast seconds of a phase and component for these numbers of processors."""
    result = sc.forecast(WORKLOAD, machine(MOST), {"P": np.array(ranks)}, preset=dataset)
    return np.asarray(result.phases[PHASES[phase]][part]) * np.ones(len(ranks))


@cache
def simulated(dataset: str, phase: int, ranks: int, effects: str = "none") -> sc.Result:
    """One phase on so many processors as a simulation."""
    return sc.simulate(
        WORKLOAD, machine(max(ranks, 16)), {"P": ranks}, preset=dataset, phases=[PHASES[phase]], effects=effects
    )


def simulations(dataset: str, phase: int, part: str, ranks: Sequence[int]) -> Row:
    """Simulated seconds of a phase and component, effects off."""
    return np.array([simulated(dataset, phase, count).phases[PHASES[phase]][part] for count in ranks])


def row(labels: Sequence[Label], values: Sequence[float] | Row) -> dict[Label, float]:
    """A value for every label."""
    return {label: float(value) for label, value in zip(labels, values, strict=True)}


def machine_note(reading: str) -> dict[str, object]:
    """Parameters shown beside a case."""
    return {"nodes": MOST} if reading == "forecast" else {}


def equation_case(equation: int, phase: int, dataset: str, reading: str) -> Case:
    """One of the equations 3 and 4 over the number of processors."""
    part, evaluate = EQUATIONS[equation]
    ranks = RANKS if reading == "forecast" else SIMULATED[dataset]

    def measure() -> Readings:
        if reading == "forecast":
            return Readings(forecast=row(ranks, forecasts(dataset, phase, part)), notes=(RECONSTRUCTED,))
        return Readings(simulation=row(ranks, simulations(dataset, phase, part, ranks)), notes=(RECONSTRUCTED,))

    return Case(
        name=f"seismic/equation-{equation}/{reading}-phase-{phase}-{dataset}",
        claim=f"Seconds of a processor in {part} in phase {phase} of the {dataset} set, by equation {equation}.",
        source=f"{PAPER}, equation {equation} and Table 6",
        unit="s",
        expected=row(ranks, evaluate(phase, dataset, np.array(ranks, float))),
        tolerance=CLOSED if reading == "forecast" else ADDED,
        reading=reading,
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"preset": dataset, **machine_note(reading)},
        axis="processors",
        derivation=filled(equation, phase, dataset, 16),
        quick=reading == "forecast",
    )


def equation_cases() -> list[Case]:
    """Every equation, phase and data set; phase 1 has no communication constants, so its seconds are 0."""
    wanted = [(equation, phase) for equation in EQUATIONS for phase in (1, 2, 4)]
    return [
        equation_case(equation, phase, dataset, reading)
        for reading, datasets in (("forecast", DATASETS), ("simulation", tuple(SIMULATED)))
        for equation, phase in wanted
        for dataset in datasets
    ]


# Equation 2 with the loops of Table 5: operations, as seconds of a processor that does one in a second.

RANGES = {"traces/group": "traces", "groups/line": "groups", "samples/trace": "samples"}


def loop_operations(dataset: str, phase: int) -> dict[str, float]:
    """Operations per iteration of the main loop by loop of Table 5."""
    loops = tables.table("seismic-table-5")
    return {
        f"{item.subroutine} {item.loop:g}": float(item.ops_per_iteration)
        * float(np.prod([sizes(dataset)[RANGES[str(factor)]] for factor in str(item.range).split(" x ")]))
        for item in loops[loops.phase == phase].itertuples()
    }


def counting(loops: Collection[str] = ()) -> sc.Workload:
    """The application without the effective rates that phases are given; with ``loops``, only with these loops."""

    def only(step: object) -> object:
        if not (loops and isinstance(step, Compute) and step.loops):
            return step
        return replace(step, loops=tuple(loop for loop in step.loops if loop.name in loops))

    def stripped(block: Block) -> Block:
        constants = tuple(item for item in block.constants if item[0] != "processor.rate")
        return replace(block, constants=constants, body=tuple(only(step) for step in block.body))

    workload = sc.Workload.load(WORKLOAD)
    return replace(workload, program=tuple(stripped(block) for block in workload.program))


def counted(reading: str, dataset: str, phase: int, loops: Collection[str] = ()) -> float:
    """Operations per iteration, from seconds of computation on one processor that does one operation in a second."""
    slow = sc.Machine.load(MACHINE, {"processor.rate": "1 FLOP/s"})
    arguments = (counting(loops), slow, {"P": 1})
    options = {"preset": dataset, "phases": [PHASES[phase]]}
    if reading == "forecast":
        result = sc.forecast(*arguments, **options)
    else:
        result = sc.simulate(*arguments, **options, effects="none")
    return float(result.phases[PHASES[phase]]["computation"]) / float(structure(phase, "iterations", dataset, 1))


def operations_case(phase: int) -> Case:
    """Sums of range times operations of a phase for every data set."""
    named = [f"loop_{number}" for number, _ in enumerate(loop_operations("test", phase))]
    terms = dict(zip(named, loop_operations("test", phase).values(), strict=True))
    return Case(
        name=f"seismic/equation-2/operations-phase-{phase}",
        claim=f"An iteration of phase {phase} takes the sum over the loops of Table 5 of range times operations.",
        source=f"{PAPER}, equation 2 and Table 5",
        unit="operations",
        expected={dataset: sum(loop_operations(dataset, phase).values()) for dataset in DATASETS},
        tolerance=ADDED,
        reading="both",
        measure=lambda: Readings(
            *(
                {dataset: counted(reading, dataset, phase) for dataset in DATASETS}
                for reading in ("forecast", "simulation")
            ),
            notes=("Table 5 is cut short in the paper, and the data sets' parameters are reconstructed.",),
        ),
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"P": 1, "processor.rate": "1 FLOP/s"},
        derivation=(Derived("operations", " + ".join(named), terms, about="test set"),),
    )


def loops_case(phase: int) -> Case:
    """Every loop of a phase alone, test set."""
    expected = loop_operations("test", phase)
    return Case(
        name=f"seismic/equation-2/loops-phase-{phase}",
        claim=f"Every loop of Table 5 in phase {phase} is counted with its range and operations.",
        source=f"{PAPER}, Table 5",
        unit="operations",
        expected=expected,
        tolerance=CLOSED,
        reading="forecast",
        measure=lambda: Readings(forecast={loop: counted("forecast", "test", phase, {loop}) for loop in expected}),
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"P": 1, "preset": "test", "processor.rate": "1 FLOP/s"},
        quick=True,
    )


# Numbers and sizes of messages.


def traffic(reading: str, dataset: str, phase: int, ranks: int) -> tuple[float, float]:
    """All-to-all broadcasts of a processor, and bytes of a message."""
    if reading == "simulation":
        result = simulated(dataset, phase, ranks)
    else:
        result = sc.forecast(WORKLOAD, machine(MOST), {"P": ranks}, preset=dataset, phases=[PHASES[phase]])
    return float(result.messages) / (ranks * (ranks - 1)), float(result.message_bytes) / float(result.messages)


def message_case(phase: int) -> Case:
    """Messages sent by a processor in an iteration, which the glossary and equation 3 count differently."""
    ranks = (2, 4, 8, 16)

    def measure() -> Readings:
        iterations = structure(phase, "iterations", "test", np.array(ranks, float))
        counted = {
            name: [traffic(name, "test", phase, count)[0] * (count - 1) for count in ranks] / iterations
            for name in ("forecast", "simulation")
        }
        note = "Table 4 calls X the messages of a processor in an iteration; times P - 1, it must be the all-to-alls."
        return Readings(**{name: row(ranks, values) for name, values in counted.items()}, notes=(note,))

    return Case(
        name=f"seismic/equation-3/messages-phase-{phase}",
        claim=f"In an all-to-all broadcast of phase {phase}, a processor sends P - 1 messages.",
        source=f"{PAPER}, section 3.1, Modeling Communication",
        unit="messages",
        expected={count: count - 1.0 for count in ranks},
        tolerance=CLOSED,
        reading="both",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"preset": "test"},
        axis="processors",
        derivation=(Derived("messages", "P - 1", {"P": 16}),),
    )


CASES: list[Case] = [
    *equation_cases(),
    *(make(phase) for make in (operations_case, loops_case) for phase in (1, 2)),
    *(message_case(phase) for phase in (2, 4)),
]
