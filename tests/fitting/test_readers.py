"""Readers of measurements: hand-made files of every format, the shared example files, and damaged files."""

from __future__ import annotations

import gzip
import io
import json
import math
import struct
import sys
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkReader
from simcodesign.fitting.readers.cube import find_runs, run_of
from simcodesign.fitting.readers.formats import READERS, read_measurements
from tests import examples
from tests.fitting.benchmarks import outputs

TEXT = """# two runs
PARAMETER p n
POINTS (16 1000) (32, 1000)
POINTS ((64 1000)
        )
METRIC time
REGION main->foo
DATA 1.2 1.3
DATA -2 0  # zero and negative values are data
DATA 3e0
METRIC flop
DATA 1
DATA 2
DATA 3
"""
TEXT = TEXT.replace("(64 1000)\n        )", "(64 1000))")
NEW = json.dumps(
    {
        "parameters": ["p", "n"],
        "measurements": {
            "main->foo": {
                "time": [
                    {"point": [16, 1000], "values": [1.2, 1.3]},
                    {"point": [32, 1000], "values": [-2, 0]},
                    {"values": 3.0, "point": [64, 1000]},
                ],
                "flop": [{"point": [p, 1000], "values": [v]} for p, v in ((16, 1), (32, 2), (64, 3))],
            }
        },
    },
    indent=1,
)
OLD_ROWS = [(1, 1, 1.2), (1, 1, 1.3), (1, 2, -2), (1, 2, 0), (1, 3, 3), (2, 1, 1), (2, 2, 2), (2, 3, 3)]
OLD = json.dumps(
    {
        "callpaths": [{"id": 1, "name": "main->foo"}],
        "coordinates": [
            {
                "id": index,
                "parameter_value_pairs": [
                    {"parameter_id": 2, "parameter_value": 1000},
                    {"parameter_id": 1, "parameter_value": p},
                ],
            }
            for index, p in ((1, 16), (2, 32), (3, 64))
        ],
        "measurements": [
            {"id": index, "callpath_id": 1, "coordinate_id": at, "metric_id": metric, "value": value}
            for index, (metric, at, value) in enumerate(OLD_ROWS, 1)
        ],
        "metrics": [{"id": 1, "name": "time"}, {"id": 2, "name": "flop"}],
        "parameters": [{"id": 2, "name": "n"}, {"id": 1, "name": "p"}],
    },
    indent=1,
)
LINES = """{"params": {"p": 16, "n": 1000}, "value": [1.2, 1.3], "callpath": "main->foo", "metric": "time"}
{"params": {"n": 1000, "p": 32}, "value": -2, "callpath": "main->foo", "metric": "time"}

{"params": {"p": 32, "n": 1000}, "value": 0, "callpath": "main->foo", "metric": "time"}
{"params": {"p": 64, "n": 1000}, "value": 3.0, "callpath": "main->foo", "metric": "time"}
{"params": {"p": 16, "n": 1000}, "value": 1, "callpath": "main->foo", "metric": "flop"}
{"params": {"p": 32, "n": 1000}, "value": 2, "callpath": "main->foo", "metric": "flop"}
{"params": {"p": 64, "n": 1000}, "value": 3, "callpath": "main->foo", "metric": "flop"}
"""
TALPAS = LINES.replace(",", ";").replace('"params"', '"parameters"').replace('"n": 1000; "p"', '"n": 1000, "p"')
CSV = """p,n,Callpath,Metric,value
16,1000,main->foo,time,1.2
16,1e3,main->foo,time,1.3
32,1000,"main->foo",time,-2

32,1000,main->foo,time,0
64,1000,main->foo,time,3
16,1000,main->foo,flop,1
32,1000,main->foo,flop,2
64,1000,main->foo,flop,3
"""
SAMPLES = {
    "a.txt": TEXT,
    "new.json": NEW,
    "old.json": OLD,
    "a.jsonl": LINES,
    "talpas.txt": TALPAS,
    "a.csv": CSV,
    "semicolons.csv": CSV.replace(",", ";"),
    "a.tsv": CSV.replace(",", "\t"),
}
MISSING = math.nan
POINTS = [[16.0, 1000.0], [32.0, 1000.0], [64.0, 1000.0]]
VALUES = [[[1.2, 1.3], [-2.0, 0.0], [3.0, MISSING]], [[1.0, MISSING], [2.0, MISSING], [3.0, MISSING]]]


def read(tmp_path: Path, text: str | bytes, name: str = "a.txt", **options: object) -> Measurements:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_measurements(path, **options)  # type: ignore[arg-type]


