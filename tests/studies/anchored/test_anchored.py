"""Predictions anchored at measurements: the ratio that is carried on, what it rests on, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

import simcodesign as sc
from simcodesign.comparison.compare import ANCHOR, FROZEN
from simcodesign.comparison.measured.anchored import Anchored, Scale, Step
from simcodesign.core.errors import InputError
from simcodesign.describe.measured.times import MeasuredTimes
from simcodesign.engine.experiment import Experiment
from simcodesign.studies.anchored import rows_nearby as rows_module
from tests.builders import read_machine, workload
from tests.command_line import command

HEAD = "parameters: {m: {default: 1000, unit: B}}\n"
WORK = workload(
    "- phase: a\n  do: [broadcast: {bytes: m}]\n- phase: b\n  do: [allreduce: {bytes: m}, compute: {flops: 1e6}]\n",
    HEAD,
)
GATHER = "- allgather: {{bytes: m, algorithm: {}}}\n"
MACHINE = read_machine("""
simcodesign: 1
name: here
nodes: 64
processor: {rate: 1 GFLOP/s}
network: {startup: 5 us, bandwidth: 1 GB/s, sends: blocking, topology: {kind: mesh, shape: [8, 8]}}
""")


def forecast_s(ranks: int, m: float = 1000, work: Any = WORK) -> float:
    return float(sc.forecast(work, MACHINE, {"P": ranks, "m": m}).headline_s)


def simulated_s(ranks: int, m: float = 1000) -> float:
    return float(sc.simulate(WORK, MACHINE, {"P": ranks, "m": m}).headline_s)


def anchored(measured: Any, ranks: int = 32, m: float = 1000, work: Any = WORK, **rest: Any) -> Anchored:
    return sc.anchored(work, MACHINE, {"P": ranks, "m": m}, measured=measured, **rest)


def test_the_ratio_of_the_largest_scale_is_carried_on_exactly() -> None:
    factors = {2: 1.5, 4: 1.2, 8: 1.3}
    for simulate, predicted in ((False, forecast_s), (True, simulated_s)):
        runs = pd.DataFrame({"P": [*factors], "m": 1000, "value": [f * predicted(P) for P, f in factors.items()]})
        one = anchored(runs, simulate=simulate)
        assert one.predicted_s == one.frozen_s == pytest.approx(predicted(32))
        assert one.anchored_s == pytest.approx(1.3 * predicted(32))
        assert [scale.ratio for scale in one.scales] == pytest.approx([*factors.values()])
        assert one.doublings == 2
        changes = [math.log(1.2 / 1.5), math.log(1.3 / 1.2)]
        assert [step.change for step in one.steps] == pytest.approx(changes)
        half = student.ppf(0.95, 2) * np.sqrt(np.mean(np.square(changes))) * math.sqrt(2)
        assert one.interval_s == pytest.approx((one.anchored_s / math.exp(half), one.anchored_s * math.exp(half)))
        assert not one.warning


@given(st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=5), st.integers(1, 6))
def test_the_interval_of_a_random_walk(changes: list[float], doublings: int) -> None:
    """Steps over two doublings each, from ratio 1: against the variance of a walk written down plainly."""
    ratios = np.exp([0, *np.cumsum(changes)])
    ranks = [4.0**number for number in range(len(ratios))]
    scales = tuple(Scale(P, ratio * 2.0, 2.0, {}) for P, ratio in zip(ranks, ratios, strict=True))
    steps = tuple(Step(change, *ranks[at : at + 2]) for at, change in enumerate(changes))
    one = Anchored("forecast", ranks[-1] * 2**doublings, 10.0, 10.0, scales, steps)
    variance = sum(change**2 for change in changes) / len(changes) / 2 * doublings
    half = student.ppf(0.95, len(changes)) * math.sqrt(variance)
    assert one.interval_s is not None
    assert np.log(one.interval_s) == pytest.approx([math.log(10 * ratios[-1]) - half, math.log(10 * ratios[-1]) + half])
    assert bool(one.warning) == (abs(changes[-1]) > 0.2)


def test_sizes_of_one_phase_are_no_independent_steps() -> None:
    scales = (Scale(2, 1.0, 1.0, {}), Scale(4, 1.1, 1.0, {}))
    same = Anchored("forecast", 8, 1.0, 1.0, scales, (Step(0.1, 2, 4, "a"), Step(0.1, 2, 4, "a")))
    other = Anchored("forecast", 8, 1.0, 1.0, scales, (Step(0.1, 2, 4, "a"), Step(0.1, 2, 4, "b")))
    halves = [math.log(one.interval_s[1] / one.anchored_s) for one in (same, other) if one.interval_s is not None]
    assert halves == pytest.approx([0.1 * student.ppf(0.95, 1), 0.1 * student.ppf(0.95, 2)])


def test_the_nearest_size_within_a_factor_of_eight() -> None:
    runs = pd.DataFrame(
        {"P": 8, "m": [100, 400, 9000], "value": [forecast_s(8, m) * f for m, f in ((100, 5), (400, 2), (9000, 7))]}
    )
    assert anchored(runs).anchored_s == pytest.approx(2 * forecast_s(32))
    assert anchored(runs, m=8000).anchored_s == pytest.approx(7 * forecast_s(32, 8000))
    far = anchored(runs, m=1e6)
    assert "3 with m more than a factor of 8 away" in far.refused
    assert math.isnan(far.anchored_s)
    assert far.interval_s is None
    assert set(far.to_dict()) == {"reading", "ranks", "predicted_s", "refused"}


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        ({"P": [32, 64], "value": 1.0}, "2 of 32 ranks or more"),
        ({"P": [8], "machine": ["there"], "value": 1.0}, "1 of the machine there"),
        ({"m": [1000], "value": 1.0}, "1 without a number of ranks"),
        ({"P": [1], "value": 1.0}, "1 on a single node, which is another regime"),
        ({"P": [8], "network.startup": ["6 us"], "value": 1.0}, "1 of another network.startup"),
        ({"P": [8], "component": ["communication"], "value": 1.0}, "1 without a measured total above 0"),
        ({"P": [8], "phase": ["a"], "value": 1.0}, "1 without a measured total above 0"),
    ],
)
def test_rows_that_are_no_anchor(runs: dict[str, Any], reason: str) -> None:
    frame = pd.DataFrame(runs, index=range(len(next(one for one in runs.values() if isinstance(one, list)))))
    assert reason in anchored(frame).refused


def test_what_is_not_steady_or_far_is_said() -> None:
    def runs(factors: dict[int, float]) -> pd.DataFrame:
        return pd.DataFrame({"P": [*factors], "value": [f * forecast_s(P) for P, f in factors.items()]})

    assert "not steady" in anchored(runs({4: 1.0, 8: 1.3})).warning
    assert not anchored(runs({4: 1.0, 8: 1.2})).warning
    alone = anchored(runs({4: 1.0}))
    assert "one scale" in alone.warning  # three doublings
    assert alone.interval_s is None
    assert not anchored(runs({8: 1.0})).warning


def test_algorithms_are_those_of_the_anchor() -> None:
    """8 ranks of 16 KiB double recursively, 32 ranks pass them along a ring: the anchored prediction keeps the former."""
    m = 16384
    auto, doubling, ring = (workload(GATHER.format(name), HEAD) for name in ("auto", "recursive_doubling", "ring"))
    runs = pd.DataFrame({"P": [4, 8], "m": m, "value": [2 * forecast_s(P, m, doubling) for P in (4, 8)]})
    one = anchored(runs, m=m, work=auto)
    assert one.predicted_s == forecast_s(32, m, ring)
    assert one.frozen_s == forecast_s(32, m, doubling)
    assert one.predicted_s != one.frozen_s
    assert one.anchored_s == pytest.approx(2 * one.frozen_s)
    assert one.frozen == ("allgather by recursive doubling as at the anchor, not by ring",)
    compared = sc.compare(auto, MACHINE, {"P": 32, "m": m}, anchor=runs, effects="none")
    assert [step.step for step in compared.anchor_ladder] == [FROZEN, ANCHOR]
    total_s = math.fsum(step.change_s for step in compared.anchor_ladder)
    assert total_s == pytest.approx(compared.anchored[1].anchored_s - float(compared.simulation.headline_s))


@pytest.mark.parametrize("level", [0.0, 1.0, 2.0, math.nan])
def test_a_level_is_a_probability(level: float) -> None:
    with pytest.raises(InputError, match="level"):
        anchored(pd.DataFrame({"P": [4], "value": [1.0]}), level=level)


def test_a_comparison_shows_both_readings_and_the_step() -> None:
    runs = pd.DataFrame({"P": [4, 8], "value": [1.5 * simulated_s(P) for P in (4, 8)]})
    one = sc.compare(WORK, MACHINE, {"P": 32}, anchor=runs)
    assert [each.reading for each in one.anchored] == ["forecast", "simulation"]
    (step,) = one.anchor_ladder
    assert step.step == ANCHOR
    assert step.change_s == pytest.approx(0.5 * simulated_s(32))
    shown = one.to_dict()
    assert shown["anchored"][1]["anchored_s"] == pytest.approx(1.5 * simulated_s(32))
    with pytest.raises(InputError, match="one workload on one machine"):
        sc.compare(WORK, [MACHINE], {"P": 32}, anchor=runs)


def test_phases_that_are_measured_widen_the_pool_of_steps() -> None:
    def phase_s(name: str, ranks: int) -> float:
        return float(sc.forecast(WORK, MACHINE, {"P": ranks}, phases=[name]).headline_s)

    rows = [(P, name, factor * phase_s(name, P)) for P, factor in ((4, 1.0), (8, 1.1)) for name in "ab"]
    runs = pd.DataFrame(rows, columns=["P", "phase", "value"])
    one = anchored(runs, phases=["a"])
    assert one.anchored_s == pytest.approx(1.1 * phase_s("a", 32))
    assert {(step.phase, step.from_ranks, step.to_ranks) for step in one.steps} == {("a", 4, 8), ("b", 4, 8)}
    assert anchored(runs).scales[-1].measured_s == pytest.approx(1.1 * sum(phase_s(name, 8) for name in "ab"))


def test_every_point_of_a_sweep_has_its_own_anchor() -> None:
    runs = pd.DataFrame({"P": [4, 8], "m": 1000, "value": [2 * simulated_s(P) for P in (4, 8)]})
    swept = sc.sweep(WORK, MACHINE, vary=["P=4,8,16,32", "m=1000,100000"], simulate=True, anchor=runs).table
    for row in swept.to_dict("records"):
        ranks, m = int(row["P"]), row["m"]
        if m == 1000 and ranks > 4:
            assert row["anchored_simulated_s"] == pytest.approx(2 * simulated_s(ranks))
            assert row["anchored_at_P"] == (4 if ranks == 8 else 8)
        else:
            assert math.isnan(row["anchored_simulated_s"])
            assert row["anchored_note"]
    for row in swept[swept["anchored_at_P"] > 0].to_dict("records"):
        one = anchored(runs, int(row["P"]), simulate=True)
        assert row["anchored_simulated_s"] == one.anchored_s
        if one.interval_s is not None:
            assert (row["anchored_simulated_low_s"], row["anchored_simulated_high_s"]) == one.interval_s


def test_rows_may_have_a_machine_of_their_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Jobs of other shapes: each row is predicted on the mesh that it was measured on."""

    def on_mesh_s(ranks: int, side: int) -> float:
        machine = sc.Machine.load("mesh-256", {"nodes": side**2, "network.topology.shape": [side, side]})
        return float(sc.simulate("broadcast", machine, {"P": ranks, "m": 1024}).headline_s)

    path = tmp_path / "runs.csv"
    rows = [f'{P},1 KiB,{P},"[{side}, {side}]",{3 * on_mesh_s(P, side)}' for P, side in ((4, 2), (16, 4))]
    path.write_text("\n".join(["P,m,nodes,network.topology.shape,value", *rows]) + "\n", encoding="utf-8")
    settings = ["-P", "64", "--set", "m=1024", "--set", "nodes=64", "--set", "network.topology.shape=[8, 8]"]
    answer = command(capfd, "compare")("broadcast", "mesh-256", *settings, "--anchor", path, "--json")
    simulation = answer.json["anchored"][1]
    assert [scale["predicted_s"] for scale in simulation["scales"]] == pytest.approx(
        [on_mesh_s(4, 2), on_mesh_s(16, 4)]
    )
    assert simulation["anchored_s"] == pytest.approx(3 * on_mesh_s(64, 8))


