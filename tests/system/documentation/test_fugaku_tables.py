"""The tables of docs/fugaku.md: what was measured is in the published table, and errors are those of the runs."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from statistics import median

import pytest

from simcodesign.comparison.attribution import UNEXPLAINED
from simcodesign.core.units import parse_quantity
from simcodesign.describe.yaml.files import load_machine
from tests import ROOT
from validation.measured import fugaku_table
from validation.measured.fugaku_runs import (
    CONSTANTS,
    GEOMETRY_ROWS,
    MIB,
    SIDES,
    Row,
    Setting,
    error,
    forecast_s,
    formula_s,
    row,
    rows,
    simulation_s,
)

NO_GAP = fugaku_table.NO_GAP
TEXT = (ROOT / "docs" / "fugaku.md").read_text(encoding="utf-8")
#: Percent with one digit behind the point.
ROUNDING = 0.051
LIBRARY = ("nonoverlapping", "rdbc")
GROUPS = {
    "all": lambda each: True,
    "all but nonoverlapping and rdbc": lambda each: each.algorithm not in LIBRARY,
    "of these, above 1 MiB": lambda each: each.algorithm not in LIBRARY and each.size_bytes > MIB,
    "of these, up to 1 MiB": lambda each: each.algorithm not in LIBRARY and each.size_bytes <= MIB,
    **{
        f"of these, {shape}": lambda each, shape=shape: each.algorithm not in LIBRARY and each.shape == shape
        for shape in SIDES
    },
    **{name: lambda each, name=name: each.operation == name for name in ("broadcast", "allreduce", "all_to_all")},
}
#: Columns of the table of alternatives.
COLUMNS = [("4x4x4", name) for name in ("binomial", "binary-tree", "recursive_doubling", "modified-bruck", "pairwise")]
COLUMNS += [("8x8x8", name) for name in ("binomial", "binary-tree", "recursive_doubling", "modified-bruck")]
OPERATIONS = {each.algorithm: each.operation for each in rows()}


def cells(first: str) -> list[list[str]]:
    """Rows of tables whose first cell matches."""
    lines = (line for line in TEXT.splitlines() if re.match(rf"\| ({first}) \|", line))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def shown_rows() -> dict[Row, list[str]]:
    """What was measured, the errors, the ladder and the role of every row."""
    table = [line for line in cells("broadcast|allreduce|all_to_all") if len(line) == 10]
    return {row(line[0], line[1], line[2], int(parse_quantity(line[3], "size"))): line[4:] for line in table}


SHOWN = shown_rows()
JOBS = sorted({(each.operation, each.algorithm, each.shape) for each in SHOWN})


def test_every_measured_row_is_shown_with_its_spread_and_its_role() -> None:
    assert SHOWN.keys() == {*rows()}
    for each, line in SHOWN.items():
        in_us = [f"{time_s * 1e6:.6g}" for time_s in (each.median_s, each.lower_s, each.upper_s)]
        assert line[0] == "{} ({} to {})".format(*in_us)
        assert line[5] == ("calibration" if each.is_calibration else "evidence")


@pytest.mark.thorough
@pytest.mark.parametrize("job", JOBS, ids="-".join)
def test_errors(job: tuple[str, str, str]) -> None:
    for each, line in SHOWN.items():
        if (each.operation, each.algorithm, each.shape) == job and line[1]:
            for value_s, shown in zip((formula_s(each), forecast_s(each), simulation_s(each)), line[1:4], strict=True):
                assert 100 * error(value_s, each) == pytest.approx(float(shown), abs=ROUNDING), (each, shown)


def shares(ladder: str) -> dict[str, int]:
    """Per cent of the gap of each step."""
    return {name: int(share) for name, share in re.findall(r"(?:^|, )([a-z ]+) (-?\d+) %", ladder)}


def test_ladders_divide_the_gaps_that_are_shown() -> None:
    """What is not explained is the error of the simulation, as a share of that of the forecast; a gap of less than 1 %, or
    within the quartiles, is not divided."""
    for each, (_, _, forecast, simulation, ladder, _) in SHOWN.items():
        if not forecast:
            assert ladder == ""
            continue
        errors = float(forecast), float(simulation)
        forecasted_s = each.median_s * (1 + errors[0] / 100)
        slack_s = each.median_s * ROUNDING / 100
        within = each.lower_s - slack_s <= forecasted_s <= each.upper_s + slack_s
        if ladder == NO_GAP:
            assert abs(errors[0]) < 1 + ROUNDING or within, each
            continue
        steps = shares(ladder)
        assert abs(errors[0]) > 1 - ROUNDING, each
        assert list(steps)[-1] == UNEXPLAINED
        assert sum(steps.values()) == pytest.approx(100, abs=1.5), each
        slack = 0.51 + 100 * ROUNDING * (1 + abs(errors[1] / errors[0])) / abs(errors[0])
        assert steps[UNEXPLAINED] == pytest.approx(100 * errors[1] / errors[0], abs=slack), each


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
    large = GROUPS["of these, above 1 MiB"]
    here = [
        (each, line[5])
        for each, line in SHOWN.items()
        if line[4] and (line[4] == verdict if verdict not in VERDICTS else VERDICTS[verdict](_left(line[4])))
    ]
    roles = [role for _, role in here]
    counts = [roles.count("calibration"), roles.count("evidence")]
    counts.append(sum(large(each) for each, role in here if role == "evidence"))
    (line,) = [line for line in cells(verdict) if len(line) == 4]
    assert [int(cell) for cell in line[1:]] == counts


def _left(ladder: str) -> float:
    return shares(ladder).get(UNEXPLAINED, float("nan"))


@pytest.mark.parametrize("word", ["linear/2x2x2/67108864", "binomial/8x8x8/67108864"])
def test_the_command_writes_the_ladders_that_are_shown(word: str, tmp_path: Path) -> None:
    assert fugaku_table.main(str(tmp_path / "rows.csv"), word) == 0
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    shown = SHOWN[row(line["operation"], line["algorithm"], line["nodes"], int(line["bytes"]))]
    assert (line["ladder"], line["role"]) == (shown[4], shown[5])
    steps_us = [float(line[f"{step}_us"]) for step in fugaku_table.STEPS]
    assert float(line["forecast_us"]) + sum(steps_us) == pytest.approx(float(line["measured_us"]), rel=1e-4)


@pytest.mark.parametrize("name", GROUPS)
def test_the_summary_is_of_the_rows_that_are_shown(name: str) -> None:
    every = [
        [abs(float(shown)) for shown in line[1:4]]
        for each, line in SHOWN.items()
        if line[1] and line[5] == "evidence" and GROUPS[name](each)
    ]
    (line,) = [line for line in cells(name) if len(line) == 6]
    columns = list(zip(*every, strict=True))
    medians = [float(cell.split()[0]) for cell in line[2:5]]
    assert medians == pytest.approx([median(column) for column in columns], abs=2 * ROUNDING)
    within = [sum(size <= 30.0 for size in column) for column in columns]
    assert [int(cell.split("(")[1].strip(")")) for cell in line[2:5]] == pytest.approx(within, abs=1)  # 30.0 is rounded
    assert (int(line[1]), float(line[5])) == (len(every), pytest.approx(max(columns[2]), abs=0.6))


def setting_of(label: str) -> Setting:
    """What a setting is called."""
    geometry, *parts = label.split(", ")
    changes = dict(part.split(": ") for part in parts)
    values = {name: int(value) if value.isdigit() else value for name, value in changes.items()}
    return Setting(geometry, **values)


ALTERNATIVES = {line[0]: line[1:] for line in cells("(?:mesh|torus|folded)(?:,[^|]*)?")}


@pytest.mark.thorough
@pytest.mark.parametrize("label", ALTERNATIVES)
def test_alternatives(label: str) -> None:
    for (shape, algorithm), shown in zip(COLUMNS, ALTERNATIVES[label], strict=True):
        if shown:
            each = row(OPERATIONS[algorithm], algorithm, shape, 64 * MIB)
            simulated = 100 * error(simulation_s(each, setting_of(label)), each)
            assert simulated == pytest.approx(float(shown), abs=ROUNDING), (shape, algorithm)


@pytest.mark.parametrize(("geometry", "shown"), [("folded", r"folded -0, \+3, -9 %"), ("mesh", r"open -0, \+41, -5 %")])
def test_geometries_are_compared_on_rows_that_are_no_evidence(geometry: str, shown: str) -> None:
    every = [row(*key, "4x4x4", 8 * MIB) for key in GEOMETRY_ROWS]
    assert all(each.is_calibration for each in every)
    errors = [100 * error(simulation_s(each, Setting(geometry)), each) for each in every]
    (text,) = re.findall(shown, TEXT)
    assert errors == pytest.approx([float(one) for one in re.findall(r"[-+]?\d+(?=[, ])", text)], abs=0.51)


def test_the_overhead_of_a_receive() -> None:
    """The mean of the four values that the page lists."""
    (listed,) = re.findall(r"mean of ([0-9., and]+) us", TEXT)
    each = [float(one) for one in re.findall(r"\d+\.\d+", listed)]
    assert len(each) == 4
    assert CONSTANTS.receive_s * 1e6 == pytest.approx(sum(each) / 4, abs=0.006)
    assert load_machine("fugaku").network.message_model.receive_overhead_s * 1e6 == pytest.approx(1.3)


#: Rows of the tables of medians before and now: operations, and algorithms on a shape.
NOW = [line for line in cells(r"(?:rows of \w+|[\w-]+ on \dx\dx\d)") if len(line) == 3]


@pytest.mark.parametrize(("name", "shown"), [(line[0], line[2]) for line in NOW])
def test_medians_now_are_of_the_rows_that_are_shown(name: str, shown: str) -> None:
    def is_meant(each: Row) -> bool:
        return name in (f"rows of {each.operation}", f"{each.algorithm} on {each.shape}")

    errors = [
        abs(float(line[3])) for each, line in SHOWN.items() if line[3] and line[5] == "evidence" and is_meant(each)
    ]
    assert median(errors) == pytest.approx(float(shown), abs=ROUNDING)
