"""The command line: what it prints where, and with which exit status it ends."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import simcodesign
from simcodesign import cli
from simcodesign.core.errors import DeadlockError, InputError
from simcodesign.core.stations.uses import NO_STATIONS
from simcodesign.core.to_json import to_json
from simcodesign.describe.yaml.files import load_machine
from simcodesign.describe.yaml.machine import MACHINE_KEYS
from simcodesign.report.common.numbers import Seconds
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import complain, print_all
from simcodesign.report.results.comparison_tables import verdict
from tests import ROOT

HEAVY = ["matplotlib", "networkx", "numpy", "pandas", "scipy", "simpy", "sympy", "yaml"]

MACHINE = """\
simcodesign: 1
name: small
about: A machine [of tests]
nodes: 4
processor: {rate: 100 MFLOP/s}
network:
  topology: {kind: mesh, shape: [2, 2]}
  sends: blocking
  startup: 100 us
  bandwidth: 10 MB/s
disk: {read_startup: 1 ms, write_startup: 2 ms, bandwidth: 20 MB/s, shared_by: all}
"""
WORKLOAD = """\
simcodesign: 1
name: pieces
about: A workload of tests
parameters:
  n: {default: 1e6, unit: op, about: operations, range: [1, 1e9], origin: made up}
equations:
  share: n/P
presets:
  tiny: {n: 100}
