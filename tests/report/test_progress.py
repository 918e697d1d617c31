"""The bar of all commands: its counts on a terminal, and nothing where nobody looks."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from simcodesign.report.common.progress import ProgressBar, RateCounter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def console_on(file: io.StringIO) -> Console:
    return Console(file=file, width=100, force_terminal=file.isatty(), _environ={"TERM": "xterm"})


@pytest.mark.parametrize("terminal", [True, False])
def test_points_are_counted_on_a_terminal_only(terminal: bool) -> None:
    file = Terminal() if terminal else io.StringIO()
    with ProgressBar(
        "{task.completed:,} points evaluated", bar=False, steps=True, console=console_on(file), patience_s=None
    ) as on_progress:
        on_progress("evolution", 1200)
        on_progress("polish", 34)
    assert ("1,234 points evaluated" in file.getvalue(), "improving the best" in file.getvalue()) == (
        terminal,
        terminal,
    )
    assert terminal or not file.getvalue()


def test_systems_and_the_events_of_the_simulation_at_hand() -> None:
    file = Terminal()
    with ProgressBar("systems", counted=True, console=console_on(file), patience_s=None) as on_progress:
        on_progress("cg", "racks", 1, 3)
        on_progress(0.5, 20_000)
    assert "1/3" in file.getvalue()
    assert "cg, racks: 500 ms simulated, 20,000 events" in file.getvalue()


def test_simulations_are_counted() -> None:
    file = Terminal()
    with ProgressBar(
        "{task.completed} simulations", bar=False, console=console_on(file), patience_s=None
    ) as on_progress:
        on_progress("profile on 8", 3)
    assert "3 simulations" in file.getvalue()
    assert "profile on 8" in file.getvalue()


@pytest.mark.parametrize(("patience_s", "wanted"), [(60.0, True), (None, False)])
def test_nothing_before_its_time_nor_where_it_is_not_wanted(patience_s: float | None, wanted: bool) -> None:
    file = Terminal()
    with ProgressBar(
        "fitting", total=10, console=console_on(file), patience_s=patience_s, wanted=wanted
    ) as on_progress:
        on_progress(4)
    assert file.getvalue() == ""


def test_an_interrupt_ends_the_bar() -> None:
    file = Terminal()
    with pytest.raises(KeyboardInterrupt), ProgressBar("x", console=console_on(file), patience_s=0.0):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt), ProgressBar("x", console=console_on(file), patience_s=60.0) as bar:
        raise KeyboardInterrupt
    assert not bar._timer.is_alive()


def test_a_rate_counts_from_the_first_report_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 12.0, 20.0, 21.0])
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    counter = RateCounter("events")
    assert counter.text(1000) == "1,000 events"
    assert counter.text(5000, 9000) == "5,000 of 9,000 events, 2,000 events/s"
    assert counter.text(100) == "100 events"  # another run
    assert counter.text(350) == "350 events, 250 events/s"
