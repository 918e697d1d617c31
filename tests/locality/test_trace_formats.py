"""Traces in files: written here by other means, read back equal in any format, compression and size of chunk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.locality.traces import text_parser
from simcodesign.locality.traces.formats import open_trace
from simcodesign.locality.traces.readers import text as read_text
from simcodesign.locality.traces.text_bytes import DIN, LACKEY
from simcodesign.locality.traces.trace import FETCH, LOAD, MODIFY, STORE, Accesses, read_all
from tests import examples
from tests.oracles import text_lines

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}
ADDRESS = st.integers(0, 2**64 - 1) | st.integers(0, 300)
EVENT = st.tuples(st.sampled_from("ISLM"), ADDRESS)  # an instruction or an access
KIND = {"L": LOAD, "S": STORE, "M": MODIFY, "I": FETCH}
Row = tuple[int, int, int | None]
#: With the size.
SizedRow = tuple[int, int, int | None, int | None]


@contextmanager
def written(data: bytes, name: str) -> Iterator[Path]:
    """The data in a file that is gone afterwards; Hypothesis and ``tmp_path`` do not go together."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(COMPRESS[path.suffix if path.suffix in COMPRESS else ""](data))
        yield path


@contextmanager
def set_to(**values: Any) -> Iterator[None]:
    """Names of ``read_text`` with other values."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(read_text, name, value)
        yield


def rows(accesses: Accesses) -> list[tuple[int, int | None, int | None]]:
    count = len(accesses)
    kind = [None] * count if accesses.kind is None else accesses.kind.tolist()
    group = [None] * count if accesses.group is None else accesses.group.tolist()
    return list(zip(accesses.address.tolist(), kind, group, strict=True))


def sized_rows(accesses: Accesses) -> list[tuple[int, int | None, int | None, int | None]]:
    size = [None] * len(accesses) if accesses.size is None else accesses.size.tolist()
    return [(*row, bytes_of) for row, bytes_of in zip(rows(accesses), size, strict=True)]


def events_as_rows(events: list[tuple[str, int]], instructions: bool = False) -> list[Row]:
    """What a reader should give, by a loop over the events."""
    grouped, issuer, result = any(label == "I" for label, _ in events), 0, list[Row]()
    for label, address in events:
        issuer = address if label == "I" else issuer
        if label != "I" or instructions:
            result.append((address, KIND[label], issuer if grouped else None))
    return result


def lackey_text(events: list[tuple[str, int]], message: str = "") -> bytes:
    lines = [
        f"{message}I  {address:08x},3\n" if label == "I" else f" {label} {address:08x},8\n" for label, address in events
    ]
    return "".join(lines).encode()


def din_text(events: list[tuple[str, int]], columns: str = "") -> bytes:
    label = {"L": "0", "S": "1", "I": "2"}
    return "".join(f"{label[kind]} {address:x}{columns}\n" for kind, address in events).encode()


# --- round trips -------------------------------------------------------------------------------------------------


@given(
    events=st.lists(EVENT, min_size=1, max_size=60),
    suffix=st.sampled_from([".lackey", ".txt"]),
    compression=st.sampled_from(list(COMPRESS)),
    most=st.integers(1, 70),
    block_bytes=st.sampled_from([32, 64, 1 << 22]),
    message=st.sampled_from(["", "==7== Command: a\n", "\n", "--7-- x,1\n**7** y\n"]),
    instructions=st.booleans(),
)
@settings(deadline=None, max_examples=examples(60))
def test_lackey_is_read_back(
    events: list[tuple[str, int]],
    suffix: str,
    compression: str,
    most: int,
    block_bytes: int,
    message: str,
    instructions: bool,
) -> None:
    expected = events_as_rows(events, instructions)
    with (
        written(lackey_text(events, message), f"t{suffix}{compression}") as path,
        set_to(BLOCK_BYTES=block_bytes),
    ):
        trace = open_trace(path, instructions=instructions)
        if not expected:
            with pytest.raises(InputError, match="the trace is empty"):
                list(trace.chunks())
            return
        for _ in range(2):
            chunks = list(trace.chunks(most))
            assert all(1 <= len(chunk) <= most for chunk in chunks)
            assert [row for chunk in chunks for row in rows(chunk)] == expected


@given(
    events=st.lists(st.tuples(st.sampled_from("ISL"), ADDRESS), min_size=1, max_size=60),
    columns=st.sampled_from(["", " 4", "\t8 comment, 9", " ", "\r"]),
    compression=st.sampled_from(list(COMPRESS)),
    block_bytes=st.sampled_from([40, 1 << 22]),
    instructions=st.booleans(),
)
@settings(deadline=None, max_examples=examples(60))
def test_din_is_read_back(
    events: list[tuple[str, int]], columns: str, compression: str, block_bytes: int, instructions: bool
) -> None:
    expected = events_as_rows(events, instructions)
    with (
        written(din_text(events, columns), f"t.din{compression}") as path,
        set_to(BLOCK_BYTES=block_bytes),
    ):
        trace = open_trace(path, instructions=instructions)
        if expected:
            assert rows(read_all(trace)) == expected
        else:
            with pytest.raises(InputError, match="the trace is empty"):
                read_all(trace)


@given(
    st.lists(ADDRESS, min_size=1, max_size=60),
    st.sampled_from([".npy", ".u64", ".raw", ".bin"]),
    st.sampled_from(list(COMPRESS)),
    st.integers(1, 70),
)
@settings(deadline=None, max_examples=examples(60))
def test_numbers_are_read_back(values: list[int], suffix: str, compression: str, most: int) -> None:
    if suffix == ".npy":
        file = io.BytesIO()
        np.save(file, np.array(values, np.uint64))
        data = file.getvalue()
    else:
        data = b"".join(value.to_bytes(8, "little") for value in values)
    with written(data, f"t{suffix}{compression}") as path:
        trace = open_trace(path)
        for _ in range(2):
            chunks = list(trace.chunks(most))
            assert [len(chunk) for chunk in chunks[:-1]] == [most] * (len(chunks) - 1)
            assert [int(value) for chunk in chunks for value in chunk.address] == values
            assert all(chunk.kind is None and chunk.group is None for chunk in chunks)
            assert all(chunk.address.flags.writeable for chunk in chunks)


@given(
    st.lists(st.tuples(ADDRESS, st.integers(0, 3), ADDRESS), min_size=1, max_size=40),
    st.integers(1, 50),
    st.integers(1, 3),
)
@settings(deadline=None, max_examples=examples(60))
def test_columns_are_read_back(table: list[tuple[int, int, int]], most: int, width: int) -> None:
    names = ("address", "kind", "group")[:width]
    columns = {name: np.array([row[at] for row in table], np.uint64) for at, name in enumerate(names)}
    with tempfile.TemporaryDirectory() as folder:
        for save in (np.savez, np.savez_compressed):
            path = Path(folder) / "t.npz"
            save(path, **columns)
            chunks = list(open_trace(path).chunks(most))
            assert all(len(chunk) <= most for chunk in chunks)
            expected = [tuple(row[at] if at < width else None for at in range(3)) for row in table]
            assert [row for chunk in chunks for row in rows(chunk)] == expected


@pytest.mark.parametrize("dtype", ["u1", ">u2", "<u4", ">u8", "i1", "<i4", ">i8"])
@pytest.mark.parametrize("compression", ["", ".gz"])
def test_arrays_of_any_integers(dtype: str, compression: str) -> None:
    file = io.BytesIO()
    np.save(file, np.array([0, 7, 127], dtype))
    with written(file.getvalue(), f"t.npy{compression}") as path:
        assert read_all(open_trace(path)).address.tolist() == [0, 7, 127]


# --- the two parsers, against regular expressions ------------------------------------------------------------------

LINES = {
    "lackey": re.compile(r"[ \t\r]*([ILSM])[ \t\r]+([0-9a-fA-F]+),([0-9]+)[ \t\r]*"),
    "din": re.compile(r"[ \t\r]*([012rwi])[ \t\r]+(?:0[xX])?([0-9a-fA-F]+)([ \t\r].*)?"),
}
SUPERBLOCK = re.compile(r"[ \t\r]*SB[ \t\r]+([0-9a-fA-F]+)[ \t\r]*")
LABELS = dict(zip("LSMI012rwi", [LOAD, STORE, MODIFY, FETCH, LOAD, STORE, FETCH, LOAD, STORE, FETCH], strict=True))


def parsed_by_regular_expressions(
    text: str, name: str, fetches: bool, group: int
) -> tuple[list[SizedRow], int, int] | int:
    """Rows, lines and instructions fetched; or where the first wrong line starts."""
    at, result, fetched = 0, list[SizedRow](), 0
    lines = text.split("\n")[:-1]
    for line in lines:
        match = LINES[name].fullmatch(line)
        skipped = not line.strip(" \t\r") or (name == "lackey" and re.match(r"[ \t\r]*(==|--|\*\*)", line))
        if name == "lackey" and (block := SUPERBLOCK.fullmatch(line)):
            skipped = int(block[1], 16) < 2**64
        if not skipped and (match is None or int(match[2], 16) >= 2**64):
            return at
        if match and not skipped:
            kind, address = LABELS[match[1]], int(match[2], 16)
            fetched += kind == FETCH
            group = address if kind == FETCH else group
            if kind != FETCH or fetches:
                result.append((address, kind, group, min(int(match[3]), 2**16) if name == "lackey" else None))
        at += len(line) + 1
    return result, len(lines), fetched


NEARLY = st.lists(
    st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(["", " ", "  ", "\t"]),
        st.sampled_from(
            ["I", "L", "S", "M", "SB", "SB", "0", "1", "2", "r", "w", "i", "3", "x", "==", "--", "**", "=", "", "-"]
        ),
        st.sampled_from([" ", "  ", "\t ", "", "\r"]),
        st.sampled_from(
            [
                "0",
                "ff",
                "04001e40",
                "1FFEFFe7e0",
                "f" * 16,
                "1" + "0" * 16,
                "0" * 20 + "a",
                "g",
                "",
                "-1",
                "0x10",
                "0X",
                "0xx1",
                "x1",
            ]
        ),
        st.sampled_from(
            [",8", ",16 ", ",8\r", ",99999999999999999999", ",65537", ",0", ",", "", " 4", ",8 x", "\r", " ", ", 8"]
        ),
    )
    | st.text("IL0 =,\ta", max_size=6),
    min_size=1,
    max_size=8,
)


@given(NEARLY, st.sampled_from(["lackey", "din"]), st.booleans(), ADDRESS)
@settings(deadline=None, max_examples=examples(400))
def test_both_parsers_do_as_regular_expressions_say(lines: list[str], name: str, fetches: bool, group: int) -> None:
    text = "\n".join(lines) + "\n"
    expected = parsed_by_regular_expressions(text, name, fetches, group)
    data = np.frombuffer(bytearray(text.encode()), np.uint8)
    for parse in (text_parser.parse_lines, text_lines.parse_lines):
        parsed = parse(data, LACKEY if name == "lackey" else DIN, name == "lackey", fetches, group)
        if isinstance(expected, int):
            assert parsed.wrong == expected
        else:
            assert parsed.wrong == -1
            assert (sized_rows(parsed.accesses), parsed.lines, parsed.fetches) == expected


# --- what a file is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", " L 10,8\n", (16, LOAD, None)),
        ("a", "==1== Lackey\n\n--1-- x\nI  2,3\n M 10,8\n", (16, MODIFY, 2)),
        ("a.trace", "1 10\n", (16, STORE, None)),
        ("a.trace", "w 10 4\n", (16, STORE, None)),
        ("a.DIN", "2 ff 4\n0 10 extra words\n", (16, LOAD, 255)),
        ("a.lackey", " S 10,4\n", (16, STORE, None)),
    ],
)
@pytest.mark.parametrize("compression", list(COMPRESS))
@pytest.mark.parametrize("keeps_suffix", [True, False])
def test_the_format_of_a_text_is_found_out(
    name: str, text: str, expected: Row, compression: str, keeps_suffix: bool
) -> None:
    with written(text.encode(), f"{name}{compression}") as path:
        result = path if keeps_suffix else path.rename(path.with_name(name))
        assert rows(read_all(open_trace(result))) == [expected]


def test_a_named_format_counts_for_more_than_a_suffix(tmp_path: Path) -> None:
    path = tmp_path / "a.din"
    path.write_bytes(b"\x1f\x8b345678")  # begins as a gzip file does
    assert read_all(open_trace(path, "raw")).address.tolist() == [int.from_bytes(b"\x1f\x8b345678", "little")]
    raw = path.rename(tmp_path / "a.u64")
    assert len(read_all(open_trace(raw))) == 1


def test_recorded_traces_are_read_with_their_companions(cases: Path) -> None:
    for name in ("gzip", "mm_naive", "mm_blocked", "triad"):
        for companion in ("", ".kind", ".pc"):
            path = cases / "cache" / f"{name}_1M{companion}.npy.xz"
            with lzma.open(path) as file:
                expected = np.load(io.BytesIO(file.read()))
            read = read_all(open_trace(path)).address
            assert len(read) == 1_000_000
            assert np.array_equal(read, expected)


# --- bad input -----------------------------------------------------------------------------------------------------


def npy(array: Any, **changes: bytes) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


START = len(npy(np.arange(3, dtype=np.uint64))) - 24
LACKEY_TEXT = b"==1== x\nI  4,3\n L 10,8\n"
BAD: list[tuple[str, bytes, str]] = [
    # cut off
    (
        "t.u64",
        bytes(20),
        r"t.u64: byte 16: the trace is cut off: its last address has only 4 of 8 bytes, got '20 bytes'",
    ),
    ("t.u64.gz", bytes(20), r"t.u64.gz: byte 16: the trace is cut off"),
    ("t.u64", b"1", r"t.u64: byte 0: the trace is cut off"),
    (
        "t.npy",
        npy(np.arange(3, dtype=np.uint64))[:-3],
        rf"t.npy: byte {START + 21}: the array is cut off after 2 of 3 entries",
    ),
    (
        "t.npy.xz",
        npy(np.arange(3, dtype=np.uint64))[:-3],
        rf"t.npy.xz: byte {START + 21}: the array is cut off after 2 of 3",
    ),
    ("t.npy", npy(np.arange(3, dtype=np.uint64)) + b"x", rf"t.npy: byte {START + 24}: more bytes follow the 3 entries"),
    (
        "t.npy.gz",
        npy(np.arange(3, dtype=np.uint64)) + b"x",
        rf"t.npy.gz: byte {START + 24}: more bytes follow the 3 entries",
    ),
    ("t.npy", npy(np.arange(3))[:30], r"t.npy: byte 0: no header of a .npy array"),
    (
        "t.txt",
        LACKEY_TEXT + b" L 1",
        r"t.txt:4: byte 23: the trace is cut off: its last line does not end, got ' L 1' \(allowed: a newline after it, or the first 23 bytes only",
    ),
    ("t.din.bz2", b"0 10\n1 3", r"t.din.bz2:2: byte 5: the trace is cut off"),
    # corrupt
    ("t.npy", b"no array at all", r"t.npy: byte 0: no header of a .npy array"),
    ("t.npy", b"\x93NUMPY\x09\x00" + bytes(80), r"t.npy: byte 0: no header of a .npy array.*version"),
    (
        "t.txt",
        LACKEY_TEXT + b" L 1z,8\n L 10,8\n",
        r"t.txt:4: byte 23: this is not a line of a lackey trace, got ' L 1z,8' \(allowed: 'I  ADDRESS,SIZE'",
    ),
    ("t.lackey.gz", LACKEY_TEXT + b"L10,8\n", r"t.lackey.gz:4: byte 23: this is not a line of a lackey trace"),
    ("t.lackey", LACKEY_TEXT + b" L 10\n", r"t.lackey:4: byte 23: this is not a line"),
    ("t.lackey", LACKEY_TEXT + b" L -10,8\n", r"t.lackey:4: byte 23: this is not a line"),
    ("t.lackey", LACKEY_TEXT + b"\0\0\0\n", r"t.lackey:4: byte 23: this is not a line"),
    (
        "t.lackey",
        LACKEY_TEXT + b"the program's own words\n",
        r"t.lackey:4: byte 23: this is not a line.*got \"the program's own words\"",
    ),
    ("t.din", b"0 10\n\n0 -5\n", r"t.din:3: byte 6: this is not a line of a din trace, got '0 -5'"),
    ("t.din", b"0 10\n3 5\n", r"t.din:2: byte 5: this label is no read, write or instruction fetch, got '3 5'"),
    ("t.din", b"v 5 4\n", r"t.din:1: byte 0: this label is no read"),
    ("t.din", b"0 10\n9 5\n", r"t.din:2: byte 5: this is not a line of a din trace"),
    # too large
    (
        "t.lackey",
        b" L ffffffffffffffff,8\n L 10000000000000000,8\n",
        r"t.lackey:2: byte 22: this address is too large, got .* \(allowed: 0 to ffffffffffffffff\)",
    ),
    ("t.din", b"0 10000000000000000\n", r"t.din:1: byte 0: this address is too large"),
    # not addresses
    ("t.npy", npy([1, 2, -3]), rf"t.npy: byte {START + 16}: entry 2 is negative, got -3"),
    ("t.npy.gz", npy([1, 2, -3]), rf"t.npy.gz: byte {START + 16}: entry 2 is negative, got -3"),
    ("t.npy", npy([1.0]), r"t.npy: an array of a trace must contain integers, got 'float64'"),
    ("t.npy", npy([True]), r"t.npy: an array of a trace must contain integers, got 'bool'"),
    ("t.npy", npy(np.array([None])), r"t.npy: an array of a trace must contain integers, got 'object'"),
    (
        "t.npy",
        npy([[1, 2], [3, 4]]),
        r"t.npy: an array of a trace must have one dimension, got \(2, 2\) \(allowed: one dimension\)",
    ),
    ("t.npy", npy(5), r"t.npy: an array of a trace must have one dimension, got \(\)"),
    # empty
    *(
        (f"t{suffix}{compression}", b"", r"holds no access|no header of a .npy")
        for suffix in (".npy", ".u64", ".din", ".lackey", ".txt", "")
        for compression in COMPRESS
    ),
    ("t.npy", npy(np.empty(0, np.uint64)), "t.npy: the trace is empty: it holds no access"),
    ("t.txt", b"==1== only messages\n", "t.txt: the trace is empty"),
    ("t.lackey", b"I  10,3\nI  13,2\n", "t.lackey: the trace is empty"),
    # unknown
    (
        "t.txt",
        b"some words\n",
        r"t.txt: the format of the trace is unknown, got b'some words\\n' \(allowed: format=npy|npz",
    ),
    ("t", bytes(64), "t: the format of the trace is unknown"),
    ("t.zst", b"\x28\xb5\x2f\xfd0123456789", "t.zst: the format of the trace is unknown"),
    ("t.npz.gz", b"PK\x03\x04", "t.npz.gz: a .npz file is compressed in itself"),
]


@pytest.mark.parametrize(("name", "data", "says"), BAD)
def test_bad_files_are_refused_with_their_place(name: str, data: bytes, says: str) -> None:
    with written(data, name) as path, pytest.raises(InputError, match=says):
        read_all(open_trace(path))


@pytest.mark.parametrize("compression", [".gz", ".xz", ".bz2"])
@given(count=st.integers(1, 3000), cut=st.floats(0.0, 1.0, exclude_max=True))
@settings(deadline=None, max_examples=examples(20))
def test_a_compressed_file_that_is_cut_off(compression: str, count: int, cut: float) -> None:
    """It tells how much there was to read, which is a beginning of the text, in the line after those that are whole."""
    rng = np.random.default_rng(count)
    text = lackey_text([("L", int(address)) for address in rng.integers(0, 2**63, count)])
    whole = COMPRESS[compression](text)
    keep = 2 + int(cut * (len(whole) - 2))
    with written(b"", "t.lackey") as plain, set_to(BLOCK_BYTES=4096):
        path = plain.with_name(f"t.lackey{compression}")
        path.write_bytes(whole[:keep])
        with pytest.raises(InputError, match="the compressed file is cut off") as caught:
            read_all(open_trace(path))
    place = re.match(rf".*t\.lackey{compression}(?::(\d+))?: byte (\d+): ", str(caught.value))
    assert place
    offset = int(place[2])
    assert 0 <= offset <= len(text)
    assert place[1] is None or int(place[1]) == 1 + text.count(b"\n", 0, offset)


@pytest.mark.parametrize("compression", [".gz", ".xz", ".bz2"])
@pytest.mark.parametrize("suffix", [".npy", ".u64", ".din"])
def test_a_compressed_file_that_is_corrupt(tmp_path: Path, compression: str, suffix: str) -> None:
    values = np.random.default_rng(1).integers(0, 2**63, 5000)
    data = {".npy": npy(values), ".u64": values.tobytes(), ".din": din_text([("L", int(v)) for v in values])}[suffix]
    whole = bytearray(COMPRESS[compression](data))
    middle = len(whole) // 2
    whole[middle : middle + 40] = bytes(40)
    path = tmp_path / f"t{suffix}{compression}"
    path.write_bytes(whole)
    with pytest.raises(
        InputError, match=r"byte \d+: (the compressed file is|this is not a line|this address is too large)"
    ):
        read_all(open_trace(path))


def test_a_file_that_is_not_compressed_as_its_suffix_says(tmp_path: Path) -> None:
    for suffix in COMPRESS:
        if suffix:
            path = tmp_path / f"t.din{suffix}"
            path.write_bytes(b"0 10\n")
            with pytest.raises(
                InputError, match=rf"byte 0: the file is not compressed as its suffix {suffix} suggests"
            ):
                open_trace(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path, says in (
        (tmp_path, "it is a folder"),
        (tmp_path / "none.npy", "No such file"),
        (Path("/dev/null"), "it is a device"),
    ):
        with pytest.raises(InputError, match=says):
            open_trace(path)


def test_formats_and_instructions_that_do_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "t.u64"
    path.write_bytes(bytes(8))
    with pytest.raises(InputError, match=r"no such format of traces, got 'lacky': did you mean 'lackey'"):
        open_trace(path, "lacky")
    with pytest.raises(InputError, match="a trace in format raw names no instructions fetched"):
        open_trace(path, instructions=True)
    with pytest.raises(InputError, match="got 0"):
        list(open_trace(path).chunks(0))


def test_text_without_lines_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.din"
    path.write_bytes(b"0" * 1000)
    with set_to(BLOCK_BYTES=64), pytest.raises(InputError, match=r"t.din:1: byte 0: no line ends within"):
        read_all(open_trace(path))


def test_bad_npz_files(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"

    def refused(says: str) -> None:
        with pytest.raises(InputError, match=says):
            read_all(open_trace(path))

    path.write_bytes(b"")
    refused("t.npz: byte 0: this is no whole .npz file")
    np.savez(path, kind=np.zeros(3, np.uint8))
    refused(r"the file has no array of addresses, got \['kind.npy'\]")
    np.savez(path, address=np.arange(3), kind=np.zeros(2, np.uint8))
    refused("the arrays of a trace have different lengths, got {'address': 3, 'kind': 2}")
    np.savez(path, address=np.empty(0, np.uint64))
    refused("the trace is empty")
    np.savez(path, address=np.arange(3), kind=np.full(3, 9, np.uint8))
    refused("t.npz: kind: entry 0 is not a kind of access, got 9")
    np.savez(path, address=-np.arange(3))
    refused("t.npz: address: entry 1 is negative")
    np.savez(path, address=np.arange(3.0))
    refused("t.npz: address: an array of a trace must contain integers")
    np.savez(path, address=np.arange(100_000, dtype=np.uint64))
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    refused("no whole .npz file")
    path.write_bytes(whole[:4000] + b"xyz" + whole[4003:])
    refused(r"t.npz: address: byte \d+: the compressed file is corrupt.*CRC")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("address.npy", npy(np.arange(3))[:-8])
    refused("t.npz: address: byte 144: the array is cut off after 2 of 3 entries")


def a_npz() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, address=np.arange(50, dtype=np.uint64), kind=np.zeros(50, np.uint8))
    return file.getvalue()


GOOD = {
    ".npy": npy(np.arange(20)),
    ".npz": a_npz(),
    ".u64": bytes(64),
    ".din": b"2 4\n0 10\n" * 9,
    ".lackey": LACKEY_TEXT * 4,
    "": b"",
}


@given(
    st.sampled_from(list(GOOD)),
    st.sampled_from(list(COMPRESS)),
    st.integers(0, 400),
    st.integers(0, 3),
    st.binary(max_size=12),
)
@settings(deadline=None, max_examples=examples(200))
def test_damage_of_any_kind_is_an_input_error_or_harmless(
    suffix: str, compression: str, at: int, drop: int, put: bytes
) -> None:
    whole = COMPRESS[compression](GOOD[suffix])
    with written(b"", f"empty{suffix}") as folder:
        path = folder.with_name(f"t{suffix}{compression}")
        path.write_bytes(whole[:at] + put + whole[at + drop * len(put) :])
        try:
            read_all(open_trace(path))
        except InputError as error:
            assert str(path) in str(error)  # noqa: PT017