program:
  - phase: work
    repeat: 2
    constants: {network.startup: 200 us}
    do:
      - compute: {flops: share}
      - allreduce: {bytes: 8}
  - phase: save
    do:
      - write: {bytes: 1e5, times: 3, when: rank < 2}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Paths of a workload and a machine."""
    (tmp_path / "w.yaml").write_text(WORKLOAD, encoding="utf-8")
    (tmp_path / "m.yaml").write_text(MACHINE, encoding="utf-8")
    return str(tmp_path / "w.yaml"), str(tmp_path / "m.yaml")


def run(*arguments: str) -> Any:
    """The command line in this process; an exception other than the end of the program fails the test."""
    result = CliRunner().invoke(cli.app, list(arguments), env={"COLUMNS": "120"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def run_apart(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "simcodesign", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,
    )


def read_strict(text: str) -> Any:
    """JSON without the constants that Python allows beyond the standard."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def refused(*arguments: str) -> str:
    """The message of a call that must be refused as bad input."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    return str(result.stderr)


# --- What the verbs print ------------------------------------------------------------------------------------


def test_list_shows_every_shipped_name() -> None:
    result = run("list")
    assert result.exit_code == 0
    for name in (*simcodesign.bundled()["machines"], *simcodesign.bundled()["workloads"]):
        assert name in result.stdout


def test_show_a_workload(files: tuple[str, str]) -> None:
    text = run("show", files[0]).stdout
    for part in (
        "pieces",
        "1000000",
        "from 1 to 1e+09",
        "made up",
        "= n/P",
        "tiny",
        "phase work, 2 times",
        "network.startup = 200 us",
        "compute share flops",
        "allreduce (recursive doubling), 8 bytes",
        "write 1e5 bytes, 3 times, when rank < 2",
    ):
        assert part in text


def test_show_a_machine(files: tuple[str, str]) -> None:
    text = run("show", files[1]).stdout
    # Half-performance size: 100 us at 10 MB/s.
    for part in ("small", "[of tests]", "mesh", "2 x 2", "100 MFLOP/s", "100 us", "10 MB/s", "1 kB", "linear"):
        assert part in text


def test_show_with_other_values() -> None:
    constants = json.loads(run("show", "xeon-cluster", "--set", "network.startup=3us", "--json").stdout)["constants"]
    assert constants["network.startup"]["value"] == 3e-6
    sheet = run("show", "xeon-cluster with nodes=7", "--set", "network.startup=3 us").stdout
    assert "network.startup=3 us, nodes=7" in sheet
    shown = json.loads(run("show", "jacobi", "--set", "n=3000", "--json").stdout)
    assert {one["name"]: one["default"] for one in shown["parameters"]}["n"] == 3000
    for wrong in (["jacobi", "-P", "3", "--set", "P=4"], ["jacobi", "--set", "P=4"], ["jacobi", "--set", "nodes=7"]):
        assert run("show", *wrong).exit_code == 2


@pytest.mark.parametrize("name", simcodesign.bundled()["machines"])
def test_every_shipped_machine_can_be_shown(name: str) -> None:
    assert name in run("show", name, "--kind", "machine").stdout


@pytest.mark.parametrize("name", simcodesign.bundled()["workloads"])
def test_every_shipped_workload_can_be_shown(name: str) -> None:
    assert name in run("show", name, "--kind", "workload").stdout


def test_show_latex_prints_equations_and_formulas_only(files: tuple[str, str]) -> None:
    pytest.importorskip("sympy")
    lines = run("show", files[0], "--write", "equations:-").stdout.splitlines()
    assert lines[0] == "share = \\frac{n}{P}"
    assert [line[:2] for line in lines[1:]] == ["% ", "T_", *["% "] * (len(lines) - 3)]


def test_show_latex_of_a_machine_is_refused(files: tuple[str, str]) -> None:
    assert "equations" in refused("show", files[1], "--write", "equations:-")


def test_a_name_that_is_both_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simcodesign.cli.run.scenario.available", lambda folder: ["twin"])
    message = refused("show", "twin")
    assert "--kind machine" in message
    assert "--kind workload" in message


def test_show_a_program_in_python(tmp_path: Path) -> None:
    path = tmp_path / "prog.py"
    path.write_text(
        "import simcodesign as sc\n\n@sc.program\ndef ring(rank, size, *, n=3, tail: float):\n"
        '    """Around a ring.\n\n    Twice."""\n'
        "    for _ in range(2):\n        yield sc.rank.send((rank + 1) % size, n)\n        yield sc.rank.receive((rank - 1) % size)\n"
        "\n@sc.program\ndef idle(rank, size, *, n=4):\n"
        "    h = yield sc.rank.start(sc.rank.world.barrier())\n    yield from [sc.rank.compute(flops=1)] * n\n    yield sc.rank.wait(h)\n"
    )
    result = run("show", f"{path}:ring")
    digest = simcodesign.Workload.load(f"{path}:ring").program[0].digest
    for part in ("ring", "(must be given)", "Around a ring. Twice.", digest):
        assert part in result.stdout
    assert "executed" in result.stderr
    counted = next(line for line in run("show", f"{path}:idle", "-P", "7").stdout.splitlines() if "of 7 ranks" in line)
    assert counted.split()[-3:] == ["35,", "2", "distinct"]  # a barrier and 4 computations each
    assert "'tail'" in run("show", f"{path}:ring", "-P", "4").stderr
    assert "-P" in refused("show", "seismic", "-P", "4")


def test_show_says_what_is_there() -> None:
    assert "did you mean 'seismic'" in refused("show", "seismik")


def test_forecast_prints_phases_and_bounds(files: tuple[str, str]) -> None:
    result = run("forecast", *files)
    assert result.exit_code == 0
    assert result.stderr == ""
    for part in ("pieces on small, P = 4", "work", "save", "communication", "total", "messages", "ranks' own work"):
        assert part in result.stdout


def test_bounds_can_be_left_out(files: tuple[str, str]) -> None:
    assert "ranks' own work" not in run("forecast", *files, "--no-bounds").stdout


def test_simulate_prints_stations_and_waiting(files: tuple[str, str]) -> None:
    text = run("simulate", *files, "--seed", "7").stdout
    for part in ("disk 0", "utilisation", "of it waiting", "effects", "seed", "min", "events"):
        assert part in text


def test_stations_can_be_left_out(files: tuple[str, str]) -> None:
    assert "utilisation" not in run("simulate", *files, "--stations", "0").stdout


def test_compare_ends_with_a_verdict(files: tuple[str, str]) -> None:
    text = run("compare", *files).stdout
    for part in ("dependencies and waiting", "fraction of the gap", "inside the bounds"):
        assert part in text
    # Two ranks write through one disk: the second waits for three writes of 2 ms and 5 ms each.
    assert "(disks), which adds 21 ms" in " ".join(text.split())


def test_what_overlaps_is_printed_beside_the_sum(tmp_path: Path) -> None:
    """Ten broadcasts to 4 ranks: 2 x (1 + 2) us for the first, and for each other the work of the root's first child,
    which receives and sends once: 1 + 2 us."""
    program, where = tmp_path / "ten.yaml", tmp_path / "four.yaml"
    program.write_text("simcodesign: 1\nname: ten\nprogram:\n- {phase: all, repeat: 10, do: [broadcast: {bytes: 0}]}\n")
    where.write_text(
        "simcodesign: 1\nname: four\nnodes: 4\nprocessor: {rate: 1 GFLOP/s}\n"
        "network: {sends: blocking, startup: 1 us, per_byte: 0 ns/B, receive_overhead: 2 us, topology: {kind: crossbar}}\n"
    )
    text = " ".join(run("forecast", str(program), str(where)).stdout.split())
    assert "forecast 60 us" in text
    assert "33 us (broadcast (binomial) x 10 in all" in text
    compared = run("compare", str(program), str(where), "--effects", "none").stdout
    (row,) = (line.split() for line in compared.splitlines() if line.startswith(" broadcast (bin"))
    assert row[-5:] == ["all", "60.000", "33.000", "-27.000", "-45.0%"]
    answer = read_strict(run("compare", str(program), str(where), "--effects", "none", "--json").stdout)
    (gap,) = answer["waiting_by_demand"]
    assert gap["change_s"] == pytest.approx(-27e-6)
    assert answer["forecast"]["pipelined"]["makespan_s"] == pytest.approx(33e-6)
    assert answer["forecast"]["pipelined"]["sequences"][0]["operations"] == "broadcast (binomial) x 10"


def test_compare_without_effects_agrees(files: tuple[str, str]) -> None:
    text = run("compare", *files, "--effects", "none").stdout
    assert "agree to rounding" in text


def test_phases_and_presets_reach_the_verbs(files: tuple[str, str]) -> None:
    answer = read_strict(run("forecast", *files, "--json", "--preset", "tiny", "--phase", "work").stdout)
    assert answer["preset"] == "tiny"
    assert list(answer["phases_s"]) == ["work"]
    assert answer["components_s"]["computation"] == pytest.approx(2 * 100 / 4 / 100e6)


def test_version_and_help() -> None:
    assert run("--version").stdout.strip() == simcodesign.__version__
    assert "compare" in run("--help").stdout


# --- Settings ------------------------------------------------------------------------------------------------


def test_set_reaches_parameters_and_machine(files: tuple[str, str]) -> None:
    settings = (
        "--set",
        "n=8e6",
        "-P",
        "8",
        "--set",
        "nodes=8",
        "--set",
        "network.topology.shape=[4, 2]",
        "--set",
        "processor.rate=1 GFLOP/s",
        "--set",
        "disk.spindles=2",
    )
    answer = read_strict(run("forecast", *files, "--json", *settings).stdout)
    assert answer["values"]["P"] == 8
    assert answer["components_s"]["computation"] == pytest.approx(2 * 8e6 / 8 / 1e9)


def test_machine_keys_are_those_of_machine_files(files: tuple[str, str]) -> None:
    with pytest.raises(InputError) as caught:
        load_machine(files[1], {"nonsense": 1})
    listed = (caught.value.allowed or "").rpartition("?")[2].split(",")
    assert {name.strip() for name in listed} == set(MACHINE_KEYS)


@pytest.mark.parametrize("item", ["n", "n=", "=3", "=", "", " "])
def test_a_malformed_setting_shows_a_good_one(files: tuple[str, str], item: str) -> None:
    assert "name=value, e.g. --set n=1e6" in refused("forecast", *files, "--set", item)


@pytest.mark.parametrize(
    ("item", "part"),
    [
        ("n=ten", "must be a number, got 'ten'"),
        ("n=nan", "a finite number"),
        ("n=1e400", "a finite number"),
        ("n=0", "at least 1"),
        ("P=1.5", "a whole number"),
        ("P=5", "1 to 4"),
        ("m=3", "neither a parameter of"),
        ("nodess=3", "did you mean 'nodes'"),
        ("node=3", "must be a mapping of keys to values"),
        ("network.starup=3", "did you mean 'startup'"),
        ("network.startup=3 MB", "unit of size"),
        ("network.=3", "network."),
        (".=3", "set"),
        ("nodes=[[[", "not YAML"),
        ("nodes=many", "must be a number"),
        ("n[red]=1", "n[red]"),
    ],
)
def test_bad_settings_are_explained(files: tuple[str, str], item: str, part: str) -> None:
    assert part in refused("forecast", *files, "--set", item)


def test_nothing_may_be_set_twice(files: tuple[str, str]) -> None:
    assert "twice" in refused("forecast", *files, "--set", "n=1", "--set", "n=2")
    assert "twice" in refused("forecast", *files, "-P", "1", "--set", "P=1")


@given(st.text(alphabet="nP.=[]{}: ,#'\"\n1e-\\/\u00e9\x1b", max_size=12))
@pytest.mark.thorough
def test_any_setting_is_used_or_refused(item: str) -> None:
    result = run("forecast", "cg-iteration", "crossbar-16", "--no-bounds", "--set", item)
    assert result.exit_code in (0, 2)
    assert result.exit_code == 0 or (result.stderr.startswith("error: ") and "\x1b" not in result.stderr)


# --- JSON ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["forecast", "simulate", "compare"])
@pytest.mark.thorough
def test_json_is_strict_and_alone_on_standard_output(files: tuple[str, str], verb: str) -> None:
    done = run_apart(verb, *files, "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert read_strict(done.stdout)


def test_json_has_null_for_what_is_no_number(files: tuple[str, str]) -> None:
    answer = read_strict(run("compare", *files, "--json", "--effects", "none", "--phase", "work").stdout)
    # Without a gap nothing has a share of it.
    assert [rung["fraction"] for rung in answer["ladder"]] == [None]


def test_strict_turns_arrays_into_lists() -> None:
    given_ = {"a": np.array([1.0, math.inf]), "b": (np.float64("nan"), np.bool_(True), np.int64(3)), "c": "x"}
    assert to_json(given_) == {"a": [1.0, None], "b": [None, True, 3], "c": "x"}


# --- Exit status and standard error --------------------------------------------------------------------------


@pytest.mark.parametrize(("tolerance", "status"), [("1%", 1), ("0.01", 1), ("100%", 0), ("200%", 0)])
def test_tolerance_decides_the_exit_status(files: tuple[str, str], tolerance: str, status: int) -> None:
    result = run("compare", *files, "--json", "--tolerance", tolerance)
    assert result.exit_code == status
    assert ("out of tolerance" in result.stderr) == bool(status)
    assert abs(read_strict(result.stdout)["error"]) > 0.01


def test_a_tolerance_above_one_needs_its_percent_sign(files: tuple[str, str]) -> None:
    """2 is as likely 2 % as 200 %."""
    result = run("compare", *files, "--tolerance", "2")
    assert result.exit_code == 2
    assert "--tolerance" in result.stderr


def test_an_exact_forecast_is_within_a_tolerance_of_rounding(files: tuple[str, str]) -> None:
    assert run("compare", *files, "--effects", "none", "--tolerance", "1e-9").exit_code == 0


def test_an_undefined_error_is_out_of_tolerance(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Undefined:
        error: float = math.nan
        formulas: tuple[()] = ()

    monkeypatch.setattr("simcodesign.comparison.compare.compare", lambda *arguments, **options: Undefined())
    assert run("compare", *files, "--json", "--tolerance", "100%").exit_code == 1


@pytest.mark.parametrize("tolerance", ["-1%", "much", "5 s", "nan", ""])
def test_a_bad_tolerance_is_refused(files: tuple[str, str], tolerance: str) -> None:
    assert "--tolerance" in refused("compare", *files, f"--tolerance={tolerance}")


@pytest.mark.parametrize("options", [("--effects", "magic"), ("--seed", "-1"), ("--preset", "no"), ("--phase", "no")])
def test_bad_options_are_refused(files: tuple[str, str], options: tuple[str, ...]) -> None:
    refused("simulate", *files, *options)


def test_square_brackets_in_messages_survive() -> None:
    name = "nowhere/[bold]no[/bold] [link].yaml"
    assert name in refused("forecast", name, "crossbar-16")


def test_control_characters_and_markup_reach_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_all(["a\x1b[31m [red]b[/red] :boom:\n\x9bc"])
    complain("d\x07 [bold]e")
    shown = capsys.readouterr()
    assert shown.out == "a\ufffd[31m [red]b[/red] :boom:\n\ufffdc\n"
    assert shown.err in ("d\ufffd [bold]e\n", "d [bold]e\n")  # Rich drops some control characters itself


@pytest.mark.thorough
def test_a_long_message_is_not_shortened(files: tuple[str, str]) -> None:
    done = run_apart("forecast", *files, "--set", "nodse=1")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(")\n")
    assert len(done.stderr) > 200


def test_a_deadlock_is_bad_input(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def stuck(*arguments: object, **options: object) -> None:
        raise DeadlockError("rank [0] waits")

    monkeypatch.setattr("simcodesign.engine.simulate.simulate", stuck)
    assert refused("simulate", *files) == "error: rank [0] waits\n"


def test_an_interrupt_ends_quietly(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("simcodesign.engine.simulate.simulate", interrupted)
    result = run("simulate", *files)
    assert (result.exit_code, result.output) == (130, "")


@pytest.mark.thorough
def test_a_real_interrupt_ends_quietly(files: tuple[str, str]) -> None:
    source = (
        "import signal, sys; from simcodesign import cli; from simcodesign.engine import simulate\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell lets background jobs ignore it
        "simulate.simulate = lambda *arguments, **options: signal.raise_signal(signal.SIGINT)\n"
        f"sys.argv = ['simcodesign', 'simulate', *{files}]; sys.exit(cli.main())"
    )
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_usage_errors_are_those_of_click() -> None:
    done = run_apart("forecast", "--nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nonsense" in done.stderr


def test_a_reader_that_goes_away_ends_quietly(files: tuple[str, str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as nobody:
        done = subprocess.run(
            [sys.executable, "-m", "simcodesign", "forecast", *files],
            cwd=ROOT,
            stdout=nobody,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported(files: tuple[str, str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "simcodesign", "forecast", *files],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr == "error: No space left on device\n"


def test_main_returns_the_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["simcodesign", "show", "no-such-thing"])
    assert cli.main() == 2
    monkeypatch.setattr(sys, "argv", ["simcodesign", "--version"])
    assert cli.main() == 0
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.thorough
def test_ascii_output_is_possible(files: tuple[str, str]) -> None:
    done = run_apart("show", files[0], env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()


# --- Files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "function"),
    [("forecast", "result_bars"), ("simulate", "activity_profile"), ("compare", "comparison_bars")],
)
def test_plots_are_asked_for(
    files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, function: str
) -> None:
    calls = recorded(monkeypatch, f"results.plots.{function}")
    assert run(verb, *files, "--write", f"plot:{tmp_path / 'a.svg'}").exit_code == 0
    ((shown, path),) = calls
    assert path == tmp_path / "a.svg"
    assert verb != "simulate" or shown.timeline is not None


@pytest.mark.parametrize("verb", ["simulate", "compare"])
def test_timelines_are_asked_for(
    files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    calls = recorded(monkeypatch, "timelines.write.write_timeline")
    assert run(verb, *files, "--write", str(tmp_path / "a.json")).exit_code == 0
    ((shown, path),) = calls
    assert path == tmp_path / "a.json"
    assert shown.timeline is not None


def recorded(monkeypatch: pytest.MonkeyPatch, function: str) -> list[tuple[Any, Path]]:
    """Calls of this function of a module of report, which does nothing else from now on."""
    calls: list[tuple[Any, Path]] = []
    monkeypatch.setattr(f"simcodesign.report.{function}", lambda shown, path, *_: calls.append((shown, path)))
    return calls


@pytest.mark.parametrize("name", ["a.bmp", "a", "missing/a.png"])
def test_a_plot_that_cannot_be_is_refused_at_once(files: tuple[str, str], tmp_path: Path, name: str) -> None:
    assert "--write" in refused("simulate", *files, "--write", f"plot:{tmp_path / name}")


def test_a_timeline_that_cannot_be_is_refused_at_once(files: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    assert "cannot be written" in refused("simulate", *files, "--write", str(tmp_path / "a.json"))


def test_a_failing_file_is_reported(files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied", "a[b].png")

    monkeypatch.setattr("simcodesign.report.results.plots.result_bars", failing)
    result = run("forecast", *files, "--json", "--write", str(tmp_path / "a.png"))
    assert result.exit_code == 2
    assert result.stderr == "error: a[b].png: Permission denied\n"


def test_demo_passes_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders: list[Path] = []
    monkeypatch.setattr("simcodesign.report.demo.flagship.main", folders.append)
    assert run("demo").exit_code == 0
    assert run("demo", "--folder", str(tmp_path)).exit_code == 0
    assert folders == [Path("demo-output"), tmp_path]


# --- Start, progress, numbers --------------------------------------------------------------------------------


def test_help_imports_nothing_heavy() -> None:
    source = (
        "import sys; from simcodesign import cli; sys.argv = ['simcodesign', '--help']; status = cli.main()\n"
        f"print(status, [name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == "0 []\n"


class Terminal(io.StringIO):
    """A file that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_silent_without_a_terminal() -> None:
    file = io.StringIO()
    with ProgressBar("simulating", console=Console(file=file, force_terminal=True), patience_s=0.0) as on_progress:
        on_progress(1.0, 20_000)
    assert file.getvalue() == ""


