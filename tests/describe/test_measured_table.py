"""Tables of measured times: what they say, round trips of any table, and errors that name line and column."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.files.input_files import confine
from simcodesign.describe.measured.times import MeasuredTimes, MeasuredValue
from simcodesign.describe.measured_tables.table import QUARTILES, measured_frame, read_measured
from simcodesign.describe.yaml.files import load_workload
from tests.builders import workload

HEAD = (
    "parameters: {m: {default: 1000, unit: B}, n: {default: 4}, kind: {default: 1, choices: {slow: 1, fast: 2}}}\n"
    "presets: {big: {m: 64 KiB, n: 8}}\nequations: {twice: 2*n}\n"
)
WORK = workload("- phase: a\n  do: [broadcast: {bytes: m}]\n- phase: b\n  do: [compute: {flops: n}]\n", HEAD)
TABLE = """# Tuesday's runs
# interval: min-max
# unit: ms
# source: logbook
P,m,Phase,component,value,low,high,count
4,1 KiB,,,1.5,1.4,1700 us,5
4,1024,a,,1,,,
4,1024,,computation,0.25,,,
4,1024,a,communication,0.75,,,
8,,,,2 s,,,
"""


def read(text: str, folder: Path) -> tuple[MeasuredTimes, ...]:
    path = folder / "m.csv"
    path.write_text(text, encoding="utf-8")
    return read_measured(path, WORK)


def test_rows_of_one_place_belong_together(tmp_path: Path) -> None:
    four, eight = read(TABLE, tmp_path)
    assert four.at == {"P": 4.0, "m": 1024.0}
    assert four.total == MeasuredValue(1.5e-3, 1.4e-3, 1.7e-3, 5, "min-max")
    assert four.phases == {"a": MeasuredValue(1e-3)}
    assert four.components == {"computation": MeasuredValue(0.25e-3)}
    assert four.parts == {("a", "communication"): MeasuredValue(0.75e-3)}
    assert four.source == "logbook"
    assert (eight.at, eight.total) == ({"P": 8.0}, MeasuredValue(2.0))
    assert [four.place.line, eight.place.line] == [6, 10]


def test_presets_choices_equations_machines_and_half_spreads(tmp_path: Path) -> None:
    head = (
        "preset,kind,twice,network.startup,network.bandwidth,network.topology.kind,machine,role,value,spread,interval"
    )
    (one,) = read(f"{head}\nbig,fast,16,2 us,1 GB/s,mesh,here,calibration,1,0.25,sigma\n", tmp_path)
    assert one.at == {
        "m": 65536.0,
        "n": 8.0,
        "kind": 2.0,
        "twice": 16.0,
        "network.startup": 2e-6,
        "network.bandwidth": 1e9,
        "network.topology.kind": "mesh",
    }
    assert (one.machine, one.role) == ("here", "calibration")
    assert one.total == MeasuredValue(1.0, 0.75, 1.25, None, "sigma")
    (low,) = read("value;spread\n1;2\n", tmp_path)  # no time is below 0
    assert low.total == MeasuredValue(1.0, 0.0, 3.0)


def test_n_is_the_parameter_where_there_is_one(tmp_path: Path) -> None:
    (one,) = read("n,count,value\n8,30,1\n", tmp_path)
    assert (one.at, one.total) == ({"n": 8.0}, MeasuredValue(1.0, n=30))
    plain = workload("- compute: {flops: 1}\n")
    path = tmp_path / "m.csv"
    path.write_text("n,value\n30,1\n", encoding="utf-8")
    assert read_measured(path, plain)[0].total == MeasuredValue(1.0, n=30)


@given(st.lists(st.floats(1, 100), min_size=2, max_size=9), st.floats(1e-9, 1e4))
def test_repetitions_are_their_median_with_quartiles(factors: list[float], unit: float) -> None:
    values = [min(factor, 99) * unit for factor in factors]  # the product rounds
    frame = pd.DataFrame({"P": 4, "value": values})
    (one,) = measured_frame(frame, WORK)
    assert one.total is not None
    ordered = sorted(values)

    def at(share: float) -> float:  # linear between order statistics, by hand
        place = share * (len(ordered) - 1)
        below = math.floor(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    assert one.total.value == pytest.approx(median(values), rel=1e-12)
    assert one.total.ends == pytest.approx((at(0.25), at(0.75)), rel=1e-12)
    assert (one.total.n, one.total.interval) == (len(values), QUARTILES)


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of different places, each with what a row may say."""
    places = draw(st.lists(st.tuples(st.integers(1, 99), st.integers(0, 9)), min_size=1, max_size=6, unique=True))
    rows = []
    for ranks, size in places:
        value = draw(st.just(0.0) | st.floats(1e-12, 1e9))
        below, above = draw(st.floats(0.01, 1)), draw(st.floats(1, 9))
        ends = draw(st.sampled_from([None, (below * value, above * value)]))
        n = draw(st.none() | st.integers(1, 10**9))
        interval = draw(st.sampled_from(["", "95 % t", "min-max", 'a "b", c; d'])) if ends else ""
        rows.append({"P": ranks, "m": size, "value": value, "ends": ends, "count": n, "interval": interval})
    return rows


