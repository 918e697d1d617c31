"""A command in a process of its own, whose descendants are found by a mark that they inherit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import ROOT

MARK = "SIMCODESIGN_TEST_MARK"


class Started:
    """A command of simcodesign, or another module (``module``), in a folder of its own."""

    def __init__(self, folder: Path, arguments: list[str], module: str = "simcodesign", **options: Any) -> None:
        self.folder, self.mark = folder, uuid.uuid4().hex
        environment = {**os.environ, "PYTHONPATH": str(ROOT), MARK: self.mark}
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=folder,
            env=environment,
            text=True,
            start_new_session=True,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        )

    def event(self, wanted: str) -> dict[str, Any]:
        """Read events until one of this name comes."""
        assert self.process.stdout
        for line in self.process.stdout:
            data: dict[str, Any] = json.loads(line)
            if data["event"] == wanted:
                return data
        raise AssertionError(self.process.communicate()[1])

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err

    def processes(self) -> list[int]:
        """Those that bear the mark and run, itself left out."""
        return [
            pid
            for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if pid != self.process.pid and self._is_mine(pid)
        ]

    def workers(self) -> list[int]:
        return [pid for pid in self.processes() if b"spawn_main" in _read(f"/proc/{pid}/cmdline")]

    def _is_mine(self, pid: int) -> bool:
        return f"{MARK}={self.mark}".encode() in _read(f"/proc/{pid}/environ").split(b"\0")


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:  # it has ended
        return b""


@contextmanager
def started(folder: Path, *arguments: str, **options: Any) -> Iterator[Started]:
    one = Started(folder, [*arguments], **options)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()
        for pid in one.processes():
            os.kill(pid, signal.SIGKILL)


def until(holds: Callable[[], object]) -> None:
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("not in a minute")