def test_progress_is_silent_when_quick() -> None:
    file = Terminal()
    with ProgressBar("simulating", console=Console(file=file, force_terminal=True), patience_s=60.0) as on_progress:
        on_progress(1.0, 20_000)
    assert file.getvalue() == ""


def test_progress_shows_time_and_events() -> None:
    file = Terminal()
    console = Console(file=file, force_terminal=True, width=120, _environ={"TERM": "xterm"})
    with ProgressBar("simulating", console=console, patience_s=0.0) as on_progress:
        on_progress(0.0015, 20_000)
        time.sleep(0.3)
        on_progress(0.0025, 40_000)
        time.sleep(0.3)
    assert "2.5 ms simulated, 40,000 events" in file.getvalue()


@given(st.floats(1e-12, 1e12), st.floats(0, 1))
def test_seconds_are_printed_to_two_digits_at_least(largest: float, share: float) -> None:
    show, value = Seconds([largest, largest * share]), largest * share
    printed = float(show(value).replace(",", "")) * show.factor
    assert printed == pytest.approx(value, rel=0.06, abs=2e-10 * largest)
    assert float(show(largest).replace(",", "")) * show.factor == pytest.approx(largest, rel=6e-4)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((0.0, 0.0), "agree to rounding"),
        ((0.5, 1.5), "50.0% too low against the simulation (4 s); the largest contributor is contention for links"),
        ((0.5, 1.5), "which adds 1.5 s (75% of the gap)"),
        ((3.0, -1.0), "which adds 3 s (more than the gap"),
        ((-3.0, 2.5), "33.3% too high"),
        ((2.0, -1.999), "0.05% too low"),
        ((1.0, -1.0), "only because effects cancel"),
        ((-1.0, 0.9), "with which it is 1 s shorter"),
        ((-2.0, 1.9, 1.9), "but other effects outweigh it"),
    ],
)
def test_the_verdict_in_words(changes: tuple[float, ...], words: str) -> None:
    result, gap = 2.0, round(sum(changes), 9)
    rungs = [
        SimpleNamespace(effect=effect, change_s=change, fraction=change / gap if gap else math.nan)
        for effect, change in zip(("hops", "links", "disks"), changes, strict=False)
    ]
    comparison: Any = SimpleNamespace(
        forecast=SimpleNamespace(headline_s=result, response_s=None, formulas=()),
        simulation=SimpleNamespace(headline_s=result + gap, stations=NO_STATIONS),
        rungs=rungs,
        random=(),
        farther_from_measured=False,
        error=-gap / (result + gap) if result + gap else math.nan,
    )
    console = Console(width=500, file=io.StringIO(), record=True)
    console.print(verdict(comparison))
    assert words in console.export_text()