def check_sample(measured: Measurements) -> None:
    assert measured.parameters == ("p", "n")
    assert (measured.regions, measured.metrics) == (("main->foo",) * 2, ("time", "flop"))
    np.testing.assert_array_equal(measured.points, POINTS)
    np.testing.assert_array_equal(measured.values, VALUES)


# What each format says.


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_says_the_same(tmp_path: Path, name: str) -> None:
    check_sample(read(tmp_path, SAMPLES[name], name))


@pytest.mark.parametrize("name", SAMPLES)
def test_what_a_file_begins_with_tells_its_format(tmp_path: Path, name: str) -> None:
    check_sample(read(tmp_path, SAMPLES[name], "a.dat"))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_byte_order_mark_and_other_line_ends_do_not_matter(tmp_path: Path, name: str) -> None:
    check_sample(read(tmp_path, b"\xef\xbb\xbf" + SAMPLES[name].replace("\n", "\r\n").encode(), name))


def test_the_format_may_be_named(tmp_path: Path) -> None:
    check_sample(read(tmp_path, LINES, "a.csv", format="jsonlines"))
    with pytest.raises(InputError, match=r"no such format of measurements, got 'jsonl': did you mean 'json"):
        read(tmp_path, LINES, format="jsonl")


def test_text_of_one_parameter_needs_no_parentheses(tmp_path: Path) -> None:
    for points in ("16 32", "(16) (32)", "( 16 )\nPOINTS ( 32 )", "(16 32)"):
        measured = read(tmp_path, f"PARAMETER p\nPOINTS {points}\nDATA 1\nDATA 2\n")
        np.testing.assert_array_equal(measured.points, [[16], [32]])
        assert (measured.regions, measured.metrics) == (("<root>",), ("",))


def test_repetitions_of_text_may_be_parted_by_commas(tmp_path: Path) -> None:
    text = "PARAMETER p\nPOINTS 1 2\nDATA 1,2,6\nDATA 2.5,3.5, 6\n"
    assert read(tmp_path, text).values[0].tolist() == [[1, 2, 6], [2.5, 3.5, 6]]


@pytest.mark.parametrize(
    ("titles", "cells"),
    [("low,high", "1,9"), ("spread,count", "1,30"), ("low,high,count,interval,source,role", "1,9,30,t,log,evidence")],
)
def test_the_spread_of_measured_times_is_no_parameter(tmp_path: Path, titles: str, cells: str) -> None:
    rows = "".join(f"{p},,,{2 * p},{cells}\n{p},solve,disk,{p},{cells}\n" for p in (1, 2, 4))
    found = read(tmp_path, f"p,phase,component,value,{titles}\n{rows}", "a.csv")
    assert found.parameters == ("p",)
    assert (found.regions, found.metrics) == (("<root>", "solve"), ("<default>", "disk"))
    assert found.values[:, :, 0].tolist() == [[2, 4, 8], [1, 2, 4]]


def test_a_count_without_a_spread_is_a_parameter(tmp_path: Path) -> None:
    assert read(tmp_path, "count,value\n1,2\n2,4\n", "a.csv").parameters == ("count",)


def test_names_that_are_not_given(tmp_path: Path) -> None:
    for text, name in (('{"params": {"p": 1}, "value": 2}', "a.jsonl"), ("p,value\n1,2\n", "a.csv")):
        measured = read(tmp_path, text, name)
        assert (measured.regions, measured.metrics) == (("<root>",), ("<default>",))


def test_a_semicolon_in_a_name_of_talpas(tmp_path: Path) -> None:
    line = '{"parameters":{"p":%d};"metric":"a;b";"callpath":"x\\";\\"";"value":1}\n'
    measured = read(tmp_path, "".join(line % p for p in (1, 2, 1, 2)))
    assert (measured.regions, measured.metrics) == (('x";"',), ("a;b",))
    assert measured.values.shape == (1, 2, 2)


def test_named_repetitions_keep_their_place(tmp_path: Path) -> None:
    text = "p,region,value,repetition\n1,a,10,1\n1,a,,2\n1,a,30,3\n2,a,20,2\n1,b,5,2\n2,b,nan,1\n"
    measured = read(tmp_path, text, "a.csv")
    np.testing.assert_array_equal(
        measured.values, [[[10, MISSING, 30], [MISSING, 20, MISSING]], [[MISSING, 5, MISSING], [MISSING] * 3]]
    )


