"""Workloads and machines as problems of design: metrics, planners, studies in files, confirmation by simulation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.studies.explore.models.machine_model import MachineModel
from simcodesign.studies.explore.models.native_model import NativeModel
from simcodesign.studies.explore.planners import plan
from simcodesign.studies.explore.problem import Problem
from simcodesign.studies.explore.problem_parser import constraint, objective, variable
from simcodesign.studies.explore.simulated.confirmation import best_points, confirm
from simcodesign.studies.explore.solvers.solve import solve
from simcodesign.studies.explore.study import load_study
from tests.builders import closed_forms


def native(workload: str, machine: str, given: Mapping[str, object] | None = None, **options: object) -> NativeModel:
    return NativeModel(sc.Scenario.of(workload, machine, given), **options)  # type: ignore[arg-type]


def stated_problem(
    model: NativeModel | MachineModel,
    vary: list[str],
    subject_to: list[str] | None = None,
    minimize: list[str] | None = None,
    maximize: list[str] | None = None,
    size: str = "",
) -> Problem:
    names = [text.split("=")[0] for text in vary]
    known = {**{name: model.parameter(name)[1] for name in names}, **model.dimensions}
    variables = [variable(text, known) for text in vary]
    constraints = [constraint(text, known) for text in subject_to or []]
    goals = [
        objective(text, largest, known)
        for largest, texts in ((False, minimize), (True, maximize))
        for text in texts or []
    ]
    return plan(model, variables, goals, constraints, size)


@pytest.mark.thorough
@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(1, 256), st.floats(100, 1e4), st.floats(1e-6, 1e-4)), min_size=1, max_size=6))
def test_metrics_at_many_points_are_those_of_each(points: list[tuple[int, float, float]]) -> None:
    model = native("jacobi", "torus-cluster")
    columns = np.array(points, float).T
    values = model.evaluate(dict(zip(("P", "n", "network.startup"), columns, strict=True)))
    for at, (ranks, n, startup) in enumerate(points):
        alone = sc.forecast("jacobi", "torus-cluster", {"P": ranks, "n": n, "network.startup": startup})
        assert np.broadcast_to(values["time"], len(points))[at] == pytest.approx(alone.makespan_s, rel=1e-14)
        assert np.broadcast_to(values["messages"], len(points))[at] == alone.messages
        assert np.broadcast_to(values["edge_bytes"], len(points))[at] == pytest.approx(8 * n / ranks**0.5, rel=1e-14)


UNEVEN = """\
simcodesign: 1
name: uneven
parameters:
  size: {default: 10}
program:
  - compute: {flops: 1e6*(rank + 1)*size}
  - allreduce: {bytes: size}
