"""The bar of explorations: how many points, and nothing where nobody looks."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from simcodesign.report.common.explore_progress import SearchProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(file: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("simcodesign.report.common.progress.PATIENCE_S", 0.0)
    with SearchProgress(Console(file=file, width=80, force_terminal=file.isatty())) as bar:
        bar.on_progress("evolution", 1200)
        bar.on_progress("polish", 34)
        bar._bar.refresh()
        found = bar._bar.tasks[0]
        assert (found.completed, found.fields["last"]) == (1234, "improving the best")
    return file.getvalue()


def test_it_is_quiet_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(io.StringIO(), monkeypatch) == ""


def test_points_are_counted_on_a_terminal() -> None:
    file = Terminal()
    bar = SearchProgress(Console(file=file, width=80, force_terminal=True, legacy_windows=False))
    with bar:
        bar.on_progress("evolution", 1200)
        bar._bar.start()
        bar._bar.refresh()
    assert "1,200 points evaluated" in file.getvalue()
    assert "searching" in file.getvalue()
