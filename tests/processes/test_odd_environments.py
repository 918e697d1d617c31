"""Environment variables that other programs set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

PROGRAM = [sys.executable, "-m", "simcodesign"]


def ran(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    return subprocess.run(
        [*PROGRAM, *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.thorough
@pytest.mark.parametrize("columns", ["0", "-5", "wide", ""])
def test_a_width_that_is_none_is_ignored(columns: str) -> None:
    result = ran("list", "mesh-256", COLUMNS=columns)
    assert result.returncode == 0
    assert "mesh-256" in result.stdout


@pytest.mark.thorough
def test_an_unknown_backend_of_matplotlib_is_an_error_with_words(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    command = ("sweep", "broadcast", "mesh-256", "--vary", "P=2,4", "--write", str(tmp_path / "x.png"))
    result = ran(*command, MPLBACKEND="nosuch")
    assert result.returncode == 2
    assert "'nosuch' is not a valid value" in result.stderr
    assert "Traceback" not in result.stderr
