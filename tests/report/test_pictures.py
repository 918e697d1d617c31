"""Answers that draw themselves into axes: what is drawn is what the answers hold, in the colours of all pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.core.registry import function_of
from simcodesign.studies.explore.pareto import pareto_front
from simcodesign.studies.explore.solvers.solve import solve
from simcodesign.studies.replication.replicate import replication_seed
from tests import ROOT
from tests.oracles.design_problems import problem

matplotlib = pytest.importorskip("matplotlib")
ORANGE, BLUE = (matplotlib.colors.to_rgba(colour) for colour in ("#E69F00", "#0072B2"))
FLAT = {"name": "flat", "nodes": 4, "processor": {"rate": "1 GFLOP/s"}}
FLAT |= {"network": {"topology": {"kind": "crossbar"}, "startup": "1 us", "bandwidth": "1 GB/s"}}
WORK = {
    "name": "work",
    "program": [{"phase": "first", "do": [{"compute": {"flops": "1e6"}}, {"broadcast": {"bytes": 8000}}]}],
}


@pytest.fixture(autouse=True)
def no_windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.fixture
def axes() -> Any:
    return matplotlib.figure.Figure().subplots()


@pytest.fixture(scope="module")
def case() -> tuple[sc.Workload, sc.Machine]:
    return sc.Workload.load(WORK), sc.Machine.load(FLAT)


def bars(axes: Any) -> list[tuple[float, float, tuple[float, ...]]]:
    """Where each bar begins, its length and its colour."""
    return [(one.get_x(), one.get_width(), one.get_facecolor()) for one in axes.patches]


def test_the_ladder_of_a_comparison(case: Any, axes: Any) -> None:
    comparison = sc.compare(*case, {"P": 4})
    assert comparison.plot(axes) is axes
    drawn = {colour: width for _, width, colour in bars(axes)}
    assert drawn[ORANGE] == comparison.forecast.makespan_s
    assert drawn[BLUE] == comparison.simulation.makespan_s
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert (names[0], names[-1]) == ("forecast", "simulation")


def test_the_times_of_a_comparison(case: Any, axes: Any) -> None:
    """By hand: 1 ms of computation in both readings."""
    sc.compare(*case, {"P": 1}).plot(axes, kind="times")
    assert [width for _, width, _ in bars(axes) if width] == pytest.approx([1e-3, 1e-3])


def test_a_gantt_chart_has_every_operation(case: Any, axes: Any) -> None:
    result = sc.simulate(*case, {"P": 2}, effects="none", timeline=True)
    result.plot(axes)
    computing = [(begin, width) for begin, width, colour in bars(axes) if colour == BLUE]
    assert computing == [(0.0, pytest.approx(1e-3))] * 2
    assert axes.get_xlim() == (0.0, result.makespan_s)


def test_phases_where_there_is_no_timeline(case: Any, axes: Any) -> None:
    """1 ms of computation and one message of 1 us and 8000 ns."""
    sc.forecast(*case, {"P": 2}).plot(axes)
    widths = [width for _, width, _ in bars(axes) if width]
    assert sorted(widths) == pytest.approx([9e-6, 9e-6, 1e-3, 1e-3])


def test_stations(axes: Any) -> None:
    result = sc.simulate("broadcast", "mesh-256", {"P": 8}, effects="links")
    result.plot(axes, kind="stations")
    longest = max(one.busy_s for one in result.stations)
    assert max(width for _, width, _ in bars(axes)) == longest


def test_several_machines_as_bars_and_over_an_axis(axes: Any, case: Any) -> None:
    work, machine = case
    machines = [machine, sc.Machine.load(FLAT | {"name": "other"}, {"network.startup": "5 us"})]
    several = sc.compare(work, machines, {"P": 4})
    several.plot(axes)
    wanted = [time_s for one in several.comparisons for time_s in (one.forecast_s, one.simulated.mean)]
    assert [width for _, width, _ in bars(axes)] == wanted
    over = sc.compare(work, machines, vary={"P": [2, 4]}).plot()
    lines = [tuple(line.get_ydata()) for line in over.get_lines()]
    assert several.comparisons[1].forecast_s in [line[-1] for line in lines]
    assert len(lines) == 4


def test_replications_of_several_machines(axes: Any) -> None:
    """Points against simulations that are made one by one, intervals against Student's by SciPy."""
    machines = ["torus-cluster", "torus-cluster with network.startup=2 ms"]
    several = sc.compare("random-steps", machines, {"P": 2, "steps": 1}, replications=4, seed=3, level=0.9)
    several.plot(axes, kind="replications")
    seeds = [replication_seed(3, number) for number in range(4)]
    lines = [line.get_xdata() for line in axes.get_lines()]
    assert len(lines) == 6
    for number, name in enumerate(machines):
        times_s = [sc.simulate("random-steps", name, {"P": 2, "steps": 1}, seed=seed).makespan_s for seed in seeds]
        points, mean, ends = lines[3 * number : 3 * number + 3]
        assert [*points] == times_s
        assert mean[0] == pytest.approx(np.mean(times_s))
        assert [*ends] == pytest.approx(stats.t.interval(0.9, 3, np.mean(times_s), stats.sem(times_s)))
    assert "mean and its 90 % interval" in [text.get_text() for text in axes.get_legend().get_texts()]
    with pytest.raises(InputError, match="without replications"):
        sc.compare("burst", ["mesh-256", "hypercube-256"], {"P": 2}).plot(kind="replications")


