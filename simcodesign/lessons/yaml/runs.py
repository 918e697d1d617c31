"""Sliders and runs of a lesson, as they stand in ``lesson.yaml``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.files.input_files import check_confined
from simcodesign.core.units import DIMENSIONS
from simcodesign.describe.effects import chosen_effects, effect_names
from simcodesign.describe.yaml.files import named_source
from simcodesign.describe.yaml.tree import Entry
from simcodesign.lessons.description import MeasuredPoint, Run, Slider, Stop, TraceRequest

#: A slider whose value is a part of the name of a workload's file.
IN_BRACES = re.compile(r"\{(\w+)\}")
MOST_STOPS = 400
MOST_SEEDS = 100
RUN_KEYS = (
    "about",
    "workload",
    "machine",
    "set",
    "parameters",
    "phases",
    "formula",
    "sliders",
    "effects",
    "simulate",
    "seeds",
    "draws",
    "scale",
    "traces",
    "events",
    "helps",
    "measured",
)


def read_slider(name: str, entry: Entry) -> Slider:
    """Return a slider with its stops in order."""
    items = entry.mapping(("about", "dimension", "sets", "stops", "start"), required=("stops",))
    dimension = items["dimension"].text(DIMENSIONS) if "dimension" in items else "count"
    sets = items["sets"].name() if "sets" in items else None
    stops = tuple(_stop(one, dimension, sets) for one in items["stops"].sequence())
    values = [stop.value for stop in stops]
    if not 1 <= len(stops) <= MOST_STOPS or sorted(set(values)) != values:
        raise items["stops"].error("not the stops of a slider", f"1 to {MOST_STOPS} values in ascending order")
    start = _stop_number(items["start"], dimension, stops) if "start" in items else 0
    about = items["about"].text() if "about" in items else name
    simple = sets if sets and not any(stop.machine for stop in stops) else None
    return Slider(name, about, dimension, stops, start, simple, entry.place)


def _stop(entry: Entry, dimension: str, sets: str | None) -> Stop:
    """Return a value that the slider sets, or a mapping that says what is set."""
    if isinstance(entry.content, str):
        value = entry.quantity(dimension)
        if sets is None:
            raise entry.error(
                "nothing is set at this stop", "a slider that 'sets' something, or {value: ..., parameters: ...}"
            )
        return Stop(value, _shown(entry.text()), {sets: value}, {})
    items = entry.mapping(("value", "text", "note", "parameters", "machine"), required=("value",))
    value = items["value"].quantity(dimension)
    parameters = {sets: value} if sets else {}
    return Stop(
        value,
        items["text"].text() if "text" in items else _shown(items["value"].text()),
        {**parameters, **(_parameters(items["parameters"]) if "parameters" in items else {})},
        {key: _plain(one) for key, one in items["machine"].mapping().items()} if "machine" in items else {},
        items["note"].text() if "note" in items else "",
    )


def _shown(quantity: str) -> str:
    """Return a quantity as it is printed: microseconds are typed with a u."""
    return re.sub(r"\bus$", "µs", quantity)


def _parameters(entry: Entry) -> dict[str, float | str]:
    """Values of parameters: numbers, quantities or names of choices, as the workload reads them."""
    return {key: _scalar(one) for key, one in entry.mapping().items()}


def _scalar(entry: Entry) -> float | str:
    try:
        return entry.number()
    except InputError:
        return entry.text()


def _plain(entry: Entry) -> object:
    """Numbers, texts, lists and mappings, as ``load_machine`` takes them."""
    if isinstance(entry.content, list):
        return [_plain(one) for one in entry.content]
    if isinstance(entry.content, dict):
        return {key: _plain(one) for key, one in entry.content.items()}
    try:
        value = entry.number()
    except InputError:
        return entry.text()
    return int(value) if value == int(value) else value


def _stop_number(entry: Entry, dimension: str, stops: Sequence[Stop]) -> int:
    value = entry.quantity(dimension)
    for number, stop in enumerate(stops):
        if abs(stop.value - value) <= 1e-9 * abs(value):
            return number
    raise entry.error("not a stop of the slider", ", ".join(stop.text for stop in stops))


def read_stops(entry: Entry, sliders: Sequence[Slider]) -> dict[str, int]:
    """Numbers of stops by slider; sliders that are left out stand where they begin."""
    by_name = {slider.name: slider for slider in sliders}
    items = entry.mapping(by_name)
    return {name: _stop_number(one, by_name[name].dimension, by_name[name].stops) for name, one in items.items()}


def read_run(name: str, entry: Entry, sliders: Mapping[str, Slider], folder: Path) -> Run:
    """Return a run with its ladder, what of it is simulated, and what was measured."""
    items = entry.mapping(RUN_KEYS, required=("workload", "machine", "sliders"))
    over = tuple(sliders[one.text(sliders)] for one in items["sliders"].sequence())
    simulated = {slider.name: tuple(range(len(slider.stops))) for slider in over}
    if "simulate" in items:
        chosen = items["simulate"].mapping(simulated)
        simulated |= {key: chosen_stops(one, sliders[key]) for key, one in chosen.items()}
    if "scale" in items and "traces" in items:
        raise items["scale"].error("traces are of runs as they are", "'traces' or 'scale', not both")
    measured, about = _measured(items["measured"], over) if "measured" in items else ((), "")
    seeds = items["seeds"].whole(2, MOST_SEEDS) if "seeds" in items else 5
    traces, helps = (_requests(items[key].sequence() if key in items else [], over) for key in ("traces", "helps"))
    return Run(
        name=name,
        about=items["about"].text() if "about" in items else name,
        workload=_workload(items["workload"], folder, over),
        machine=_source(items["machine"], folder),
        changes={key: _plain(one) for key, one in items["set"].mapping().items()} if "set" in items else {},
        parameters=_parameters(items["parameters"]) if "parameters" in items else {},
        phases=tuple(one.name() for one in items["phases"].sequence()) if "phases" in items else None,
        formula=items["formula"].name() if "formula" in items else None,
        sliders=over,
        effects=_effects(items["effects"]) if "effects" in items else (),
        simulated=simulated,
        seeds=seeds,
        scale=_scale(items["scale"]) if "scale" in items else 1.0,
        traces=traces,
        events=_requests([items["events"]], over)[0] if "events" in items else None,
        helps=helps,
        measured=measured,
        measured_about=about,
        place=entry.place,
        draws=items["draws"].whole(1, seeds) if "draws" in items else 1,
    )


def _scale(entry: Entry) -> float:
    """Return a positive number, or a fraction of two."""
    try:
        above, _, below = entry.text().partition("/")
        scale = float(above) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        scale = math.nan
    if not 0 < scale < math.inf:
        raise entry.error("not a factor of times", "a number above 0, as 100, or a fraction, as 1/400")
    return scale


def _requests(entries: Sequence[Entry], sliders: Sequence[Slider]) -> tuple[TraceRequest, ...]:
    """Return stops of runs, by slider; sliders that are left out are where they begin."""
    start = {slider.name: slider.start for slider in sliders}
    return tuple(TraceRequest({**start, **read_stops(one, sliders)}, one.place) for one in entries)


def chosen_stops(entry: Entry, slider: Slider) -> tuple[int, ...]:
    """Return the numbers of some stops of a slider, in ascending order."""
    numbers = sorted({_stop_number(one, slider.dimension, slider.stops) for one in entry.sequence()})
    if not numbers:
        raise entry.error("no stop is named", "some stops of the slider")
    return tuple(numbers)


def _workload(entry: Entry, folder: Path, over: Sequence[Slider]) -> str:
    """Return the workload, or a file whose name has the values of sliders in braces.

    Such as recordings of several numbers of ranks.
    """
    named = IN_BRACES.findall(entry.name())
    for name in named:
        if name not in (slider.name for slider in over if slider.simple is None):
            allowed = "a slider of the run whose stops are mappings with 'parameters' or 'machine'"
            raise entry.error(f"'{{{name}}}' in the name of a file", allowed)
    if not named or "/" in entry.name():
        return _source(entry, folder)
    return str(check_confined(folder / entry.name(), entry.place))


def _source(entry: Entry, folder: Path) -> str:
    """Return a bundled name, or the path of a file in the lesson's folder."""
    if "/" in entry.name():
        raise entry.error("not a file of the lesson", "a bundled name, or a file in the folder of the lesson")
    return named_source(entry, folder)


