"""The rate at which operators of a reduction are at work, from times of reduce and allreduce.

The forecast gives the part of a collective's time for messages, and how many seconds of the operator a byte adds.
Where a broadcast of the same size and ranks was measured, the messages' part is scaled by how far the forecast of that
was off: what is left is then allreduce (or reduce) minus broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simcodesign.calibration.benchmarks.samples import NODES, MachineConstant, Sample, samples, united
from simcodesign.calibration.design_matrix import LinearTimes
from simcodesign.calibration.linear_constants import ConstantsProblem, fit_constants
from simcodesign.calibration.timings import Timing
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.algorithm_choice import AUTO
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.fitting.measurements import FloatArray
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable

PATH = "network.reduction_per_byte"
OPERATIONS = ("reduce", "allreduce")


def reduction_rate(
    tables: Sequence[BenchmarkTable], machine: Machine, level: float
) -> tuple[MachineConstant | None, tuple[str, ...]]:
    """Seconds for which the operator is at work on a byte, with the assumptions; None if no table determines it."""
    of_broadcasts = by_algorithm(tables, "broadcast", _algorithm(tables, "broadcast", machine)[0])
    broadcasts = {_point(one): one for one in usable(of_broadcasts, "broadcast", machine)}
    slopes: list[float] = []
    known: list[float] = []
    used: list[Sample] = []
    notes: list[str] = []
    references: list[Sample] = []
    for operation in OPERATIONS:
        algorithm, note = _algorithm(tables, operation, machine)
        taken = usable(by_algorithm(tables, operation, algorithm), operation, machine)
        if not taken:
            unusable = _unusable(tables, operation, machine)
            notes += [unusable] if unusable else []
            continue
        messages, operator = _forecast(operation, algorithm, machine, taken)
        of_broadcast = _forecast("broadcast", _by_default("broadcast", machine), machine, taken)[0]
        for one, rest, slope, reference in zip(taken, messages, operator, of_broadcast, strict=True):
            measured = broadcasts.get(_point(one))
            if measured is not None:
                references.append(measured)
            known.append(rest * (measured.median / reference if measured is not None else 1.0))
            slopes.append(slope)
            used.append(one)
        notes.append(note)
    if not used or max(slopes) <= 0:
        return None, tuple(notes)
    seconds = np.array([one.median for one in used])
    problem = ConstantsProblem(("operator",), np.array(slopes)[:, None], seconds, np.array(known))
    estimate = fit_constants(problem, level)["operator"]
    if not estimate.value > 0:
        return None, (*notes, "Reductions take no longer than their messages: network.reduction is kept.")
    what = (
        "reductions, less broadcasts of the same size"
        if references
        else "reductions, less their messages by the forecast"
    )
    lines = united(one.lines for one in [*used, *references])
    return MachineConstant(PATH, estimate.value, estimate.low, estimate.high, what, lines), tuple(notes)


def usable(tables: Sequence[BenchmarkTable], operation: str, machine: Machine) -> list[Sample]:
    """Return the samples with bytes and ranks that the machine can have."""
    rows = [tuple(row for row in table.rows if is_as_placed(row, machine)) for table in tables]
    placed = [replace(table, rows=some) for table, some in zip(tables, rows, strict=True)]
    taken = samples(placed, operation, by=("bytes", "P"))
    return [one for one in taken if one.parameters["bytes"] > 0 and 2 <= one.parameters["P"] <= machine.most_ranks]


def is_as_placed(row: BenchmarkRow, machine: Machine) -> bool:
    """Return whether the machine has the ranks, on as many nodes as they were on if the row specifies how many."""
    nodes, ranks = (row.parameters.get(name) for name in (NODES, "P"))
    if ranks is not None and ranks > machine.most_ranks:
        return False
    return nodes is None or ranks is None or bool(machine.placement.nodes_used(ranks) == nodes)


def _unusable(tables: Sequence[BenchmarkTable], operation: str, machine: Machine) -> str:
    """Return why no row of an operation is used; empty if the operation has no rows."""
    rows = [row for table in tables for row in table.rows if row.operation == operation and row.quantity == "time"]
    if not rows:
        return ""
    ranks = sorted({row.parameters["P"] for row in rows if "P" in row.parameters})
    if not ranks:
        return f"{operation} is not used: no file states the number of ranks. Set it, for example by --given P=8."
    nodes = sorted({row.parameters[NODES] for row in rows if NODES in row.parameters})
    on = f" on {', '.join(f'{one:g}' for one in nodes)} node{'s' if nodes != [1] else ''}" if nodes else ""
    given = f"{', '.join(f'{one:g}' for one in ranks)} ranks{on}"
    return f"{operation} is not used: {machine.name} cannot have messages of 1 byte or more among {given}."


def _point(one: Sample) -> tuple[float, float]:
    return one.parameters["bytes"], one.parameters["P"]


def _named(tables: Sequence[BenchmarkTable], operation: str) -> set[str]:
    """Return the algorithms of the rows of an operation, empty for rows that name none."""
    return {row.labels.get("algorithm", "") for table in tables for row in table.rows if row.operation == operation}


def _by_default(operation: str, machine: Machine) -> str:
    """Return ``auto`` for operations of which the machine states its library's rules, otherwise our first algorithm."""
    return AUTO if operation in machine.collectives else ALGORITHMS[operation][0]


def _algorithm(tables: Sequence[BenchmarkTable], operation: str, machine: Machine) -> tuple[str, str]:
    """Return the algorithm that the tables name, if it is one of ours; otherwise the default, and a note on it."""
    named = _named(tables, operation)
    ours = [name for name in ALGORITHMS[operation] if name in named]
    if len(named) > 1 and ours:
        return ours[0], f"{operation} is that by {ours[0]}: the table has {len(named)} algorithms."
    if ours:
        return ours[0], f"{operation} is taken to be by {ours[0]}, which the table names."
    default = _by_default(operation, machine)
    by = f"the rules of {machine.name}" if default == AUTO else default
    return default, f"{operation} is taken to be by {by}: the table names no algorithm of ours."


def by_algorithm(tables: Sequence[BenchmarkTable], operation: str, algorithm: str) -> list[BenchmarkTable]:
    """Return the tables with the rows of this algorithm alone, if they name it among others.

    Others are other samples.
    """
    if algorithm not in _named(tables, operation):
        return [*tables]
    return [
        replace(table, rows=tuple(row for row in table.rows if row.labels.get("algorithm") == algorithm))
        for table in tables
    ]


def _forecast(
    operation: str, algorithm: str, machine: Machine, taken: Sequence[Sample]
) -> tuple[FloatArray, FloatArray]:
    """Seconds of the messages, and seconds that one second of the operator a byte adds, (N,) each."""
    operator, messages = terms_of(operation, algorithm, machine, taken, (PATH,))
    return messages, operator


def terms_of(
    operation: str, algorithm: str, machine: Machine, taken: Sequence[Sample], paths: Sequence[str]
) -> FloatArray:
    """Compute what one unit of each of K constants adds to the time of an operation, and last the rest: (K + 1, N)."""
    text = (
        "simcodesign: 1\nname: collective\nparameters: {m: {default: 8}}\n"
        f"program: [{operation}: {{bytes: m, algorithm: {algorithm}}}]\n"
    )
    workload = workload_from(parse_yaml(text, operation))
    timings = [Timing(0.0, {"m": one.parameters["bytes"], "P": one.parameters["P"]}) for one in taken]
    terms: FloatArray = LinearTimes(workload, machine, paths).terms(timings).sum(axis=(2, 3))
    return terms
