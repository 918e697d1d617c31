"""Score predictions of measured times: the benchmark "formulas against machines".

A row is one measured time. It is for calibration, development or evidence by a hash of its id, except that a row from
which constants of this project were determined is always for calibration.
"""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import nan
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import open_text
from simcodesign.core.files.text_files import MISSING, CsvRows, check_width, number

#: Hashed before an id, so that the split is this one and no other.
SEED = "formulas against machines 1"
CALIBRATION, DEVELOPMENT, EVIDENCE = ROLES = ("calibration", "development", "evidence")
#: Fractions of the rows, by their hash.
PARTS = {CALIBRATION: 0.2, DEVELOPMENT: 0.3, EVIDENCE: 0.5}
#: The group of the scores over all groups.
ALL = "all"


@dataclass(frozen=True)
class MeasuredRow:
    """A measured time: ``group`` is its machine and operation, ``values`` describe what was run.

    ``calibrates``: whether constants of this project come from it.
    """

    id: str
    group: str
    values: Mapping[str, str | int]
    seconds: float
    role: str
    calibrates: bool = False


def role_of(row_id: str, calibrates: bool = False) -> str:
    """Return the role of a row: ``calibration`` if constants come from it, otherwise by the SHA-256 hash of its id."""
    if calibrates:
        return CALIBRATION
    place = int.from_bytes(sha256(f"{SEED}:{row_id}".encode()).digest()[:8], "big") / 2**64
    if place < PARTS[CALIBRATION]:
        return CALIBRATION
    return DEVELOPMENT if place < PARTS[CALIBRATION] + PARTS[DEVELOPMENT] else EVIDENCE


@dataclass(frozen=True)
class Score:
    """Errors of the predicted rows of one group and role.

    Fractions of the measured times, without sign, nan if no row is predicted. ``mean_ratio`` is the geometric mean of
    predicted / measured; ``worst_row`` has the largest error.
    """

    group: str
    role: str
    rows: int
    predicted: int
    median_error: float = nan
    lower_quartile_error: float = nan
    upper_quartile_error: float = nan
    worst_error: float = nan
    mean_ratio: float = nan
    worst_row: str = ""

    @property
    def missing(self) -> int:
        """Rows without a prediction."""
        return self.rows - self.predicted

    def json_fields(self) -> dict[str, object]:
        """Return all fields, and the number of missing rows."""
        return {**vars(self), "missing": self.missing}


def scores(rows: Sequence[MeasuredRow], predicted_s: Mapping[str, float]) -> tuple[Score, ...]:
    """Score predictions in seconds, by id: over all groups, then for each group, for each role that has rows."""
    groups = dict.fromkeys([ALL, *(row.group for row in rows)])
    parts = [
        (group, role, [row for row in rows if row.role == role and group in (ALL, row.group)])
        for group in groups
        for role in ROLES
    ]
    return tuple(_score(group, role, part, predicted_s) for group, role, part in parts if part)


def _score(group: str, role: str, rows: Sequence[MeasuredRow], predicted_s: Mapping[str, float]) -> Score:
    ratios = {row.id: predicted_s[row.id] / row.seconds for row in rows if row.id in predicted_s}
    if not ratios:
        return Score(group, role, len(rows), 0)
    errors = {row_id: abs(ratio - 1) for row_id, ratio in ratios.items()}
    lower, middle, upper = np.percentile(list(errors.values()), (25, 50, 75)).tolist()
    worst = max(errors, key=lambda row_id: errors[row_id])
    mean_ratio = statistics.geometric_mean(ratios.values())
    return Score(group, role, len(rows), len(ratios), middle, lower, upper, errors[worst], mean_ratio, worst)


def read_predictions(path: Path, rows: Sequence[MeasuredRow]) -> dict[str, float]:
    """Read predicted seconds by id from a CSV file with the columns ``id`` and ``seconds``; others are not read.

    A row whose ``seconds`` are empty is not predicted. InputError with line and column for an id that no row has or
    that occurs twice, and for seconds that are not above 0.
    """
    known = {row.id for row in rows}
    predicted_s: dict[str, float] = {}
    titles: list[str] = []
    seen: set[str] = set()
    with open_text(path) as file:
        table = CsvRows(file, str(path))
        for line, cells in table:
            texts = [cell.strip() for cell in cells]
            if not titles:
                titles = _titles(texts, Place(str(path), line))
                continue
            check_width(texts, titles, Place(str(path), line), table.delimiter)
            row_id, seconds = texts[titles.index("id")], texts[titles.index("seconds")]
            if row_id not in known or row_id in seen:
                what = "an id that occurs twice" if row_id in seen else "no measured row has this id"
                allowed = "each id of simcodesign score --write rows:FILE.csv once"
                raise InputError(what, Place(str(path), line, "column id"), value=row_id, allowed=allowed)
            seen.add(row_id)
            if seconds not in MISSING:
                predicted_s[row_id] = _seconds(seconds, Place(str(path), line, "column seconds"))
    if not titles:
        raise InputError("the file is empty", Place(str(path)), allowed="a table with the columns id and seconds")
    return predicted_s


def _titles(titles: list[str], place: Place) -> list[str]:
    for name in ("id", "seconds"):
        if titles.count(name) != 1:
            raise InputError(f"columns {name}", place, value=titles.count(name), allowed="one")
    return titles


def _seconds(text: str, place: Place) -> float:
    value = number(text, place)
    if value <= 0:
        raise InputError("a predicted time", place, value=text, allowed="seconds above 0")
    return value


def rows_text(rows: Sequence[MeasuredRow]) -> str:
    """Return the rows as CSV.

    Id, group, role, a column for each value, measured seconds except of evidence, and an empty column for predicted
    seconds.
    """
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "group", "role", *names, "measured_s", "seconds"])
    for row in rows:
        measured = "" if row.role == EVIDENCE else repr(row.seconds)
        writer.writerow([row.id, row.group, row.role, *(row.values.get(name, "") for name in names), measured, ""])
    return text.getvalue()
