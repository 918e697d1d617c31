"""``simcodesign study``: questions of a folder, answered on one page, resumed, and answered again when files change."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import simcodesign as sc
from simcodesign import cli
from simcodesign.cli.run import study as study_run
from simcodesign.studies.folder.study_file import TEMPLATE
from simcodesign.studies.sweep.store import Store
from tests import ROOT

simulate_module = import_module("simcodesign.engine.simulate")
TWO = """simcodesign: 1
name: two
machines: {mine: mine.yaml, other: torus-cluster}
workloads: {work: jacobi}
questions:
  first: {simulate: work mine, P: 8, effects: links}
  second: {simulate: work other, P: 8, effects: links}
"""
INTERRUPTED = 130
MINE = "simcodesign: 1\nname: mine\nextends: base.yaml\n"
BASE = "simcodesign: 1\nextends: torus-cluster\nnetwork: {startup: 3 us}\n"


def written(folder: Path, **files: str) -> Path:
    """A folder with ``study.yaml`` and other YAML files."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def run(*arguments: object) -> int:
    return cli.main([str(one) for one in arguments])


def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that are answered anew, as they are."""
    names: list[str] = []
    answer = study_run._new_answer

    def noted(asked: study_run._Asked, jobs: int | None) -> study_run.Answer:
        names.append(asked.question.name)
        return answer(asked, jobs)

    monkeypatch.setattr(study_run, "_new_answer", noted)
    return names


def test_the_shipped_study_answers_as_the_commands_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mine"
    assert run("study", "--new", folder) == 0
    assert run("study", folder, "--jobs", 1) == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert re.findall("<h1>(.*)</h1>", page) == ["mine"]
    assert page.count('<img src="data:image/svg') == 2
    assert not re.findall(r'(?:src|href)="(?!data:|#|answers/)', page)  # nothing from elsewhere
    for name in re.findall('href="(answers/[^"]*)"', page):
        assert (folder / name).is_file()
    table = pd.read_csv(folder / "answers" / "how-far-does-it-scale.csv")
    for ranks, simulated_s, forecast_s in zip(
        table["P"], table["simulated_makespan_s"], table["forecast_makespan_s"], strict=True
    ):
        assert simulated_s == sc.simulate("transpose", "torus-cluster", {"P": ranks}).makespan_s
        assert forecast_s == pytest.approx(
            sc.forecast("transpose", "torus-cluster", {"P": ranks}).makespan_s, rel=1e-12
        )
    fewest = next(p for p in range(1, 65) if sc.forecast("transpose", "torus-cluster", {"P": p}).headline_s <= 0.02)
    best = pd.read_csv(folder / "answers" / "the-fewest-processes-within-20-ms.csv")
    assert best.loc[best["variable"] == "P", "value"].astype(float).tolist() == [fewest]
    capsys.readouterr()
    command = re.findall("<code>simcodesign (simulate .*)</code>", page)[0]
    assert run(*command.split()) == 0
    printed = capsys.readouterr().out
    for number in re.findall(r"\d+\.\d+", printed):
        assert number in page  # everything that the command prints


def test_what_has_changed_is_answered_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, names = written(tmp_path / "two", study=TWO, mine=MINE, base=BASE), asked(monkeypatch)
    for expected in (["first", "second"], []):
        assert run("study", folder) == 0
        assert names == expected
        names.clear()
    written(folder, base=BASE.replace("3 us", "300 us"))  # which mine.yaml extends
    assert run("study", folder) == 0
    assert names == ["first"]
    names.clear()
    written(folder, study=TWO.replace("work other, P: 8", "work other, P: 16"))
    assert run("study", folder) == 0
    assert names == ["second"]
    names.clear()
    (folder / "answers" / "second.json").write_text("{", encoding="utf-8")
    (folder / "answers" / "first.csv").unlink()
    assert run("study", folder) == 0
    assert names == ["first", "second"]


def test_a_study_that_is_stopped_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, names = written(tmp_path / "two", study=TWO, mine=MINE, base=BASE), asked(monkeypatch)
    simulate, done = simulate_module.simulate, []

    def interrupted(*arguments: Any, **keywords: Any) -> object:
        if done:
            raise KeyboardInterrupt
        done.append(simulate(*arguments, **keywords))
        return done[0]

    monkeypatch.setattr(simulate_module, "simulate", interrupted)
    assert run("study", folder) == INTERRUPTED
    assert f"continue with: simcodesign study {folder}" in capsys.readouterr().err
    assert 'second</a> <span class="soft">(not answered yet)' in (folder / "page.html").read_text(encoding="utf-8")
    monkeypatch.setattr(simulate_module, "simulate", simulate)
    assert run("study", folder) == 0
    assert names == ["first", "second", "second"]
    assert "not answered yet" not in (folder / "page.html").read_text(encoding="utf-8")


def stored_points(folder: Path) -> int:
    """The points in the only store of sweeps; 0 without one."""
    for path in folder.glob("sweeps/*.sqlite"):
        with suppress(sc.SimcodesignError), Store.open(path, write=False) as store:
            return len(store)
    return 0


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_sweep_continues_with_its_points(tmp_path: Path) -> None:
    text = """simcodesign: 1
questions:
  long: {sweep: jacobi torus-cluster, set: {sweeps: 40, P: 64}, vary: {seed: "0:79:+1"}, simulate: true}