@pytest.mark.parametrize(("bandwidth", "says"), [("2 GB/s", False), ("0.5 GB/s", True)])
def test_links_that_are_named_for_coming_first_are_told(tmp_path: Path, bandwidth: str, says: bool) -> None:
    """Four ranks of a node send at once: with all effects they wait where the way is narrowest, by construction."""
    machine = tmp_path / "tree.yaml"
    machine.write_text(
        "simcodesign: 1\nname: tree\nnodes: 4\nprocessors_per_node: 4\nprocessor: {rate: 1 GFLOP/s}\n"
        "network: {topology: {kind: fat_tree, arity: 2}, startup: 1 us, bandwidth: 0.5 GB/s, link_bandwidth: 0.6 GB/s,"
        f" interfaces: {{bandwidth: {bandwidth}}}}}\n"
    )
    result = CliRunner().invoke(cli.app, ["compare", "burst", str(machine), "-P", "16", "--set", "size=65536"])
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "contention for links" in text
    assert ("named since they are switched on first" in text) is says


def test_interfaces_that_nobody_waits_for_are_told(tmp_path: Path) -> None:
    """Eight ranks of a node, each with an interface of its own, send 250 MB at once over a link of 200 GB/s: 10 ms each
    without waits, and the last one waits 7 x 1.25 ms for the link. Waits of 0 to 7 times 1.25 ms are 35 ms together; there are none at the link of the receiver, where they
    come one after another."""
    machine, workload = tmp_path / "rails.yaml", tmp_path / "pairs.yaml"
    machine.write_text(
        "simcodesign: 1\nname: rails\nnodes: 2\nprocessors_per_node: 8\nprocessor: {rate: 1 GFLOP/s}\n"
        "network: {topology: {kind: fat_tree, arity: 2}, startup: 5 us, bandwidth: 25 GB/s, link_bandwidth: 200 GB/s,"
        " interfaces: {count: 8}}\n"
    )
    workload.write_text(
        "simcodesign: 1\nname: pairs\nprogram:\n"
        "  - send: {to: rank + 8, bytes: 250 MB, when: rank < 8}\n  - receive: {from: rank - 8, when: rank >= 8}\n"
    )
    result = CliRunner().invoke(cli.app, ["compare", str(workload), str(machine), "-P", "16"])
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "the sharing of network interfaces (interfaces), which adds 8.75 ms (100% of the gap)" in text
    assert "messages wait 35 ms for links and 0 s for interfaces, summed over all: interfaces are named since" in text


