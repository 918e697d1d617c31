"""Files of one measurement a line: JSON lines and Talpas.

JSON lines: ``{"params": {"p": 16}, "value": 1.2, "callpath": "main", "metric": "time"}``. The value may be a list of
repetitions; without a callpath the region is ``<root>``, without a metric the metric is ``<default>``. Talpas calls
the parameters ``parameters`` and has ``;`` where JSON has ``,`` (within the parameters either). The first line fixes
the order of the parameters; lines that repeat region, metric and point are repetitions; other keys are passed over.
"""

from __future__ import annotations

import json
import re
from array import array
from dataclasses import dataclass, field
from itertools import chain, islice
from math import isfinite
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import lines
from simcodesign.fitting.measurements import Measurements, check_parameters
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.json_parts import (
    JsonError,
    Pairs,
    checked_object,
    decoded,
    decoder,
    finite,
    step,
    text_of,
)
from simcodesign.fitting.readers.rows import CHUNK_ROWS, Rows, check_coordinate, pair

ROOT, DEFAULT = "<root>", "<default>"
LINES_AT_ONCE = 1 << 10
STRINGS = re.compile(r'("(?:[^"\\]|\\.)*")')


@dataclass
class LineReader:
    """The rows read so far, and the parameters as the first line named them."""

    rows: Rows
    key: str
    semicolons: bool = False
    parser: json.JSONDecoder = field(default_factory=lambda: decoder(strict_object))
    quick_parser: json.JSONDecoder = field(default_factory=decoder)
    parameters: tuple[str, ...] = ()
    pairs: array[int] = field(default_factory=lambda: array("q"))
    points: array[int] = field(default_factory=lambda: array("i"))
    values: array[float] = field(default_factory=lambda: array("d"))

    def add(self, numbered: list[tuple[int, str]]) -> None:
        """Add some lines. Raises InputError naming the first that is wrong."""
        if not self.quick([text for _, text in numbered]):
            for line, text in numbered:
                plain = with_commas(text) if self.semicolons else text
                try:
                    self.record(line, decoded(self.parser, plain, self.rows.file, line))
                except JsonError as error:
                    raise error.error(self.rows.file, line) from None
        if len(self.values) >= CHUNK_ROWS:
            self.flush()

    def quick(self, texts: list[str]) -> bool:
        """Read lines of the usual kind, all together; False, and nothing done, if any is of another kind.

        The usual kind has a single value and a known point; the places of errors are not determined here.
        """
        joined = ",".join(texts)
        try:
            records = self.quick_parser.decode(f"[{joined.replace(';', ',') if self.semicolons else joined}]")
            values = [record["value"] for record in records]
            given = [record[self.key] for record in records]
            regions = [record.get("callpath", ROOT) for record in records]
            metrics = [record.get("metric", DEFAULT) for record in records]
            coordinates = [tuple(point.values()) for point in given]
            points = [self.rows.points[point] for point in coordinates]
            names = {*regions, *metrics}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return False
        types = {*map(type, values), *map(type, chain.from_iterable(coordinates))}
        # A comma in a name may have been a semicolon.
        usual = types == {float} and {*map(type, names)} == {str} and not (self.semicolons and "," in "".join(names))
        if not usual or len(records) != len(texts) or {*map(tuple, given)} != {self.parameters}:
            return False
        if not all(map(isfinite, values)):
            return False
        number = {name: self.rows.region(name) for name in dict.fromkeys(regions)}
        kind = {name: self.rows.metric(name) for name in dict.fromkeys(metrics)}
        self.pairs.extend([pair(number[r], kind[m]) for r, m in zip(regions, metrics, strict=True)])
        self.points.extend(points)
        self.values.extend(values)
        return True

    def record(self, line: int, record: object) -> None:
        """Read the record of one line. Raises JsonError."""
        if type(record) is not dict:
            raise JsonError("not a measurement", record, f'{{"{self.key}": {{"p": 16}}, "value": 1.2}}')
        for needed in (self.key, "value"):
            if needed not in record:
                raise JsonError(f'"{needed}" is missing', ", ".join(record), f'"{self.key}" and "value"')
        region = text_of(record.get("callpath", ROOT), "callpath")
        metric = text_of(record.get("metric", DEFAULT), "metric")
        values = record["value"]
        if type(values) is not list:
            values = [finite(values, "value")]
        else:
            values = [finite(value, f"value[{index}]") for index, value in enumerate(values)]
        if not values:
            raise JsonError("no value", "[]", "a number or a list of numbers", "value")
        point = self.point(line, record[self.key])
        number = pair(self.rows.region(region), self.rows.metric(metric))
        for value in values:
            self.pairs.append(number)
            self.points.append(point)
            self.values.append(value)

    def point(self, line: int, given: object) -> int:
        """Return the number of the point that a line names."""
        if type(given) is not dict:
            raise JsonError("not an object of parameters", given, '{"p": 16}', self.key)
        if tuple(given) != self.parameters:
            given = self.ordered(line, given)
        for name, value in given.items():
            if type(value) is not float:
                finite(value, self.key + step(name), "a coordinate that is not a number")
        return self.rows.point(tuple(given.values()), lambda: self.place(line, given))

    def ordered(self, line: int, given: dict[str, float]) -> dict[str, float]:
        """Return the coordinates in the order of the first line, which this may be."""
        if not self.parameters:
            check_parameters(tuple(given), Place(self.rows.file, line, self.key))
            self.parameters = tuple(given)
        if given.keys() != set(self.parameters):
            raise JsonError(
                "other parameters than in the first line", ", ".join(given), ", ".join(self.parameters), self.key
            )
        return {name: given[name] for name in self.parameters}

    def place(self, line: int, given: dict[str, float]) -> Place:
        """Position of the coordinate that is out of range."""
        for name, value in given.items():
            check_coordinate(value, lambda name=name: Place(self.rows.file, line, self.key + step(name)))  # type: ignore[misc]
        return Place(self.rows.file, line)

    def flush(self) -> None:
        """Add the rows held so far, and forget them."""
        self.rows.add(self.pairs, self.points, self.values)
        for held in (self.pairs, self.points, self.values):
            del held[:]


