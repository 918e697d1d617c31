"""The Gantt chart of a simulation: its bars are the operations of the timeline."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import RECEIVE
from simcodesign.report.common.plot_style import seconds_text
from simcodesign.report.timelines import gantt
from simcodesign.report.timelines.gantt import gantt_chart
from tests.command_line import command

CASE = ("broadcast", "mesh-256", {"P": 4, "order": "near"})


def test_a_row_for_each_rank(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "g.svg"
    gantt_chart(sc.simulate(*CASE, effects="links", timeline=True), file)
    texts = set(re.findall(r"<!-- (.*?) -->", file.read_text(encoding="utf-8")))
    assert {"rank 0", "rank 3", "communication", "waiting for messages", "message of 1 KiB", "1 KiB"} <= texts
    assert "computation" not in texts  # nobody computes


def test_waits_of_other_kinds_are_not_for_messages(tmp_path: Path) -> None:
    """Eight ranks write to a disk of four spindles."""
    pytest.importorskip("matplotlib")
    writes = sc.Workload.load({"name": "writes", "program": [{"write": {"bytes": 1e6}}]})
    gantt_chart(sc.simulate(writes, "torus-cluster", {"P": 8}, effects="disks", timeline=True), tmp_path / "g.svg")
    texts = set(re.findall(r"<!-- (.*?) -->", (tmp_path / "g.svg").read_text(encoding="utf-8")))
    assert "waiting" in texts
    assert "waiting for messages" not in texts


def test_arrows_go_from_the_sender_to_the_receiver() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    timeline = sc.simulate(*CASE, effects="links", timeline=True).timeline
    assert timeline is not None
    axis = Figure().subplots()
    axis.set(xlim=(0.0, timeline.finish_s.max()), ylim=(3.6, -0.6))
    gantt._messages(axis, timeline, timeline.rank.astype(np.int64), np.ones(len(timeline.rank), dtype=bool))
    (arrows,) = axis.collections
    ends = sorted((row, row + down) for row, down in zip(arrows.XY[:, 1], arrows.V, strict=True))
    assert ends == [(0, 1), (0, 2), (1, 3)]  # a binomial tree of four ranks
    received = timeline.finish_s[timeline.kind == RECEIVE]
    assert sorted(arrows.XY[:, 0] + arrows.U) == pytest.approx(sorted(received))


@given(x=st.tuples(*[st.integers(-4, 4)] * 2), y=st.tuples(*[st.integers(-4, 4)] * 2))
@settings(max_examples=25)
def test_which_arrows_a_label_would_hide(x: tuple[int, int], y: tuple[int, int]) -> None:
    line = np.array([[[x[0]], [y[0]]], [[x[1]], [y[1]]]], dtype=float)
    crosses = gantt._crosses(line, np.array([-1.01, -0.51]), np.array([1.01, 0.51]))
    share = np.linspace(0, 1, 2001)
    points = x[0] + share * (x[1] - x[0]), y[0] + share * (y[1] - y[0])
    assert crosses == [bool(np.any((abs(points[0]) <= 1.01) & (abs(points[1]) <= 0.51)))]


def test_bytes_of_many_messages_are_in_the_legend_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(gantt, "MOST_LABELS", 2)
    file = tmp_path / "g.svg"
    gantt_chart(sc.simulate(*CASE, effects="links", timeline=True), file)
    texts = re.findall(r"<!-- (.*?) -->", file.read_text(encoding="utf-8"))
    assert "message of 1 KiB" in texts
    assert "1 KiB" not in texts
    monkeypatch.setattr(gantt, "MOST_LINES", 2)
    gantt_chart(sc.simulate(*CASE, effects="links", timeline=True), file)
    assert "<!-- 3 messages, too many to draw -->" in file.read_text(encoding="utf-8")


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
    assert run("--write", f"gantt:{file}", "--from", "10 us", "--to", "50 us").status == 0
    assert file.stat().st_size > 1000
    assert "gantt" in run("--from", "10 us").err


def test_a_window_is_named_with_the_time_of_the_whole_run() -> None:
    """A broadcast to four ranks takes two rounds of one message: the window ends within, the run does not."""
    pytest.importorskip("matplotlib")
    run = sc.simulate("broadcast", "mesh-256", {"P": 4}, timeline=True)
    whole_s = float(run.makespan_s)
    axes = run.plot(kind="gantt", window_s=(10e-6, whole_s / 2))
    assert axes.get_xlim() == pytest.approx((10e-6, whole_s / 2))
    assert "time window 10 us to" in axes.get_title(loc="left")
    assert f"of a run of {seconds_text(whole_s)}" in axes.get_title(loc="left").replace("\n", " ")
    assert "time window" not in run.plot(kind="gantt").get_title(loc="left")
    # A window that ends after the run cuts nothing.
    assert "time window" not in run.plot(kind="gantt", window_s=(0.0, 2 * whole_s)).get_title(loc="left")
