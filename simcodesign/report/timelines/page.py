"""The timeline of a run as one page that needs a browser alone: Gantt chart, network, clock and critical path.

The page is a lesson with one step and one run.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError, Place
from simcodesign.core.result import Result
from simcodesign.engine.experiment import Experiment
from simcodesign.generate.lower import make_plan
from simcodesign.lessons.compute import Numbers
from simcodesign.lessons.description import Lesson, Run, Slider, Step, Stop, TraceRequest, View
from simcodesign.lessons.figures.stations import OF_STATIONS
from simcodesign.lessons.lattice import Lattice
from simcodesign.lessons.page import page
from simcodesign.lessons.traces import network_of, trace_of
from simcodesign.report.results.utilisation import recorded

#: Operations and bytes up to which a run fits into a page of 5 MB.
MOST_OPERATIONS, MOST_BYTES = 200_000, 5_000_000
#: Vertices that a picture of a network shows; larger machines have the chart alone.
MOST_VERTICES = 2_000
_RUN = "run"
_TEXT = (
    "Play the clock, or click into the chart. The black line is the critical path: from a message that waits for a "
    "link, it continues with the message that holds it. A dotted line is the forecast, if it ends before the run.\n"
    "it continues with the message that holds it. A dotted line is the forecast, if it ends before the run. "
)


def run_page(result: Result, experiment: Experiment) -> str:
    """Return the page of a run with a timeline. InputError if a page cannot show it, with the reason."""
    timeline = recorded(result)
    if len(timeline.rank) > MOST_OPERATIONS:
        raise _no_page(f"the run has more than {MOST_OPERATIONS} operations")
    try:
        trace = trace_of(make_plan(experiment.point, experiment.effects, experiment.seed), experiment.point)
    except InputError as error:
        raise _no_page(str(error)) from None
    if not np.array_equal(trace["op_times"][:, 2], timeline.finish_s):
        raise _no_page("failures or messages of other jobs, which a page does not show, change the run")
    arrays = network_of(experiment.point)
    arrays |= {f"0/{name}": one for name, one in trace.items() if name not in OF_STATIONS}
    times_s = np.array([[[result.makespan_s] * 3]])
    forecast_s = np.array([float(forecast(experiment.scenario).headline_s)])
    numbers = Numbers({_RUN: Lattice(forecast_s, times_s)}, {(_RUN, (0,)): arrays})
    lesson = _lesson(result, len(arrays["position"]) <= MOST_VERTICES)
    text = page(lesson, numbers, is_lesson=False)
    if len(text) > MOST_BYTES:
        raise _no_page(f"the page would have {len(text)} bytes")
    return text


def _no_page(reason: str) -> InputError:
    what = f"there is no page of this run: {reason}"
    return InputError(what, Place("--write"), allowed="a trace (.json), or a gantt chart (.svg)")


def _lesson(result: Result, has_network: bool) -> Lesson:
    """Return a lesson that is this run alone."""
    names = [result.workload[:100], result.machine[:100]]
    values = result.to_dict().get("values") or {}
    shown = [f"{name[:60]} = {one:g}" for name, one in values.items() if isinstance(one, int | float)]
    words = "; ".join([*shown[:12], f"effects: {', '.join(result.effects) or 'none'}", f"seed {result.seed}"])
    stop = Stop(1.0, ", ".join(shown[:3]) or names[0], {}, {})
    slider = Slider("point", "", "time", (stop,), 0, None, Place())
    trace = TraceRequest({slider.name: 0}, Place())
    run = Run(
        name=_RUN,
        about=names[0],
        workload=names[0],
        machine=names[1],
        changes={},
        parameters={},
        phases=None,
        formula=None,
        sliders=(slider,),
        effects=(),
        simulated={slider.name: (0,)},
        seeds=2,
        scale=1.0,
        traces=(trace,),
        events=None,
        helps=(),
        measured=(),
        measured_about="",
        place=Place(),
    )
    rows = [["network"] if has_network else [], ["gantt"], ["clock"]]
    titles = {"network": "Network", "gantt": "Ranks over time"}
    views = tuple(
        View(kind, (_RUN,), titles.get(kind, ""), {"row": row}) for row, kinds in enumerate(rows) for kind in kinds
    )
    return Lesson(
        folder=Path(),
        name="timeline",
        title=f"{names[0]} on {names[1]}",
        language="en",
        about=words,
        minutes=0,
        objectives=(),
        sliders={slider.name: slider},
        runs={_RUN: run},
        values={},
        steps=(Step("The run", _TEXT, Place(), views, ()),),
        sources=(),
    )
