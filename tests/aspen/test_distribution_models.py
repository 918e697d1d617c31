"""The models of the Aspen distribution: the run times that its own tool prints, and figures of the paper on it.

Spafford & Vetter, Sci. Prog. 2015, article 157305. The models stand beside the checkout; without them all is skipped.
"""

from __future__ import annotations

import csv
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from simcodesign.aspen.application import Application, load_application
from simcodesign.aspen.capacity import data_bytes, memory_bytes
from simcodesign.aspen.machine import AspenMachine, load_machine
from simcodesign.aspen.parse import parse_file
from simcodesign.aspen.power import energy_j, machine_max_power_w, max_power_w, static_power_w
from simcodesign.aspen.timing import Timing, run_time

GPU = "nvidia_m2090"
application_at = cache(load_application)
machine_at = cache(load_machine)


@pytest.fixture(scope="module")
def models(cases: Path) -> Path:
    return cases / "aspen" / "models"


@pytest.fixture(scope="module")
def rows(cases: Path) -> list[dict[str, str]]:
    with (cases / "aspen" / "expected_runtime.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def keeneland(models: Path) -> AspenMachine:
    return machine_at(models / "machine" / "keeneland.aspen")


@pytest.fixture(scope="module")
def fft(models: Path) -> Application:
    return application_at(models / "3dfft" / "3D_FFT.aspen")


@pytest.fixture(scope="module")
def tile(models: Path) -> Application:
    return application_at(models / "echelon" / "tiling" / "tile.aspen")


def read_row(row: dict[str, str]) -> tuple[str, float]:
    """The kernel and its seconds: a model without a kernel ``main`` has ``kernel: name seconds``."""
    *kernel, seconds = row["runtime_s"].split()
    return (kernel[1] if kernel else "main"), float(seconds)


def test_every_run_time_of_the_original(models: Path, rows: list[dict[str, str]]) -> None:
    assert len(rows) > 160
    for row in rows:
        kernel, seconds = read_row(row)
        application, machine = application_at(models / row["app"]), machine_at(models / row["machine"])
        timing = run_time(application, machine, row["socket"], kernel=kernel, compatible=True)
        assert timing.seconds == pytest.approx(seconds, rel=1e-9), row  # printed with 12 digits


def test_only_models_with_map_or_par_are_read_differently(models: Path, rows: list[dict[str, str]]) -> None:
    for row in rows:
        kernel, seconds = read_row(row)
        application, machine = application_at(models / row["app"]), machine_at(models / row["machine"])
        timing = run_time(application, machine, row["socket"], kernel=kernel)
        if "tile" in row["app"]:
            assert np.asarray(timing.overlap_s) >= 0
            assert timing.seconds <= seconds * (1 + 1e-9)
        else:
            assert timing.overlap_s == 0


def test_all_models_are_read(models: Path) -> None:
    files = sorted(models.rglob("*.aspen"))
    assert len(files) > 50
    for path in files:
        if path.parent.name != "memory":  # those include others by a path relative to the machines
            file = parse_file(path)
            assert len(file.models) == ("machine" not in path.parts)


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        # On one socket of 4 cores at 1 flop/ns with 4 B/ns, by hand.
        ("array", 20e-9),  # the item at index 1
        ("enum1", 2000e-9),
        ("enum2", 100e-9),
        ("if_test_0", 0.0),
        # 5 times ceil(1000/4) * 1000 flops, and once for each of the five values.
        ("loopcounter1", (5 + 6 + 11 + 30 + 100 + 1000) * 250 * 1000 * 1e-9),
        ("sample0", 250 * 2000 * 0.5 * 1e-9),  # at the mean of the draw
        ("table", 6e-9),
        ("lookup", 10e-9),  # below the first key
    ],
)
def test_examples_by_hand(models: Path, name: str, seconds: float) -> None:
    application = application_at(models / "examples" / f"{name}.aspen")
    machine = machine_at(models / "machine" / "simple.aspen")
    assert run_time(application, machine).seconds == pytest.approx(seconds, rel=1e-12)


# --- the streaming sensor problem -------------------------------------------------------------------------------


def total(timing: Timing, resource: str) -> np.ndarray:
    amounts = [np.asarray(use.amount) for block in timing.blocks for use in block.uses if use.resource == resource]
    return np.sum(np.broadcast_arrays(*amounts), axis=0)


