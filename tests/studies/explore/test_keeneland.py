"""The shipped native files of the Aspen paper's examples, by hand and against the reader of the original models.

Spafford and Vetter, Sci. Prog. 2015, article 157305.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.aspen.application import load_application
from simcodesign.aspen.machine import load_machine as load_aspen_machine
from simcodesign.aspen.power import energy_j, max_power_w
from simcodesign.aspen.timing import Timing, run_time
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate

GPUS, MULTIPROCESSORS, LANES, CLOCK_HZ = 360, 16, 32, 1.3e9
BYTES_PER_S, LATENCY_S = 3.7e9 * 48 * 0.75, 50e-9 / 32


def transform_s(n: float, links: int) -> float:
    """Three sweeps and two shuffles and exchanges of n x n pencils, in full turns of the units that they share."""
    pencils, pencil = n * n, 16 * n
    flops = math.ceil(pencils / (GPUS * MULTIPROCESSORS)) * 5 * n * math.log2(n) * 2 / LANES / CLOCK_HZ
    misses = 6.3 * pencil * max(1.0, math.log(n) / math.log(24e6))
    turns = math.ceil(pencils / GPUS)
    sweep = flops + turns * (LATENCY_S + misses / BYTES_PER_S)  # they conflict
    shuffle = 2 * turns * (LATENCY_S + pencil / BYTES_PER_S)
    exchange = math.ceil(pencils / links) * (1.07e-6 + pencil / 4e9)
    return 3 * sweep + 2 * (shuffle + exchange)


@pytest.mark.parametrize("links", [1, 120, 360])
@pytest.mark.parametrize("n", [1000, 1024, 5000, 8192])
def test_transform_by_hand(n: int, links: int) -> None:
    result = forecast("fft3d", "keeneland", {"n": n, "machine.links": links})
    assert result.makespan_s == pytest.approx(transform_s(n, links), rel=1e-9)


def test_the_largest_transform() -> None:
    """Memory holds n = 5129, ten seconds allow 5012 over 120 links and 6762 over 360, and 5 MJ are never used."""
    n = np.arange(4900, 7000)
    result = forecast("fft3d", "keeneland", {"n": n})
    assert n[result.fits].max() == math.floor((GPUS * 6e9 / 16) ** (1 / 3)) == 5129
    assert n[result.makespan_s <= 10].max() == 5012
    assert n[forecast("fft3d", "keeneland", {"n": n, "machine.links": 360}).makespan_s <= 10].max() == 6762
    within = result.makespan_s <= 10
    # All GPUs at 250 W and the other sockets' 10 W, for ten seconds: less than a fifth of 5 MJ.
    most = 10 * (GPUS * 250 + 240 * 10)
    assert result.peak_power_w[within].max() == pytest.approx(most / 10)
    assert result.energy_j[within].max() < most < 1e6


def test_energy_of_the_transform_by_hand() -> None:
    n = 5012
    forecasted = forecast("fft3d", "keeneland", {"n": n})
    pencil, pencils = 16.0 * n, n * n
    flops = pencils * 5 * n * math.log2(n) * 2 / LANES / CLOCK_HZ * 220 / MULTIPROCESSORS
    misses = 6.3 * pencil * max(1.0, math.log(n) / math.log(24e6))
    loads = pencils * (LATENCY_S + misses / BYTES_PER_S) * 220
    shuffle = 2 * pencils * (LATENCY_S + pencil / BYTES_PER_S) * 220
    static = (GPUS * 30 + 240 * 10) * transform_s(n, 120)
    assert forecasted.energy_j == pytest.approx(
        static + 3 * (flops + loads) + 2 * (shuffle + pencils * pencil * 20e-9), rel=1e-9
    )
    simulated = simulate("fft3d", "keeneland", {"n": n})
    assert simulated.makespan_s == pytest.approx(forecasted.makespan_s, rel=1e-12)
    assert simulated.energy_j == pytest.approx(forecasted.energy_j, rel=1e-12)


def tile_flops(tf: int) -> float:
    """What the transforms, phase shifts and interpolations of tf x tf tiles and the backprojection take."""
    pulses, samples, pixels = 2809, 80636, 114036
    fewer, resampled = math.ceil(pulses / tf), math.ceil(samples / tf)
    tiles = pulses * 4 * samples * math.log2(samples) + pulses * (10 + 21 * samples) + fewer * resampled * 138
    return tf**2 * tiles + pixels**2 * 44 * fewer


def test_the_best_tile_factor() -> None:
    tf = np.arange(16, 65)
    flops = forecast("sscp-tile", "keeneland", {"tf": tf}).flops
    assert flops == pytest.approx([tile_flops(int(one)) for one in tf], rel=1e-12)
    assert tf[np.argmin(flops)] == 34
    assert flops.min() == pytest.approx(7.0092648505e13, rel=1e-10)
    assert forecast("sscp-tile", "keeneland").makespan_s == pytest.approx(1.5751435022, rel=1e-10)


def test_forces() -> None:
    """7.423e9 flops and 9.184e9 B of a step; at 100 MHz the flops of 1000 steps take 0.744 s."""
    result = forecast("comd-eam", "keeneland")
    assert result.flops / 1000 == pytest.approx(7.423e9, rel=1e-4)
    assert (result.used["loads"] + result.used["stores"]) / 1000 == pytest.approx(9.184e9, rel=1e-4)
    slow = {"machine.core_clock": [1e8, 2e8], "machine.memory_clock": 4e9}
    times = forecast("comd-eam", "keeneland", slow).makespan_s
    assert 2 * (times[0] - times[1]) == pytest.approx(0.744, abs=5e-4)  # what halves with the clock


def test_the_machine() -> None:
    keeneland = load_machine("keeneland")
    values = keeneland.properties()
    assert values["machine_flops_dp"] == pytest.approx(239.616e12)
    assert values["machine_bandwidth"] == pytest.approx(47.952e12)
    assert keeneland.processors == GPUS
    assert keeneland.capacity_bytes == 18e9
    totals = keeneland.totals()
    assert totals.static_power_w == GPUS * 30 + 240 * 10
    assert (totals.rack_units, totals.die_area_m2, totals.price) == (None, None, None)
    without_ecc = keeneland.with_constants({"machine.ecc": 1.0})
    assert without_ecc.properties()["memory_bandwidth"] == 177.6e9


# --- Against the original models -----------------------------------------------------------------------------


def original(
    models: Path, application: str, parameters: dict[str, float] | None = None, kernel: str = "main"
) -> Timing:
    machine = load_aspen_machine(models / "machine" / "keeneland.aspen")
    return run_time(
        load_application(models / application), machine, "nvidia_m2090", parameters, kernel=kernel, compatible=True
    )


@pytest.fixture(scope="module")
def models(cases: Path) -> Path:
    return cases / "aspen" / "models"


@pytest.mark.parametrize("n", [1000, 3333, 8192, 10000])
def test_transform_against_the_original(models: Path, n: int) -> None:
    """The original's messages go one after another, and its other sockets draw what they draw idle."""
    timing = original(models, "3dfft/3D_FFT.aspen", {"n": n})
    result = forecast("fft3d", "keeneland", {"n": n, "machine.links": 1})
    assert result.makespan_s == pytest.approx(timing.seconds, rel=1e-9)
    assert result.energy_j == pytest.approx(energy_j(timing), rel=1e-9)


