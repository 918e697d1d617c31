"""Other operating systems: the commands without what only POSIX has, ends of lines as on Windows, names of files there."""

from __future__ import annotations

import ctypes
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simcodesign.core import memory_limit
from simcodesign.core.errors import InputError
from simcodesign.core.files import input_files
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.fitting.readers.formats import read_measurements
from simcodesign.studies.sweep import store_lock
from simcodesign.studies.sweep.store_lock import StoreLock
from tests import ROOT

WITHOUT = ROOT / "tests" / "processes" / "without_posix"


@pytest.mark.thorough
def test_the_main_commands_need_nothing_that_only_posix_has(tmp_path: Path) -> None:
    """Every module can be imported, and every command ends well, also the processes that a sweep spawns."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(WITHOUT), str(ROOT)))}
    done = subprocess.run(
        [sys.executable, WITHOUT.with_name("main_commands.py")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    ended = json.loads(done.stdout.splitlines()[-1])
    assert {command: status for command, status in ended.items() if status} == {}, done.stderr
    assert done.returncode == 0
    assert len(ended) > 15
    assert "4 of 4 points stored" in done.stderr


def test_what_is_hidden_is_hidden() -> None:
    """Else the test above would show nothing."""
    environment = os.environ | {"PYTHONPATH": str(WITHOUT)}
    code = "import os; print(hasattr(os, 'fork'), hasattr(os, 'sysconf')); import fcntl"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "False"]
    assert "No module named 'fcntl' (hidden)" in done.stderr


@pytest.mark.parametrize(
    ("load", "folder", "name"), [(load_machine, "topologies", "fugaku"), (load_workload, "workloads", "hpl")]
)
def test_descriptions_with_ends_of_lines_as_on_windows(tmp_path: Path, load: Any, folder: str, name: str) -> None:
    """The same description, and the same lines in messages."""
    text = (ROOT / folder / f"{name}.yaml").read_bytes()
    path = tmp_path / f"{name}.yaml"
    path.write_bytes(text)
    expected = load(path)
    path.write_bytes(text.replace(b"\n", b"\r\n"))
    assert repr(load(path)) == repr(expected)


def test_tables_with_ends_of_lines_as_on_windows(tmp_path: Path) -> None:
    rows = b"p,value\n1,2\n2,4\n4,8\n8,16\n16,32\n"
    unix, windows = tmp_path / "unix.csv", tmp_path / "windows.csv"
    unix.write_bytes(rows)
    windows.write_bytes(rows.replace(b"\n", b"\r\n"))
    assert repr(read_measurements(windows)).replace("windows.csv", "unix.csv") == repr(read_measurements(unix))


def test_paths_of_windows_name_files(monkeypatch: pytest.MonkeyPatch) -> None:
    assert input_files.names_a_path("folder/machine")
    assert not input_files.names_a_path("folder\\machine")
    monkeypatch.setattr(input_files, "os", SimpleNamespace(sep="\\", altsep="/"))
    assert input_files.names_a_path("folder/machine")
    assert input_files.names_a_path("folder\\machine")
    assert not input_files.names_a_path("mesh-256")


def test_memory_as_windows_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The structure has 64 bytes; ullTotalPhys is at byte 8 (Windows API, MEMORYSTATUSEX)."""
    assert ctypes.sizeof(memory_limit._MemoryStatus) == 64

    def status(pointer: Any) -> int:
        raw = (ctypes.c_char * 64).from_address(ctypes.addressof(pointer._obj))
        assert int.from_bytes(raw[:4], sys.byteorder) == 64
        raw[8:16] = (10 * 2**30).to_bytes(8, sys.byteorder)
        return 1

    monkeypatch.delattr(os, "sysconf")
    assert memory_limit.memory_bytes() == math.inf
    windows = SimpleNamespace(kernel32=SimpleNamespace(GlobalMemoryStatusEx=status))
    monkeypatch.setattr(ctypes, "windll", windows, raising=False)
    assert memory_limit.memory_bytes() == pytest.approx(7 * 2**30)


def test_a_lock_names_who_has_it(tmp_path: Path) -> None:
    """The lock is held by another process, and gone when that is killed."""
    store = tmp_path / "points.sqlite"
    code = (
        "import sys; from pathlib import Path; from simcodesign.studies.sweep.store_lock import StoreLock\n"
        "lock = StoreLock.acquire(Path(sys.argv[1])); print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, store], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(InputError, match=f"written by process {holder.pid} on "):
            StoreLock.acquire(store)
        holder.kill()
    lock = StoreLock.acquire(store)
    with pytest.raises(InputError, match=f"written by process {os.getpid()} on "):
        StoreLock.acquire(store)
    lock.release()
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_of_the_file_that_others_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last owner takes the file away between the moment when it is opened and that when it is locked."""
    store, taken = tmp_path / "points.sqlite", []
    really = store_lock._take

    def late(connection: Any, *owner: str) -> None:
        if not taken:
            connection.execute("PRAGMA user_version").fetchall()  # opens the file
            (tmp_path / "points.sqlite.lock").unlink()
            taken.append(connection)
        really(connection, *owner)

    monkeypatch.setattr(store_lock, "_take", late)
    lock = StoreLock.acquire(store)
    with pytest.raises(InputError, match="written by process"):
        StoreLock.acquire(store)
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / "points.sqlite.lock").write_text("no database" * 100)
    with pytest.raises(InputError, match=r"points\.sqlite\.lock: file is not a database"):
        StoreLock.acquire(tmp_path / "points.sqlite")
