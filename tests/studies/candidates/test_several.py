"""Several machines and workloads in one answer: what each says alone, and pairs under the same random numbers."""

from __future__ import annotations

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from scipy import stats

from simcodesign import compare, simulate
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.report.candidates.tables import several_tables
from simcodesign.studies.candidates.several import is_open, ranked, same_order
from simcodesign.studies.replication.replicate import replication_seed
from tests.builders import read_machine, read_workload

BROADCAST = read_workload(
    "simcodesign: 1\nname: cast\nparameters: {m: {default: 1000}}\nprogram:\n"
    "  - compute: {flops: 1e6}\n  - broadcast: {bytes: m}\n"
)
OTHER = read_workload("simcodesign: 1\nname: other\nprogram:\n  - compute: {flops: 2e6}\n")


def machine(name: str, startup_us: float, more: str = "") -> Machine:
    """16 processors of 1 GFLOP/s; a message of m bytes takes its startup and 1 ns a byte."""
    return read_machine(
        f"simcodesign: 1\nname: {name}\nnodes: 16\nprocessor: {{rate: 1 GFLOP/s}}\n{more}network:\n"
        f"  topology: {{kind: crossbar}}\n  startup: {startup_us} us\n  bandwidth: 1 GB/s\n  distance: none\n  sends: blocking\n"
    )


FAST, SLOW = machine("fast", 1), machine("slow", 9)
NOISE = "noise: {compute: {distribution: uniform, spread: 0.5}}\n"


def test_every_candidate_is_what_it_is_alone() -> None:
    several = compare([BROADCAST, OTHER], [FAST, SLOW], {"P": 4})
    pairs = [(BROADCAST, FAST), (BROADCAST, SLOW), (OTHER, FAST), (OTHER, SLOW)]
    assert [(one.workload, one.machine) for one in several.comparisons] == [(a.name, b.name) for a, b in pairs]
    for one, pair in zip(several.comparisons, pairs, strict=True):
        alone = compare(*pair, {"P": 4})
        assert one.forecast_s == alone.forecast.makespan_s
        assert one.simulated.mean == alone.simulation.makespan_s
        assert [one.change(rung).mean for rung in one.comparison.rungs] == [rung.change_s for rung in alone.rungs]


def test_over_an_axis_by_hand() -> None:
    """1 ms of computation, then log2(P) messages of 1 us, or 9 us, and 1 us for the bytes."""
    several = compare(BROADCAST, [FAST, SLOW], vary={"P": [2, 8]}, effects="none")
    times = [1e-3 + log2(ranks) * (startup + 1) * 1e-6 for ranks in (2, 8) for startup in (1, 9)]
    assert [one.at for one in several.comparisons] == [{"P": ranks} for ranks in (2, 2, 8, 8)]
    assert [one.forecast_s for one in several.comparisons] == pytest.approx(times)
    assert [one.simulated.mean for one in several.comparisons] == pytest.approx(times)
    second, fourth = several.comparisons[1], several.comparisons[3]
    assert second.against is not None
    assert fourth.against is not None
    assert second.against.ratio.mean == pytest.approx(times[1] / times[0])
    assert fourth.against.difference.mean == pytest.approx(times[3] - times[2])
    assert fourth.against.difference.same
    assert several.comparisons[0].against is several.comparisons[2].against is None


def test_pairs_have_the_same_random_numbers() -> None:
    """Student's interval of the differences, by SciPy, of simulations that are made one by one."""
    machines = [machine("fast", 1, NOISE), machine("slow", 9, NOISE)]
    several = compare(BROADCAST, machines, {"P": 4}, replications=6, level=0.9, seed=3)
    seeds = [replication_seed(3, number) for number in range(6)]
    times = [np.array([simulate(BROADCAST, one, {"P": 4}, seed=seed).makespan_s for seed in seeds]) for one in machines]
    by_scipy = stats.ttest_rel(times[1], times[0]).confidence_interval(0.9)
    pair = several.comparisons[1].against
    assert pair is not None
    assert (pair.difference.low, pair.difference.high) == pytest.approx((by_scipy.low, by_scipy.high), rel=1e-9)
    assert [one.simulated.mean for one in several.comparisons] == pytest.approx([each.mean() for each in times])
    assert [len(one.times_s) for one in several.comparisons] == [6, 6]