@pytest.mark.parametrize(
    "arguments", [["show", "ice-lake-cluster"], ["forecast", "collective-costs", "ice-lake-cluster", "-P", "8"]]
)
def test_assumed_copies_are_noted(arguments: list[str]) -> None:
    """A node without a measured row of MPI is predicted from its data sheet; with stated copies nothing is said."""
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("note: ice-lake-cluster: node.memory.copies is not stated, 1.4 is assumed (1.1 to 2.2")
    assert "predicted from memory.bandwidth (STREAM) and caches alone, without a measured row of MPI" in line
    machine = [f"{word} with node.memory.copies=1.2" if word == "ice-lake-cluster" else word for word in arguments]
    stated = CliRunner().invoke(cli.app, machine)
    assert (stated.exit_code, stated.stderr) == (0, "")
    assert ("1.4 times (assumed)" in result.stdout, "(assumed)" in stated.stdout) == (arguments[0] == "show", False)


def test_a_constant_that_phases_replace_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    """The user is told that a setting changes nothing, under whichever of its two names it was set."""
    arguments = ["forecast", "seismic", "power-challenge", "--json", "--set", "network.bandwidth=2 MB/s"]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("note: network.per_byte has no effect")
    assert line.endswith("stacking, depth-migration")
    json.loads(result.stdout)