def strict_object(pairs: Pairs) -> dict[str, object]:
    """Return an object of a line, without a key twice."""
    content = dict(pairs)
    return content if len(content) == len(pairs) else checked_object(pairs)


def read_json_lines(path: Path, partial: bool = False) -> Measurements:
    """Return the measurements in a file of JSON lines. Raises InputError naming the line and the path of keys in it."""
    return read_all(path, LineReader(Rows(str(path), partial), "params"))


def read_talpas(path: Path, partial: bool = False) -> Measurements:
    """Return the measurements in a file of Talpas. Raises InputError naming the line and the path of keys in it."""
    return read_all(path, LineReader(Rows(str(path), partial), "parameters", semicolons=True))


def read_all(path: Path, reader: LineReader) -> Measurements:
    """Read all measurements of a file. Raises InputError if the file has none."""
    numbered = lines(path)
    while some := list(islice(numbered, LINES_AT_ONCE)):
        reader.add(some)
    if reader.values:
        reader.flush()
    if not reader.parameters:
        raise InputError("the file holds no measurement", Place(reader.rows.file))
    return reader.rows.measurements(reader.parameters)


def with_commas(text: str) -> str:
    """Return a line of Talpas as JSON: commas for the semicolons outside of strings."""
    parts = STRINGS.split(text)
    if not any(";" in part for part in parts[1::2]):
        return text.replace(";", ",")
    return "".join(part if index % 2 else part.replace(";", ",") for index, part in enumerate(parts))


def first_object(start: FileStart) -> str:
    """Return the first line if it begins with an object, and the file is not named as a table."""
    if not start.text.startswith("{") or start.suffix in (".csv", ".tsv"):
        return ""
    return start.lines[0]


def sniff_json_lines(start: FileStart) -> Match:
    """Return an object with ``params`` that ends with the line."""
    line = first_object(start)
    if sniff_talpas(start) or not ('"params"' in line and line.endswith("}")):
        return Match.NONE
    return Match.CERTAIN


def sniff_talpas(start: FileStart) -> Match:
    """Return an object with ``parameters`` and semicolons."""
    line = first_object(start)
    return Match.CERTAIN if '"parameters"' in line and ";" in line and '"measurements"' not in line else Match.NONE


READERS.add_reader(MeasurementReader("jsonlines", read_json_lines, (".jsonl", ".ndjson"), sniff_json_lines))
READERS.add_reader(MeasurementReader("talpas", read_talpas, sniff=sniff_talpas))
