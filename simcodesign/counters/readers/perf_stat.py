"""Files of ``perf stat``: one line an event, one run (or the mean of ``-r`` runs) a file.

The three outputs are read (``perf_lines``). Lines of one event are added up, such as lines of several CPUs or
intervals. If a file has both intervals and their total, the total counts. ``<not counted>`` and ``<not supported>`` are
missing. Metrics alone on a line, and events that no counter needs, are passed over.

On a hybrid processor an event has one line for each kind of core (``cpu_core/cycles/``, ``cpu_atom/cycles/``). The
counters of a process run only while it is on their kind of core, and perf extrapolates each of them to the whole time.
So each count is multiplied by its fraction of the time before they are added up. System-wide counters run all the time
and are added up as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import open_text
from simcodesign.core.files.readers import START_BYTES, FileStart, Match
from simcodesign.core.files.text_files import lines
from simcodesign.counters.events import (
    NO_LABELS,
    SCALES,
    WHOLE,
    EventCounts,
    Labels,
    counters_of,
    event_name,
    labels_in,
    misspelt,
)
from simcodesign.counters.readers.formats import READERS, CounterReader
from simcodesign.counters.readers.perf_lines import (
    ELAPSED,
    CounterLine,
    is_metric,
    is_text,
    json_line,
    separated_line,
    separator_of,
    text_lines,
)
from simcodesign.counters.table import CounterTable, counter_table

UNITS = {"msec": 1e-3, "ns": 1e-9, "usec": 1e-6, "sec": 1.0}
#: Fractions of the time of all kinds of cores together: above, the counters are system-wide; below, they took turns
#: on each kind of core as well (multiplexing), which the extrapolation makes up for.
MOST_TOGETHER, LEAST_TOGETHER = 1.05, 0.95

_PMU = re.compile(r"([\w.-]+)/")


def read_perf_stat(path: Path, labels: Labels = NO_LABELS) -> CounterTable:
    """Read the one row of a file. The time is ``duration_time`` or the elapsed time, otherwise the time on a CPU.

    ``labels.processes`` must be given or be in a comment (``# processes: 4``). Raises InputError with the line for
    what cannot be read, and where no event is one that a counter needs.
    """
    comments: list[tuple[str, Place]] = []
    entries = _whole_run(list(_counter_lines(path, comments)))
    events = EventCounts.empty()
    used, passed_over = False, dict[str, None]()
    for event, value in added_up(entries):
        if events.add(event, value):
            used = True
        else:
            passed_over[event] = None
    unknown = [note for event in passed_over if (note := misspelt(event, events.counts))]
    if not used:
        missing = any(entry.value is None for entry in entries)
        what = "no event was counted" if missing or not entries else "no event that a counter needs"
        what = "; ".join([what, *unknown])
        raise InputError(what, Place(str(path)), allowed="cycles, instructions, task-clock, ...")
    run = labels.over(labels_in(comments))
    if run.processes is None:
        allowed = "FILE@P=4 for 'fit-counters', or a line '# processes: 4' in it"
        raise InputError("the number of processes is missing", Place(str(path)), allowed=allowed)
    row: dict[str, object] = {"kernel": WHOLE, **run.row()}
    counters = row | counters_of(events, run.processes if run.summed else 1.0)
    return counter_table([counters], [Place(str(path), 1)], [f"{path.name}: {note}" for note in unknown])


def _counter_lines(path: Path, comments: list[tuple[str, Place]]) -> Iterator[CounterLine]:
    """Yield the counts of a file in any of the three outputs; comments are appended to ``comments``."""
    with open_text(path) as file:
        is_default = is_text(file.read(START_BYTES))

    def is_count(line: int, text: str) -> bool:
        return (is_default and is_metric(text)) or not _is_comment(path, line, text, comments)

    numbered = ((line, text) for line, text in lines(path) if is_count(line, text))
    if is_default:
        yield from text_lines(numbered, str(path))
        return
    separator = ""
    for line, text in numbered:
        place = Place(str(path), line)
        if text.startswith("{"):
            entry = json_line(text, place)
        else:
            separator = separator or separator_of(text, place)
            entry = separated_line(text, separator, place)
        if entry is not None:
            yield entry


def _is_comment(path: Path, line: int, text: str, comments: list[tuple[str, Place]]) -> bool:
    """Whether a line is a comment, which is kept; headings of intervals show where the counts begin."""
    if not text.startswith("#") or is_text(text):
        return False
    comments.append((text, Place(str(path), line)))
    return True


def _whole_run(entries: list[CounterLine]) -> list[CounterLine]:
    """Return the lines without intervals if the file has their total, and with one elapsed time."""
    totals = [entry for entry in entries if not entry.stamp]
    stamped = any(entry.stamp for entry in entries)
    chosen = totals if stamped and any(entry.event != ELAPSED for entry in totals) else entries
    timed = [entry for entry in chosen if entry.event == ELAPSED and entry.unit != "sec"]
    return [entry for entry in chosen if not (timed and entry.event == ELAPSED and entry.unit == "sec")]


def added_up(entries: Iterable[CounterLine]) -> Iterator[tuple[str, float]]:
    """Yield each event and its count in SI units, once for each interval; see the module for kinds of cores."""

    def key(entry: CounterLine) -> tuple[str, tuple[str, str]]:
        return entry.stamp, event_name(entry.event)

    counted = [entry for entry in entries if entry.value is not None]
    order = {one: place for place, one in enumerate(dict.fromkeys(map(key, counted)))}
    for (_, (name, _)), group in groupby(sorted(counted, key=lambda entry: order[key(entry)]), key):
        together = list(group)
        yield (
            together[0].event,
            sum(
                weight * (entry.value or 0.0) * UNITS.get(entry.unit, SCALES.get(name, 1.0))
                for entry, weight in zip(together, _weights(together), strict=True)
            ),
        )


def _weights(entries: list[CounterLine]) -> list[float]:
    """Return the weight of each line of one event: its fraction of the time if kinds of cores share the time."""
    shares: dict[str, list[float]] = {}
    for entry in entries:
        pmu = _PMU.match(entry.event)
        shares.setdefault(pmu[1] if pmu else "", []).append(1.0 if entry.share is None else entry.share)
    means = {pmu: sum(ones) / len(ones) for pmu, ones in shares.items()}
    together = sum(means.values())
    if len(means) == 1 or together > MOST_TOGETHER or not together:
        return [1.0] * len(entries)
    scale = together if together < LEAST_TOGETHER else 1.0
    return [(1.0 if entry.share is None else entry.share) / scale for entry in entries]


def sniff(start: FileStart) -> Match:
    """Return a title of the text, or a first line without ``#`` that can be one of perf stat."""
    if is_text(start.text):
        return Match.CERTAIN
    line = next((line for line in start.lines if not line.startswith("#")), "")
    try:
        if line.startswith("{"):
            json_line(line, Place())
        else:
            separated_line(line, separator_of(line, Place()), Place())
    except InputError:
        return Match.NONE
    return Match.CERTAIN


READERS.add_reader(CounterReader("perf", read_perf_stat, sniff=sniff))
