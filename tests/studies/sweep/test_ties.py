"""What follows the axes of a sweep, against readings of each point by itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from simcodesign.studies.sweep.design.grid import grid, parse_axis, unknown
from simcodesign.studies.sweep.design.ties import tied
from simcodesign.studies.sweep.evaluate import PointTask, evaluate, forecast_frame, pack
from simcodesign.studies.sweep.sweep import sweep_of
from simcodesign.studies.trust.sweep_in_memory import sweep

OVER = ["P=4,12,16", "size=1024,4096"]
TIES = ["nodes=P", "network.startup=2us*log2(P)", "network.bandwidth=1e6*size"]


def on_its_own(ranks: float, size: float) -> tuple[object, dict[str, float]]:
    parameters = {"P": ranks, "size": size, "network.startup": 2e-6 * math.log2(ranks), "network.per_byte": 1e-6 / size}
    shape = {4: [2, 2], 12: [4, 3], 16: [4, 4]}[int(ranks)]
    return load_machine("mesh-256", {"nodes": int(ranks), "network.topology.shape": shape}), parameters


def test_both_readings_are_those_of_each_point() -> None:
    sweep = sweep_of("burst", "mesh-256", OVER, ties=TIES, simulate=True)
    for row in evaluate(PointTask(pack(sweep), tuple(sweep.points()))):
        machine, parameters = on_its_own(float(row.axes["P"]), float(row.axes["size"]))
        assert row.axes["nodes"] == row.axes["P"]
        assert row.results["simulated_makespan_s"] == simulate("burst", machine, parameters).makespan_s  # type: ignore[arg-type]
        assert row.results["forecast_makespan_s"] == forecast("burst", machine, parameters).makespan_s  # type: ignore[arg-type]


def test_all_forecasts_at_once_are_those_of_each_point() -> None:
    table = forecast_frame(sweep_of("burst", "mesh-256", OVER, ties=TIES))
    assert list(table.columns[:6]) == ["point", "P", "size", "nodes", "network.startup", "network.bandwidth"]
    for _, row in table.iterrows():
        machine, parameters = on_its_own(row["P"], row["size"])
        assert row["forecast_makespan_s"] == pytest.approx(forecast("burst", machine, parameters).makespan_s, rel=1e-12)  # type: ignore[arg-type]


def test_nodes_of_the_machine_file_follow_ranks_as_a_tie_does() -> None:
    settings = {"nodes": "P", "network.topology.dims": "2"}
    followed = sweep_of("burst", "mesh-256", ["P=4,12,16"], settings=settings, simulate=True)
    tie = sweep_of("burst", "mesh-256", ["P=4,12,16"], ties=["nodes=P"], simulate=True)
    rows = [[row.results for row in evaluate(PointTask(pack(one), tuple(one.points())))] for one in (followed, tie)]
    assert rows[0] == rows[1]
    times = forecast_frame(followed)["forecast_makespan_s"]
    assert times.tolist() == pytest.approx([row["forecast_makespan_s"] for row in rows[0]], rel=1e-12)


def test_points_of_a_sample_have_their_own_values() -> None:
    sweep = sweep_of("burst", "torus-cluster", ["P=4:60", "size=1:1e6:log"], sample=(8, "sobol"), ties=["nodes=2*P"])
    table = forecast_frame(sweep)
    assert (table["nodes"] == 2 * table["P"]).all()


VALUES = st.lists(st.integers(1, 50), min_size=1, max_size=4, unique=True)


@given(st.tuples(VALUES, VALUES, VALUES))
def test_values_are_those_of_the_expression_at_every_point(values: tuple[list[int], ...]) -> None:
    axes = [parse_axis(f"{name}={','.join(map(str, it))}", unknown) for name, it in zip("abc", values, strict=True)]
    texts = ["x=a + 100*c", "y=c", "z=k", "w=a*b*c*k"]
    design = tied(grid(axes), texts, unknown, {"k": 7.0})
    columns = design.columns()
    a, b, c = (columns[name] for name in "abc")
    for name, expected in {"x": a + 100 * c, "y": c, "z": 0 * a + 7, "w": 7 * a * b * c}.items():
        assert columns[name].tolist() == expected.tolist()
    for number in range(design.count):
        assert design.values(number) == {name: column[number] for name, column in columns.items()}


def test_equal_settings_have_equal_keys_whoever_sets_them() -> None:
    by_tie = sweep_of("burst", "mesh-256", ["P=16"], ties=["nodes=P"])
    by_axis = sweep_of("burst", "mesh-256", ["P=16", "nodes=16"])
    assert by_tie.point(0).key == by_axis.point(0).key


@pytest.mark.parametrize(
    "tie",
    [
        *("nodes", "nodes=", "=P", "nodes=Q", "P=4", "seed=P", "nodes=P/3"),
        *("network.startup=1/(P-4)", "nope=P", "network.bandwidth=0*P", "network.startup=nodes"),
    ],
)
def test_what_is_no_tie_is_refused(tie: str) -> None:
    with pytest.raises(InputError):
        sweep_of("burst", "mesh-256", ["P=4,16"], ties=[tie])


def test_ties_that_give_wrong_nodes_are_reasons_of_their_points() -> None:
    table = forecast_frame(sweep_of("burst", "hypercube-256", ["P=4,6,8"], ties=["nodes=P"]))
    assert np.flatnonzero(table["error"] != "").tolist() == [1]


def test_a_shape_is_tied_as_a_list() -> None:
    """The same times as machines that are written out, and the same keys as the axis with these texts."""
    sweep = sweep_of("burst", "mesh-256", ["P=16,64"], ties=["nodes=P", "network.topology.shape=[P/4, 4]"])
    table = forecast_frame(sweep)
    assert table["network.topology.shape"].tolist() == ["[4, 4]", "[16, 4]"]
    for ranks, time_s in zip((16, 64), table["forecast_makespan_s"], strict=True):
        machine = load_machine("mesh-256", {"nodes": ranks, "network.topology.shape": [ranks // 4, 4]})
        assert time_s == pytest.approx(float(forecast("burst", machine, {"P": ranks}).makespan_s))
    by_axes = sweep_of("burst", "mesh-256", ["P=16", "nodes=16", "network.topology.shape=[4, 4]"])
    assert by_axes.point(0).key == sweep.point(0).key


def test_ties_in_python() -> None:
    swept = sweep(
        "burst", "mesh-256", vary={"P": [16, 64]}, tie={"nodes": "P", "network.topology.shape": ["P/4", 4]}
    ).table
    given = forecast_frame(
        sweep_of("burst", "mesh-256", ["P=16,64"], ties=["nodes=P", "network.topology.shape=[P/4, 4]"])
    )
    assert swept["forecast_makespan_s"].tolist() == given["forecast_makespan_s"].tolist()


@pytest.mark.parametrize(
    "tie", ["n=[P, 2]", "network.topology.shape=[P/4,]", "network.topology.shape=[Q, 4]", "shape=[P"]
)
def test_lists_that_are_refused(tie: str) -> None:
    with pytest.raises(InputError):
        sweep_of("burst", "mesh-256", ["P=16,64"], ties=["nodes=P", tie])
