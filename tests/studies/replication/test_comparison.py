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
def found() -> ReplicatedComparison:
    return replicate_comparison("jacobi", "torus-cluster", replications=5, seed=2, **CASE)


def column(found: ReplicatedComparison, *key: str) -> np.ndarray:
    return found.values[:, found.keys.index(key)]


def shown(found: ReplicatedComparison) -> str:
    console = Console(file=io.StringIO(), width=160, highlight=False)
    for one in replicated_comparison_tables(found):
        console.print(one)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return " ".join(text.split())


def test_every_replication_is_a_plain_comparison(found: ReplicatedComparison) -> None:
    for number, seed in enumerate(found.seeds):
        alone = compare("jacobi", "torus-cluster", seed=seed, **CASE)
        assert column(found, "makespan_s")[number] == alone.simulation.makespan_s
        assert column(found, "components_s", "communication")[number] == alone.simulation.components["communication"]
        for rung in alone.rungs:
            assert column(found, "simulated_s", rung.effect)[number] == rung.simulation.makespan_s
            assert column(found, "change_s", rung.effect)[number] == rung.change_s


def test_changes_add_up_to_the_mean_gap(found: ReplicatedComparison) -> None:
    changes = [found.interval("change_s", effect).mean for effect in (WAITING, *effect_names())]
    gap = found.interval("makespan_s").mean - float(found.first.forecast.makespan_s)
    assert sum(changes) == pytest.approx(gap, rel=1e-9)


def test_steps_without_chance_are_the_same_in_all(found: ReplicatedComparison) -> None:
    assert found.random_sources == ("imbalance", "noise")
    assert [effect for effect in effect_names() if not found.interval("simulated_s", effect).same] == [
        "imbalance",
        "noise",
    ]


def test_error_is_that_of_the_mean(found: ReplicatedComparison) -> None:
    times = column(found, "makespan_s")
    low, high = stats.t.interval(0.95, 4, times.mean(), stats.sem(times))
    said = float(found.first.forecast.makespan_s)
    assert found.error.mean == pytest.approx(said / times.mean() - 1)
    assert (found.error.low, found.error.high) == pytest.approx((said / high - 1, said / low - 1))


def test_without_chance_there_is_one() -> None:
    found = replicate_comparison("jacobi", "torus-cluster", {"P": 4}, effects="links,disks", precision=0.01)
    assert found.count == 1
    assert found.stopping.reached
    assert "Nothing here is random" in shown(found)


def test_printed_with_intervals(found: ReplicatedComparison) -> None:
    text = shown(found)
    error = found.error
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
    assert run("--jobs", 2).status == 2
    assert run("--replications", 2, "--timeline", "x.json").status == 2
