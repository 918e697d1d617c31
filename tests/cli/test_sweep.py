"""The command ``sweep``, and how far a sweep is said to be."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import simcodesign as sc
from simcodesign import cli
from simcodesign.cli.options.sweep_options import resuming_command
from simcodesign.core.processes.stop_signals import StopSignals
from simcodesign.report.sweep.events import SweepBar, SweepEvents, SweepProgress, duration
from simcodesign.report.sweep.tables import MOST_ROWS, outcome_line
from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.run import SweepOutcome
from simcodesign.studies.sweep.store import PAGE_BYTES

SWEEP = ["sweep", "seismic", "power-challenge", "--preset", "test"]
RANKS = ["--vary", "P=1:32:x2"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(cli.app, [*arguments], env={"COLUMNS": "120"})


def events(text: str) -> list[dict[str, Any]]:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def done(text: str) -> dict[str, object]:
    """The event of the end; others, of what was measured, may follow it."""
    (found,) = [event for event in events(text) if event["event"] == "done"]
    return found


# --- Forecasts -----------------------------------------------------------------------------------------------


def test_a_sweep_of_forecasts_needs_no_store(folder: Path) -> None:
    result = invoke(*SWEEP, *RANKS, "--write", "table.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    assert {file.name for file in folder.iterdir()} == {"table.csv", "table.csv.meta.json"}
    table = pd.read_csv("table.csv")
    expected = [sc.forecast("seismic", "power-challenge", {"P": P}, preset="test").makespan_s for P in (1, 2, 4, 8, 16)]
    assert table["forecast_makespan_s"][:5].to_numpy() == pytest.approx(expected, rel=1e-12)
    assert table["P"].tolist() == [1, 2, 4, 8, 16, 32]
    assert np.isnan(table["forecast_makespan_s"][5])
    assert "more ranks than power-challenge has processors" in table["error"][5]
    assert "seismic on power-challenge: 6 points" in result.stdout
    assert "No results of 1 point:\n  point 5: " in result.stdout


def test_an_open_stream_has_response_times_and_an_infinite_one_beyond_its_load() -> None:
    """M/M/1 of 2.5 ms: 1/(400 - 200) s at 200 per second, none at 500."""
    one = ["--set", "disk.spindles=1", "--set", "disk.read_startup=2.5 ms", "--set", "size=0"]
    result = invoke("sweep", "disk-queue", "power-challenge", "-P", "1", *one, "--vary", "rate=200,500")
    assert result.exit_code == 0, result.stderr
    assert "makespan" not in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row for row in rows if row and row[0] in "01"] == [["0", "200", "5", "0"], ["1", "500", "infinite", "0"]]


def test_all_points_failing_is_no_success() -> None:
    assert invoke(*SWEEP, "--vary", "P=32,64").exit_code == 1
    assert invoke(*SWEEP, "--vary", "P=16,64").exit_code == 0
    assert invoke("sweep", "seismic", "power-challenge", "--preset", "nope", *RANKS).exit_code == 2
    assert invoke(*SWEEP, *RANKS, "--phase", "nope").exit_code == 2


def test_a_seed_is_set_or_varied() -> None:
    assert "set and varied, got 'seed'" in invoke(*SWEEP, "--vary", "seed=1,2", "--seed", "4").stderr
    assert "note: a forecast draws nothing" in invoke(*SWEEP, "--vary", "seed=1,2").stderr


def test_a_long_table_shows_its_ends() -> None:
    result = invoke(*SWEEP, "--vary", "P=1:16:+1", "--vary", "disk.bandwidth=1:10MB/s:n=10")
    first = [line.split()[0] for line in result.stdout.splitlines() if line.strip()]
    lines = [word for word in first if word.isdigit() or word == "..."]
    half = MOST_ROWS // 2
    assert lines == [*map(str, range(half)), "...", *map(str, range(160 - half, 160))]
    assert f"... {160 - MOST_ROWS} more" in result.stdout


def test_what_has_no_effect_is_said() -> None:
    """The phases of this workload have constants of their own."""
    result = invoke(*SWEEP, "--vary", "disk.bandwidth=1,10MB/s")
    assert "note: disk.per_byte has no effect in phases of seismic that replace it" in result.stderr


def test_first_rows_of_a_mesh_are_said() -> None:
    """4, 16 and 64 of 16 x 16 nodes: a line or rows where a square has the smaller surface; all 256 have no other part."""
    burst = ("sweep", "burst", "mesh-256", "--vary", "P=4,16,64,256")
    assert "note: P = 4 to 64: ranks are on the first nodes of the mesh 16x16" in " ".join(
        invoke(*burst).stderr.split()
    )
    for other in (("--set", "mapping=grid"), ("--tie", "nodes=P"), ("--set", "mapping=random")):
        assert "first nodes" not in invoke(*burst, *other).stderr
    assert "first nodes" not in invoke("sweep", "burst", "hypercube-256", "--vary", "P=4,16").stderr


def test_forecasts_in_a_store_are_the_same(folder: Path) -> None:
    invoke(*SWEEP, *RANKS, "--write", "one.csv")
    result = invoke(*SWEEP, *RANKS, "--store", "s.sqlite", "--write", "other.csv")
    assert result.stderr == "6 of 6 points stored in s.sqlite, 1 of them failed\n"
    assert (folder / "one.csv").read_text() == (folder / "other.csv").read_text()
    again = done(invoke(*SWEEP, *RANKS, "--resume", "s.sqlite", "--json-lines").stdout)
    assert again == again | {"stored": 6, "new": 0}


def test_samples() -> None:
    result = invoke(*SWEEP, "--vary", "P=1:16", "--sample", "4", "sobol", "--write", "table.csv")
    assert result.exit_code == 0
    assert pd.read_csv("table.csv")["P"].between(1, 16).all()


def test_a_plot() -> None:
    pytest.importorskip("matplotlib")
    arguments = [*SWEEP, "--vary", "P=1:16:x2", "--vary", "processor.clock=1,2,4GHz", "--write", "plot.svg"]
    assert invoke(*arguments, "--of", "forecast_disk_s", "--form", "lines").exit_code == 0
    assert Path("plot.svg").read_text().startswith("<?xml")


# --- Simulations ---------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_both_readings(folder: Path) -> None:
    arguments = ["sweep", "cg-iteration", "torus-cluster", "--vary", "P=1:8:x2", "--simulate", "-j", "1"]
    result = invoke(*arguments, "--json-lines", "--write", "table.csv")
    (store,) = map(str, Path("sweeps").glob("cg-iteration-torus-cluster-*.sweep.sqlite"))
    outcome = events(result.stdout)
    assert result.stderr.splitlines()[-1] == f"4 of 4 points stored in {store}"  # before it, a note about few ranks
    assert outcome[0] == {
        "event": "start",
        "stored": 0,
        "count": 4,
        "failed": 0,
        "store": store,
        "workers": "1 process",
    }
    assert outcome[-1] == outcome[-1] | {"event": "done", "stored": 4, "new": 4, "failed": 0, "stopped": False}
    table = pd.read_csv("table.csv")
    for at, P in enumerate((1, 2, 4, 8)):
        simulated = sc.simulate("cg-iteration", "torus-cluster", {"P": P}).makespan_s
        assert table["simulated_makespan_s"][at] == simulated
        assert table["ratio"][at] == pytest.approx(table["forecast_makespan_s"][at] / simulated, rel=1e-15)
    again = invoke(*arguments)
    assert again.exit_code == 0
    assert f"note: continues with {store}" in again.stderr
    assert len([*Path("sweeps").glob("*.sqlite")]) == 1
    named = invoke(*arguments, "--store", store)
    last = named.stderr.splitlines()[-1]
    assert named.exit_code == 2
    assert last.startswith(f"error: {store}: exists already (allowed: to continue with it: simcodesign sweep")
    assert f" --resume {store}; " in last
    other = invoke(*arguments, "--set", "s_i=20", "--resume", store)
    assert other.exit_code == 2
    assert "is the store of another sweep" in other.stderr


@pytest.mark.thorough
def test_each_grid_has_a_store_of_its_own(folder: Path) -> None:
    arguments = ["sweep", "cg-iteration", "torus-cluster", "--simulate", "-j", "1"]
    for ranks in ("P=1,2", "P=2,4", "P=1,2"):
        result = invoke(*arguments, "--vary", ranks)
        assert result.exit_code == 0, result.stderr
    assert "note: continues with" in result.stderr
    assert len([*Path("sweeps").glob("*.sqlite")]) == 2


def test_what_is_drawn_is_checked_before_anything_is_simulated(folder: Path) -> None:
    arguments = ["sweep", "cg-iteration", "torus-cluster", "--vary", "P=1,2", "--write", "p.svg", "-j", "1"]
    for simulate, wrong in ((["--simulate"], "simulated_disc_s"), ([], "simulated"), ([], "ratio")):
        result = invoke(*arguments, *simulate, "--of", wrong)
        assert result.exit_code == 2
        assert "nothing to draw of this name" in result.stderr
    assert not Path("sweeps").exists()


@pytest.mark.thorough
def test_points_that_will_fail_are_named_before_anything_is_simulated(folder: Path) -> None:
    """Links of 2 GB/s: messages of 4 GB/s are faster than these; of 1 GB/s are not."""
    axes = ("--vary", "network.bandwidth=1,4GB/s", "--vary", "P=2,4")
    settings = ("--set", "network.link_bandwidth=2 GB/s", "--set", "sweeps=1", "--simulate", "-j", "1")
    result = invoke("sweep", "jacobi", "torus-cluster", *axes, *settings)
    notes = [line for line in result.stderr.splitlines() if "will fail" in line]
    assert result.exit_code == 0
    assert len(notes) == 1
    assert notes[0].startswith("note: 2 of 4 points will fail (the first at ")
    assert "P = 2" in notes[0]
    assert "network.link" in notes[0]
    assert result.stderr.splitlines()[-1].endswith("2 of them failed")


@pytest.mark.thorough
def test_points_that_fail_for_one_reason_are_one_note(folder: Path) -> None:
    """Messages of 2 GB/s: three links are slower, each by itself."""
    axes = ("--vary", "network.link_bandwidth=1,1.5,1.7,2,3GB/s", "-P", "4", "--set", "sweeps=1")
    result = invoke("sweep", "jacobi", "torus-cluster", *axes, "--simulate", "-j", "1")
    notes = [line for line in result.stderr.splitlines() if "will fail" in line]
    assert len(notes) == 1
    assert notes[0].startswith("note: 3 of 5 points will fail (the first at ")


def test_failed_points_are_tried_again_when_it_is_asked_for() -> None:
    arguments = [*SWEEP, *RANKS, "--json-lines"]
    invoke(*arguments, "--store", "s.sqlite")
    assert done(invoke(*arguments, "--resume", "s.sqlite").stdout)["new"] == 0
    retried = done(invoke(*arguments, "--resume", "s.sqlite", "--retry").stdout)
    assert retried == retried | {"stored": 6, "new": 1, "failed": 1}


class Asked(StopSignals):
    """Ctrl-C has been pressed."""

    def __call__(self) -> bool:
        self.number = 2
        return True


def test_a_sweep_that_is_stopped_says_how_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simcodesign.cli.run.sweep.StopSignals", Asked)
    result = invoke(*SWEEP, *RANKS, "--store", "a store.sqlite", "--set", "nodes=20")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == (
        "stopped, 0 of 6 points stored in a store.sqlite; continue with: simcodesign sweep seismic power-challenge "
        "--preset test --vary P=1:32:x2 --set nodes=20 --resume 'a store.sqlite'\n"
    )


def test_the_command_that_goes_on_says_it_once() -> None:
    for words in (["--resume", "s"], ["--resume=s"], ["--store", "s"], ["--store=s", "--retry"]):
        assert resuming_command(["a", *words, "b c"], Path("s")) == "simcodesign sweep a 'b c' --resume s"


def test_only_a_store_that_exists_is_continued(folder: Path) -> None:
    result = invoke(*SWEEP, *RANKS, "--resume", "none.sqlite")
    assert (result.exit_code, [*folder.iterdir()]) == (2, [])
    assert "none.sqlite: no such store" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "--vary"),
        ((*RANKS, "--of", "ratio"), "--of needs --write plot:FILE"),
        ((*RANKS, "--form", "heat"), "--form needs --write plot:FILE"),
        ((*RANKS, "--retry"), "--retry needs --resume"),
        ((*RANKS, "--write", "plot:a.txt"), "--write: wrong suffix of a file"),
        ((*RANKS, "--write", "a.svg", "--form", "heat"), "a heat needs two axes"),
        ((*RANKS, "--write", "a.txt"), "--write: no kind of file has this name or suffix"),
        ((*RANKS, "--store", "a", "--resume", "b"), "--store and --resume exclude each other"),
        ((*RANKS, "-j", "2", "--scheduler", "tcp://a:1"), "--jobs and --scheduler exclude each other"),
        ((*RANKS, "--set", "P=4"), "set and varied"),
        ((*RANKS, "--set", "P"), "--set: not a setting"),
        (("--vary", "Q=1,2"), "neither a parameter of"),
        ((*RANKS, "--store", "no/where.sqlite"), "cannot be"),
    ],
)
def test_bad_options_leave_nothing(folder: Path, arguments: tuple[str, ...], what: str) -> None:
    result = invoke(*SWEEP, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert what in " ".join(result.stderr.split())
    assert not [*folder.iterdir()]


# --- Stores --------------------------------------------------------------------------------------------------


def test_a_store_is_checked(folder: Path) -> None:
    invoke(*SWEEP, *RANKS, "--store", "s.sqlite", "--write", "one.csv")
    checked = invoke("sweep", "--check", "s.sqlite")
    assert (checked.exit_code, checked.stdout) == (0, "6 of 6 points, 1 of them failed; the file is whole\n")
    invoke(*SWEEP, *RANKS, "--resume", "s.sqlite", "--write", "two.csv")
    assert Path("one.csv").read_text() == Path("two.csv").read_text()


def test_damage_of_a_store_is_an_exit_status(folder: Path) -> None:
    """SQLite's own check finds an index that lacks a row of the table."""
    invoke(*SWEEP, *RANKS, "--store", "s.sqlite")
    data = bytearray(Path("s.sqlite").read_bytes())
    leaves = [at for at in range(PAGE_BYTES, len(data), PAGE_BYTES) if data[at] == 10 and data[at + 4] == 6]
    data[leaves[-1] + 3 : leaves[-1] + 5] = (5).to_bytes(2)  # cells of the page: number of rows in an index
    Path("s.sqlite").write_bytes(data)
    checked = invoke("sweep", "--check", "s.sqlite")
    assert checked.exit_code == 1
    assert "missing from index" in checked.stdout or "wrong # of entries" in checked.stdout


