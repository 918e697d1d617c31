"""Requirements of programs whose counts have a closed form, and of conjugate gradients and Jacobi on more ranks."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

import simcodesign as sc
from simcodesign import cli
from simcodesign.core.errors import InputError
from simcodesign.studies.recorded.plan import parsed_ranks

HEAD = """
import sys
import time
import numpy as np
from mpi4py import MPI
import simcodesign as sc
comm = MPI.COMM_WORLD
rank, size, N = comm.rank, comm.size, int(sys.argv[1])
"""
#: A grid of sqrt(P) x sqrt(P) ranks that holds N x N points with a halo around each part.
GRID = """
dims = MPI.Compute_dims(size, 2)
cart = comm.Create_cart(dims, periods=[True, True])
(up, down), (left, right) = cart.Shift(0, 1), cart.Shift(1, 1)
n = N // dims[0]
def exchange(p):
    for to, source, give, take in (
        (up, down, p[1, 1:-1], p[-1, 1:-1]),
        (down, up, p[-2, 1:-1], p[0, 1:-1]),
        (left, right, p[1:-1, 1], p[1:-1, -1]),
        (right, left, p[1:-1, -2], p[1:-1, 0]),
    ):
        give, got = np.ascontiguousarray(give), np.empty(n)
        cart.Sendrecv(give, to, recvbuf=got, source=source)
        take[:] = got
"""
JACOBI = """
old, new = np.zeros((2, n + 2, n + 2))
old[1:-1, 1:-1] = np.sin(np.arange(n * n)).reshape(n, n)
for _ in range(3):
    exchange(old)
    new[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]) / 4
    sc.compute(flops=4 * n * n)
    old, new = new, old
"""
CONJUGATE_GRADIENTS = """
p = np.zeros((n + 2, n + 2))
x, r, q = np.zeros((n, n)), np.sin(np.arange(n * n) + rank).reshape(n, n), np.zeros((n, n))
p[1:-1, 1:-1] = r
def dot(a, b):
    with sc.phase("dot"):
        local, total = np.array([np.vdot(a, b)]), np.empty(1)
        sc.compute(flops=2 * a.size)
        cart.Allreduce(local, total)
        return total[0]
rr = dot(r, r)
for _ in range(4):
    with sc.phase("halo"):
        exchange(p)
    with sc.phase("product"):
        q[:] = 5 * p[1:-1, 1:-1] - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]
        sc.compute(flops=6 * q.size)
    alpha = rr / dot(p[1:-1, 1:-1], q)
    x += alpha * p[1:-1, 1:-1]
    r -= alpha * q
    before, rr = rr, dot(r, r)
    p[1:-1, 1:-1] = r + rr / before * p[1:-1, 1:-1]
