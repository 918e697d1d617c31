"""The page of a run is made of the file that ``simulate`` writes, and shows that run; other files get words."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign import cli
from simcodesign.core.errors import InputError
from simcodesign.lessons.packing import block_in, pack, unpack
from simcodesign.lessons.page import POLICY
from simcodesign.report.timelines.page import COLUMNS, timeline_page
from tests.builders import machine, network, workload

LINKS = ["--effects", "links", "--seed", "3", "--set", "m=1e6", "--set", "order=near"]
VALUES = {"P": 64, "m": 1e6, "order": "near"}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run.json"
    assert cli.main(["simulate", "broadcast", "mesh-256", "-P", "64", *LINKS, "--timeline", str(path)]) == 0
    return path


def test_the_page_shows_the_run(file: Path, tmp_path: Path) -> None:
    assert cli.main(["timeline", str(file), "-o", str(tmp_path / "page.html")]) == 0
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert POLICY in html
    assert len(html) < 5e6
    header, arrays = unpack(block_in(html))
    run = sc.simulate("broadcast", "mesh-256", VALUES, effects="links", seed=3, timeline=True, engine="simpy")
    timeline = run.timeline
    assert timeline is not None
    times = arrays["run/0/0/op_times"]
    expected = np.stack([timeline.ready_s, timeline.start_s, timeline.finish_s], axis=1)
    np.testing.assert_allclose(times, expected, rtol=1e-6)
    np.testing.assert_array_equal(arrays["run/0/0/ops"][:, :2], np.stack([timeline.rank, timeline.kind], axis=1))
    services = timeline.services
    assert services is not None
    waits = (services.begin_s > services.asked_s)[
        np.array([kind == "link" for kind in services.kinds])[services.station]
    ]
    visits = arrays["run/0/0/visits"]
    assert np.count_nonzero(visits[:, 1] > visits[:, 0]) == np.count_nonzero(waits) > 0
    path = arrays["run/0/0/path_times"].astype(float)
    assert path[0, 0] == 0
    assert path[-1, 1] == pytest.approx(run.makespan_s, rel=1e-6)
    np.testing.assert_allclose(path[1:, 0], path[:-1, 1])  # without gaps
    assert header["title"] == "broadcast on mesh-256"
    assert arrays["run/formula"][0] == np.float32(sc.forecast("broadcast", "mesh-256", VALUES).makespan_s)


def test_a_compressed_file_gives_the_same_page(file: Path, tmp_path: Path) -> None:
    packed = tmp_path / "run.json.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert timeline_page(packed) == timeline_page(file)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"network.sharing": "fair"}, "queue for links"),
        ({"background": {"load": 0.5, "nodes": "all"}}, "change the run"),
    ],
)
def test_runs_without_a_page_say_why(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    settings_ = [
        f"--set={key}={json.dumps(value) if isinstance(value, dict) else value}" for key, value in changes.items()
    ]
    path = tmp_path / "run.json"
    assert (
        cli.main(
            ["simulate", "broadcast", "mesh-256", "-P", "16", "--set", "m=1e4", *settings_, "--timeline", str(path)]
        )
        == 0
    )
    with pytest.raises(InputError, match=words):
        timeline_page(path)


def test_names_in_a_file_are_text(file: Path, tmp_path: Path) -> None:
    content = json.loads(file.read_text())
    bad = "</title><script>alert(1)</script>{{x}}"
    content["otherData"] |= {"workload": bad, "machine": bad, "values": {bad: 1}, "effects": [bad], "seed": bad}
    (tmp_path / "bad.json").write_text(json.dumps(content))
    html = timeline_page(tmp_path / "bad.json")
    before_data = html.split('<script type="text/plain"')[0]
    assert "<script" not in before_data
    assert re.search(r"&lt;script&gt;alert", before_data)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"otherData": 1}',
        '{"otherData": {"page": 1}}',
        '{"otherData": {"page": {"block": "x"}}}',
        "[" * 100_000,
    ],
)
def test_other_files_get_words(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run\.json"):
        timeline_page(tmp_path / "run.json")


@settings(deadline=None)
@given(st.data())
def test_damaged_blocks_get_words(file: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    content = json.loads(file.read_text())
    header, arrays = unpack(content["otherData"]["page"]["block"])
    name = data.draw(st.sampled_from(sorted(COLUMNS)))
    change = data.draw(st.sampled_from(["drop", "flat", "wider"]))
    if change == "drop":
        del arrays[name]
    else:
        arrays[name] = arrays[name].reshape(-1, 1, 1) if change == "flat" else np.zeros((2, 7), np.float32)
    content["otherData"]["page"]["block"] = pack(header, arrays)
    path = tmp_path_factory.mktemp("damaged") / "run.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="damaged"):
        timeline_page(path)


def test_a_file_of_the_package_alone_has_no_page(tmp_path: Path) -> None:
    """What is written without its experiment is a Chrome trace as before."""
    from simcodesign.report.timelines.write import write_timeline

    made = sc.simulate(
        workload("- compute: {flops: 1e6}"), machine(network(2)), {"P": 2}, timeline=True, engine="simpy"
    )
    write_timeline(made, tmp_path / "run.json")
    assert "page" not in json.loads((tmp_path / "run.json").read_text())["otherData"]
