"""Columns of the table of a sweep: both readings anchored at measurements on fewer ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from simcodesign.comparison.measured.anchored import Anchored
from simcodesign.core.errors import InputError, Place
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured.times import MeasuredTimes
from simcodesign.studies.anchored.anchor import Anchors, Predict, forecast_s, simulated_s
from simcodesign.studies.sweep.evaluate import FORECAST, PREFIXES, SweepEvaluator
from simcodesign.studies.sweep.points import Value
from simcodesign.studies.sweep.sweep import Sweep
from simcodesign.studies.sweep.table import ERROR, NUMBER, read_s

#: How columns begin; the ranks of the anchor, and why there is none or what to be careful of.
ANCHORED = "anchored_"
ANCHOR_RANKS, NOTE = f"{ANCHORED}at_P", f"{ANCHORED}note"


def anchored_columns(simulate: bool) -> list[str]:
    """Return the columns of numbers that ``with_anchored_columns`` adds."""
    readings = PREFIXES if simulate else (FORECAST,)
    return [*(f"{ANCHORED}{name}{end}_s" for name in readings for end in ("", "_low", "_high")), ANCHOR_RANKS]


def check_anchored(sweep: Sweep, times: Sequence[MeasuredTimes]) -> None:
    """Raise InputError, before any point is simulated, for an axis that has the name of an anchored column."""
    taken = [name for name in sweep.names if name.startswith(ANCHORED)]
    if times and taken:
        what = "an axis has the name of an anchored column"
        raise InputError(what, Place("--anchor"), value=taken[0], allowed="another name")


def with_anchored_columns(table: pd.DataFrame, sweep: Sweep, times: Sequence[MeasuredTimes]) -> pd.DataFrame:
    """Return the table of a sweep with the columns of anchored times.

    ``anchored_forecast_s`` and ``anchored_simulated_s``, the ends of their intervals (``anchored_forecast_low_s``,
    ...), ``anchored_at_P``, the ranks of the anchor, and ``anchored_note``, before the column of reasons. If nothing
    nearby was measured, they are nan, and the note is the reason. Unchanged without ``times``.
    """
    if not times:
        return table
    every = _answers(table, sweep, tuple(times))
    columns: dict[str, object] = {str(name): table[name] for name in table.columns if name != ERROR}
    for name, answers in every.items():
        columns[f"{ANCHORED}{name}_s"] = [np.nan if one is None else one.anchored_s for one in answers]
        ends = [None if one is None else one.interval_s for one in answers]
        for end, word in enumerate(("low", "high")):
            columns[f"{ANCHORED}{name}_{word}_s"] = [np.nan if one is None else one[end] for one in ends]
    last = [*every.values()][-1]
    columns[ANCHOR_RANKS] = [np.nan if one is None or one.refused else one.anchor.ranks for one in last]
    notes = ["" if one is None else one.refused or one.warning for one in last]
    columns[NOTE] = pd.Series(notes, index=table.index, dtype="str")
    return pd.DataFrame({**columns, ERROR: table[ERROR]}, index=table.index)


def _answers(table: pd.DataFrame, sweep: Sweep, times: tuple[MeasuredTimes, ...]) -> dict[str, list[Anchored | None]]:
    """Each reading of the table with its anchored prediction at each row; None for points without results."""
    evaluator, groups = SweepEvaluator(sweep), dict[object, Anchors]()
    read = {name: time_s for name in PREFIXES if (time_s := read_s(table, name)) is not None}
    every: dict[str, list[Anchored | None]] = {name: [] for name in read}
    for row, number in enumerate(table[NUMBER].to_numpy(dtype=np.int64).tolist()):
        if table[ERROR].iloc[row]:
            for answers in every.values():
                answers.append(None)
            continue
        point = sweep.point(number)
        of_machine = partial(_changed_machine, evaluator, point.changes)
        group = tuple(sorted(point.changes.items())), point.seed
        anchors = groups.setdefault(group, Anchors(times, of_machine))
        scenario = evaluator.scenario(point)
        experiment = replace(sweep.experiment, scenario=scenario, seed=point.seed)
        for name, time_s in read.items():
            predict: Predict = forecast_s if name == FORECAST else partial(simulated_s, experiment)
            every[name].append(anchors.anchored(name, predict, scenario, float(time_s[row])))
    return every


def _changed_machine(
    evaluator: SweepEvaluator, at_point: Mapping[str, Value], changes: Mapping[str, object]
) -> Machine:
    """Return the machine of a point, with what a measured row has of the machine's file instead of that."""
    return evaluator.machine({**at_point, **changes})  # type: ignore[dict-item] # numbers and words, as measured
