"""The seismic application: its file against the paper's equations and tables, written out here independently."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.compare import compare
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.programs.program import Block, walk
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.report.demo.seismic import measured_times

#: samples, traces, groups, lines (reconstructed) and published size in bytes, with the digits given for it.
DATASETS = {
    "test": (256, 32, 64, 8, 17e6, 0.02),
    "small": (512, 48, 140, 16, 0.22e9, 0.01),
    "medium": (1024, 48, 275, 32, 1.73e9, 0.005),
    "large": (1024, 96, 396, 128, 20e9, 0.01),  # "nearly 20 GB"
    "xlarge": (2048, 96, 512, 256, None, None),
    "ultra": (2048, 256, 1860, 1000, 3.9e12, 0.01),
}
#: Table 6: message startup, per byte; read startup, write startup, disk per byte.
TABLE_6 = {
    "generation": (0.0, 0.0, 4.32e-5, 1.53e-3, 2.22e-8),
    "stacking": (3.18e-4, 6.62e-7, 8.58e-5, 3.04e-3, 4.40e-8),
    "depth-migration": (1.04e-4, 2.17e-6, 1.48e-4, 5.25e-3, 7.60e-8),
}
RANKS = np.array([2**k for k in range(12)])


def equation_3(phase: str, iterations, size_bytes, ranks):
    startup, per_byte = TABLE_6[phase][:2]
    return iterations * (ranks - 1) * (startup + per_byte * size_bytes)


def equation_4(phase: str, iterations, reads, read_bytes, writes, write_bytes):
    read, write, per_byte = TABLE_6[phase][2:]
    return iterations * (reads * (read + per_byte * read_bytes) + writes * (write + per_byte * write_bytes))


@pytest.fixture(scope="module")
def bus():
    return load_machine("power-challenge", {"nodes": 2048})


@pytest.mark.parametrize("dataset", DATASETS)
def test_equations_3_and_4(dataset: str, bus) -> None:
    samples, traces, groups, lines = DATASETS[dataset][:4]
    phases = forecast("seismic", bus, {"P": RANKS}, preset=dataset).phases
    shared = traces * lines / RANKS
    expected = {
        ("generation", "communication"): 0 * RANKS,
        ("generation", "disk"): equation_4("generation", shared, 0, 0, 1, 4 * samples * groups),
        ("stacking", "communication"): equation_3("stacking", shared, 4 * samples * groups / RANKS, RANKS),
        ("stacking", "disk"): equation_4("stacking", shared, groups, 4 * samples, 1, 4 * samples * groups),
        ("depth-migration", "communication"): equation_3("depth-migration", samples, 4 * groups * lines / RANKS, RANKS),
        ("depth-migration", "disk"): equation_4(
            "depth-migration", samples, 1, 4 * groups * lines / RANKS, 3 / 16, 4 * groups * lines / RANKS * 16 / 3
        ),
    }
    for (phase, part), seconds in expected.items():
        np.testing.assert_allclose(phases[phase][part] * np.ones(12), seconds, rtol=1e-12, err_msg=f"{phase} {part}")


@pytest.mark.parametrize("dataset", DATASETS)
def test_computation_is_ideal(dataset: str, bus) -> None:
    """Section 3.3: computation falls as 1/P, but for phase 3, which Table 1 shows not to fall."""
    phases = forecast("seismic", bus, {"P": RANKS}, preset=dataset).phases
    for phase in ("generation", "stacking", "depth-migration"):
        np.testing.assert_allclose(phases[phase]["computation"] * RANKS, phases[phase]["computation"][0], rtol=1e-12)


@pytest.mark.parametrize(("dataset", "size", "tolerance"), [(n, *d[4:]) for n, d in DATASETS.items() if d[4]])
def test_sizes_are_those_published(dataset: str, size: float, tolerance: float, bus) -> None:
    values = forecast("seismic", bus, {"P": 1}, preset=dataset).values
    assert values["file_bytes"] == pytest.approx(size, rel=tolerance)
    assert tuple(values[name] for name in ("samples", "traces", "groups", "lines")) == DATASETS[dataset][:4]


@pytest.mark.parametrize("preset", ["test", "small", "medium"])
def test_calibration_gives_back_its_measurements(preset: str) -> None:
    """Computation times carry four digits, so totals come back to four; they are no evidence for the model."""
    measured = measured_times()
    phases = forecast("seismic", "power-challenge", {"P": 16}, preset=preset).phases
    rows = measured[(measured.preset == preset) & (measured.P == 16) & (measured.role == "calibration")]
    for row in rows[rows.component.isin(["computation", "total"])].itertuples():
        seconds = sum(phases[row.phase].values()) if row.component == "total" else phases[row.phase][row.component]
        assert seconds == pytest.approx(row.seconds, rel=5e-4), row


def test_test_set_without_fitting() -> None:
    """Communication of the test set on 16 processors: what Table 6 and the reconstructed structure give, by hand."""
    phases = forecast("seismic", "power-challenge", {"P": 16}, preset="test").phases
    by_hand = 16 * 15 * (3.18e-4 + 6.62e-7 * 4096), 256 * 15 * (1.04e-4 + 2.17e-6 * 128)
    assert (phases["stacking"]["communication"], phases["depth-migration"]["communication"]) == pytest.approx(by_hand)


@pytest.mark.parametrize(("network", "factor"), [("mesh", 4.0), ("tree", 4.0), ("hypercube", 4.0)])
def test_distance_laws(network: str, factor: float) -> None:
    """Section "Modeling Communication": latency grows with sqrt P or log P, which are both 4 for 16 processors."""
    flat = forecast("seismic", "power-challenge", {"P": 16}, preset="test").phases["stacking"]["communication"]
    far = forecast("seismic", f"power-challenge-{network}", {"P": 16}, preset="test").phases["stacking"][
        "communication"
    ]
    assert far - flat == pytest.approx(16 * 15 * 3.18e-4 * (factor - 1))


def test_hops_on_the_hypercube_by_hand() -> None:
    """Every corner of the hypercube is sum k C(4, k) = 32 hops from the 15 others together, where the law says 60."""
    arguments = ("seismic", "power-challenge-hypercube", {"P": 16})
    simulation = compare(*arguments, preset="test", phases=["stacking"], effects=["hops"]).simulation
    by_hand = 16 * (32 * 3.18e-4 + 15 * 6.62e-7 * 4096)
    assert simulation.phases["stacking"]["communication"] == pytest.approx(by_hand, rel=1e-12)


def test_operation_counts_are_those_of_table_5(papers: Path) -> None:
    with (papers / "003_table5_loops.csv").open() as file:
        rows = list(csv.DictReader(file))
    spoken = {"traces/group": "traces", "groups/line": "groups", "samples/trace": "samples"}
    published = {
        (
            row["phase"],
            f"{row['subroutine']} {row['loop']}",
            frozenset(spoken[part] for part in row["range"].split(" x ")),
            float(row["ops_per_iteration"]),
        )
        for row in rows
    }
    result = set()
    for block in load_workload("seismic").program:
        assert isinstance(block, Block)
        number = {"generation": "1", "stacking": "2"}.get(block.phase or "", "")
        for step in walk(block.body):
            for loop in step.loops if isinstance(step, Compute) else ():
                result.add((number, loop.name, loop.range.names, loop.operations.evaluate({})))
    assert result == published


def test_constants_are_those_of_table_6(papers: Path) -> None:
    with (papers / "003_table6.csv").open() as file:
        rows = {row["constant"]: row for row in csv.DictReader(file)}
    names = ("CComm-Start", "CComm-Trans", "CRd-Start", "CWr-Start", "CMem-Trans")
    paths = ("network.startup", "network.per_byte", "disk.read_startup", "disk.write_startup", "disk.per_byte")
    for block in load_workload("seismic").program:
        column = {"generation": "phase1", "stacking": "phase2", "depth-migration": "phase4"}.get(block.phase)
        stated = {path: value for path, value in block.constants if not value.names}
        for name, path in zip(names, paths, strict=True):
            if column and float(rows[name][column]):
                assert stated[path].evaluate({}) == pytest.approx(float(rows[name][column]), rel=1e-12), (
                    block.phase,
                    path,
                )


@pytest.mark.parametrize(
    ("table", "file"), [(1, "003_table1.csv"), (2, "003_table2_P16.csv"), (3, "003_table3_test_P16.csv")]
)
def test_measured_times_are_those_of_the_tables(table: int, file: str, papers: Path) -> None:
    phases = {"generation": "phase1", "stacking": "phase2", "time-migration": "phase3", "depth-migration": "phase4"}
    parts = {"computation": "comp", "communication": "comm", "disk": "io"}
    with (papers / file).open() as handle:
        rows = list(csv.DictReader(handle))
    ours = measured_times()
    ours = ours[ours.table == table]
    assert len(ours)
    for row in ours.itertuples():
        key = {1: str(row.P), 2: row.preset, 3: parts.get(row.component)}[table]
        published = next(line for line in rows if next(iter(line.values())) == key)
        assert float(published[phases[row.phase]]) == row.seconds
