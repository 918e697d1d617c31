"""A case of validation of another package: a folder of modules, none of which is registered anywhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.command_line import command

FOLDER = Path(__file__).with_name("my_cases")


def test_it_is_run_and_judged(capfd: pytest.CaptureFixture[str]) -> None:
    answer = command(capfd, "validate", "--cases")(FOLDER, "-j", "1", "--json").json
    (case,) = answer["cases"]
    assert (case["name"], case["verdict"]) == ("messages/one-message", "own consistency check")
    assert [point["verdict"] for point in case["points"]] == ["own consistency check"] * 3


def test_it_would_notice(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Twice the bytes: the startup alone is as it was."""
    folder = Path(shutil.copytree(FOLDER, tmp_path / "cases"))
    module = folder / "messages" / "one_message.py"
    module.write_text(module.read_text().replace('{"size": size}', '{"size": 2 * size}'))
    ran = command(capfd, "validate", "--cases")(folder, "-j", "1", "--json")
    (case,) = json.loads(ran.out)["cases"]
    assert (ran.status, case["verdict"]) == (1, "differs")
    assert [point["verdict"] for point in case["points"]] == ["own consistency check", "differs", "differs"]


def test_it_is_listed(capfd: pytest.CaptureFixture[str]) -> None:
    assert "messages/one-message" in command(capfd, "validate", "--cases")(FOLDER, "--list").out
