"""Caliper's own files: ``.cali``, read by the optional package caliper-reader, and JSON in its ``json-split`` format.

Both hold records of a run: a path of regions, times by the name of their aggregation, and the rank, if the records of
the ranks are not aggregated. The metadata of a time may give its unit. The description of the whole run is stored with
them. JSON: ``columns`` and ``column_metadata`` of the rows of ``data``, whose paths are places in ``nodes``, each with
a ``label`` and its ``parent``. Source: documentation of Caliper (OutputFormats, the .cali file format).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.text_files import NUMBER

PATH, RANK, P = "path", "rank", "P"
UNITS = {
    name: seconds
    for names, seconds in (("s sec", 1.0), ("ms msec", 1e-3), ("us usec µs", 1e-6), ("ns nsec", 1e-9))
    for name in names.split()
}
DURATION = "time.duration"
MAX_DEPTH = 1000
_RANKS = ("mpi.rank", "rank")
_SIZES = ("mpi.world.size", "jobsize")
#: Descriptions of a run that are no conditions of the measurement.
_NOT_VARIED = ("launchdate", "launchday", "elapsed_time", "figure_of_merit", "version", "compilerversion", "jobid")


@dataclass(frozen=True)
class Profile:
    """The records of a run as cells by column: ``path``, ``rank``, times, and numbers that describe the run."""

    titles: tuple[str, ...]
    records: tuple[dict[str, str], ...]
    units: Mapping[str, float]


def read_cali(path: Path, text: str) -> Profile:
    """Read a ``.cali`` file. Raises InputError if caliper-reader is not installed or cannot read it."""
    try:
        from caliperreader import CaliperReader  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        what = "reading .cali files needs the package caliper-reader, which is not installed"
        allowed = 'pip install "simcodesign[caliper]"; or JSON of cali-query -j'
        raise InputError(what, Place(str(path)), allowed=allowed) from None
    reader = CaliperReader()
    try:
        reader.read(text.splitlines())
        names = [name for name in reader.attributes() if DURATION in name]
        units = {name: str(reader.attribute(name).metadata().get("attribute.unit", "")) for name in names}
    except Exception as error:  # whatever a damaged file makes the package raise
        reason = str(error) or type(error).__name__
        raise InputError(f"the Caliper file cannot be read: {reason}", Place(str(path))) from None
    return _profile(reader.records, reader.globals, units)


def read_json_split(path: Path, text: str) -> Profile:
    """Read the JSON of Caliper. Raises InputError for other JSON."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", Place(str(path))) from None
    try:
        columns = [str(name) for name in content["columns"]]
        nodes = [(str(node["label"]), node.get("parent")) for node in content["nodes"]]
        units = {
            name: str(metadata.get("attribute.unit", ""))
            for name, metadata in zip(columns, content["column_metadata"], strict=True)
            if DURATION in name
        }
        refers = [not metadata["is_value"] for metadata in content["column_metadata"]]
        records = [_cells(row, columns, refers, nodes) for row in content["data"]]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        what = f"not the JSON of Caliper ({type(error).__name__}: {error})"
        allowed = "columns, column_metadata, nodes and data, as cali-query -j writes them"
        raise InputError(what, Place(str(path)), allowed=allowed) from None
    known = ("data", "columns", "column_metadata", "nodes")
    return _profile(records, {name: value for name, value in content.items() if name not in known}, units)


def _cells(
    row: Sequence[Any], columns: Sequence[str], refers: Sequence[bool], nodes: Sequence[tuple[str, int | None]]
) -> dict[str, Any]:
    """Return the cells of a row; a reference to a node is the list of labels from the root."""
    cells = dict(zip(columns, row, strict=True))
    for name, is_node in zip(columns, refers, strict=True):
        if is_node and cells[name] is not None:
            place, labels = cells[name], list[str]()
            while place is not None:
                if len(labels) > MAX_DEPTH:
                    raise ValueError(f"a path of more than {MAX_DEPTH} regions")
                label, place = nodes[place]
                labels.append(label)
            cells[name] = labels[::-1]
    return {name: cell for name, cell in cells.items() if cell is not None}


def _profile(records: Iterable[Mapping[str, Any]], run: Mapping[str, Any], units: Mapping[str, str]) -> Profile:
    """Return the records with what is used of them, and the numbers that describe the run."""
    kept = []
    for record in records:
        cells = {name: str(value) for name, value in record.items() if name in units}
        regions = record.get(PATH, [])
        cells[PATH] = "->".join(map(str, regions if isinstance(regions, list) else [regions]))
        cells[RANK] = next((str(record[name]) for name in _RANKS if name in record), "")
        kept.append(cells)
    described = _described(run)
    ranks = {cells[RANK] for cells in kept} - {""}
    if ranks:
        described = {P: str(len(ranks)), **described}
    titles = (PATH, RANK, *units, *described)
    rows = tuple({title: cells.get(title, "") for title in titles} | described for cells in kept)
    return Profile(titles, rows, {name: UNITS[unit] for name, unit in units.items() if unit in UNITS})


def _described(run: Mapping[str, Any]) -> dict[str, str]:
    """Numbers that describe a run: the number of ranks first."""
    texts = {name: str(value) for name, value in run.items() if NUMBER.fullmatch(str(value))}
    size = next(({P: texts[name]} for name in _SIZES if name in texts), {})
    left_out = (*_SIZES, *_NOT_VARIED)
    rest = {
        name: text for name, text in texts.items() if name not in left_out and not name.startswith(("cali.", "spot."))
    }
    return {**size, **rest}


def is_cali(text: str) -> bool:
    """Whether a text begins as a ``.cali`` file does."""
    return text.startswith("__rec=")


def is_json_split(text: str) -> bool:
    """Whether a text begins as the JSON of Caliper does."""
    start = "".join(text[:400].split())
    return start.startswith(('{"data":[[', '{"data":[]', '{"columns":[', '{"column_metadata":[', '{"nodes":['))