def test_a_sweep_reads_each_measured_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are of other ranks than the points, so that only reading them binds these numbers of ranks."""
    runs = pd.DataFrame({"P": [4, 4, 8, 8], "m": [1000, 2000, 1000, 2000], "value": [1e-3, 2e-3, 2e-3, 4e-3]})
    bound: list[tuple[object, object]] = []
    usual = rows_module._read

    def counted(one: MeasuredTimes, *rest: Any) -> object:
        bound.append((one.at["P"], one.at["m"]))
        return usual(one, *rest)

    monkeypatch.setattr(rows_module, "_read", counted)
    sc.sweep("broadcast", "mesh-256", vary={"P": [16, 32, 64], "m": [1000.0, 2000.0]}, simulate=True, anchor=runs)
    assert sorted(bound) == [(4, 1000), (4, 2000), (8, 1000), (8, 2000)]


def test_an_anchored_comparison_reads_workload_and_machine_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    usual = Experiment.of.__func__  # type: ignore[attr-defined] # a class method

    def counted(cls: type[Experiment], *given: Any, **options: Any) -> Experiment:
        made.append(given)
        return usual(cls, *given, **options)  # type: ignore[no-any-return]

    monkeypatch.setattr(Experiment, "of", classmethod(counted))
    runs = pd.DataFrame({"P": [4, 8], "value": [1e-3, 2e-3]})
    sc.compare("broadcast", "mesh-256", {"P": 16}, effects="none", anchor=runs)
    assert len(made) == 1
