"""The main job runs, prints what was measured beside what was computed, and writes its plots."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcodesign.report import demo

pytestmark = pytest.mark.xdist_group("demo")  # one worker runs the job, once


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    pytest.importorskip("matplotlib")
    output = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        patch.setattr(demo, "write", lines.append)
        patch.setattr(demo, "print_all", lambda parts: lines.extend(_text(part) for part in parts))
        assert demo.main(output, quick=True) == 0
    return "\n".join(lines), output


def _text(part: object) -> str:
    if isinstance(part, str):
        return part
    cells = [list(column.cells) for column in part.columns]  # type: ignore[attr-defined]
    return "\n".join(" ".join(row) for row in zip(*cells, strict=True))


def test_every_measured_time_of_the_test_set_is_printed(printed: tuple[str, Path]) -> None:
    text, _ = printed
    measured = demo.measured_times()
    for row in measured[measured.preset == "test"].itertuples():
        assert any(
            line.startswith(f"test 16 {row.phase} {row.component} {row.seconds:.4g} ") and line.endswith(row.role)
            for line in text.splitlines()
        ), row


def test_calibration_has_no_error_but_its_rounding(printed: tuple[str, Path]) -> None:
    rows = [line.split() for line in printed[0].splitlines() if line.endswith("calibration") and "computation" in line]
    assert len(rows) == 4
    assert {row[6] for row in rows} == {"+0.0%"}


def test_plots_are_pictures(printed: tuple[str, Path]) -> None:
    _, output = printed
    pictures = sorted(output.iterdir())
    assert [path.name for path in pictures] == ["activity-test-16.png", "comparison.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


@pytest.mark.slow
def test_the_whole_job(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert demo.main(tmp_path) == 0
    assert len(list(tmp_path.iterdir())) == 4
