"""A whole sweep in one call, for Python: its table, and where formulas can be trusted."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from simcodesign.analytic.given_formulas.values import FormulaSources, given_formulas
from simcodesign.comparison.measured.sources import MeasuredSources, given_measurements
from simcodesign.core.errors import InputError
from simcodesign.core.processes.ordered_map import map_in_order
from simcodesign.core.shown_answers import Drawn
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.core.to_json import PlainResult
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import MachineSource, Scenario, ScenarioKeywords, SimulationKeywords, WorkloadSource
from simcodesign.engine.experiment import Experiment
from simcodesign.studies.anchored.sweep_columns import check_anchored, with_anchored_columns
from simcodesign.studies.sweep.design.grid import SweepAxis
from simcodesign.studies.sweep.evaluate import PackedSweep, PointTask, evaluate, forecast_frame, pack
from simcodesign.studies.sweep.points import PointResult, Value
from simcodesign.studies.sweep.sweep import Sweep, sweep_of
from simcodesign.studies.sweep.table import table_of
from simcodesign.studies.trust.formula_times import check_formulas, formula_times, with_formula_columns
from simcodesign.studies.trust.measured_columns import check_measured, measured_rows, with_measured_columns
from simcodesign.studies.trust.trust_map import WITHIN, TrustMap, check_fraction, trust_map


@dataclass(frozen=True)
class SweepTable(PlainResult, Drawn):
    """``table``: a row for every point, its axes first, then results, formulas and, if there are none, the reason.

    ``trust``: where formulas are within a fraction of the simulation; None if not requested. ``notes``: what was
    measured at no point of the sweep. ``axes``: what was varied.
    """

    table: pd.DataFrame
    trust: TrustMap | None
    notes: tuple[str, ...] = ()
    axes: tuple[SweepAxis, ...] = ()

    def json_fields(self) -> dict[str, Any]:
        """Return the columns of the table, the trust map, and notes if there are any."""
        shown = {"table": self.table.to_dict("list"), "trust": self.trust}
        return shown | ({"notes": self.notes} if self.notes else {})


#: Attributes of a scenario that others give as options.
_OF_SCENARIO = (*ScenarioKeywords.__annotations__,)


class PointOptions(TypedDict, total=False):
    """The keyword options of ``sweep`` about its points."""

    anchor: MeasuredSources
    sample: tuple[int, str] | None
    tie: Mapping[str, str | Sequence[str | float]] | None
    jobs: int


class SweepOptions(SimulationKeywords, PointOptions, total=False):
    """The keyword options of ``sweep``."""


def _points(
    *,
    anchor: MeasuredSources = None,
    sample: tuple[int, str] | None = None,
    tie: Mapping[str, str | Sequence[str | float]] | None = None,
    jobs: int = 1,
) -> tuple[MeasuredSources, tuple[int, str] | None, list[str], int]:
    """Return the options about points: what anchors them, the sample, the ties as texts, and the most processes."""
    return anchor, sample, [f"{name}={_tie_text(given)}" for name, given in (tie or {}).items()], jobs


@shows_keywords(PointOptions, taken_by=_points)
@shows_keywords(SimulationKeywords, taken_by=Experiment.of)
def sweep(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    vary: Sequence[str] | Mapping[str, Sequence[Value]],
    simulate: bool = False,
    formulas: FormulaSources = None,
    measured: MeasuredSources = None,
    within: float | None = None,
    **options: Unpack[SweepOptions],
) -> SweepTable:
    """Read a workload on a machine at every point of a grid or sample, and keep the results in memory.

    ``vary``: axes as ``simcodesign sweep --vary`` takes them (``"P=1:64:x2"``), or values by name, SI units or words.
    ``parameters``: what is the same at all points, in SI units or as texts (``"1 MiB"``). ``simulate``: whether points
    are simulated; the forecast is one vectorised call. ``sample``: as for ``--sample``. ``tie``: what follows the axes,
    by name, as an expression of them (``{"nodes": "P"}``), or a list of such for a shape
    (``{"network.topology.shape": ["P/8", 8]}``). ``jobs``: maximum number of processes.
    ``formulas``: as for ``compare``; each gives the table the columns ``formula_NAME_s`` and, with simulations,
    ``formula_NAME_error``. ``measured``: as for ``compare``, in addition to the workload's own; points with a measured
    total get it with its spread (``measured_s``, ``measured_low_s``, ...), and the errors of both readings and of
    formulas against it. ``anchor``: as for ``compare``; gives the table the columns ``anchored_forecast_s``,
    ``anchored_simulated_s``, the ends of their intervals, ``anchored_at_P`` and ``anchored_note``. ``within``: the
    fraction of the simulation within which formulas, the workload's own included, and our forecast are trusted;
    0.1 where formulas are given and points are simulated.

    Raises InputError for anything that cannot be used; a point that fails has the reason in its row.

    >>> import simcodesign as sc
    >>> table = sc.sweep("jacobi", "torus-cluster", vary=["P=1:8:x2"]).table
    >>> [int(P) for P in table["P"]]
    [1, 2, 4, 8]
    """
    axes = vary if not isinstance(vary, Mapping) else [f"{name}={_texts(values)}" for name, values in vary.items()]
    kept: dict[str, Any] = dict(options)
    of_points = {name: kept.pop(name) for name in PointOptions.__annotations__ if name in kept}
    anchor, sample, ties, jobs = _points(**of_points)
    work, on, settings = _given(workload, machine, parameters or {}, kept)
    whole = sweep_of(work, on, axes, settings=settings, sample=sample, ties=ties, simulate=simulate, **kept)
    given = given_formulas(formulas)
    seen = (*given_measurements(measured, whole.workload), *given.measured)
    asks_trust = within is not None or (bool(given.formulas) and simulate)
    if within is not None and not simulate:
        raise InputError("within needs simulations to compare with", value=within, allowed="simulate=True")
    fraction = check_fraction(WITHIN if within is None else within)
    check_formulas(whole, given)
    check_measured(whole, seen)
    anchors = given_measurements(anchor, whole.workload)
    check_anchored(whole, anchors)
    table = table_of(_rows(whole, jobs)) if simulate else forecast_frame(whole)
    times = formula_times(whole, table, given, own=asks_trust)
    trust = trust_map(whole, table, times, fraction) if asks_trust else None
    rows = measured_rows(whole, table, seen, whole.workload.measured)
    complete = with_measured_columns(with_formula_columns(table, times), rows, times)
    complete = with_anchored_columns(complete, whole, anchors)
    return SweepTable(complete, trust, tuple(filter(None, [rows.note])), tuple(whole.design.axes))


def _given(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None,
    parameters: Mapping[str, object],
    options: dict[str, Any],
) -> tuple[WorkloadSource, MachineSource, dict[str, str]]:
    """Return the workload, the machine, and the settings as texts.

    ``options`` become the options of a scenario, if there is one.
    """
    if isinstance(workload, Scenario):
        own = {name: options.pop(name, None) for name in _OF_SCENARIO}
        scenario = Scenario.of(workload, machine, parameters, **own)
        options |= {name: getattr(scenario, name) for name in _OF_SCENARIO}
        workload, machine, parameters = scenario.workload, scenario.machine, scenario.parameters
    if machine is None:
        raise InputError("a machine is missing", allowed="an object, a bundled name, or the path of a file")
    if isinstance(machine, Machine):  # which has no file whose keys could be set
        known = machine.constants()
        constants = {name: value for name, value in parameters.items() if name in known and not isinstance(value, str)}
        machine = machine.with_constants({name: np.asarray(value, dtype=float) for name, value in constants.items()})
        parameters = {name: value for name, value in parameters.items() if name not in constants}
    return workload, machine, {name: _text(value) for name, value in parameters.items()}


def _tie_text(given: str | Sequence[str | float]) -> str:
    """As ``--tie`` has it behind the sign."""
    return given if isinstance(given, str) else f"[{', '.join(map(str, given))}]"


def _text(value: object) -> str:
    """As ``--set`` has it: a text as it is, a number in SI units."""
    return value if isinstance(value, str) else repr(value.item() if isinstance(value, np.generic) else value)


def _texts(values: Sequence[Value]) -> str:
    return ",".join(value if isinstance(value, str) else repr(float(value)) for value in values)


def _rows(sweep: Sweep, jobs: int) -> list[PointResult]:
    """Return the rows of all points, by at most ``jobs`` processes."""
    task = partial(_row, sweep, pack(sweep))
    began = time.monotonic()
    first = task(0)
    return [first, *map_in_order(task, sweep.count, jobs, time.monotonic() - began)]


def _row(sweep: Sweep, packed: PackedSweep, number: int) -> PointResult:
    (row,) = evaluate(PointTask(packed, (sweep.point(number),)))
    return row
