"""Histograms of stack distances in files: JSON and CSV for people and other programs, NPZ for millions of distances.

All three bring back every count to the last bit: decimal numbers are written in the shortest form that reads back as
the same float64. A CSV file reads

    # simcodesign stack distances, line_bytes = 64, rows = 2
    distance,count
    -1,3300.0
    0,210617.0

where distance -1 means first touches; without comments, keys are lines of 64 bytes. Any table in CSV with these
two columns is read (``text_files.CsvRows``).
"""

from __future__ import annotations

import io
import json
import lzma
import re
import struct
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.atomic_files import replacing
from simcodesign.core.files.input_files import DATA_BYTES, check_size, open_bytes, read_text
from simcodesign.core.files.text_files import CsvRows
from simcodesign.locality.cache import line_size

FORMAT = 1
LINE_BYTES = 64
_HEADERS = ("distance,count", "sd,count")
_FIELDS = ("format", "line_bytes", "cold", "distance", "count")
_LINE_BYTES = re.compile(r"line_bytes\s*=\s*([^\s,]+)")
_ROWS = re.compile(r"rows\s*=\s*([^\s,]+)")
_MOST = 2**62
#: Exceptions when reading an archive that is broken, encrypted, or of an unknown compression.
_BROKEN_ARCHIVE = (
    *(ValueError, EOFError, KeyError, NotImplementedError, RuntimeError, MemoryError, OSError),
    *(zipfile.BadZipFile, zlib.error, struct.error, lzma.LZMAError),
)
T = TypeVar("T", int, float)
F = TypeVar("F")


class Histogram(NamedTuple):
    """Checked contents of a file: (k,) distances, strictly ascending, and their counts, finite and not negative."""

    distance: NDArray[np.int64]
    counts: NDArray[np.float64]
    cold: float
    line_bytes: int


def write_histogram(
    path: Path, distance: NDArray[np.int64], count: NDArray[np.float64], cold: float, line_bytes: int
) -> None:
    """Written whole or not at all, in the format of the suffix. InputError if that cannot be done."""
    histogram = Histogram(distance, count, cold, line_bytes)
    write = _format(path, _WRITERS)
    with replacing(path) as file:
        write(file, histogram)


def read_histogram(path: Path) -> Histogram:
    """Return the histogram of a file. InputError names the file and, inside it, line or entry of what is wrong."""
    return _format(path, _READERS)(path)


def _write_json(file: BinaryIO, histogram: Histogram) -> None:
    distance, count = histogram.distance.tolist(), histogram.counts.tolist()
    fields = dict(zip(_FIELDS, (FORMAT, histogram.line_bytes, histogram.cold, distance, count), strict=True))
    file.write((json.dumps(fields) + "\n").encode())


def _write_csv(file: BinaryIO, histogram: Histogram) -> None:
    rows = zip(histogram.distance.tolist(), histogram.counts.tolist(), strict=True)
    notes = f"line_bytes = {histogram.line_bytes}, rows = {len(histogram.distance) + 1}"
    head = f"# simcodesign stack distances, {notes}\n{_HEADERS[0]}\n"
    file.write(f"{head}-1,{histogram.cold!r}\n".encode())
    file.writelines(f"{distance},{count!r}\n".encode() for distance, count in rows)


def _write_npz(file: BinaryIO, histogram: Histogram) -> None:
    np.savez_compressed(
        file,
        format=np.int64(FORMAT),
        line_bytes=np.int64(histogram.line_bytes),
        cold=np.float64(histogram.cold),
        distance=histogram.distance,
        count=histogram.counts,
    )


def _read_json(path: Path) -> Histogram:
    try:
        fields = json.loads(read_text(path))
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(f"the file is not JSON: {error.msg}", Place(str(path), error.lineno)) from None
    except (RecursionError, ValueError) as error:  # such as bytes that are no UTF-8, or a number of 5,000 digits
        raise InputError(f"the file is not JSON: {error}", Place(str(path))) from None
    _check_fields(path, list(fields) if isinstance(fields, dict) else [])
    for name in ("distance", "count"):
        if not isinstance(fields[name], list):
            raise InputError(
                "this field must be a list", Place(str(path), path=name), value=fields[name], allowed="[...]"
            )
    _check_format(path, fields["format"])

    def where(name: str) -> Callable[[int], Place]:
        return lambda index: Place(str(path), path=f"{name}[{index}]")

    distance = np.array(_converted(fields["distance"], int, 0, where("distance")), np.int64)
    count = np.array(_converted(fields["count"], float, 0, where("count")), np.float64)
    (cold,) = _converted([fields["cold"]], float, 0, lambda _: Place(str(path), path="cold"))
    line_bytes = line_size(fields["line_bytes"], Place(str(path), path="line_bytes"))
    return _ordered(Histogram(distance, count, cold, line_bytes), where("distance"))


