"""Power over time as a plot, and the option that writes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.cli import app
from simcodesign.core.errors import InputError
from simcodesign.core.simulation_parts import PowerProfile
from simcodesign.engine.simulate import simulate
from simcodesign.report.results.power_plot import power_over_time, spans
from tests.shipped_pairs import powered

STEPS = st.lists(st.tuples(st.floats(0.01, 10), st.floats(0, 1e6)), min_size=1, max_size=60)


@given(STEPS, st.integers(1, 20))
def test_spans_keep_energy_and_peak(steps: list[tuple[float, float]], most: int) -> None:
    lasts, watts = (np.array(column) for column in zip(*steps, strict=True))
    profile = PowerProfile(np.concatenate([[0.0], np.cumsum(lasts)]), watts)
    edges, mean, highest = spans(profile, most)
    assert len(mean) == len(highest) == len(edges) - 1 <= max(most, len(steps))
    assert mean @ np.diff(edges) == pytest.approx(profile.energy_j, rel=1e-9, abs=1e-9)
    assert highest.max() == pytest.approx(profile.peak_w)
    assert (highest >= mean).all()


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_plot(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"power.{suffix}"
    power_over_time(simulate("jacobi", powered("torus-cluster"), {"P": 4}), path)
    assert path.stat().st_size > 1000


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no power over time"):
        power_over_time(simulate("jacobi", "torus-cluster", {"P": 4}), tmp_path / "power.png")


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
    return result.exit_code, result.output + str(result.exception or "")


@pytest.mark.thorough
def test_the_option(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "power.svg"
    code, text = run(
        "simulate",
        "fft3d",
        "keeneland",
        "--set",
        "n=1000",
        "--set",
        "machine.core_clock=2 GHz",
        "--write",
        f"power:{path}",
    )
    assert code == 0
    assert path.is_file()
    assert "energy" in text
    assert "13.2 kW of it static" in text
    for words, message in (
        (("--write", f"power:{tmp_path / 'power.txt'}"), "suffix of a file"),
        (("--write", str(tmp_path / "no" / "power.png")), "cannot be written"),
        (("--set", "machine.core_clok=2 GHz"), "did you mean 'machine.core_clock'"),
        (("--set", "machine.core_clock=2 s"), "Hz"),
        (("--set", "machine.core_clock=9 GHz"), "at most"),
        (("--set", "precision=half"), "single_complex"),
    ):
        code, text = run("simulate", "fft3d", "keeneland", *words)
        assert code != 0
        assert message in text


def test_tables_and_sheets() -> None:
    code, text = run("compare", "fft3d", "keeneland", "--set", "n=1000", "--set", "precision=single_complex")
    assert code == 0
    assert "Energy: forecast" in text
    code, text = run("show", "keeneland")
    assert code == 0
    for part in (
        "machine.core_clock",
        "memory_bandwidth",
        "static power",
        "13.2 kW",
        "never at the same time",
        "on (0.75), off (1)",
    ):
        assert part in text
    code, text = run("show", "comd-eam")
    assert "loads spline*pairs from table" in text
    assert "as dp, simd, fmad" in text
