"""The C sources compile without a warning."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from simcodesign.core.native.compiler import FLAGS, MAIN_SOURCE, POSIX_FLAGS, find_compiler


def test_no_warnings(tmp_path: Path) -> None:
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("no C compiler")
    command = [*compiler, *FLAGS, "-Wconversion", "-Werror", "-o", str(tmp_path / "library"), str(MAIN_SOURCE)]
    done = subprocess.run([*command, *POSIX_FLAGS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