def test_missing_points_are_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    text = "p,region,value\n1,a,10\n2,a,20\n2,b,5\n"
    measured = read(tmp_path, text, "a.csv", partial=True)
    np.testing.assert_array_equal(measured.values[..., 0], [[10, 20], [MISSING, 5]])


# Files that are wrong.

HEAD = "PARAMETER p n\nPOINTS (16 1000) (32 1000)\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.txt: the file is empty"),
        (" \n\n", "a.txt: the file is empty"),
        (HEAD, "the file holds no measurement"),
        ("POINTS 1 2\nDATA 1\nDATA 2\n", "a.txt:1: points before any parameter"),
        ("PARAMETER a b c\nPARAMETER d e\n", "a.txt:2: wrong number of parameters, got '5: a, b, c, d, e'"),
        ("PARAMETER p p\n", "a.txt:1: two parameters of one name"),
        ("PARAMETER p\nPOINTS 1 0\n", r"a.txt:2: a parameter out of range, got 0.0 \(allowed: positive finite numbers"),
        ("PARAMETER p\nPOINTS 1 x\n", "a.txt:2: a coordinate that is not a number, got 'x'"),
        ("PARAMETER p\nPOINTS 1 2 1\n", "a.txt:2: one point appears twice, got 'p=1'"),
        ("PARAMETER p n\nPOINTS 16 32\n", "a.txt:2: a point that does not fit the parameters, got '16'"),
        ("PARAMETER p n\nPOINTS (16 32 64)\n", r"got '16 32 64' \(allowed: 2 numbers in parentheses"),
        ("PARAMETER p n\nPOINTS (16 32\n", "a parenthesis that is not closed"),
        ("PARAMETER p n\nPOINTS 16 32)\n", "a.txt:2: a point that does not fit"),
        ("PARAMETER p\nPOINTS 16)\n", "a parenthesis that was not opened"),
        ("PARAMETER p\nPOINTS\n", "POINTS without a point"),
        ("PARAMETER p\nDATA 1\n", "a.txt:2: data before any point"),
        (HEAD + "REGION r\nDATA 1\n", r"a.txt:3: wrong number of DATA lines for region 'r', metric '', got '1'"),
        (HEAD + "REGION r\nDATA 1\nDATA 2\nDATA 3\n", r"a.txt:6: wrong number .* got 'at least 3' \(allowed: 2, one"),
        (HEAD + "DATA 1 2.5 x\n", "a.txt:3: not a number, got 'x'"),
        (HEAD + "DATA 1 2,5\n", r"a.txt:3: a number with a comma, or two numbers, got '2,5' \(allowed: 2.5, or 2 5\)"),
        (HEAD + "DATA 1_000\n", "a.txt:3: not a number, got '1_000'"),
        (HEAD + "DATA nan\n", "a.txt:3: not a number, got 'nan'"),
        (HEAD + "DATA 1e999\n", "a.txt:3: not a number, got '1e999'"),
        (HEAD + "DATA\n", "a.txt:3: DATA without a value"),
        (HEAD + "REGION a\nDATA 1\nDATA 2\nREGION a\nDATA 1\n", "a.txt:7: one region and metric appear twice"),
        (HEAD + "REGION a\nREGION b\nDATA 1\nDATA 2\n", "a.txt:3: REGION without DATA"),
        (HEAD + "DATA 1\nDATA 2\nREGION b\n", "a.txt:5: REGION without DATA"),
        (HEAD + "DATA 1\nDATA 2\nREGION\n", "a.txt:5: REGION without a name"),
        (HEAD + "DATA 1\nPOINTS (1 1)\n", "a.txt:4: points after data"),
        (HEAD + "PARAMETER q\n", "a.txt:3: a parameter after the points"),
        (HEAD + "REGIONS q\n", r"a.txt:3: no such keyword, got 'REGIONS': did you mean 'REGION'"),
    ],
)
def test_wrong_text(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


ROW = '{"point": [1], "values": [2]}'


def new_json(measurements: str, parameters: str = '["p"]') -> str:
    return f'{{"parameters": {parameters}, "measurements": {measurements}}}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"parameters": ["p"],\n "measurements": {"a', r"a.json:2: column 19: not JSON: .*is the file cut off\?"),
        ('{"parameters": ["p"]', "a.json:1: column 21: not JSON: .*is the file cut off.*, got 'the end of the text'"),
        ('{"parameters": ["p"], x', "a.json:1: column 23: not JSON: .*, got 'x'"),
        ("[" * 100_000, "JSON nested too deeply"),
        ("[1]", "no Extra-P JSON"),
        ('{"parameters": ["p"]}', "no Extra-P JSON: it has no measurements"),
        ('{"measurements": {}}', '"parameters" is missing'),
        (new_json("{}"), "the file holds no measurement"),
        (new_json("[]"), r"measurements: not an object of regions, got \[\]"),
        (new_json('{"r": {}}'), r"measurements\.r: a region without a metric"),
        (new_json('{"r": 5}'), r"measurements\.r: not an object of metrics, got 5"),
        (new_json('{"m->r": {"t": 5}}'), r'measurements\["m->r"\]\.t: not a list of measurements'),
        (new_json('{"r": {"t": []}}'), r"measurements\.r\.t: a metric without a measurement"),
        (new_json(f'{{"r": {{"t": [{ROW}, 5]}}}}'), r"measurements\.r\.t\[1\]: not a measurement, got 5"),
        (new_json('{"r": {"t": [{"point": [1], "value": 1}]}}'), r"measurements\.r\.t\[0\]: not a measurement"),
        (new_json('{"r": {"t": [{"point": [1], "values": []}]}}'), r"measurements\.r\.t\[0\]\.values: an empty list"),
        (
            new_json(f'{{"r": {{"t": [{ROW}, {{"point": [2], "values": [1, "x"]}}]}}}}'),
            r"\.t\[1\]\.values\[1\]: not a number, got 'x'",
        ),
        (new_json('{"r": {"t": [{"point": [1], "values": [true]}]}}'), r"\.values\[0\]: not a number, got True"),
        (new_json('{"r": {"t": [{"point": [1], "values": [NaN]}]}}'), r"\.values\[0\]: not a number, got 'NaN'"),
        (new_json('{"r": {"t": [{"point": [1], "values": null}]}}'), r"\.values: not a number, got 'null'"),
        (new_json('{"r": {"t": [{"point": [1], "values": 1e999}]}}'), r"\.values: not a number, got inf"),
        (
            new_json(f'{{"r": {{"t": [{ROW}, {{"point": [0], "values": 1}}]}}}}'),
            r"\.t\[1\]\.point\[0\]: a parameter out of range, got 0.0",
        ),
        (new_json('{"r": {"t": [{"point": ["x"], "values": 1}]}}'), r"point\[0\]: a coordinate that is not a number"),
        (
            new_json('{"r": {"t": [{"point": [1, 2], "values": 1}]}}'),
            r"does not fit the parameters, got '2 coordinates'",
        ),
        (new_json(f'{{"r": {{"t": [{ROW}, {ROW}]}}}}'), r"\.t\[1\]\.point: one point appears twice"),
        (new_json(f'{{"r": {{"t": [{ROW}], "t": [{ROW}]}}}}'), r"measurements\.r: a key appears twice, got 't'"),
        (new_json(f'{{"r": {{"t": [{ROW}]}}, "r": {{"t": [{ROW}]}}}}'), "measurements: a key appears twice, got 'r'"),
        (new_json(f'{{"r": {{"t": [{ROW}]}}}}', '["a", "b", "c", "d", "e"]'), "parameters: wrong number of parameters"),
        (new_json(f'{{"r": {{"t": [{ROW}]}}}}', "[1]"), r"parameters\[0\]: not a name"),
        (new_json(f'{{"r": {{"t": [{ROW}]}}}}', '"p"'), "parameters: not a list"),
        (
            new_json(f'{{"r": {{"t": [{ROW}]}}, "s": {{"t": [{{"point": [2], "values": [2]}}]}}}}'),
            "region 'r', metric 't' at p=2: a point is missing",
        ),
        (new_json(f'{{"\\ud800": {{"t": [{ROW}]}}}}'), "a name that is no valid text"),
        (new_json("{}")[:-1] + f', "x": {{"r": {{"t": [{ROW}]}}}}}}', "elsewhere than in measurements"),
    ],
)
def test_wrong_json(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text, "a.json")


