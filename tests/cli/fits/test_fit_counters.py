"""``fit-counters FILE...``: what it reads and says, what it refuses, and a profile recorded here if the machine allows it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign import cli
from simcodesign.cli.run.fits.counters import labelled, parsed_guard, parsed_target
from simcodesign.core.errors import InputError
from simcodesign.counters.events import Labels
from simcodesign.counters.readers.formats import read_counters
from simcodesign.counters.readers.tidy_table import write_counters
from simcodesign.counters.table import COUNTERS, NUMBERS, CounterTable, counter_table
from tests.command_line import Ran, command
from tests.oracles import counter_runs as made_up


def seconds(ran: Ran) -> list[float]:
    return [one["seconds"] for one in ran.json["predictions"]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "80")
    return command(capfd, "fit-counters")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Runs whose truth is known."""
    write_counters(tmp_path / "runs.csv", made_up.runs())
    return tmp_path / "runs.csv"


# --- What it says -----------------------------------------------------------------------------------------------


def test_predictions_are_the_truth_that_was_made_up(run: Any, runs: Path) -> None:
    answer = run(runs, "--target", "P=128", "--target", "processes=64,size=1e6", "--json")
    assert seconds(answer) == pytest.approx([made_up.seconds(128), made_up.seconds(64)], rel=1e-9)


def test_tables_name_kernels_models_parts_and_both_other_models(run: Any, runs: Path) -> None:
    ran = run(runs, "--target", "P=128")
    assert (ran.status, ran.err) == (0, "")
    for words in (
        "400 (size/P) + 5000",
        "(rest): small_a, small_b",
        "P^-1.00",
        "NO",
        "Predicted for P = 128, size 1e+06",
        "T = a size/P + b",
        "T = a/P + b P^c + d",
        "E up to 3.03e-05",
        "Where time could be saved",
    ):
        assert words in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_models_become_a_workload_that_takes_the_predicted_time(run: Any, runs: Path, tmp_path: Path) -> None:
    """Nothing of the machine counts but its clock and its latencies, which are those of the fit."""
    answer = run(runs, "--target", "P=128", "--machine", "xeon-cluster", "--write", tmp_path / "made.yaml", "--json")
    forecast = sc.forecast(tmp_path / "made.yaml", "xeon-cluster", {"P": 128, "processor.clock": made_up.HZ})
    latencies = sc.Machine.load("xeon-cluster").with_constants({"processor.clock": made_up.HZ})
    again = sc.simulate(tmp_path / "made.yaml", latencies, {"P": 128}, effects="none")
    assert seconds(answer) == pytest.approx([forecast.makespan_s], rel=1e-9)
    assert seconds(answer) == pytest.approx([again.makespan_s], rel=1e-9)


@pytest.mark.parametrize("name", ["made.csv", "none/made.yaml"])
def test_a_workload_that_cannot_be_written(run: Any, runs: Path, tmp_path: Path, name: str) -> None:
    ran = run(runs, "--write", f"workload:{tmp_path / name}")
    assert ran.status == 2
    assert "--write" in ran.err
    assert ran.out == ""


def test_several_files_are_one_table(run: Any, tmp_path: Path) -> None:
    files = []
    for P in (2, 4, 8):
        files.append(tmp_path / f"p{P}.csv")
        write_counters(files[-1], made_up.runs((P,)))
    assert run(*files, "--target", "P=64", "--json").json["processes"] == [2.0, 4.0, 8.0]


def test_without_a_target_four_times_the_largest_run(run: Any, runs: Path) -> None:
    ran = run(runs, "--json")
    assert ran.json["predictions"][0]["processes"] == 64
    assert "P = 64, four times the largest" in ran.err


def test_a_run_held_back(run: Any, runs: Path, tmp_path: Path) -> None:
    held = tmp_path / "held.csv"
    write_counters(held, made_up.runs((64, 128)))
    (one,) = run(runs, "--target", "P=128", "--evidence", held, "--json").json["predictions"]
    assert one["measured"]["total_s"] == pytest.approx(made_up.seconds(128))
    assert one["errors"]["counters"] == pytest.approx(0, abs=1e-8)
    for name, seconds in one["baselines"].items():
        assert one["errors"][name] == pytest.approx(seconds / made_up.seconds(128) - 1)
    assert "error, measured" in run(runs, "--target", "P=128", "--evidence", held).out


