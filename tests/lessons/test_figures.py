"""Figures of a lesson: events with the lines of the engine that run, stations, and what would help."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcodesign import simulate
from simcodesign.core.errors import InputError
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.figures.engine_lines import FOLDER, LineRecorder
from simcodesign.lessons.figures.events import events_at
from simcodesign.lessons.figures.helps import helps_at
from simcodesign.lessons.figures.stations import station_names
from simcodesign.lessons.packing import block_in, unpack
from simcodesign.lessons.page import build_lesson
from simcodesign.lessons.scenarios import scenario_at
from simcodesign.lessons.traces import traces_at
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.report.events.event_list import event_list
from simcodesign.studies.elasticities.elasticities import elasticities
from tests.lessons.small import VIEWS, lesson_with_all_figures, small_lesson


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Lesson:
    return read_lesson(lesson_with_all_figures(tmp_path_factory.mktemp("figures") / "small"))


@pytest.fixture(scope="module")
def events(lesson: Lesson) -> dict[str, Any]:
    run = lesson.runs["near"]
    assert run.events is not None
    return events_at(run, run.events.at)


@pytest.mark.parametrize("rung", [0, 2])
def test_events_are_those_of_simulate_events(rung: int, lesson: Lesson, events: dict[str, Any]) -> None:
    """What ``simulate --write events.txt`` lists, and nothing else; turns at stations, which it leaves out, apart."""
    run = lesson.runs["near"]
    assert run.events is not None
    result = simulate(scenario_at(run, run.events.at), effects=run.effects[:rung], seed=0, timeline=True)
    listed = [
        (one.time_s, one.peer if one.event == "arrives" else one.rank, one.event, one.operation, one.waits_for)
        for one in event_list(result).events
        if one.waits_at is None or one.operation != "message"
    ]
    rows = [row for row in events["rungs"][rung] if "station" not in row]
    found = [(row["time"], row["rank"], row["what"], row["operation"], row["waits_for"]) for row in rows]
    assert sorted(map(str, found)) == sorted(map(str, listed))
    assert [row["time"] for row in events["rungs"][rung]] == sorted(row["time"] for row in events["rungs"][rung])


def test_turns_at_stations_name_who_holds_them(lesson: Lesson, events: dict[str, Any]) -> None:
    """Against the services that the engine records: each is asked for and granted, and waits are for who is served."""
    run = lesson.runs["near"]
    assert run.events is not None
    result = simulate(scenario_at(run, run.events.at), effects=["links"], seed=0, timeline=True, engine="simpy")
    assert result.timeline is not None
    services = result.timeline.services
    assert services is not None
    rows = [row for row in events["rungs"][2] if "station" in row]
    for what, times in (("granted", services.begin_s), ("asks waits", services.requested_s)):
        found = sorted((row["time"], row["station"], row["rank"]) for row in rows if row["what"] in what.split())
        ranks = result.timeline.rank[services.op].tolist()
        names = [services.names[one] for one in services.station]
        assert found == sorted(zip(times.tolist(), names, ranks, strict=True))
    waiting = [row for row in rows if row["what"] == "waits"]
    assert len(waiting) == np.count_nonzero(services.begin_s > services.requested_s) > 0
    for row in waiting:
        sender, receiver = row["holder"]
        served = [
            one
            for one in range(len(services))
            if services.names[services.station[one]] == row["station"]
            and services.begin_s[one] <= row["time"] < services.end_s[one]
        ]
        (op,) = {int(services.op[one]) for one in served}
        assert (int(result.timeline.rank[op]), int(result.timeline.peer[op])) == (sender, receiver)


def test_lines_are_those_of_the_files(events: dict[str, Any]) -> None:
    """Texts are the files' own, and no line is marked that cannot run: no head, docstring or blank line."""
    for one in events["functions"]:
        lines = (FOLDER / one["file"]).read_text(encoding="utf-8").splitlines()[one["first"] - 1 :]
        assert [line.strip() for line in one["text"]] == [line.strip() for line in lines[: len(one["text"])]]
        one["can run"] = {
            node.lineno - 1
            for node in ast.walk(ast.parse("\n".join(one["text"])))
            if isinstance(node, ast.stmt | ast.expr)
        }
    for row in (row for rung in events["rungs"] for row in rung):
        assert row["lines"], row
        for number, *ran in row["lines"]:
            assert set(ran) <= events["functions"][number]["can run"] - {0}


def test_the_line_that_makes_an_event_is_among_those_that_run(events: dict[str, Any]) -> None:
    makes = {
        "begins": ("Simulation.begin", "if self.travels[op]:"),
        "ends": ("Simulation.end", "self.finishes(op, self.env.now)"),
        "arrives": ("Simulation.arrive", "self.arrival_s[send] = self.env.now"),
        "granted": ("Station.grant", "granted.succeed(True)"),
        "asks": ("Station.request", "granted = self.env.event()"),
        "waits": ("", "granted = self.env.event()"),
    }
    functions = events["functions"]
    for row in events["rungs"][2]:
        ran = {(functions[n]["name"], functions[n]["text"][k].strip()) for n, *lines in row["lines"] for k in lines}
        name, line = makes[row["what"]]
        if row["what"] == "waits":
            line = line if "station" in row else "yield self.arrived[self.match[op]]"
            assert line in {text for _, text in ran}
        else:
            assert (name, line) in ran


