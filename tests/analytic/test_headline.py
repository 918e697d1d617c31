"""The headline of a forecast: the longest path where ranks differ, against the simulation without effects."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.analytic import headline
from simcodesign.analytic.longest_path.program_path import path_of_program
from simcodesign.analytic.longest_path.ranks_differ import ranks_differ
from simcodesign.core.errors import DeadlockError
from simcodesign.core.result import Result
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.scenario import Scenario
from tests import examples
from tests.analytic.test_longest_path import case
from tests.builders import closed_forms, machine, network, network_with, workload
from tests.command_line import command

ROUNDING = 1e-12
STARTUP_S, WORK_S = 1e-6, 3e-6
#: Each rank works on a block when it has come from the rank before.
PIPELINE = """- repeat: blocks
  do:
    - phase: get
      do: [receive: {from: rank - 1, bytes: 0, when: rank > 0}]
    - phase: work
      do: [compute: {seconds: work}]
    - phase: put
      do: [send: {to: rank + 1, bytes: 0, when: rank < P - 1}]
"""
PARAMETERS = "parameters: {blocks: 5, work: 3e-6}\n"


def pipeline_s(ranks: int, blocks: int, work_s: float = WORK_S, startup_s: float = STARTUP_S) -> float:
    """By hand: the last rank works on its last block after P - 1 + blocks blocks, each but the first after a send."""
    return (ranks - 1 + blocks) * work_s + (ranks - 2 + blocks) * startup_s


def differ(text: str, ranks: int = 12, head: str = "") -> bool:
    point = Scenario.of(workload(text, head), machine(network(16)), {"P": ranks}).bind()
    return bool(ranks_differ(Evaluation.at_points(point)))


GRID = "groups: {row: rank // 4, column: rank % 4, uneven: rank // 5, some: 'where(rank < 4, 0, -1)'}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- compute: {seconds: 1}\n- allreduce: {bytes: 8}\n- exchange: {pattern: halo1d, bytes: 8}", False),
        ("- broadcast: {bytes: 8, algorithm: binomial, root: 3}", False),
        ("- {start: {broadcast: {bytes: 8}}, as: x}\n- compute: {seconds: 1}\n- wait: x", False),
        ("- broadcast: {bytes: 8, group: row}\n- reduce: {bytes: 8, group: column}", False),
        ("- repeat: 2\n  index: k\n  do: [broadcast: {bytes: 8, root: k, group: row}]", False),
        ("- broadcast: {bytes: 8, group: uneven}", True),
        ("- barrier: {group: some}", True),
        ("- broadcast: {bytes: 8, root: rank // 4, group: row}", True),
        ("- allgather: {bytes: 8*rank, algorithm: ring}", True),
        ("- compute: {seconds: rank}", True),
        ("- compute: {seconds: 1, when: rank == 0}", True),
        ("- send: {to: (rank + 1) % P, bytes: 8}\n- receive: {from: (rank - 1) % P}", True),
        ("- wavefront: {grid: [4, 3], planes: 2, bytes: [8, 8]}", True),
    ],
)
def test_which_ranks_differ(text: str, expected: bool) -> None:
    assert differ(text, head=GRID) == expected


def test_one_rank_never_differs() -> None:
    assert not differ("- compute: {seconds: rank}", ranks=1)


def test_machines_whose_ranks_differ() -> None:
    """Partitions with other rates make the same step longer for some ranks."""
    load = workload("- compute: {flops: 1e9}\n- barrier: {}")
    assert sc.forecast(load, "two-partitions").sum_s is not None
    assert sc.forecast(load, "torus-cluster", {"P": 16}).sum_s is None


@pytest.mark.parametrize("ranks", [2, 6, 13])
@pytest.mark.parametrize("blocks", [1, 5])
def test_a_pipeline_by_hand(ranks: int, blocks: int) -> None:
    """P - 1 ranks wait for the ones before them; the sum is of one rank, which sends and works on its blocks."""
    on = machine(network(16, startup_s=STARTUP_S))
    result = sc.forecast(workload(PIPELINE, PARAMETERS), on, {"P": ranks, "blocks": blocks})
    assert result.makespan_s == pytest.approx(pipeline_s(ranks, blocks), rel=ROUNDING)
    assert result.sum_s == pytest.approx(blocks * (WORK_S + STARTUP_S), rel=ROUNDING)
    assert result.components["computation"] == pytest.approx((ranks - 1 + blocks) * WORK_S, rel=ROUNDING)
    assert result.phases["work"]["computation"] == result.components["computation"]
    assert result.components["communication"] == pytest.approx((ranks - 2 + blocks) * STARTUP_S, rel=ROUNDING)
    assert sum(demand.time_s for demand in result.demands) == pytest.approx(result.sum_s, rel=ROUNDING)


def assert_same(forecasted: Result, simulated: Result) -> None:
    """The makespan, and its phases by components, which add up to it."""
    scale_s = float(simulated.makespan_s) * 1e-9
    assert forecasted.makespan_s == pytest.approx(simulated.makespan_s, rel=ROUNDING, abs=1e-18)
    assert sum(forecasted.components.values()) == pytest.approx(forecasted.makespan_s, rel=1e-11, abs=1e-18)
    for phase, times in simulated.phases.items():
        for part, time_s in times.items():
            assert forecasted.phases[phase][part] == pytest.approx(time_s, abs=scale_s), (phase, part)


@settings(deadline=None, max_examples=examples(200))
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([None, 500.0]), st.integers(1, 10**6))
def test_random_programs(seed: int, others: bool, limit_bytes: float | None, odd: int) -> None:
    """The forecast is the simulation without effects. Times that differ in every digit leave one longest path."""
    load, on, ranks = case(seed, "hockney", others)
    startup_s = 1e-6 * (1 + odd / 1e7)
    own = {"startup_s": startup_s, "hop_latency_s": 0.137e-6 * startup_s / 1e-6}
    on = replace(on, network=network_with(on.network, rendezvous_above_bytes=limit_bytes, **own))
    forecasted = sc.forecast(load, on, {"P": ranks})
    if forecasted.longest_path is not None and forecasted.longest_path.time_s is None:
        with pytest.raises(DeadlockError):
            sc.simulate(load, on, {"P": ranks}, effects="none")
        return
    simulated = sc.simulate(load, on, {"P": ranks}, effects="none")
    if ranks > 1:
        assert_same(forecasted, simulated)
    else:
        assert forecasted.makespan_s == pytest.approx(simulated.makespan_s, rel=ROUNDING, abs=1e-18)


@settings(deadline=None, max_examples=examples(100))
@given(st.integers(0, 10**6), st.booleans())
def test_loggops_takes_the_larger_one(seed: int, others: bool) -> None:
    """The path is a lower bound there: the sum stays unless it is below it."""
    load, on, ranks = case(seed, "loggop", others)
    result, simulated = (read(load, on, {"P": ranks}) for read in (sc.forecast, simulated_without_effects))
    path_s = path_of_program(Scenario.of(load, on, {"P": ranks}).bind()).time_s
    sum_s = float(closed_forms(load, on, {"P": ranks}).makespan_s)
    assert path_s is not None
    assert float(result.makespan_s) == pytest.approx(
        max(path_s, sum_s) if ranks > 1 else sum_s, rel=ROUNDING, abs=1e-18
    )
    if result.sum_s is not None:
        assert "a lower bound" in result.basis[0]
        assert result.makespan_s <= simulated.makespan_s * (1 + ROUNDING)
        assert sum(result.components.values()) == pytest.approx(result.makespan_s, rel=1e-11, abs=1e-18)
    elif ranks > 1:
        assert "a lower bound" in result.basis[-1]


def simulated_without_effects(*described: object) -> Result:
    return sc.simulate(*described, effects="none")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["npb-lu", "cg-2d", "cannon", "sweep3d", "hpl", "npb-sp"])
def test_design_points_of_an_array_are_single_points(name: str) -> None:
    startups = np.array([[2e-6], [5e-6]])
    per_byte = np.array([2e-10, 3e-9])
    small = {"n": 4000} if name == "hpl" else {}  # four of its programs have fewer than a million operations
    given_: dict[str, object] = {"P": 16, "network.startup": startups, "network.per_byte": per_byte, **small}
    every = sc.forecast(name, "xeon-cluster", given_)
    assert every.sum_s is not None
    assert every.basis == (headline.PATH,)
    for row, column in product((0, 1), repeat=2):
        one = {"P": 16, "network.startup": float(startups[row, 0]), "network.per_byte": float(per_byte[column])} | small
        alone = sc.forecast(name, "xeon-cluster", one)
        assert every.makespan_s[row, column] == pytest.approx(alone.makespan_s, rel=ROUNDING)
        assert np.asarray(every.sum_s)[row, column] == pytest.approx(alone.sum_s, rel=ROUNDING)
        for phase, times in alone.phases.items():
            for part, time_s in times.items():
                assert np.asarray(every.phases[phase][part])[row, column] == pytest.approx(
                    time_s, abs=1e-9 * float(alone.makespan_s)
                )


def test_too_many_design_points_have_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    on, load = machine(network(16, startup_s=STARTUP_S)), workload(PIPELINE, PARAMETERS)
    values = {"P": 4, "work": np.array([1e-6, 2e-6, 3e-6])}
    each = int(path_of_program(Scenario.of(load, on, {"P": 4}).bind()).operations)
    monkeypatch.setattr(headline, "MOST_OF_ARRAYS", 3 * each)
    paths = sc.forecast(load, on, values)
    assert paths.makespan_s == pytest.approx([pipeline_s(4, 5, work_s) for work_s in values["work"]])
    monkeypatch.setattr(headline, "MOST_OF_ARRAYS", 3 * each - 1)
    sums = sc.forecast(load, on, values)
    assert sums.makespan_s == pytest.approx(paths.sum_s)
    assert sums.sum_s is None
    assert sums.basis == (
        f"{headline.SUM}: the longest paths of 3 design points have more than {3 * each - 1:,} operations of ranks",
    )


def test_points_of_an_array_without_a_path_have_the_sum() -> None:
    """Above S bytes both ranks wait for the other one to receive."""
    on = machine(network(2, startup_s=1e-6, rendezvous_above_bytes=500.0))
    load = workload("- send: {to: 1 - rank, bytes: m}\n- receive: {from: 1 - rank}", "parameters: {m: 8}\n")
    result = sc.forecast(load, on, {"P": 2, "m": np.array([8, 1000])})
    alone = [sc.forecast(load, on, {"P": 2, "m": m}) for m in (8, 1000)]
    assert result.makespan_s == pytest.approx([one.makespan_s for one in alone])
    assert any("wait for each other" in text for text in result.basis)
    assert any("wait for each other" in text for text in alone[1].basis)


def test_energy_and_checkpoints_are_those_of_the_path() -> None:
    """The machine draws its static power for as long as the path takes, and a longer run writes more checkpoints."""
    on = sc.Machine.load(
        {
            "name": "drawing",
            "nodes": 8,
            "processor": {"rate": "1 GFLOP/s", "dynamic_power": "20 W"},
            "components": {"node": {"count": "nodes", "static_power": "100 W"}},
            "disk": {"read_startup": 0, "write_startup": 0, "bandwidth": "1 GB/s"},
            "network": {"topology": {"kind": "crossbar"}, "startup": "1 us", "bandwidth": "1 GB/s"},
        }
    )
    checkpoints = "checkpoints: {interval: 5e-6, write: 2e-6}\n"
    plain, written = (workload(PIPELINE, PARAMETERS + more) for more in ("", checkpoints))
    for load in (plain, written):
        forecasted = sc.forecast(load, on, {"P": 6})
        simulated = simulated_without_effects(load, on, {"P": 6})
        assert forecasted.makespan_s == pytest.approx(simulated.makespan_s, rel=ROUNDING)
        assert forecasted.checkpoints == simulated.checkpoints
        if load is plain:
            assert forecasted.energy_j == pytest.approx(simulated.energy_j, rel=1e-9)
        assert forecasted.sum_s is not None
        assert forecasted.sum_s < forecasted.makespan_s


def test_waits_of_queueing_theory_keep_the_sum() -> None:
    on = machine(network(4, startup_s=1e-6), disk=Disk(1.0, 1.0, 0.0, shared_by=4))
    loop = "- repeat: 10\n  do: [compute: {seconds: 5}, read: {bytes: 0, varies: exponential}]\n"
    alike, swept = sc.forecast(workload(loop), on, {"P": 4}), "- wavefront: {grid: [2, 2], planes: 1, bytes: [8, 8]}"
    result = sc.forecast(workload(loop + swept), on, {"P": 4})
    assert alike.formulas == result.formulas != ()
    assert result.sum_s is None
    assert "queueing theory" in result.basis[-1]


def test_the_ladder_begins_with_the_sum() -> None:
    comparison = sc.compare("npb-lu", "xeon-cluster", {"P": 16}, effects="hops,links")
    (step,) = comparison.path_ladder
    assert step.time_s - step.change_s == pytest.approx(comparison.forecast.sum_s)
    assert step.time_s == comparison.forecast.makespan_s
    first, *effects = comparison.rungs
    assert (first.effect, first.change_s) == ("dependencies and waiting", 0)
    gap_s = comparison.simulation.makespan_s - comparison.forecast.makespan_s
    assert sum(rung.change_s for rung in effects) == pytest.approx(gap_s)
    assert sum(rung.fraction for rung in effects) == pytest.approx(1)
    by_demand_s = sum(gap.change_s for gap in comparison.waiting_by_demand)
    assert by_demand_s == pytest.approx(step.change_s, rel=1e-9)
    assert comparison.to_dict()["path_ladder"][0]["change_s"] == step.change_s
    assert not sc.compare("jacobi", "xeon-cluster", {"P": 16}, effects="none").path_ladder


def test_tables_show_both(capfd: pytest.CaptureFixture[str]) -> None:
    """The rows of the ladder from the sum to the forecast, and the sum below both readings."""
    result = sc.forecast("npb-lu", "xeon-cluster", {"P": 16})
    assert result.sum_s is not None
    sum_ms, path_ms = (f"{1e3 * float(time_s):.4f}" for time_s in (result.sum_s, result.makespan_s))
    compared = command(capfd, "compare")("npb-lu", "xeon-cluster", "-P", "16", "--effects", "hops").out
    rows = [line.split("  ")[0].strip() for line in compared.splitlines() if f"  {sum_ms}" in line]
    assert rows == ["sum of closed forms"]
    rows = [line.split("  ")[0].strip() for line in compared.splitlines() if f"  {path_ms}" in line]
    assert rows[-1].startswith("forecast (dependencies and")  # the rest is below in a narrow terminal
    shown = command(capfd, "forecast")("npb-lu", "xeon-cluster", "-P", "16").out
    for text in (compared, shown):
        assert f"Sum of closed forms: {1e3 * float(result.sum_s):.3f} ms" in text
        assert "The forecast is the longest path" in text


def test_searches_by_sums_are_not_called_exact() -> None:
    """Where ranks differ; the best point's longest path is stated."""
    alike = sc.explore("jacobi", "xeon-cluster", vary=["P=4,16"], minimize=["time"])
    differing = sc.explore("npb-lu", "xeon-cluster", vary=["P=4,16"], minimize=["time"])
    assert (alike.exact, differing.exact) == (True, False)
    assert alike.headline_s is None
    best = sc.forecast("npb-lu", "xeon-cluster", {"P": 16})
    assert differing.headline_s == best.makespan_s
    assert differing.objective == pytest.approx(best.sum_s)


def test_ranks_that_are_too_many_to_follow() -> None:
    """A pipeline of a hundred million ranks has its closed form, and takes no memory for each of them."""
    load = workload("- wavefront: {grid: [P, 1], planes: 1, bytes: [0, 0]}")
    on = machine(network(10**8, startup_s=1e-6, distance="none"))
    result = sc.forecast(load, on, {"P": 10**8})
    assert result.makespan_s == pytest.approx((10**8 - 1) * 1e-6)
    assert result.sum_s is None
    assert "more than 2,000,000 operations" in result.basis[-1]