def test_no_store_is_checked(folder: Path) -> None:
    checked = invoke("sweep", "--check", "none.sqlite")
    assert (checked.exit_code, checked.stdout) == (2, "")
    assert "no such store" in checked.stderr


# --- Progress ------------------------------------------------------------------------------------------------


def rows(count: int, failed: int = 0) -> list[PointResult]:
    return [PointResult(number, "", {"P": 1.0}, {}, "too many" if number < failed else "") for number in range(count)]


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.lists(st.integers(1, 50), min_size=2, max_size=6),
    st.floats(0.1, 100),
)
def test_a_tally_counts(stored: int, more: int, batches: list[int], step_s: float) -> None:
    clock = Ticking(step_s)
    progress = SweepProgress(stored, stored + sum(batches) + more, 2, clock)
    for batch in batches:
        clock.tick()
        progress.add(rows(batch, 1))
    assert (progress.stored, progress.new, progress.failed) == (stored + sum(batches), sum(batches), 2 + len(batches))
    rate = sum(batches[1:]) / (step_s * (len(batches) - 1))
    assert progress.rate_per_s == pytest.approx(rate, rel=1e-9)
    assert progress.left_s == pytest.approx(more / rate, rel=1e-9)
    assert progress.elapsed_s == pytest.approx(step_s * len(batches), rel=1e-9)


