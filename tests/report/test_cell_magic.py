"""The cell magic ``%%simulate``: its times are closed forms, its errors name lines of the cell, and IPython runs it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.report.notebook.html import html_of
from simcodesign.report.programs.cell_magic import simulated_cell
from tests.report.test_notebook import Checked

HEAD = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
#: One message of 1 MB: startup 10 us and 1 MB at 100 MB/s on crossbar-16.
MESSAGE = f"{HEAD}if comm.rank == 0:\n    comm.Send(bytearray(1000000), 1)\nelse:\n    comm.Recv(bytearray(1000000))\n"


def test_times_are_those_of_the_closed_form() -> None:
    shown = simulated_cell("-n 2 --on crossbar-16 --on mesh-256 --compute none", MESSAGE)
    rows = {row[0]: row for row in Checked(html_of(shown.parts)).rows}
    assert float(shown.timeline.makespan_s) == pytest.approx(10e-6 + 1e6 / 100e6, rel=1e-12)
    assert rows["crossbar-16"][-1] == "10.01 ms"
    assert "mesh-256" in rows
    assert (shown.name, shown.run.ranks) == ("_run", 2)


def test_speed_and_declared_computation() -> None:
    cell = f"{HEAD}import simcodesign as sc\nsc.compute(flops=5e6)\n"
    shown = simulated_cell("-n 2 --on crossbar-16 --compute flops", cell)
    assert float(shown.timeline.makespan_s) == pytest.approx(5e6 / 1e9, rel=1e-12)
    with pytest.raises(sc.InputError, match="speed"):
        simulated_cell("-n 2 --on crossbar-16 --speed 0", cell)


@pytest.mark.parametrize(("option", "first", "more"), [("", 10, 6), ("--lines 3", 3, 13), ("--lines 16", 16, 0)])
def test_of_many_lines_the_first_are_shown(option: str, first: int, more: int) -> None:
    shown = simulated_cell(f"-n 16 --on crossbar-16 --compute none {option}", f"{HEAD}print('line')\n")
    text = shown.text()
    assert text.count("] line") == first
    assert (f"{more} more" in text) == bool(more)
    assert len(shown.run.lines) == 16


def test_arguments_follow_two_dashes() -> None:
    shown = simulated_cell("-n 1 --on crossbar-16 --as one -- -n 'a b'", "import sys\nprint(sys.argv[1:])\n")
    assert shown.run.lines == ((0, "['-n', 'a b']"),)
    assert shown.name == "one"


def test_the_ladder_is_shown_when_it_is_asked_for() -> None:
    plain, ladder = (
        Checked(html_of(simulated_cell(f"-n 2 --on crossbar-16 --compute none {option}", MESSAGE).parts)).rows
        for option in ("", "--ladder")
    )
    assert not any("(dependencies and waiting)" in row[0] for row in plain)
    assert any("(dependencies and waiting)" in row[0] for row in ladder)


@pytest.mark.parametrize(
    ("cell", "line"),
    [(f"{HEAD}1 / 0\n", 4), ("x = 1\ny = (\n", 3), (f"{HEAD}\n\ncomm.recv(source=1 - comm.rank)\n", 6)],
)
def test_errors_name_the_line_of_the_cell(cell: str, line: int) -> None:
    with pytest.raises(sc.SimcodesignError, match=rf"cell:{line}\b"):
        simulated_cell("-n 2 --on crossbar-16", cell)


@pytest.mark.parametrize(
    "line",
    ["", "-n 2 --no", "-n x --on mesh-256", "--on 'mesh", "--on mesh-256 --as 1a", "--on mesh-256 --lines -1"],
)
def test_wrong_options_are_errors(line: str) -> None:
    with pytest.raises(sc.InputError):
        simulated_cell(line, "print()\n")


def test_modules_of_the_folder_are_each_ranks_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("counted.py").write_text("count = 0\n", encoding="utf-8")
    cell = f"{HEAD}import counted\ncounted.count += 1\ncomm.Barrier()\nprint(counted.count)\n"
    shown = simulated_cell("-n 3 --on crossbar-16 --compute none", cell)
    assert sorted(shown.run.lines) == [(0, "1"), (1, "1"), (2, "1")]


def test_a_chart_of_too_many_operations_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simcodesign.report.timelines.gantt.MOST_BARS", 1)
    shown = simulated_cell("-n 2 --on crossbar-16 --compute none", MESSAGE)
    assert "no Gantt chart" in Checked(shown.html()).text


def test_a_shell_of_ipython_runs_it(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "IPython is not installed: pip install ipython"
    shells = pytest.importorskip("IPython.core.interactiveshell", reason=reason)
    pytest.importorskip("matplotlib")
    from IPython.core.displaypub import CapturingDisplayPublisher

    shell: Any = shells.InteractiveShell()
    shell.display_pub = shown = CapturingDisplayPublisher()
    shell.run_line_magic("load_ext", "simcodesign")
    shell.push({"ranks": 2})
    magic = "%%simulate -n {ranks} --on crossbar-16 --compute none --as sent\n"
    assert shell.run_cell(magic + MESSAGE).success
    assert isinstance(shell.user_ns["sent"].workload, sc.Workload)
    (output,) = shown.outputs
    picture = output["data"]["text/html"].partition("data:image/png;base64,")[2].partition('"')[0]
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    assert "10.01 ms" in output["data"]["text/plain"]
    assert not shell.run_cell(f"{magic}{HEAD}1 / 0\n").success
    written = capsys.readouterr()
    assert "cell:4" in written.out + written.err
    assert "Traceback" not in written.out + written.err