def _read_csv(path: Path) -> Histogram:
    """Rows of distance and count below a head; comments above it may say ``line_bytes = ...`` and ``rows = ...``."""
    text = read_text(path)
    table = CsvRows(io.StringIO(text), str(path))
    rows = iter(table)
    head, titles = next(rows, (1, [""]))
    if ",".join(title.strip().lower() for title in titles) not in _HEADERS:
        raise InputError(
            "a profile's table begins with an unknown head",
            Place(str(path), head),
            value=",".join(titles),
            allowed=_HEADERS[0],
        )
    line_bytes, said = _said_above(table.comments)
    lines = text.splitlines()
    histogram = _table(lines[head:], rows, table.delimiter, path, head)
    if said is not None and (said != len(histogram.counts) or not text.endswith("\n")):
        what = f"the table is cut off or added to: {len(histogram.counts)} rows"
        raise InputError(what, Place(str(path), len(lines)), allowed=f"{said} whole rows")
    return _without_cold(histogram, line_bytes)


def _said_above(comments: Iterable[tuple[str, Place]]) -> tuple[int, int | str | None]:
    """Return the bytes of a line and the number of rows that comments state."""
    rows: int | str | None = None
    line_bytes = LINE_BYTES
    for comment, place in comments:
        if match := _LINE_BYTES.search(comment):
            line_bytes = line_size(_parsed(int, match[1]), Place(place.file, place.line, "line_bytes"))
        if match := _ROWS.search(comment):
            rows = _parsed(int, match[1])
    return line_bytes, rows


def _table(lines: list[str], rows: Iterable[tuple[int, list[str]]], delimiter: str, path: Path, head: int) -> Histogram:
    """Return the rows as they are, with distance -1 for first touches."""
    fast = _read_fast(lines) if delimiter == "," else None
    if fast is not None:
        numbers = range(head + 1, head + 1 + len(lines))
    else:
        cells = [(line, [cell.strip() for cell in row]) for line, row in rows]
        numbers = [line for line, _ in cells]  # type: ignore[assignment] # whole numbers, too

    def where(index: int) -> Place:
        return Place(str(path), numbers[index] if index < len(numbers) else None)

    if fast is not None:
        _check_range(fast.distance, _MOST, where, least=-1)
        _check_range(fast.counts, sys.float_info.max, where)
        return _ordered(fast, where)
    short = next((index for index, (_, row) in enumerate(cells) if len(row) != 2), None)
    if short is not None:
        raise InputError(
            "this row is no row of a profile", where(short), value=delimiter.join(cells[short][1]), allowed=_HEADERS[0]
        )
    distance = _converted([_parsed(int, row[0]) for _, row in cells], int, -1, where)
    count = _converted([_parsed(float, row[1]) for _, row in cells], float, 0, where)
    return _ordered(Histogram(np.array(distance, np.int64), np.array(count, np.float64), 0.0, LINE_BYTES), where)


def _read_fast(lines: list[str]) -> Histogram | None:
    """Read all rows together, twenty times as fast; None if one is odd, so that it has to be found."""
    row = np.dtype([("distance", np.int64), ("count", np.float64)])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = np.loadtxt(lines, row, delimiter=",", comments=None, ndmin=1)
    except (ValueError, Warning):
        return None
    if len(table) != len(lines):  # empty lines are left out
        return None
    return Histogram(table["distance"].copy(), table["count"].copy(), 0.0, LINE_BYTES)


def _without_cold(table: Histogram, line_bytes: int) -> Histogram:
    """Separate first touches, which may be the first row of a table."""
    cold = int(len(table.distance) > 0 and table.distance[0] < 0)
    return Histogram(table.distance[cold:], table.counts[cold:], float(table.counts[:cold].sum()), line_bytes)


