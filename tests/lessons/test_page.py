"""The numbers in a page are those of fresh runs of both readings, at every stop, and its texts name them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from simcodesign.lessons.checking import check_lesson
from simcodesign.lessons.packing import block_in, pack, unpack
from simcodesign.lessons.page import build_lesson
from tests.lessons.small import ONE, TEXT, small_lesson

NODES, SHAPES = (2, 8), ([1, 2], [2, 4])
SIZES, STARTUPS = (1024.0, 65536.0, 1048576.0), (1e-6, 20e-6)


@pytest.fixture(scope="module", autouse=True)
def _numbers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The numbers of the small lesson are kept for all tests of this file: what is changed of it changes no run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("lesson")
    build_lesson(small_lesson(folder / "small"), folder / "page.html", 1)
    first = (folder / "page.html").read_text(encoding="utf-8")
    build_lesson(folder / "small", folder / "page.html", 1)
    assert (folder / "page.html").read_text(encoding="utf-8") == first  # from what was kept, the same page
    return first


def machine(place: int) -> object:
    changes = {"nodes": NODES[place], "network.topology.shape": SHAPES[place]}
    return load_machine("mesh-256", {**changes, "network.distance": "none", "noise": {"network": "3 %"}})


def test_every_forecast_is_a_fresh_one(page: str) -> None:
    _, arrays = unpack(block_in(page))
    found = arrays["near/formula"]
    assert found.shape == (2, 3, 2)
    for place, size, startup in product(range(2), range(3), range(2)):
        values = {"P": NODES[place], "order": "near", "m": SIZES[size], "network.startup": STARTUPS[startup]}
        fresh = float(forecast("broadcast", machine(place), values).headline_s)
        assert found[place, size, startup] == np.float32(fresh)


def test_every_simulation_is_a_fresh_one_with_its_interval(page: str) -> None:
    _, arrays = unpack(block_in(page))
    found = arrays["near/simulated"]
    assert found.shape == (2, 2, 1, 4, 3)
    ladder = ((), ("hops",), ("hops", "links"), ("hops", "links", "noise"))
    for (place, size), effects in product(product(range(2), range(2)), ladder):
        values = {"P": NODES[place], "order": "near", "m": SIZES[2 * size], "network.startup": 20e-6}
        runs = range(3) if "noise" in effects else range(1)
        fresh = [
            float(simulate("broadcast", machine(place), values, effects=effects, seed=seed).headline_s) for seed in runs
        ]
        mean, low, high = found[place, size, 0, ladder.index(effects)].tolist()
        assert mean == pytest.approx(np.mean(fresh), rel=1e-6)
        # Student's t of 2 degrees of freedom at 97.5 %: 4.302653
        half = 4.302653 * np.std(fresh, ddof=1) / np.sqrt(3) if len(fresh) == 3 else 0.0
        assert [low, high] == pytest.approx([mean - half, mean + half], rel=2e-6)


def test_messages_of_a_trace_wait_and_are_served_one_after_another(page: str) -> None:
    header, arrays = unpack(block_in(page))
    (trace,) = header["runs"]["near"]["traces"]
    start = f"{trace['arrays']}2/"
    visits, way = arrays[start + "visits"].astype(float), arrays[start + "way"]
    assert np.all(visits[:, 0] <= visits[:, 1])
    for link in set(way.tolist()):
        mine = visits[way == link]
        mine = mine[np.argsort(mine[:, 1])]
        assert np.all(mine[1:, 1] >= mine[:-1, 2] * (1 - 1e-6))  # granted after the one before has been served
    path = arrays[start + "path_times"].astype(float)
    end = arrays[start + "op_times"][:, 2].max()
    assert path[0, 0] == 0
    assert path[-1, 1] == pytest.approx(end)
    assert path[1:, 0] == pytest.approx(path[:-1, 1])


def test_texts_and_answers_hold_the_values(page: str) -> None:
    header, _ = unpack(block_in(page))
    values = {"P": 8, "order": "near", "m": 1048576.0, "network.startup": 20e-6}
    formula_s = float(forecast("broadcast", machine(1), values).headline_s)
    number, choice = header["steps"][0]["questions"]
    assert number["answer"] == pytest.approx(formula_s * 1e3)
    assert number["mistakes"][0]["answer"] == pytest.approx(formula_s * 500)
    assert [one["right"] for one in choice["choices"]] == [False, True]
    assert f"{formula_s * 1e3:.3g}\N{NO-BREAK SPACE}ms" in page
    assert 'class="role-formula"' in page
    assert f'data-clock="{formula_s / 2!r}"' in page
    assert '<div class="task">' in page


def test_the_page_asks_for_nothing(page: str) -> None:
    head = page.split('id="lesson-data"')[0]
    for word in ("http://", "https://", "<link", "<img", "@import"):
        assert word not in head
    assert "default-src 'none'" in head
    assert "<script src" not in page


@pytest.mark.parametrize(
    ("change", "line", "word"),
    [
        (("start: 8", "start: 9"), 10, "not a stop"),
        (("workload: broadcast", "workload: brodcast"), 14, "no such workload"),
        (("effects: [hops, links, noise]", "effects: [links, hops]"), 20, "not in the order"),
        (("simulate: {size: [1 KiB, 1 MiB]", "simulate: {size: [2 KiB]"), 21, "not a stop"),
        (("reading: change, effect: links", "reading: chance"), 27, "not one of the choices"),
        (("answer: formula,", "answer: forumla,"), 41, "no such value"),
        (("mistakes: [{answer: half", "mistakes: [{answer: formula"), 41, "right within"),
        (("text: one.md", "text: two.md"), 35, "no such file"),
        (("kind: gantt", "kind: gant"), 39, "not one of the choices"),
        (("half: formula/2", "half: half/2"), 30, "by each other"),
        (("over: nodes,", ""), 37, "'over' is missing"),
        (("kind: gantt, run: near", "kind: sliders, show: [sise]"), 39, "did you mean 'size'"),
        (("title: A small lesson\n", "title: A small lesson\ntitel: B\n"), 4, "unknown key"),
    ],
)
def test_errors_name_the_line(change: tuple[str, str], line: int, word: str, tmp_path: Path) -> None:
    folder = small_lesson(tmp_path / "small", change)
    with pytest.raises(InputError, match=word) as caught:
        build_lesson(folder, tmp_path / "page.html", 1)
    assert caught.value.place is not None
    assert Path(caught.value.place.file).name == "lesson.yaml"
    assert abs((caught.value.place.line or 0) - line) <= 1, TEXT.splitlines()[(caught.value.place.line or 1) - 1]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n\n{{nothing}}", 3),
        ("[x](clock:nothing)", 1),
        ("a\n\n[x](role:blue)", 3),
        ("{{formula : parsec}}", 1),
        ("[x](javascript:alert)", 1),
        ("a\nb\n[x](clock:away)", 3),
        ("a\n\n- b\n- c\n  [x](clock:2*away)", 5),
        ("| a |\n|---|\n| [x](clock:away) |", 3),
        ("a\n[x](clock:formula - away)", 2),
        ("[x](clock:half@far)", 1),
        ("[x](clock:3*formula)", 1),
        ("[x](clock:0-half)", 1),
    ],
)
def test_errors_in_texts_name_the_line(text: str, line: int, tmp_path: Path) -> None:
    # away: where there is no trace
    away = ("  half: formula/2\n", "  half: formula/2\n  away: {run: near, reading: formula, at: {nodes: 2}}\n")
    folder = small_lesson(tmp_path / "small", away, text)
    with pytest.raises(InputError) as caught:
        check_lesson(folder, 1)
    assert caught.value.place is not None
    assert (Path(caught.value.place.file).name, caught.value.place.line) == ("one.md", line)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (
            (
                "      - - {kind: network, run: near}\n        - {kind: gantt, run: near}\n      - {kind: clock, run: near}\n",
                "",
            ),
            "where nothing moves",
        ),
        (("      - {nodes: 8}\n", "      - {nodes: 2}\n"), "which no figure of this step shows"),
    ],
)
def test_a_button_beside_no_trace_of_its_moment_is_found(change: tuple[str, str], word: str, tmp_path: Path) -> None:
    early = ("  early: {run: near, reading: arrived, effect: links, by: half}\n", "")
    folder = small_lesson(tmp_path / "small", change)
    text = (folder / "lesson.yaml").read_text(encoding="utf-8").replace(*early)
    (folder / "lesson.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=word):
        check_lesson(folder, 1)


def test_a_button_goes_to_its_moment_and_the_stops_of_its_run(page: str) -> None:
    """Half of the formula on 8 nodes: three rounds, each of a startup and 1 MiB at 100 MB/s."""
    found = re.search(r'data-clock="(.*?)" data-stops="(.*?)"', page)
    assert found
    assert float(found[1]) == pytest.approx(1.5 * (20e-6 + 2**20 / 100e6))
    assert json.loads(unescape(found[2])) == {"nodes": 1, "size": 2, "startup": 1}


def test_a_moment_may_be_computed_of_another_run(tmp_path: Path) -> None:
    away = ("  half: formula/2\n", "  half: formula/2\n  away: {run: near, reading: formula, at: {nodes: 2}}\n")
    for moment in ("away@near", "0.001", "formula-away"):
        folder = small_lesson(tmp_path / "small", away, f"[x](clock:{moment})\n")
        build_lesson(folder, tmp_path / "page.html", 1)
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "&quot;nodes&quot;:1" in text.split("data-stops")[1][:60]


def test_html_in_texts_is_text(tmp_path: Path) -> None:
    folder = small_lesson(tmp_path / "small", ("", ""), ONE + "\n<script>alert(1)</script>\n")
    build_lesson(folder, tmp_path / "page.html", 1)
    assert "<script>alert(1)" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_packing_goes_there_and_back() -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3) / 7, "b": np.array([[1, -2]]), "c": np.zeros((0, 3))}
    header, found = unpack(pack({"name": "é"}, arrays))
    assert header == {"name": "é"}
    assert found["a"].tolist() == arrays["a"].astype(np.float32).tolist()
    assert found["b"].tolist() == [[1, -2]]
    assert found["c"].shape == (0, 3)
