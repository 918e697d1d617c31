"""The shipped algorithms on process grids: textbook formulas, both readings, engines, and what moves where.

Oracles: formulas of textbooks, computed here from startup, bytes and rates; the blocks that every process holds, moved by the
messages of a simulation.
"""

from __future__ import annotations

from functools import cache
from math import log2

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError
from simcodesign.core.result import SEND
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml import files
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from tests import ROOT
from tests.shipped_pairs import GRIDS

ROUNDING = 1e-12
load_workload = cache(files.load_workload)
#: Fewer steps than by default, and no less in them, for 16 ranks.
SMALL: dict[str, dict[str, float]] = {
    "cannon": {"n": 64},
    "pencil-fft": {"n": 32},
    "summa": {"n": 64, "b": 8},
}
MOST_LINES = {"pencil-fft": 30}


@cache
def without_hops() -> Machine:
    """torus-cluster: 2 us for a message, 2 GB/s, 8 GFLOP/s, nothing for hops."""
    return files.load_machine("torus-cluster", {"network.hop_latency": 0})


def message_s(size_bytes: float) -> float:
    return 2e-6 + size_bytes / 2e9


def test_every_one_is_tried() -> None:
    assert {*SMALL} == {*GRIDS}


@pytest.mark.parametrize("name", GRIDS)
def test_they_are_short(name: str) -> None:
    text = (ROOT / "workloads" / f"{name}.yaml").read_text(encoding="utf-8")
    assert len(text.splitlines()) < MOST_LINES.get(name, 60)


@pytest.mark.parametrize("name", GRIDS)
def test_bounds_and_engines(name: str) -> None:
    pytest.importorskip("numba")
    workload, given = load_workload(name), {"P": 16, **SMALL[name]}
    effects = ["hops", "links", "interfaces", "imbalance", "noise"]
    comparison = compare(workload, "torus-cluster", given, effects=effects[:3])
    assert comparison.within_bounds
    one, other = (
        simulate(workload, "torus-cluster", given, effects=effects, seed=5, engine=engine)
        for engine in ("simpy", "compiled")
    )
    assert (one.makespan_s, one.phases) == (other.makespan_s, other.phases)


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("read", [forecast, simulate])
def test_other_process_grids_are_refused(name: str, read) -> None:
    with pytest.raises(InputError, match=r"process grid|is no whole number"):
        read(load_workload(name), "torus-cluster", {"P": 18, **SMALL[name]})


def summa_s(n: int, b: int, q: int) -> float:
    """Two broadcasts by binomial trees among q processes and a product, n / b times (van de Geijn and Watts 1997)."""
    return n // b * (2 * log2(q) * message_s(8 * n * b / q) + 2 * n**2 * b / q**2 / 8e9)


@pytest.mark.parametrize(
    ("n", "b", "q", "textbook_s"),
    [(1024, 128, 8, 7.43603e-3), (2048, 64, 8, None), (4096, 64, 8, None), (1024, 32, 4, None), (2048, 128, 16, None)],
)
def test_summa_is_its_textbook_formula(n: int, b: int, q: int, textbook_s: float | None) -> None:
    expected = summa_s(n, b, q)
    if textbook_s is not None:
        assert expected == pytest.approx(textbook_s, rel=1e-6)
    given = {"P": q**2, "n": n, "b": b}
    forecasted = forecast(load_workload("summa"), without_hops(), given)
    simulated = simulate(load_workload("summa"), without_hops(), given, effects="none")
    assert forecasted.makespan_s == pytest.approx(expected, rel=ROUNDING)
    assert simulated.makespan_s == pytest.approx(expected, rel=1e-3)
    assert simulated.messages == forecasted.messages == n // b * 2 * q * (q - 1)


@pytest.mark.parametrize("q", [1, 2, 3, 4, 8])
def test_cannon_is_its_textbook_formula(q: int) -> None:
    """Two messages to skew, two for each rotation: 2 q messages of n^2 / q^2 numbers and 2 n^3 / q^2 flop (Kumar et al.)."""
    n = 48 * q
    expected = 2 * (n**3 / q**2) / 8e9 + (2 * q * message_s(8 * 48**2) if q > 1 else 0)
    given = {"P": q**2, "n": n}
    for result in (
        forecast(load_workload("cannon"), without_hops(), given),
        simulate(load_workload("cannon"), without_hops(), given, effects="none"),
    ):
        assert result.makespan_s == pytest.approx(expected, rel=ROUNDING)
        assert result.messages == 2 * q * (q - 1) * (1 + (q if q > 1 else 0))


@pytest.mark.parametrize("q", [2, 3, 5, 8])
def test_cannon_brings_together_what_is_multiplied(q: int) -> None:
    """In step t process (i, j) has A(i, i + j + t) and B(i + j + t, j): every product of C(i, j) once."""
    plan = make_plan(bind(load_workload("cannon"), without_hops(), {"P": q**2}))
    targets = [list(plan.peer[(plan.rank == rank) & (plan.kind == SEND)]) for rank in range(q**2)]
    blocks = {rank: [rank % q, rank // q] for rank in range(q**2)}  # the column of the block of A, the row of that of B

    def move(which: int, who: list[int]) -> None:
        moved = {int(targets[rank].pop(0)): blocks[rank][which] for rank in who}
        assert moved.keys() == {*who}
        for rank, block in moved.items():
            blocks[rank][which] = block

    every = list(range(q**2))
    move(0, [rank for rank in every if rank // q > 0])
    move(1, [rank for rank in every if rank % q > 0])
    for step in range(q):
        assert all(blocks[rank] == [(rank // q + rank % q + step) % q] * 2 for rank in every)
        if step < q - 1:
            move(0, every)
            move(1, every)
    assert not any(targets)


@pytest.mark.parametrize(("p", "q"), [(4, 4), (2, 8), (3, 5), (1, 4), (16, 16)])
def test_pencil_fft_is_its_textbook_formula(p: int, q: int) -> None:
    """Three sweeps of 5 n log2 n flop a line; q - 1 messages of 1/q of a process's points, then p - 1 of 1/p of them."""
    n, ranks = 120, p * q
    points = n**3 / ranks
    transposes = (q - 1) * message_s(16 * points / q) + (p - 1) * message_s(16 * points / p)
    expected = 3 * 5 * points * log2(n) / 8e9 + transposes
    given = {"P": ranks, "n": n, "q": q}
    for result in (
        forecast(load_workload("pencil-fft"), without_hops(), given),
        simulate(load_workload("pencil-fft"), without_hops(), given, effects="none"),
    ):
        assert result.makespan_s == pytest.approx(expected, rel=ROUNDING)
        assert result.message_bytes == pytest.approx(16 * n**3 * ((q - 1) / q + (p - 1) / p), rel=ROUNDING)


def test_pencil_fft_in_an_array_of_grids() -> None:
    """All grids of 64 processes in one forecast: the balanced one sends the fewest messages."""
    q = 2.0 ** np.arange(7)
    times = forecast(load_workload("pencil-fft"), without_hops(), {"P": 64, "q": q, "n": 64}).components[
        "communication"
    ]
    each = [64 / columns + columns - 2 for columns in q]
    assert np.argmin(times) == np.argmin(each)
