"""The stations of a simulation in a Chrome trace: slices of their services, and counters of how many wait there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

from simcodesign.core.simulation_parts import Timeline
from simcodesign.core.stations.services import StationTrack
from simcodesign.report.timelines.rows import Ints, in_nanoseconds, served_by

#: The process of the first kind of station; ranks are process 1.
FIRST_PROCESS = 2


def station_events(timeline: Timeline, chunk: int) -> Iterator[list[str]]:
    """Yield events of every station, some ``chunk`` at a time.

    Each kind of station is a process with a track for each station and, if several are served at a time, for each of
    these.
    """
    if timeline.services is None:
        return
    processes = {kind: number for number, kind in enumerate(dict.fromkeys(timeline.services.kinds), FIRST_PROCESS)}
    threads = count(1)
    events = [_meta("process_name", pid, 0, f"{kind}s") for kind, pid in processes.items()]
    for track in timeline.services.tracks():
        pid, lanes = processes[track.kind], track.lanes()
        numbers = [next(threads) for _ in range(int(lanes.max(initial=-1)) + 1)]
        for lane, thread in enumerate(numbers):
            events.append(_meta("thread_name", pid, thread, track.name + (", beside" if lane else "")))
        events += _slices(timeline, track, pid, [numbers[lane] for lane in lanes.tolist()])
        events += _queue(track, pid)
        if len(events) >= chunk:
            yield events
            events = []
    yield events


def microseconds(nanoseconds: int) -> str:
    """Text of a time in a trace."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


def _meta(what: str, pid: int, thread: int, name: str) -> str:
    event = {"ph": "M", "name": what, "pid": pid, "args": {"name": name}}
    return json.dumps(event | ({"tid": thread} if thread else {}))


def _slices(timeline: Timeline, track: StationTrack, pid: int, threads: list[int]) -> Iterator[str]:
    """One complete event for every service."""
    asked, begin, end = (in_nanoseconds(times).tolist() for times in (track.requested_s, track.begin_s, track.end_s))
    for op, thread, asked_ns, begin_ns, end_ns in zip(track.op.tolist(), threads, asked, begin, end, strict=True):
        args = {"waited_us": (begin_ns - asked_ns) / 1000}
        if op < len(timeline.rank):
            args["bytes"] = float(timeline.size_bytes[op])
        yield (
            f'{{"name":{json.dumps(served_by(timeline, op))},"cat":"{track.kind},station","ph":"X",'
            f'"ts":{microseconds(begin_ns)},"dur":{microseconds(end_ns - begin_ns)},'
            f'"pid":{pid},"tid":{thread},"args":{json.dumps(args)}}}'
        )


def _queue(track: StationTrack, pid: int) -> Iterator[str]:
    """Yield the counter of waiting requests, if any wait."""
    moments_s, waiting = track.queue()
    moments: Ints = in_nanoseconds(moments_s)
    name = json.dumps(f"waiting at {track.name}")
    for moment, number in zip(moments.tolist(), waiting.tolist(), strict=True):
        yield f'{{"name":{name},"ph":"C","ts":{microseconds(moment)},"pid":{pid},"args":{{"waiting":{number}}}}}'
