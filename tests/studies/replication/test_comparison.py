"""A forecast against replications: every replication is a plain comparison, and its means have intervals."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from simcodesign.comparison.compare import compare
from simcodesign.comparison.effects import WAITING
from simcodesign.describe.effects import effect_names
from simcodesign.report.replication.comparison import replicated_comparison_tables
from simcodesign.studies.replication.comparison import ReplicatedComparison, replicate_comparison
from tests.command_line import command

CASE: dict[str, Any] = {"parameters": {"P": 8}, "phases": ["sweep"]}


@pytest.fixture(scope="module")
def replicated() -> ReplicatedComparison:
    return replicate_comparison("jacobi", "torus-cluster", replications=5, seed=2, **CASE)


def column(replicated: ReplicatedComparison, *key: str) -> np.ndarray:
    return replicated.values[:, replicated.keys.index(key)]


def shown(replicated: ReplicatedComparison) -> str:
    console = Console(file=io.StringIO(), width=160, highlight=False)
    for one in replicated_comparison_tables(replicated):
        console.print(one)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return " ".join(text.split())


def test_every_replication_is_a_plain_comparison(replicated: ReplicatedComparison) -> None:
    for number, seed in enumerate(replicated.seeds):
        alone = compare("jacobi", "torus-cluster", seed=seed, **CASE)
        assert column(replicated, "makespan_s")[number] == alone.simulation.makespan_s
        assert (
            column(replicated, "components_s", "communication")[number] == alone.simulation.components["communication"]
        )
        for rung in alone.rungs:
            assert column(replicated, "simulated_s", rung.effect)[number] == rung.simulation.makespan_s
            assert column(replicated, "change_s", rung.effect)[number] == rung.change_s


def test_changes_add_up_to_the_mean_gap(replicated: ReplicatedComparison) -> None:
    changes = [replicated.interval("change_s", effect).mean for effect in (WAITING, *effect_names())]
    gap = replicated.interval("makespan_s").mean - float(replicated.first.forecast.makespan_s)
    assert sum(changes) == pytest.approx(gap, rel=1e-9)


def test_steps_without_chance_are_the_same_in_all(replicated: ReplicatedComparison) -> None:
    assert replicated.random_sources == ("imbalance", "noise")
    names = effect_names()
    several = [effect for effect in names if not replicated.interval("simulated_s", effect).same]
    assert several == list(names[names.index("imbalance") :])  # the steps after it begin with its times


def test_error_is_that_of_the_mean(replicated: ReplicatedComparison) -> None:
    times = column(replicated, "makespan_s")
    low, high = stats.t.interval(0.95, 4, times.mean(), stats.sem(times))
    value = float(replicated.first.forecast.makespan_s)
    assert replicated.error.mean == pytest.approx(value / times.mean() - 1)
    assert (replicated.error.low, replicated.error.high) == pytest.approx((value / high - 1, value / low - 1))


def test_without_chance_there_is_one() -> None:
    result = replicate_comparison("jacobi", "torus-cluster", {"P": 4}, effects="links,disks", precision=0.01)
    assert result.count == 1
    assert result.stopping.reached
    assert "Nothing here is random" in shown(result)


def test_printed_with_intervals(replicated: ReplicatedComparison) -> None:
    text = shown(replicated)
    error = replicated.error
    assert f"is {100 * error.mean:+.3g}% ({100 * error.low:+.3g}% to {100 * error.high:+.3g}%)" in text
    assert "forecast against 5 simulations of each effect" in text


@pytest.mark.thorough
def test_options(capfd: pytest.CaptureFixture[str]) -> None:
    run = command(capfd, "compare", "jacobi", "torus-cluster", "-P", "8", "--phase", "sweep")
    answer = run("--replications", 5, "--seed", 2, "--json").json
    assert answer["reading"] == "replicated comparison"
    assert len(answer["seeds"]) == 5
    assert run("--replications", 5, "--tolerance", "0.001%").status == 1
    assert run("--precision", "0.0001%", "--at-most", 20).status == 1
    assert run("--replications", 2, "--write", "x.json").status == 2
