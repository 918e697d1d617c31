"""Which tables each kind of object shows in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich.console import RenderableType

from simcodesign.comparison.compare import Comparison
from simcodesign.core.result import Result
from simcodesign.core.shown_answers import VIEWS
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.fitting.fits import Fit, Fits
from simcodesign.report.common.tables import text_table
from simcodesign.report.fits.tables import percent, r2_text
from simcodesign.report.machines.machine_sheet import machine_sheet
from simcodesign.report.notebook.html import html_of
from simcodesign.report.replication.comparison import replicated_comparison_tables
from simcodesign.report.replication.tables import replication_tables
from simcodesign.report.results.comparison_tables import comparison_tables
from simcodesign.report.results.tables import forecast_tables, simulation_tables
from simcodesign.report.results.workload_sheet import workload_sheet
from simcodesign.report.trust.tables import trust_tables
from simcodesign.studies.replication.comparison import ReplicatedComparison
from simcodesign.studies.replication.replicate import Replicated
from simcodesign.studies.trust.sweep_in_memory import SweepTable
from simcodesign.studies.trust.trust_map import TrustMap

#: Maximum number of points of a sweep, or fits, in a view.
MOST_ROWS = 40


def _shows(*kinds: type) -> Callable[[Callable[[Any], Iterable[RenderableType]]], None]:
    """Return a decorator: objects of these classes show the tables that the function makes."""

    def registered(tables: Callable[[Any], Iterable[RenderableType]]) -> None:
        for kind in kinds:
            VIEWS.add(kind, lambda shown: html_of(tables(shown)))

    return registered


@_shows(Result)
def _result(result: Result) -> Iterable[RenderableType]:
    if result.reading == "simulation":
        return simulation_tables(result)
    if np.ndim(result.makespan_s):
        makespans = np.asarray(result.makespan_s)
        return [
            f"Forecast of {result.workload} on {result.machine}: {makespans.size:,} points, "
            f"{makespans.min():.4g} to {makespans.max():.4g} s"
        ]
    return forecast_tables(result)


@_shows(SweepTable)
def _sweep(sweep: SweepTable) -> Iterable[RenderableType]:
    return [_frame(sweep.table), *([] if sweep.trust is None else trust_tables(sweep.trust)), *sweep.notes]


def _frame(frame: pd.DataFrame) -> RenderableType:
    """Return the columns of a table that say something, of its first points."""
    shown = frame[[name for name in frame.columns if not (frame[name] == "").all() and not frame[name].isna().all()]]
    table = text_table(f"{len(frame):,} points", *map(str, shown.columns), right=[*map(str, shown.columns)])
    for row in shown.head(MOST_ROWS).itertuples(index=False):
        table.add_row(*(f"{value:.6g}" if isinstance(value, float) else str(value) for value in row))
    if len(frame) > MOST_ROWS:
        table.add_row(f"... {len(frame) - MOST_ROWS:,} more")
    return table


@_shows(Fit)
def _fit(fit: Fit) -> Iterable[RenderableType]:
    return _table_of([fit])


@_shows(Fits)
def _fits(fits: Fits) -> Iterable[RenderableType]:
    more = [f"... {len(fits) - MOST_ROWS:,} more"] if len(fits) > MOST_ROWS else []
    return [*_table_of(fits[:MOST_ROWS]), *more]


def _table_of(fits: Sequence[Fit]) -> Iterable[RenderableType]:
    errors = ("SMAPE", "cross-validated SMAPE", "R2")
    table = text_table("Models", "region", "metric", "model", *errors, right=errors)
    for fit in fits:
        shares = (percent(fit.smape), percent(fit.cross_validated_smape), r2_text(fit.r2))
        table.add_row(fit.region or "-", fit.metric or "-", fit.model.text, *shares)
    return [table, *(f"{fit.region or fit.metric}: {fit.warning}" for fit in fits if fit.warning)]


for _kind, _tables in (
    (Machine, machine_sheet),
    (Workload, workload_sheet),
    (Comparison, comparison_tables),
    (Replicated, replication_tables),
    (ReplicatedComparison, replicated_comparison_tables),
    (TrustMap, trust_tables),
):
    _shows(_kind)(_tables)
