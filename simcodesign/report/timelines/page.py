"""The timeline of a run as one page that needs a browser alone: Gantt chart, network, clock and critical path.

``simulate`` leaves what the page needs in the Chrome trace that it writes (``page_part``); ``timeline_page`` makes the
page of that file, as that of a lesson with one step and one run.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import DATA_BYTES, check_size, open_bytes
from simcodesign.core.result import Result
from simcodesign.engine.experiment import Experiment
from simcodesign.generate.lower import make_plan
from simcodesign.lessons.compute import Numbers
from simcodesign.lessons.description import Lesson, Run, Slider, Step, Stop, TraceRequest, View
from simcodesign.lessons.figures.stations import OF_STATIONS
from simcodesign.lessons.lattice import Lattice
from simcodesign.lessons.packing import pack, unpack
from simcodesign.lessons.page import page
from simcodesign.lessons.traces import network_of, trace_of

#: Operations and bytes up to which a run fits into a page of 5 MB.
MOST_OPERATIONS, MOST_BYTES = 200_000, 4_500_000
#: Vertices that a picture of a network shows; larger machines have the chart alone.
MOST_VERTICES = 2_000
_RUN = "run"
_NETWORK = {"position": 2, "ends": 2, "bend": 1, "stubs": 2, "hosts": 1, "node": 1}
_TRACE = {"ops": 3, "op_times": 3, "messages": 4, "message_times": 3, "way_start": 1, "way": 1, "visits": 3}
_PATH = {"path": 3, "path_times": 2}
#: Columns of each array; 1: those of one dimension.
COLUMNS = _NETWORK | {f"0/{name}": count for name, count in (_TRACE | _PATH).items()}
#: Bytes that a block has when it is unpacked.
_MOST_UNPACKED = 64 * 2**20
_TEXT = (
    "Play the clock, or click into the chart. The black line is the critical path: where a message waits for a link, "
    "it goes on with the one that holds it. A dotted line is the forecast, if it ends before the run.\n"
)


def page_part(result: Result, experiment: Experiment) -> dict[str, str]:
    """What a page needs of a run, as ``{"block": ...}``; or ``{"reason": ...}``, why there can be none."""
    timeline = result.timeline
    if timeline is None or len(timeline.rank) > MOST_OPERATIONS:
        return {"reason": f"the run has more than {MOST_OPERATIONS} operations"}
    try:
        trace = trace_of(make_plan(experiment.point, experiment.effects, experiment.seed), experiment.point)
    except InputError as error:
        return {"reason": str(error)}
    if not np.array_equal(trace["op_times"][:, 2], timeline.finish_s):
        return {"reason": "failures or messages of other jobs, which a page does not show, change the run"}
    arrays = network_of(experiment.point)
    arrays |= {f"0/{name}": one for name, one in trace.items() if name not in OF_STATIONS}
    block = pack(
        {"forecast_s": float(forecast(experiment.scenario).headline_s), "makespan_s": result.makespan_s}, arrays
    )
    return {"block": block} if len(block) <= MOST_BYTES else {"reason": f"the page would have {len(block)} bytes"}


def timeline_page(path: str | Path) -> str:
    """The page of a run whose Chrome trace ``simulate --timeline`` has written. InputError for any other file."""
    about = _about(Path(path))
    place = Place(str(path))
    part = about.get("page")
    if not isinstance(part, dict) or not isinstance(part.get("block"), str):
        reason = part.get("reason") if isinstance(part, dict) else None
        what = f"there is no page of this run: {reason}" if reason else "not the timeline of a run"
        raise InputError(what, place, allowed="a file of simulate --timeline run.json, of a run that is not too large")
    header, arrays = _unpacked(part["block"], place)
    return page(_lesson(about, len(arrays["position"]) <= MOST_VERTICES), _numbers(header, arrays))


def _about(path: Path) -> Mapping[str, Any]:
    """What the file says of its run."""
    place = Place(str(path))
    try:
        with open_bytes(path) as file:
            data = file.read()
        if data[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(data)) as packed:
                data = packed.read(DATA_BYTES + 1)
            check_size(len(data), DATA_BYTES, place)
        content = json.loads(data)
    except (ValueError, OSError, EOFError, zlib.error, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("not the timeline of a run", place, allowed="a file of simulate --timeline run.json") from None
    about = content.get("otherData") if isinstance(content, dict) else None
    return about if isinstance(about, dict) else {}


def _unpacked(block: str, place: Place) -> tuple[Mapping[str, Any], dict[str, NDArray[Any]]]:
    """The numbers of a block. InputError for one that has been changed."""
    try:
        unpacked = zlib.decompressobj(31).decompress(base64.b64decode(block), _MOST_UNPACKED + 1)
        check_size(len(unpacked), _MOST_UNPACKED, place)
        header, arrays = unpack(block)
        is_whole = all(np.isfinite(float(header[name])) for name in ("forecast_s", "makespan_s"))
    except Exception:  # whatever gzip, JSON and NumPy make of what they do not know
        raise InputError("the part of the page is damaged", place) from None
    for name, count in COLUMNS.items():
        shape = arrays[name].shape if name in arrays else ()
        is_whole &= shape[1:] == (() if count == 1 else (count,)) and len(shape) > 0
    if not is_whole:
        raise InputError("the part of the page is damaged", place)
    return header, {name: arrays[name] for name in COLUMNS}


def _numbers(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Numbers:
    times_s = np.array([[[float(header["makespan_s"])] * 3]])
    return Numbers({_RUN: Lattice(np.array([float(header["forecast_s"])]), times_s)}, {(_RUN, (0,)): arrays})


def _lesson(about: Mapping[str, Any], has_network: bool) -> Lesson:
    """A lesson that is this run alone."""
    names = [str(about.get(key))[:100] for key in ("workload", "machine")]
    shown, effects, values = list[str](), about.get("effects"), about.get("values")
    if isinstance(values, dict):
        shown = [f"{str(name)[:60]} = {one:g}" for name, one in values.items() if isinstance(one, int | float)]
    listed = ", ".join(str(one)[:40] for one in effects[:30]) if isinstance(effects, list) and effects else "none"
    words = "; ".join([*shown[:12], f"effects: {listed}", f"seed {str(about.get('seed'))[:20]}"])
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
