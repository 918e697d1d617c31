"""docs/fugaku.md and its file of all rows: what was measured is in the published table, and errors are those of the runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simcodesign.comparison.attribution import UNEXPLAINED
from simcodesign.describe.yaml.files import load_machine
from tests import ROOT
from validation.measured import benchmark, fugaku_table
from validation.measured.evidence import REPLACED, read_lines
from validation.measured.fugaku_runs import (
    BRUCK,
    CONSTANTS,
    COPIES,
    GEOMETRY_ROWS,
    MIB,
    SIDES,
    Row,
    error,
    forecast_s,
    formula_s,
    row,
    rows,
    simulation_s,
)

NO_GAP = fugaku_table.NO_GAP
TEXT = (ROOT / "docs" / "fugaku.md").read_text(encoding="utf-8")
CALIBRATION = (ROOT / "docs" / "tables" / "fugaku-calibration.csv").read_text(encoding="utf-8")
LINES = read_lines(ROOT / "docs" / "tables" / "fugaku-rows.csv")
ROLES = {each.id: each.role for each in benchmark.rows()}
#: Half of the last digit of an error in the file.
ROUNDING = 0.51e-4


def row_of(line: dict[str, str]) -> Row:
    return row(line["operation"], line["algorithm"], line["nodes"], int(line["bytes"]))


SHOWN = {row_of(line): line for line in LINES}
JOBS = sorted({(each.operation, each.algorithm, each.shape) for each in SHOWN})


def cells(first: str) -> list[list[str]]:
    """Rows of tables whose first cell matches."""
    lines = (line for line in TEXT.splitlines() if re.match(rf"\| ({first}) \|", line))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_measured_row_is_in_the_file_with_its_spread_and_its_role() -> None:
    assert SHOWN.keys() == {*rows()}
    for each, line in SHOWN.items():
        in_us = [f"{time_s * 1e6:.6g}" for time_s in (each.median_s, each.lower_s, each.upper_s)]
        assert [line["measured_us"], line["low_us"], line["high_us"]] == in_us
        assert line["role"] == ROLES[f"fugaku/{each.operation}/{each.label}"]


@pytest.mark.thorough
@pytest.mark.parametrize("job", JOBS, ids="-".join)
def test_errors(job: tuple[str, str, str]) -> None:
    readings = {"formula": formula_s, "forecast": forecast_s, "simulation": simulation_s}
    for each, line in SHOWN.items():
        if (each.operation, each.algorithm, each.shape) == job and line["simulation_error"]:
            for name, seconds in readings.items():
                assert error(seconds(each), each) == pytest.approx(float(line[f"{name}_error"]), abs=ROUNDING)


def shares(ladder: str) -> dict[str, int]:
    """Per cent of the gap of each step."""
    return {name: int(share) for name, share in re.findall(r"(?:^|, )([a-z ]+) (-?\d+) %", ladder)}


def test_ladders_divide_the_gaps() -> None:
    """What is not explained is the error of the simulation, as a fraction of the error of the forecast; a gap of less than
    1 %, or within the quartiles, is not divided."""
    for each, line in SHOWN.items():
        if not line["forecast_error"]:
            assert line["ladder"] == ""
            continue
        forecast, simulation = float(line["forecast_error"]), float(line["simulation_error"])
        forecasted_s = each.median_s * (1 + forecast)
        slack_s = each.median_s * ROUNDING
        within = each.lower_s - slack_s <= forecasted_s <= each.upper_s + slack_s
        if line["ladder"] == NO_GAP:
            assert abs(forecast) < 0.01 + ROUNDING or within, each
            continue
        steps = shares(line["ladder"])
        assert abs(forecast) > 0.01 - ROUNDING, each
        assert list(steps)[-1] == UNEXPLAINED
        assert sum(steps.values()) == pytest.approx(100, abs=1.5), each
        slack = 0.51 + 100 * ROUNDING * (1 + abs(simulation / forecast)) / abs(forecast)
        assert steps[UNEXPLAINED] == pytest.approx(100 * simulation / forecast, abs=slack), each


#: What a ladder says, by what it leaves unexplained, in per cent of the gap.
VERDICTS = {
    "at least 80 % explained": lambda left: -20 <= left <= 20,
    "partly explained": lambda left: 20 < left < 100,
    "effects add more than the gap": lambda left: left < -20,
    "effects widen the gap": lambda left: left > 100,
    "no effect acts": lambda left: left == 100,
}


@pytest.mark.parametrize("verdict", [NO_GAP, *VERDICTS])
def test_verdicts_are_counted(verdict: str) -> None:
    def is_meant(ladder: str) -> bool:
        if verdict == NO_GAP or ladder == NO_GAP:
            return ladder == verdict
        return VERDICTS[verdict](shares(ladder)[UNEXPLAINED])

    here = [
        each for each, line in SHOWN.items() if line["ladder"] and each.role == "evidence" and is_meant(line["ladder"])
    ]
    large = [each for each in here if each.algorithm not in REPLACED and each.size_bytes > MIB]
    ((_, *counts),) = [line for line in cells(verdict) if len(line) == 3]
    assert [int(cell) for cell in counts] == [len(here), len(large)]


@pytest.mark.parametrize("word", ["linear/2x2x2/67108864", "binomial/8x8x8/67108864"])
def test_the_command_writes_the_file(word: str, tmp_path: Path) -> None:
    assert fugaku_table.main(str(tmp_path / "rows.csv"), word) == 0
    (line,) = read_lines(tmp_path / "rows.csv")
    shown = SHOWN[row_of(line)]
    assert (line["ladder"], line["role"]) == (shown["ladder"], shown["role"])
    steps_us = [float(line[f"{step}_us"]) for step in fugaku_table.STEPS]
    assert float(line["forecast_us"]) + sum(steps_us) == pytest.approx(float(line["measured_us"]), rel=1e-4)
    for name, text in line.items():
        if name.endswith("_us") and text:
            assert float(text) == pytest.approx(float(shown[name]), rel=1e-4, abs=1e-3), name


def test_a_broadcast_of_64_mib() -> None:
    """Milliseconds of the three shapes."""
    for shape in SIDES:
        line = SHOWN[row("broadcast", "binomial", shape, 64 * MIB)]
        ((_, *shown),) = [cells for cells in cells(shape) if len(cells) == 4]
        for text, name in zip(shown, ("measured_us", "formula_us", "simulation_us"), strict=True):
            decimals = len(text.partition(".")[2])
            assert float(text) == pytest.approx(float(line[name]) / 1e3, abs=0.51 * 10.0**-decimals)


@pytest.mark.parametrize(("geometry", "shown"), [("folded", r"folded -0, \+3, -9 %"), ("mesh", r"open -0, \+41, -5 %")])
def test_geometries_are_compared_on_rows_that_are_no_evidence(geometry: str, shown: str) -> None:
    every = [row(*key, "4x4x4", 8 * MIB) for key in GEOMETRY_ROWS]
    assert all(each.is_calibration for each in every)
    errors = [100 * error(simulation_s(each, geometry), each) for each in every]
    (text,) = re.findall(shown, CALIBRATION)
    assert errors == pytest.approx([float(one) for one in re.findall(r"[-+]?\d+(?=[, ])", text)], abs=0.51)


def test_the_overhead_of_a_receive() -> None:
    """The mean of the four values that the page lists."""
    (listed,) = re.findall(r"mean of ([0-9., and]+) us", CALIBRATION)
    each = [float(one) for one in re.findall(r"\d+\.\d+", listed)]
    assert len(each) == 4
    assert CONSTANTS.receive_s * 1e6 == pytest.approx(sum(each) / 4, abs=0.006)
    assert load_machine("fugaku").network.message_model.receive_overhead_s * 1e6 == pytest.approx(1.3)


def test_the_times_to_copy() -> None:
    """A block, and a byte of 64 MiB on 2x2x2, as the page and the machine have them."""
    network = load_machine("fugaku").network
    large = row(*BRUCK, "2x2x2", 64 * MIB)
    assert CONSTANTS.packing_s == pytest.approx(45.1e-9, rel=2e-3)
    assert CONSTANTS.packing_per_byte_s(large) == pytest.approx(1 / 20.5e9, rel=2e-3)
    assert (network.packing_s_per_block, network.packing_s_per_byte) == pytest.approx((45.1e-9, 1 / 20.5e9))
    assert "45.1 ns" in CALIBRATION
    assert "20.5 GB/s" in CALIBRATION


def test_copies_of_blocks_in_both_readings() -> None:
    """By hand: messages, 512 blocks of 9 + 2 copies each, and their bytes."""
    each = row(*BRUCK, "8x8x8", 2048)
    rounds, copies = 9, 9 + COPIES
    messages_s = rounds * (CONSTANTS.startup_s(1024) + 1024 * CONSTANTS.per_byte_s + CONSTANTS.receive_s)
    copied_s = copies * (512 * CONSTANTS.packing_s + 2048 * CONSTANTS.packing_per_byte_s(each))
    assert forecast_s(each) == pytest.approx(messages_s + copied_s, rel=1e-9)
    assert formula_s(each) == pytest.approx(forecast_s(each), rel=1e-9)
