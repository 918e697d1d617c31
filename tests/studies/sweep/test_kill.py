"""Sweeps that are really killed, and go on: the table in the end is that of a sweep that nothing happened to."""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from simcodesign.studies.sweep.evaluate import PointTask, evaluate, pack
from simcodesign.studies.sweep.store import Store
from simcodesign.studies.sweep.sweep import sweep_of
from simcodesign.studies.sweep.table import table_of
from tests.processes.started import Started, started, until

COUNT = 100
#: Some 20 ms a point.
SWEEP = [
    "sweep",
    "cg-iteration",
    "torus-cluster",
    "-P",
    "8",
    "--set",
    "noise=2 %",
    "--vary",
    f"seed=1:{COUNT}:+1",
    "--simulate",
    "-j",
    "2",
    "--store",
    "cg.sweep.sqlite",
]
STORE = SWEEP[-1]


def run(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """The events of a sweep that nothing happens to."""
    with started(folder, *arguments, "--json-lines") as one:
        status, out, err = one.ended()
    assert status == 0, err
    return [json.loads(line) for line in out.splitlines()]


def table(folder: Path) -> str:
    with Store.open(folder / STORE, write=False) as store:
        return store.frame().to_csv(index=False)


@pytest.fixture(scope="module")
def whole() -> str:
    """The table of one point after another in this process."""
    settings = {"P": "8", "noise": "2 %"}
    sweep = sweep_of("cg-iteration", "torus-cluster", [f"seed=1:{COUNT}:+1"], settings=settings, simulate=True)
    rows = evaluate(PointTask(pack(sweep), tuple(sweep.points())))
    assert len({row.results["simulated_makespan_s"] for row in rows}) == COUNT
    return table_of(rows).to_csv(index=False)


def goes_on(folder: Path, whole: str, least: int, command: list[str] | None = None) -> None:
    """Nothing that was counted is lost, nothing is done again, and the table is the same."""
    arguments = command or [*SWEEP[:-2], "--resume", STORE]
    events = run(folder, *(item for item in arguments if item != "--json-lines"))
    stored = events[0]["stored"]
    assert least <= stored < COUNT
    assert events[-1] == events[-1] | {"event": "done", "stored": COUNT, "new": COUNT - stored, "failed": 0}
    assert table(folder) == whole


@pytest.mark.thorough
def test_nothing_happens(tmp_path: Path, whole: str) -> None:
    events = run(tmp_path, *SWEEP)
    assert events[-1] == events[-1] | {"event": "done", "stored": COUNT, "new": COUNT, "failed": 0}
    assert table(tmp_path) == whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.thorough
def test_asked_to_end(tmp_path: Path, whole: str, number: signal.Signals) -> None:
    """Ctrl-C, which all processes of a terminal get, and the wish of a batch system."""
    with started(tmp_path, *SWEEP, "--json-lines") as one:
        counted = one.event("progress")["stored"]
        if number == signal.SIGINT:
            os.killpg(one.process.pid, number)
        else:
            one.process.send_signal(number)
        status, out, err = one.ended()
        assert one.processes() == []
    assert status == 128 + number
    assert json.loads(out.splitlines()[-1])["event"] == "stopped"
    (line,) = err.splitlines()
    summary, _, command = line.partition("; continue with: ")
    assert summary.startswith("stopped, ")
    assert f" of {COUNT} points stored in {STORE}" in summary
    words = shlex.split(command)
    assert words[0] == "simcodesign"
    goes_on(tmp_path, whole, max(counted, int(summary.split()[1])), words[1:])


@pytest.mark.thorough
def test_the_program_is_killed(tmp_path: Path, whole: str) -> None:
    with started(tmp_path, *SWEEP, "--json-lines") as one:
        counted = one.event("progress")["stored"]
        assert len(one.workers()) == 2
        one.process.kill()
        assert one.ended()[0] == -signal.SIGKILL
        until(lambda: one.processes() == [])
    goes_on(tmp_path, whole, counted)


@pytest.mark.thorough
def test_its_workers_are_killed(tmp_path: Path, whole: str) -> None:
    with started(tmp_path, *SWEEP, "--json-lines") as one:
        one.event("progress")
        for pid in one.workers():
            os.kill(pid, signal.SIGKILL)
        done = one.event("done")
        status, _, err = one.ended()
    assert (status, err) == (0, f"{COUNT} of {COUNT} points stored in {STORE}\n")
    assert done == done | {"stored": COUNT, "failed": 0}
    assert table(tmp_path) == whole


def full(one: Started) -> int:
    """The sweep ends because its disk is full; points that were counted."""
    status, out, err = one.ended()
    events = [json.loads(line) for line in out.splitlines()]
    lines = err.splitlines()
    assert (status, len(lines)) == (2, 2)
    assert "; continue with: simcodesign sweep " in lines[0]
    assert lines[1].startswith(f"error: {STORE}: ")
    assert "full" in lines[1]
    assert events[-1]["event"] == "error"
    assert one.processes() == []
    return max((event["stored"] for event in events if event["event"] == "progress"), default=0)


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@pytest.mark.thorough
def test_files_may_not_grow(tmp_path: Path, whole: str) -> None:
    with started(tmp_path, *SWEEP, "--json-lines", preexec_fn=limited) as one:
        counted = full(one)
    goes_on(tmp_path, whole, counted)


def mounted(folder: Path) -> bool:
    """Whether a small file system could be put there."""
    command = ["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", str(folder)]
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


def fill(file: Path) -> None:
    """Until nothing more can be written."""
    with suppress(OSError), file.open("wb", buffering=0) as out:
        while True:
            out.write(bytes(4096))


@pytest.mark.thorough
def test_the_disk_is_full(tmp_path: Path, whole: str) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    if not mounted(folder):
        pytest.skip("needs the right to mount a file system")
    try:
        with started(folder, *SWEEP, "--json-lines") as one:
            counted = one.event("progress")["stored"]
            fill(folder / "other")
            counted = max(counted, full(one))
        (folder / "other").unlink()
        goes_on(folder, whole, counted)
    finally:
        subprocess.run(["umount", str(folder)], check=True)
