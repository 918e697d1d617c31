"""Measurements from files: ``read_measurements(path)`` finds out what a file is, and reads it.

| format | holds | suffixes |
|---|---|---|
| text | Extra-P's text: PARAMETER, POINTS, METRIC, REGION, DATA | .txt |
| json | Extra-P's JSON, new and old | .json |
| jsonlines | one JSON object a line, with ``params`` and ``value`` | .jsonl .ndjson |
| talpas | the same with ``parameters``, and ``;`` for ``,`` | .txt |
| csv | a tidy table: parameters, region, metric, value, repetition | .csv .tsv |
| parquet | the same table; needs pyarrow | .parquet .pq |
| cube | a folder of Score-P's runs; needs pycubexr (extra ``cube``) | a folder |

What a file begins with counts for more than its suffix.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.cube import PROFILE, read_cube
from simcodesign.fitting.readers.extrap_json import read_extrap_json
from simcodesign.fitting.readers.extrap_text import KEYWORDS, read_extrap_text
from simcodesign.fitting.readers.json_lines import read_json_lines, read_talpas
from simcodesign.fitting.readers.table import DELIMITERS, VALUE, read_csv, read_parquet

TEXT, JSON, JSON_LINES, TALPAS = "text", "json", "jsonlines", "talpas"
CSV, PARQUET, CUBE = "csv", "parquet", "cube"


class Reader(Protocol):
    """What reads one format."""

    def __call__(self, path: Path, partial: bool = ...) -> Measurements: ...


READERS: dict[str, Reader] = {
    TEXT: read_extrap_text,
    JSON: read_extrap_json,
    JSON_LINES: read_json_lines,
    TALPAS: read_talpas,
    CSV: read_csv,
    PARQUET: read_parquet,
    CUBE: read_cube,
}
FORMATS = tuple(READERS)
SUFFIXES = {
    ".json": JSON,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".csv": CSV,
    ".tsv": CSV,
    ".parquet": PARQUET,
    ".pq": PARQUET,
}
PARQUET_BYTES = b"PAR1"
LOOKED_AT_BYTES = 1 << 16


def read_measurements(path: str | Path, format: str | None = None, *, partial: bool | None = None) -> Measurements:
    """The measurements in a file, or in a folder of Score-P's runs; ``format`` is one of ``FORMATS``, None to find out.

    ``partial``: whether a series may lack points that others have (NaN in ``values``). By default only a folder of
    runs may, as call trees differ; elsewhere a point that is missing is an error that names it.
    Raises InputError naming file and line (or byte, or path of keys): see the modules of the formats.
    """
    path = Path(path)
    if format is not None and format not in READERS:
        raise InputError(
            "no such format of measurements", Place(str(path)), value=format, allowed=nearest(format, FORMATS)
        )
    if not path.exists():
        raise InputError("no such file", Place(str(path)))
    found = format or guessed_format(path)
    if (found == CUBE) != path.is_dir():
        what = "a folder, where a file is needed" if path.is_dir() else "a file, where a folder of runs is needed"
        raise InputError(what, Place(str(path)), allowed=f"format {CUBE} for a folder of Score-P's runs, only")
    if found != CUBE and not first_bytes(path).strip():
        raise InputError("the file is empty", Place(str(path)), allowed=f"measurements: {', '.join(FORMATS)}")
    if partial is None:
        return READERS[found](path)
    return READERS[found](path, partial)


def guessed_format(path: Path) -> str:
    """The format that a file's first bytes show, or its suffix. Raises InputError where neither tells."""
    if path.is_dir():
        return CUBE
    suffix = path.suffix.lower()
    if suffix == ".cubex":
        raise InputError(
            "one Cube file", Place(str(path)), allowed=f"the folder with a folder for each run ({PROFILE})"
        )
    start = first_bytes(path)
    if start.startswith(PARQUET_BYTES):
        return PARQUET
    text = start.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").lstrip()
    if text.startswith("{") and suffix not in (".csv", ".tsv"):
        return json_format(text, suffix)
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]
    if any(line.split(None, 1)[0] in KEYWORDS for line in lines[:1]) or not text or suffix == ".txt":
        return TEXT
    if any(VALUE in map(clean, lines[0].split(delimiter)) for delimiter in DELIMITERS if lines):
        return CSV
    raise InputError(
        "a file of no known format",
        Place(str(path), 1),
        value=text[:40],
        allowed=f"one of {', '.join(FORMATS)}; --format (format=) names it",
    )


def json_format(text: str, suffix: str) -> str:
    """Which format that begins with an object this is: one object a line, or one for the whole file."""
    line = text.splitlines()[0].rstrip()
    if '"parameters"' in line and ";" in line and '"measurements"' not in line:
        return TALPAS
    if '"params"' in line and line.endswith("}"):
        return JSON_LINES
    return SUFFIXES.get(suffix, JSON)


def clean(name: str) -> str:
    return name.strip().strip('"').lower()


def first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LOOKED_AT_BYTES)
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror or error}", Place(str(path))) from None
