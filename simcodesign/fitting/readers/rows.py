"""Rows as files hold them (region, metric, point, value), gathered into the block of a ``Measurements``.

Rows are kept in chunks of whole numbers and values, 16 bytes a row, and freed while the block is filled: at its
peak this needs about three times the memory of the block, whatever the number of regions.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from simcodesign.core.errors import InputError, Place, shorten
from simcodesign.core.units import is_subnormal
from simcodesign.fitting.measurements import FloatArray, IntArray, Measurements, point_text

CHUNK_ROWS = 1 << 18
METRIC_BITS = 32
"""A pair of region and metric is one whole number: the region above this many bits, the metric below."""
GAPS_ALLOWED = 64
"""A block that is mostly gaps may be this many times the rows read ..."""
ALWAYS_ALLOWED = 1 << 27
"""... or this many values (1 GiB), whichever is more."""

Codes = npt.NDArray[np.int32]


@dataclass
class Chunk:
    """Some rows: ``codes`` index into ``pairs``; ``points`` and ``repetitions`` number what ``Rows`` has met."""

    pairs: IntArray
    codes: Codes
    points: Codes
    values: FloatArray
    repetitions: Codes | None
    first_row: int


@dataclass
class Rows:
    """The rows of one file, numbered as they come; ``measurements`` makes the block of them, and empties this."""

    file: str
    partial: bool = False
    regions: dict[str, int] = field(default_factory=dict)
    metrics: dict[str, int] = field(default_factory=dict)
    points: dict[tuple[float, ...], int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    count: int = 0
    _chunks: deque[Chunk] = field(default_factory=deque)

    def region(self, name: str) -> int:
        """Return the number of a region, a new one for a name not met before."""
        return self.regions.setdefault(name, len(self.regions))

    def metric(self, name: str) -> int:
        """Return the number of a metric."""
        return self.metrics.setdefault(name, len(self.metrics))

    def label(self, name: str) -> int:
        """Return the number of a repetition that the file names."""
        return self.labels.setdefault(name, len(self.labels))

    def point(self, coordinates: tuple[float, ...], place: Callable[[], Place]) -> int:
        """Return the number of a point.

        Raises InputError at ``place`` unless its coordinates are positive and finite.
        """
        number = self.points.get(coordinates)
        if number is None:
            for value in coordinates:
                check_coordinate(value, place)
            number = self.points[coordinates] = len(self.points)
        return number

    def add(
        self,
        pairs: npt.ArrayLike,
        points: npt.ArrayLike,
        values: npt.ArrayLike,
        repetitions: npt.ArrayLike | None = None,
    ) -> None:
        """More rows: ``pairs`` are numbers by ``pair``, the others as numbered here; all of one length."""
        codes, distinct = pd.factorize(np.asarray(pairs, dtype=np.int64))
        self._chunks.append(
            Chunk(
                np.asarray(distinct, dtype=np.int64),
                codes.astype(np.int32),
                np.array(points, dtype=np.int32),
                np.array(values, dtype=np.float64),
                None if repetitions is None else np.array(repetitions, dtype=np.int32),
                self.count,
            )
        )
        self.count += len(codes)

    def measurements(self, parameters: tuple[str, ...], locate: Callable[[int], Place] | None = None) -> Measurements:
        """Return the block of all rows; ``locate`` returns the position of a row (from 0) in the file.

        Raises InputError if a series lacks a point (unless ``partial``), or has a named repetition twice.
        """
        if self.count == 0:
            raise InputError("the file holds no measurement", Place(self.file))
        pairs = np.unique(np.concatenate([chunk.pairs for chunk in self._chunks]))
        for chunk in self._chunks:
            chunk.pairs = np.searchsorted(pairs, chunk.pairs).astype(np.int64)
        regions, metrics = list(self.regions), list(self.metrics)
        names = tuple(regions[pair >> METRIC_BITS] for pair in pairs.tolist())
        kinds = tuple(metrics[pair & ((1 << METRIC_BITS) - 1)] for pair in pairs.tolist())
        points = np.array(list(self.points), dtype=np.float64).reshape(len(self.points), len(parameters))
        for name in (*parameters, *regions, *metrics):
            check_text(name, self.file)
        # Numbers of points that no row uses would be points without a value.
        points = self._used(points)
        values = self._block(Grid(self.file, parameters, points, names, kinds), locate)
        try:
            return Measurements(parameters, points, names, kinds, values)
        except InputError as error:
            raise InputError(
                error.what, Place(self.file, path=str(error.place or "")), value=error.value, allowed=error.allowed
            ) from None

    def _used(self, points: FloatArray) -> FloatArray:
        used = np.zeros(len(points), dtype=np.bool_)
        for chunk in self._chunks:
            used[chunk.points] = True
        if used.all():
            return points
        number = (np.cumsum(used) - 1).astype(np.int32)
        for chunk in self._chunks:
            chunk.points = number[chunk.points]
        return points[used]

    def _block(self, grid: Grid, locate: Callable[[int], Place] | None) -> FloatArray:
        cells = len(grid.regions) * len(grid.points)
        if not self.partial and cells > self.count:  # reported before anything as large as the cells is made
            raise self._lacking(grid)
        self._check_room(cells, 1)
        filled = np.zeros(cells, dtype=np.int32)
        for chunk in self._chunks:
            count_into(filled, grid.cells(chunk))
        if not self.partial and not filled.all():
            raise grid.missing(int(np.argmin(filled != 0)), int(np.count_nonzero(filled == 0)))
        order = label_order(list(self.labels))
        repetitions = len(order) or int(filled.max())
        self._check_room(cells, repetitions)
        block = np.full((cells, repetitions), np.nan)
        filled[:] = 0
        while self._chunks:
            chunk = self._chunks.popleft()
            place = grid.cells(chunk)
            if chunk.repetitions is None:
                before = 0 if repetitions == 1 else filled[place] + ranks(place)
                block[place, before] = chunk.values
                if repetitions > 1:
                    count_into(filled, place)
            else:
                chunk.repetitions = order[chunk.repetitions]
                fill_named(block, place, chunk, lambda row, cell: grid.twice(cell, locate and locate(row)))
        return block.reshape(len(grid.regions), len(grid.points), repetitions)

    def _lacking(self, grid: Grid) -> InputError:
        """Return the error for fewer rows than cells: some series must lack a point."""
        lengths = np.zeros(len(grid.regions), dtype=np.int64)
        for chunk in self._chunks:
            np.add.at(lengths, chunk.pairs[chunk.codes], 1)
        series = int(np.argmin(lengths))
        there = np.zeros(len(grid.points), dtype=np.bool_)
        for chunk in self._chunks:
            there[chunk.points[chunk.pairs[chunk.codes] == series]] = True
        least = len(grid.regions) * len(grid.points) - self.count
        return grid.missing(series * len(grid.points) + int(np.argmin(there)), least)

    def _check_room(self, cells: int, repetitions: int) -> None:
        if cells * repetitions > max(ALWAYS_ALLOWED, GAPS_ALLOWED * self.count):
            raise InputError(
                "the measurements are too scattered to be one block of series, points and repetitions",
                Place(self.file),
                value=f"{self.count:,} values for {cells:,} pairs of series and point, up to {repetitions:,} each",
                allowed="series with common points; separate files for the others",
            )


@dataclass(frozen=True)
class Grid:
    """The rows and columns of a block that is being filled."""

    file: str
    parameters: tuple[str, ...]
    points: FloatArray
    regions: tuple[str, ...]
    metrics: tuple[str, ...]

    def cells(self, chunk: Chunk) -> IntArray:
        """Return the cell of each row, counted series by series."""
        cells: IntArray = chunk.pairs[chunk.codes] * len(self.points) + chunk.points
        return cells

    def text(self, cell: int) -> str:
        """Return a cell in words: its region, metric and point."""
        series, point = divmod(cell, len(self.points))
        where = point_text(self.parameters, self.points[point])
        return f"region {shorten(self.regions[series])}, metric {shorten(self.metrics[series])} at {where}"

    def missing(self, cell: int, gaps: int) -> InputError:
        """Return the error of a series that lacks a point which another series has."""
        more = f" ({gaps:,} such gaps in all)" if gaps > 1 else ""
        return InputError(
            f"a point is missing: other series have a value there{more}",
            Place(self.file, path=self.text(cell)),
            allowed="every point in every series; or --partial (partial=True) to continue with the gaps",
        )

    def twice(self, cell: int, place: Place | None) -> InputError:
        """Return the error of a repetition that a file names twice."""
        return InputError(
            f"one repetition appears twice, {self.text(cell)}", place or Place(self.file), allowed="each once"
        )


def pair(region: int, metric: int) -> int:
    """Return a region and a metric as one number."""
    return region << METRIC_BITS | metric


def label_order(labels: list[str]) -> Codes:
    """Return the place of each label among all: as numbers if they are all numbers, otherwise as they were met."""
    try:
        ordered = sorted(range(len(labels)), key=lambda index: float(labels[index]))
    except ValueError:
        ordered = list(range(len(labels)))
    places = np.empty(len(labels), dtype=np.int32)
    places[ordered] = np.arange(len(labels), dtype=np.int32)
    return places


def count_into(filled: Codes, cells: IntArray) -> None:
    """Add to each number of ``filled`` how often its index occurs among the cells."""
    low, high = int(cells.min()), int(cells.max()) + 1
    if high - low <= 4 * len(cells):  # near each other, as most files have them: many times faster
        filled[low:high] += np.bincount(cells - low).astype(np.int32)
    else:
        np.add.at(filled, cells, 1)


def ranks(cells: IntArray) -> IntArray:
    """How often the number of each row occurred in the rows before it."""
    if len(cells) == 0 or (cells[1:] > cells[:-1]).all():
        return np.zeros(len(cells), dtype=np.int64)
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    position = np.arange(len(cells))
    start = np.where(np.append(True, ordered[1:] != ordered[:-1]), position, 0)
    rank = np.empty(len(cells), dtype=np.int64)
    rank[order] = position - np.maximum.accumulate(start)
    return rank


def fill_named(block: FloatArray, cells: IntArray, chunk: Chunk, twice: Callable[[int, int], InputError]) -> None:
    """Put the values of a chunk at their named repetitions; ``twice`` makes the error of a taken place."""
    named = chunk.repetitions
    assert named is not None
    bad = (ranks(cells * block.shape[1] + named) > 0) | ~np.isnan(block[cells, named])
    if bad.any():
        row = int(np.argmax(bad))
        raise twice(chunk.first_row + row, int(cells[row]))
    block[cells, named] = chunk.values


def check_coordinate(value: float, place: Callable[[], Place]) -> None:
    """Raise InputError unless a parameter's value is positive and finite: models hold its powers and logarithms."""
    if not (math.isfinite(value) and value > 0) or is_subnormal(value):
        raise InputError(
            "a parameter out of range", place(), value=value, allowed="positive finite numbers from 2.3e-308"
        )


def check_text(name: str, file: str) -> None:
    """Raise InputError for half a character, which JSON can spell and no file can hold."""
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError("a name that is no valid text", Place(file), value=name, allowed="Unicode text") from None


def chunks_of(length: int, size: int = CHUNK_ROWS) -> Iterator[slice]:
    """Slices that cover ``length`` rows."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))