def test_a_run_held_back_in_the_file_that_is_fitted(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "all.csv"
    write_counters(file, made_up.runs((2, 4, 8, 128)))
    answer = run(file, "--target", "P=128", "--evidence", file, "--json").json
    assert answer["processes"] == [2.0, 4.0, 8.0]
    assert answer["predictions"][0]["measured"]["total_s"] == pytest.approx(made_up.seconds(128))


@pytest.mark.thorough
def test_options_of_the_models(run: Any, runs: Path) -> None:
    every = run(runs, "--target", "P=32", "--threshold", "0", "--json").json
    assert {kernel["name"] for kernel in every["kernels"]} == set(made_up.KERNELS)
    normal = run(runs, "--target", "P=32", "--normal-form", "--json").json
    assert normal["kernels"][0]["counters"]["instructions"]["form"] == "normal form"
    wide = run(runs, "--target", "P=32,size=8e6", "--dimensions", "2", "--json").json["predictions"][0]
    assert wide["volume_ratio"] == pytest.approx(8**0.5)
    assert run(runs, "--target", "P=32,size=8e6", "--volume", "3", "--json").json["predictions"][0]["volume_ratio"] == 3


def test_ratios_of_volumes_that_nothing_needs_are_told(run: Any, runs: Path) -> None:
    assert "have no effect here" in run(runs, "--target", "P=32", "--volume", "3").err
    assert run(runs, "--target", "P=32,size=8e6", "--volume", "3").err == ""


@pytest.mark.thorough
def test_the_guard(run: Any, runs: Path) -> None:
    ask = (runs, "--target", "P=32,size=8e6")
    ran = run(*ask, "--guard", "1e-6")
    assert ran.status == 2
    assert "the last-level cache of kernel" in ran.err
    assert "memory contention" in ran.err
    assert ran.out == ""
    assert run(*ask, "--guard", "none").status == 0
    assert run(runs, "--target", "P=32", "--guard", "1e-6").status == 0


@pytest.mark.thorough
def test_a_plot(run: Any, runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name, more in (("a.png", ()), ("b.svg", ("--target", "P=64,size=8e6"))):
        assert run(runs, "--target", "P=128", *more, "--write", tmp_path / name).status == 0
        assert (tmp_path / name).stat().st_size > 1000


def test_repetitions_in_files_of_their_own(run: Any, runs: Path, tmp_path: Path) -> None:
    """A second run on 4 processes that takes three times as long: the mean of both is fitted."""
    rows = [row | {"cycles": 3 * float(row["cycles"])} if "cycles" in row else row for row in made_up.rows(4)]  # type: ignore[arg-type]
    write_counters(tmp_path / "again.csv", counter_table(rows))
    ran = run(runs, tmp_path / "again.csv", "--target", "P=64", "--json")
    assert "again.csv is taken as a repetition of the run in" in ran.err
    mean = ran.json["kernels"][0]["cpi"]
    assert mean == pytest.approx((3 * 0.8 + (0.9 + 3 * 0.9) / 2 - 0.1) / 4)


# --- Labels -----------------------------------------------------------------------------------------------------


def perf_file(path: Path, instructions: float, cycles: float, seconds: float) -> Path:
    lines = (
        f"{instructions:.0f},,instructions,1,100.00,,",
        f"{cycles:.0f},,cycles,1,100.00,,",
        f"{seconds * 1e9:.0f},ns,duration_time,1,100.00,,",
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_files_of_perf_with_their_labels(run: Any, tmp_path: Path) -> None:
    """Counts of all processes together, 1e9 instructions to share and 1e7 for each; two cycles an instruction."""
    files = []
    for P in (1, 2, 4, 8):
        whole = 1e9 + 1e7 * P
        file = perf_file(tmp_path / f"{P}.txt", whole, 2 * whole, 2 * whole / P / 2e9)
        files.append(f"{file}@P={P},size=1e9,clock=2GHz,summed")
    answer = run(*files, "--target", "P=64", "--json").json
    assert answer["predictions"][0]["seconds"] == pytest.approx((1e9 / 64 + 1e7) * 2 / 2e9, rel=1e-6)
    assert answer["kernels"][0]["frequency_hz"] == 2e9
    assert answer["scaling"]["size"] == 1e9


def test_labels_of_a_file(tmp_path: Path) -> None:
    result = labelled("a@b/run.txt@P=4, size=1e6,clock=2.5 GHz,class=C,rank=0,repetition=2,kernel=solve,summed")
    assert result == (Path("a@b/run.txt"), Labels(4.0, "solve", "C", 1e6, 2.5e9, 2.0, 0.0, True))
    assert labelled("run@P.txt") == (Path("run@P.txt"), Labels())
    assert labelled("run.txt@summed")[1] == Labels(summed=True)
    there = tmp_path / "run@P=4"
    there.write_text("")
    assert labelled(str(there)) == (there, Labels())


@pytest.mark.parametrize(
    "text",
    [
        "f@p=4",
        "f@P=0",
        "f@P=x",
        "f@P=4,P=8",
        "f@P=",
        "f@clock=2",
        "f@clock=2 s",
        "f@size",
        "f@P=4,size",
        "f@summed=maybe",
        "f@rank=nan",
    ],
)
def test_labels_that_are_none(text: str) -> None:
    if text == "f@size":
        assert labelled(text)[0] == Path(text)  # a name as any other
        return
    if text == "f@clock=2":
        assert labelled(text)[1].frequency_hz == 2.0  # base units, as everywhere
        return
    with pytest.raises(InputError, match=r"f@"):
        labelled(text)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30))
def test_any_text_is_labels_or_a_name_or_refused(text: str) -> None:
    try:
        path, _ = labelled(f"file@{text}")
    except InputError:
        return
    assert path in (Path("file"), Path(f"file@{text}"), Path(f"file@{text.rpartition('@')[0]}"))


@pytest.mark.parametrize(
    "text", ["", "128", "P", "P=", "size=8", "P=0.5", "P=-4", "P=4,P=8", "P=4,n=3", "P=inf", "P=4,size=0", "P=4.5"]
)
def test_targets_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="--target"):
        parsed_target(text)


