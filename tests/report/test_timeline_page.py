"""The page that ``simulate --write run.html`` writes shows that run; runs that a page cannot show get words."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign import cli
from simcodesign.engine.experiment import Experiment
from simcodesign.lessons.packing import block_in, unpack
from simcodesign.lessons.page import POLICY
from simcodesign.report.timelines.page import run_page
from tests.command_line import command

LINKS = ["--effects", "links", "--seed", "3", "--set", "m=1e6", "--set", "order=near"]
VALUES = {"P": 64, "m": 1e6, "order": "near"}


def test_the_page_shows_the_run(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert cli.main(["simulate", "broadcast", "mesh-256", "-P", "64", *LINKS, "--write", str(file)]) == 0
    html = file.read_text(encoding="utf-8")
    assert POLICY in html
    assert len(html) < 5e6
    body = html[html.index("<body") : html.index('id="lesson-data"')]
    assert not re.search("<lesson-(export|teacher|slides)|<ol>|data-text=.step", body)  # it is no lesson
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
    waits = (services.begin_s > services.requested_s)[
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


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"network.sharing": "max_min"}, "queue for links"),
        ({"background": {"load": 0.5, "nodes": "all"}}, "change the run"),
    ],
)
def test_runs_without_a_page_say_why(changes: dict[str, Any], words: str, capfd: pytest.CaptureFixture[str]) -> None:
    settings = [
        f"--set={key}={json.dumps(value) if isinstance(value, dict) else value}" for key, value in changes.items()
    ]
    run = command(capfd, "simulate", "broadcast", "mesh-256", "-P", "16", "--set", "m=1e4", *settings)
    refused = run("--write", "page:-")
    assert refused.status == 2
    assert words in refused.err


def test_names_in_a_page_are_text() -> None:
    bad = "</title><script>alert(1)</script>{{x}}"
    experiment = Experiment.of("broadcast", "mesh-256", {"P": 4}, engine="simpy")
    result = sc.simulate(experiment.scenario, engine="simpy", timeline=True)
    html = run_page(replace(result, workload=bad, machine=bad), experiment)
    before_data = html.split('<script type="text/plain"')[0]
    assert "<script" not in before_data
    assert re.search(r"&lt;script&gt;alert", before_data)
