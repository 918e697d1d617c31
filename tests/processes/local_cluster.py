"""A Dask scheduler and two workers, each a process of its own on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from simcodesign.studies.sweep.executors import DaskExecutor
from tests.processes.started import ROOT, until

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def dask(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    path = str(ROOT)
    environment = {**os.environ, "PYTHONPATH": path, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments], cwd=folder, env=environment, start_new_session=True, **QUIET
    )  # type: ignore[call-overload]


class LocalCluster:
    """Ends with the tests, however they end."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.scheduler = dask(
            folder,
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
        )
        self.workers = [
            dask(
                folder,
                "worker",
                "--scheduler-file",
                str(self.file),
                "--nthreads",
                "1",
                "--no-dashboard",
                "--local-directory",
                str(folder),
            )
            for _ in range(2)
        ]

    def address(self) -> str:
        """The scheduler file, when the scheduler and both workers are there."""
        until(self.file.is_file)
        with DaskExecutor(str(self.file)) as crew:
            until(lambda: crew.count == 2)
        return str(self.file)

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