@pytest.mark.parametrize(("tf", "prf"), [(16, 2809), (32, 2809), (34, 2500), (64, 4000)])
def test_tiles_against_the_original(models: Path, tf: float, prf: float) -> None:
    timing = original(models, "echelon/tiling/tile.aspen", {"tf": tf, "prf": prf})
    result = forecast("sscp-tile", "keeneland", {"tf": tf, "prf": prf})
    assert result.makespan_s == pytest.approx(timing.seconds, rel=1e-9)
    assert result.energy_j == pytest.approx(energy_j(timing), rel=1e-9)
    assert result.peak_power_w == pytest.approx(max_power_w(timing), rel=1e-9)


@pytest.mark.parametrize(("atoms", "cells"), [(1048576, (57, 28, 114)), (32000, (20, 20, 20))])
def test_forces_against_the_original(models: Path, atoms: int, cells: tuple[int, int, int]) -> None:
    names = {"nAtom": atoms, "nCellsX": cells[0], "nCellsY": cells[1], "nCellsZ": cells[2]}
    timing = original(models, "comd/CoMD.aspen", names, "eamKernel")
    given = dict(zip(("atoms", "cells_x", "cells_y", "cells_z"), (atoms, *cells), strict=True))
    result = forecast("comd-eam", "keeneland", given)
    assert result.makespan_s == pytest.approx(timing.seconds, rel=1e-9)
    assert result.energy_j == pytest.approx(energy_j(timing), rel=1e-9)
