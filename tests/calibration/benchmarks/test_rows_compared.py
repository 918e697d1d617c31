"""Rows of benchmarks, as ``calibrate --write rows.csv`` writes them, are read by ``compare --measured`` and ``calibrate``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simcodesign.calibration.timings import read_timings
from simcodesign.comparison.compare import compare
from simcodesign.comparison.measured.sources import given_measurements
from simcodesign.core.errors import InputError
from simcodesign.describe.measured_tables.table import read_measured
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_workload
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.fitting.readers.benchmarks.output.table import read_benchmark, tidy_text
from tests.fitting.benchmarks.outputs import ALL

PLACEABLE = re.compile(r"[A-Za-z_]\w*")


def rows_file(folder: Path, name: str) -> Path:
    (folder / name).write_text(ALL[name][1], encoding="utf-8")
    table = read_benchmark(folder / name, ALL[name][0]).with_parameters({"P": 4})
    path = folder / f"{name}.rows.csv"
    path.write_text(tidy_text([table], {"role": ["evidence"] * len(table.rows)}), encoding="utf-8")
    return path


def workload_of(operations: list[str]) -> Workload:
    phases = "".join(f"- phase: {name}\n  do: [compute: {{flops: size}}]\n" for name in operations)
    head = "simcodesign: 1\nname: w\nparameters: {size: {default: 1, unit: B}}\nprogram:\n"
    return workload_from(parse_yaml(head + phases, "w.yaml"))


@pytest.mark.parametrize("name", ALL)
def test_rows_of_every_benchmark_are_read(tmp_path: Path, name: str) -> None:
    """Each time of an operation that is a phase, whatever other columns the benchmark has."""
    path = rows_file(tmp_path, name)
    rows = read_benchmark(tmp_path / name, ALL[name][0]).rows
    operations = sorted({row.operation for row in rows if PLACEABLE.fullmatch(row.operation)})
    workload = workload_of(operations or ["other"])
    times = [row for row in rows if row.quantity == "time" and row.operation in operations]
    if not times:
        with pytest.raises(InputError, match="no row belongs to a phase of w"):
            read_measured(path, workload)
        return
    if any(row.component not in ("communication", "computation", "disk", "memory", "total") for row in times):
        pytest.fail("a component that no table of times has")
    timings = read_timings([path], workload)
    assert [(one.phase, one.seconds) for one in timings] == [
        (row.operation, pytest.approx(row.value, rel=1e-11)) for row in times
    ]
    assert {row.operation for row in times} == {
        phase for one in read_measured(path, workload) for phase in [*one.phases, *(part[0] for part in one.parts)]
    }


def test_rows_without_ranks_are_compared_at_no_number_of_ranks(tmp_path: Path) -> None:
    """They would be compared with predictions for any number."""
    (tmp_path / "osu.txt").write_text("# OSU MPI Allreduce Latency Test v7.3\n# Size  Avg Latency(us)\n1024  4.50\n")
    table = read_benchmark(tmp_path / "osu.txt")
    rows = tmp_path / "rows.csv"
    rows.write_text(tidy_text([table], {"role": ["evidence"]}))
    for path in (rows, tmp_path / "osu.txt"):
        with pytest.raises(InputError, match=rf"{path.name}.*the row of allreduce has no number of ranks"):
            given_measurements(path, workload_of(["allreduce"]))


def test_what_a_benchmark_printed_is_compared_directly(tmp_path: Path) -> None:
    path = tmp_path / "osu.log"
    command = "mpirun -np 4 osu_bcast\n# OSU MPI Broadcast Latency Test v7.3\n# Size  Avg Latency(us)\n"
    path.write_text(command + "1024  4.50\n2048  5.50\n")
    for ranks, size, time_s in ((4, 2048, 5.5e-6), (8, 2048, None)):
        measured = compare("broadcast", "crossbar-16", {"P": ranks, "m": size}, measured=path).measured
        assert (measured and measured.parts["broadcast", "communication"].value) == time_s
    path.write_text(command)
    with pytest.raises(InputError, match=r"osu.log: the file holds no measurement"):
        compare("broadcast", "crossbar-16", {"P": 4}, measured=path)


def test_steps_of_a_training_log_are_totals(tmp_path: Path) -> None:
    (tmp_path / "training.log").write_text(ALL["training.log"][1])
    (found,) = given_measurements(tmp_path / "training.log", load_workload("gpt"))
    assert found.total is not None
    assert (found.total.value, found.total.n) == (pytest.approx(5.0175), 2)
    assert (found.at["P"], found.at["layers"], found.at["global_batch"]) == (256, 40, 512)


@pytest.mark.parametrize(("more", "is_whole"), [("", True), (", {compute: {flops: 8}}", False)])
def test_a_phase_of_a_collective_alone_is_its_row(tmp_path: Path, more: str, is_whole: bool) -> None:
    """What a benchmark prints of an operation is all of it; of a phase that computes as well it is only a part."""
    path = tmp_path / "rows.csv"
    path.write_text("P,m,phase,component,value\n4,1024,allreduce,communication,4.5e-06\n", encoding="utf-8")
    head = "simcodesign: 1\nname: w\nparameters: {m: {default: 1024, unit: B}}\nprogram:\n"
    steps = f"- {{phase: allreduce, do: [{{allreduce: {{bytes: m}}}}{more}]}}\n"
    workload = workload_from(parse_yaml(head + steps, "w.yaml"))
    found = compare(workload, "crossbar-16", {"P": 4}, measured=path).measured
    assert found is not None
    assert found.total_s == (4.5e-06 if is_whole else None)


def test_collectives_in_place_and_out_of_place_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "P,bytes,nodes,placement,pairs,phase,component,value,low,high,count,interval,source,role,quantity\n"
        "4,1024,,out-of-place,,broadcast,communication,4.5e-06,,,1,,nccl.txt:11,evidence,time\n"
        "4,1024,,in-place,,broadcast,communication,9e-06,,,1,,nccl.txt:11,evidence,time\n"
        "4,1024,,,2,window,communication,1e9,,,1,,osu.txt:11,evidence,bandwidth\n",
        encoding="utf-8",
    )
    workload = load_workload("broadcast")
    first, second = read_measured(path, workload)
    assert (first.parts["broadcast", "communication"].value, first.about) == (4.5e-6, "placement out-of-place")
    assert second.parts["broadcast", "communication"].value == 9e-6
    measured = compare("broadcast", "crossbar-16", {"P": 4, "m": 1024}, measured=path).measured
    assert measured is not None
    assert measured.parts["broadcast", "communication"].value == 4.5e-6


@pytest.mark.parametrize(("nodes", "holds"), [("4", True), ("1", False), ("", True)])
def test_rows_hold_on_as_many_nodes_as_their_ranks_were_on(tmp_path: Path, nodes: str, holds: bool) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "P,bytes,nodes,phase,component,value,low,high,count,interval,source,role\n"
        f"4,1024,{nodes},broadcast,communication,4.5e-06,,,1,,osu.txt:11,evidence\n",
        encoding="utf-8",
    )
    measured = compare("broadcast", "crossbar-16", {"P": 4, "m": 1024}, measured=path).measured  # one rank a node
    assert (measured is not None) == holds


def test_a_wrong_title_of_any_other_table_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "P,placment,phase,component,value,low,high,count,interval,source,role\n"
        "4,x,broadcast,communication,4.5e-06,,,1,,my notes,evidence\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match="unknown column, got 'placment'"):
        read_measured(path, load_workload("broadcast"))
