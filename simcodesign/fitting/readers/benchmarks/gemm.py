"""Products of matrices: tables of ``m, n, k`` and the time or the rate of each product.

With titles, the columns are ``m``, ``n``, ``k``, one of ``seconds``, ``ms``, ``us``, ``tflops``, and optionally the
number format, ``type``. Without titles, they are m, n, k, the time with its unit, and perhaps the rate, which follows
from the time: ``64, 12288, 12288, 0.19 ms, 101.7 Tflops`` (LLMCompass, ISCA 2024, ``ae/figure5``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import CsvRows, check_width, number
from simcodesign.core.units import parse_quantity
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark
from simcodesign.fitting.readers.benchmarks.output.text import numbered_lines, text_of

OPERATION = "gemm"
SIZES = ("m", "n", "k")
#: Titles of columns of times, in seconds; and of the rate, in FLOP/s.
TIMES = {"seconds": 1.0, "ms": 1e-3, "us": 1e-6}
RATE, RATE_UNIT = "tflops", 1e12
TYPE = "type"
#: A row of a table without titles.
_UNTITLED = re.compile(r"\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*([\d.eE+-]+\s*[num]?s)\s*(,.*)?")


def read_gemm(path: Path) -> BenchmarkTable:
    """Read a row for each product. Raises InputError naming line and column for what cannot be read."""
    text = text_of(path)
    rows = _untitled(path) if _UNTITLED.match(text.lstrip()) else _titled(text, path)
    return BenchmarkTable(str(path), OPERATION, tuple(rows))


def _untitled(path: Path) -> list[BenchmarkRow]:
    rows = []
    for line, text in numbered_lines(path, OPERATION):
        if not text.strip():
            continue
        place, found = Place(str(path), line), _UNTITLED.fullmatch(text.strip())
        if found is None:
            raise InputError("not a product of matrices", place, value=text, allowed="m, n, k, TIME with its unit")
        sizes = dict(zip(SIZES, map(float, found.group(1, 2, 3)), strict=True))
        rows.append(_row(sizes, parse_quantity(found[4], "time", place), "", line))
    return rows


def _titled(text: str, path: Path) -> list[BenchmarkRow]:
    rows, titles, table = [], list[str](), CsvRows(text.splitlines(keepends=True), str(path))
    for line, cells in table:
        if not titles:
            titles = [cell.strip().lower() for cell in cells]
            _check_titles(titles, Place(str(path), line))
            continue
        check_width(cells, titles, Place(str(path), line), table.delimiter)
        rows.append(_of_cells(dict(zip(titles, cells, strict=True)), str(path), line))
    return rows


def _check_titles(titles: list[str], place: Place) -> None:
    is_known = all(name in titles for name in SIZES) and any(name in titles for name in (*TIMES, RATE))
    if not is_known:
        allowed = f"{', '.join(SIZES)}, and one of {', '.join((*TIMES, RATE))}"
        raise InputError("columns are missing", place, value=titles, allowed=allowed)


def _of_cells(cells: Mapping[str, str], file: str, line: int) -> BenchmarkRow:
    def value(name: str) -> float:
        return number(cells[name].strip(), Place(file, line, f"column {name}"))

    sizes = {name: value(name) for name in SIZES}
    title = next((name for name in TIMES if name in cells), None)
    if title is not None:
        seconds = value(title) * TIMES[title]
    elif not (rate := value(RATE)) > 0:
        raise InputError("a rate", Place(file, line, f"column {RATE}"), value=rate, allowed="above 0")
    else:
        seconds = 2 * sizes["m"] * sizes["n"] * sizes["k"] / (rate * RATE_UNIT)
    return _row(sizes, seconds, cells.get(TYPE, "").strip(), line)


def _row(sizes: Mapping[str, float], seconds: float, number_format: str, line: int) -> BenchmarkRow:
    labels = {TYPE: number_format} if number_format else {}
    return BenchmarkRow(OPERATION, "time", seconds, line, "computation", dict(sizes), labels)


def _sniff(start: FileStart) -> Match:
    """Titles of sizes and times, or a first row of three sizes and a time."""
    first = next((line for line in start.lines if line.strip() and not line.startswith("#")), "")
    titles = [cell.strip().lower() for cell in re.split(r"[,;\t]", first)]
    is_titled = all(name in titles for name in SIZES) and any(name in titles for name in (*TIMES, RATE))
    return Match.CERTAIN if is_titled or _UNTITLED.fullmatch(first) else Match.NONE


add_benchmark(OPERATION, read_gemm, _sniff)
