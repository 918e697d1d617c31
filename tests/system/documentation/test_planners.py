"""The commands of docs/planners.md run, and print what stands there."""

from __future__ import annotations

import re
import shlex

import pytest
from click.testing import CliRunner

from simcodesign.cli import app
from tests import ROOT

TEXT = (ROOT / "docs" / "planners.md").read_text(encoding="utf-8")
COMMANDS = [
    part.partition("\n")[::2]
    for block in re.findall(r"^```console\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
]


@pytest.mark.parametrize(
    ("command", "output"),
    [pytest.param(*one, marks=() if "--metrics" in one[0] else pytest.mark.thorough) for one in COMMANDS],
)
def test_commands(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    rest = result.output
    for part in filter(None, (part.strip("\n") for part in re.split(r"^\.\.\.$", output, flags=re.MULTILINE))):
        assert part in rest, f"{command} does not print:\n{part}\nbut:\n{result.output}"
        rest = rest.partition(part)[2]
