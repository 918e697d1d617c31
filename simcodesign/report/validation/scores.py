"""Scores of predictions of measured times, as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table

from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.studies.validation.scores import ALL, Score

COLUMNS = ("role", "rows", "missing", "median error", "quartiles", "worst", "mean ratio")


def score_tables(scores: Sequence[Score]) -> list[RenderableType]:
    """Return the table of all groups and roles, and how many rows are not predicted."""
    table: Table = new_table("", "group", *COLUMNS)
    table.title = None
    for one in scores:
        table.add_row(*score_cells(one))
    every = [one for one in scores if one.group == ALL]
    missing, count = sum(one.missing for one in every), sum(one.rows for one in every)
    note = f"{missing:,} of {count:,} rows are not predicted. Errors are of the other rows, relative to the "
    note += "measured time; the mean ratio is the geometric mean of predicted / measured."
    return [table, paragraph(note)]


def score_cells(one: Score) -> tuple[str, ...]:
    """Return the cells of a score: group, role, numbers of rows, errors in percent and the mean ratio."""
    head = (one.group, one.role, f"{one.rows:,}", f"{one.missing:,}")
    if math.isnan(one.median_error):
        return (*head, "-", "-", "-", "-")
    ends = f"{_plain(one.lower_quartile_error)} to {_plain(one.upper_quartile_error)} %"
    return (*head, f"{_plain(one.median_error)} %", ends, f"{_plain(one.worst_error)} %", f"{one.mean_ratio:.3g}")


def _plain(error: float) -> str:
    return f"{100 * error:.1f}"
