"""Replications as they are printed, and the options that ask for them."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from simcodesign.core.errors import InputError
from simcodesign.engine.simulate import simulate
from simcodesign.report.candidates.differences import difference_tables, verdict
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.replication.plot import replications_plot, running
from simcodesign.report.replication.quantities import QuantityFormat
from simcodesign.report.replication.tables import replication_tables
from simcodesign.studies.candidates.several import compare_several, differences
from simcodesign.studies.replication.observations import Key
from simcodesign.studies.replication.output_analysis import Interval, PairedIntervals, WarmUp, batch_means, paired
from simcodesign.studies.replication.replicate import Replicated, replicate
from tests.command_line import Ran, command

NAMES = ("torus-cluster", "xeon-cluster")
CASE = ("jacobi", "torus-cluster", "-P", "8", "--phase", "sweep")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "160")
    return command(capfd, "simulate")


@pytest.fixture(scope="module")
def replicated() -> Replicated:
    return replicate("jacobi", "torus-cluster", {"P": 8}, phases=["sweep"], replications=6)


@pytest.fixture(scope="module")
def pairs() -> dict[Key, PairedIntervals]:
    return differences(*compare_several("jacobi", [*NAMES], {"P": 8}, phases=["sweep"], replications=6).comparisons)


def shown(tables: Any) -> str:
    console = Console(file=io.StringIO(), width=160, highlight=False)
    for one in tables:
        console.print(one)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return " ".join(text.split())


def wide(mean: float, half: float, unit: str = "s") -> str:
    return QuantityFormat(unit).wide(Interval(mean, mean - half, mean + half, 5, 0.95))


# --- Numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mean", "half", "unit"),
    [
        ("116.85 ± 0.11 ms", 0.116851, 0.0001144, "s"),
        ("366 ± 19 us", 365.8e-6, 19.27e-6, "s"),
        ("0 ± 12 ms", 0.0, 0.012, "s"),
        ("1.00 ± 0.50 s", 1.0, 0.5, "s"),
        ("216.07 ± 0.02 ms", 0.216068, 0.0000248, "s"),
        ("1.0000 ± 2e-09 s", 1.0, 2e-9, "s"),
        ("49.70 ± 0.62%", 0.497, 0.0062, "%"),
        ("1,234 ± 10", 1234.2, 10.2, ""),
        ("4.88 ± 0.10 MB", 4.881e6, 1.0e5, "B"),
    ],
)
def test_means_show_as_many_digits_as_their_interval_allows(text: str, mean: float, half: float, unit: str) -> None:
    assert wide(mean, half, unit) == text


def test_without_an_interval_the_mean_stands_alone() -> None:
    assert QuantityFormat("s").wide(Interval(0.5, 0.5, 0.5, 5, 0.95, same=True)) == "500.00 ms"
    assert QuantityFormat("").wide(Interval(7.0, math.nan, math.nan, 1, 0.95)) == "7"


@given(st.floats(1e-9, 1e9), st.floats(1e-6, 1.0))
def test_what_is_printed_is_what_is_meant(mean: float, share: float) -> None:
    """Read back: the mean within half a unit of its last digit, which is below the half-width; the half-width too."""
    numbers = wide(mean, share * mean, "").replace(",", "").split(" ± ")
    assert float(numbers[0]) == pytest.approx(mean, abs=max(share * mean, 1e-4 * mean))
    assert float(numbers[1]) == pytest.approx(share * mean, rel=0.5)


# --- Tables --------------------------------------------------------------------------------------------------


def test_every_mean_has_its_interval(replicated: Replicated) -> None:
    text = shown(replication_tables(replicated, 3))
    mean = replicated.interval("makespan_s")
    assert f"mean makespan of 6 replications {QuantityFormat('s')(mean.mean)} ± {100 * mean.relative:.2g}%" in text
    assert QuantityFormat("s").wide(mean) in text
    assert f"messages {int(replicated.first.messages):,} same in all" in text
    assert "Most used of" in text
    assert "A number without ± is the same in every replication." in text
    lowest = replicated.seeds[int(replicated.column(("makespan_s",)).argmin())]
    assert f"--seed {lowest}" in text
    assert "Most used of" not in shown(replication_tables(replicated, 0))


def test_the_seeds_that_are_shown_repeat_a_replication(replicated: Replicated) -> None:
    alone = simulate("jacobi", "torus-cluster", {"P": 8}, phases=["sweep"], seed=replicated.seeds[3])
    assert alone.makespan_s == replicated.column(("makespan_s",))[3]


def test_without_chance_it_is_said() -> None:
    text = shown(replication_tables(replicate("jacobi", "torus-cluster", {"P": 4}, effects="none")))
    assert "Nothing here is random" in text
    assert "whatever the seed" in text
    assert "±" not in text


def test_a_precision_that_is_not_reached_is_said(replicated: Replicated) -> None:
    missed = replace(replicated, stopping=replace(replicated.stopping, precision=1e-6, reached=False))
    assert "NOT REACHED" in shown(replication_tables(missed))
    assert "at two looks in a row" in shown(
        replication_tables(replace(replicated, stopping=replace(replicated.stopping, precision=0.5)))
    )


def streamed(replicated: Replicated, **changes: Any) -> Replicated:
    """As if it were of an open stream."""
    values = np.column_stack([replicated.values, np.linspace(1, 2, replicated.count)])
    return replace(replicated, keys=(*replicated.keys, ("response_s",)), values=values, **changes)


def test_a_warm_up_is_said(replicated: Replicated) -> None:
    assert "the first 1,250 requests of a run are left out" in shown(
        replication_tables(streamed(replicated, removed=WarmUp(1250)))
    )
    assert "may not have settled" in shown(replication_tables(streamed(replicated, removed=WarmUp(5, late=True))))


def test_batches_are_said(replicated: Replicated) -> None:
    alone = replace(replicated, seeds=replicated.seeds[:1], values=replicated.values[:1])
    good, bad = (batch_means(values) for values in (np.random.default_rng(0).normal(9, 1, 400), np.arange(400.0)))
    for batches, words in ((good, "may be taken as independent"), (bad, "the interval is too narrow")):
        text = shown(replication_tables(streamed(alone, removed=WarmUp(0), batches=batches)))
        assert f"20 batches of {batches.size} requests" in text
        assert words in text


def test_two_machines_end_with_a_verdict(pairs: dict[Key, PairedIntervals]) -> None:
    text = shown(difference_tables(pairs, NAMES))
    pair = pairs["makespan_s",]
    size = QuantityFormat("s").wide(pair.difference).lstrip("-")
    assert f"on xeon-cluster is smaller than on torus-cluster by {size}" in text
    assert "does not hold 0: it is not chance" in text
    assert f"would be {pair.narrowing:.2g} times as wide" in text
    assert "±" in text


def test_the_same_times_on_two_machines() -> None:
    values = np.array([1.0, 2.0, 4.0])
    assert "is the same on both" in verdict(paired(values, values), ("makespan_s",), NAMES)


def test_undecided_is_said(pairs: dict[Key, PairedIntervals]) -> None:
    pair = pairs["makespan_s",]
    open_pair = replace(pair, difference=replace(pair.difference, low=-1.0, high=1.0))
    assert "it is not known which is better" in verdict(open_pair, ("makespan_s",), NAMES)


# --- Plots and progress --------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_plots_are_written(replicated: Replicated, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    replications_plot(replicated, tmp_path / "0.png")
    assert (tmp_path / "0.png").stat().st_size > 10_000
    with pytest.raises(InputError, match="nothing to plot"):
        replications_plot(
            replace(replicated, seeds=replicated.seeds[:1], values=replicated.values[:1]), tmp_path / "one.png"
        )


def test_what_is_drawn_so_far_are_intervals() -> None:
    result = running(np.array([1.0, 2.0, 4.0]), 0.95)
    assert [one.count for one in result] == [2, 3]
    assert result[1].mean == pytest.approx(7 / 3)


@pytest.mark.parametrize(("width", "shown"), [(math.inf, False), (0.02, True)])
def test_progress_takes_any_width(width: float, shown: bool) -> None:
    file = io.StringIO()
    file.isatty = lambda: True  # type: ignore[method-assign]
    console = Console(file=file, width=100, force_terminal=True, _environ={"TERM": "xterm"})
    with ProgressBar("replications", counted=True, console=console, patience_s=None) as on_progress:
        on_progress(2, 1000, width)
    assert "2/1000" in file.getvalue()
    assert ("± 2%" in file.getvalue()) == shown


# --- Options -------------------------------------------------------------------------------------------------


def test_replications_as_json(run: Any, replicated: Replicated) -> None:
    answer = run(*CASE, "--replications", 6, "--json").json
    assert answer["reading"] == "replications"
    assert answer["replications"] == 6
    assert answer["each"]["makespan_s"] == replicated.column(("makespan_s",)).tolist()
    assert answer["means"]["makespan_s"]["half_width"] == pytest.approx(replicated.interval("makespan_s").half_width)
    assert answer["means"]["phases_s"]["sweep"]["total"]["mean"] == pytest.approx(
        replicated.interval("phases_s", "sweep", "total").mean
    )


def test_a_plain_simulation_stays_what_it_was(run: Any) -> None:
    answer = run(*CASE, "--json").json
    assert answer == json.loads(json.dumps(simulate("jacobi", "torus-cluster", {"P": 8}, phases=["sweep"]).to_dict()))


def test_confidence_is_that_of_the_interval(run: Any) -> None:
    widths = [
        run(*CASE, "--replications", 4, "--level", level, "--json").json["means"]["makespan_s"]["half_width"]
        for level in ("80%", "0.99")
    ]
    assert widths[0] < widths[1]


@pytest.mark.thorough
def test_status_says_whether_the_precision_was_reached(run: Any) -> None:
    assert run(*CASE, "--precision", "50%").status == 0
    missed = run(*CASE, "--precision", "0.0001%", "--at-most", 20)
    assert missed.status == 1
    assert "NOT REACHED" in missed.out


@pytest.mark.thorough
def test_another_machine(capfd: pytest.CaptureFixture[str]) -> None:
    compared = command(capfd, "compare")
    two = ("jacobi", "torus-cluster", "xeon-cluster", *CASE[2:])
    first, second = compared(*two, "--replications", 4, "--json").json["comparisons"]
    assert (first["replications"], second["replications"]) == (4, 4)
    assert second["against_first"]["decided"]
    assert "xeon-cluster is smaller" in " ".join(compared(*two).out.split())
    missed = compared(*two, "--precision", "0.0001%", "--at-most", 20)
    assert missed.status == 1
    assert "NOT REACHED" in missed.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--warm-up", "10"), "--warm-up needs --replications or --precision"),
        (("--replications", "3", "--at-most", "20"), "--at-most needs --precision"),
        (("--replications", "3", "--precision-of", "x"), "--precision-of needs --precision"),
        (("--replications", "3", "--write", "x.json"), "--write: shows one run"),
        (("--replications", "3", "--warm-up", "mser"), "mser5, or a number of requests"),
        (("--precision", "1 s"), "--precision"),
        (("--precision", "200%"), "precision, got 2.0"),
        (("--precision", "-1%"), "--precision: not a fraction of 0 or more"),
        (("--precision", "1%", "--precision-of", "makespan_ss"), "did you mean 'makespan_s'"),
        (("--replications", "1"), "one replication has no interval"),
        (("--replications", "2", "--level", "100%"), "level of an interval"),
    ],
)
def test_options_that_cannot_be(run: Any, arguments: tuple[str, ...], message: str) -> None:
    result: Ran = run(*CASE, *arguments)
    assert result.status == 2
    assert result.err.startswith("error: ")
    assert message in " ".join(result.err.split())
    assert result.out == ""
