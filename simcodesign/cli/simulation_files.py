"""The files of ``simulate``: what each of them shows, and the functions that write them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcodesign.cli.written_files import PLOT_SUFFIXES, PRINTED, TABLE, Output, Outputs, RequestedFiles


@dataclass(frozen=True, kw_only=True)
class SimulatedRun:
    """The result of one simulation, with what its files need."""

    result: Any
    experiment: Any
    #: From when to when events are listed and the Gantt chart is drawn.
    window_s: tuple[float, float]
    as_json: bool


def _gantt(run: SimulatedRun, path: Path) -> None:
    from simcodesign.report.timelines.gantt import gantt_chart

    gantt_chart(run.result, path, run.window_s)


def _power(run: SimulatedRun, path: Path) -> None:
    from simcodesign.report.results.power_plot import power_over_time

    power_over_time(run.result, path)


def _events(run: SimulatedRun, path: Path) -> str:
    """Return the list of events as lines; printed with --json, as JSON."""
    from simcodesign.report.common.terminal import complain, json_text
    from simcodesign.report.events.event_list import event_lines, event_list

    events = event_list(run.result, *run.window_s)
    if run.result.engine == "compiled":
        complain("note: waits of messages for links and interfaces are those that --engine simpy records")
    if path == PRINTED and run.as_json:
        return json_text(events)
    return "".join(f"{line}\n" for line in event_lines(events))


def _trace(run: SimulatedRun, path: Path) -> None:
    from simcodesign.report.timelines.write import write_timeline

    write_timeline(run.result, path)


def _counters(run: SimulatedRun, path: Path) -> None:
    from simcodesign.counters.readers.tidy_table import write_counters
    from simcodesign.studies.extrapolation.virtual_profiler import counters_of

    write_counters(path, counters_of(run.result, repetition=run.experiment.seed))


def _page(run: SimulatedRun, _: Path) -> str:
    from simcodesign.report.timelines.page import run_page

    return run_page(run.result, run.experiment)


def _schedule(run: SimulatedRun, path: Path) -> None:
    """Write the schedule, and say on standard error which effects it leaves out."""
    from simcodesign.describe.design_point import phases_with_constants
    from simcodesign.describe.effects import ladder
    from simcodesign.describe.goal.format import write_goal
    from simcodesign.engine.simulate import schedule_of
    from simcodesign.report.common.terminal import complain

    experiment, scenario = run.experiment, run.experiment.scenario
    left_out = [
        effect.name
        for effect in ladder()
        if effect.random_on is not None
        and effect.changes_work
        and effect.acts_on(scenario.workload, scenario.machine)
        and effect.name not in experiment.effects
    ]
    if left_out:
        complain(f"note: written without {' and '.join(left_out)} (--effects {','.join(left_out)} for with)")
    if "network" in scenario.machine.varied_parts:
        complain("note: a schedule has no noise of messages")
    if places := phases_with_constants(scenario.workload, "network."):
        complain(f"note: a schedule has no network of its own for phases that have one: {', '.join(places)}")
    write_goal(schedule_of(scenario, effects=experiment.effects, seed=experiment.seed), path)


def _recording_of(run: SimulatedRun) -> Any:
    """Return the recording that is simulated. InputError for a workload that is none."""
    from simcodesign.core.errors import InputError
    from simcodesign.describe.python_programs.recorded_program import RecordedProgram

    scenario = run.experiment.scenario
    step = scenario.workload.program[0] if scenario.workload.program else None
    if not isinstance(step, RecordedProgram):
        what = f"{scenario.workload.name} is no recording"
        raise InputError(what, scenario.workload.place, allowed="a program in Python, or a trace of a program")
    point = scenario.bind()
    return step.recorded(point.ranks, step.arguments(point.values, scenario.workload.parameters))


def _recording(run: SimulatedRun, path: Path) -> None:
    from simcodesign.describe.recordings.file import write_recording

    write_recording(_recording_of(run), path)


def _replay(run: SimulatedRun, path: Path) -> None:
    """Write the trace, and say on standard error what it leaves out."""
    from simcodesign.describe.recordings.write_time_independent import write_time_independent
    from simcodesign.report.common.terminal import complain

    if left_out := write_time_independent(_recording_of(run), path):
        complain(f"note: a time-independent trace has no {' and no '.join(left_out)}")


FILES = Outputs(
    Output("plot", PLOT_SUFFIXES, "a plot of what ranks do over time; for replications, of their spread"),
    Output("gantt", PLOT_SUFFIXES, "a chart of what every rank does when", _gantt),
    Output("power", PLOT_SUFFIXES, "a plot of power over time", _power),
    Output(
        "events",
        (".txt",),
        "events of ranks and messages in order of time: waiting (with the rank or station), begin, end, arrival. "
        "They are not the engine's internal events, which the table counts",
        _events,
        is_text=True,
    ),
    Output("trace", (".json", ".json.gz"), "what ranks and stations did, for ui.perfetto.dev", _trace),
    Output("counters", (".csv",), "hardware counters of every phase and rank, for models of them", _counters),
    Output(
        "page",
        (".html",),
        "a page for a browser, without network: Gantt chart, network, clock and critical path",
        _page,
        is_text=True,
    ),
    Output("schedule", (".goal",), "the simulated operations as a GOAL schedule, for LogGOPSim or ATLAHS", _schedule),
    Output(
        "recording",
        (".recording.npz",),
        "the operations of a program in Python or a trace, to be simulated again anywhere",
        _recording,
    ),
    Output(
        "replay", (".ti",), "the operations as a time-independent trace, for SMPI of SimGrid (smpirun -replay)", _replay
    ),
    TABLE,
)
#: Files that show a single run.
OF_ONE_RUN = tuple(word for word in FILES.outputs if word not in ("plot", "table"))
#: Files that show one workload, not several jobs.
OF_WORKLOAD = ("power", "counters", "page", "schedule", "recording", "replay")
#: Files for which the engine records what ranks do, and those that show stations, too.
RECORDED = ("plot", "gantt", "events", "trace", "page")
WITH_STATIONS = ("events", "trace", "page")


def is_recorded(files: RequestedFiles) -> bool:
    """Return whether some of these files need a record of what ranks do."""
    return any(word in files for word in RECORDED)
