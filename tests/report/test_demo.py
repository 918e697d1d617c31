"""The main job runs, prints what was measured beside what was computed, and writes its plots."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcodesign.report.results import demo


@pytest.mark.thorough
def test_a_part_of_the_job(tmp_path: Path) -> None:
    """One test, so that of several processes only one runs the job: it takes a while."""
    pytest.importorskip("matplotlib")
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        patch.setattr(demo, "write", lines.append)
        patch.setattr(demo, "print_all", lambda parts: lines.extend(_text(part) for part in parts))
        assert demo.main(tmp_path, quick=True) == 0
    printed = "\n".join(lines).splitlines()
    check_every_measured_time_of_the_test_set_is_printed(printed)
    check_calibration_has_no_error_but_its_rounding(printed)
    check_plots_are_pictures(tmp_path)


def _text(part: object) -> str:
    if isinstance(part, str):
        return part
    cells = [list(column.cells) for column in part.columns]  # type: ignore[attr-defined]
    return "\n".join(" ".join(row) for row in zip(*cells, strict=True))


def check_every_measured_time_of_the_test_set_is_printed(printed: list[str]) -> None:
    measured = demo.measured_times()
    for row in measured[measured.preset == "test"].itertuples():
        start = f"test 16 {row.phase} {row.component} {row.seconds:.4g} "
        assert any(line.startswith(start) and line.endswith(row.role) for line in printed), row


def check_calibration_has_no_error_but_its_rounding(printed: list[str]) -> None:
    rows = [line.split() for line in printed if line.endswith("calibration") and "computation" in line]
    assert len(rows) == 4
    assert {row[6] for row in rows} == {"+0.0%"}


def check_plots_are_pictures(output: Path) -> None:
    pictures = sorted(output.iterdir())
    assert [path.name for path in pictures] == ["activity-test-16.png", "comparison.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


@pytest.mark.thorough
def test_the_whole_job(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert demo.main(tmp_path) == 0
    assert len(list(tmp_path.iterdir())) == 4