def changed(change: Callable[[dict[str, list[dict[str, object]]]], object]) -> str:
    content = json.loads(OLD)
    change(content)
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            changed(lambda c: c["measurements"][4].update(metric_id=7)),
            r"measurements\[4\]\.metric_id: no such id, got 7.0 \(allowed: 1, 2",
        ),
        (changed(lambda c: c["measurements"][4].update(value="x")), r"measurements\[4\]\.value: not a number, got 'x'"),
        (changed(lambda c: c["measurements"][4].pop("value")), r"measurements\[4\]: not a measurement"),
        (changed(lambda c: c["measurements"].pop()), "at p=64, n=1000: a point is missing"),
        (changed(lambda c: c["coordinates"][2].update(id=1)), r"coordinates\[2\]\.id: one id appears twice"),
        (
            changed(lambda c: c["coordinates"].append({**c["coordinates"][0], "id": 9})),
            r"coordinates\[3\]: one point appears twice",
        ),
        (changed(lambda c: c["coordinates"][0]["parameter_value_pairs"].pop()), r"coordinates\[0\].*1 coordinates"),  # type: ignore[attr-defined]
        (changed(lambda c: c["metrics"][1].update(name="time")), r"metrics\[1\]\.name: one name appears twice"),
        (changed(lambda c: c["metrics"][1].pop("id")), r'metrics\[1\]: "id" is missing'),
        (changed(lambda c: c.pop("callpaths")), '"callpaths" is missing'),
    ],
)
def test_wrong_old_json(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text, "a.json")


