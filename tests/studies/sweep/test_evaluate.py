"""Rows of points, one by one and all at once, against the readings themselves."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from simcodesign.studies.sweep.evaluate import PointTask, SweepEvaluator, evaluate, forecast_frame, pack
from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.sweep import Sweep, sweep_of
from simcodesign.studies.sweep.table import table_of
from tests import examples
from tests.builders import workload


def rows(sweep: Sweep) -> list[PointResult]:
    return evaluate(PointTask(pack(sweep), tuple(sweep.points())))


def test_a_row_of_both_readings_says_what_they_say() -> None:
    sweep = sweep_of("jacobi", "mesh-256", ["P=4,16", "network.bandwidth=1,100MB/s"], simulate=True, seed=5)
    outcome = rows(sweep)
    assert [row.number for row in outcome] == [0, 1, 2, 3]
    for row in outcome:
        values = {"P": row.axes["P"], "network.per_byte": 1 / float(row.axes["network.bandwidth"])}
        forecasted, simulated = forecast("jacobi", "mesh-256", values), simulate("jacobi", "mesh-256", values, seed=5)
        for prefix, result in (("forecast", forecasted), ("simulated", simulated)):
            assert row.results[f"{prefix}_makespan_s"] == result.makespan_s
            assert row.results[f"{prefix}_communication_s"] == result.components["communication"]
            assert row.results[f"{prefix}_messages"] == result.messages
        assert row.results["ratio"] == forecasted.makespan_s / simulated.makespan_s  # type: ignore[operator]
        assert (row.key, row.failed) == (sweep.point(row.number).key, False)


@pytest.mark.parametrize("simulates", [False, True])
def test_results_have_the_columns_of_what_was_evaluated(simulates: bool) -> None:
    (row,) = rows(sweep_of("burst", "crossbar-16", ["P=4"], simulate=simulates))
    assert {name.partition("_")[0] for name in row.results} == (
        {"forecast", "simulated", "ratio"} if simulates else {"forecast"}
    )


def test_energy_is_told_where_the_machine_says_power() -> None:
    sweep = sweep_of("jacobi", "mesh-256", ["processor.dynamic_power=10,20W"], simulate=True, settings={"P": "4"})
    first, second = rows(sweep)
    assert second.results["forecast_energy_j"] == pytest.approx(2 * first.results["forecast_energy_j"])
    assert first.results["simulated_energy_j"] > 0


def test_points_that_cannot_be_have_a_reason() -> None:
    result = rows(sweep_of("jacobi", "mesh-256", ["P=16,257,0"], simulate=True))
    assert [row.failed for row in result] == [False, True, True]
    with pytest.raises(InputError) as caught:
        forecast("jacobi", "mesh-256", {"P": 257})
    assert result[1].reason == str(caught.value)
    assert result[1].results == {}


def test_points_of_any_number_of_ranks_have_a_reason_where_ranks_differ() -> None:
    program = "- compute: {flops: n * rank}\n"
    source = workload(program, "parameters: {n: {default: 1}}\n")
    frame = forecast_frame(sweep_of(source, "mesh-256", ["n=1,2"], settings={"P": "1e24"}))
    assert frame["error"].str.contains("more ranks").all()


def test_a_machine_that_cannot_be_is_the_reason_of_its_points() -> None:
    result = rows(sweep_of("jacobi", "mesh-256", ["nodes=16,0,64"], settings={"P": "16"}))
    assert [row.failed for row in result] == [False, True, False]
    assert "nodes: whole number out of range, got '0.0' (allowed: 1 to 1000000000)" in result[1].reason


def test_nodes_of_networks_of_routers_are_more_groups_or_more_hosts_on_each_router(tmp_path: Path) -> None:
    """A shape of routers is no shape of nodes: it stays."""
    machine = """
