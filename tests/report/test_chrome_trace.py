"""The Chrome trace: strict JSON, every operation and every wait once, at its time, on its rank; arrows for messages."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.engine.simulate import simulate
from simcodesign.report.timelines import chrome_trace as module
from simcodesign.report.timelines.chrome_trace import write_chrome_trace
from tests.builders import machine, network, workload

KINDS = ("compute", "send", "receive", "read", "write")

MACHINE = """
simcodesign: 1
name: box
nodes: 4
processor: {rate: 100 MFLOP/s}
network: {topology: {kind: bus}, sends: blocking, startup: 100 us, bandwidth: 10 MB/s}
disk: {read_startup: 1 ms, write_startup: 2 ms, bandwidth: 20 MB/s, shared_by: all}
"""
WORKLOAD = """
simcodesign: 1
name: toy
program:
  - phase: first
    repeat: 2
    do:
      - compute: {flops: "1e5*(1 + rank)"}
      - all_to_all: {bytes: 1000}
      - write: {bytes: 1000}
  - phase: second
    do:
      - read: {bytes: 2000}
      - barrier: {}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("described")
    (folder / "m.yaml").write_text(MACHINE, encoding="utf-8")
    (folder / "w.yaml").write_text(WORKLOAD, encoding="utf-8")
    return simulate(folder / "w.yaml", folder / "m.yaml", {"P": 4}, timeline=True)


