"""Evidence apart from calibration: tables that determine nothing, and what the other rows do not show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from simcodesign.calibration.benchmarks.algorithms import Candidate, Time, forecast_s, log_ratios, times_of_operations
from simcodesign.calibration.benchmarks.levels import placed
from simcodesign.calibration.benchmarks.nodes.full_node import COPIES
from simcodesign.calibration.benchmarks.nodes.loaded_interfaces import PATH as LOADED
from simcodesign.calibration.benchmarks.samples import Lines, is_ring
from simcodesign.core.errors import InputError
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.evidence import FORECAST, SIMULATION, Evidence
from simcodesign.describe.network.algorithm_choice import AUTO
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable, read_benchmark

#: Largest size of a range of evidence over its smallest: a factor of 8 to both sides of its middle, as far as
#: ``studies.anchored`` carries ratios of measured to predicted times.
SPAN = 64.0
Source = str | Path | BenchmarkTable
_ALONE = "messages alone show nothing of ranks that send at the same time"


def read_apart(
    files: Iterable[Source], evidence: Iterable[Source]
) -> tuple[tuple[BenchmarkTable, ...], frozenset[str]]:
    """Return the tables of all files, and the names of the files of evidence, from which nothing is determined.

    Raises InputError for a file that is both.
    """
    used, held = (
        [placed(one if isinstance(one, BenchmarkTable) else read_benchmark(one)) for one in some]
        for some in (files, evidence)
    )
    names = frozenset(one.file for one in held)
    both = [one.file for one in used if one.file in names]
    if both:
        what = "a file for calibration and for evidence"
        raise InputError(what, value=", ".join(both), allowed="each file for one of the two")
    return (*used, *held), names


def evidence_notes(machine: Machine, paths: Collection[str], tables: Iterable[BenchmarkTable]) -> list[str]:
    """Return what does not follow from the rows of ``tables`` that determined the constants of ``paths``.

    Messages of lone pairs determine a startup and a bandwidth; what several ranks of a node share at the same time is
    in no row of theirs. Rings of GPUs, and collectives of nodes with one rank, have errors or ratios of their own.
    """
    if not any(path.endswith((".startup", ".L")) for path in paths):
        return []
    rows = [row for table in tables for row in table.rows if row.operation in ALGORITHMS and "P" in row.parameters]
    if rows and (machine.processors_per_node < 2 or any(map(is_ring, rows))):
        return []
    stated = machine.constants()
    inside = COPIES in paths or COPIES in stated
    outside = any(path.startswith("network.interfaces.") for path in (*paths, *stated) if path in (*paths, LOADED))
    see = "'simcodesign calibrate' and the machine alone print what to measure"
    if machine.processors_per_node < 2:
        return [] if outside else [f"No collective operation follows from these rows: {_ALONE}."]
    if inside and LOADED in (*paths, *stated):
        return []
    if rows and not inside:
        return [f"No constant describes what the ranks of a full node share when all of them send; {see}."]
    if not inside and LOADED not in (*paths, *stated):
        return [f"No collective operation follows from these rows: {_ALONE}; {see}."]
    if not inside:
        return [f"No collective operation within full nodes follows from these rows: {_ALONE}; {see}."]
    return [f"No collective operation between full nodes follows from these rows: none is of two full nodes; {see}."]


def collective_evidence(
    tables: Iterable[BenchmarkTable], machine: Machine, used: Lines, *, simulated: bool = False
) -> tuple[Evidence, ...]:
    """Return how far forecasts on a calibrated ``machine`` are from the rows that are not among those ``used``.

    For each collective operation, number of ranks, and range of sizes. A range ends at the first size of the next one,
    to which that size belongs. The algorithm is the one that ``algorithm: auto`` takes there. ``simulated``:
    simulations, with all effects, instead of forecasts.
    """
    predict, reading = (_simulated_s, SIMULATION) if simulated else (forecast_s, FORECAST)
    known = {file: {*lines} for file, lines in used.items()}
    found = []
    for operation, every in times_of_operations(tables, machine).items():
        by_ranks: dict[int, list[Time]] = {}
        for one in sorted(every):
            if one.line not in known.get(one.file, ()):
                by_ranks.setdefault(one.ranks, []).append(one)
        for ranks, times in sorted(by_ranks.items()):
            for ends, part in _ranges(times):
                if (logs := log_ratios(operation, Candidate(AUTO), part, machine, predict)) is not None:
                    error = float(np.median(np.abs(np.expm1(-logs))))
                    files = ", ".join(dict.fromkeys(Path(one.file).name for one in part))
                    found.append(Evidence(operation, (ranks,), len(part), error, ends, reading, files))
    return tuple(found)


def _ranges(times: Sequence[Time]) -> Iterator[tuple[tuple[float, ...], list[Time]]]:
    """Yield the times of each range of sizes, in their order, with the ends of the range."""
    parts = [[times[0]]]
    for one in times[1:]:
        if one.size_bytes > SPAN * max(parts[-1][0].size_bytes, 1.0):
            parts.append([])
        parts[-1].append(one)
    tops = [after[0].size_bytes for after in parts[1:]]
    for part, top in zip(parts, [*tops, times[-1].size_bytes], strict=True):
        yield tuple(dict.fromkeys([part[0].size_bytes, top])), part


def _simulated_s(workload: Workload, machine: Machine, at: Mapping[str, float]) -> float:
    return float(simulate(workload, machine, at).makespan_s)
