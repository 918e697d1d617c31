"""A simulation as a trace in the Paje format, for ViTE, PajeNG and others.

Format: B. de Oliveira Stein, J. Chassin de Kergommeaux, G. Mounie: Paje trace file format; and L. M. Schnorr's Paje
Trace File for PajeNG, which allows fields of one's own in the definition of an event, as here for bytes and phases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.operation_kinds import KINDS, SEND
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.core.stations.services import StationTrack
from simcodesign.report.results.utilisation import recorded
from simcodesign.report.timelines.rows import (
    Ints,
    in_nanoseconds,
    names_of_tracks,
    nanoseconds_of,
    served_by,
    title_of,
    tracks_of,
)

#: The events that are used, by number, and their fields.
DEFINITIONS = (
    ("PajeDefineContainerType", "Alias string", "Type string", "Name string"),
    ("PajeDefineStateType", "Alias string", "Type string", "Name string"),
    ("PajeDefineVariableType", "Alias string", "Type string", "Name string", "Color color"),
    (
        *("PajeDefineLinkType", "Alias string", "Type string", "StartContainerType string"),
        *("EndContainerType string", "Name string"),
    ),
    ("PajeDefineEntityValue", "Alias string", "Type string", "Name string", "Color color"),
    ("PajeCreateContainer", "Time date", "Alias string", "Type string", "Container string", "Name string"),
    ("PajeDestroyContainer", "Time date", "Type string", "Name string"),
    (
        *("PajePushState", "Time date", "Type string", "Container string", "Value string"),
        *("Phase string", "Peer int", "Bytes double"),
    ),
    ("PajePopState", "Time date", "Type string", "Container string"),
    ("PajeSetVariable", "Time date", "Type string", "Container string", "Value double"),
    (
        *("PajeStartLink", "Time date", "Type string", "Container string", "Value string"),
        *("StartContainer string", "Key string", "Bytes double"),
    ),
    (
        *("PajeEndLink", "Time date", "Type string", "Container string", "Value string"),
        *("EndContainer string", "Key string"),
    ),
)
_CONTAINER_TYPE, _STATE_TYPE, _VARIABLE_TYPE, _LINK_TYPE, _VALUE, _CREATE, _DESTROY = range(7)
_PUSH, _POP, _SET, _START, _END = range(7, 12)
#: Types of containers, and the order of what happens in one instant: what ends comes first.
_RUN, _RANK, _STATION = "run", "rank", "station"
_ORDER = {_POP: 0, _SET: 1, _START: 2, _END: 3, _PUSH: 4}
_COLOURS = ("0.3 0.6 0.3", "0.2 0.4 0.8", "0.4 0.6 0.9", *["0.8 0.5 0.2"] * 3, *["0.6 0.4 0.7"] * len(KINDS[6:]))
_WAITING = "0.8 0.2 0.2"


@dataclass(frozen=True, order=True)
class _Event:
    """A line of the trace, and when it stands."""

    nanoseconds: int
    order: int
    number: int
    line: str


def write_paje(result: Result, path: str | Path) -> None:
    """Write every operation of a simulation that takes time, and every message, in the Paje format.

    Containers are ranks (where one does several things at once, further ones beside it) and stations; states are what
    they do, with phase, peer and bytes as fields of their own, or whom they serve; the variable ``waiting`` is how many
    wait at a station, and links are messages with their bytes. Times are in seconds, rounded to whole nanoseconds.

    Raises InputError for a result without timeline, or a path that cannot be written.
    """
    timeline = recorded(result)
    with replacing_text(Path(path)) as file:
        for number, (name, *fields) in enumerate(DEFINITIONS):
            file.write(f"%EventDef {name} {number}\n" + "".join(f"% {field}\n" for field in fields) + "%EndEventDef\n")
        for line in _lines(result, timeline):
            file.write(f"{line}\n")


def _lines(result: Result, timeline: Timeline) -> Iterator[str]:
    """All of the trace but the definitions of events."""
    ready, start, finish = nanoseconds_of(timeline)
    track = tracks_of(timeline, ready, finish)
    yield from _types()
    yield f"{_CREATE} {_seconds(0)} r {_RUN} 0 {_text(title_of(result))}"
    names = names_of_tracks(timeline, track) if len(timeline.rank) else {}
    ranks = int(timeline.rank.max(initial=0)) + 1
    for tid, name in names.items():
        name += f" {tid // ranks}" if tid >= ranks else ""
        yield f"{_CREATE} {_seconds(0)} t{tid} {_RANK} r {_text(name)}"
    events = [*_operations(timeline, track, ready, start, finish), *_messages(timeline, track, start)]
    tracks = [] if timeline.services is None else [*timeline.services.tracks()]
    for number, station in enumerate(tracks):
        lanes = station.lanes()
        for lane in range(int(lanes.max(initial=0)) + 1):
            beside = f", beside {lane}" if lane else ""
            yield f"{_CREATE} {_seconds(0)} s{number}.{lane} {_STATION} r {_text(station.name + beside)}"
        events += _services(timeline, station, number, lanes)
    end = 0
    for event in sorted(events):
        end = event.nanoseconds
        yield event.line
    yield from (f"{_DESTROY} {_seconds(end)} {_RANK} t{tid}" for tid in names)
    yield f"{_DESTROY} {_seconds(end)} {_RUN} r"


def _types() -> Iterator[str]:
    yield f"{_CONTAINER_TYPE} {_RUN} 0 simulation"
    yield f"{_CONTAINER_TYPE} {_RANK} {_RUN} rank"
    yield f"{_CONTAINER_TYPE} {_STATION} {_RUN} station"
    yield f"{_STATE_TYPE} does {_RANK} does"
    yield f"{_STATE_TYPE} serves {_STATION} serves"
    yield f'{_VARIABLE_TYPE} waiting {_STATION} waiting "{_WAITING}"'
    yield f"{_LINK_TYPE} message {_RUN} {_RANK} {_RANK} message"
    for kind, colour in zip(KINDS, _COLOURS, strict=True):
        yield f'{_VALUE} {_text(kind)} does {_text(kind)} "{colour}"'
        yield f'{_VALUE} {_text(_wait(kind))} does {_text(_wait(kind))} "{_WAITING}"'


def _wait(kind: str) -> str:
    return f"waiting: {kind}"


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09d}"


def _text(words: str) -> str:
    """As a field: the format knows no way to write a quotation mark or the end of a line."""
    return '"' + " ".join(words.replace('"', "'").split()) + '"'


def _state(begin: int, end: int, kind: str, container: str, number: int, value: str, own: str) -> Iterator[_Event]:
    """From ``begin`` to ``end``, if that takes time: a state without duration would stand before its own end."""
    if end > begin:
        push = f"{_PUSH} {_seconds(begin)} {kind} {container} {_text(value)} {own}"
        yield _Event(begin, _ORDER[_PUSH], number, push)
        yield _Event(end, _ORDER[_POP], number, f"{_POP} {_seconds(end)} {kind} {container}")


def _operations(timeline: Timeline, track: Ints, ready: Ints, start: Ints, finish: Ints) -> Iterator[_Event]:
    """Every operation, and before it the waiting for it, if any."""
    phases = [_text(phase) for phase in timeline.phases]
    columns = (track, timeline.phase, timeline.kind, timeline.peer, timeline.size_bytes, ready, start, finish)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for op, (tid, phase, kind, peer, size, ready_ns, start_ns, finish_ns) in enumerate(rows):
        own = f"{phases[phase]} {peer} {size!r}"
        yield from _state(ready_ns, start_ns, "does", f"t{tid}", op, _wait(KINDS[kind]), own)
        yield from _state(start_ns, finish_ns, "does", f"t{tid}", op, KINDS[kind], own)


def _messages(timeline: Timeline, track: Ints, start: Ints) -> Iterator[_Event]:
    """A link from every send to its receive, with its bytes."""
    sends = np.flatnonzero((timeline.kind == SEND) & (timeline.match >= 0))
    receives = timeline.match[sends]
    columns = (sends, track[sends], start[sends], track[receives], start[receives], timeline.size_bytes[sends])
    for op, source, sent, target, received, size in zip(*(column.tolist() for column in columns), strict=True):
        value = _text(f"{size:.15g} B")
        begin = f"{_START} {_seconds(sent)} message r {value} t{source} {op} {size!r}"
        yield _Event(sent, _ORDER[_START], op, begin)
        yield _Event(received, _ORDER[_END], op, f"{_END} {_seconds(received)} message r {value} t{target} {op}")


def _services(timeline: Timeline, station: StationTrack, number: int, lanes: Ints) -> Iterator[_Event]:
    """Whom a station serves, and how many wait there."""
    begin, end = in_nanoseconds(station.begin_s).tolist(), in_nanoseconds(station.end_s).tolist()
    for op, lane, begin_ns, end_ns in zip(station.op.tolist(), lanes.tolist(), begin, end, strict=True):
        own = f"- -1 {float(timeline.size_bytes[op])!r}" if op < len(timeline.rank) else "- -1 0.0"
        yield from _state(begin_ns, end_ns, "serves", f"s{number}.{lane}", op, served_by(timeline, op), own)
    moments_s, waiting = station.queue()
    moments = in_nanoseconds(moments_s).tolist() if len(moments_s) else []
    for place, (moment, count) in enumerate([(0, 0), *zip(moments, waiting.tolist(), strict=True)]):
        line = f"{_SET} {_seconds(moment)} waiting s{number}.0 {count}"
        yield _Event(moment, _ORDER[_SET], place, line)
