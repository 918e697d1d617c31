"""Products of matrices of an A100, as measured, against its data sheet with ever more known of its efficiency.

Measured: LLMCompass (H. Zhang et al., ISCA 2024), ae/figure5 of its repository at commit 2e015fd. Data sheet of A100 (SXM,
80 GB): 312 TFLOP/s in fp16, 2,039 GB/s. A constant is from the rows that are named; errors are those of all others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from simcodesign.analytic.forecast import forecast
from simcodesign.engine.simulate import simulate
from tests import ROOT
from tests.builders import read_machine, workload

PEAK_FLOP_PER_S = 312e12
PRODUCTS = workload(
    "- kernel: {gemm: [m, n, k], type: fp16}\n",
    "parameters: {m: {default: 1}, n: {default: 1}, k: {default: 1}}\n",
)
PAGE = (ROOT / "docs" / "accelerators.md").read_text(encoding="utf-8")


@pytest.fixture
def rows(shared_measured: Path) -> NDArray[np.float64]:
    """(20, 4): m, n, k, seconds; ten with n = k = 12288, then ten with m = 8192 and n = k."""
    path = shared_measured / "ai-clusters" / "llmcompass_matmul_A100.csv"
    if not path.is_file():
        pytest.skip("needs ai-clusters among the measurements")
    lines = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    rows = np.array([[*map(float, line[:3]), float(line[3].strip().removesuffix("ms")) / 1e3] for line in lines])
    assert rows.shape == (20, 4)
    return rows


def flops(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return 2 * rows[:, 0] * rows[:, 1] * rows[:, 2]


def errors(rows: NDArray[np.float64], efficiency: str, launch_us: float = 0.0) -> NDArray[np.float64]:
    """(forecast - measured) / measured; a simulation of every fifth row agrees with the forecast."""
    on = read_machine(
        "simcodesign: 1\nname: a100\nnodes: 1\nprocessor: {rate: 1 FLOP/s}\n"
        "network: {topology: {kind: crossbar}, startup: 1 s, bandwidth: 1 B/s}\n"
        "accelerator: {count: 1, rates: {fp16: 312 TFLOP/s}, memory: {bandwidth: 2039 GB/s}, "
        f"launch: {launch_us!r} us, efficiency: {efficiency}}}\n"
    )
    shape = {name: rows[:, column] for column, name in enumerate("mnk")}
    times_s = np.asarray(forecast(PRODUCTS, on, {"P": 1, **shape}).makespan_s)
    for row in range(0, len(rows), 5):
        point = {name: float(values[row]) for name, values in shape.items()}
        assert simulate(PRODUCTS, on, {"P": 1, **point}).makespan_s == pytest.approx(times_s[row], rel=1e-12)
    return (times_s - rows[:, 3]) / rows[:, 3]


def check(found: NDArray[np.float64], known: str, median: float, worst: float) -> None:
    """Median size and worst error, as the page states them."""
    assert np.median(np.abs(found)) == pytest.approx(median, abs=5e-4)
    assert found[np.argmax(np.abs(found))] == pytest.approx(worst, abs=5e-4)
    assert f"| {known} | {median:.1%} | {worst:+.1%} |" in PAGE.replace(" %", "%")


def test_data_sheet(rows: NDArray[np.float64]) -> None:
    check(errors(rows, "1"), "data sheet", 0.182, -0.965)


def test_one_efficiency(rows: NDArray[np.float64]) -> None:
    """Of the row 4096 x 12288 x 12288."""
    stated = np.prod(rows[:, :3] == (4096, 12288, 12288), axis=1, dtype=bool)
    one = (flops(rows) / rows[:, 3] / PEAK_FLOP_PER_S)[stated].item()
    check(errors(rows, repr(one))[~stated], "one efficiency, 0.889", 0.089, -0.965)


def test_a_launch_beside_it(rows: NDArray[np.float64]) -> None:
    """The row 8192 x 64 x 64, whose roofline is 1 us, for the launch."""
    largest = np.prod(rows[:, :3] == (4096, 12288, 12288), axis=1, dtype=bool)
    smallest = np.prod(rows[:, :3] == (8192, 64, 64), axis=1, dtype=bool)
    launch_us = (rows[smallest, 3].item() - 2 * (2 * 8192 * 64 + 64 * 64) / 2039e9) * 1e6
    one = ((flops(rows) / PEAK_FLOP_PER_S)[largest] / (rows[largest, 3] - launch_us / 1e6)).item()
    known = "one efficiency, 0.895, and a launch, 28.6 us"
    assert (one, launch_us) == (pytest.approx(0.895, abs=5e-4), pytest.approx(28.6, abs=0.05))
    check(errors(rows, repr(one), launch_us)[~(largest | smallest)], known, 0.042, -0.103)


def test_a_table_over_flops(rows: NDArray[np.float64]) -> None:
    """The ten rows of m = 8192 are the table, those of n = k = 12288 are foreseen."""
    table = rows[10:]
    reached = flops(table) / table[:, 3] / PEAK_FLOP_PER_S
    points = ", ".join(f"[{x!r}, {y!r}]" for x, y in zip(flops(table).tolist(), reached.tolist(), strict=True))
    found = errors(rows, f"{{formula: flops, points: [{points}]}}")
    assert np.abs(found[10:]).max() < 1e-12  # at the points themselves
    check(found[:10], "a table of 10 sizes", 0.030, -0.212)