class Ticking:
    def __init__(self, step_s: float) -> None:
        self.now_s, self.step_s = 100.0, step_s

    def tick(self) -> None:
        self.now_s += self.step_s

    def __call__(self) -> float:
        return self.now_s


def test_what_is_said_on_a_terminal() -> None:
    clock = Ticking(10.0)
    progress = SweepProgress(1000, 4000, 0, clock)
    assert progress.text() == "1,000 of 4,000 points"
    clock.tick()
    progress.add(rows(500, 3))
    assert progress.text() == "1,500 of 4,000 points, 50/s, 50 s left, 3 failed"
    clock.tick()
    progress.add(rows(2))
    assert progress.text() == "1,502 of 4,000 points, 0.2/s, 3 h 28 min left, 3 failed"


@given(st.floats(0, 10**7))
def test_times_for_people(seconds: float) -> None:
    words = duration(seconds).split()
    unit = {"s": 1, "min": 60, "h": 3600, "d": 86400}
    total = sum(int(number) * unit[name] for number, name in zip(words[::2], words[1::2], strict=True))
    smallest = unit[words[-1]]
    assert 0 <= math.ceil(seconds) - total < smallest


def test_a_time_that_nobody_knows() -> None:
    assert duration(math.nan) == duration(math.inf) == "?"


