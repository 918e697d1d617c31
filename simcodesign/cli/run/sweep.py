"""Run a sweep: into a store or as one forecast; print, write and plot its table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pandas as pd
from click.exceptions import Exit

from simcodesign.analytic.given_formulas.values import given_formulas
from simcodesign.cli.options.shared import VerdictOptions, usable_cpus
from simcodesign.cli.options.sweep_options import STORE_ENDING, STORE_FOLDER, SweepOptions, resuming_command
from simcodesign.cli.run.scenario import parsed_settings, parsed_share, run_keywords
from simcodesign.cli.run.verdict import (
    AGAINST_MEASURED,
    FORMULAS,
    NAN,
    SIMULATION,
    check_tolerance,
    measured_tables,
    tolerance_of,
)
from simcodesign.cli.written_files import RequestedFiles
from simcodesign.comparison.measured.sources import given_measurements
from simcodesign.core.errors import InputError, Place, SimcodesignError
from simcodesign.core.files.file_names import safe_file_name
from simcodesign.core.processes.stop_signals import StopSignals
from simcodesign.core.to_json import to_plain
from simcodesign.describe.design_point import replaced_constants
from simcodesign.describe.machine_use import on_first_rows
from simcodesign.describe.variants import WITH, variant_label
from simcodesign.report.common.terminal import complain, print_all
from simcodesign.report.sweep.events import SweepBar, SweepEvents, SweepProgress, write_event
from simcodesign.report.sweep.plot import check_plot, sweep_plot
from simcodesign.report.sweep.tables import outcome_line, sweep_tables
from simcodesign.report.trust.plot import check_trust_plot, trust_plot
from simcodesign.report.trust.tables import trust_tables
from simcodesign.studies.anchored.sweep_columns import anchored_columns, check_anchored, with_anchored_columns
from simcodesign.studies.sweep.content_digest import digest
from simcodesign.studies.sweep.evaluate import FORECAST, forecast_frame, result_columns
from simcodesign.studies.sweep.executors import sweep_executor
from simcodesign.studies.sweep.foreseen import foreseen_failures
from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.run import SweepOutcome, outcome_of, run, run_forecast
from simcodesign.studies.sweep.store import Store
from simcodesign.studies.sweep.sweep import Sweep, sweep_of
from simcodesign.studies.sweep.table import write_table
from simcodesign.studies.trust.formula_times import (
    check_formulas,
    column_of_formula,
    formula_times,
    with_formula_columns,
)
from simcodesign.studies.trust.measured_columns import (
    MEASURED,
    check_measured,
    error_column,
    measured_columns,
    measured_records,
    measured_rows,
    with_measured_columns,
)
from simcodesign.studies.trust.trust_map import WITHIN, TrustMap, check_fraction, trust_map

ALL_FAILED = 1
#: Number of values of P up to which the placement of ranks is noted.
MOST_LOOKED_AT = 1000
_WITHIN = Place("--within")
#: Hexadecimal digits that tell the stores of several grids of one workload and machine apart.
_DIGITS = 8
#: How the columns of what may be judged begin.
_JUDGED_COLUMNS = {FORECAST: "forecast", SIMULATION: "simulated"}


def run_sweep(options: SweepOptions, files: RequestedFiles) -> None:
    """Evaluate every point; print, write and draw the table. Exit status 1 if every point fails."""
    sweep = _sweep(options)
    fraction = WITHIN if options.within is None else check_fraction(parsed_share(options.within, "--within"), _WITHIN)
    given = given_formulas(options.formula)
    check_formulas(sweep, given)
    measured = (*given_measurements(measured_tables(options.verdict), sweep.workload), *given.measured)
    check_measured(sweep, measured)
    anchors = given_measurements(options.anchor, sweep.workload)
    check_anchored(sweep, anchors)
    limit = tolerance_of(options.verdict, bool(options.formula))
    for note in _notes(sweep):
        complain(f"note: {note}")
    if "plot" in files and options.plots_trust:
        check_trust_plot(sweep.design.axes, len(given.formulas) + len(sweep.workload.formulas) + 1)
    elif "plot" in files:
        formulas = [*(one.name for one in given.formulas), *(sweep.workload.formulas if options.asks_trust else ())]
        columns = _columns(sweep, formulas, bool(measured or sweep.workload.measured))
        columns += anchored_columns(sweep.simulate) if anchors else []
        check_plot(columns, sweep.design.axes, options.of, options.form)
    file = _store_file(options, sweep)
    table, outcome = _forecast(options, sweep) if file is None else _stored(options, sweep, file)
    times = formula_times(sweep, table, given, own=options.asks_trust)
    trust = trust_map(sweep, table, times, fraction) if options.asks_trust else None
    rows = measured_rows(sweep, table, measured, sweep.workload.measured)
    complete = with_measured_columns(with_formula_columns(table, times), rows, times)
    complete = with_anchored_columns(complete, sweep, anchors)
    _show(options, files, sweep, complete, [one.column for one in times], trust)
    if rows.note:
        complain(f"note: {rows.note}")
    if file is not None:
        complain(outcome_line(outcome, str(file)))
    if outcome.failed == outcome.count:  # a script must see that there is nothing
        raise Exit(ALL_FAILED)
    if limit is not None:
        check_tolerance(_worst_errors(complete, options.verdict, [one.column for one in times if one.given]), limit)


def _columns(sweep: Sweep, formulas: Iterable[str], is_measured: bool) -> list[str]:
    """Return the columns that the table may have, known before any point is evaluated; ``formulas``: their names."""
    names = [column_of_formula(name) for name in formulas]
    memory = sweep.source.machine.memory
    caches = () if memory is None else memory.level_names[:-1]
    columns = [*result_columns(sweep.simulate, caches), *(f"{name}_s" for name in names)]
    columns += [f"{name}_error" for name in names if sweep.simulate]
    return columns + (measured_columns(names) if is_measured else [])


def _worst_errors(table: pd.DataFrame, options: VerdictOptions, formulas: Sequence[str]) -> dict[str, float]:
    """Return the errors that count: the largest of each at points with a measured time.

    nan where one of the points has no error. ``formulas``: how the columns of the given formulas begin.
    """
    simulated = error_column("simulated") in table.columns
    there = table[MEASURED].notna() if MEASURED in table.columns else pd.Series(False, index=table.index)
    errors: dict[str, float] = {}
    for name in options.tolerance_of or [SIMULATION if simulated else FORECAST]:
        columns = {f"formula {one.removeprefix('formula_')}": error_column(one) for one in formulas}
        columns = columns if name == FORMULAS else {f"the {name}": error_column(_JUDGED_COLUMNS[name])}
        for what, column in columns.items():
            known = table.loc[there, column] if column in table.columns else pd.Series(dtype="float64")
            worst = NAN if known.isna().any() else max(map(float, known), key=abs, default=NAN)
            errors[f"{what}{AGAINST_MEASURED}"] = worst
    return errors


def _sweep(options: SweepOptions) -> Sweep:
    scenario = options.scenario
    return sweep_of(
        scenario.workload,
        scenario.machine,
        options.vary,
        settings=parsed_settings(scenario.all_settings),
        sample=options.sample,
        ties=options.tie,
        simulate=options.simulate,
        preset=scenario.preset,
        phases=scenario.phases or None,
        **run_keywords(options.simulation),
    )


def _notes(sweep: Sweep) -> Iterator[str]:
    """Yield notes for a user before the work begins."""
    if sweep.design.note:
        yield sweep.design.note
    yield from _first_rows(sweep)
    if sweep.simulate:
        yield from foreseen_failures(sweep)
    paths = {axis.known.path: "" for axis in sweep.design.settings}
    for path, places in replaced_constants(sweep.workload, paths).items():
        yield f"{path} has no effect in phases of {sweep.workload.name} that replace it: {', '.join(places)}"


def _first_rows(sweep: Sweep) -> Iterator[str]:
    """Note that values of P are on the first rows of a larger mesh or torus, if the machine is the same for all."""
    settings, machine = sweep.design.settings, sweep.source.machine
    if any(axis.known.path.partition(".")[0] in ("nodes", "mapping", "processors_per_node") for axis in settings):
        return
    if any(axis.known.path.startswith("network.topology") for axis in settings):
        return
    every = [int(value) for axis in settings if axis.known.path == "P" for value in axis.given[:MOST_LOOKED_AT]]
    rows = [ranks for ranks in every if 1 <= ranks <= machine.most_ranks and on_first_rows(machine, ranks)]
    if rows:
        which = f"P = {min(rows):,}" + (f" to {max(rows):,}" if len(rows) > 1 else "")
        where = f"the first nodes of the {machine.network.topology.label}, row by row"
        others = "--set mapping=grid takes compact parts of it, --tie nodes=P a network of as many nodes"
        yield f"{which}: ranks are on {where}; {others}"


def _store_file(options: SweepOptions, sweep: Sweep) -> Path | None:
    """Return the file of the store, None for a sweep that needs none; by default each grid has one of its own."""
    names = (sweep.workload.name, sweep.source.machine.label)
    name = "-".join(safe_file_name(name.replace(WITH, "-").replace(" ", "")) for name in names)
    usual = Path(STORE_FOLDER, f"{name}-{digest(sweep.meta())[:_DIGITS]}{STORE_ENDING}")
    return options.resume or options.store or (usual if options.simulate else None)


def _show(
    options: SweepOptions,
    files: RequestedFiles,
    sweep: Sweep,
    table: pd.DataFrame,
    formulas: Sequence[str],
    trust: TrustMap | None,
) -> None:
    """Write, draw and print the table and what is to be trusted where."""
    many = f"{sweep.count:,} point{'' if sweep.count == 1 else 's'}"
    title = f"{_workload_label(options, sweep)} on {sweep.source.machine.label}: {many}"
    axes = sweep.design.axes
    for path in files.paths("table"):
        write_table(table, path, sweep.meta())
    for path in files.paths("plot"):
        if trust is not None and options.plots_trust:
            trust_plot(trust, path)
        else:
            sweep_plot(table, axes, path, options.of, options.form, title=title, zipped=sweep.design.zipped)
    if options.json_lines:
        for row in measured_records(table, [axis.name for axis in axes]):
            write_event("measured", **row)
    else:
        print_all(sweep_tables(title, table, sweep.design.settings, formulas))
        print_all([] if trust is None else trust_tables(trust))
    if options.json_lines and trust is not None:
        write_event("trust", **to_plain(trust))


def _workload_label(options: SweepOptions, sweep: Sweep) -> str:
    """Return the workload, with what is set of it."""
    given = parsed_settings(options.scenario.all_settings)
    return variant_label(
        sweep.workload.name, [f"{name}={text}" for name, text in given.items() if name in sweep.workload.parameters]
    )


def _forecast(options: SweepOptions, sweep: Sweep) -> tuple[pd.DataFrame, SweepOutcome]:
    """All points together, kept nowhere."""
    table = forecast_frame(sweep)
    failed = int((table["error"] != "").sum())
    outcome = SweepOutcome(sweep.count, sweep.count, failed, sweep.count, stopped=False)
    if options.json_lines:
        with SweepEvents(SweepProgress(0, sweep.count, 0), store=None) as events:
            events.end(outcome)
    return table, outcome


def _stored(options: SweepOptions, sweep: Sweep, file: Path) -> tuple[pd.DataFrame, SweepOutcome]:
    """Return the table and the outcome of a sweep that is kept in a store.

    When it is stopped, the command ends here.
    """
    again = resuming_command(options.arguments, file)
    with ExitStack() as stack:
        stop = stack.enter_context(StopSignals())
        store = stack.enter_context(_open_store(options, sweep, file))
        try:
            outcome = _run(options, sweep, store, stop)
        except SimcodesignError:
            complain(f"{_so_far(sweep, store, file)}; continue with: {again}")
            raise
        if outcome.stopped:
            complain(f"stopped, {_so_far(sweep, store, file)}; continue with: {again}")
            raise Exit(128 + stop.number)
        return store.frame(), outcome


def _open_store(options: SweepOptions, sweep: Sweep, file: Path) -> Store:
    """Return the store, which belongs to this sweep."""
    if options.store is not None and file.exists():
        with Store.open(file, write=False) as known:  # a sweep cannot continue with the store of another one
            known.check_sweep(sweep)
        allowed = f"to continue with it: {resuming_command(options.arguments, file)}; otherwise another --store"
        raise InputError("exists already", Place(str(file)), allowed=allowed)
    if options.resume is None and not file.exists():
        if options.store is None:
            file.parent.mkdir(exist_ok=True)
        return Store.create(file, sweep.meta())
    if options.resume is None:
        complain(f"note: continues with {file}; delete it to start again")
    store = Store.open(file)
    try:
        store.check_sweep(sweep)
        if options.retry:
            store.forget_failures()
    except BaseException:
        store.close()
        raise
    return store


def _run(options: SweepOptions, sweep: Sweep, store: Store, stop: StopSignals) -> SweepOutcome:
    """Evaluate what is not in the store yet: a forecast in this process, simulations in others."""
    stored = len(store)
    left = sweep.count - stored
    progress = SweepProgress(stored, sweep.count, store.failed())
    with ExitStack() as stack:
        executor = None
        if sweep.simulate and left:
            jobs = min(options.jobs or usable_cpus(), left)
            executor = stack.enter_context(sweep_executor(jobs, options.scheduler))
            if options.scheduler and not executor.count:
                complain(f"note: the scheduler {options.scheduler} has no workers yet; the sweep waits for some")
        events = SweepEvents(progress, store=str(store.path), workers=str(executor or "this process"))
        on_progress: Callable[[Sequence[PointResult]], None]
        if options.json_lines:
            on_progress = stack.enter_context(events).update
        else:
            on_progress = stack.enter_context(SweepBar(progress))
        if executor is None:
            outcome = run_forecast(sweep, store, on_progress, stop=stop)
        else:
            outcome = run(sweep, store, executor, on_progress, stop=stop)
            if outcome.stopped:
                executor.close(now=True)
        if options.json_lines:
            events.end(outcome)
        return outcome


def _so_far(sweep: Sweep, store: Store, file: Path) -> str:
    """Return the stored part, if the store can still be read."""
    try:
        return outcome_line(outcome_of(store, sweep), str(file))
    except SimcodesignError:
        return f"points are stored in {file}"