"""
Recorder = Callable[..., Any]


@pytest.fixture
def required(tmp_path: Path) -> Recorder:
    """Fit the requirements of a program that gets N."""

    def fitted(text: str, ranks: Any = (4, 9, 16, 36), sizes: tuple[int, ...] = (12, 24, 48), **options: Any) -> Any:
        file = tmp_path / "program.py"
        file.write_text(HEAD + textwrap.dedent(text))
        given: dict[str, Any] = {"vary": {"N": sizes}, "arguments": ["{N}"], "speed": None} | options
        return sc.requirements(file, ranks, "dragonfly-1056", **given)

    return fitted


def values(found: Any) -> dict[tuple[str, str], tuple[float, float]]:
    """What is predicted and recorded of each requirement."""
    return {(one.phase, one.metric): (one.predicted, one.recorded) for one in found.requirements}


def check(found: Any, expected: dict[tuple[str, str], float]) -> None:
    """The models and the recording are both the closed form, to rounding."""
    pairs = values(found)
    for key, value in expected.items():
        assert pairs[key][0] == pytest.approx(value, rel=1e-9), key
        assert pairs[key][1] == value, key
    assert set(pairs) == set(expected)


# --- Programs on 256 ranks, fitted at 9 to 64 --------------------------------------------------------------------


def test_conjugate_gradients_on_256_ranks(required: Recorder) -> None:
    """Four steps: 4 messages of 8 N / sqrt(P) bytes each, 9 dot products, products of 6 operations a point."""
    sizes, ranks, size = (48, 96, 192), 256, 192
    found = required(GRID + CONJUGATE_GRADIENTS, (9, 16, 36, 64, ranks), sizes)
    n = size / sqrt(ranks)
    expected = {
        ("dot", "flops"): 9 * 2 * n * n,
        ("dot", "calls:allreduce"): 9,
        ("dot", "bytes:allreduce"): 9 * 8,
        ("halo", "messages"): 16,
        ("halo", "bytes_sent"): 16 * 8 * n,
        ("product", "flops"): 4 * 6 * n * n,
        # p with its halo, x, r, q, and the two arrays of a message.
        ("program", "bytes_used"): 8 * ((n + 2) ** 2 + 3 * n * n + 2 * n),
    }
    check(found, expected)
    (times,) = found.times
    assert times.fitted_forecast_s == pytest.approx(times.recorded_forecast_s, rel=1e-9)
    assert times.fitted_simulated_s == pytest.approx(times.recorded_simulated_s, rel=0.05)


def test_jacobi_on_256_ranks(required: Recorder) -> None:
    """Without phases, the line of the exchange is one: what is computed after it belongs to the next call."""
    found = required(GRID + JACOBI, (9, 16, 36, 64, 256), (48, 96, 192))
    line = 1 + (HEAD + GRID)[: (HEAD + GRID).index("cart.Sendrecv")].count("\n")
    totals = {
        metric: sum(one.predicted for one in found.requirements if one.metric == metric)
        for metric in ("messages", "bytes_sent", "flops")
    }
    assert totals == pytest.approx({"messages": 12, "bytes_sent": 12 * 8 * 12, "flops": 3 * 4 * 144}, rel=1e-9)
    assert found.of(f"program.py:{line}", "messages").recorded == 12
    forecast_s = sc.forecast(found.workload, "exascale-cg", {"P": 10**6, "N": 10**6}).makespan_s
    assert 0 < forecast_s < 1


# --- Single requirements -----------------------------------------------------------------------------------------


def test_messages_that_grow_with_the_ranks(required: Recorder) -> None:
    """Rank 0 sends N bytes to each of the others."""
    text = """
    if rank == 0:
        for other in range(1, size):
            comm.Send(np.zeros(N, "u1"), other)
    else:
        comm.Recv(np.zeros(N, "u1"), 0)
    """
    found = required(text, (2, 3, 5, 8, 13, 21))
    by_metric = {one.metric: one for one in found.requirements}
    assert by_metric["messages"].predicted == pytest.approx(20, rel=1e-9)
    assert by_metric["bytes_sent"].predicted == pytest.approx(20 * 48, rel=1e-9)


def test_collective_operations_of_rows(required: Recorder) -> None:
    """Rows of sqrt(P) ranks that follow each other, columns of ranks that are sqrt(P) apart."""
    text = """
    side = round(size ** 0.5)
    row, column = comm.Split(rank // side), comm.Split(rank % side)
    with sc.phase("rows"):
        row.Allgather(np.zeros(N // side), np.empty(N))
    with sc.phase("columns"):
        for _ in range(3):
            column.Bcast(np.zeros(N))
    """
    found = required(text, (9, 16, 36, 64), (48, 96, 192))
    expected = {
        ("rows", "calls:allgather@1"): 1,
        ("rows", "bytes:allgather@1"): 8 * 192 / 8,
        ("rows", "ranks:allgather@1"): 8,
        ("columns", "calls:broadcast@2"): 3,
        ("columns", "bytes:broadcast@2"): 3 * 8 * 192,
        ("columns", "ranks:broadcast@2"): 8,
    }
    check(found, expected)
    (times,) = found.times
    assert times.fitted_forecast_s == pytest.approx(times.recorded_forecast_s, rel=1e-9)
    assert times.fitted_simulated_s == pytest.approx(times.recorded_simulated_s, rel=1e-9)


def test_seconds_are_the_mean_of_all_ranks(required: Recorder) -> None:
    """Half of the ranks sleep N / P milliseconds, the others three times as long."""
    found = required("time.sleep(1e-3 * (1 + 2 * (rank % 2)) * N / size)\ncomm.Barrier()\n", (4, 8, 16, 32, 64))
    seconds = next(one for one in found.requirements if one.metric == "seconds")
    assert seconds.recorded == pytest.approx(2e-3 * 48 / 64, rel=1e-12)
    assert seconds.error < 1e-9


def test_communicators_of_one_rank_require_nothing(required: Recorder) -> None:
    found = required("MPI.COMM_SELF.Allreduce(np.zeros(N), np.zeros(N))\ncomm.Barrier()\n")
    assert [one.metric for one in found.requirements if ":" in one.metric] == ["calls:barrier"]


# --- Which points ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("4, 9,16", [4, 9, 16]),
        ("2-64", [9, 16, 25, 36, 49, 64]),
        ("2-50", [4, 9, 16, 25, 36, 49]),
        ("2-1024", [9, 36, 100, 169, 256, 1024]),
    ],
)
def test_numbers_of_ranks(text: str, ranks: list[int]) -> None:
    assert parsed_ranks(text) == ranks


@pytest.mark.parametrize(
    "wrong",
    [
        {"ranks": "2-16"},
        {"ranks": "a,b"},
        {"ranks": (4, 9, 16)},
        {"arguments": ["100"]},
        {"vary": {"N": [0.0, 1.0]}},
        {"vary": {"P": [2.0]}},
        {"ranks": (4, 9, 16, 10**6)},
    ],
)
def test_what_cannot_be_recorded(wrong: dict[str, Any], required: Recorder) -> None:
    with pytest.raises(InputError):
        required("comm.Barrier()\n", **wrong)


def test_a_program_without_requirements(required: Recorder) -> None:
    with pytest.raises(InputError, match="neither communicates nor computes"):
        required("pass\n")


# --- The command -------------------------------------------------------------------------------------------------


def test_the_command_writes_the_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A ring: one message of N bytes. The workload of the models is forecast as the program's own recording is."""
    file, written = tmp_path / "ring.py", tmp_path / "fitted.yaml"
    file.write_text(HEAD + "comm.sendrecv(0, (rank + 1) % size, source=rank - 1)\ncomm.Bcast(np.zeros(N, 'u1'))\n")
    line = ["requirements", str(file), "-n", "2,3,4,5,8", "--vary", "N=100,200,400", "--on", "crossbar-16"]
    options = ["--compute", "none", "--json", "--write", f"workload:{written}"]
    assert cli.main([*line, *options, "--", "{N}"]) == 0
    answer = json.loads(capsys.readouterr().out)
    models = {one["metric"]: one for one in answer["requirements"]}
    assert models["messages"]["model"]["text"] == "1"
    assert models["bytes:broadcast"]["model"]["text"] == "1 N"
    assert answer["held_out"] == {"P": 8, "N": 400}
    assert sc.forecast(str(written), "crossbar-16", {"P": 8, "N": 400}).makespan_s == pytest.approx(
        answer["times"][0]["fitted_forecast_s"], rel=1e-12
    )
    assert cli.main([*line, "--compute", "none", "--", "{N}"]) == 0
    assert "bytes:broadcast" in capsys.readouterr().out


def test_the_command_needs_a_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["requirements", str(tmp_path / "none.py")]) == 2
    assert "--on MACHINE" in capsys.readouterr().err