def test_targets() -> None:
    assert parsed_target("P=128") == (128.0, None)
    assert parsed_target(" size = 1e6 , p=2 ") == (2.0, 1e6)


def test_guards() -> None:
    assert parsed_guard("none") is None
    assert parsed_guard("0.01") == 0.01
    for bad in ("", "off", "-1", "2", "nan"):
        with pytest.raises(InputError, match="--guard"):
            parsed_guard(bad)


# --- What it refuses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--vary", "P=2,4,8"), "--vary needs --profile"),
        (("--effects", "none"), "--effects needs --profile"),
        (("--profile", "jacobi", "mesh-256"), "both recorded and simulated runs"),
        (("--volume", "2", "--dimensions", "2"), "exclude each other"),
        (("--volume", "-1"), "--volume"),
        (("--format", "json"), "no such format of counters"),
        (("--target", "P=4", "--target", "P=4"), "a target is given twice"),
        (("--evidence", "no-such-file.csv"), "no-such-file.csv"),
        (("--threshold", "2"), "threshold"),
        (("--write", "x.txt"), "--write"),
    ],
)
def test_options_that_are_refused(run: Any, runs: Path, arguments: tuple[str, ...], words: str) -> None:
    ran = run(runs, *arguments)
    assert ran.status == 2
    assert words in ran.err
    assert ran.out == ""


def test_neither_recorded_nor_simulated_runs(run: Any) -> None:
    ran = run("--target", "P=8")
    assert ran.status == 2
    assert "no runs (allowed: either FILE... or --profile WORKLOAD MACHINE)" in ran.err


def test_too_few_runs(run: Any, tmp_path: Path) -> None:
    write_counters(tmp_path / "two.csv", made_up.runs((2, 4)))
    ran = run(tmp_path / "two.csv")
    assert ran.status == 2
    assert "too few different numbers of processes were run" in ran.err


