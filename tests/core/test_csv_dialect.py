"""One dialect of CSV in all commands: spreadsheets, Fortran programs and scripts write the same table differently."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.calibration.timings import read_timings
from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.decimal_signs import plain, shown_sign
from simcodesign.core.files.text_files import CsvRows, number
from simcodesign.counters.readers.tidy_table import read_counter_csv
from simcodesign.describe.measured_tables.table import read_measured
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.mapping import mapping_from
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.fitting.readers.formats import read_measurements
from simcodesign.locality.profile import load_profile

WORKLOAD = """\
simcodesign: 1
name: known
parameters: {m: {default: 1, unit: B}}
program: [compute: {flops: m}]
"""
#: The same table in many forms: times of 0.5 s, 1234.5 s and 3 s at 4, 8 and 16 ranks with m = 1024.
PLAIN = "P,m,value\n4,1024,0.5\n8,1024,1234.5\n16,1024,3\n"
SEMICOLONS = PLAIN.replace(",", ";")
COMMAS = SEMICOLONS.replace(".", ",")
VARIANTS = {
    "plain": PLAIN,
    "semicolons": SEMICOLONS,
    "tabs": PLAIN.replace(",", "\t"),
    "decimal commas": COMMAS,
    "decimal commas, tabs": COMMAS.replace(";", "\t"),
    "thousands and decimal commas": COMMAS.replace("1234,5", "1.234,5"),
    "thousands and decimal points": SEMICOLONS.replace("1234.5", "1,234.5"),
    "thousands in quotes": PLAIN.replace("1234.5", '"1,234.5"'),
    "comments": "# a\n" + PLAIN.replace("8,", "# b, c, d\n8,") + "# end\n",
    "comment with a quote": '# 5" disks\n' + PLAIN,
    "comments of a spreadsheet": "# a;;\n" + COMMAS + '"# b; c";;\n',
    "trailing commas": PLAIN.replace("\n", ",\n"),
    "two trailing commas": PLAIN.replace("\n", ",,\n"),
    "trailing commas without a title": PLAIN.replace("\n", ",\n").replace("value,", "value"),
    "trailing semicolons": COMMAS.replace("\n", ";\n"),
    "Fortran": PLAIN.replace("0.5", "5.0D-01").replace("1234.5", "0.12345d+04").replace(",3\n", ", 3.D0\n"),
    "Fortran with blanks": PLAIN.replace(",", " ,  ").replace("0.5", "0.5D+00"),
    "decimal commas and exponents": COMMAS.replace("1234,5", "1,2345E+03"),
    "sep=": "sep=;\n" + COMMAS,
    "quoted sep=": '"sep=,"\n' + PLAIN,
    "quotes": "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in PLAIN.split()) + "\n",
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "CR": PLAIN.replace("\n", "\r"),
    "blank lines": "\n  \n" + PLAIN.replace("\n", "\n\n") + ",,\n",
    "no last line end": PLAIN.rstrip(),
    "seconds": PLAIN.replace("value", "seconds"),
    "time": PLAIN.replace("value", "Time"),
    "VALUE": PLAIN.replace("value", " VALUE "),
    "unit in round brackets": PLAIN.replace("value", "time (s)"),
    "unit in square brackets": PLAIN.replace("value", "Time [seconds]").replace("P,m", "P,m [B]"),
    "unit behind an underscore": PLAIN.replace("value", "time_s"),
    "milliseconds": PLAIN.replace("value", "time (ms)").replace("0.5", "500").replace("1234.5", "1234500.")
    .replace(",3\n", ",3e3\n"),
    "KiB": PLAIN.replace("m,", "m (KiB),").replace("1024", "1"),
    "numbers of rows": ",P,m,value\n0,4,1024,0.5\n1,8,1024,1234.5\n2,16,1024,3\n",
    "numbers of rows from 1": '"","P","m","value"\n"1",4,1024,0.5\n"2",8,1024,1234.5\n"3",16,1024,3\n',
    "columns in another order": "value,P,m\n0.5,4,1024\n1234.5,8,1024\n3,16,1024\n",
}  # fmt: skip
ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "UTF-8": str.encode,
    "UTF-8 with a mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "UTF-16": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16, big end first": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
}
EXPECTED = [(4, 1024, 0.5), (8, 1024, 1234.5), (16, 1024, 3)]
Table = list[tuple[float, float, float]]


def known() -> Workload:
    return workload_from(parse_yaml(WORKLOAD, "known.yaml"))


def by_fit(path: Path) -> Table:
    measured = read_measurements(path)
    at = [measured.parameters.index(name) for name in ("P", "m")]
    return [(*point[at], value) for point, value in zip(measured.points, measured.values[0, :, 0], strict=True)]


def by_calibrate(path: Path) -> Table:
    return [(one.values["P"], one.values["m"], one.seconds) for one in read_timings([path], known())]


def by_compare(path: Path) -> Table:
    return [(float(one.at["P"]), float(one.at["m"]), one.total_s or 0.0) for one in read_measured(path, known())]


READERS = {"fit": by_fit, "calibrate": by_calibrate, "compare": by_compare}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_form_of_a_table_is_the_same_in_every_command(tmp_path: Path, variant: str, reader: str) -> None:
    path = tmp_path / "t.csv"
    for name, encoded in ENCODINGS.items():
        path.write_bytes(encoded(VARIANTS[variant]))
        assert READERS[reader](path) == EXPECTED, name


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("P;m;value\n4;1;1,234\n", ":2: column value: .*'1,234'"),
        ('P,m,value\n4,1,"1,234"\n', ":2: column value: .*'1,234'"),
        ("P;m;value\n4;1;0,5\n8;1;1.234\n", r":3: column value: a point .*line 2: 0,5.*'1.234' .*1234 or 1,234"),
        ("P;m;value\n8;1;1.234\n4;1;0,5\n", r":2: column value: a point .*line 3: 0,5.*'1.234'"),
        ("P;m;value\n4;1;0,5\n8;1;2.5\n", r":3: column value: a point .*'2.5' .*2,5"),
        ("P;m;value\n4;1;0.5\n8;1;2,5\n", ":3: column value: .*'2,5'"),
        ("P;m;value\n4;1;1 234\n", ":2: column value: .*'1 234'"),
        ("P,m,value\n4,1,0,5\n", ":2: a row of wrong length"),
        ("m,P,value,source\n1,4,0,5,\n", ":2: a row of wrong length"),
        (",P,m,value\na,4,1,0.5\n", ":2: column 1: an entry of a column without a title, got 'a'"),
        ("P,m,value\n4,1,0.5,,\n8,1,2,7,\n", ":3: a row of wrong length"),
        ("P,m,seconds,time\n4,1,1,1\n", ":1: several columns could be the values, got 'seconds, time'"),
    ],
)  # fmt: skip
def test_what_may_mean_two_things_is_refused_by_name(tmp_path: Path, text: str, said: str, reader: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        READERS[reader](path)


def test_the_column_of_values_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("P,m,time (ms),Wall clock [ms]\n4,1,7,500\n", encoding="utf-8")
    for chosen in ("Wall clock [ms]", "wall clock"):
        assert read_measurements(path, value=chosen).values.tolist() == [[[0.5]]]
        assert read_measurements(path, value=chosen).parameters == ("P", "m")
        assert [one.seconds for one in read_timings([path], known(), chosen)] == [0.5]
        assert [one.total_s for one in read_measured(path, known(), chosen)] == [0.5]
    for read in (
        lambda: read_measurements(path, value="wall"),
        lambda: read_timings([path], known(), "wall"),
        lambda: read_measured(path, known(), "wall"),
    ):
        with pytest.raises(InputError, match="no such column of values, got 'wall'"):
            read()


def test_the_one_column_that_is_no_parameter_has_the_times(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("P,m,runtime\n4,1,0.5\n", encoding="utf-8")
    assert by_calibrate(path) == by_compare(path) == [(4, 1, 0.5)]
    path.write_text("P,runtime,other\n4,1,0.5\n", encoding="utf-8")
    for read in (by_calibrate, by_compare):
        with pytest.raises(InputError, match="unknown column, got 'runtime'"):
            read(path)


def test_a_parameter_may_be_called_as_times_are(tmp_path: Path) -> None:
    workload = workload_from(parse_yaml(WORKLOAD.replace("{m:", "{time:").replace("flops: m", "flops: time"), "w.yaml"))
    path = tmp_path / "t.csv"
    path.write_text("P,time,seconds\n4,7 B,0.5\n", encoding="utf-8")
    assert read_timings([path], workload)[0].values == {"P": 4, "time": 7}
    path.write_text("P,time\n4,7 B\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column of values"):
        read_timings([path], workload)


@pytest.mark.parametrize(
    "text", ["rank,node\n0,0\n1,3\n2,1\n", "sep=;\nRank;Node;\n0;0;\n1;3;\n2;1;\n", "# a, b\n0\n\n3\n# c\n1\n"]
)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_mappings(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "ranks.csv").write_bytes(ENCODINGS[encoding](text))
    assert mapping_from(parse_yaml("ranks.csv", "machine.yaml"), build_topology("crossbar", 4), 1, tmp_path) == (
        0,
        3,
        1,
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "text",
    [
        "# line_bytes = 32\ndistance,count\n-1,3\n0,2.5\n4,1\n",
        '# line_bytes = 32;\n"Distance";"Count";\n-1;3;\n\n0;2,5;\n4;1;\n',
        "# line_bytes = 32\r\nsd\tcount\r\n-1\t3\r\n# x\r\n0\t2.5D+00\r\n4\t1\r\n",
    ],
)
def test_profiles(tmp_path: Path, text: str, encoding: str) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(ENCODINGS[encoding](text))
    profile = load_profile(path)
    assert (profile.line_bytes, profile.cold, profile.distance.tolist(), profile.count.tolist()) == (
        32, 3.0, [0, 4], [2.5, 1.0],
    )  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "text",
    [
        "kernel,processes,time_s\nk,4,0.5\n",
        "sep=;\nfunction;P;seconds;\nk;4;0,5;\n",
        "kernel\tP\ttime_s\n\nk\t4\t5.0D-1",
    ],
)
def test_counters(tmp_path: Path, text: str, encoding: str) -> None:
    path = tmp_path / "c.csv"
    path.write_bytes(ENCODINGS[encoding](text))
    table = read_counter_csv(path)
    assert (table.kernels, table.column("processes").tolist(), table.column("time_s").tolist()) == (("k",), [4], [0.5])


@given(st.floats(0.1, 9e8), st.integers(1, 6), st.sampled_from([".", ","]), st.booleans())
def test_numbers_of_either_sign_are_what_was_written(value: float, digits: int, sign: str, grouped: bool) -> None:
    """Python's own formatting, its signs exchanged, is the other side."""
    shown = f"{value:,.{digits}f}" if grouped else f"{value:.{digits}f}"
    text = shown if sign == "." else shown.translate({ord(","): ".", ord("."): ","})
    expected = float(shown.replace(",", ""))
    assert float(plain(text, sign)) == expected
    if shown_sign(text):
        assert shown_sign(text) == sign
    else:  # 123.456 or 123,456
        assert digits == 3
        assert 1 <= expected < 1000


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1,234", "here 1234 or 1.234"),
        ("1.234,5", "here 1234.5"),
        ("1 234,5", "here 1234.5"),
        ("1'234", "here 1234"),
        ("0,5", "here 0.5"),
        ("1,234,567", "here 1234567"),
        ("x", "such as 16 or 1.5e-3"),
    ],
)
def test_errors_of_numbers_name_what_to_write(text: str, hint: str) -> None:
    with pytest.raises(InputError) as error:
        number(text, Place("t.csv", 3))
    assert hint in str(error.value)
    assert "t.csv:3" in str(error.value)


