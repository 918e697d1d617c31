"""The tracks of stations in timelines: held against the engine's own statistics, queues by hand."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.core.stations.services import Services
from simcodesign.report.timelines.write import write_timeline

#: Every way in which stations are shared: by servers, in turn, by LogGOPS, fairly, in packets, and by nobody.
CASES: dict[str, tuple[str, str, dict[str, float], str]] = {
    "disks": ("disk-queue", "torus-cluster", {"P": 8, "requests": 8}, "all"),
    "links": ("jacobi", "torus-cluster", {"P": 8, "sweeps": 1}, "all"),
    "memory": ("stencil", "sandy-bridge-node", {"P": 4, "sweeps": 1, "n": 100, "rows": 10}, "memory"),
    "loggops": ("burst-loggp", "loggop-64", {"P": 8}, "all"),
    "packets": ("burst", "packet-torus", {"P": 8}, "links,interfaces"),
    "fair": ("burst", "fugaku", {"P": 8}, "links,interfaces"),
    "nothing": ("jacobi", "torus-cluster", {"P": 4, "sweeps": 1}, "none"),
}


@cache
def simulated(case: str, engine: str = "simpy") -> Result:
    workload, machine, parameters, effects = CASES[case]
    return sc.simulate(workload, machine, parameters, effects=effects, engine=engine, timeline=True)


def services_of(result: Result) -> Services:
    assert result.timeline is not None
    assert result.timeline.services is not None
    return result.timeline.services


@pytest.mark.parametrize("case", CASES)
def test_services_add_up_to_the_statistics_of_stations(case: str) -> None:
    """Requests, busy and waiting times, and the longest queue, each of which an engine counts by itself."""
    result = simulated(case)
    used = {one.name: one for one in result.stations if one.served and one.kind not in ("mailbox", "processor")}
    tracks = {track.name: track for track in services_of(result).tracks()}
    assert tracks.keys() == used.keys()
    for name, track in tracks.items():
        one = used[name]
        assert (len(track.op), track.kind) == (one.served, one.kind)
        assert (track.begin_s - track.requested_s).sum() == pytest.approx(one.wait_s, rel=1e-9, abs=1e-15)
        if case != "fair":  # there busy is how long a link would take for all bytes
            assert (track.end_s - track.begin_s).sum() == pytest.approx(one.busy_s, rel=1e-9)
        lanes = int(track.lanes().max()) + 1
        assert lanes == one.longest_queue if case == "fair" else lanes <= one.servers
        most = int(track.queue()[1].max(initial=0))
        assert most <= one.longest_queue  # which counts who is about to be served as well
        assert (most > 0) == (one.wait_s > 0)


def test_a_queue_by_hand() -> None:
    """Three ask at 0, 1 and 1, and are served for 2 s each by one server."""
    services = Services.of([(4, 2, 1.0, 4.0, 6.0), (4, 0, 0.0, 0.0, 2.0), (4, 1, 1.0, 2.0, 4.0), (9, 3, 0.0, 0.0, 1.0)])
    first, second = services.named("station {}".format, lambda number: "link" if number < 5 else "disk").tracks()
    assert (first.name, first.kind, first.op.tolist()) == ("station 4", "link", [0, 1, 2])
    assert (second.name, second.kind, second.op.tolist()) == ("station 9", "disk", [3])
    moments, waiting = first.queue()
    assert moments.tolist() == [1, 2, 4]
    assert waiting.tolist() == [2, 1, 0]
    assert first.lanes().tolist() == [0, 0, 0]
    assert [len(part) for part in second.queue()] == [0, 0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=12))
def test_lanes_are_as_few_as_can_be(spans: list[tuple[int, int]]) -> None:
    """No two overlap in one lane, and there are as many lanes as are served at a time at most."""
    rows = [(0, op, 0.0, float(begin), float(begin + lasts)) for op, (begin, lasts) in enumerate(spans)]
    (track,) = Services.of(rows).named(str, str).tracks()
    lanes = track.lanes()
    for lane in set(lanes.tolist()):
        here = lanes == lane
        assert all(end <= begin for end, begin in zip(track.end_s[here][:-1], track.begin_s[here][1:], strict=True))
    at_once = [int(((track.begin_s <= time) & (time < track.end_s)).sum()) for time in track.begin_s]
    longer = track.end_s > track.begin_s
    assert len(set(lanes[longer].tolist())) <= max([*at_once, 1])


@pytest.mark.parametrize("case", ["links", "loggops", "packets"])
def test_results_can_be_pickled(case: str) -> None:
    """With their timeline, and the names of stations."""
    for engine in ("simpy", "auto"):
        result = simulated(case, engine)
        again = pickle.loads(pickle.dumps(result))
        assert again.to_dict() == result.to_dict()
        rows = range(len(result.timeline.rank))
        assert [again.timeline.stations_of(row) for row in rows] == [result.timeline.stations_of(row) for row in rows]
        assert [track.name for track in services_of(again).tracks()] == [*services_of(result).names]


def trace_events(result: Result, path: Path) -> list[dict[str, Any]]:
    write_timeline(result, path)
    events: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return events


@pytest.mark.parametrize("case", ["links", "disks", "fair"])
def test_stations_have_tracks_and_queues_in_chrome_traces(case: str, tmp_path: Path) -> None:
    result = simulated(case)
    events = trace_events(result, tmp_path / "run.json")
    processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    kinds = {one.kind for one in result.stations if one.served and one.kind != "mailbox"}
    assert {*processes.values()} == {processes[1], *(f"{kind}s" for kind in kinds)}
    served = [event for event in events if event["ph"] == "X" and event["pid"] > 1]
    assert len(served) == len(services_of(result))
    by_track: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in served:
        begin = round(event["ts"] * 1000)
        span = (begin, begin + round(event["dur"] * 1000))
        by_track.setdefault((event["pid"], event["tid"]), []).append(span)
    assert all(end <= begin for spans in by_track.values() for (_, end), (begin, _) in pairwise(sorted(spans)))
    waited_us = sum(event["args"]["waited_us"] for event in served)
    assert waited_us == pytest.approx(1e6 * sum(one.wait_s for one in result.stations if one.kind != "mailbox"), abs=1)
    waiting = [event for event in events if event["ph"] == "C"]
    assert (len(waiting) > 0) == (waited_us > 0)
    last = {event["name"]: event["args"]["waiting"] for event in waiting}
    assert set(last.values()) <= {0}


def test_arrows_carry_sizes(tmp_path: Path) -> None:
    result = simulated("links")
    events = trace_events(result, tmp_path / "run.json")
    arrows = [event for event in events if event["ph"] in "sf"]
    shown = result.timeline
    assert shown is not None
    sizes = Counter(shown.size_bytes[(shown.kind == 1) & (shown.match >= 0)].tolist())
    assert Counter(event["args"]["bytes"] for event in arrows if event["ph"] == "s") == sizes
    assert all(event["name"] == f"{event['args']['bytes']:.15g} B" for event in arrows)


def test_timelines_of_the_compiled_engine_say_what_they_lack(tmp_path: Path) -> None:
    result = simulated("links", "compiled")
    with pytest.warns(UserWarning, match="engine simpy"):
        events = trace_events(result, tmp_path / "run.json")
    assert {event["pid"] for event in events} == {1}


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.json, \.json\.gz"):
        write_timeline(simulated("links"), tmp_path / "run.vite")