def made(rows: list[tuple[int, int, int, float, float, float, int, float]], phases: tuple[str, ...]) -> Result:
    """A result of these operations: rank, phase, kind, ready, start, finish, peer, bytes."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 8
    types = (np.int32, np.int16, np.int8, float, float, float, np.int32, float)
    arrays = [np.array(column, dtype=kind) for column, kind in zip(columns, types, strict=True)]
    shown = Timeline(phases, *arrays, match=np.full(len(rows), -1))
    return Result("simulation", "w", "m", {"P": 2.0}, 0.0, {}, 0, 0, 0, timeline=shown)


def refuse(text: str) -> None:
    raise AssertionError(f"{text} is not JSON")


def written(result: Result, path: Path) -> dict[str, Any]:
    write_chrome_trace(result, path)
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    document = json.loads(content, parse_constant=refuse)
    assert set(document) == {"displayTimeUnit", "otherData", "traceEvents"}
    return document


def complete(document: dict[str, Any], category: str) -> list[dict[str, Any]]:
    """Complete events with this as the last category."""
    events = (event for event in document["traceEvents"] if event["ph"] == "X")
    return [event for event in events if event["cat"].split(",")[-1] == category]


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for part in ("computation", "communication", "disk") for event in complete(document, part)]


def test_a_small_example_by_hand(tmp_path: Path) -> None:
    rows = [
        (0, 0, 0, 0.0, 0.0, 1e-3, -1, 7.0),
        (0, 0, 1, 1e-3, 1e-3, 1.5e-3, 1, 64.0),
        (1, 0, 2, 0.0, 1.5e-3, 2e-3, 0, 64.0),
        (1, 1, 4, 2e-3, 2e-3, 3.000001e-3, -1, 8.5),
    ]
    result = made(rows, ('a "quoted" phase', "b"))
    assert result.timeline is not None
    joined = replace(result.timeline, match=np.array([-1, 2, 1, -1]))
    document = written(replace(result, timeline=joined), tmp_path / "t.json")
    assert document["otherData"] == {
        "workload": "w",
        "machine": "m",
        "preset": None,
        "values": {"P": 2.0},
        "effects": None,
        "seed": None,
    }
    name = 'a "quoted" phase'
    track = {"ph": "X", "pid": 1}
    assert operations(document) == [
        {"name": "compute", "cat": "computation", "ts": 0, "dur": 1000, "tid": 0, "args": {"phase": name}} | track,
        {
            "name": "send to 1",
            "cat": "communication",
            "ts": 1000,
            "dur": 500,
            "tid": 0,
            "args": {"phase": name, "bytes": 64},
        }
        | track,
        {
            "name": "receive from 0",
            "cat": "communication",
            "ts": 1500,
            "dur": 500,
            "tid": 1,
            "args": {"phase": name, "bytes": 64},
        }
        | track,
        {"name": "write", "cat": "disk", "ts": 2000, "dur": 1000.001, "tid": 1, "args": {"phase": "b", "bytes": 8.5}}
        | track,
    ]
    (wait,) = complete(document, "waiting")
    assert (wait["name"], wait["cat"], wait["ts"], wait["dur"]) == ("wait for 0", "communication,waiting", 0, 1500)
    assert [(e["name"], e["tid"], e["ts"], e["dur"]) for e in complete(document, "phase")] == [
        (name, 0, 0, 1500),
        (name, 1, 0, 2000),
        ("b", 1, 2000, 1000.001),
    ]
    flow = [event for event in document["traceEvents"] if event["ph"] in "sf"]
    assert [(event["ph"], event["tid"], event["ts"], event["id"]) for event in flow] == [
        ("s", 0, 1000, 0),
        ("f", 1, 1500, 0),
    ]


@pytest.mark.parametrize("chunk", [1, 7, 1 << 15])
def test_a_simulation_is_written_completely(
    run: Result, tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    document, shown = written(run, tmp_path / "t.json"), run.timeline
    assert shown is not None
    result = Counter((e["tid"], e["name"].split()[0], e["args"]["phase"], round(e["ts"])) for e in operations(document))
    columns = (shown.rank, shown.kind, shown.phase, shown.start_s)
    assert result == Counter(
        (int(rank), KINDS[kind], shown.phases[phase], round(round(start * 1e9) / 1000))
        for rank, kind, phase, start in zip(*columns, strict=True)
    )
    assert run.ranks is not None
    lasted = sum(event["dur"] for event in operations(document) + complete(document, "waiting"))
    assert lasted == pytest.approx(run.ranks.busy_s.sum() * 1e6)
    waited = sum(event["dur"] for event in complete(document, "waiting"))
    assert waited == pytest.approx(run.ranks.waiting_s.sum() * 1e6)


def test_tracks_have_names(run: Result, tmp_path: Path) -> None:
    events = written(run, tmp_path / "t.json")["traceEvents"]
    meta = [event for event in events if event["ph"] == "M" and event["pid"] == 1]
    names = {event.get("tid"): event["args"]["name"] for event in meta if event["name"].endswith("_name")}
    assert names == {None: "toy on box"} | {rank: f"rank {rank}" for rank in range(4)}
    assert {e["tid"]: e["args"]["sort_index"] for e in meta if "sort" in e["name"]} == {rank: rank for rank in range(4)}


def test_events_of_a_track_nest(run: Result, tmp_path: Path) -> None:
    document = written(run, tmp_path / "t.json")
    for rank in range(4):
        inner = [event for event in operations(document) + complete(document, "waiting") if event["tid"] == rank]
        spans = sorted((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)) for e in inner)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
        outer = [event for event in complete(document, "phase") if event["tid"] == rank]
        assert [event["name"] for event in outer] == ["first", "second"]
        assert sum(e["dur"] for e in outer) == pytest.approx(sum(e["dur"] for e in inner))


def test_arrows_lead_from_sends_to_receives(run: Result, tmp_path: Path) -> None:
    events = written(run, tmp_path / "t.json")["traceEvents"]
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert len(starts) == run.messages
    assert starts.keys() == ends.keys()
    sends = {(e["tid"], e["ts"]): e["name"] for e in events if e["name"].startswith("send")}
    receives = Counter((e["tid"], e["ts"], e["name"]) for e in events if e["name"].startswith("receive"))
    for number, start in starts.items():
        end = ends[number]
        assert sends[start["tid"], start["ts"]] == f"send to {end['tid']}"
        assert receives[end["tid"], end["ts"], f"receive from {start['tid']}"]


def test_messages_without_a_receive_get_no_arrows(tmp_path: Path) -> None:
    document = written(made([(0, 0, 1, 0.0, 0.0, 1.0, 1, 8.0)], ("p",)), tmp_path / "t.json")
    assert len(operations(document)) == 1
    assert not [event for event in document["traceEvents"] if event["ph"] in "sf"]


def test_nothing_done_is_written_too(tmp_path: Path) -> None:
    assert [e["name"] for e in written(made([], ()), tmp_path / "t.json")["traceEvents"]] == ["process_name"]


@pytest.mark.parametrize("name", ["t.json.gz", "T.JSON"])
def test_compressed_or_not_the_content_is_the_same(run: Result, tmp_path: Path, name: str) -> None:
    assert written(run, tmp_path / name) == written(run, tmp_path / "plain.json")
    before = (tmp_path / name).read_bytes()
    write_chrome_trace(run, tmp_path / name)
    assert (tmp_path / name).read_bytes() == before


def test_errors(run: Result, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="timeline=True"):
        write_chrome_trace(replace(run, timeline=None), tmp_path / "t.json")
    with pytest.raises(InputError, match=r"t\.png.*\.json"):
        write_chrome_trace(run, tmp_path / "t.png")
    with pytest.raises(InputError, match="cannot be written"):
        write_chrome_trace(run, tmp_path / "no" / "t.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_chrome_trace(run, tmp_path / "folder.json")
    with pytest.raises(InputError, match=r"9\.2e\+09 s"):
        write_chrome_trace(made([(0, 0, 0, 0.0, 0.0, 1e10, -1, 0.0)], ("p",)), tmp_path / "t.json")


def test_what_goes_on_at_once_stands_on_tracks_of_its_own(tmp_path: Path) -> None:
    """Events of one track never overlap in part: a viewer would draw them as if one held the other."""
    program = (
        "- repeat: 2\n  do:\n  - {start: {exchange: {pattern: halo2d, bytes: 100}}, as: x}\n  - {start: {barrier: {}}, as: y}\n"
        "  - compute: {seconds: 0.0002}\n  - wait: [x, y]\n"
    )
    on = machine(network(4, startup_s=1e-4, per_byte_s=1e-7))
    document = written(simulate(workload(program), on, {"P": 4}, timeline=True, effects="none"), tmp_path / "t.json")
    tracks: dict[int, list[tuple[float, float]]] = {}
    for event in document["traceEvents"]:
        if event["ph"] == "X" and event["cat"] != "phase" and event["dur"] > 0:
            tracks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    assert {rank: len([tid for tid in tracks if tid % 4 == rank]) for rank in range(4)} == dict.fromkeys(range(4), 3)
    for spans in tracks.values():
        assert all(end <= begin + 1e-6 for (_, end), (begin, _) in pairwise(sorted(spans)))