def test_the_best_tile_factor(tile: Application, keeneland: AspenMachine) -> None:
    tf = np.arange(16, 65)
    # The model's sum, written out: pulses 2809, samples 80636, pixels 114036 on a side, 18 flops for sine and cosine.
    prf, samples, pixels = 2809, 80636, 114036
    pulses = np.ceil(prf / tf)
    tiles = prf * 4 * samples * np.log2(samples) + prf * (10 + 21 * samples) + pulses * np.ceil(samples / tf) * 138
    expected = tf**2 * tiles + pixels**2 * 44 * pulses
    for compatible in (False, True):
        flops = total(run_time(tile, keeneland, GPU, {"tf": tf}, compatible=compatible), "flops")
        np.testing.assert_allclose(flops, expected, rtol=1e-13)
    assert tile.search_range("tf") == (16, 64)
    assert tf[np.argmin(flops)] == 34
    assert np.min(flops) == pytest.approx(7.0092648505e13, rel=1e-10)
    assert flops[tf == 32][0] == pytest.approx(7.03763e13, rel=1e-5)


# --- the 3D FFT on Keeneland ------------------------------------------------------------------------------------


def test_the_largest_fft_in_the_memory_of_all_gpus(fft: Application, keeneland: AspenMachine) -> None:
    assert memory_bytes(keeneland, GPU) == 360 * 6e9
    n = np.arange(5000, 5300)
    fits = data_bytes(fft, {"n": n})["fftVolume"] <= memory_bytes(keeneland, GPU)
    assert n[fits].max() == 5129


def test_the_largest_fft_in_ten_seconds(fft: Application, keeneland: AspenMachine) -> None:
    # All pencils go through one interconnect, one after the other.
    n = np.arange(900, 1100)
    seconds = run_time(fft, keeneland, GPU, {"n": n}, compatible=True).seconds  # the model's range begins at 1000
    assert n[np.asarray(seconds) <= 10].max() in (994, 995)


def test_the_machine_is_twice_as_fast_where_it_is_twice_as_large(fft: Application, keeneland: AspenMachine) -> None:
    timing = run_time(fft, keeneland, GPU, {"n": 6000, "klNodes": np.array([60, 120])}, kernel="localFFT")
    assert np.asarray(timing.seconds)[0] == 2 * np.asarray(timing.seconds)[1]


def test_powers_of_keeneland(fft: Application, keeneland: AspenMachine) -> None:
    static = 120 * (2 * 10 + 3 * 30)
    assert static_power_w(keeneland) == static
    # Cores and memory of a GPU exclude each other: 30 W idle and 220 W more at work, its 250 W.
    timing = run_time(fft, keeneland, GPU, {"n": 2000})
    assert max_power_w(timing) == static + 360 * 220
    # Without an application both cores and memories of the processors work, and their two kinds of core operations.
    assert machine_max_power_w(keeneland) == static + 360 * 220 + 240 * 3 * 80


def test_energy_of_the_fft(fft: Application, keeneland: AspenMachine) -> None:
    n = np.array([1000.0, 5000.0])
    timing = run_time(fft, keeneland, GPU, {"n": n})
    core_s = 3 * n**2 * 5 * n * np.log2(n) / 1.3e9 * 2 / 32
    loads = 3 * n**2 * (50e-9 / 32 + 6.3 * n * 16 * np.maximum(1, np.log(n) / np.log(24e6)) / 133.2e9)
    moved = 2 * n**2 * 2 * (50e-9 / 32 + n * 16 / 133.2e9)
    network_j = 2 * n**3 * 16 * 20e-9
    expected = 13200 * np.asarray(timing.seconds) + core_s * 220 / 16 + (loads + moved) * 220 + network_j
    np.testing.assert_allclose(energy_j(timing), expected, rtol=1e-12)


@pytest.mark.benchmark
def test_a_million_run_times_a_second(fft: Application, keeneland: AspenMachine) -> None:
    n = np.linspace(1000, 10000, 10**6)
    times = []
    for _ in range(5):
        start = time.process_time()
        run_time(fft, keeneland, GPU, {"n": n})
        times.append(time.process_time() - start)
    print(f"\n3D FFT on Keeneland: {1e6 / min(times):.3g} run times a CPU second")
    assert min(times) < 1
