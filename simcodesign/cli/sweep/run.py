"""What ``simcodesign sweep`` does with its options."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from simcodesign.cli.options import check_files, given_settings
from simcodesign.cli.validation import usable_cpus
from simcodesign.core.errors import InputError, Place, SimcodesignError
from simcodesign.report.common.terminal import complain, print_all

FORECAST = "forecast"
ENDING = ".sweep.sqlite"


@dataclass(frozen=True)
class Swept:
    """The options as they were given."""

    workload: str
    machine: str
    over: list[str]
    sample: tuple[int, str] | None
    reading: str
    settings: list[str]
    ranks: int | None
    preset: str | None
    phases: list[str] | None
    effects: str
    engine: str
    iterations: str
    seed: int
    store: Path | None
    resume: bool
    retry: bool
    jobs: int | None
    scheduler: str | None
    output: Path | None
    plot: Path | None
    of: list[str]
    form: str | None
    json_lines: bool

    def check(self) -> None:
        """InputError for options that exclude each other and files that cannot be written, before any work."""
        if self.scheduler and self.jobs:
            raise InputError("--jobs and --scheduler exclude each other", allowed="one of them")
        for option, given, needed, there in (
            ("--of", self.of, "--plot", self.plot),
            ("--form", self.form, "--plot", self.plot),
            ("--retry", self.retry, "--resume", self.resume),
            ("--scheduler", self.scheduler, "--reading simulate or both", self.reading != FORECAST),
        ):
            if given and not there:
                raise InputError("has no meaning here", Place(option), allowed=f"with {needed}")
        check_files(self.plot)
        if self.output:
            import_module("simcodesign.studies.sweep.table").check_table_file(self.output)

    def sweep(self) -> Any:
        return import_module("simcodesign.studies.sweep.sweep").sweep_of(
            self.workload,
            self.machine,
            self.over,
            settings=given_settings(self.settings, self.ranks),
            sample=self.sample,
            reading=self.reading,
            preset=self.preset,
            phases=self.phases,
            effects=self.effects,
            seed=self.seed,
            engine=self.engine,
            iterations=self.iterations,
        )

    def kept_in(self, sweep: Any) -> Path | None:
        """The file of the store, None for a sweep that needs none."""
        named = Path(f"{sweep.workload.name}-{sweep.source.machine.name}{ENDING}")
        if self.store or (self.reading == FORECAST and not (self.resume and named.exists())):
            return self.store
        return named


def swept(asked: Swept, arguments: Sequence[str]) -> None:
    """Run the sweep. ``arguments``: those of the command, to say how to continue it."""
    asked.check()
    sweep = asked.sweep()
    for note in _notes(sweep):
        complain(f"note: {note}")
    many = f"{sweep.count:,} point{'' if sweep.count == 1 else 's'}"
    title = f"{sweep.workload.name} on {sweep.source.machine.name}: {many}"
    if asked.plot:
        plots = import_module("simcodesign.report.sweep.plot")
        plots.check_plot([*plots.QUANTITIES.values()], sweep.design.axes, (), asked.form)
    kept = asked.kept_in(sweep)
    if kept is None:
        table = import_module("simcodesign.studies.sweep.evaluate").forecast_frame(sweep)
        failed = int((table["error"] != "").sum())
        outcome = import_module("simcodesign.studies.sweep.run").Outcome(
            sweep.count, sweep.count, failed, sweep.count, stopped=False
        )
        if asked.json_lines:
            events_module = import_module("simcodesign.report.sweep.events")
            with events_module.SweepEvents(events_module.Tally(0, sweep.count, 0), store=None) as events:
                events.end(outcome)
    else:
        table, outcome = _stored(asked, sweep, kept, again=_resuming(arguments))
    if asked.output:
        import_module("simcodesign.studies.sweep.table").write_table(table, asked.output)
    if asked.plot:
        how = {"title": title, "zipped": sweep.design.zipped}
        import_module("simcodesign.report.sweep.plot").sweep_plot(
            table, sweep.design.axes, asked.plot, asked.of, asked.form, **how
        )
    if not asked.json_lines:
        print_all(import_module("simcodesign.report.sweep.tables").sweep_tables(title, table, sweep.design.axes))
    if kept is not None:
        complain(import_module("simcodesign.report.sweep.tables").outcome_line(outcome, str(kept)))
    if outcome.failed == outcome.count:  # a script must see that there is nothing
        raise typer.Exit(1)


def _notes(sweep: Any) -> Iterator[str]:
    """What a user should know before the work begins."""
    if sweep.design.note:
        yield sweep.design.note
    paths = {axis.known.path: "" for axis in sweep.design.axes}
    replaced = import_module("simcodesign.describe.design_point").replaced_constants(sweep.workload, paths)
    for path, places in replaced.items():
        yield f"{path} has no effect in phases of {sweep.workload.name} that replace it: {', '.join(places)}"


def _stored(asked: Swept, sweep: Any, kept: Path, again: str) -> tuple[Any, Any]:
    """The table and the outcome of a sweep that is kept in a store; when it is stopped, the command ends here."""
    with ExitStack() as stack:
        stop = stack.enter_context(import_module("simcodesign.core.stop_signals").StopSignals())
        store = stack.enter_context(_opened(asked, sweep, kept))
        try:
            outcome = _run(asked, sweep, store, stop)
        except SimcodesignError:
            complain(f"{_so_far(sweep, store, kept)}; go on with: {again}")
            raise
        if outcome.stopped:
            complain(f"stopped, {_so_far(sweep, store, kept)}; go on with: {again}")
            raise typer.Exit(128 + stop.number)
        return store.frame(), outcome


def _opened(asked: Swept, sweep: Any, kept: Path) -> Any:
    """The store, which belongs to this sweep."""
    module = import_module("simcodesign.studies.sweep.store")
    if not (asked.resume and kept.exists()):
        return module.Store.create(kept, sweep.meta())
    store = module.Store.open(kept)
    try:
        store.check_sweep(sweep)
        if asked.retry:
            store.forget_failures()
    except BaseException:
        store.close()
        raise
    return store


def _run(asked: Swept, sweep: Any, store: Any, stop: Any) -> Any:
    module, events_module = (
        import_module("simcodesign.studies.sweep.run"),
        import_module("simcodesign.report.sweep.events"),
    )
    stored = len(store)
    left = sweep.count - stored
    tally = events_module.Tally(stored, sweep.count, store.failed())
    with ExitStack() as stack:
        crew = None
        if sweep.reading != FORECAST and left:
            jobs = min(asked.jobs or usable_cpus(), left)
            crew = stack.enter_context(import_module("simcodesign.studies.sweep.executors").crew(jobs, asked.scheduler))
            if asked.scheduler and not crew.count:
                complain(f"note: the scheduler {asked.scheduler} has no workers yet; the sweep waits for some")
        where = {"store": str(store.path), "workers": str(crew or "this process")}
        events: Any = stack.enter_context(events_module.SweepEvents(tally, **where)) if asked.json_lines else None
        on_progress = events.update if events else stack.enter_context(events_module.sweep_progress(tally))
        if crew is None:
            outcome = module.run_forecast(sweep, store, on_progress, stop=stop)
        else:
            outcome = module.run(sweep, store, crew, on_progress, stop=stop)
            if outcome.stopped:
                crew.close(now=True)
        if events:
            events.end(outcome)
        return outcome


def _so_far(sweep: Any, store: Any, kept: Path) -> str:
    """What is stored, where the store can still be read."""
    report, module = import_module("simcodesign.report.sweep.tables"), import_module("simcodesign.studies.sweep.run")
    try:
        return str(report.outcome_line(module.outcome_of(store, sweep), str(kept)))
    except SimcodesignError:
        return f"points are stored in {kept}"


def _resuming(arguments: Sequence[str]) -> str:
    """The command that goes on."""
    again = [item for item in arguments if item not in ("--resume", "--retry")]
    return shlex.join(["simcodesign", "sweep", *again, "--resume"])
