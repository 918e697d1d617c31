"""The Gantt chart of a simulation: its bars are the operations of the timeline."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.report.timelines import gantt
from simcodesign.report.timelines.gantt import gantt_chart
from tests.command_line import command

CASE = ("broadcast", "mesh-256", {"P": 4, "order": "near"})


def test_a_row_for_each_rank(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "g.svg"
    gantt_chart(sc.simulate(*CASE, effects="links", timeline=True), file)
    texts = set(re.findall(r"<!-- (.*?) -->", file.read_text(encoding="utf-8")))
    assert {"rank 0", "rank 3", "communication", "waiting", "message"} <= texts
    assert "computation" not in texts  # nobody computes


def test_what_cannot_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(InputError, match="no operations were recorded"):
        gantt_chart(sc.simulate(*CASE, effects="none"), tmp_path / "g.svg")
    monkeypatch.setattr(gantt, "MOST_BARS", 2)
    with pytest.raises(InputError, match="more operations"):
        gantt_chart(sc.simulate(*CASE, effects="none", timeline=True), tmp_path / "g.svg")


def test_the_command_draws_a_window(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "g.png"
    run = command(capfd, "simulate", "broadcast", "mesh-256", "-P", "4")
    assert run("--gantt", file, "--from", "10 us", "--to", "50 us").status == 0
    assert file.stat().st_size > 1000
    assert "--gantt" in run("--from", "10 us").err
