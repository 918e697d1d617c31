"""The demonstration prints what was measured beside what was computed, and writes its pictures and its page."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from rich.padding import Padding

from simcodesign.report.demo import flagship, seismic
from tests import ROOT
from tests.oracles.shared_broadcast import messages_long

#: Of the machine fugaku: calibrated startup with the overhead of a receive, and bandwidth.
STARTUP_S, BYTES_PER_S, SIZE = 2.426e-6, 6.345e9, 64 * 2**20


def printed(output: Path) -> list[str]:
    """Return the lines that the demonstration prints."""
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flagship, "write", lines.append)
        patch.setattr(flagship, "print_all", lambda parts: lines.extend(_text(part) for part in parts))
        flagship.main(output)
    return "\n".join(lines).splitlines()


def measured_ms(shape: str) -> str:
    """The published median of the broadcast by a binomial tree."""
    path = ROOT / "validation" / "published" / "fugaku-collectives.csv"
    rows = csv.DictReader(line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    (row,) = [row for row in rows if (row["algorithm"], row["shape"], row["bytes"]) == ("binomial", shape, str(SIZE))]
    return f"{float(row['median_us']) / 1e3:.2f}"


@pytest.mark.thorough
def test_the_demonstration(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lines = printed(tmp_path)
    check_broadcasts([line for line in lines if line.partition(" ")[0] in ("2x2x2", "4x4x4", "8x8x8")])
    check_every_measured_time_of_the_test_set_is_printed(lines)
    check_calibration_has_no_error_but_its_rounding(lines)
    pictures = sorted(path.name for path in tmp_path.iterdir())
    assert pictures == ["broadcast.svg", "demo.html", "exchange.svg", "ladder.svg", "seismic.svg"]
    assert (tmp_path / "demo.html").read_text(encoding="utf-8").count('<img src="data:image/svg+xml') == 4


def check_broadcasts(rows: list[str]) -> None:
    """The formula has 3 levels of messages for each doubling of the side; messages that share links on the folded job
    take longer, by an independent calculation."""
    assert [row.split()[0] for row in rows] == ["2x2x2", "4x4x4", "8x8x8"]
    message_ms, startup_ms = SIZE / BYTES_PER_S * 1e3, STARTUP_S * 1e3
    for row, levels in zip(rows, (1, 2, 3), strict=True):
        cells = row.split()
        assert cells[1] == measured_ms(cells[0])
        assert float(cells[-4]) == pytest.approx(3 * levels * (startup_ms + message_ms), abs=0.01)
        times = float(messages_long(2**levels))
        assert float(cells[-2]) == pytest.approx(times * message_ms, abs=3 * levels * startup_ms + 0.01)


def _text(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Padding):
        return str(part.renderable)
    cells = [list(column.cells) for column in part.columns]  # type: ignore[attr-defined]
    return "\n".join(" ".join(row) for row in zip(*cells, strict=True))


def check_every_measured_time_of_the_test_set_is_printed(printed: list[str]) -> None:
    measured = seismic.measured_times()
    for row in measured[measured.preset == "test"].itertuples():
        start = f"test 16 {row.phase} {row.component} {row.seconds:.4g} "
        assert any(line.startswith(start) and line.endswith(row.role) for line in printed), row


def check_calibration_has_no_error_but_its_rounding(printed: list[str]) -> None:
    rows = [line.split() for line in printed if line.endswith("calibration") and "computation" in line]
    assert len(rows) == 4
    assert {row[6] for row in rows} == {"+0.0%"}