GOOD_LINE = '{"params": {"p": 1}, "value": 1}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD_LINE + '{"params": {"p": 1}, "va', r"a.jsonl:2: column \d+: not JSON: .*cut off"),
        (GOOD_LINE * 2 + "5\n", "a.jsonl:3: not a measurement, got 5"),
        (GOOD_LINE + '{"value": 1}', 'a.jsonl:2: "params" is missing'),
        (GOOD_LINE + '{"params": {"p": 2}}', 'a.jsonl:2: "value" is missing'),
        (
            GOOD_LINE + '{"params": {"q": 2}, "value": 1}',
            "a.jsonl:2: params: other parameters than in the first line, got 'q'",
        ),
        (GOOD_LINE + '{"params": {"p": -2}, "value": 1}', r"a.jsonl:2: params\.p: a parameter out of range, got -2.0"),
        (
            GOOD_LINE + '{"params": {"p": "2"}, "value": 1}',
            r"a.jsonl:2: params\.p: a coordinate that is not a number, got '2'",
        ),
        (GOOD_LINE + '{"params": {"p": 2}, "value": [1, "x"]}', r"a.jsonl:2: value\[1\]: not a number, got 'x'"),
        (GOOD_LINE + '{"params": {"p": 2}, "value": []}', "a.jsonl:2: value: no value"),
        (GOOD_LINE + '{"params": {"p": 1}, "value": true}', "a.jsonl:2: value: not a number, got True"),
        (GOOD_LINE + '{"params": {"p": 1}, "value": 1, "metric": 3}', "a.jsonl:2: metric: not a name, got 3"),
        ('{"params": {"a":1,"b":1,"c":1,"d":1,"e":1}, "value": 1}', "a.jsonl:1: params: wrong number of parameters"),
        (GOOD_LINE + '{"params": {"p": 2}, "value": 1, "metric": "m"}', "a point is missing.*2 such gaps in all"),
    ],
)
def test_wrong_lines(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text, "a.jsonl")


