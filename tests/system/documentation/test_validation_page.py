"""The tables and the examples of docs/validation.md: kinds, groups and verdicts are those of the program, and the example runs."""

from __future__ import annotations

import re
import shlex
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from click.testing import CliRunner

from simcodesign.cli import app
from simcodesign.studies.validation.registry import PACKAGE, load_cases
from simcodesign.studies.validation.verdict import Verdict
from tests import ROOT

TEXT = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
#: Commands with one of these words take a second or more.
LONG = ("--quick",)


def table(header: str) -> list[list[str]]:
    """Cells of the rows of the table with that header."""
    lines = TEXT.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(header)) + 2
    last = next(number for number in range(first, len(lines)) if not lines[number].startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[first:last]]


def test_kinds_and_their_groups_are_those_of_the_folders() -> None:
    load_cases()  # after which their modules are loaded
    groups = defaultdict[str, set[str]](set)
    for name, module in [*sys.modules.items()]:
        if name.startswith(f"{PACKAGE}."):
            for case in getattr(module, "CASES", ()):
                groups[name.removeprefix(f"{PACKAGE}.").partition(".")[0]].add(case.group)
    assert {row[0]: {*re.findall(r"`([a-z-]+)`", row[1])} for row in table("| kind |")} == groups


def test_verdicts_are_all_there_are() -> None:
    assert [row[0] for row in table("| verdict |")] == [str(verdict) for verdict in reversed(Verdict)]


def test_links_lead_to_pages_and_their_headings() -> None:
    for target, anchor in re.findall(r"\]\(([\w-]+\.md)(?:#([\w-]+))?\)", TEXT):
        headings = re.findall(r"^#+ (.+)$", (ROOT / "docs" / target).read_text(encoding="utf-8"), re.MULTILINE)
        assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}, (target, anchor)


def commands() -> list[ParameterSet]:
    every = re.findall(r"^\$ simcodesign (.+)$", TEXT, re.MULTILINE)
    return [pytest.param(one, marks=pytest.mark.thorough if any(word in one for word in LONG) else ()) for one in every]


@pytest.mark.parametrize("command", commands())
def test_commands(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, text = EXAMPLE
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 0, result.output
    if "--cases" in command:
        assert "mine/one-message" in result.output.replace("\n", "")
        assert "own consistency check: 1" in " ".join(result.output.split())
    if "--write" in command:
        assert Path("report.html").stat().st_size > 1000
