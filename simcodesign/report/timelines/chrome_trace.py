"""A simulation as a Chrome trace, for https://ui.perfetto.dev: tracks of ranks, and of stations with their queues.

Format: "Trace Event Format" (Google), JSON object form.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.files.atomic_files import replacing
from simcodesign.core.operation_kinds import COMPONENT_OF_KIND, COMPONENTS, SEND
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.report.results.utilisation import recorded
from simcodesign.report.timelines.rows import NAMES, WAITS, Ints, names_of_tracks, nanoseconds_of, title_of, tracks_of
from simcodesign.report.timelines.station_events import microseconds, station_events

SUFFIXES = (".json", ".json.gz")
#: Operations that are text at the same time.
CHUNK = 1 << 15
#: Perfetto counts nanoseconds in 64 bits.
LONGEST_S = 9.2e9
_PROCESS = 1


def write_chrome_trace(result: Result, path: str | Path) -> None:
    """Write every operation of a simulation as Chrome trace events; a path that ends in ``.gz`` is compressed.

    Tracks are ranks; if one does several things concurrently, further tracks below it have what it started. A phase is
    an event that holds its operations; waiting is an event of its own, before the operation that was waited for. Arrows
    lead from sends to receives, and are called by their bytes. Stations (links, interfaces, disks, memory controllers)
    have tracks of their services, and counters of how many wait, if the engine has recorded that. Times are in
    microseconds, rounded to whole nanoseconds as Perfetto does.

    Raises InputError for a result without timeline, a suffix other than .json and .gz, a path that cannot be written.
    """
    timeline, path = recorded(result), Path(path)
    if not path.name.lower().endswith(SUFFIXES):
        raise InputError("file of a timeline", value=path.name, allowed=f"names that end in {', '.join(SUFFIXES)}")
    if timeline.finish_s.max(initial=0.0) > LONGEST_S:
        raise InputError(f"a timeline can show {LONGEST_S:g} s at most", value=float(timeline.finish_s.max()))
    with replacing(path) as file:
        _write(result, timeline, file, path.suffix.lower() == ".gz")


def _write(result: Result, timeline: Timeline, file: BinaryIO, compressed: bool) -> None:
    if not compressed:
        _write_events(result, timeline, file)
        return
    # No name and no time in the header: the same run gives the same file.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=5, fileobj=file, mtime=0) as packed:
        _write_events(result, timeline, packed)


def _write_events(result: Result, timeline: Timeline, file: BinaryIO | gzip.GzipFile) -> None:
    plain = result.to_dict()
    about = {name: plain.get(name) for name in ("workload", "machine", "preset", "values", "effects", "seed")}
    file.write(f'{{"displayTimeUnit":"ms","otherData":{json.dumps(about)},"traceEvents":[\n'.encode())
    order = np.argsort(timeline.rank, kind="stable")
    ready, start, finish = nanoseconds_of(timeline)
    track = tracks_of(timeline, ready, finish)
    parts = chain(
        [_metadata(result, timeline, track)],
        _phase_events(timeline, order, ready, finish),
        _operation_events(timeline, order, track, ready, start, finish),
        _message_events(timeline, track, start),
        station_events(timeline, CHUNK),
    )
    for number, events in enumerate(part for part in parts if part):
        file.write(((",\n" if number else "") + ",\n".join(events)).encode())
        events.clear()  # not held while the next part is made
    file.write(b"\n]}\n")


def _event(name: str, category: str, rank: int, begin: int, end: int, args: str) -> str:
    """One complete event; ``name`` and ``args`` are JSON already."""
    return (
        f'{{"name":{name},"cat":"{category}","ph":"X","ts":{microseconds(begin)},"dur":{microseconds(end - begin)},'
        f'"pid":{_PROCESS},"tid":{rank},"args":{args}}}'
    )


def _metadata(result: Result, timeline: Timeline, track: Ints) -> list[str]:
    events: list[dict[str, object]] = [{"name": "process_name", "args": {"name": title_of(result)}}]
    names = names_of_tracks(timeline, track)
    for place, (tid, name) in enumerate(names.items()):
        events.append({"name": "thread_name", "tid": tid, "args": {"name": name}})
        index = place if any(words.endswith("beside") for words in names.values()) else tid
        events.append({"name": "thread_sort_index", "tid": tid, "args": {"sort_index": index}})
    return [json.dumps({"ph": "M", "pid": _PROCESS} | event) for event in events]


def _chunks(count: int) -> Iterator[slice]:
    return (slice(begin, begin + CHUNK) for begin in range(0, count, CHUNK))


def _phase_events(timeline: Timeline, order: Ints, ready: Ints, finish: Ints) -> Iterator[list[str]]:
    """One event for every unbroken stretch of a phase on a rank."""
    names = [json.dumps(phase) for phase in timeline.phases]
    rank, phase = timeline.rank[order], timeline.phase[order]
    changes = np.flatnonzero((np.diff(rank) != 0) | (np.diff(phase) != 0)) + 1
    first = np.concatenate([np.zeros(min(1, len(order)), np.int64), changes])
    last = np.concatenate([first[1:], [len(order)]])[: len(first)] - 1
    for part in _chunks(len(first)):
        begin, end = first[part], last[part]
        rows = zip(
            phase[begin].tolist(),
            rank[begin].tolist(),
            ready[order[begin]].tolist(),
            finish[order[end]].tolist(),
            strict=True,
        )
        yield [_event(names[p], "phase", r, begin_ns, end_ns, "{}") for p, r, begin_ns, end_ns in rows]


def _operation_events(
    timeline: Timeline, order: Ints, track: Ints, ready: Ints, start: Ints, finish: Ints
) -> Iterator[list[str]]:
    """Every operation, and before it the waiting for it, if any."""
    phases = [json.dumps(phase) for phase in timeline.phases]
    components = [COMPONENTS[place] for place in COMPONENT_OF_KIND]
    for part in _chunks(len(order)):
        ops = order[part]
        columns = (track, timeline.phase, timeline.kind, timeline.peer, timeline.size_bytes)
        rows = zip(*(column[ops].tolist() for column in (*columns, ready, start, finish)), strict=True)
        events = []
        for rank, phase, kind, peer, size, ready_ns, start_ns, finish_ns in rows:
            args = f'{{"phase":{phases[phase]}}}' if kind == 0 else f'{{"phase":{phases[phase]},"bytes":{size!r}}}'
            if start_ns > ready_ns:
                name = f'"{WAITS[kind].format(peer)}"'
                events.append(_event(name, components[kind] + ",waiting", rank, ready_ns, start_ns, args))
            name = f'"{NAMES[kind].format(peer)}"'
            events.append(_event(name, components[kind], rank, start_ns, finish_ns, args))
        yield events


def _message_events(timeline: Timeline, track: Ints, start: Ints) -> Iterator[list[str]]:
    """Yield an arrow from every send to its receive."""
    sends = np.flatnonzero((timeline.kind == SEND) & (timeline.match >= 0))
    receives = timeline.match[sends]
    for part in _chunks(len(sends)):
        out, into = sends[part], receives[part]
        rows = zip(
            track[out].tolist(),
            start[out].tolist(),
            track[into].tolist(),
            start[into].tolist(),
            timeline.size_bytes[out].tolist(),
            strict=True,
        )
        events = []
        for number, (source, sent, target, received, size) in enumerate(rows, part.start):
            common = (
                f'"name":"{size:.15g} B","cat":"message","id":{number},"pid":{_PROCESS},"args":{{"bytes":{size!r}}}'
            )
            events.append(f'{{{common},"ph":"s","ts":{microseconds(sent)},"tid":{source}}}')
            events.append(f'{{{common},"ph":"f","bp":"e","ts":{microseconds(received)},"tid":{target}}}')
        yield events
