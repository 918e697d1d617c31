"""``simcodesign --help``: commands in sections; help of a command: many options under headings."""

from __future__ import annotations

import re

import click
import pytest
from click.testing import CliRunner

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import MAX_UNGROUPED
from simcodesign.cli.sections import Heading
from tests import ROOT
from tests.cli.test_one_meaning import commands

OPTIONS = {name: [one for one in command.params if isinstance(one, click.Option)] for name, command in commands()}
LONG = sorted(name for name, options in OPTIONS.items() if len(options) > MAX_UNGROUPED)
PAGE = ROOT / "docs" / "command-line.md"


def listed_under_headings(name: str) -> dict[str, list[str]]:
    """Longest name of each option in the help of a command, by the heading above it, in the order of the text."""
    listed: dict[str, list[str]] = {}
    for line in CliRunner().invoke(app, [*name.split(), "--help"]).stdout.splitlines():
        if heading := re.fullmatch(r"([A-Z].*):", line):
            listed[heading[1]] = []
        elif listed and (option := re.match(r"  (?:-\w, )?(--?[\w-]+)", line)):
            listed[next(reversed(listed))].append(option[1])
    return {heading: options for heading, options in listed.items() if options}


def test_every_command_stands_once_in_its_section() -> None:
    text = CliRunner().invoke(app, ["--help"]).stdout
    heads = re.findall(r"^([A-Z]\w+)[^\n]*:$", text, flags=re.MULTILINE)
    assert heads == ["Options", "Model", "Measure", "Design", "Teach", "Check"]
    bodies = re.split(r"^[A-Z]\w+[^\n]*:$", text, flags=re.MULTILINE)[2:]
    listed = [re.findall(r"^  ([a-z-]+)  ", body, flags=re.MULTILINE) for body in bodies]
    assert listed == [
        ["compare", "forecast", "list", "run", "schema", "serve", "show", "simulate"],
        ["calibrate", "fit", "fit-counters", "fit-formula", "locality", "requirements"],
        ["explore", "study", "sweep"],
        ["grade", "lab", "lesson"],
        ["demo", "score", "validate"],
    ]


def test_commands_with_many_options_are_these() -> None:
    assert {"compare", "simulate", "sweep", "explore", "fit", "forecast", "locality"} <= set(LONG)


@pytest.mark.parametrize("name", LONG)
def test_many_options_are_listed_under_headings(name: str) -> None:
    listed = listed_under_headings(name)
    declared = [heading.value for heading in Heading]
    assert list(listed) == [heading for heading in declared if heading in listed]
    assert listed.pop(Heading.OTHER.value) == ["--help"]
    expected = sorted(max((word for word in one.opts), key=len) for one in OPTIONS[name])
    assert sorted(option for options in listed.values() for option in options) == expected
    assert len(listed) >= 2


@pytest.mark.parametrize(
    ("name", "option", "heading"),
    [
        ("compare", "--ranks", "Machine and workload"),
        ("compare", "--why", "What is shown"),
        ("simulate", "--engine", "Effects and engine"),
        ("simulate", "--warm-up", "Replications and intervals"),
        ("sweep", "--measured", "Measurements and formulas"),
        ("explore", "--write", "Output"),
    ],
)
def test_an_option_is_found_under_its_heading(name: str, option: str, heading: str) -> None:
    assert option in listed_under_headings(name)[heading]


@pytest.mark.parametrize("name", ["serve", "show", "study"])
def test_few_options_need_no_headings(name: str) -> None:
    assert list(listed_under_headings(name)) == ["Options"]


def test_the_page_explains_every_heading() -> None:
    explained = re.findall(r"^\| \*(.+?)\* \|", PAGE.read_text(), flags=re.MULTILINE)
    assert explained == [heading.value for heading in Heading if heading is not Heading.OTHER]
