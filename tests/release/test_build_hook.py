"""A wheel is built without writing into the sources, with the C functions or, where nothing compiles them, without."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from simcodesign.core.native.compiler import LIBRARY_NAME, find_compiler
from tests import ROOT

pytestmark = pytest.mark.thorough
IN_WHEEL = f"simcodesign/core/native/{LIBRARY_NAME}"
OF_A_BUILD = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "build_backend",
    "lessons",
    "topologies",
    "validation",
    "workloads",
)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """What a wheel is made of, beside a library that was compiled for something else."""
    folder = tmp_path / "sources"
    shutil.copytree(ROOT / "simcodesign", folder / "simcodesign", ignore=shutil.ignore_patterns("__pycache__"))
    for name in OF_A_BUILD:
        path = ROOT / name
        shutil.copytree(path, folder / name) if path.is_dir() else shutil.copy(path, folder / name)
    shutil.copy(ROOT / ".gitignore", folder)
    (folder / IN_WHEEL).write_bytes(b"another platform")
    return folder


def wheel_of(sources: Path, **variables: str) -> tuple[Path, str]:
    """The wheel of the sources, and what the build prints."""
    pytest.importorskip("hatch_vcs")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(sources.parent)]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | variables
    done = subprocess.run(command, cwd=sources, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = sources.parent.glob("*.whl")
    return wheel, done.stdout + done.stderr


def files_of(folder: Path) -> dict[Path, tuple[int, int]]:
    """When each file was written, and its size."""
    statuses = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
    return {path: (status.st_mtime_ns, status.st_size) for path, status in statuses.items()}


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
def test_a_wheel_with_the_functions(sources: Path) -> None:
    before = files_of(sources)
    wheel, _ = wheel_of(sources)
    assert files_of(sources) == before
    assert "-py3-none-" in wheel.name
    assert not wheel.name.endswith("-any.whl")
    ZipFile(wheel).extract(IN_WHEEL, sources.parent)
    assert ctypes.CDLL(str(sources.parent / IN_WHEEL)).engine_begin


def test_a_wheel_without_the_functions_says_so_in_one_line(sources: Path) -> None:
    before = files_of(sources)
    wheel, printed = wheel_of(sources, CC="false")
    assert files_of(sources) == before
    assert wheel.name.endswith("-py3-none-any.whl")
    assert IN_WHEEL not in ZipFile(wheel).namelist()
    assert printed.count("no compiled functions") == 1