@pytest.mark.parametrize(
    ("effects", "words"),
    [
        (("noise",), "What noise adds is one draw, of seed 7."),
        (("imbalance", "noise"), "What imbalance and noise add is one draw"),
        (("disks",), ""),
    ],
)
def test_chance_is_said_to_be_one_draw(effects: tuple[str, ...], words: str) -> None:
    comparison: Any = SimpleNamespace(
        forecast=SimpleNamespace(headline_s=1.0, response_s=None, formulas=()),
        simulation=SimpleNamespace(headline_s=3.0, seed=7),
        error=-2 / 3,
        rungs=[SimpleNamespace(effect=effect, change_s=1.0, fraction=0.5) for effect in effects],
        random=tuple(effect for effect in effects if effect != "disks"),
        farther_from_measured=False,
    )
    console = Console(width=500, file=io.StringIO(), record=True)
    console.print(verdict(comparison))
    text = console.export_text()
    assert words in text
    assert ("draw" in text) == bool(words)


@pytest.mark.parametrize("verb", ["forecast", "simulate", "compare"])
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ((), "needs 3 GB a rank; the machine does not say its capacity"),
        (("--set", "memory.capacity=4 GB"), "needs 3 GB a rank; a rank has 4 GB"),
        (("--set", "memory.capacity=2 GB"), "DOES NOT FIT: needs 3 GB a rank; a rank has 2 GB"),
    ],
)
def test_memory_that_a_rank_needs(files: tuple[str, str], verb: str, settings: tuple[str, ...], words: str) -> None:
    path = Path(files[0])
    path.write_text(WORKLOAD.replace("program:", "footprint: 3000*n\nprogram:"), encoding="utf-8")
    output = run(verb, *files, *settings).stdout
    assert words in output
    assert ("DOES NOT FIT" in output) == ("DOES NOT FIT" in words)