def test_a_precision_of_the_difference() -> None:
    """By SciPy: the half-width of the interval of the paired differences, as a fraction of the mean on the first."""
    machines = [machine("fast", 1, NOISE), machine("slow", 9, NOISE)]
    several = compare(BROADCAST, machines, {"P": 4}, precision=0.04, level=0.9, effects="noise")
    first, second = (one.times_s for one in several.comparisons)
    assert len(first) == len(second) >= 20
    low, high = stats.ttest_rel(second, first).confidence_interval(0.9)
    assert (high - low) / 2 <= 0.04 * first.mean()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 0.9}, "level needs replications"),
        ({"replications": 2, "timeline": True}, "a timeline shows a single simulation"),
        ({"replications": 2, "formulas": "1e-3"}, "replications of one machine have no formulas"),
    ],
)
def test_options_that_exclude_one_another(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        compare(BROADCAST, FAST, {"P": 4}, **options)


@pytest.mark.parametrize("options", [{"warm_up": 3}, {"replications": 2, "counters": True}])
def test_options_of_one_simulation_and_of_several(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="replications"):
        simulate(BROADCAST, FAST, {"P": 4}, **options)


def test_a_machine_without_noise_beside_one_with() -> None:
    several = compare(BROADCAST, [FAST, machine("slow", 9, NOISE)], {"P": 4}, replications=4)
    calm, noisy = several.comparisons
    assert calm.simulated.same
    assert not noisy.simulated.same
    assert noisy.against is not None
    assert noisy.against.difference.mean == pytest.approx(noisy.simulated.mean - calm.simulated.mean)
    assert noisy.against.difference.half_width == pytest.approx(noisy.simulated.half_width)


def test_json_has_the_orders() -> None:
    shown = compare(BROADCAST, [SLOW, FAST], {"P": 4}).to_dict()
    assert shown["orders"] == [
        {
            "workload": "cast",
            "at": {},
            "forecast": ["fast", "slow"],
            "simulated": ["fast", "slow"],
            "ranks": {"forecast": [["fast"], ["slow"]], "simulated": [["fast"], ["slow"]]},
        }
    ]
    assert [one["against_first"] is None for one in shown["comparisons"]] == [True, False]
    assert {rung["effect"]: rung["applies"] for rung in shown["comparisons"][0]["ladder"]}["disks"] is False


@pytest.mark.parametrize(
    ("machines", "over", "words"),
    [
        ([FAST, replace(FAST)], None, "compared twice"),
        ([FAST, SLOW], {"P": [2], "m": [1]}, "over one name"),
        ([FAST, SLOW], {"P": []}, "values of P"),
        ([], None, "nothing to compare"),
    ],
)
def test_what_is_refused(machines: list[Machine], over: dict[str, list[float]] | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        compare(BROADCAST, machines, vary=over)


@pytest.mark.parametrize(("spread", "rate"), [(0.3, 1.0), (0.3, 0.7)])
def test_machines_between_which_chance_decides_are_in_one_place(spread: float, rate: float) -> None:
    """By Student's interval of the paired differences: more noise of the same mean decides nothing; at 0.7 times the rate
    2 ms are 2.86 ms, far beyond it."""
    noise = f"noise: {{compute: {{distribution: uniform, spread: {spread}}}}}\n"
    one, other = machine("one", 1, NOISE), machine("other", 1, noise)
    other = other.with_constants({"processor.rate": rate * 1e9})
    several = compare(OTHER, [one, other], {"P": 1}, effects="noise", seed=1)
    first, second = several.comparisons
    difference = second.times_s - first.times_s
    low, high = stats.t.interval(0.95, len(difference) - 1, difference.mean(), stats.sem(difference))
    assert is_open(first, second) == (low <= 0 <= high) == (rate == 1)
    assert len(ranked(several.comparisons, "simulated")) == (1 if rate == 1 else 2)
    assert same_order(several.comparisons)
    text = " ".join(str(getattr(one, "renderable", one)) for one in several_tables(several))
    assert ("no difference between" in text) == (rate == 1)