simcodesign: 1
name: flat
nodes: 32
processor: {rate: 1 GFLOP/s}
network: {startup: 1 us, bandwidth: 1 GB/s, distance: mean, topology: {kind: hyperx, shape: [4, 4]}}
"""
    file = tmp_path / "flat.yaml"
    file.write_text(machine)
    settings = {"P": "16", "mapping": "one_per_node"}
    for described, nodes in ((str(file), "nodes=16,48,24"), ("dragonfly-1056", "nodes=32,1056,48")):
        result = rows(sweep_of("burst", described, [nodes], settings=settings))
        assert [row.failed for row in result] == [False, False, True]
        assert "does not fill" in result[2].reason


def test_what_is_wrong_in_the_program_does_not_end_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("simcodesign.studies.sweep.evaluate.forecast", broken)
    (row,) = rows(sweep_of("burst", "crossbar-16", ["P=4"]))
    assert row.reason == "internal error: ZeroDivisionError: a mistake"


@pytest.mark.thorough
def test_seeds_and_changes_of_the_file_reach_the_simulation() -> None:
    sweep = sweep_of(
        "jacobi", "mesh-256", ["network.topology.kind=mesh,torus", "seed=1,2"], simulate=True, settings={"P": "16"}
    )
    for row in rows(sweep):
        machine = load_machine("mesh-256", {"network.topology.kind": row.axes["network.topology.kind"]})
        result = simulate("jacobi", machine, {"P": 16}, seed=int(float(row.axes["seed"])))
        assert row.results["simulated_makespan_s"] == result.makespan_s


@pytest.mark.thorough
def test_a_task_gives_the_same_rows_however_it_is_cut_and_wherever() -> None:
    sweep = sweep_of("jacobi", "mesh-256", ["P=1:16:x2", "n=500,1000"], simulate=True)
    packed, points = pack(sweep), tuple(sweep.points())
    whole = evaluate(PointTask(packed, points))
    assert [row for point in reversed(points) for row in evaluate(PointTask(packed, (point,)))] == whole[::-1]
    assert evaluate(pickle.loads(pickle.dumps(PointTask(packed, points)))) == whole


def test_a_task_does_not_carry_the_values_of_a_million_points() -> None:
    sweep = sweep_of("jacobi", "mesh-256", ["n=100:10000:n=100000", "P=4,8"])
    task = PointTask(pack(sweep), tuple(sweep.points([0, sweep.count - 1])))
    assert len(pickle.dumps(task)) < 20_000
    assert [row.axes for row in evaluate(task)] == [{"n": 100.0, "P": 4.0}, {"n": 10_000.0, "P": 8.0}]


def test_a_machine_of_changes_is_made_once() -> None:
    evaluator = SweepEvaluator(sweep_of("jacobi", "mesh-256", ["nodes=64,256", "P=4,8"]))
    points = list(evaluator.sweep.points())
    assert evaluator.machine(points[0].changes) is evaluator.machine(points[1].changes)
    assert evaluator.machine(points[0].changes) is not evaluator.machine(points[2].changes)


# All forecasts at once.


def check_frame(sweep: Sweep) -> pd.DataFrame:
    """The vectorised table is that of the points one by one, but for rounding."""
    frame, single = forecast_frame(sweep), table_of(rows(sweep))
    assert frame.columns.tolist() == single.columns.tolist()
    for name in frame.columns:
        if frame[name].dtype.kind == "f":
            assert np.allclose(frame[name], single[name], rtol=1e-12, atol=0, equal_nan=True), name
        else:
            assert frame[name].tolist() == single[name].tolist(), name
    return frame


@pytest.mark.parametrize(
    "over",
    [
        ["P=1:300:x2"],
        ["P=1,300,0,2.5e2,7", "n=4096,1,100"],
        ["n=100:1000:n=7", "network.bandwidth=1,10,100MB/s", "processor.rate=1,2GFLOP/s"],
        ["network.topology.kind=mesh,torus,hypercube,fat_tree", "P=4,16", "seed=1,2"],
        ["nodes=4,0,64", "P=1,16,64"],
        ["network.bandwidth=1,1000MB/s", "network.link_bandwidth=10,1000,10000MB/s"],
        ["disk.spindles=1,2", "n=100,200"],
    ],
)
def test_the_vectorised_table_is_that_of_the_points(over: list[str]) -> None:
    check_frame(sweep_of("jacobi", "mesh-256", over))


@pytest.mark.parametrize("name", ["cg", "kripke", "homme", "fft3d", "lulesh", "transpose", "seismic", "disk-queue"])
def test_shipped_workloads_are_read_at_once(name: str) -> None:
    check_frame(sweep_of(name, "torus-cluster", ["P=1,4,8,16,27,64", "network.startup=1,20us"]))


RANKED = """
simcodesign: 1
name: ranked
parameters: {n: {default: 10}}
program:
  - compute: {flops: "n*(1 + rank)"}
  - compute: {flops: "1/(n - 3)", when: "rank == 1"}
"""


def test_workloads_whose_ranks_differ_are_read_p_by_p(tmp_path: Path) -> None:
    path = tmp_path / "ranked.yaml"
    path.write_text(RANKED, encoding="utf-8")
    frame = check_frame(sweep_of(path, "mesh-256", ["P=1,2,200,300", "n=1:6:+1"]))
    wrong = (frame["n"] <= 3) | (frame["P"] > 256)  # a negative or infinite amount, too many ranks
    assert ((frame["error"] != "") == wrong).all()


@settings(deadline=None, max_examples=examples(25))
@given(
    st.lists(st.sampled_from([0.5, 1, 2, 3, 64, 255, 256, 257, 1e6]), min_size=1, max_size=5, unique=True),
    st.lists(st.sampled_from([1.0, 4, 100, 5e6, 1e7, 2e7]), min_size=1, max_size=4, unique=True),
)
def test_the_points_that_cannot_be_are_the_same(ranks: list[float], sizes: list[float]) -> None:
    over = [f"P={','.join(str(int(one)) for one in ranks if one >= 1) or 1}", f"n={','.join(map(repr, sizes))}"]
    check_frame(sweep_of("jacobi", "mesh-256", over))


def test_some_points_of_a_large_grid_are_read_alone() -> None:
    sweep = sweep_of("jacobi", "mesh-256", ["n=100:1000:n=1000", "P=1:256:+1", "seed=1:100:+1"])
    chosen = np.array([0, 12_345_678, sweep.count - 1])
    frame = forecast_frame(sweep, chosen)
    assert frame["point"].tolist() == chosen.tolist()
    single = table_of(evaluate(PointTask(pack(sweep), tuple(sweep.points(chosen.tolist())))))
    assert np.allclose(frame["forecast_makespan_s"], single["forecast_makespan_s"], rtol=1e-12, atol=0)


def test_a_grid_with_many_points_that_cannot_be_asks_for_few_forecasts(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(*arguments: object, **options: object) -> object:
        calls.append(arguments)
        return forecast(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("simcodesign.studies.sweep.evaluate.forecast", counted)
    frame = forecast_frame(sweep_of("jacobi", "mesh-256", ["P=250:260:+1", "n=10:10000:n=1000"]))
    assert (frame["error"] != "").sum() == 4000
    assert len(calls) == 1


def test_a_sample_is_read_at_once() -> None:
    check_frame(sweep_of("cg", "mesh-256", ["P=1:64", "network.topology.kind=mesh,torus"], sample=(32, "lhs")))
