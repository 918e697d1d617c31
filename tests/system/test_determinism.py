"""The same input gives the same output to the last character, whatever the order of hashes and however many processes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

LINES = [
    "compare jacobi torus-cluster -P 8 --set sweeps=2 --seed 3 --json",
    "compare burst crossbar-16 -P 4",
    "simulate disk-queue torus-cluster -P 4 --set requests=50 --json",
    "forecast seismic power-challenge -P 8 --preset test --json",
    "simulate jacobi torus-cluster -P 4 --set sweeps=2 --write out.goal",
    "sweep jacobi torus-cluster --vary P=2,4,8 --vary n=100,200 --write table.csv",
    "explore jacobi torus-cluster --vary P=2:8 --set n=256 --json",
    "compare {root}/validation/aspen/sensor.aspen {root}/validation/aspen/gpu-cluster.aspen --json",
    "fit {root}/tests/fuzz/inputs/runs.txt --target p=128,n=20 --json",
    "fit-counters {root}/tests/fuzz/inputs/counters.csv --target P=32 --json",
    "locality {root}/tests/fuzz/inputs/trace.lackey --groups --json",
    "show seismic --write equations:-",
]
#: Whose work is shared among processes.
SHARED = [
    "fit {root}/tests/fuzz/inputs/runs.txt --target p=128,n=20 --json",
    "simulate jacobi torus-cluster -P 4 --set sweeps=2 --replications 6 --json",
    "compare jacobi torus-cluster -P 4 --set sweeps=2 --replications 4 --json",
    "sweep jacobi torus-cluster --vary P=2,4,8 --set sweeps=1 --simulate --store new.sqlite --write table.csv",
]
ALL = "import shlex, sys; from simcodesign import cli; sys.exit(max(cli.main(shlex.split(line)) for line in sys.argv[1:]))"


def words(line: str) -> list[str]:
    return shlex.split(line.format(root=ROOT))


def printed(folder: Path, hash_seed: str, lines: list[str]) -> str:
    """What the commands print and write, one after another in a new process."""
    folder.mkdir()
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    call = [sys.executable, "-c", ALL, *(shlex.join(words(line)) for line in lines)]
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written = [path.read_text() for path in sorted(folder.iterdir()) if path.suffix in (".csv", ".goal")]
    return "".join([done.stdout, *written])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("seeds", "lines"),
    [(("1", "2"), LINES[:2]), pytest.param(("0", "3", "4", "random"), LINES, marks=pytest.mark.thorough)],
    ids=["few", "all"],
)
def test_order_of_hashes(tmp_path: Path, seeds: tuple[str, ...], lines: list[str]) -> None:
    outputs = [printed(tmp_path / str(number), seed, lines) for number, seed in enumerate(seeds)]
    assert len(outputs[0]) > 1000
    assert set(outputs) == {outputs[0]}


@pytest.mark.thorough
@pytest.mark.parametrize("line", SHARED, ids=lambda line: line.split()[0])
def test_number_of_processes(tmp_path: Path, line: str) -> None:
    one, two, three = (printed(tmp_path / str(jobs), "0", [f"{line} -j {jobs}"]) for jobs in (1, 2, 3))
    assert one == two == three
