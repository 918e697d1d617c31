"""Lessons and studies that others have written: they run no code, write nowhere else, and trust no damaged file."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from simcodesign.cli import app
from simcodesign.lessons import compute
from simcodesign.lessons.folders import new_lesson

PROGRAM = """import simcodesign as sc
from pathlib import Path

Path(__file__).with_name("executed").touch()


@sc.program
def mine(rank, size, *, m=1.0):
    yield sc.rank.compute(flops=m)
"""
STUDY = "simcodesign: 1\nworkload: mine.py\nmachine: crossbar-16\nvary: {m: 1:10}\nminimize: time\n"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def shown(result: Result) -> str:
    """Return what a command that fails prints, in one line."""
    assert result.exit_code == 2
    return " ".join(result.output.split())


@pytest.fixture
def lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "folder" / "own"
    folder.parent.mkdir()
    new_lesson(folder)
    return folder


def change(lesson: Path, before: str, after: str) -> None:
    text = (lesson / "lesson.yaml").read_text()
    assert before in text
    (lesson / "lesson.yaml").write_text(text.replace(before, after, 1))


@pytest.mark.parametrize("name", ["mine.py", "mine.py:mine", "mine.py with m=2"])
def test_a_lesson_executes_no_program(lesson: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change(lesson, "workload: broadcast", f"workload: {name}")
    (lesson / "mine.py").write_text(PROGRAM)
    monkeypatch.chdir(lesson)
    for command in (["check", lesson], ["build", lesson, "--write", "page.html"]):
        result = run("lesson", *command, "-j", "1")
        assert result.exit_code != 0
        assert "a description names a program in Python" in shown(result)
    assert not (lesson / "executed").exists()


@pytest.mark.thorough
def test_a_study_executes_a_program_only_if_the_command_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program lies beside the study, not in the current folder."""
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "mine.py").write_text(PROGRAM)
    (tmp_path / "study" / "study.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    arguments = ("explore", "--file", "study/study.yaml")
    assert "a description names a program" in shown(run(*arguments))
    assert "--confine forbids" in shown(run("--programs", "--confine", "study", *arguments))
    assert not (tmp_path / "study" / "executed").exists()
    result = run("--programs", *arguments)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "study" / "executed").exists()
    assert "a description names a program" in shown(run(*arguments))  # the option holds for one command


def test_cases_are_not_executed_if_confined(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "mine.py").write_text("open(__file__ + '.executed', 'w').close()\nCASES = []\n")
    for more in ([], ["--list"]):
        result = run("--confine", tmp_path, "validate", "--cases", tmp_path / "cases", *more)
        assert "--confine forbids" in shown(result)
    assert [path.name for path in (tmp_path / "cases").iterdir()] == ["mine.py"]


def test_a_name_writes_nothing_outside_the_cache(lesson: Path, tmp_path: Path) -> None:
    change(lesson, "name: own", "name: ../../../outside/x")
    before = {*tmp_path.rglob("*")}
    assert run("lesson", "check", lesson, "-j", "1").exit_code == 0
    (made,) = [path for path in {*tmp_path.rglob("*")} - before if path.is_file()]
    assert made.parent == tmp_path / "cache" / "simcodesign" / "lessons"
    assert made.name.startswith("outside-x-")


@pytest.mark.thorough
def test_damaged_numbers_are_computed_again(lesson: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("lesson", "check", lesson, "-j", "1").exit_code == 0
    (kept,) = (tmp_path / "cache").rglob("*.txt")
    good = kept.read_bytes()
    computed = []
    genuine = compute.compute
    monkeypatch.setattr(compute, "compute", lambda *given: computed.append(1) or genuine(*given))
    middle = len(good) // 2
    flipped = good[:middle] + (b"A" if good[middle : middle + 1] != b"A" else b"B") + good[middle + 1 :]
    for damaged in (b"\xff" * 50, good[:-40], flipped):
        kept.write_bytes(damaged)
        assert run("lesson", "check", lesson, "-j", "1").exit_code == 0
        assert kept.read_bytes() == good
    assert len(computed) == 3


def test_a_cache_that_cannot_be_written_is_a_note(lesson: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        result = run("lesson", "build", lesson, "--write", tmp_path / "page.html", "-j", "1")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "page.html").stat().st_size > 1000
    assert "are not kept for the next build" in str(noted[0].message)


def test_a_text_of_brackets_is_refused_at_once(lesson: Path) -> None:
    (lesson / "predict.md").write_text("[" * 100_000)
    assert "too many '[' in one text, got 100000 (allowed: up to 1000)" in shown(
        run("lesson", "check", lesson, "-j", "1")
    )
