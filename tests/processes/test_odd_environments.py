"""Environment variables that other programs set, and Ctrl-C while functions are compiled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simcodesign.core.jit import HAVE_NUMBA
from tests import ROOT

PROGRAM = [sys.executable, "-m", "simcodesign"]


def ran(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    return subprocess.run(
        [*PROGRAM, *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def is_running(group: int) -> bool:
    """Return whether a process group has a process that is no zombie."""
    states = subprocess.run(["ps", "-o", "stat=", "-g", str(group)], capture_output=True, text=True, check=False).stdout
    return any(not state.startswith("Z") for state in states.split())


@pytest.mark.thorough
@pytest.mark.parametrize("columns", ["0", "-5", "wide", ""])
def test_a_width_that_is_none_is_ignored(columns: str) -> None:
    result = ran("list", "mesh-256", COLUMNS=columns)
    assert result.returncode == 0
    assert "mesh-256" in result.stdout


@pytest.mark.thorough
@pytest.mark.skipif(not HAVE_NUMBA, reason="needs Numba")
def test_no_threads_for_numba_are_an_error_with_words() -> None:
    result = ran("locality", "--generate", "triad", "--set", "n=100", "--caches", "1KiB:2", NUMBA_NUM_THREADS="0")
    assert result.returncode == 2
    assert "NUMBA_NUM_THREADS, got '0' (allowed: 1 or more, or not set)" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.thorough
def test_an_unknown_backend_of_matplotlib_is_an_error_with_words(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    command = ("sweep", "broadcast", "mesh-256", "--vary", "P=2,4", "--write", str(tmp_path / "x.png"))
    result = ran(*command, MPLBACKEND="nosuch")
    assert result.returncode == 2
    assert "'nosuch' is not a valid value" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.thorough
@pytest.mark.skipif(not HAVE_NUMBA, reason="needs Numba")
def test_ctrl_c_ends_warm_up(tmp_path: Path) -> None:
    """Nothing is in the cache, so that all would take minutes."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}
    program = subprocess.Popen(
        [*PROGRAM, "warm-up", "-j", "2"], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with program:
        assert program.stderr is not None
        assert "compiling takes" in program.stderr.readline()
        time.sleep(8)  # both processes compile
        assert program.poll() is None
        began = time.monotonic()
        os.killpg(program.pid, signal.SIGINT)
        assert program.wait(timeout=30) == 130
        assert time.monotonic() - began < 10
    while is_running(program.pid):  # the processes that compiled end too
        assert time.monotonic() - began < 20
        time.sleep(0.1)