def test_counters_given_to_fit_are_pointed_out(runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fit", str(runs)]) == 2
    assert "for hardware counters, the command fit-counters" in capfd.readouterr().err


def test_a_file_twice(run: Any, runs: Path) -> None:
    assert "given twice" in run(runs, runs).err


def test_a_perf_file_without_processes(run: Any, tmp_path: Path) -> None:
    ran = run(perf_file(tmp_path / "a.txt", 1, 1, 1))
    assert ran.status == 2
    assert "a.txt: the number of processes is missing" in ran.err
    assert "FILE@P=4" in ran.err


# --- Recorded here ------------------------------------------------------------------------------------------------

LOOP = "import sys\ns = 0\nfor i in range(int(sys.argv[1])):\n    s += i * i\n"


def recorded(tmp_path: Path, iterations: int, events: str) -> Path:
    """A run of a loop under perf stat; skips with the reason where that cannot be."""
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    file = tmp_path / f"{iterations}.txt"
    command = ["perf", "stat", "-x,", "-e", events, "-o", str(file), sys.executable, "-c", LOOP, str(iterations)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode:
        pytest.skip(f"perf stat does not run here: {done.stderr.strip()[:200]}")
    return file


def test_a_profile_that_is_recorded_here(run: Any, tmp_path: Path) -> None:
    """Time on a CPU of three runs of shares of a loop, as P processes would have them: read, fitted and predicted."""
    files = [f"{recorded(tmp_path, 800_000 // P, 'task-clock')}@P={P},size=800000" for P in (1, 2, 4)]
    (one,) = run(*files, "--target", "P=8", "--json").json["predictions"]
    assert one["seconds"] > 0
    assert run(*files, "--target", "P=8").status == 0


def test_counters_that_are_recorded_here(run: Any, tmp_path: Path) -> None:
    """Instructions of a loop are a line of its iterations: those of a share that was not fitted are predicted to 5 %."""
    counted = {P: recorded(tmp_path, 1_600_000 // P, "task-clock,instructions:u,cycles:u") for P in (1, 2, 4, 8)}
    if any("<not" in file.read_text() for file in counted.values()):
        pytest.skip("perf stat counts no instructions here: <not supported> or <not counted>")
    files = [f"{counted[P]}@P={P},size=1600000" for P in (1, 2, 4)]
    answer = run(*files, "--target", "P=8", "--json").json
    law = answer["kernels"][0]["counters"]["instructions"]
    assert law["form"] == "linear"
    result = next(line for line in counted[8].read_text().splitlines() if ",instructions:u," in line)
    assert law["a"] * 200_000 + law["b"] == pytest.approx(float(result.split(",")[0]), rel=0.05)


# --- Machines ---------------------------------------------------------------------------------------------------

MACHINE = """\
simcodesign: 1
name: cached
nodes: 4
processor: {rate: 1 GFLOP/s, clock: 2 GHz, cpi: 1}
caches:
  L1: {size: 32 KiB, latency: 2 ns}
  L2: {size: 256 KiB, latency: 6 ns}
  L3: {size: 1 MiB, latency: 10 ns}
  L4: {size: 8 MiB, latency: 20 ns}
memory: {latency: 90 ns, bandwidth: 10 GB/s}
network:
  topology: {kind: crossbar}
  sends: blocking
  startup: 1 us
  bandwidth: 1 GB/s
"""


def test_targets_beyond_the_machine_are_told(run: Any, runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "cached.yaml"
    file.write_text(MACHINE)
    assert run(runs, "--target", "P=4", "--machine", file).err == ""
    ran = run(runs, "--target", "P=5", "--target", "P=4", "--machine", file)
    assert ran.status == 0
    assert ran.err.split() == [
        "note:",
        "P",
        "=",
        "5",
        "is",
        "beyond",
        "the",
        "machine:",
        "cached",
        "has",
        "4",
        "processors",
    ]


def test_labels_that_contradict_the_file(run: Any, runs: Path) -> None:
    ran = run(f"{runs}@size=5e6")
    assert ran.status == 2
    assert "runs.csv:2: column size:" in ran.err
    assert "has 1000000, got 5000000" in ran.err


def test_counts_of_our_own_names_that_are_summed(run: Any, runs: Path, tmp_path: Path) -> None:
    """The same prediction from counts of one process and from those of all together."""
    table = read_counters(runs)
    values = table.values.copy()
    for name, (unit, _) in COUNTERS.items():
        if unit != "s":
            values[:, NUMBERS.index(name)] *= table.column("processes")
    write_counters(tmp_path / "all.csv", CounterTable(table.kernels, table.classes, values))
    plain, summed = (
        seconds(run(file, "--target", "P=128", "--json")) for file in (runs, f"{tmp_path / 'all.csv'}@summed")
    )
    assert summed == pytest.approx(plain, rel=1e-9)


def test_machines_give_latencies_in_cycles(run: Any, runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "cached.yaml"
    file.write_text(MACHINE)
    latencies = run(runs, "--machine", file, "--json").json["latencies"]
    assert latencies == pytest.approx({"l1_cycles": 4, "l2_cycles": 16, "llc_cycles": 40, "memory_s": 90e-9})
    ran = run(runs, "--machine", "power-challenge")
    assert ran.status == 2
    assert "no memory" in ran.err