"""


def test_workloads_whose_ranks_differ_take_many_p(tmp_path: Path) -> None:
    path = tmp_path / "uneven.yaml"
    path.write_text(UNEVEN)
    model = native(str(path), "crossbar-16")
    assert model.by_rank
    ranks, sizes = np.array([2.0, 16, 2, 5]), np.array([1e3, 1e4, 1e5, 0])
    values = model.evaluate({"P": ranks, "size": sizes})
    assert model.takes_sums
    given_ = [{"P": p, "size": s} for p, s in zip(ranks, sizes, strict=True)]
    alone = [closed_forms(path, "crossbar-16", one) for one in given_]
    assert model.headline_s(given_[1]) == sc.forecast(path, "crossbar-16", given_[1]).makespan_s
    assert np.asarray(values["time"]).tolist() == [one.makespan_s for one in alone]
    assert np.asarray(values["message_bytes"]).tolist() == [one.message_bytes for one in alone]


def test_a_bandwidth_is_the_inverse_of_a_time_per_byte() -> None:
    model = native("jacobi", "torus-cluster")
    one = model.evaluate({"network.bandwidth": np.array([1e9, 2e9])})
    other = model.evaluate({"network.per_byte": np.array([1e-9, 0.5e-9])})
    assert np.array_equal(one["time"], other["time"])
    with pytest.raises(InputError, match="in another unit"):
        model.evaluate({"network.bandwidth": np.array([1e9]), "network.per_byte": np.array([1e-9])})


def test_what_is_not_varied_can_be_used() -> None:
    model = native("jacobi", "torus-cluster", {"n": 1000, "P": 4})
    fixed = model.fixed(("n", "network.bandwidth"))
    assert fixed["P"] == 4
    assert "n" not in fixed
    assert not {"network.bandwidth", "network.per_byte"} & fixed.keys()
    solution = solve(stated_problem(model, ["n=4:4000"], ["n*n/P <= 1e6"], maximize=["n"]))
    assert solution.objective == pytest.approx(2000, rel=1e-12)


def test_the_tuner_looks_at_every_number_of_ranks() -> None:
    solution = solve(stated_problem(native("jacobi", "torus-cluster", {"n": 500}), ["P=1:256"]))
    every = sc.forecast("jacobi", "torus-cluster", {"n": 500, "P": np.arange(1, 257)}).makespan_s
    assert solution.exact
    assert solution.objective == np.min(every)
    assert solution.point.values["P"] == 1 + np.argmin(every)


def test_the_size_planner_fills_the_memory() -> None:
    """lulesh has 1e5 n log2 n bytes, and a process of juqueen 1 GB."""
    solution = solve(stated_problem(native("lulesh", "juqueen"), ["n=1:1e6"]))
    whole = solve(stated_problem(native("lulesh", "juqueen"), []))
    assert whole.point.values["n"] == 1002  # 1e5 * 1003 * log2(1003) > 1e9
    n = solution.point.values["n"]
    assert solution.exact
    assert 1e5 * n * np.log2(n) == pytest.approx(1e9, rel=1e-13)
    by_hand = stated_problem(native("lulesh", "juqueen"), [], ["footprint <= 500 MB"])
    assert [one.text for one in by_hand.constraints] == ["footprint <= 500 MB"]


@pytest.mark.thorough
def test_the_machine_planner_finds_the_least_rate() -> None:
    """Time is compute_s at the rate plus the rest: the least rate follows from two forecasts."""
    model = native("jacobi", "torus-cluster", {"n": 4096, "P": 64})
    solution = solve(stated_problem(model, ["processor.rate=1 MFLOP/s:1 TFLOP/s"], ["time <= 100 ms"]))
    whole = sc.forecast("jacobi", "torus-cluster", {"n": 4096, "P": 64, "processor.rate": 1e9})
    work = float(whole.components["computation"]) * 1e9
    rest = float(whole.makespan_s) - float(whole.components["computation"])
    assert not solution.exact  # time is no formula: nothing is proven between the points
    assert solution.objective == pytest.approx(work / (0.1 - rest), rel=1e-12)
    (fastest,) = stated_problem(model, ["processor.rate=1 MFLOP/s:1 TFLOP/s"]).objectives
    assert (fastest.text, fastest.maximize) == ("time", False)


def test_the_machine_planner_multiplies_rates_and_inverse_times() -> None:
    model = native("jacobi", "torus-cluster", {"n": 4096})
    vary = ["network.startup=1 us:1 ms", "processor.rate=1 GFLOP/s:2 GFLOP/s", "network.bandwidth=1 GB/s:2 GB/s"]
    (result,) = stated_problem(model, vary, ["time <= 1 s"]).objectives
    assert result.text == "1/network.startup*processor.rate*network.bandwidth"
    assert not result.maximize


@pytest.mark.thorough
def test_the_architect_counts_a_machine() -> None:
    model = MachineModel(sc.Machine.load("torus-cluster"))
    values = model.evaluate({"nodes": np.array([10.0]), "processor.rate": np.array([2e9])})
    assert values["peak_rate"] == 10 * 4 * 2e9
    assert values["memory_bandwidth"] == pytest.approx(10 * 20e9, rel=1e-14)
    assert values["flops_per_byte"] == pytest.approx(4 * 2e9 / 20e9, rel=1e-14)
    assert values["injection_bandwidth"] == pytest.approx(10 * 4e9, rel=1e-14)
    best = solve(
        stated_problem(
            model,
            ["nodes=1:1000", "processor.rate=1 GFLOP/s:10 GFLOP/s"],
            ["flops_per_byte <= 1", "nodes <= 100"],
        )
    )
    assert best.objective == pytest.approx(100 * 20e9, rel=1e-9)


@pytest.mark.thorough
def test_more_metrics_come_in_from_outside() -> None:
    class Power:
        @property
        def dimensions(self) -> Mapping[str, str]:
            return {"power": "power", "energy": "energy"}

        def evaluate(
            self, machine: Machine, counts: Mapping[str, FloatOrArray], result: Result | None
        ) -> dict[str, FloatOrArray]:
            power = counts["nodes"] * (50.0 + 1e-8 * np.asarray(machine.processor.rate_flop_per_s))
            return {"power": power, "energy": power * (0.0 if result is None else np.asarray(result.makespan_s))}

    model = native("jacobi", "torus-cluster", {"n": 4096, "P": 64}, extras=(Power(),))
    solution = solve(
        stated_problem(
            model,
            ["processor.rate=100 MFLOP/s:1 TFLOP/s"],
            minimize=["energy"],
            subject_to=["power <= 1 MW"],
        )
    )
    part = sc.forecast("jacobi", "torus-cluster", {"n": 4096, "P": 64, "processor.rate": 1e9})
    work = float(part.components["computation"]) * 1e9
    rest = float(part.makespan_s) - work / 1e9
    # d/dr of 64 (50 + 1e-8 r)(work/r + rest) is 0 at r = sqrt(50 work / (1e-8 rest)).
    assert solution.point.values["processor.rate"] == pytest.approx(np.sqrt(50 * work / (1e-8 * rest)), rel=1e-5)
    assert solution.problem.constraints[0].dimension == "power"


@pytest.mark.parametrize(
    ("vary", "says"),
    [
        (["nn=1:2"], "did you mean 'n'"),
        (["n=1:2"], "beyond what"),
        (["P=1:1000"], "within 1 to 256"),
        (["P=1.5,2"], "whole numbers"),
        (["sweeps=2.2:2.8"], "no whole numbers"),
    ],
)
def test_bad_variables(vary: list[str], says: str) -> None:
    model = native("jacobi", "torus-cluster")
    with pytest.raises(InputError, match=says):
        plan(model, [variable(text, {}) for text in vary])


def test_parameters_that_must_be_whole_are() -> None:
    space = stated_problem(native("jacobi", "torus-cluster"), ["P=2:9", "sweeps=1:5", "n=10:20"]).space
    assert [one.whole for one in space.variables] == [True, True, False]
    assert [one.default for one in space.variables] == [None, None, None]


def test_points_that_the_model_refuses_are_told() -> None:
    """An interface of 4 GB/s: faster messages are refused."""
    solution = solve(stated_problem(native("jacobi", "torus-cluster"), ["network.bandwidth=1 GB/s, 3 GB/s, 8 GB/s"]))
    assert solution.point.values == {"network.bandwidth": 3e9}
    (refusal,) = solution.refusals
    assert (refusal.count, refusal.values) == (1, {"network.bandwidth": 8e9})
    with pytest.raises(InputError, match="no point of the space"):
        solve(stated_problem(native("jacobi", "torus-cluster"), ["network.bandwidth=5 GB/s, 8 GB/s"]))


# Files.

STUDY = """\
simcodesign: 1
name: sweeps-in-time
workload: jacobi
machine: torus-cluster
set: {n: 4096}
vary:
  processor.rate: 1 GFLOP/s:100 GFLOP/s:log
  P: [16, 64]
