"""Extra-P's text: PARAMETER, POINTS, and per METRIC and REGION one line of DATA for each point.

``PARAMETER p n`` / ``POINTS (16 1000) (32 1000)`` / ``METRIC time`` / ``REGION main->foo`` / ``DATA 1.2 1.3``.
The parentheses are optional for one parameter. Values of a DATA line are repetitions. METRIC and REGION persist until
the next, and either one starts again at the first point. A line that begins with ``#`` is a comment, as are the words
after a `` #`` behind numbers; names of regions and metrics may contain it. Without METRIC the metric has no
name; without REGION the region is ``<root>``.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path

from simcodesign.core.errors import InputError, Place, nearest, shorten
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import lines, number
from simcodesign.fitting.measurements import MAX_PARAMETERS, Measurements, check_parameters, point_text
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.rows import CHUNK_ROWS, Rows, pair

ROOT, UNNAMED = "<root>", ""
PARAMETER, POINTS, METRIC, REGION, DATA = KEYWORDS = ("PARAMETER", "POINTS", "METRIC", "REGION", "DATA")
AMBIGUOUS = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
TOKEN = re.compile(r"[()]|[^\s(),;]+")


@dataclass
class TextReader:
    """State of the reader: the part read so far, and the place of the next line of DATA."""

    rows: Rows
    parameters: list[str] = field(default_factory=list)
    region: str = ROOT
    metric: str = UNNAMED
    series_line: int = 0
    at_point: int = 0
    finished: set[int] = field(default_factory=set)
    unused: dict[str, int] = field(default_factory=dict)
    pairs: array[int] = field(default_factory=lambda: array("q"))
    points: array[int] = field(default_factory=lambda: array("i"))
    values: array[float] = field(default_factory=lambda: array("d"))

    def place(self, line: int) -> Place:
        """Return the place of a line."""
        return Place(self.rows.file, line)

    def line(self, line_number: int, text: str) -> None:
        """One line that is not empty."""
        if text.startswith("#"):
            return
        keyword, _, rest = text.replace("\t", " ").partition(" ")
        rest = rest.strip() if keyword in (REGION, METRIC) else rest.partition(" #")[0].strip()
        if keyword == DATA:
            self.data(line_number, rest)
        elif keyword == POINTS:
            self.add_points(line_number, rest)
        elif keyword == PARAMETER:
            self.add_parameters(line_number, rest)
        elif keyword in (REGION, METRIC):
            self.start(line_number, keyword, rest)
        else:
            raise InputError(
                "no such keyword", self.place(line_number), value=keyword, allowed=nearest(keyword, KEYWORDS)
            )

    def add_parameters(self, line_number: int, rest: str) -> None:
        """Add parameters. Raises InputError after points."""
        place = self.place(line_number)
        if self.rows.points:
            raise InputError("a parameter after the points", place, value=rest, allowed="PARAMETER before POINTS")
        self.parameters += rest.replace(",", " ").split()
        check_parameters(self.parameters, place)

    def add_points(self, line_number: int, rest: str) -> None:
        """Add points. Raises InputError before any parameter, and after values."""
        place = self.place(line_number)
        if not self.parameters:
            raise InputError("points before any parameter", place, allowed="PARAMETER before POINTS")
        if self.values:
            raise InputError("points after data", place, allowed="all POINTS before the first DATA")
        for point in parse_points(rest, len(self.parameters), place):
            if point in self.rows.points:
                raise InputError(
                    "one point appears twice", place, value=point_text(self.parameters, point), allowed="each once"
                )
            self.rows.point(point, lambda: place)

    def start(self, line_number: int, keyword: str, name: str) -> None:
        """Start a new region or metric: its data start at the first point."""
        place = self.place(line_number)
        if not name:
            raise InputError(f"{keyword} without a name", place, allowed=f"{keyword} NAME")
        if keyword in self.unused:
            raise no_data(keyword, self.place(self.unused[keyword]))
        self.end_series()
        self.unused[keyword] = line_number
        self.region, self.metric = (name, self.metric) if keyword == REGION else (self.region, name)
        self.series_line, self.at_point = line_number, 0

    def data(self, line_number: int, rest: str) -> None:
        """Add the repetitions at the next point."""
        place = self.place(line_number)
        if not self.rows.points:
            raise InputError("data before any point", place, allowed="PARAMETER and POINTS before DATA")
        current = pair(self.rows.region(self.region), self.rows.metric(self.metric))
        if self.at_point == 0 and current in self.finished:
            raise InputError(
                "one region and metric appear twice", place, value=f"{self.region}, {self.metric}", allowed="each once"
            )
        if self.at_point == len(self.rows.points):
            raise self.wrong_count(place, f"at least {self.at_point + 1}")
        given = [number(word, place) for word in _values(rest, place)]
        if not given:
            raise InputError("DATA without a value", place, allowed="DATA and one number for each repetition")
        self.values.extend(given)
        self.pairs.extend([current] * len(given))
        self.points.extend([self.at_point] * len(given))
        self.at_point += 1
        self.unused.clear()

    def end_series(self) -> None:
        """Check that the series read last has all its points, and hand on what has come together."""
        if 0 < self.at_point < len(self.rows.points):
            raise self.wrong_count(self.place(self.series_line), str(self.at_point))
        if self.at_point:
            self.finished.add(pair(self.rows.region(self.region), self.rows.metric(self.metric)))
        if len(self.values) >= CHUNK_ROWS:
            self.flush()

    def flush(self) -> None:
        """Add the rows held so far, and forget them."""
        self.rows.add(self.pairs, self.points, self.values)
        for held in (self.pairs, self.points, self.values):
            del held[:]

    def wrong_count(self, place: Place, given: str) -> InputError:
        """Return the error for a number of DATA lines that is not the number of points."""
        return InputError(
            f"wrong number of DATA lines for region {shorten(self.region)}, metric {shorten(self.metric)}",
            place,
            value=given,
            allowed=f"{len(self.rows.points)}, one for each point",
        )


def read_extrap_text(path: Path, partial: bool = False) -> Measurements:
    """Return the measurements in a file of Extra-P's text format.

    Raises InputError naming the line: a keyword that there is not, no parameter or more than four, points that do not
    fit the parameters or appear twice, a wrong number of DATA lines, what is not a number.
    """
    reader = TextReader(Rows(str(path), partial))
    for line_number, text in lines(path):
        reader.line(line_number, text)
    if not reader.parameters:
        raise InputError("the file has no parameters", Place(str(path)), allowed="a line PARAMETER p, at the beginning")
    for keyword, line_number in reader.unused.items():
        raise no_data(keyword, reader.place(line_number))
    reader.end_series()
    if reader.values:
        reader.flush()
    return reader.rows.measurements(tuple(reader.parameters))


def _values(text: str, place: Place) -> list[str]:
    """Return the numbers of a line DATA, between blanks or commas.

    Raises InputError for ``1,5`` among other numbers: one number with a decimal comma, or two.
    """
    words = text.split()
    for word in words:
        if AMBIGUOUS.fullmatch(word):
            allowed = f"{word.replace(',', '.')}, or {word.replace(',', ' ')}"
            raise InputError("a number with a comma, or two numbers", place, value=word, allowed=allowed)
    return text.replace(",", " ").split()


def no_data(keyword: str, place: Place) -> InputError:
    """Return the error for a keyword that no line ``DATA`` follows."""
    return InputError(f"{keyword} without DATA", place, allowed="DATA, one line for each point")


def parse_points(text: str, parameters: int, place: Place) -> list[tuple[float, ...]]:
    """Return the points of a line; parentheses may be nested, and left out for one parameter."""
    groups: list[list[float]] = [[]]
    closed: list[tuple[float, ...]] = []
    for token in TOKEN.findall(text):
        if token == "(":
            groups.append([])
        elif token == ")":
            if len(groups) == 1:
                raise InputError("a parenthesis that was not opened", place, value=text)
            if group := groups.pop():
                closed += split_point(group, parameters, place)
        else:
            if len(groups) == 1 and parameters > 1:
                raise wrong_length(token, parameters, place)
            groups[-1].append(number(token, place, "a coordinate that is not a number"))
    if len(groups) > 1:
        raise InputError("a parenthesis that is not closed", place, value=text)
    closed += split_point(groups[0], parameters, place) if groups[0] else []
    if not closed:
        raise InputError("POINTS without a point", place, allowed="POINTS (16 1000) (32 1000)")
    return closed


def split_point(group: list[float], parameters: int, place: Place) -> list[tuple[float, ...]]:
    """Read the text between two parentheses: a point, or several of one parameter."""
    if parameters == 1:
        return [(value,) for value in group]
    if len(group) != parameters:
        raise wrong_length(" ".join(f"{value:g}" for value in group[: MAX_PARAMETERS + 2]), parameters, place)
    return [tuple(group)]


def wrong_length(given: str, parameters: int, place: Place) -> InputError:
    """Return the error for a point that has not one coordinate for each parameter."""
    return InputError(
        "a point that does not fit the parameters",
        place,
        value=given,
        allowed=f"{parameters} numbers in parentheses, one for each PARAMETER",
    )


def sniff(start: FileStart) -> Match:
    """Recognise a keyword at the beginning of the first line that is no comment; in a .txt file, of any line."""
    words = [line.split(None, 1)[0] for line in start.lines if not line.startswith("#")]
    is_open = not words or "\ufffd" in start.text  # only comments so far, or no text in UTF-8: reading tells more
    in_text = start.suffix == ".txt" and (is_open or any(word.upper().startswith(KEYWORDS) for word in words))
    return Match.POSSIBLE if in_text or words[:1] in ([word] for word in KEYWORDS) else Match.NONE


READERS.add_reader(MeasurementReader("text", read_extrap_text, sniff=sniff))
