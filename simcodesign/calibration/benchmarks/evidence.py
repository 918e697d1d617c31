"""Evidence apart from calibration: tables that determine nothing, and what the other rows do not show."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from simcodesign.calibration.benchmarks.levels import placed
from simcodesign.calibration.benchmarks.nodes.full_node import COPIES
from simcodesign.calibration.benchmarks.nodes.loaded_interfaces import PATH as LOADED
from simcodesign.calibration.benchmarks.samples import is_ring
from simcodesign.core.errors import InputError
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.machine import Machine
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable, read_benchmark

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