subject_to:
  - time <= 1 s
minimize: [processor.rate]
seed: 7
"""


def test_a_study_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    study = load_study(path)
    assert (study.workload, study.seed, dict(study.settings)) == ("jacobi", 7, {"n": "4096"})
    problem = study.problem(native("jacobi", "torus-cluster", {"n": 4096}))
    assert problem.space.names == ("processor.rate", "P")
    assert problem.space.variables[1].choices == (16, 64)
    assert problem.space.variables[0].log


def test_formulas_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        "simcodesign: 1\nvary: {n: 1:100:whole}\nformulas: {cost: n*price, price: '3', time: 60/n}\n"
        "units: {time: time}\nsubject_to: [time <= 4 s]\nminimize: cost\n"
    )
    study = load_study(path)
    solution = solve(study.problem(study.formula_model()))
    assert (solution.point.values["n"], solution.objective) == (15, 45)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("seed: 7", "sead: 7", 12, "did you mean 'seed'"),
        ("seed: 7", "seed: -7", 12, "whole number"),
        ("seed: 7", "formulas: {a: '1'}", 12, "replace a workload"),
        ("seed: 7", "minimize: time", 12, "duplicate key"),
        ("seed: 7", "units: {a: lenght}", 12, "unknown dimension"),
        ("  - time <= 1 s", "  - time <= 1 GB", 10, "unit of size"),
        ("  - time <= 1 s", "  - tme <= 1", 10, "did you mean 'time'"),
        ("minimize: [processor.rate]", "minimize: [processor.rat]", 11, "did you mean 'processor.rate'"),
        ("  P: [16, 64]", "  P: [16.5, 64]", 8, "whole numbers"),
        ("  P: [16, 64]", "  P: 64:16", 8, "not in order"),
        ("  P: [16, 64]", "  Q: 1:16", 8, "can be varied"),
        ("  P: [16, 64]", "  n: 10:16", 8, "set and varied"),
    ],
)
def test_bad_studies(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace(old, new))
    with pytest.raises(InputError, match=says) as caught:
        load_study(path).problem(native("jacobi", "torus-cluster", {"n": 4096}))
    assert f"study.yaml:{line}" in str(caught.value)


# Confirmation.


def test_confirmation_simulates_points_and_neighbours() -> None:
    problem = stated_problem(native("jacobi", "torus-cluster", {"n": 256, "sweeps": 2}), ["P=4:16"])
    confirmation = confirm(solve(problem), 2, effects=("hops", "links"))
    every = {
        p: sc.forecast("jacobi", "torus-cluster", {"n": 256, "sweeps": 2, "P": p}).makespan_s for p in range(4, 17)
    }
    best = sorted(every, key=lambda p: every[p])[:2]
    near = {q for p in best for q in (p - 1, p, p + 1) if 4 <= q <= 16}
    assert {one.forecast.values["P"] for one in confirmation.points} == near
    for one in confirmation.points:
        p = one.forecast.values["P"]
        result = sc.simulate("jacobi", "torus-cluster", {"n": 256, "sweeps": 2, "P": p}, effects=("hops", "links"))
        assert one.forecast_total == every[p]
        assert one.simulated_total == result.makespan_s
    totals = [one.simulated_total for one in confirmation.points]
    turned = sum(b < a for at, a in enumerate(totals) for b in totals[at + 1 :])
    assert confirmation.changed == turned
    assert confirmation.best_stays is (totals[0] == min(totals))


def test_without_effects_the_order_stays() -> None:
    """Without effects a simulation of equal ranks is the forecast."""
    problem = stated_problem(native("jacobi", "torus-cluster", {"n": 256}), ["P=4,16,64"])
    confirmation = confirm(solve(problem), 3, effects="none")
    assert confirmation.best_stays
    assert [one.simulated_total for one in confirmation.points] == pytest.approx(
        [one.forecast_total for one in confirmation.points], rel=1e-12
    )


@pytest.mark.thorough
def test_an_overtaking_is_explained() -> None:
    """Disks are shared by 64 ranks each: what the forecast takes for as fast is not."""
    problem = stated_problem(native("jacobi", "torus-cluster", {"n": 4096}), ["P=251,256"])
    confirmation = confirm(solve(problem), 1, effects=("hops", "disks"))
    (one,) = confirmation.overtakings
    assert one.effect == "disks"
    assert [name for name, _, _ in one.rungs] == ["forecast", "dependencies and waiting", "hops", "disks"]
    assert all(before[0] == after[0] == 0 for _, before, after in one.rungs)
    turned = [before > after for _, before, after in one.rungs]
    assert turned == [False, False, False, True]


def test_only_workloads_are_confirmed() -> None:
    solution = solve(stated_problem(MachineModel(sc.Machine.load("torus-cluster")), ["nodes=1:9"]))
    with pytest.raises(InputError, match="cannot be simulated"):
        confirm(solution, 1)


@pytest.mark.thorough
def test_distinct_best_points() -> None:
    problem = stated_problem(native("jacobi", "torus-cluster", {"n": 1000}), ["P=1:9", "network.startup=1 us:2 us"])
    result = best_points(solve(problem), 5)
    assert len(result) == 5
    for at, one in enumerate(result):
        for other in result[at + 1 :]:
            assert one[0] != other[0] or abs(one[1] - other[1]) >= 0.05 * max(one[1], other[1]) * (1 - 1e-9)


# --- What a machine file defines: parameters, resources, power, costs ---------------------------------------------


def test_the_largest_transform_that_keeneland_does_in_ten_seconds() -> None:
    """By hand: all n^2 pencils pass 120 links one after another, and the transforms and copies fill 360 memories."""
    limits = ["time <= 10 s", "energy <= 5 MJ"]
    solution = solve(stated_problem(native("fft3d", "keeneland", {"P": 360}), ["n=1000:10000:whole"], limits))
    assert solution.exact
    assert solution.point.values == {"n": 5012}
    exchange = 2 * 5012**2 / 120 * (1.07e-6 + 5012 * 16 / 4e9)
    assert solution.point.metrics["phase.exchange"] == pytest.approx(exchange, rel=1e-4)
    assert solution.point.metrics["energy"] < 0.1 * 5e6


def test_the_tiles_of_least_operations() -> None:
    problem = stated_problem(native("sscp-tile", "keeneland", {"P": 360}), ["tf=16:64:whole"], minimize=["used.flops"])
    solution = solve(problem)
    assert (solution.exact, solution.point.values) == (True, {"tf": 34})
    assert solution.point.metrics["used.flops"] == pytest.approx(7.0092648505e13, rel=1e-11)


RACK = """
simcodesign: 1
name: rack
nodes: 1000
processor: {rate: 1 TFLOP/s, dynamic_power: 100 W}
network: {topology: {kind: crossbar}, sends: blocking, startup: 1 us, bandwidth: 10 GB/s}
disk: {read_startup: 1 ms, write_startup: 1 ms, bandwidth: 1 GB/s}
parameters:
  clock: {default: 1 GHz, unit: Hz, range: [0.5 GHz, 2 GHz]}