TABLE = "p,region,metric,value\n1,a,t,1\n2,a,t,2\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "p,region,metric\n1,a,t\n",
            r"a.csv:1: the table has no column of values, got 'p, region, metric' \(allowed: region",
        ),
        ("region,value\na,1\n", "a.csv:1: wrong number of parameters"),
        ("a,b,c,d,e,value\n1,1,1,1,1,1\n", "a.csv:1: wrong number of parameters, got '5: a, b, c, d, e'"),
        ("p,p,value\n1,1,1\n", "a.csv:1: two columns with the same name"),
        ("p,region,callpath,value\n1,a,b,1\n", "a.csv:1: two columns with the same name"),
        ("p,value\n", "the file holds no measurement"),
        (TABLE + "\n3,a,t,x\n", "a.csv:5: column value: not a number, got 'x'"),
        (TABLE + "3,a,t,inf\n", "a.csv:4: column value: not a number, got 'inf'"),
        (TABLE + "3,a,t,1e999\n", "a.csv:4: column value: not a number, got '1e999'"),
        (TABLE + "3,a,t\n4,a,t,4\n", "a.csv:4: a row of wrong length, got '3 entries'"),
        (TABLE + "3,a,t,1,1\n", "a.csv:4: a row of wrong length, got '5 entries'"),
        ("p,region,metric,value\n1,a,t,1,5\n", "a.csv:2: a row of wrong length, got '5 entries'"),
        (TABLE + '3,"a\nb",t,4\n,a,t,1\n', "a.csv:6: column p: a coordinate that is not a number, got ''"),
        (TABLE + "0,a,t,1\n", "a.csv:4: column p: a parameter out of range, got 0.0"),
        (TABLE + "x,a,t,1\n", "a.csv:4: column p: a coordinate that is not a number, got 'x'"),
        (TABLE + '3,"a,t,1\n', "a.csv:4: not CSV"),
        (TABLE + "2,b,t,1\n", "region 'b', metric 't' at p=1: a point is missing: other series have a value there"),
        (
            "p,value,repetition\n1,1,1\n1,2,2\n\n1,3,2\n",
            r"a.csv:5: column repetition: one repetition appears twice, .*at p=1",
        ),
        ("p,region,value\n1,a,1\n1,b,\n", "region 'b', metric '<default>': a series without a value"),
    ],
)
def test_wrong_tables(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text, "a.csv")


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_not_utf8_is_found(tmp_path: Path, name: str) -> None:
    content = SAMPLES[name].replace("main", "ma\xefn", 1).encode("latin-1")
    at = content.index(b"\xef")
    line = content[:at].count(b"\n") + 1
    with pytest.raises(InputError, match=rf"{name}:{line}: byte {at}: the file is not text in UTF-8"):
        read(tmp_path, content, name)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "profile.cubex").write_bytes(b"x")
    for path, message in (
        (tmp_path / "none", "No such file"),
        (tmp_path / "profile.cubex", "a file instead of a folder of runs"),
        (tmp_path, "a folder without runs"),
    ):
        with pytest.raises(InputError, match=message):
            read_measurements(path)
    with pytest.raises(InputError, match="a folder instead of a file"):
        read_measurements(tmp_path, format="csv")
    with pytest.raises(InputError, match=r"the format of the file is unknown, got 'hello' .*talpas"):
        read(tmp_path, "hello", "a.dat")


def test_points_that_no_series_shares_are_no_block(tmp_path: Path) -> None:
    text = "p,region,value\n" + "".join(f"{i + 1},r{i},1\n" for i in range(12_000))
    with pytest.raises(InputError, match=r"'r0'.*at p=2: a point is missing.*143,988,000 such gaps"):
        read(tmp_path, text, "a.csv")
    with pytest.raises(InputError, match="too scattered"):
        read(tmp_path, text, "a.csv", partial=True)


# Damage at random.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_damage_gives_an_error_or_measurements(folder: Path, name: str, data: st.DataObject) -> None:
    content = SAMPLES[name].encode()
    start = data.draw(st.integers(0, len(content)))
    end = start + data.draw(st.integers(0, 12))
    inserted = data.draw(
        st.binary(max_size=4) | st.sampled_from([b"\n", b'"', b"nan", b"-", b"{", b"]", b",", b"0", b"e9"])
    )
    rest = b"" if data.draw(st.booleans()) else content[end:]
    try:
        measured = read(folder, content[:start] + inserted + rest, name)
    except InputError as error:
        message = str(error)
    else:
        message = str(folder / name) if np.isfinite(measured.points).all() else ""
    assert str(folder / name) in message


# The shared example files.


def test_the_example_files_are_read_as_extrap_reads_them(cases: Path) -> None:
    expected = json.loads((cases / "extrap" / "expected_models.json").read_text())
    assert any("neg" in name for name in expected)
    for name, content in expected.items():
        path = cases / "extrap" / name
        if "neg" in path.stem:
            with pytest.raises(InputError, match=path.name):
                read_measurements(path)
            continue
        measured = read_measurements(path)
        assert list(measured.parameters) == content["parameters"]
        np.testing.assert_array_equal(measured.points, content["points"])
        pairs = {(model["callpath"], model["metric"]) for model in content["models"]}
        assert pairs == set(zip(measured.regions, measured.metrics, strict=True))
        for model in content["models"]:
            if model["type"] == "ConstantHypothesis":
                check_constant(measured.select(model["callpath"], model["metric"]).means[0], model)


def check_constant(means: np.ndarray, model: dict[str, float]) -> None:
    """A constant model is the mean, and its residual sum of squares that of the values about it."""
    constant = float(model["function"])
    assert math.isclose(float(means.mean()), constant, rel_tol=1e-12)
    # The squares of residuals lose digits to the size of the mean.
    assert math.isclose(float(((means - constant) ** 2).sum()), model["RSS"], rel_tol=1e-9, abs_tol=1e-20 * constant**2)


# Memory.