def test_words_stay_as_they_are() -> None:
    rows = [cells for _, cells in CsvRows(["region;machine;p;value\n", "1,5;2.5;3;0,5\n"], "t.csv")]
    assert rows[1] == ["1,5", "2.5", "3", "0.5"]


def test_comments_within_a_quoted_entry_are_part_of_it() -> None:
    rows = CsvRows(["region,p,value\n", '"a\n', '# b",3,4\n', "#c,5,6\n"], "t.csv")
    assert [cells for _, cells in rows][1:] == [["a\n# b", "3", "4"]]
    assert [text for text, _ in rows.comments] == ["#c,5,6"]


@pytest.mark.thorough
def test_parts_of_a_large_table_are_alike(tmp_path: Path) -> None:
    """More rows than are read at once: both ways of reading give the same block."""
    p = np.arange(1, 300_001)
    lines = [f"{one},r,{one / 8!r}" for one in p.tolist()]
    path = tmp_path / "t.csv"
    path.write_text("p,region,value\n" + "\n".join(lines) + "\n", encoding="utf-8")
    fast = read_measurements(path)
    path.write_text("p,region,value\n" + "\n".join(lines) + "\n# end\n", encoding="utf-8")
    slow = read_measurements(path)
    np.testing.assert_array_equal(fast.values, slow.values)
    np.testing.assert_array_equal(fast.points, slow.points)