properties:
  rate_of_all: nodes*clock*1000
components:
  node: {count: nodes, static_power: 200 W, rack_units: 2, die_area: 500 mm2, price: 3000}
"""


@pytest.mark.thorough
def test_the_architect_fills_a_rack(tmp_path: Path) -> None:
    """42 units hold 21 nodes, 18 kW supply 60 of 300 W, 50 000 buy 16: the price binds."""
    file = tmp_path / "rack.yaml"
    file.write_text(RACK)
    model = MachineModel(sc.Machine.load(file))
    vary, most = ["nodes=1:1000:whole", "machine.clock=0.5 GHz:2 GHz"], ["rate_of_all"]
    limits = ["rack_units <= 42", "full_power <= 18 kW", "price <= 50000"]
    solution = solve(stated_problem(model, vary, limits, maximize=most))
    assert solution.point.values == pytest.approx({"nodes": 16, "machine.clock": 2e9})
    assert {
        name: solution.point.metrics[name] for name in ("rack_units", "full_power", "price", "die_area")
    } == pytest.approx({"rack_units": 32, "full_power": 4800, "price": 48000, "die_area": 0.008})
    without = solve(stated_problem(model, vary, limits[:2], maximize=most))
    assert without.point.values["nodes"] == 21


TOY = """\
simcodesign: 1
name: toy
about: boards of which a faster clock costs more
nodes: 4
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: crossbar}, sends: blocking, startup: 10 us, bandwidth: 1 GB/s}
parameters:
  clock: {default: 1 GHz, unit: Hz, range: [500 MHz, 2 GHz]}
