"""Efficiency and launch of an accelerator from products of matrices: times made by hand from known constants."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.calibration.benchmarks.machine_constants import MachineCalibration, calibrate_machine
from simcodesign.core.errors import InputError
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable

#: FLOP/s in bf16 and bytes a second of the memory of ``a100-cluster``, as its file states them.
ACCELERATOR = sc.Machine.load("a100-cluster").accelerator
assert ACCELERATOR is not None
RATE, PER_BYTE_S = float(ACCELERATOR.rates.bf16), float(ACCELERATOR.memory_per_byte_s)  # type: ignore[arg-type]
SIZES = [(64, 64, 64), (128, 4096, 4096), (1024, 4096, 4096), (8192, 8192, 8192), (64, 12288, 12288)]


def time_s(m: int, n: int, k: int, efficiency: float, launch_s: float) -> float:
    return launch_s + max(2 * m * n * k / (efficiency * RATE), 2 * (m * k + k * n + m * n) * PER_BYTE_S)


def calibrated(times: list[float]) -> MachineCalibration:
    rows = [
        BenchmarkRow("gemm", "time", value, line, "computation", dict(zip("mnk", map(float, size), strict=True)))
        for line, (size, value) in enumerate(zip(SIZES, times, strict=True), 1)
    ]
    return calibrate_machine("a100-cluster", [BenchmarkTable("gemm.csv", "gemm", tuple(rows))])


@given(efficiency=st.floats(0.05, 1.0), launch_us=st.floats(0.5, 100.0))
def test_constants_come_back(efficiency: float, launch_us: float) -> None:
    found = calibrated([time_s(*size, efficiency, launch_us * 1e-6) for size in SIZES])
    constants = {one.path: one.value for one in found.constants}
    assert constants["accelerator.efficiency"] == pytest.approx(efficiency, rel=1e-4)
    assert constants["accelerator.launch"] == pytest.approx(launch_us * 1e-6, rel=1e-3)


def test_a_calibrated_machine_has_the_times_that_were_measured(tmp_path: Path) -> None:
    found = calibrated([time_s(*size, 0.7, 20e-6) for size in SIZES])
    changes = {one.path: one.value for one in found.constants}
    machine = sc.Machine.load("a100-cluster", changes=changes)
    for m, n, k in SIZES:
        product = sc.Workload.load({"name": "one", "program": [{"kernel": {"gemm": [m, n, k], "type": "bf16"}}]})
        assert sc.forecast(product, machine, {"P": 1}).makespan_s == pytest.approx(
            time_s(m, n, k, 0.7, 20e-6), rel=1e-4
        )


def test_products_that_wait_for_memory_show_no_efficiency() -> None:
    rows = [
        BenchmarkRow("gemm", "time", time_s(m, m, 1, 0.5, 0.0), m, "computation", {"m": m, "n": m, "k": 1.0})
        for m in (2048, 4096, 8192)
    ]
    with pytest.raises(InputError, match="do not show the efficiency"):
        calibrate_machine("a100-cluster", [BenchmarkTable("gemm.csv", "gemm", tuple(rows))])