"""
    folder = written(tmp_path / "long", study=text)
    words = [sys.executable, "-m", "simcodesign", "study", str(folder), "--jobs", "1"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (points := stored_points(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert points < 80
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, errors
    assert "continue with: simcodesign study" in errors
    assert points <= stored_points(folder) < 80
    assert not (folder / "answers" / "long.csv").exists()
    stores = list(folder.glob("sweeps/*.sqlite"))
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "note: continues with sweeps" in done.stderr  # where test_run.py counts what is evaluated
    assert len(pd.read_csv(folder / "answers" / "long.csv")) == 80
    assert list(folder.glob("sweeps/*.sqlite")) == stores


def test_a_question_that_fails_does_not_end_the_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = TWO.replace("work mine, P: 8", "work mine, P: 100000")
    folder = written(tmp_path / "two", study=text, mine=MINE, base=BASE)
    assert run("study", folder) == 1
    assert "100000" in capsys.readouterr().err
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert 'class="failed">' in page
    assert (folder / "answers" / "second.csv").is_file()
    assert not (folder / "answers" / "first.json").exists()


def test_a_verdict_that_fails_is_shown(tmp_path: Path) -> None:
    text = "simcodesign: 1\nquestions:\n  gap: {compare: burst mesh-256, P: 16, tolerance: 0.1%}\n"
    folder = written(tmp_path / "gap", study=text)
    assert run("study", folder) == 1
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "exit status 1" in page
    assert "out of tolerance: error of the forecast" in page


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("{simulate: jacobi torus-cluster, sizes: 3}", "simulate has no such option"),
        ("{simulate: jacobi torus-cluster, write: a.csv}", "sets this option itself"),
        ("{sweep: jacobi torus-cluster, resume: a.sqlite}", "sets this option itself"),
        ("{set: {P: 3}}", "no command"),
        ("{simulate: jacobi torus-cluster, forecast: jacobi torus-cluster}", "several commands"),
        ("{simulate: jacobi torus-cluster, pictures: roofline}", "no such picture"),
        ("{simulate: jacobi torus-cluster with nodes=8}", "a variant has spaces"),
        ("{simulate: jacobi --help}", "an option among the names"),
        ("{simulate: jacobi torus-cluster, effects: [links, disks]}", "several values"),
        ("{compare: jacobi torus-cluster, why: maybe}", "not one of the choices"),
        ("{simulate: program.py:main torus-cluster}", "a description names a program in Python"),
    ],
)
def test_questions_that_cannot_be(
    question: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "odd", study=f"simcodesign: 1\nquestions:\n  odd: {question}\n")
    assert run("study", folder) == 2
    errors = capsys.readouterr().err
    assert words in errors
    assert re.search(r"study\.yaml:3: questions\.odd", errors)
    assert not (folder / "answers").exists()


def test_a_confined_study_names_no_file_outside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, outside="simcodesign: 1\nextends: torus-cluster\n")
    (tmp_path / "times.csv").write_text("P,value\n8,1\n", encoding="utf-8")
    for question in (
        "{simulate: jacobi ../outside.yaml, P: 8}",
        "{compare: jacobi torus-cluster, P: 8, measured: ../times.csv}",
        "{explore: [], file: ../outside.yaml}",
    ):
        folder = written(tmp_path / "in", study=f"simcodesign: 1\nquestions:\n  odd: {question}\n")
        assert run("--confine", folder, "study", folder) == 2
        assert "outside the folder of --confine" in capsys.readouterr().err


def test_two_questions_do_not_share_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = "  a b: {forecast: jacobi torus-cluster}\n  a-b: {forecast: jacobi torus-cluster}\n"
    assert run("study", written(tmp_path / "odd", study=f"simcodesign: 1\nquestions:\n{two}")) == 2
    assert "its files would overwrite the files of 'a b'" in capsys.readouterr().err


def test_texts_of_a_study_are_text_on_the_page(tmp_path: Path) -> None:
    text = """simcodesign: 1
name: "<script>alert(1)</script>"
about: "<img src=x>"
questions: {"<b>": {forecast: jacobi torus-cluster, P: 4, about: "<i>"}}
"""
    folder = written(tmp_path / "odd", study=text)
    assert run("study", folder) == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert not re.search("<script|<img src=x|<b>|<i>", page)


def test_no_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("study", tmp_path) == 2
    assert "study.yaml" in capsys.readouterr().err
    assert run("study", "--new", tmp_path) == 2
    assert "exists already" in capsys.readouterr().err


def test_the_page_of_the_documentation_shows_the_shipped_study() -> None:
    shown = re.findall(
        r"```yaml\n(simcodesign: 1\n.*?)```", (ROOT / "docs" / "studies.md").read_text(), flags=re.DOTALL
    )
    _, shipped = TEMPLATE.read_text().split("\n", 1)  # its first line is a comment
    assert shown == [shipped.replace("name: template", "name: fft-network")]


def test_jobs_side_by_side_are_a_question(tmp_path: Path) -> None:
    """Short names stand for workloads of jobs, too."""
    study = """simcodesign: 1
name: jobs
machines: {torus: torus-cluster}
workloads: {fft: transpose}
questions:
  beside: {simulate: "fft@0:16 jacobi@16:32 torus", set: {mapping: random}}
"""
    folder = written(tmp_path / "jobs", study=study)
    assert run("study", folder, "--jobs", 1) == 0
    answer = sc.simulate(["transpose@0:16", "jacobi@16:32"], sc.Machine.load("torus-cluster", {"mapping": "random"}))
    rows = pd.read_csv(folder / "answers" / "beside.csv").set_index("job")
    for job in answer.jobs:  # type: ignore[union-attr] # of several jobs
        assert rows.loc[job.label, "slowdown"] == pytest.approx(job.slowdown, rel=1e-3)