def test_a_bar_shows_only_on_a_terminal() -> None:
    for terminal in (False, True):
        file = Terminal() if terminal else io.StringIO()
        console = Console(file=file, force_terminal=terminal, width=120, _environ={"TERM": "xterm"})
        with SweepBar(SweepProgress(0, 10, 0), console=console, patience_s=None) as on_progress:
            on_progress(rows(4, 1))
        assert ("4 of 10 points" in file.getvalue(), "1 failed" in file.getvalue()) == (terminal, terminal)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_events(capsys: pytest.CaptureFixture[str]) -> None:
    with SweepEvents(SweepProgress(2, 10, 1), store="s.sqlite") as reporter:
        reporter.update(rows(3, 1))
        reporter.end(SweepOutcome(5, 10, 2, 3, stopped=True))
    start, failed, progress, stopped = events(capsys.readouterr().out)
    assert start == {"event": "start", "stored": 2, "count": 10, "failed": 1, "store": "s.sqlite"}
    assert failed == {"event": "failed", "point": 0, "axes": {"P": 1.0}, "reason": "too many"}
    assert progress == progress | {"event": "progress", "stored": 5, "count": 10, "failed": 2}
    assert progress.keys() == {"event", "stored", "count", "failed", "rate_per_s", "left_s", "elapsed_s"}
    assert stopped == stopped | {"event": "stopped", "stored": 5, "count": 10, "failed": 2, "new": 3}


