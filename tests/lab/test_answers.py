"""Both readings through the laboratory are those of the package; errors stand at their line; no file is opened."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.analytic.forecast import forecast
from simcodesign.core.files import input_files
from simcodesign.describe.yaml.files import machine_of_text, workload_of_text
from simcodesign.lab import asked as asked_module
from simcodesign.lab import work
from simcodesign.lab.answers import error_rows
from simcodesign.lab.app import Laboratory
from simcodesign.lab.asked import Asked
from simcodesign.lab.starts import free_start, shipped_text, starts
from simcodesign.lab.work import Workers
from simcodesign.lessons.folders import available, lesson_folder
from simcodesign.lessons.packing import unpack
from simcodesign.lessons.scenarios import scenario_at
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lab.client import MACHINE, TOKEN, WORKLOAD, Client, asked

SIZES = [1024.0, 65536.0, 1048576.0]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    workers = Workers(1)
    yield Client(Laboratory(workers, 1))
    workers.close()


@pytest.mark.thorough
def test_both_readings_are_those_of_the_package(client: Client) -> None:
    content = asked(axis="m", values=SIZES, effects=["links"])
    found = client.post(f"/{TOKEN}/forecast", content).json
    assert found["total_s"] == [sc.forecast("broadcast", "mesh-256", {"P": 64, "m": m}).makespan_s for m in SIZES]
    events = client.post(f"/{TOKEN}/simulate", content).events
    assert [name for name, _ in events] == ["point"] * 3 + ["done"]
    points = {one["value"]: one for name, one in events if name == "point"}
    for size in SIZES:
        fresh = sc.simulate("broadcast", "mesh-256", {"P": 64, "m": size}, effects="links").makespan_s
        assert [points[size][key] for key in ("mean", "low", "high")] == [fresh] * 3


def test_what_is_random_has_an_interval(client: Client) -> None:
    machine = MACHINE + "noise: {network: 10 %}\n"
    ((_, point), (name, _)) = client.post(f"/{TOKEN}/simulate", asked(machine=machine, seeds=4)).events
    times = [
        sc.simulate("broadcast", machine_of_text(machine, "m"), {"P": 64}, seed=seed).makespan_s for seed in range(4)
    ]
    assert point["mean"] == pytest.approx(sum(times) / 4)
    assert point["low"] < min(times) < max(times) < point["high"]  # t of 3 degrees of freedom: 1.6 standard deviations
    assert name == "done"


def test_the_ladder_of_a_point_is_that_of_a_comparison_and_its_runs_end_with_it(client: Client) -> None:
    content = asked(axis="m", values=[65536.0], effects=["hops", "links"])
    events = client.post(f"/{TOKEN}/ladder", content).events
    assert sorted(name for name, _ in events) == ["done", "rung", "rung", "rung"]
    rungs = {one["place"]: one for name, one in events if name == "rung"}
    parameters = {"P": 64, "m": 65536}
    ladder = sc.compare("broadcast", "mesh-256", parameters, effects=["hops", "links"]).ladder()
    times_s = [one for one in ladder["simulated_s"].tolist() if one == one]
    forecast_s = sc.forecast("broadcast", "mesh-256", parameters).makespan_s
    for place, effects in enumerate(([], ["hops"], ["hops", "links"])):
        rung = rungs[place]
        fresh = sc.simulate("broadcast", "mesh-256", parameters, effects=effects or "none")
        assert (rung["mean"], rung["low"], rung["high"]) == (fresh.makespan_s,) * 3
        assert rung["mean"] in times_s
        assert (rung["forecast_s"], rung["reason"]) == (forecast_s, "")
        _, arrays = unpack(rung["block"])
        assert arrays["node"].tolist() == list(range(64))
        assert arrays["messages"].shape == (63, 4)
        assert arrays["op_times"][:, 2].max() == np.float32(fresh.makespan_s)


def test_what_no_chart_can_show_says_why(client: Client) -> None:
    large = WORKLOAD.replace("repeat: 1 - order", "repeat: 200")
    ((_, rung), _) = client.post(f"/{TOKEN}/ladder", asked(workload=large, effects="none")).events
    assert (rung["block"], "20000 operations" in rung["reason"]) == (None, True)
    assert rung["mean"] > 0
    reply = client.post(f"/{TOKEN}/ladder", asked(axis="m", values=SIZES))
    assert reply.status == 422


def test_a_description_has_parameters_and_effects(client: Client) -> None:
    known = client.post(f"/{TOKEN}/describe", asked()).json
    assert [one["name"] for one in known["parameters"]] == ["P", "m", "order"]
    assert known["parameters"][2]["choices"] == {"far": 0, "near": 1}
    assert {"hops", "links"} <= {one["name"] for one in known["effects"]}
    assert known["operations"] == 126  # 63 sends and 63 receives
    assert known["forecast_s"] == sc.forecast("broadcast", "mesh-256", {"P": 64}).makespan_s


@pytest.mark.parametrize(
    ("where", "change", "line", "words"),
    [
        ("machine", ("startup: 20 us", "startup: 20 uss"), 10, "did you mean 'us'?"),
        ("machine", ("hop_latency", "hop_latnecy"), 12, "did you mean 'hop_latency'?"),
        ("machine", ("nodes: 256", "nodes: 256\n  x: 1"), 6, "not YAML"),
        ("workload", ("bytes: m", "bytes: q"), 12, "q"),
        ("workload", ("m: {default: 1024", "m: {default: many"), 6, "many"),
    ],
)
def test_an_error_stands_at_its_line(
    where: str, change: tuple[str, str], line: int, words: str, client: Client
) -> None:
    text = {"machine": MACHINE, "workload": WORKLOAD}[where]
    assert change[0] in text
    for path in ("describe", "forecast"):
        reply = client.post(f"/{TOKEN}/{path}", asked(**{where: text.replace(*change, 1)}))
        assert reply.status == 422
        (error,) = reply.json["errors"]
        assert (error["where"], error["line"]) == (where, line)
        assert words in error["message"]


def test_a_machine_with_more_processors_than_ranks_are_taken_begins_with_fewer(client: Client) -> None:
    machine = MACHINE.replace("nodes: 256", "nodes: 1048576").replace("[16, 16]", "[1024, 1024]")
    known = client.post(f"/{TOKEN}/describe", asked(machine=machine, parameters={})).json
    assert known["parameters"][0]["value"] == 4096
    assert known["most_ranks"] == 65_536


NAMED = "named.yaml"
FILES: dict[str, tuple[str, str]] = {
    "extends": ("machine", "simcodesign: 1\nname: m\nextends: {file}\n"),
    "extends without a suffix": ("machine", "simcodesign: 1\nname: m\nextends: named\n"),
    "mapping": ("machine", MACHINE + "mapping: {file}.txt\n"),
    "graph": ("machine", MACHINE.replace("{kind: mesh, shape: [16, 16]}", "{kind: graph, file: '{file}'}")),
    "profile": ("workload", "simcodesign: 1\nname: w\nprogram:\n  - memory: {loads: 1e6, profile: '{file}'}\n"),
    "measured": ("workload", WORKLOAD + "measured: {file: '{file}'}\n"),
}


@pytest.mark.parametrize("way", FILES)
@pytest.mark.parametrize("absolute", [False, True])
def test_no_text_names_a_file(way: str, absolute: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that is there, beside the process or by its path, nor one that is not; and nothing is opened."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAMED).write_text(MACHINE)
    (tmp_path / f"{NAMED}.txt").write_text("0\n" * 256)
    where, text = FILES[way]
    text = text.replace("{file}", str(tmp_path / NAMED) if absolute else NAMED)
    opened: list[str] = []
    before = input_files._regular_file
    monkeypatch.setattr(input_files, "_regular_file", lambda path: opened.append(str(path)) or before(path))
    monkeypatch.setattr(builtins, "open", lambda file, *_: pytest.fail(f"{file} is opened"))
    read: Any = machine_of_text if where == "machine" else workload_of_text
    with pytest.raises(sc.InputError) as caught:
        read(text, where)
    (row,) = error_rows(caught.value)
    assert row["where"] == where
    assert row["line"] is not None
    assert opened == []


def test_a_shipped_machine_may_be_extended_whatever_stands_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mesh-256.yaml").write_text("simcodesign: 1\nname: other\n")
    machine = machine_of_text("simcodesign: 1\nname: mine\nextends: mesh-256\nnetwork: {startup: 1 us}\n", "machine")
    assert (machine.name, machine.nodes, machine.network.message_model.startup_s) == ("mine", 256, 1e-6)


def test_files_can_be_opened_again_afterwards(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("simcodesign: 1\nname: mine\nextends: base\n")
    (tmp_path / "base.yaml").write_text(MACHINE)
    with input_files.without_files():
        with pytest.raises(sc.InputError, match="names no file"):
            sc.Machine.load(tmp_path / "m.yaml")
        assert sc.Machine.load("mesh-256").nodes == 256
    assert sc.Machine.load(tmp_path / "m.yaml").nodes == 256


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        {"machine": MACHINE},
        asked(machine="x" * 70_000),
        asked(other=1),
        asked(axis="m"),
        asked(axis="m", values=[float("nan")]),
        asked(axis="m", values=[10**400]),
        asked(axis="m", values=[1.0] * 401),
        asked(axis=["m"], values=[1.0]),
        asked(axis="none", values=[1.0]),
        asked(parameters={"P": 1e9}),
        asked(parameters={"P": [4]}),
        asked(parameters={"P": "/etc/passwd"}),
        asked(parameters={"__class__": 1}),
        asked(effects="teleport"),
        asked(effects=[1]),
        asked(seeds=10_000),
        asked(seeds=True),
        asked(machine="", workload="{}"),
        asked(machine="a: &a [*a]", workload="!!python/object:os.system x"),
    ],
)
def test_bad_requests_get_words(content: object, client: Client) -> None:
    for path in ("forecast", "simulate"):
        reply = client.post(f"/{TOKEN}/{path}", content)
        rows = reply.json["errors"] if reply.status == 422 else [one for _, one in reply.events if "errors" in one]
        assert rows, (path, reply.body)
        assert b"Traceback" not in reply.body
        assert b"cannot be computed" not in reply.body  # it is an error of ours, not one of Python


@settings(deadline=None)
@given(st.data())
def test_damaged_texts_give_words_or_an_answer(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([MACHINE, WORKLOAD]))
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(begin + 30, len(text))))
    damaged = text[:begin] + data.draw(st.text(st.characters(codec="utf-8"), max_size=8)) + text[end:]
    key = "machine" if text == MACHINE else "workload"
    try:
        Asked.of(asked(**{key: damaged})).scenario().bind()
    except sc.SimcodesignError as error:
        (row,) = error_rows(error)
        assert row["message"]


def test_a_simulation_that_is_too_large_is_refused(client: Client) -> None:
    workload = WORKLOAD.replace("repeat: 1 - order", "repeat: 1e6")
    (name, failed), (last, _) = client.post(f"/{TOKEN}/simulate", asked(workload=workload)).events
    assert (name, last) == ("failed", "done")
    assert "operations" in failed["errors"][0]["message"]


def test_a_point_that_takes_too_long_is_stopped(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work.Workers.points, "__defaults__", (0.2,))
    slow = WORKLOAD.replace("repeat: 1 - order", "repeat: 15000")
    (name, failed), _ = client.post(f"/{TOKEN}/simulate", asked(workload=slow)).events
    assert name == "failed"
    assert "takes longer" in failed["errors"][0]["message"]


def test_pages(client: Client) -> None:
    page = client.get(f"/{TOKEN}/")
    assert page.status == 200
    assert "connect-src 'self'" in page.headers["content-security-policy"]
    for name in available():
        assert f'href="lesson/{name}"'.encode() in page.body
    assert client.get(f"/{TOKEN}/shipped/machine/mesh-256").body.decode() == MACHINE
    for path in (
        "shipped/machine/none",
        "shipped/other/mesh-256",
        "shipped/machine/..%2f..%2fREADME",
        "lesson/none",
        "x",
    ):
        assert client.get(f"/{TOKEN}/{path}").status == 404
    assert asked_module.TEXT_CHARACTERS * 2 < 512 * 1024
    assert os.environ.get(input_files.CONFINED) is None


@pytest.mark.parametrize("name", [one for one in available() if one != "own-program"])
def test_every_run_of_a_lesson_begins_the_panel_with_its_own_forecast(name: str, client: Client) -> None:
    """At the last stops of all its sliders; larger runs than are taken here are cut."""
    lesson = read_lesson(lesson_folder(name))
    for run in lesson.runs.values():
        at = {slider.name: len(slider.stops) - 1 for slider in run.sliders}
        query = "&".join(f"{slider}={stop}" for slider, stop in at.items())
        start = client.get(f"/{TOKEN}/lesson/{name}/start/{run.name}", query=query).json
        scenario = scenario_at(run, at)
        if scenario.bind().ranks > asked_module.MOST_RANKS:
            assert start["parameters"]["P"] == asked_module.MOST_RANKS
            continue
        axis = start.pop("axis")
        known = client.post(f"/{TOKEN}/describe", start).json
        assert known["forecast_s"] == pytest.approx(forecast(scenario).headline_s, rel=1e-9)
        assert {axis, *start["parameters"]} <= {one["name"] for one in known["parameters"]}


def test_runs_that_no_panel_can_begin_with(client: Client) -> None:
    """Recordings are no texts; the page of such a lesson begins with what the page without a lesson has."""
    lesson = read_lesson(lesson_folder("own-program"))
    assert starts(lesson) == {"": free_start()}
    for path, query, status in (
        ("own-program/start/chain", "", 422),
        ("broadcast/start/near", "nodes=99", 422),
        ("broadcast/start/near", "nodes=-1", 422),
        ("broadcast/start/near", "nodes=%C2%B2", 422),
        ("broadcast/start/none", "", 404),
        ("none/start/near", "", 404),
    ):
        assert client.get(f"/{TOKEN}/lesson/{path}", query=query).status == status


def test_phases_of_a_program(client: Client) -> None:
    whole = client.post(f"/{TOKEN}/describe", asked(workload=shipped_text("workload", "jacobi"))).json
    assert len(whole["phases"]) > 1
    parts = [
        client.post(f"/{TOKEN}/describe", asked(workload=shipped_text("workload", "jacobi"), phases=[one])).json
        for one in whole["phases"]
    ]
    assert sum(one["forecast_s"] for one in parts) == pytest.approx(whole["forecast_s"], rel=1e-9)