def test_a_sweep_over_one_axis(axes: Any) -> None:
    swept = sc.sweep("jacobi", "torus-cluster", vary=["P=1:8:x2"])
    swept.plot(axes)
    (line,) = axes.get_lines()
    assert [*line.get_ydata()] == [*swept.table["makespan_s" if "makespan_s" in swept.table else "forecast_makespan_s"]]
    assert matplotlib.colors.to_rgba(line.get_color()) == ORANGE


def test_a_fit(axes: Any, tmp_path: Path) -> None:
    """Of 3 p: the line ends at 3 x 128, four times the largest, which is the target."""
    path = tmp_path / "runs.csv"
    path.write_text("p,value\n" + "".join(f"{p},{3 * p}\n" for p in (2, 4, 8, 16, 32) for _ in range(2)), "utf-8")
    (fitted,) = sc.fit(path)
    assert fitted.values.shape == (5, 2)
    fitted.plot(axes)
    assert axes.get_lines()[0].get_ydata()[-1] == pytest.approx(3 * 128)


def test_a_trust_map_of_a_formula(axes: Any) -> None:
    vary = {"P": [2, 4], "m": [1000, 64000]}
    swept = sc.sweep(
        "broadcast",
        sc.Machine.load(FLAT),
        vary=vary,
        simulate=True,
        effects="none",
        formulas="half = ceil(log2(P))*(t_s + m*t_w)/2",
    )
    swept.plot(axes, kind="trust", formula="half")
    assert [text.get_text() for text in axes.texts] == ["\N{MINUS SIGN}50"] * 4


def test_a_slice_through_an_optimum(axes: Any) -> None:
    """Of n^2/8 + 2/n, whose derivative is 0 at n = 2: the marked point is (2, 1.5)."""
    found = solve(problem(["n=1:4"], {"time": "n**2/8 + 2/n"}, ["time"]))
    found.plot(axes)
    ((x, y),) = (line.get_xydata()[0] for line in axes.get_lines() if line.get_marker() == "D")
    assert (x, y) == pytest.approx((2.0, 1.5), rel=1e-3)


def test_a_front(axes: Any) -> None:
    """Of n and 8/n: the product of both objectives is 8 at each point."""
    front = pareto_front(problem(["n=1:8:whole"], {"cost": "1*n", "time": "8/n"}, ["cost", "time"]))
    front.plot(axes)
    (line,) = (one for one in axes.get_lines() if one.get_label() == "front")
    assert [x * y for x, y in line.get_xydata()] == pytest.approx([8.0] * len(front.points))
    assert len(front.points) == 8


def test_a_figure_of_its_own_leaves_the_settings(case: Any) -> None:
    before = dict(matplotlib.rcParams)
    axes = sc.plot(sc.forecast(*case, {"P": 2}))
    assert axes.figure.get_figwidth() == 8.0
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    ("answer", "options", "words"),
    [
        (3, {}, "an answer without a picture"),
        ("comparison", {"kind": "gant"}, "kind of a picture"),
        ("comparison", {"kind": "gantt"}, "kind of a picture"),
    ],
)
def test_what_cannot_be_drawn(case: Any, axes: Any, answer: Any, options: dict[str, str], words: str) -> None:
    shown = sc.compare(*case, {"P": 2}, effects="none") if answer == "comparison" else answer
    with pytest.raises(InputError, match=words):
        sc.plot(shown, axes, **options)


def test_functions_that_methods_call_exist() -> None:
    """They are named in texts, of which no type checker knows anything."""
    named = [
        found
        for path in (ROOT / "simcodesign").rglob("*.py")
        for found in re.findall(r'function_of\("([\w.]+)", "(\w+)"\)', path.read_text(encoding="utf-8"))
    ]
    assert len(named) == 3
    assert all(callable(function_of(module, name)) for module, name in named)
