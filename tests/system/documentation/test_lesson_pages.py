"""The commands of the pages on lessons, grading and the laboratory run as they stand there, or say why they do not."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simcodesign.cli import app
from simcodesign.lessons import checking, page
from simcodesign.lessons.compute import Numbers, compute
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.grading import marks
from simcodesign.lessons.lattice import Lattice, formula_times
from tests import ROOT
from tests.lessons.test_grading import numbers_without_simulating

PAGES = ("lessons", "grading", "lab")
#: Commands that no test of this file runs, each with its reason.
NOT_RUN = {
    "simcodesign lab": "serves until Ctrl-C; tests/lab/test_command.py starts and ends it",
    "simcodesign grade FILE": "says what FILE stands for",
}
#: Indented, and in pairs of backticks.
COMMANDS = re.compile(r"^    (simcodesign .*?)(?:  +#.*)?$|`(simcodesign [^`]*? [^`]*?)`", re.MULTILINE)


def commands() -> list[tuple[str, str]]:
    """Pages and their commands, in their order, each once."""
    found: dict[tuple[str, str], None] = {}
    for name in PAGES:
        for indented, quoted in COMMANDS.findall((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")):
            found[name, indented or quoted] = None
    return list(found)


def is_run(command: str) -> bool:
    return not any(command.startswith(one) for one in NOT_RUN)


def test_what_is_not_run_stands_on_a_page() -> None:
    assert all(any(command.startswith(one) for _, command in commands()) for one in NOT_RUN)
    assert len([command for _, command in commands() if is_run(command)]) >= 12


@pytest.mark.thorough
def test_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one folder, in their order. The exam gets made-up simulations: its own are tested elsewhere; here count names,
    options, files and what of a lesson they refer to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for module in (checking, page, marks):
        monkeypatch.setattr(module, "numbers_of", numbers_of)
    (tmp_path / "answers").mkdir()
    answers = {"simcodesign": 1, "lesson": "exam", "content": "", "code": "s017", "answers": {"near": {"value": 2}}}
    (tmp_path / "answers" / "answers-s017.json").write_text(json.dumps(answers), encoding="utf-8")
    text = (ROOT / "docs" / "grading.md").read_text(encoding="utf-8")
    (tmp_path / "changes.yaml").write_text(re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0])
    for _, command in filter(lambda one: is_run(one[1]), commands()):
        arguments = shlex.split(command.replace("answers/*.json", "answers/answers-s017.json"))[1:]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{command}\n{result.output}"
    for written in (
        "broadcast.html",
        "rundsenden.html",
        "practice.html",
        "exam.html",
        "mine.html",
        "marks.csv",
        "run.html",
    ):
        assert (tmp_path / written).stat().st_size > 100
    assert "s017" in (tmp_path / "marks-answers.csv").read_text(encoding="utf-8")


KNOWN: dict[str, Numbers] = {}


def numbers_of(lesson: Lesson, workers: int, *others: Any, **options: Any) -> Numbers:
    """Fresh runs, each lesson's once; of the exam forecasts, and what is somewhat more."""
    if lesson.name not in KNOWN:
        is_exam = lesson.name == "exam"
        KNOWN[lesson.name] = (
            numbers_without_simulating(lesson, Lattice, formula_times) if is_exam else compute(lesson, 1)
        )
    return KNOWN[lesson.name]
