"""Tables of measured times: what is read, and what is refused with its file and line."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.calibration.timings import Timing, read_timings
from simcodesign.core.errors import InputError
from simcodesign.core.units import LEAST
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from

KNOWN = workload_from(
    parse_yaml(
        """\
simcodesign: 1
name: known
parameters: {n: {default: 1}}
presets: {small: {n: 1}, large: {n: 2}}
program:
- phase: work
  do:
  - compute: {flops: n}
  - phase: inner
    do: [compute: {flops: n}]
""",
        "known.yaml",
    )
)
HEADER = "preset,P,n,phase,component,seconds,role"


def table(folder: Path, *lines: str) -> Path:
    path = folder / "times.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_rows_are_read_with_their_lines(tmp_path: Path) -> None:
    path = table(tmp_path, "# made up", HEADER, "small,4,,work,disk,1.5e-3,evidence", "", ",,10,total,,2,", "# end")
    first, second = read_timings([path], KNOWN)
    assert first == Timing(1.5e-3, {"P": 4.0}, "small", "work", "disk")
    assert second == Timing(2.0, {"n": 10.0}, None, "", "total")
    assert [str(one.place) for one in (first, second)] == [f"{path}:3", f"{path}:5"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_and_several_tables(tmp_path: Path, delimiter: str) -> None:
    path = table(tmp_path, delimiter.join(["P", "seconds"]), delimiter.join(["2", "3"]))
    assert [one.seconds for one in read_timings([path, path], KNOWN)] == [3.0, 3.0]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "the file is empty"),
        (["# only a comment"], "the file is empty"),
        (["P,seconds"], "has no rows"),
        (["P,seconds,secnds", "1,2,3"], "times.csv:1: unknown column, got 'secnds'.*did you mean 'seconds'"),
        (["P,first,second", "1,2,3"], "times.csv:1: unknown column, got 'first'"),
        (["P,P,seconds", "1,1,2"], "two columns"),
        (["P,n", "1,2"], "no column of values"),
        (["nodes,seconds", "1,2"], "times.csv:2: column nodes: a time at a value of the machine's"),
        (["P,seconds", "1"], "times.csv:2: a row of wrong length"),
        (["P,seconds", "1,x"], "times.csv:2: column value: not a quantity"),
        (["P,seconds", "1,nan"], "times.csv:2"),
        (["P,seconds", "1,-2"], "times.csv:2: column value: a measured time cannot be negative, got '-2'"),
        (["P,seconds", "1,1e-320"], "too small"),
        (["P,seconds", "four,2"], "times.csv:2: column P: not a quantity"),
        (["preset,seconds", "smal,2"], "no such preset.*did you mean 'small'"),
        (["phase,seconds", "wrok,2"], "no such phase"),
        (["component,seconds", "disc,2"], "no such component"),
        (["P,seconds", '"1,2'], "times.csv:2: not CSV"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, lines: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_timings([table(tmp_path, *lines)], KNOWN)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_timings([tmp_path / "none.csv"], KNOWN)
    (tmp_path / "bytes.csv").write_bytes(b"P,seconds\n\xff,1\n")
    with pytest.raises(InputError, match="UTF-8"):
        read_timings([tmp_path / "bytes.csv"], KNOWN)


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["", "small", "large"]),
            st.one_of(st.none(), st.floats(1, 1e9)),
            st.sampled_from(["", "work", "work/inner"]),
            st.sampled_from(["disk", "communication", "total"]),
            st.just(0.0) | st.floats(LEAST, 1e9),
        ),
        min_size=1,
    )
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple]) -> None:
    path = tmp_path_factory.mktemp("times") / "times.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["preset", "n", "phase", "component", "seconds"])
        for preset, n, phase, component, seconds in rows:
            writer.writerow([preset, "" if n is None else repr(n), phase, component, repr(seconds)])
    expected = [
        Timing(seconds, {} if n is None else {"n": n}, preset or None, phase, component)
        for preset, n, phase, component, seconds in rows
    ]
    assert list(read_timings([path], KNOWN)) == expected