def _read_npz(path: Path) -> Histogram:
    def where(name: str) -> Callable[[int], Place]:
        return lambda index: Place(str(path), path=f"{name}[{index}]")

    arrays = _arrays(path)
    _check_fields(path, arrays)
    kinds = {"format": "i0", "line_bytes": "i0", "cold": "f0", "distance": "i1", "count": "f1"}
    for name, array in arrays.items():
        if f"{array.dtype.kind}{array.ndim}" != kinds[name] or array.dtype.itemsize != 8:
            what = f"an array has the type {array.dtype} and the shape {array.shape}"
            raise InputError(what, Place(str(path), path=name), allowed="what a saved profile has")
    _check_format(path, arrays["format"].item())
    _check_range(arrays["distance"], _MOST, where("distance"))
    _check_range(arrays["count"], sys.float_info.max, where("count"))
    _check_range(arrays["cold"].reshape(1), sys.float_info.max, lambda _: Place(str(path), path="cold"))
    line_bytes = line_size(arrays["line_bytes"].item(), Place(str(path), path="line_bytes"))
    return _ordered(
        Histogram(arrays["distance"], arrays["count"], arrays["cold"].item(), line_bytes), where("distance")
    )


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an NPZ file. InputError unless it is one."""
    name = ""
    with open_bytes(path) as file:
        if not zipfile.is_zipfile(file):
            raise InputError("this is not an NPZ file", Place(str(path)), allowed="what a saved profile has")
        try:
            with zipfile.ZipFile(file) as archive:
                unpacked_bytes = sum(member.file_size for member in archive.infolist())
            check_size(unpacked_bytes, DATA_BYTES, Place(str(path)), "what the file unpacks to")
            file.seek(0)
            arrays = {}
            with np.load(file, allow_pickle=False) as loaded:
                for name in loaded.files:
                    arrays[name] = np.asarray(loaded[name])
            return arrays
        except InputError:
            raise
        except _BROKEN_ARCHIVE as error:
            raise InputError(f"the NPZ file is broken: {error}", Place(str(path), path=name)) from None


def _check_fields(path: Path, names: Iterable[str]) -> None:
    """Raise InputError unless the file has exactly the fields of this format."""
    if sorted(names) != sorted(_FIELDS):
        raise InputError(
            "a saved profile needs exactly its fields",
            Place(str(path)),
            value=sorted(names),
            allowed=", ".join(_FIELDS),
        )


def _check_format(path: Path, number: object) -> None:
    if type(number) is not int or number != FORMAT:
        raise InputError(
            "this version of the format of profiles is unknown",
            Place(str(path), path="format"),
            value=number,
            allowed=str(FORMAT),
        )


def _check_range(array: NDArray[Any], most: float, where: Callable[[int], Place], least: int = 0) -> None:
    """InputError for the first element that is not from ``least`` to ``most``, NaN among them."""
    bad = np.flatnonzero(~((array >= least) & (array <= most)))
    if len(bad):
        value = array[bad[0]].item()
        raise InputError(
            "this number is out of range", where(int(bad[0])), value=value, allowed=f"{least} to {most:.4g}"
        )


def _converted(values: list[Any], kind: type[T], least: int, where: Callable[[int], Place]) -> list[T]:
    """Return the values as ``kind``. InputError for the first that is no such number, below ``least`` or too large."""
    most = _MOST if kind is int else sys.float_info.max
    kinds = (int,) if kind is int else (int, float)
    for index, value in enumerate(values):
        if type(value) not in kinds or not least <= value <= most:  # NaN is not, either
            what = "a whole number" if kind is int else "a finite number"
            raise InputError(
                "this entry is not a number in range", where(index), value=value, allowed=f"{what} of {least} or more"
            )
    return [kind(value) for value in values]


def _parsed(kind: type[T], text: str) -> T | str:
    """Return the number, or the text if it is none."""
    try:
        return kind(text)
    except ValueError:
        return text


def _ordered(histogram: Histogram, where: Callable[[int], Place]) -> Histogram:
    """Return the histogram. InputError unless there are as many counts as distances, and these strictly ascend."""
    sizes = (len(histogram.distance), len(histogram.counts))
    if sizes[0] != sizes[1]:
        what = "a profile needs one count for each distance"
        raise InputError(what, where(min(sizes)), value=sizes, allowed="equal numbers")
    falls = np.flatnonzero(np.diff(histogram.distance) <= 0)
    if len(falls):
        value = int(histogram.distance[falls[0] + 1])
        what = "a distance is not above the previous distance"
        raise InputError(what, where(int(falls[0]) + 1), value=value, allowed="ascending distances")
    return histogram


def _format(path: Path, functions: dict[str, F]) -> F:
    """Return the function for files of this suffix. InputError for other suffixes."""
    if path.suffix.lower() not in functions:
        raise InputError(
            "a profile cannot have this suffix", Place(str(path)), value=path.suffix, allowed=", ".join(functions)
        )
    return functions[path.suffix.lower()]


_WRITERS: dict[str, Callable[[BinaryIO, Histogram], None]] = {
    ".json": _write_json,
    ".csv": _write_csv,
    ".npz": _write_npz,
}
_READERS: dict[str, Callable[[Path], Histogram]] = {".json": _read_json, ".csv": _read_csv, ".npz": _read_npz}