components:
  board: {count: nodes, static_power: 30 W, rack_units: 2, price: "1000 + clock/1e6"}
  switch: {count: 1, static_power: 50 W, rack_units: 1, price: 5000}
"""


@pytest.mark.thorough
def test_the_architect_counts_to_the_last_node_that_can_be_paid(tmp_path: Path) -> None:
    """At 500 MHz a node costs 1500: 45 000 buy 30. N times clock is largest with few fast nodes: 15 at 2 GHz."""
    file = tmp_path / "toy.yaml"
    file.write_text(TOY)
    model = MachineModel(sc.Machine.load(file))
    vary = ["nodes=1:50", "machine.clock=500 MHz:2 GHz"]
    solution = solve(stated_problem(model, vary, ["price <= 50000"], maximize=["nodes"]))
    assert solution.point.values == {"nodes": 30, "machine.clock": 5e8}
    assert solution.point.metrics["price"] == 50_000
    solution = solve(stated_problem(model, vary, ["price <= 50000"], maximize=["nodes*machine.clock"]))
    assert solution.point.values == pytest.approx({"nodes": 15, "machine.clock": 2e9})


@given(clock=st.floats(1e8, 2e9), memory=st.floats(1e8, 4e9))
def test_parameters_of_a_machine_are_varied_as_they_are_set(clock: float, memory: float) -> None:
    model = native("comd-eam", "keeneland", {"P": 360})
    names = ("machine.core_clock", "machine.memory_clock")
    values = model.evaluate({name: np.array([value]) for name, value in zip(names, (clock, memory), strict=True)})
    alone = sc.forecast("comd-eam", "keeneland", {"P": 360, **dict(zip(names, (clock, memory), strict=True))})
    assert float(np.squeeze(values["time"])) == pytest.approx(alone.makespan_s, rel=1e-14)
    assert float(np.squeeze(values["energy"])) == pytest.approx(alone.energy_j, rel=1e-14)


def test_limits_of_a_parameter_of_a_machine_hold() -> None:
    model = native("comd-eam", "keeneland", {"P": 360})
    with pytest.raises(InputError, match=r"limits of machine\.core_clock beyond"):
        stated_problem(model, ["machine.core_clock=10 MHz:2 GHz"], ["time <= 1 s"])
    with pytest.raises(InputError, match=r"machine\.core_clok.*machine\.core_clock"):
        model.parameter("machine.core_clok")


def test_the_best_interval_between_checkpoints_is_dalys() -> None:
    """By a scan of his formula, written down plainly: M e^(R/M) (e^((t + d)/M) - 1) T/t, J. Daly, FGCS 22 (2006)."""
    found = sc.explore(
        "checkpointed", "failing-torus", vary={"interval": "1:10000"}, minimize="time_with_failures"
    ).point
    failures = sc.forecast("checkpointed", "failing-torus").failures
    assert failures is not None
    mtbf_s, work_s, write_s, restart_s = float(failures.mtbf_s), 1.8e6, 300.0, 600.0
    t = np.linspace(1000.0, 10000.0, 90_001)
    every_s = mtbf_s * np.exp(restart_s / mtbf_s) * np.expm1((t + write_s) / mtbf_s) * work_s / t
    assert found.values["interval"] == pytest.approx(t[np.argmin(every_s)], rel=0.01)
    assert found.metrics["time_with_failures"] == pytest.approx(every_s.min(), rel=1e-3)
