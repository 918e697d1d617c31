"""The commands with output on pages of docs that no other test reads: each prints what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcodesign.cli import app
from tests import ROOT

PAGES = (
    *("levels", "networks", "accelerators", "interfaces", "effects", "measured", "anchored", "messages"),
    *("files-of-others", "reference/metrics", "papers", "validation"),
)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
YAML = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^```\n((?:#.*\n)*P,m,.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


def shown() -> list[tuple[str, str, str]]:
    """Page, command and output, of commands with an output."""
    found = []
    for page in PAGES:
        for block in CONSOLE.findall(text_of(page)):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                if command.startswith("simcodesign") and output.strip(".\n"):
                    found.append((page, command, output))
    return found


def write_files(page: str, folder: Path) -> None:
    """Write the descriptions of a page under their names, and its table of times as runs.csv."""
    for text in YAML.findall(text_of(page)):
        name = re.search(r"^name: (\S+)$", text, re.MULTILINE)
        if name is not None:
            (folder / f"{name[1]}.yaml").write_text(text, encoding="utf-8")
    for text in TABLE.findall(text_of(page)):
        (folder / "runs.csv").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("page", "command", "output"), shown())
def test_commands_print_what_their_page_shows(
    page: str, command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    if page == "files-of-others":
        (tmp_path / "DIR").mkdir()
        memory = "\nprogram:\n  - memory: {accesses: 1, profile: /etc/passwd}\n"
        (tmp_path / "DIR" / "workload.yaml").write_text(f"simcodesign: 1\nname: workload{memory}", encoding="utf-8")
        output = output.replace("(allowed: files in DIR)", f"(allowed: files in {tmp_path / 'DIR'})")
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == (2 if output.startswith("error: ") else 0), result.output
    rest = result.output
    for part in filter(None, (one.strip("\n") for one in re.split(r"^\.\.\.$", output, flags=re.MULTILINE))):
        assert part in rest, f"{command} does not print:\n{part}\nbut:\n{result.output}"
        rest = rest.partition(part)[2]


def test_every_page_shows_an_output() -> None:
    assert {page for page, *_ in shown()} == {*PAGES}