@pytest.mark.thorough
def test_memory_is_bounded_by_the_block_and_the_names(tmp_path: Path) -> None:
    series, points = 20_000, 25
    path = tmp_path / "a.csv"
    with path.open("w") as file:
        file.write("p,region,value\n")
        for row in range(series):
            file.writelines(f"{point},r{row},{row}.5\n" for point in range(1, points + 1))
    read_measurements(path)  # what is imported only now does not count
    tracemalloc.start()
    measured = read_measurements(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert measured.values.shape == (series, points, 1)
    # 28 bytes a row, 400 for each name and its number, and a part of the table at a time.
    assert peak_bytes < 28 * series * points + 400 * series + 160 * 2**18


# Optional packages.


def test_a_package_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pyarrow", "pycubexr"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match="needs the package pyarrow, which is not installed"):
        read(tmp_path, b"PAR1", "a.parquet")
    (tmp_path / "x1").mkdir()
    (tmp_path / "x1" / "profile.cubex").write_bytes(b"")
    with pytest.raises(InputError, match=r"needs the package pycubexr.*simcodesign\[cube\]"):
        read_measurements(tmp_path)


def test_parquet_says_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(io.StringIO(CSV))
    frame.to_parquet(tmp_path / "a.parquet")
    check_sample(read_measurements(tmp_path / "a.parquet"))
    frame.loc[2, "p"] = -1
    frame.to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match="row 3, column p: a parameter out of range"):
        read_measurements(tmp_path / "b.parquet")
    frame.assign(value="x").to_parquet(tmp_path / "c.parquet")
    with pytest.raises(InputError, match="column value: values that are not numbers"):
        read_measurements(tmp_path / "c.parquet")
    (tmp_path / "d.parquet").write_bytes((tmp_path / "b.parquet").read_bytes()[:200])
    with pytest.raises(InputError, match="the Parquet file cannot be read"):
        read_measurements(tmp_path / "d.parquet")


@pytest.mark.parametrize("region", ["main->{lambda(int)#1}", "#pragma omp", "a # b", "solve#2", "x\t# y"])
@pytest.mark.parametrize("metric", ["time", "#messages", "L2#miss (#)"])
def test_signs_of_comments_within_names(tmp_path: Path, region: str, metric: str) -> None:
    path = tmp_path / "runs.txt"
    lines = [
        "# a comment",
        "PARAMETER p # processes",
        "\t# indented",
        "POINTS 2 4 # two",
        f"METRIC {metric}",
        f"REGION {region}",
    ]
    path.write_text("\n".join([*lines, "DATA 1 # first", "DATA 2"]) + "\n")
    measurements = read_measurements(path)
    assert (measurements.regions, measurements.metrics) == ((region.replace("\t", " "),), (metric,))
    assert measurements.values.ravel().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "point", "repetition"),
    [
        ("x10y1z1", {"x": 10, "y": 1, "z": 1}, 0),
        ("x10.r2", {"x": 10}, 2),
        ("lulesh.p8n1,5.r1", {"p": 8, "n": 1.5}, 1),
        ("a.b1.x1.5y2.r10", {"b": 1, "x": 1.5, "y": 2}, 10),
        ("a.b.x1.5y2.r10", {"x": 1.5, "y": 2}, 10),
        ("p8.d10", {"p": 8, "d": 10}, 0),
        ("kripke.p8.d10.g32.r1", {"p": 8, "d": 10, "g": 32}, 1),
        ("kripke.p8.d1,5.r12", {"p": 8, "d": 1.5}, 12),
        ("kripke.p8,d10,g32.r1", {"p": 8, "d": 10, "g": 32}, 1),
        ("kripke.p8,n0,5,m2,25.r3", {"p": 8, "n": 0.5, "m": 2.25}, 3),
        ("p8,n1,5", {"p": 8, "n": 1.5}, 0),
        ("r5.r2", {"r": 5}, 2),
    ],
)
def test_names_of_runs(name: str, point: dict[str, float], repetition: int) -> None:
    run = run_of(Path(name) / "profile.cubex")
    assert (run.point, run.repetition) == (point, repetition)


@pytest.mark.parametrize(
    ("names", "points"),
    [
        # Extra-P takes what is before the first dot for a prefix; here only if it is the same in all folders.
        (("lulesh2.p8.r1", "lulesh2.p27.r1"), [{"p": 8}, {"p": 27}]),
        (("p8.d10.r1", "p16.d10.r1"), [{"p": 8, "d": 10}, {"p": 16, "d": 10}]),
        (("x1.5y2", "x1.7y2"), [{"x": 1.5, "y": 2}, {"x": 1.7, "y": 2}]),
        (("x10.r1", "x10.r2"), [{"x": 10}, {"x": 10}]),
    ],
)
def test_a_prefix_is_the_same_in_all_folders(
    tmp_path: Path, names: tuple[str, ...], points: list[dict[str, float]]
) -> None:
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "profile.cubex").touch()
    assert [run.point for run in find_runs(tmp_path)] == points