# --- Hardware counters ---------------------------------------------------------------------------------------


def test_counters_of_a_simulation(files: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    plain = run("simulate", *files, "--seed", "3").stdout
    assert run("simulate", *files, "--seed", "3", "--write", f"counters:{path}").stdout == plain
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    columns = header.split(",")
    assert len(rows) == 3 * 4  # two phases and the application, four ranks
    first = dict(zip(columns, rows[0].split(","), strict=True))
    assert (first["kernel"], first["processes"], first["repetition"], first["rank"]) == ("work", "4", "3", "0")
    assert (first["collectives"], first["collective_bytes"], first["messages"]) == ("2", "16", "0")
    assert float(first["time_s"]) > 2 * 2.5e5 / 100e6
    assert not {"cycles", "instructions", "frequency_hz"} & set(columns)  # this machine has no clock


def test_counters_are_written_with_a_clock_and_a_size(files: tuple[str, str], tmp_path: Path) -> None:
    Path(files[0]).write_text(WORKLOAD.replace("program:", "size: n\nprogram:"), encoding="utf-8")
    path = tmp_path / "out.csv"
    run("simulate", *files, "--set", "processor.clock=2 GHz", "--write", f"counters:{path}")
    header, first, *_ = path.read_text(encoding="utf-8").splitlines()
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert (row["size"], row["frequency_hz"]) == ("1000000", "2000000000")
    assert float(row["cycles"]) == pytest.approx(2 * 2.5e5 / 100e6 * 2e9, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--write", "counters:out.txt"), "--write: wrong suffix of a file"),
        (("--write", "counters:nowhere/out.csv"), "cannot be written"),
    ],
)
def test_counters_that_cannot_be(
    files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refused("simulate", *files, *arguments)
    assert not Path("out.csv").exists()


def test_show_a_machine_whose_links_differ(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_bytes((ROOT / "tests" / "fuzz" / "inputs" / "links.yaml").read_bytes())
    text = " ".join(run("show", str(file)).stdout.split())
    for part in (
        "bandwidth 100 MB/s, 50 MB/s latency 1 us, 3 us",
        "latency of a hop 1 us to 3 us",
        "bandwidth of a link 50 MB/s to 100 MB/s",
        "messages within a node 1 us + m / (1 GB/s), no hops",
        "messages between sockets 2 us + m / (500 MB/s), no hops",
        "sockets of a node 2",
    ):
        assert part in text


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_what_would_help_stands_under_why(files: tuple[str, str], command: str) -> None:
    result = run(command, *files, "--why", "--json")
    why = json.loads(result.stdout)["why"]
    assert {*why} >= {"improvement", "improvements", "bottleneck", "forecast_s", "simulated_s"}
    assert {*why["improvements"][0]} == {"what", "part", "forecast", "simulated", "reason"}
    assert "why" not in json.loads(run(command, *files, "--json").stdout)
    assert "--why" in result.stderr
    assert "forecast" in run(command, *files, "--why").stdout


def test_what_would_help_is_of_one_simulation(files: tuple[str, str]) -> None:
    assert "--why" in refused("simulate", *files, "--why", "--replications", "3")
    assert "--why" in refused("compare", *files, "--why", "--replications", "3")


@pytest.mark.parametrize("guess", [["n=200"], ["-p", "n=200"], ["--param", "n=200"]])
@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_who_guesses_how_a_value_is_set_is_told(files: tuple[str, str], command: str, guess: list[str]) -> None:
    result = run(command, *files, *guess)
    assert result.exit_code == 2
    assert "--set" in result.stderr
    assert "--set" not in run("list", *guess).stderr  # which sets none


@pytest.mark.parametrize("command", ["forecast", "simulate", "compare"])
def test_a_machine_before_the_workload_is_told_apart(files: tuple[str, str], command: str) -> None:
    workload, machine = files
    assert "the workload comes before the machine" in refused(command, machine, workload)
    assert "the workload comes before the machine" in refused(command, "mesh-256", "broadcast")
    assert "comes before" not in refused(command, machine, "no-such-workload.yaml")


def test_a_variant_without_with_is_told_how_it_is_written(files: tuple[str, str]) -> None:
    workload, machine = files
    assert f"'{machine} with nodes=2'" in refused("compare", workload, machine, f"{machine} nodes=2")