def test_recording_ends_with_the_run_and_what_was_traced_before_goes_on() -> None:
    before = sys.gettrace()
    with pytest.raises(ZeroDivisionError):
        LineRecorder().record(lambda: 1 // 0)
    assert sys.gettrace() is before


def test_helps_are_those_of_why(lesson: Lesson) -> None:
    run = lesson.runs["near"]
    found = helps_at(run, run.helps[0].at)
    table = elasticities(scenario_at(run, run.helps[0].at), effects=["hops", "links"], seed=0)  # noise is random
    by_name = {one.what: (one.forecast, one.simulated) for one in table.improvements if not one.is_algorithm}
    assert found["rows"]
    for row in found["rows"]:
        assert by_name[row["what"]] == (row["forecast"], row["simulated"])
    assert found["rows"][0]["simulated"] == min(simulated for _, simulated in by_name.values())
    assert found["improvement"] == 0.1


def test_stations_have_served_what_the_engine_says(lesson: Lesson) -> None:
    run = lesson.runs["near"]
    trace = traces_at(run, run.traces[0].at)
    names = station_names(run, run.traces[0].at, trace)
    result = simulate(scenario_at(run, run.traces[0].at), effects=["links"], timeline=True, engine="simpy")
    assert result.timeline is not None
    services = result.timeline.services
    assert services is not None
    served, times = np.asarray(trace["2/served"]), np.asarray(trace["2/served_times"])
    found = sorted(
        (names["2"][place], int(op), *row) for (place, op), row in zip(served.tolist(), times.tolist(), strict=True)
    )
    columns = (services.op.tolist(), services.requested_s.tolist(), services.begin_s.tolist(), services.end_s.tolist())
    assert found == sorted(zip([services.names[one] for one in services.station], *columns, strict=True))


@pytest.mark.thorough
def test_a_page_has_them(lesson: Lesson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for _ in range(2):  # computed, and then as they were kept
        build_lesson(lesson.folder, tmp_path / "page.html", 1)
        header, arrays = unpack(block_in((tmp_path / "page.html").read_text(encoding="utf-8")))
        run = header["runs"]["near"]
        assert len(run["events"]["rungs"]) == 4
        assert run["helps"][0]["at"] == {"nodes": 0, "size": 2, "startup": 1}
        assert len(run["traces"][0]["stations"]) == 4
        assert "near/0/2/served" in arrays
    (over,) = (view["over"] for view in header["steps"][0]["views"] if view["kind"] == "trust")
    assert over == ["nodes", "size"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ((VIEWS[0], VIEWS[0] + "      - {kind: events, run: near}\n"), "needs a run with 'events'"),
        ((VIEWS[0], VIEWS[0] + "      - {kind: helps, run: near}\n"), "needs a run with 'helps'"),
        ((VIEWS[0], VIEWS[0] + "      - {kind: trust, run: near, over: [nodes, nodes]}\n"), "not the axes"),
        ((VIEWS[0], VIEWS[0] + "      - {kind: trust, run: near}\n"), "'over' is missing"),
        (("- {kind: gantt, run: near}", "- {kind: gantt, run: near, of: cores}"), "not one of the choices"),
    ],
)
def test_what_a_run_does_not_keep_cannot_be_shown(change: tuple[str, str], word: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=word) as caught:
        read_lesson(small_lesson(tmp_path / "small", change))
    assert caught.value.place is not None
    assert caught.value.place.line


def test_a_long_run_is_not_gone_through_step_by_step(lesson: Lesson, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simcodesign.lessons.figures.events.MOST_OPERATIONS", 5)
    run = lesson.runs["near"]
    assert run.events is not None
    with pytest.raises(InputError, match="too many operations") as caught:
        events_at(run, run.events.at)
    assert caught.value.place == run.place


def test_a_run_without_messages_has_its_disks(tmp_path: Path) -> None:
    """Two ranks at one disk, by hand: the second waits until the first has read 1 MB at 10 MB/s after 10 ms."""
    folder = small_lesson(tmp_path / "small")
    (folder / "reads.yaml").write_text(
        "simcodesign: 1\nname: reads\nparameters: {m: {default: 1, unit: B}}\nprogram: [{read: {bytes: 1000000}}]\n",
        encoding="utf-8",
    )
    text = (folder / "lesson.yaml").read_text(encoding="utf-8")
    text = text.replace("workload: broadcast", "workload: reads.yaml").replace("    parameters: {order: near}\n", "")
    text = text.replace("network.distance: none,", "network.distance: none, disk.shared_by: 8,")
    text = text.replace("effects: [hops, links, noise]", "effects: [disks]").replace(
        "      - {nodes: 8}", "      - {nodes: 2}"
    )
    text = text.split("values:")[0] + "steps:\n  - {name: One, text: one.md}\n"
    (folder / "lesson.yaml").write_text(text, encoding="utf-8")
    run = read_lesson(folder).runs["near"]
    trace = traces_at(run, run.traces[0].at)
    assert station_names(run, run.traces[0].at, trace)["1"] == ["disk 0"]
    found = np.asarray(trace["1/served_times"])
    assert found == pytest.approx(np.array([[0, 0, 0.11], [0, 0.11, 0.22]]), rel=1e-12)
    assert np.asarray(trace["1/path_times"])[-1, 1] == pytest.approx(0.22)
