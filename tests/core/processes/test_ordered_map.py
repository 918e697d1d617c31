"""A task for one number after another: in order, at home or by processes, some of which are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcodesign.core.errors import SimcodesignError
from simcodesign.core.processes import ordered_map
from simcodesign.core.processes.ordered_map import map_in_order
from tests.processes.dying import Dies


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are started however little they save."""
    monkeypatch.setattr(ordered_map, "MIN_SAVING_S", 0.0)


def test_at_home_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_map, "ProcessExecutor", None)
    assert [*map_in_order(Dies(0), 5, 1, 1e9)] == [1, 4, 9, 16]
    assert [*map_in_order(Dies(0), 5, 2, 0.0)] == [1, 4, 9, 16]  # too little to be worth processes
    assert [*map_in_order(Dies(0), 1, 2, 1e9)] == []


@pytest.mark.parametrize(("spent_s", "sure", "started"), [(1.0, True, True), (1.0, False, False), (6.0, False, True)])
def test_processes_are_for_what_takes_long(
    monkeypatch: pytest.MonkeyPatch, spent_s: float, sure: bool, started: bool
) -> None:
    """Of 9 more of 1 s each two processes save 4.5 s; of what may end after the next one, half a second."""
    monkeypatch.setattr(ordered_map, "_by_processes", lambda *_: iter(["started"]))
    assert next(map_in_order(Dies(0), 10, 2, spent_s, sure)) == ("started" if started else 1)


@pytest.mark.usefixtures("at_once")
def test_a_process_that_dies_is_replaced(tmp_path: Path) -> None:
    squares = [number**2 for number in range(1, 8)]
    assert [*map_in_order(Dies(3, str(tmp_path / "mended")), 8, 2, 1.0)] == squares


@pytest.mark.usefixtures("at_once")
def test_a_number_that_always_ends_its_process_is_named() -> None:
    with pytest.raises(SimcodesignError, match=r"run 4 ended its process 3 times: .*signal 9"):
        list(map_in_order(Dies(3), 8, 2, 1.0))


@pytest.mark.usefixtures("at_once")
def test_processes_end_when_nobody_asks_any_more() -> None:
    endless = map_in_order(Dies(0), 10**9, 2, 1.0, sure=False)
    assert next(endless) == 1
    endless.close()