def fail() -> None:
    raise OSError("no space")


def test_an_error_is_an_event(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError, match="no space"), SweepEvents(SweepProgress(2, 10, 1)):
        fail()
    assert events(capsys.readouterr().out)[-1] == {"event": "error", "what": "no space", "stored": 2}


def test_one_sentence_for_the_end() -> None:
    assert outcome_line(SweepOutcome(1500, 2000, 0, 7, False), "s") == "1,500 of 2,000 points stored in s"
    assert outcome_line(SweepOutcome(1500, 2000, 3, 7, False), "s").endswith("stored in s, 3 of them failed")


# --- What was set, and what is not as it was asked for -----------------------------------------------------------


@pytest.mark.thorough
def test_a_table_says_what_all_of_its_rows_have_in_common(folder: Path) -> None:
    arguments = [
        "sweep",
        "broadcast",
        "mesh-256",
        "--vary",
        "m=1KiB:1MiB:x8",
        "-P",
        "4",
        "--set",
        "network.startup=1 us",
    ]
    result = invoke(*arguments, "--simulate", "--effects", "links", "-j", "1", "--write", "t.csv")
    assert result.exit_code == 0
    meta = json.loads((folder / "t.csv.meta.json").read_text(encoding="utf-8"))
    assert meta["machine"] == "mesh-256 with network.startup=1 us"
    assert (meta["effects"], meta["parameters"], meta["seed"]) == (["hops", "links"], {"P": 4.0}, 0)
    assert "m ends at 512 KiB: steps of x8 do not reach 1 MiB" in result.stderr
    assert "links includes hops" in result.stderr
    assert "m (KiB)" in result.stdout
    (store,) = (str(path.relative_to(folder)) for path in (folder / "sweeps").glob("*.sqlite"))
    assert store.startswith("sweeps/broadcast-mesh-256-network.startup=1us-")
    other = invoke(*arguments[:4], "m=1,2", *arguments[5:], "--simulate", "--effects", "links", "--store", store)
    assert other.exit_code == 2
    assert "another sweep" in other.stderr
    assert "--resume" not in other.stderr
