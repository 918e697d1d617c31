"""The table of a sweep for a terminal: its axes and results, in short."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from simcodesign.report.common.numbers import Digits, binary_unit, shared_unit, signed_percent
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.studies.anchored.sweep_columns import ANCHORED, NOTE
from simcodesign.studies.sweep.design.grid import SweepAxis
from simcodesign.studies.sweep.run import SweepOutcome
from simcodesign.studies.sweep.table import ERROR, NUMBER
from simcodesign.studies.trust.measured_columns import HIGH, LOW, MEASURED

#: Rows that are printed; a longer table shows its beginning and its end.
MOST_ROWS = 40
#: Results that are printed, by the ends of their names; all of them are in the file.
_SHOWN = ("makespan_s", "response_s", "blocked", "energy_j", "price", "_cost", "carbon_kg", "ratio")
_UNITS = {"_s": "s", "_j": "J", "_w": "W", "_bytes": "B", "_kg": "kg"}
RATIO = "ratio"
RATIO_WORDS = "ratio: forecast / simulated; below 1 the forecast is too low."


def sweep_tables(
    title: str, table: pd.DataFrame, axes: Sequence[SweepAxis], formulas: Sequence[str] = ()
) -> list[RenderableType]:
    """Return the table in short, and the reasons why points have no results.

    With the columns of formulas (``formulas``: how their names begin).
    """
    shown = pd.concat([table.head(MOST_ROWS // 2), table.tail(MOST_ROWS // 2)]) if len(table) > MOST_ROWS else table
    names = [name for name in table.columns if name.endswith(_SHOWN) and name not in {axis.name for axis in axes}]
    if any(name.endswith("response_s") for name in names):  # of an open stream the makespan is meaningless
        names = [name for name in names if not name.endswith("makespan_s")]
    names += [name for one in formulas for name in (f"{one}_s", f"{one}_error") if name in table.columns]
    names += [name for name in table.columns if name in (MEASURED, LOW, HIGH) and table[name].notna().any()]
    names += [name for name in table.columns if name.startswith("measured_") and name.endswith("_error")]
    names += [name for name in table.columns if name.startswith(ANCHORED) and name.endswith("_s")]
    errors = {name for name in names if name.endswith("_error")}
    columns = [_column(axis.name.replace(".", ".\n"), axis.unit, shown[axis.name]) for axis in axes]
    times = [name for name in names if _ending(name) == "_s"]  # in one unit, so that they can be compared
    largest = [float(shown[name].max()) for name in times]
    columns += [
        _percents(name, shown[name])
        if name in errors
        else _column(
            name.removesuffix(_ending(name)).replace("_", " "),
            _UNITS.get(_ending(name), ""),
            shown[name],
            largest if name in times else (),
        )
        for name in names
    ]
    printed: Table = new_table("", "point", *(head for head, _ in columns))
    for at, number in enumerate(shown[NUMBER].tolist()):
        if at == MOST_ROWS // 2 and len(table) > MOST_ROWS:
            printed.add_row(f"... {len(table) - MOST_ROWS:,} more", *[""] * len(columns))
        printed.add_row(str(number), *(texts[at] for _, texts in columns))
    ratio = [paragraph(RATIO_WORDS)] if RATIO in names else []
    return [Text(title, style="bold"), printed, *ratio, *_anchor_notes(table), *_reasons(table)]


def outcome_line(outcome: SweepOutcome, where: str) -> str:
    """One sentence for the end."""
    failed = f", {outcome.failed:,} of them failed" if outcome.failed else ""
    return f"{outcome.stored:,} of {outcome.count:,} points stored in {where}{failed}"


def _column(name: str, unit: str, values: pd.Series, others: Sequence[float] = ()) -> tuple[str, list[str]]:
    """Return the head and the texts of a column; numbers in one unit, which fits the ``others`` as well."""
    if not pd.api.types.is_numeric_dtype(values):
        return name, [str(value) for value in values.tolist()]
    numbers = values.to_numpy(dtype=np.float64)
    factor, unit = (unit == "B" and binary_unit(numbers.tolist())) or shared_unit([*numbers.tolist(), *others], unit)
    show = Digits(value for value in (numbers * factor).tolist() if not _is_count(value))
    texts = ["-" if np.isnan(value) else _text(value * factor, show) for value in numbers.tolist()]
    return (f"{name} ({unit})" if unit else name), texts


def _percents(name: str, errors: pd.Series) -> tuple[str, list[str]]:
    """Return the head and the texts of a column of signed errors."""
    return name.replace("_", " "), [signed_percent(error) for error in errors.tolist()]


def _is_count(value: float) -> bool:
    """Whether this is a whole number with few digits, which is printed whole."""
    return bool(np.isfinite(value)) and value == round(value) and abs(value) < 1e9


def _text(value: float, show: Digits) -> str:
    if np.isinf(value):
        return "infinite"
    return f"{value:z,.0f}" if _is_count(value) else show(value)


def _ending(name: str) -> str:
    return next((ending for ending in _UNITS if name.endswith(ending)), "")


def _anchor_notes(table: pd.DataFrame) -> list[RenderableType]:
    """Why points have no anchor, and what to be careful of: the commonest notes, with how many points have each."""
    if NOTE not in table.columns:
        return []
    counts = table.loc[table[NOTE] != "", NOTE].value_counts()
    return [paragraph(f"Anchors, {count:,} of {len(table):,} points: {note}.") for note, count in counts[:3].items()]


def _reasons(table: pd.DataFrame) -> list[RenderableType]:
    """Why points have no results: the commonest reasons, with a point that has each."""
    failed = table[table[ERROR] != ""]
    if not len(failed):
        return []
    groups = failed.groupby(ERROR, sort=False)[NUMBER].agg(["count", "first"]).sort_values("count", ascending=False)
    lines: list[RenderableType] = [Text(f"No results of {len(failed):,} point{'s' if len(failed) > 1 else ''}:")]
    for reason, (count, first) in list(zip(groups.index, groups.to_numpy(), strict=True))[:5]:
        lines.append(Text(f"  point {first}{f' and {count - 1:,} more' if count > 1 else ''}: {reason}"))
    return lines + ([Text(f"  and {len(groups) - 5:,} other reasons")] if len(groups) > 5 else [])