@given(tables(), st.sampled_from([",", ";", "\t"]), st.booleans())
def test_any_table_reads_back(
    tmp_path_factory: Any, rows: list[dict[str, Any]], delimiter: str, as_frame: bool
) -> None:
    names = ["P", "m", "value", "low", "high", "count", "interval"]
    cells = [
        [row["P"], row["m"], row["value"], *(row["ends"] or (None, None)), row["count"], row["interval"]]
        for row in rows
    ]
    if as_frame:
        times = measured_frame(pd.DataFrame(cells, columns=names), WORK)
    else:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(
            [["" if cell is None else repr(cell) if isinstance(cell, float) else cell for cell in row] for row in cells]
        )
        times = read(text.getvalue(), tmp_path_factory.mktemp("tables"))
    assert [one.at for one in times] == [{"P": float(row["P"]), "m": float(row["m"])} for row in rows]
    low_high = [(None, None) if row["ends"] is None else tuple(row["ends"]) for row in rows]
    assert [one.total for one in times] == [
        MeasuredValue(row["value"], *ends, row["count"], row["interval"])
        for row, ends in zip(rows, low_high, strict=True)
    ]


def test_a_frame_says_in_its_attributes_what_comments_do() -> None:
    frame = pd.DataFrame({"P": [4, 8], "value": [1.0, 2.0], "low": [0.5, np.nan], "high": [1.5, np.nan]})
    frame.attrs = {"unit": "ms", "interval": "quartiles"}
    four, eight = measured_frame(frame, WORK)
    assert four.total == MeasuredValue(1e-3, 0.5e-3, 1.5e-3, None, "quartiles")
    assert eight.total == MeasuredValue(2e-3)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["empty"]),
        ("P,value\n", ["no rows"]),
        ("P,seconds,time\n4,1,1\n", [":1", "several columns could be the values", "seconds, time"]),
        ("P,m\n4,1\n", [":1", "no column of values"]),
        ("P,P,value\n4,4,1\n", [":1", "two columns"]),
        ("P,n,count,N,value\n4,4,1,1,1\n", [":1", "'N'"]),
        ("P,value\n4,1\n4.5,2\n", [":3", "column P", "4.5"]),
        ("P,value\n4,\n", [":2", "column value"]),
        ("P,value\n4,1,2\n", [":2"]),
        ("P,value\n4,-1\n", [":2", "column value", "-1"]),
        ("P,value\n4,1 m\n", [":2", "column value", "1 m"]),
        ("P,value\n4,inf\n", [":2", "column value"]),
        ("P,value\n4,1e999\n", [":2", "column value"]),
        ("P,value,low,high\n4,1,2,3\n", [":2", "outside its spread"]),
        ("P,value,low\n4,1,1\n", [":2", "one end"]),
        ("P,value,low,high,spread\n4,1,1,1,1\n", [":2", "column spread"]),
        ("P,value,spread\n4,1.9 ms,0.1\n", [":2", "column spread", "1.9 ms", "0.1"]),
        ("P,value,count\n4,1,0\n", [":2", "column count"]),
        ("P,value,count\n4,1,1.5\n", [":2", "column count"]),
        ("P,value,low,high\n4,1,1,2\n4,2,,\n", [":2", "several rows"]),
        ("P,phase,value\n4,c,1\n", [":2", "column phase", "'c'"]),
        ("P,component,value\n4,work,1\n", [":2", "column component", "'work'"]),
        ("preset,value\nsmall,1\n", [":2", "column preset", "big"]),
        ("kind,value\nfaster,1\n", [":2", "column kind", "fast"]),
        ("P,role,value\n4,proof,1\n", [":2", "column role", "evidence"]),
        ("network.startup,value\n4 B,1\n", [":2", "column network.startup"]),
        ('P,value\n"4,1\n', ["not CSV"]),
    ],
)
def test_errors_name_line_column_and_value(tmp_path: Path, text: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as error:
        read(text, tmp_path)
    for part in ["m.csv", *parts]:
        assert part in str(error.value)


@given(st.text(alphabet='Pmvalue,;\n\t"#: 01.e-ksn', max_size=80))
def test_any_text_is_read_or_refused(tmp_path_factory: Any, text: str) -> None:
    for head in ("", "P,value,low,high,n\n"):
        try:
            times = read(head + text, tmp_path_factory.mktemp("texts"))
        except InputError as error:
            times, place = (), str(error)
        assert times or "m.csv" in place


def test_a_workload_names_a_table(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("P,m,value\n4,1 KiB,2 ms\n", encoding="utf-8")
    path = tmp_path / "w.yaml"
    head = "simcodesign: 1\nname: w\nparameters: {m: {default: 1, unit: B}}\nprogram: [broadcast: {bytes: m}]\n"
    path.write_text(f"{head}measured: [{{file: m.csv}}, {{total: 1 s, at: {{P: 8}}}}]\n", encoding="utf-8")
    four, eight = load_workload(str(path)).measured
    assert (four.at, four.total_s, eight.total_s) == ({"P": 4.0, "m": 1024.0}, 2e-3, 1.0)
    path.write_text(f"{head}measured: {{file: other.csv}}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"other\.csv"):
        load_workload(str(path))
    path.write_text(f"{head}measured: {{file: ../m.csv}}\n", encoding="utf-8")
    with confine(tmp_path), pytest.raises(InputError, match="outside"):
        load_workload(str(path))


@pytest.mark.parametrize(
    ("value", "low", "high", "n"),
    [
        (math.nan, None, None, None),
        (1.0, None, 2.0, None),
        (1.0, 2.0, 3.0, None),
        (1.0, 0.0, math.inf, 1),
        (1.0, 1.0, 1.0, 0),
    ],
)
def test_values_that_cannot_be(value: float, low: float | None, high: float | None, n: int | None) -> None:
    with pytest.raises(InputError):
        MeasuredValue(value, low, high, n)


BENCHMARK_ROWS = """P,bytes,phase,component,value,low,high,count,interval,source,role
2,1024,ping_pong,communication,1.5e-06,,,1,,osu.txt:11,calibration
4,1024,broadcast,communication,4.5e-06,,,1,,bcast.txt:4,evidence
"""


def test_rows_of_benchmarks_count_where_their_operation_is_a_phase(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text(BENCHMARK_ROWS, encoding="utf-8")
    (times,) = read_measured(table, load_workload("broadcast"))
    assert times.at == {"P": 4.0, "m": 1024.0}
    assert times.role == "evidence"
    with pytest.raises(InputError, match=r"no row belongs to a phase of burst.*ping_pong, broadcast"):
        read_measured(table, load_workload("burst"))
    table.write_text(BENCHMARK_ROWS.replace("broadcast", "sweep"), encoding="utf-8")
    with pytest.raises(InputError, match="jacobi has no parameter in bytes"):
        read_measured(table, load_workload("jacobi"))


def test_rows_of_the_whole_program(tmp_path: Path) -> None:
    """Steps of a log of training are times of all phases: the median of runs."""
    table = tmp_path / "rows.csv"
    table.write_text(
        "P,phase,component,value,low,high,count,interval,source,role\n"
        "16,total,,0.0415,,,1,,train.log:5,evidence\n"
        "16,total,,0.0425,,,1,,train.log:6,evidence\n"
    )
    (times,) = read_measured(table, load_workload("jacobi"))
    assert times.total is not None
    assert (times.total.value, times.at) == (pytest.approx(0.042), {"P": 16.0})


@pytest.mark.parametrize(
    ("other", "is_refused"), [("9 ms", False), ("0.9 s", False), ("1 s", True), ("9.5", True), ("0 s", False)]
)
def test_repetitions_in_different_units_are_refused(tmp_path: Path, other: str, is_refused: bool) -> None:
    """Up to a factor of 100; times of 0 have no factor."""
    text = f"P,value\n4,9.5 ms\n4,{other}\n"
    if is_refused:
        with pytest.raises(InputError, match=r"m.csv:3: .*repetitions that differ by a factor of 1(05|,000),") as error:
            read(text, tmp_path)
        assert "a time without a unit is in seconds" in str(error.value)
    else:
        (one,) = read(text, tmp_path)
        assert one.total is not None
        assert one.total.n == 2


@pytest.mark.parametrize("name", ["bandwidth", "Bandwidth (GB/s)", "rate", "throughput", "GFLOPS", "MB/s"])
def test_a_rate_is_not_read_as_the_time(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"m.csv:1: the only column that could have the times is not named as one"):
        read(f"P,m,{name}\n4,1024,110\n", tmp_path)


@pytest.mark.parametrize("name", ["elapsed", "latency", "duration", "runtime", "makespan", "t"])
def test_any_other_only_column_is_the_time(tmp_path: Path, name: str) -> None:
    (one,) = read(f"P,m,{name}\n4,1024,110\n", tmp_path)
    assert one.total == MeasuredValue(110.0)
