"""Algorithms by ranges of sizes: found again in times that were made of them, whatever the constants."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.calibration.benchmarks.algorithms import (
    MOST_RANGES,
    _ends,
    _sums_of_squares,
    algorithm_choices,
    decision_table,
    notes_of_placement,
)
from simcodesign.calibration.benchmarks.evidence import collective_evidence
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.open_mpi_rules import LIBRARIES
from simcodesign.describe.yaml.files import load_machine
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable
from tests.builders import read_machine, workload
from tests.command_line import command

MACHINE = read_machine("""
simcodesign: 1
name: here
nodes: 64
processor: {rate: 1 GFLOP/s}
network: {startup: 5 us, bandwidth: 1 GB/s, sends: blocking, topology: {kind: crossbar}}
""")
SIZES, RANKS = [2.0**k for k in range(3, 21)], (6, 12, 24, 48)


def time_s(operation: str, algorithm: str, size_bytes: float, ranks: int, on: Machine = MACHINE) -> float:
    work = workload(f"- {operation}: {{bytes: {size_bytes!r}, algorithm: {algorithm}}}\n")
    return float(sc.forecast(work, on, {"P": ranks}).makespan_s)


def table(operation: str, algorithms: dict[float, str], factor: float) -> BenchmarkTable:
    """``algorithms``: by the first size of each range."""
    rows = []
    for size in SIZES:
        algorithm = algorithms[max(first for first in algorithms if first <= size)]
        for ranks in RANKS:
            value = factor * time_s(operation, algorithm, size, ranks)
            parameters = {"bytes": size, "P": float(ranks)}
            rows.append(BenchmarkRow(operation, "time", value, len(rows) + 1, parameters=parameters))
    return BenchmarkTable("made.txt", "osu", tuple(rows))


@pytest.mark.parametrize("factor", [1.0, 1.7])
@pytest.mark.parametrize(
    ("operation", "algorithms"),
    [
        ("allreduce", {8.0: "recursive_doubling", 16384.0: "ring"}),
        ("allgather", {8.0: "bruck", 2048.0: "ring"}),
        ("all_to_all", {8.0: "bruck", 1024.0: "pairwise"}),
        ("broadcast", {8.0: "binomial", 32768.0: "scatter_allgather"}),
    ],
)
def test_what_made_the_times_is_found(operation: str, algorithms: dict[float, str], factor: float) -> None:
    """Ranges end where the algorithm changes; in each, what made the times has no spread, and the factor as ratio."""
    choices = algorithm_choices([table(operation, algorithms, factor)], MACHINE)
    firsts = [one.from_bytes for one in choices]
    assert firsts == [*algorithms]
    for one, algorithm in zip(choices, algorithms.values(), strict=True):
        assert one.operation == operation
        spreads = {one.algorithm: one.spread, **dict(one.others)}
        assert spreads[algorithm] < 1e-9
        assert one.spread < 1e-3
        if one.algorithm == algorithm:
            assert one.ratio == pytest.approx(factor)
        assert one.lines["made.txt"]


@pytest.mark.parametrize("segment", [8192.0, 32768.0])
def test_segments_are_found(segment: float) -> None:
    """By hand: g segments pass P - 1 ranks in (P + g - 2) (5 us + m / g ns); below, ceil(log2 P) (5 us + m ns)."""
    rows = []
    for size in SIZES:
        count = math.ceil(size / segment)
        for ranks in RANKS:
            rounds, each = (math.ceil(math.log2(ranks)), size) if count == 1 else (ranks + count - 2, size / count)
            parameters = {"bytes": size, "P": float(ranks)}
            value = 1.3 * rounds * (5e-6 + 1e-9 * each)
            rows.append(BenchmarkRow("broadcast", "time", value, len(rows) + 1, parameters=parameters))
    short, long = algorithm_choices([BenchmarkTable("made.txt", "osu", tuple(rows))], MACHINE)
    assert (short.algorithm, short.segment_bytes, short.up_to_bytes) == ("binomial", None, segment)
    assert (long.algorithm, long.segment_bytes) == ("chain", segment)
    for one in (short, long):
        assert one.spread < 1e-9
        assert one.ratio == pytest.approx(1.3)
    made = decision_table((short, long), {})["broadcast"]
    assert made == [{"up_to": segment, "algorithm": "binomial"}, {"algorithm": "chain", "segment": segment}]


@pytest.mark.parametrize(("ranks", "on"), [((8,), 16), ((3, 8), None), ((64,), None)])
def test_a_choice_that_does_not_extrapolate_has_a_caution(ranks: tuple[int, ...], on: int | None) -> None:
    """Short messages on 8 ranks show no algorithm: on 16, the P - 1 rounds of a ring are 15/7 as many, the log2 P rounds
    of doubling 4/3. On 3 and 8 ranks they are 2 and 7, 2 and 3. The machine has no 128 ranks.
    """
    rows = []
    for size in (8.0, 9.0, 10.0):
        for count in ranks:
            parameters = {"bytes": size, "P": float(count)}
            value = (count - 1) * (5e-6 + 1e-9 * size)
            rows.append(BenchmarkRow("allgather", "time", value, len(rows) + 1, parameters=parameters))
    (found,) = algorithm_choices([BenchmarkTable("made.txt", "osu", tuple(rows))], MACHINE)
    if on is None:
        assert found.caution == ""
        return
    factor = re.fullmatch(r".* fit about as well, but differ by a factor of ([0-9.]+) on 16 ranks", found.caution)
    assert factor is not None
    assert float(factor[1]) >= round((15 / 7) / (4 / 3), 1)


NONBLOCKING = read_machine("""
simcodesign: 1
name: nonblocking
nodes: 16
processor: {rate: 1 GFLOP/s}
network: {startup: 5 us, bandwidth: 1 GB/s, sends: nonblocking, topology: {kind: crossbar}}
""")


@pytest.mark.parametrize("algorithm", ["linear", "scatter_allgather"])
def test_messages_that_share_an_interface_are_no_faster_than_it(algorithm: str) -> None:
    """The root of a linear broadcast sends (P - 1) m bytes through one interface, which its closed form leaves out.

    Times are simulated. By the closed form without the interface, linear fits the other algorithm's times best.
    """
    rows = []
    for ranks in (4, 6, 12, 16):
        for size in (65536.0, 262144.0, 1048576.0):
            work = workload(f"- broadcast: {{bytes: {size!r}, algorithm: {algorithm}}}\n")
            value = float(sc.simulate(work, NONBLOCKING, {"P": ranks}).makespan_s)
            parameters = {"bytes": size, "P": float(ranks)}
            rows.append(BenchmarkRow("broadcast", "time", value, len(rows) + 1, parameters=parameters))
    found = algorithm_choices([BenchmarkTable("made.txt", "osu", tuple(rows))], NONBLOCKING)
    if algorithm != "linear":
        assert {one.algorithm for one in found} == {algorithm}
        return
    # 5 us + (P - 1) m ns, against (P - 1) m ns: logarithms in an interval deviate by at most half of it; a chain of large
    # messages takes as long.
    most = math.log1p(5 / (3 * 65.536))
    assert {one.algorithm for one in found} <= {"linear", "chain"}
    assert all({one.algorithm: one.spread, **dict(one.others)}["linear"] <= most / 2 for one in found)


def test_what_needs_twice_the_interface_is_impossible() -> None:
    """1.9 m ns on 16 ranks: a root of 15 m bytes and an interface of 1 GB/s would have a constant ratio of 1.9/15, and a
    root of a binomial tree, 4 m bytes, one of 1.9/4."""
    rows = []
    for size in (2.0**power for power in range(16, 23)):
        parameters = {"bytes": size, "P": 16.0}
        rows.append(BenchmarkRow("broadcast", "time", 1.9e-9 * size, len(rows) + 1, parameters=parameters))
    for found in algorithm_choices([BenchmarkTable("made.txt", "osu", tuple(rows))], NONBLOCKING):
        labels, spreads = zip(*found.others, strict=True)
        place = labels.index("linear")
        assert spreads[place] < 1e-9
        assert max(spreads[:place]) > 0.1  # of an algorithm that is possible
        assert found.ratio > 0.5


def test_operations_without_bytes_do_not_count() -> None:
    """IMB prints a time of some 0.04 us for 0 bytes, for which libraries send nothing."""
    one = table("allreduce", {8.0: "recursive_doubling", 16384.0: "ring"}, 1.0)
    empty = BenchmarkRow("allreduce", "time", 4e-8, 0, parameters={"bytes": 0.0, "P": 12.0})
    with_empty = BenchmarkTable(one.file, one.format, (empty, *one.rows))
    assert algorithm_choices([with_empty], MACHINE) == algorithm_choices([one], MACHINE)
    assert collective_evidence([with_empty], MACHINE, {}) == collective_evidence([one], MACHINE, {})


def brute(sizes: list[float], logs: np.ndarray) -> float:
    """The least criterion over all ways to cut, written down plainly."""
    count, best = len(sizes), math.inf
    cuts = [at for at in range(1, count) if sizes[at] != sizes[at - 1]]
    for ranges in range(1, MOST_RANGES + 1):
        for chosen in combinations(cuts, ranges - 1):
            ends = [0, *chosen, count]
            if any(high - low < 3 for low, high in pairwise(ends)):
                continue
            cost = sum(
                min(float(np.sum((one[low:high] - one[low:high].mean()) ** 2)) for one in logs)
                for low, high in pairwise(ends)
            )
            best = min(best, count * math.log(cost / count + 1e-6) + 3 * ranges * math.log(count))
    return best


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([8.0, 16.0, 32.0, 64.0, 128.0, 256.0]), min_size=3, max_size=14),
    st.lists(st.lists(st.floats(-1, 1), min_size=14, max_size=14), min_size=1, max_size=3),
)
def test_ranges_are_the_best_of_all_ways_to_cut(sizes: list[float], logs: list[list[float]]) -> None:
    ordered = sorted(sizes)
    block = np.array([row[: len(ordered)] for row in logs])
    ends = _ends(np.array(ordered), _sums_of_squares(block, np.zeros(block.shape, dtype=bool)))
    cost = sum(min(float(np.sum((one[low:high] - one[low:high].mean()) ** 2)) for one in block) for low, high in ends)
    count = len(ordered)
    found = count * math.log(cost / count + 1e-6) + 3 * len(ends) * math.log(count)
    assert found == pytest.approx(brute(ordered, block), abs=1e-6)


def test_a_table_of_one_operation_keeps_the_library_of_the_others() -> None:
    """A table by operations replaces ``collectives: open_mpi``; the name would otherwise be lost for all."""
    on = replace(MACHINE, collectives=LIBRARIES["open_mpi"])
    choices = algorithm_choices([table("allreduce", {8.0: "recursive_doubling", 16384.0: "ring"}, 1.0)], on)
    made = decision_table(choices, on.collectives)
    assert made["allreduce"] == [{"up_to": 8192.0, "algorithm": "recursive_doubling"}, {"algorithm": "ring"}]
    assert {**made, "allreduce": "open_mpi"} == dict.fromkeys(LIBRARIES["open_mpi"], "open_mpi")
    assert decision_table((), on.collectives) == {}


def test_rows_that_do_not_count() -> None:
    one = table("allreduce", {8.0: "ring"}, 1.0)
    assert algorithm_choices([], MACHINE) == ()
    few = BenchmarkTable("few.txt", "osu", one.rows[:2])
    assert algorithm_choices([few], MACHINE) == ()
    other = BenchmarkRow("allreduce", "bandwidth", 1.0, 1, parameters={"bytes": 8.0, "P": 4.0})
    unknown = BenchmarkRow("allreduce", "time", 1.0, 2, parameters={"bytes": 8.0})
    assert algorithm_choices([BenchmarkTable("o.txt", "osu", (other, unknown) * 3)], MACHINE) == ()


def test_the_machine_file_has_the_table(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    on = sc.Machine.load("mesh-256")
    files = []
    for ranks in (6, 12, 24):
        path = tmp_path / f"osu_{ranks}.txt"
        lines = ["# OSU MPI Allreduce Latency Test v7.0", "# Size       Avg Latency(us)"]
        for size in SIZES:
            algorithm = "recursive_doubling" if size <= 4096 else "ring"
            lines.append(f"{size:.0f} {2e6 * time_s('allreduce', algorithm, size, ranks, on):.4f}")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        files += [path, "--given", f"{path.name}:P={ranks}"]
    made = tmp_path / "mine.yaml"
    answer = command(capfd, "calibrate")("mesh-256", *files, "--algorithms", "--json", "--write", made).json
    assert [(one["algorithm"], one["up_to_bytes"]) for one in answer["algorithms"]] == [
        ("recursive_doubling", 4096.0),
        ("ring", SIZES[-1]),
    ]
    auto = workload("- allreduce: {bytes: 4096, algorithm: auto}\n- allreduce: {bytes: 8192, algorithm: auto}\n")
    taken = sc.forecast(auto, str(made), {"P": 12}).algorithms
    assert [one.algorithm for one in taken] == ["recursive_doubling", "ring"]


def test_rows_that_were_not_used_are_evidence() -> None:
    """Times that are a factor longer than forecasts of ``auto`` have that error, on each number of ranks.

    Sizes in a range differ by a factor of up to 64; it ends at the first size of the next one.
    """
    rows = []
    for ranks in (6, 12):
        for size in (64.0, 4096.0, 65536.0):
            value = 1.25 * time_s("allreduce", "auto", size, ranks)
            parameters = {"bytes": size, "P": float(ranks)}
            rows.append(BenchmarkRow("allreduce", "time", value, len(rows) + 1, parameters=parameters))
    made = BenchmarkTable("made.txt", "osu", tuple(rows))
    found = collective_evidence([made], MACHINE, {"made.txt": (6,)})
    assert [(one.operation, one.ranks, one.bytes, one.rows) for one in found] == [
        ("allreduce", (6,), (64.0, 65536.0), 2),
        ("allreduce", (6,), (65536.0,), 1),
        ("allreduce", (12,), (64.0, 4096.0), 2),
    ]
    for one in found:
        assert one.median_error == pytest.approx(1 - 1 / 1.25)
        assert (one.reading, one.source) == ("forecast", "made.txt")
    assert collective_evidence([made], MACHINE, {"made.txt": tuple(range(1, 7))}) == ()


MESH = read_machine("""
simcodesign: 1
name: mesh
nodes: 16
processors_per_node: 4
processor: {rate: 1 GFLOP/s}
network: {startup: 5 us, bandwidth: 1 GB/s, sends: blocking, topology: {kind: mesh, shape: [4, 4]}}
""")


def test_evidence_by_simulations_has_what_forecasts_leave_out() -> None:
    """Messages of 64 ranks share links: times of the simulation, a factor longer, have that error by simulations only."""
    work = workload("- all_to_all: {bytes: 4096, algorithm: auto}\n")
    value = 1.25 * float(sc.simulate(work, MESH, {"P": 64}).makespan_s)
    forecast_s = float(sc.forecast(work, MESH, {"P": 64}).makespan_s)
    row = BenchmarkRow("all_to_all", "time", value, 1, parameters={"bytes": 4096.0, "P": 64.0})
    errors = {}
    for simulated in (False, True):
        (one,) = collective_evidence([BenchmarkTable("made.txt", "osu", (row,))], MESH, {}, simulated=simulated)
        errors[one.reading] = one.median_error
    assert errors == {
        "forecast": pytest.approx(1 - forecast_s / value),
        "simulation": pytest.approx(1 - 1 / 1.25),
    }
    assert errors["forecast"] > 0.3


@pytest.mark.parametrize(("nodes", "is_used"), [(2.0, True), (8.0, False), (None, True)])
def test_ranks_on_other_nodes_are_no_evidence(nodes: float | None, is_used: bool) -> None:
    """The machine fills nodes: 8 ranks are on 2 of 4 processors each."""
    parameters = {"bytes": 64.0, "P": 8.0} | ({} if nodes is None else {"nodes": nodes})
    row = BenchmarkRow("allreduce", "time", 1e-5, 1, parameters=parameters)
    tables = [BenchmarkTable("made.txt", "osu", (row,))]
    assert bool(collective_evidence(tables, MESH, {})) == is_used
    noted = ["made.txt: allreduce of 8 ranks on 8 nodes is not used: mesh places them on 2 (mapping)."]
    assert notes_of_placement(tables, MESH) == ([] if is_used else noted)


def test_ranks_that_the_machine_does_not_have_leave_the_others_usable() -> None:
    """One file of 65 ranks on a machine of 64 left no algorithm for any."""
    one = table("allreduce", {8.0: "recursive_doubling", 16384.0: "ring"}, 1.0)
    many = BenchmarkRow("allreduce", "time", 1e-5, 999, parameters={"bytes": 64.0, "P": 65.0})
    tables = [one, BenchmarkTable("many.txt", "osu", (many,))]
    assert algorithm_choices(tables, MACHINE) == algorithm_choices([one], MACHINE)
    assert notes_of_placement(tables, MACHINE) == ["many.txt: allreduce of 65 ranks is not used: here has at most 64."]
    assert collective_evidence([tables[1]], MACHINE, {}) == ()


def test_the_command_writes_evidence_by_simulations(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pair.txt").write_text(
        "# OSU MPI Latency Test v7.3\n# Size  Latency (us)\n8 1.00\n1024 2.00\n8192 9.00\n"
    )
    (tmp_path / "all.txt").write_text(
        "mpirun -np 64 osu_alltoall\n# OSU MPI All-to-All Personalized Exchange Latency Test v7.3\n"
        "# Size  Avg Latency(us)\n4096  2000.00\n"
    )
    files = (tmp_path / "pair.txt", tmp_path / "all.txt", "--given", "pair.txt:nodes=2")
    for more, reading in (((), "forecast"), (("--simulate",), "simulation")):
        command(capfd, "calibrate")("mesh-256", *files, *more, "--write", tmp_path / "mine.yaml")
        assert "rows: 1, median_error: " in (tmp_path / "mine.yaml").read_text()
        assert load_machine(tmp_path / "mine.yaml").evidence[0].reading == reading


def test_files_of_evidence_determine_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Times of a ring that are 1.25 times its forecast on 24 ranks; on 6 and 12 ranks, other times choose another one."""
    on = sc.Machine.load("mesh-256")
    for ranks, algorithm, factor in (
        (6, "recursive_doubling", 1.0),
        (12, "recursive_doubling", 1.0),
        (24, "ring", 1.25),
    ):
        lines = [
            f"mpirun -np {ranks} osu_allreduce",
            "# OSU MPI Allreduce Latency Test v7.3",
            "# Size  Avg Latency(us)",
        ]
        times = ((size, factor * time_s("allreduce", algorithm, size, ranks, on)) for size in SIZES)
        lines += [f"{size:.0f} {1e6 * value:.6f}" for size, value in times]
        (tmp_path / f"osu_{ranks}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = (tmp_path / "osu_6.txt", tmp_path / "osu_12.txt", "--algorithms")
    run = command(capfd, "calibrate")
    without = run("mesh-256", *files, "--json").json
    rows, made = tmp_path / "rows.csv", tmp_path / "mine.yaml"
    answer = run(
        "mesh-256", *files, "--evidence", tmp_path / "osu_24.txt", "--json", "--write", rows, "--write", made
    ).json
    for key in ("algorithms", "constants", "segments"):
        assert answer[key] == without[key]
    assert {one["algorithm"] for one in answer["algorithms"]} == {"recursive_doubling"}
    evidence = load_machine(made).evidence
    assert [one.bytes for one in evidence] == [(8.0, 1024.0), (1024.0, 131072.0), (131072.0, SIZES[-1])]
    for one in evidence:
        assert (one.operation, one.ranks, one.source) == ("allreduce", (24,), "osu_24.txt")
        sizes = [
            size for size in SIZES if one.low_bytes <= size < one.high_bytes or size == SIZES[-1] == one.high_bytes
        ]
        foreseen_s = [time_s("allreduce", "recursive_doubling", size, 24, on) for size in sizes]
        measured_s = [1.25 * time_s("allreduce", "ring", size, 24, on) for size in sizes]
        errors = [abs(a / b - 1) for a, b in zip(foreseen_s, measured_s, strict=True)]
        assert one.median_error == pytest.approx(float(np.median(errors)), rel=0.06)  # written with two digits
        assert one.rows == len(sizes)
    roles = {line.split(",")[-1] for line in rows.read_text().splitlines() if "osu_24.txt" in line}
    assert roles == {"evidence"}
    both = run("mesh-256", *files, "--evidence", tmp_path / "osu_6.txt")
    assert "a file for calibration and for evidence" in both.err
