"""Plots: a file of the right format and size, with the axes and texts that belong in it, and an error for all else."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.compare import Comparison, compare
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.engine.simulate import simulate
from simcodesign.report.common.plot_style import effects_text, headings, seconds_text
from simcodesign.report.results import plots
from tests import ROOT

matplotlib = pytest.importorskip("matplotlib")

MACHINE = """
simcodesign: 1
name: box
nodes: 8
processor: {rate: 100 MFLOP/s}
network: {topology: {kind: bus}, sends: blocking, startup: 100 us, bandwidth: 10 MB/s}
disk: {read_startup: 1 ms, write_startup: 2 ms, bandwidth: 20 MB/s, shared_by: all}
"""
WORKLOAD = """
simcodesign: 1
name: toy
parameters:
  n: {default: 1e5}
presets:
  big: {n: 1e6}
program:
  - phase: first
    repeat: 2
    do:
      - compute: {flops: "n*(1 + rank)"}
      - all_to_all: {bytes: 1000}
      - write: {bytes: 1000}
  - phase: second
    do:
      - compute: {flops: n}
      - barrier: {}
"""


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("described")
    (folder / "m.yaml").write_text(MACHINE, encoding="utf-8")
    (folder / "w.yaml").write_text(WORKLOAD, encoding="utf-8")
    return folder / "w.yaml", folder / "m.yaml"


@pytest.fixture(scope="module")
def runs(described: tuple[Path, Path]) -> list[Result]:
    return [simulate(*described, {"P": ranks}, preset="big", timeline=True) for ranks in (2, 4, 8)]


@pytest.fixture(scope="module")
def forecasted(described: tuple[Path, Path]) -> Result:
    return forecast(*described, {"P": 4})


@pytest.fixture(scope="module")
def comparison(described: tuple[Path, Path]) -> Comparison:
    return compare(*described, {"P": 4})


def png_size(path: Path) -> tuple[int, int]:
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def axes_of(path: Path) -> int:
    """Number of axes of an SVG file."""
    return sum(element.get("id", "").startswith("axes_") for element in ElementTree.parse(path).iter())


def texts(path: Path) -> list[str]:
    """Texts of an SVG file: Matplotlib writes each as a comment before its outlines."""
    return [unescape(text).strip() for text in re.findall(r"<!--(.*?)-->", path.read_text(encoding="utf-8"), re.DOTALL)]


# Activity profiles.


@pytest.mark.thorough
def test_activity_of_several_runs(runs: list[Result], tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    plots.activity_profile(runs, path)
    assert axes_of(path) == 9
    result = texts(path)
    assert "toy on box, preset big, simulation with all effects" in result
    assert {"P = 2", "P = 4", "P = 8", "first", "second", "paler: waiting", "disk I/O", "time (ms)"} <= set(result)
    assert sum("of processor time, at most" in text for text in result) == 9


def test_activity_of_one_run_with_a_title(runs: list[Result], tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    plots.activity_profile(runs[0], path, titles=["cost $5 and $6"])
    assert axes_of(path) == 3
    assert {"cost $5 and $6", "toy on box, preset big, P = 2, simulation with all effects"} <= set(texts(path))


def test_the_share_of_processor_time_is_that_of_the_ranks(runs: list[Result], tmp_path: Path) -> None:
    plots.activity_profile(runs[1], tmp_path / "a.svg")
    ranks = runs[1].ranks
    assert ranks is not None
    shares = ranks.busy_s.sum(axis=(0, 1))[:3] / (4 * float(runs[1].makespan_s))
    notes = [text for text in texts(tmp_path / "a.svg") if "of processor time" in text]
    assert [note.split(" of ")[0] for note in notes] == [f"{share:.1%}" for share in shares]


def test_a_long_run_is_averaged(runs: list[Result], tmp_path: Path) -> None:
    shown = runs[0].timeline
    assert shown is not None
    often = {
        name: np.tile(getattr(shown, name), 50)
        for name in vars(shown)
        if name not in ("phases", "stations_of", "services")
    }
    moments = np.arange(len(often["rank"])) * 0.1
    times = {"ready_s": moments, "start_s": moments, "finish_s": moments + 0.05}
    plots.activity_profile(replace(runs[0], timeline=replace(shown, **(often | times))), tmp_path / "a.svg")
    (label,) = (text for text in texts(tmp_path / "a.svg") if "least and most" in text)
    # A figure of 9 inches has 720 steps.
    assert label == f"time (s), least and most within {seconds_text((moments[-1] + 0.05) / 720)}"


def test_a_run_of_no_time_is_drawn(runs: list[Result], tmp_path: Path) -> None:
    shown = runs[0].timeline
    assert shown is not None
    nothing = {
        name: getattr(shown, name)[:0]
        for name in vars(shown)
        if name not in ("phases", "stations_of", "services", "line")
    }
    plots.activity_profile(replace(runs[0], timeline=replace(shown, **nothing)), tmp_path / "a.svg")
    assert axes_of(tmp_path / "a.svg") == 1


def test_more_phases_than_colours(runs: list[Result], tmp_path: Path) -> None:
    shown = runs[0].timeline
    assert shown is not None
    phases = tuple(f"_phase {number}" for number in range(30))
    shown = replace(shown, phases=phases, phase=np.arange(len(shown.phase), dtype=np.int16) % 30)
    plots.activity_profile(replace(runs[0], timeline=shown), tmp_path / "a.svg")
    result = texts(tmp_path / "a.svg")
    assert "_phase 0" in result
    assert any(re.fullmatch(r"and \d+ more", text) for text in result)


# Bars.


@pytest.mark.thorough
def test_bars_of_a_simulation(runs: list[Result], tmp_path: Path) -> None:
    path = tmp_path / "b.svg"
    plots.result_bars(runs[1], path)
    assert axes_of(path) == 1
    result = texts(path)
    assert {"first", "second", "total", "computation", "communication", "disk"} <= set(result)
    assert "memory" not in result
    assert seconds_text(float(runs[1].makespan_s)) in result
    assert any(text.startswith("toy on box, preset big, P = 4, simulation") for text in result)


def test_bars_of_a_forecast(forecasted: Result, tmp_path: Path) -> None:
    plots.result_bars(forecasted, tmp_path / "b.svg")
    result = texts(tmp_path / "b.svg")
    assert f"toy on box, P = 4, forecast: {seconds_text(float(forecasted.makespan_s))}" in result
    assert not any("waiting" in text for text in result)


def test_comparison(comparison: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "c.svg"
    plots.comparison_bars(comparison, path)
    assert axes_of(path) == 2
    result = texts(path)
    assert {"forecast", "simulated", "dependencies and waiting", "links", "disks", "simulation"} <= set(result)
    assert "noise" not in result  # nothing on this machine varies: it is named below
    assert f"error against simulated: forecast {comparison.error:+.1%}".replace("-", "\N{MINUS SIGN}") in result
    assert any(text.startswith(f"gap: {seconds_text(abs(comparison.difference_s))}") for text in result)
    steps = [rung.change_s for rung in comparison.rungs if rung.applies]
    marks = [f"{'+' if step > 0 else chr(0x2212)}{seconds_text(abs(step))}" for step in steps if step]
    assert set(marks) <= set(result)
    assert result.count("0") >= steps.count(0.0)


@pytest.mark.thorough
def test_comparisons_with_measurements(comparison: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "c.svg"
    whole = float(comparison.simulation.makespan_s)
    plots.comparison_bars([comparison] * 3, path, [None, {"total": 2 * whole}, {"computation": whole, "disk": 0}])
    assert axes_of(path) == 6
    result = texts(path)
    assert result.count("measured") == 2
    assert "not split up" in result
    ratio = float(comparison.forecast.makespan_s) / whole
    twice = f"error against measured: forecast {ratio / 2 - 1:+.1%}, simulated -50.0%".replace("-", "\N{MINUS SIGN}")
    once = f"error against measured: forecast {ratio - 1:+.1%}, simulated 0.0%".replace("-", "\N{MINUS SIGN}")
    assert {twice, once} <= set(result)


def test_a_small_gap_cuts_the_axis_and_says_so(comparison: Comparison, tmp_path: Path) -> None:
    rungs = tuple(
        replace(
            rung,
            simulation=replace(comparison.forecast, makespan_s=float(comparison.forecast.makespan_s) * 1.001),
            change_s=0.001 * float(comparison.forecast.makespan_s) if place == 0 else 0.0,
        )
        for place, rung in enumerate(comparison.rungs)
    )
    plots.comparison_bars(replace(comparison, rungs=rungs), tmp_path / "c.svg")
    result = texts(tmp_path / "c.svg")
    assert any("axis does not begin at 0" in text for text in result)
    assert any(text.endswith("0.1% of the simulated time") for text in result)


def test_no_gap(comparison: Comparison, tmp_path: Path) -> None:
    same = tuple(replace(rung, simulation=comparison.forecast, change_s=0.0) for rung in comparison.rungs)
    plots.comparison_bars(replace(comparison, rungs=same), tmp_path / "c.svg")
    result = texts(tmp_path / "c.svg")
    assert "gap: none" in result
    assert not any("axis does not begin" in text for text in result)


# Files and errors.


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["png", "PNG", "svg", "pdf"])
def test_formats_and_the_same_file_twice(forecasted: Result, tmp_path: Path, suffix: str) -> None:
    first, second = (tmp_path / f"{number}.{suffix}" for number in (1, 2))
    plots.result_bars(forecasted, first)
    plots.result_bars(forecasted, str(second))
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix.lower()]
    assert first.read_bytes().startswith(start)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.thorough
def test_the_size_of_a_png(runs: list[Result], forecasted: Result, tmp_path: Path) -> None:
    plots.activity_profile(runs, tmp_path / "a.png")
    assert png_size(tmp_path / "a.png") == (round(12.6 * 150), round(6.6 * 150))
    phases = {
        f"phase {number}": dict.fromkeys(("computation", "communication", "disk", "memory"), 1.0)
        for number in range(170)
    }
    plots.result_bars(replace(forecasted, phases=phases), tmp_path / "b.png")
    assert png_size(tmp_path / "b.png") == (9 * 150, 60 * 150)


def test_settings_are_left_as_they_were(forecasted: Result, tmp_path: Path) -> None:
    with matplotlib.rc_context({"font.size": 33.0, "axes.grid": True}):
        before = dict(matplotlib.rcParams)
        plots.result_bars(forecasted, tmp_path / "1.svg")
        assert dict(matplotlib.rcParams) == before
    plots.result_bars(forecasted, tmp_path / "2.svg")
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()


@pytest.mark.thorough
def test_pyplot_is_never_imported_nor_matplotlib_before_it_is_needed(tmp_path: Path) -> None:
    code = (
        "import sys; import simcodesign as sc; from simcodesign.report.results import plots; assert 'matplotlib' not in sys.modules;"
        "plots.result_bars(sc.forecast('jacobi', 'crossbar-16', {'P': 4}), sys.argv[1]);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    root = ROOT
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "m.png")], check=True, cwd=root)


def test_without_matplotlib(forecasted: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"simcodesign\[plot\]"):
        plots.result_bars(forecasted, tmp_path / "b.png")


@pytest.mark.parametrize("name", ["b", "b.gif", "b.json"])
def test_an_unknown_suffix_is_an_error(forecasted: Result, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"\.png, \.svg, \.pdf"):
        plots.result_bars(forecasted, tmp_path / name)
    assert not (tmp_path / name).exists()


def test_a_path_that_cannot_be_written_is_an_error(forecasted: Result, tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    for path in (tmp_path / "no" / "b.png", tmp_path / "folder.png"):
        with pytest.raises(InputError, match="cannot be written"):
            plots.result_bars(forecasted, path)


def test_errors_of_activity_profiles(runs: list[Result], forecasted: Result, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    with pytest.raises(InputError, match="at least one"):
        plots.activity_profile([], path)
    with pytest.raises(InputError, match="titles of 3 results"):
        plots.activity_profile(runs, path, titles=["one"])
    for silent in (forecasted, replace(runs[0], timeline=None)):
        with pytest.raises(InputError, match="timeline=True"):
            plots.activity_profile([runs[0], silent], path)


def test_errors_of_bars(
    forecasted: Result, described: tuple[Path, Path], comparison: Comparison, tmp_path: Path
) -> None:
    path = tmp_path / "b.png"
    with pytest.raises(InputError, match="one design point"):
        plots.result_bars(forecast(*described, {"n": np.array([2.0, 4.0])}), path)
    with pytest.raises(InputError, match="finite"):
        plots.result_bars(replace(forecasted, makespan_s=float("nan")), path)
    with pytest.raises(InputError, match="at least one"):
        plots.comparison_bars([], path)
    with pytest.raises(InputError, match="measurements of 1"):
        plots.comparison_bars(comparison, path, [])
    with pytest.raises(InputError, match="did you mean 'disk'"):
        plots.comparison_bars(comparison, path, [{"disks": 1.0}])
    for bad in (-1.0, float("nan"), float("inf"), True, "1"):
        with pytest.raises(InputError, match="measured total"):
            plots.comparison_bars(comparison, path, [{"total": bad}])  # type: ignore[dict-item]


# Texts.


def test_headings_part_what_is_common_from_what_is_not(runs: list[Result], forecasted: Result) -> None:
    assert headings(runs) == ("toy on box, preset big, simulation with all effects", ["P = 2", "P = 4", "P = 8"])
    common, apart = headings([forecasted, replace(runs[0], values={"P": 4.0}, preset=None, effects=("links", "disks"))])
    assert common == "toy on box, P = 4"
    assert apart == ["forecast", "simulation with links + disks"]
    assert effects_text(()) == "no effects"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (3.18e-4, "318 us"), (27.89758, "27.9 s"), (6084.3, "6,084 s"), (999.96, "1,000 s"), (1.5, "1.5 s")],
)
def test_seconds_as_text(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text