def _effects(entry: Entry) -> tuple[str, ...]:
    """Return the effects of a ladder, in its order."""
    names = [one.text() for one in entry.sequence()]
    for name, one in zip(names, entry.sequence(), strict=True):
        if name not in effect_names():
            raise one.error("not an effect", nearest(name, effect_names()))
    if sorted(set(names), key=names.index) != names or [name for name in effect_names() if name in names] != names:
        raise entry.error("not in the order of the ladder", ", ".join(effect_names()))
    return tuple(name for name in chosen_effects(names) if name in names)


def _measured(entry: Entry, sliders: Sequence[Slider]) -> tuple[tuple[MeasuredPoint, ...], str]:
    """Measured times at stops, and where they are from."""
    items = entry.mapping(("about", "points"), required=("about", "points"))
    points = []
    for one in items["points"].sequence():
        row = one.mapping(("at", "time", "low", "high"), required=("at", "time"))
        at = {**{slider.name: slider.start for slider in sliders}, **read_stops(row["at"], sliders)}
        value_s = row["time"].quantity("time")
        ends = [row[key].quantity("time") if key in row else value_s for key in ("low", "high")]
        if not ends[0] <= value_s <= ends[1]:
            raise row["time"].error("not within its interval", "low <= time <= high")
        points.append(MeasuredPoint(at, value_s, *ends))
    return tuple(points), items["about"].text()
