"""``simulate --write events:-``: the events of a run step by step, against a run worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.report.events.event_list import event_list
from tests.command_line import command

MACHINE = """
simcodesign: 1
name: pair
nodes: 2
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: mesh, shape: [2]}, startup: 2 us, bandwidth: 1 GB/s}
disk: {read_startup: 0 s, write_startup: 0 s, bandwidth: 1 GB/s, shared_by: all}
"""
WORKLOAD = """
simcodesign: 1
name: pass
program:
- phase: talk
  do:
  - compute: {flops: 1000, when: "rank == 0"}
  - send: {to: 1, bytes: 1000, when: "rank == 0"}
  - receive: {from: 0, when: "rank == 1"}
  - write: {bytes: 2000}
"""
#: Rank 0 computes 1 us, its message takes 2 us to send and 1 us more until it is there, at 4 us; rank 0 writes from 3 to
#: 5 us, so that rank 1 has to wait for the disk from 4 us on, and writes from 5 to 7.
BY_HAND = [
    (0, 0, "begins", "compute"),
    (0, 1, "waits", "receive"),
    (1, 0, "ends", "compute"),
    (1, 0, "begins", "send"),
    (3, 0, "ends", "send"),
    (3, 0, "begins", "write"),
    (4, 1, "arrives", "message"),
    (4, 1, "begins", "receive"),
    (4, 1, "ends", "receive"),
    (4, 1, "waits", "write"),
    (5, 0, "ends", "write"),
    (5, 1, "begins", "write"),
    (7, 1, "ends", "write"),
]


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    (tmp_path / "m.yaml").write_text(MACHINE, encoding="utf-8")
    (tmp_path / "w.yaml").write_text(WORKLOAD, encoding="utf-8")
    return command(capfd, "simulate", str(tmp_path / "w.yaml"), str(tmp_path / "m.yaml"), "-P", "2")


def steps(answer: dict[str, Any]) -> list[tuple[int, int, str, str]]:
    rows = answer["events"]
    whole = [round(row["time_s"] * 1e6) for row in rows]
    assert [row["time_s"] for row in rows] == pytest.approx([time * 1e-6 for time in whole], rel=1e-12)
    return [
        (time, *(row[key] for key in ("rank", "event", "operation"))) for time, row in zip(whole, rows, strict=True)
    ]


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_the_events_of_two_ranks(run: Any, engine: str) -> None:
    answer = run("--write", "events:-", "--json", "--engine", engine).json
    assert steps(answer) == BY_HAND
    by_name = {(row["rank"], row["event"], row["operation"]): row for row in answer["events"]}
    wait = by_name[1, "waits", "receive"]
    assert (wait["waits_for"], wait["peer"], wait["bytes"]) == (0, 0, 1000)
    turn = by_name[1, "waits", "write"]
    assert (turn["waits_for"], turn["stations"], turn["bytes"]) == (None, ["disk 0"], 2000)
    assert by_name[1, "arrives", "message"]["stations"] == ["injection 0", "link (0)->(1)", "ejection 1"]


def test_a_window_has_both_of_its_ends(run: Any) -> None:
    answer = run("--write", "events:-", "--json", "--from", "3.5 us", "--to", "4.5 us").json
    assert steps(answer) == [row for row in BY_HAND if row[0] == 4]


def test_lines_say_the_same(run: Any) -> None:
    head, *lines = run("--write", "events:-").out.splitlines()
    assert head.split()[:3] == ["time", "(us)", "rank"]
    assert len(lines) == len(BY_HAND)
    assert "waits for rank 0" in lines[1]
    assert [float(line.split()[0]) for line in lines] == [row[0] for row in BY_HAND]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--from", "1 us"),
        ("--write", "events:-", "--from", "2 us", "--to", "1 us"),
        ("--write", "events:-", "--to", "1 GB"),
        ("--write", "events:-", "--replications", "3"),
        ("--write", "events:-", "--why"),
    ],
)
def test_what_is_refused(run: Any, arguments: tuple[str, ...]) -> None:
    refused = run(*arguments)
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith("error: --")


@pytest.mark.parametrize("workload", ["jacobi", "disk-queue"])
def test_every_operation_begins_and_ends_once_in_the_order_of_time(workload: str) -> None:
    values = {"rate": 200, "requests": 20} if workload == "disk-queue" else {"P": 8}
    machine = "power-challenge" if workload == "disk-queue" else "torus-cluster"
    result = sc.simulate(workload, machine, values, timeline=True)
    events = event_list(result).events
    times = [event.time_s for event in events]
    assert times == sorted(times)
    kinds = [event.event for event in events]
    assert result.timeline is not None
    assert kinds.count("begins") == kinds.count("ends") == len(result.timeline.rank)
    assert kinds.count("arrives") == int((result.timeline.kind == 1).sum())
    assert kinds.count("waits") - kinds.count("goes on") == int(
        (result.timeline.start_s > result.timeline.ready_s).sum()
    )


MEETING = """
simcodesign: 1
name: meeting
program:
- phase: talk
  do:
  - send: {to: 3, bytes: 3000, when: "rank == 0"}
  - send: {to: 3, bytes: 1000, when: "rank == 1"}
  - send: {to: 3, bytes: 1000, when: "rank == 2"}
  - receive: {from: 0, when: "rank == 3"}
  - receive: {from: 1, when: "rank == 3"}
  - receive: {from: 2, when: "rank == 3"}
