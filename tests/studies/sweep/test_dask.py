"""Sweeps on a Dask cluster: a scheduler and two workers, each a process of its own on this machine."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simcodesign.core.errors import InputError
from simcodesign.studies.sweep.evaluate import PointTask, evaluate, pack
from simcodesign.studies.sweep.executors import DaskExecutor, check_versions
from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.run import run
from simcodesign.studies.sweep.store import Store
from simcodesign.studies.sweep.sweep import Sweep, sweep_of
from simcodesign.studies.sweep.table import table_of
from tests.processes.local_cluster import LocalCluster
from tests.processes.started import started

pytest.importorskip("distributed")

COUNT = 60
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
    "--json-lines",
]
STORE, RESUME = ("--store", "store.sqlite"), ("--resume", "store.sqlite")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    made = LocalCluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.address()
        yield made
    finally:
        made.close()


def seeds() -> Sweep:
    settings = {"P": "8", "noise": "2 %"}
    return sweep_of("cg-iteration", "torus-cluster", [f"seed=1:{COUNT}:+1"], settings=settings, simulate=True)


@pytest.fixture(scope="module")
def whole() -> str:
    """The table of one point after another in this process."""
    sweep = seeds()
    return table_of(evaluate(PointTask(pack(sweep), tuple(sweep.points())))).to_csv(index=False)


def table(folder: Path) -> str:
    with Store.open(folder / "store.sqlite", write=False) as store:
        return store.frame().to_csv(index=False)


def slow(task: PointTask) -> list[PointResult]:
    time.sleep(0.02 * len(task.points))
    return evaluate(task)


def killed_at_3(task: PointTask) -> list[PointResult]:
    if any(point.number == 3 for point in task.points):
        os.kill(os.getpid(), signal.SIGKILL)
    return evaluate(task)


@pytest.mark.thorough
def test_as_in_one_process_and_nothing_is_heard_of_dask(cluster: LocalCluster, tmp_path: Path, whole: str) -> None:
    with started(tmp_path, *SWEEP, *STORE, "--scheduler", str(cluster.file)) as one:
        start = one.event("start")
        status, out, err = one.ended()
    assert re.fullmatch(r"2 workers of .*scheduler\.json", start["workers"])
    assert (status, err) == (0, f"{COUNT} of {COUNT} points stored in store.sqlite\n")
    assert json.loads(out.splitlines()[-1])["event"] == "done"
    assert table(tmp_path) == whole


@pytest.mark.thorough
def test_a_worker_that_is_killed_is_survived(cluster: LocalCluster, tmp_path: Path, whole: str) -> None:
    """A nanny starts another one in its place."""
    sweep, killed = seeds(), list[int]()

    def kill(_: object) -> None:
        if not killed:
            ids = crew._client.run(os.getpid)
            killed.append(min(ids.values()))
            os.kill(killed[0], signal.SIGKILL)

    with Store.create(tmp_path / "store.sqlite", sweep.meta()) as store, DaskExecutor(str(cluster.file)) as crew:
        outcome = run(sweep, store, crew, kill, evaluate=slow)
    assert killed
    assert (outcome.new, outcome.failed) == (COUNT, 0)
    assert table(tmp_path) == whole


@pytest.mark.thorough
def test_a_point_that_kills_fails_with_the_reason(cluster: LocalCluster, tmp_path: Path) -> None:
    sweep = sweep_of("seismic", "power-challenge", ["P=1:8:+1"], preset="test")
    with Store.create(tmp_path / "store.sqlite", sweep.meta()) as store, DaskExecutor(str(cluster.file)) as crew:
        outcome = run(sweep, store, crew, evaluate=killed_at_3)
        (failed,) = store.failures()
    assert (outcome.stored, failed.number) == (8, 3)
    assert failed.reason.startswith("3 processes died at it; of the last: Attempted to run task")


@pytest.mark.thorough
def test_an_interrupt_ends_it(cluster: LocalCluster, tmp_path: Path, whole: str) -> None:
    with started(tmp_path, *SWEEP, *STORE, "--scheduler", str(cluster.file)) as one:
        counted = one.event("progress")["stored"]
        os.killpg(one.process.pid, signal.SIGINT)
        status, _, err = one.ended()
        assert one.processes() == []
    assert (status, err.count("\n")) == (130, 1)
    assert f"--scheduler {cluster.file} --resume store.sqlite\n" in err
    with started(tmp_path, *SWEEP, *RESUME, "-j", "1") as one:
        assert one.event("start")["stored"] >= counted
        assert one.ended()[0] == 0
    assert table(tmp_path) == whole


def test_where_no_scheduler_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simcodesign.studies.sweep.executors.ANSWER_S", 0.5)
    with pytest.raises(InputError, match="--scheduler: no such scheduler file, got"):
        DaskExecutor(str(tmp_path / "none.json"))
    with pytest.raises(InputError, match=r"--scheduler: no scheduler answers .*got 'tcp://127.0.0.1:1' \(allowed: the"):
        DaskExecutor("tcp://127.0.0.1:1")
    with pytest.raises(InputError, match=r"--scheduler: no scheduler answers .*got 'no address'"):
        DaskExecutor("no address")


def test_versions_of_workers() -> None:
    """Another version of this package is refused, other versions of what computes are told."""
    ours = {"simcodesign": "2.0", "numpy": "2.1", "python": "3.11.7"}
    assert check_versions({}, ours) == check_versions({"tcp://a": ours, "tcp://b": dict(ours)}, ours) == ""
    with pytest.raises(InputError, match=r"the worker tcp://b has another version .* got '1\.9' \(allowed: 2\.0\)"):
        check_versions({"tcp://a": ours, "tcp://b": {**ours, "simcodesign": "1.9"}}, ours)
    with pytest.raises(InputError, match=r"the worker tcp://a cannot run simcodesign \(No module .*simcodesign 2\.0"):
        check_versions({"tcp://a": ModuleNotFoundError("No module named 'simcodesign'")}, ours)
    assert check_versions({"a": {**ours, "numpy": "2.2"}}, ours) == "numpy 2.2; here is numpy 2.1"


@pytest.mark.thorough
def test_a_scheduler_that_is_lost(cluster: LocalCluster, tmp_path: Path, whole: str) -> None:
    """The last test: there is no cluster after it."""
    with started(tmp_path, *SWEEP, *STORE, "--scheduler", str(cluster.file)) as one:
        counted = one.event("progress")["stored"]
        os.killpg(cluster.scheduler.pid, signal.SIGKILL)
        status, out, err = one.ended()
    assert status == 2
    first, second = err.splitlines()
    assert "; continue with: simcodesign sweep " in first
    assert second == f"error: the scheduler {cluster.file} does not answer any more"
    assert json.loads(out.splitlines()[-1])["event"] == "error"
    with started(tmp_path, *SWEEP, *RESUME, "-j", "1") as one:
        assert one.event("start")["stored"] >= counted
        assert one.ended()[0] == 0
    assert table(tmp_path) == whole
