"""Several jobs on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcodesign.cli.app import app

TWO = ["jacobi@0:16", "transpose@16:32", "torus-cluster"]


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*words])
    return done.exit_code, done.output


def test_the_times_of_every_job_are_printed_and_written(tmp_path: Path) -> None:
    table, gantt, events = tmp_path / "t.csv", tmp_path / "g.svg", tmp_path / "e.txt"
    files = [word for path in (f"table:{table}", f"gantt:{gantt}", events) for word in ("--write", str(path))]
    code, text = run("simulate", *TWO, "--effects", "links", *files)
    assert code == 0
    assert "jacobi@0:16" in text
    assert "transpose@16:32" in text
    assert "slowdown" in text
    assert gantt.read_text(encoding="utf-8").startswith("<?xml")
    assert "transpose@16:32/" in events.read_text(encoding="utf-8")
    assert "slowdown" in table.read_text(encoding="utf-8")


def test_json_has_the_jobs_and_the_run_of_all() -> None:
    code, text = run("simulate", *TWO, "--effects", "none", "--json")
    answer = json.loads(text)
    assert code == 0
    assert [job["slowdown"] for job in answer["jobs"]] == [1.0, 1.0]
    assert len(answer["together"]["rank_end_s"]) == 32
    code, text = run("forecast", *TWO, "--json")
    assert code == 0
    assert json.loads(text)["jobs"][0]["link_share"] == 1.0


def test_settings_are_those_of_the_workloads_that_have_them_and_of_the_machine() -> None:
    """``sweeps`` are of jacobi alone; the startup is of the machine."""
    settings = ["--set", "network.startup=1 ms"]
    slow = json.loads(run("forecast", *TWO, *settings, "--json")[1])["jobs"]
    quick = json.loads(run("forecast", *TWO, "--json")[1])["jobs"]
    assert all(one["alone_s"] > other["alone_s"] for one, other in zip(slow, quick, strict=True))
    only = json.loads(run("forecast", *TWO, "--set", "sweeps=1", "--json")[1])["jobs"]
    assert only[0]["alone_s"] < quick[0]["alone_s"]
    assert only[1]["alone_s"] == quick[1]["alone_s"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["jacobi@0:16", "jacobi", "torus-cluster"], "the ranks of this job are missing, got 'jacobi'"),
        (["jacobi", "jacobi", "torus-cluster"], "several workloads on one machine need the ranks of each"),
        (["jacobi@0:16", "jacobi@16:32"], "no machine is given"),
        (["jacobi@0:16", "torus-cluster", "-P", "4"], "-P is for one workload"),
        (["jacobi@0:16", "torus-cluster", "--why"], "--why is for one workload"),
        (["jacobi@0:16", "torus-cluster", "--replications", "3"], "--replications or --precision is for one workload"),
        (["jacobi@0:16", "torus-cluster", "--write", "a.goal"], "shows one workload"),
        (["jacobi@0:16", "jacobi@8:24", "torus-cluster"], "jobs jacobi@0:16 and jacobi@8:24 overlap"),
        (["jacobi@0:", "torus-cluster"], "the places of a job have an end"),
        (["jacobi@0:300", "torus-cluster"], "has places that torus-cluster does not have"),
    ],
)
def test_what_cannot_be_is_an_error(words: list[str], message: str) -> None:
    code, text = run("simulate", *words)
    assert code == 2
    assert message in text