"""


def test_messages_that_wait_on_their_way_say_where_and_behind_whom(tmp_path: Path) -> None:
    """On a line of four nodes. Rank 0's message of 3,000 B has all links from 2 to 5 us. Those of ranks 1 and 2 come to
    their first links at 2 us. At 5 us that of rank 2, which came first to the last link, has it for 1 us; rank 1's
    passes its first link and waits there for another 1 us."""
    (tmp_path / "m.yaml").write_text(MACHINE.replace("nodes: 2", "nodes: 4").replace("[2]", "[4]"), encoding="utf-8")
    (tmp_path / "w.yaml").write_text(MEETING, encoding="utf-8")
    run = sc.simulate(
        str(tmp_path / "w.yaml"),
        sc.Machine.load(tmp_path / "m.yaml", {"network.sends": "nonblocking"}),
        {"P": 4},
        effects="links",
        engine="simpy",
        timeline=True,
    )
    waits = [
        (round(one.time_s * 1e6, 9), one.rank, one.event, at.station, at.behind, at.ahead)
        for one in event_list(run).events
        if (at := one.waits_at) is not None and one.operation == "message"
    ]
    first, last = "link (1)->(2)", "link (2)->(3)"
    assert waits == [
        (2, 1, "waits", first, "rank 0: send to 3", 1),
        (2, 2, "waits", last, "rank 0: send to 3", 1),
        (5, 1, "goes on", first, "rank 0: send to 3", 1),
        (5, 1, "waits", last, "rank 2: send to 3", 1),
        (5, 2, "goes on", last, "rank 0: send to 3", 1),
        (6, 1, "goes on", last, "rank 2: send to 3", 1),
    ]


def test_a_rank_that_waits_for_a_disk_says_behind_whom(run: Any) -> None:
    (wait,) = [one["waits_at"] for one in run("--write", "events:-", "--json").json["events"] if one["waits_at"]]
    assert wait["behind"].startswith("rank 0: write")
    assert (wait["requested_s"], wait["begin_s"], wait["ahead"]) == pytest.approx((4e-6, 5e-6, 1))


def test_two_counts_of_events_have_two_names(run: Any) -> None:
    """The list has 13 events. The engine has 6: compute, send and two writes end, and the disk is granted twice; the
    receive takes no time of its own."""
    assert len(run("--write", "events:-", "--json", "--effects", "disks").json["events"]) == len(BY_HAND)
    ran = run("--effects", "disks")
    (row,) = [line for line in ran.out.splitlines() if "events" in line]
    assert row.split()[:2] == ["engine", "events"]
    assert int(row.split()[2]) == run("--effects", "disks", "--json").json["events"] == 6