@pytest.mark.parametrize("name", ["x", "10", "x10y", "run.", "x1x2", "run-a.r1", "p8-n2.r1", "p8,.r1"])
def test_names_of_no_run(name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}.*allowed: .prefix..x10y1z1"):
        run_of(Path(name) / "profile.cubex")


ANCHOR = """<?xml version="1.0"?><cube version="4.0"><metrics>
<metric id="0" type="INCLUSIVE"><disp_name>Time</disp_name><uniq_name>time</uniq_name><dtype>DOUBLE</dtype>
<uom>s</uom><url></url><descr></descr></metric></metrics>
<program><region id="0" mod="" begin="1" end="2"><name>main</name><url></url><descr></descr></region>
<region id="1" mod="" begin="1" end="2"><name>foo</name><url></url><descr></descr></region>
<cnode id="0" calleeId="0">{child}</cnode></program>
<system><systemtreenode Id="0"><name>m</name><class>machine</class><locationgroup Id="0"><name>r0</name><rank>0</rank>
<type>process</type><location Id="0"><name>t0</name><rank>0</rank><type>thread</type></location></locationgroup>
<locationgroup Id="1"><name>r1</name><rank>1</rank><type>process</type><location Id="1"><name>t0</name><rank>1</rank>
<type>thread</type></location></locationgroup></systemtreenode></system></cube>"""


def write_cube(path: Path, values: list[float]) -> None:
    """A profile of two processes: inclusive times of main and, if given, of main->foo."""
    nodes = len(values) // 2
    anchor = ANCHOR.format(child='<cnode id="1" calleeId="1"></cnode>' if nodes == 2 else "")
    members = {
        "anchor.xml": gzip.compress(anchor.encode()),
        "0.index": b"CUBEX.INDEX" + struct.pack("<ihbi", 1, 0, 0, nodes) + struct.pack(f"<{nodes}i", *range(nodes)),
        "0.data": b"CUBEX.DATA" + struct.pack(f"<{len(values)}d", *values),
    }
    path.parent.mkdir()
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def test_cube_gives_exclusive_means_over_processes(tmp_path: Path) -> None:
    pytest.importorskip("pycubexr")
    write_cube(tmp_path / "job.p2n1.r1" / "profile.cubex", [5.0, 7.0, 1.0, 3.0])
    write_cube(tmp_path / "job.p2n1.r2" / "profile.cubex", [6.0, 8.0, 1.0, 3.0])
    write_cube(tmp_path / "job.p10n1.r1" / "profile.cubex", [4.0, 4.0])
    measured = read_measurements(tmp_path)
    assert (measured.regions, measured.metrics) == (("main", "main->foo"), ("time", "time"))
    np.testing.assert_array_equal(measured.points, [[2, 1], [10, 1]])
    np.testing.assert_array_equal(measured.values, [[[4, 5], [4, MISSING]], [[2, 2], [MISSING, MISSING]]])
    with pytest.raises(InputError, match=r"main->foo.* at p=10, n=1: a point is missing"):
        read_measurements(tmp_path, partial=False)
    (tmp_path / "job.p10n1.r1" / "profile.cubex").write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"job.p10n1.r1/profile.cubex: the Cube file cannot be read"):
        read_measurements(tmp_path)


def test_runs_with_other_parameters_are_refused(tmp_path: Path) -> None:
    for name in ("p2", "p2n1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "profile.cubex").write_bytes(b"")
    with pytest.raises(InputError, match="p2n1: other parameters than in p2, got 'p, n'"):
        read_measurements(tmp_path)


def test_all_formats_are_tried_here() -> None:
    benchmarks = {name for name, reader in READERS.items() if isinstance(reader, BenchmarkReader)}
    assert set(READERS) - benchmarks == {
        "text",
        "json",
        "jsonlines",
        "talpas",
        "csv",
        "parquet",
        "sweep",
        "cube",
        "extrap",
    }
    by_unit = {f"caliper-{unit}" for unit in ("s", "ms", "us", "ns")}
    assert benchmarks - by_unit == {form for form, _ in outputs.ALL.values()}  # tests/fitting/benchmarks
