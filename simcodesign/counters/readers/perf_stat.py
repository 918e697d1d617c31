"""Files of ``perf stat -x SEPARATOR``: one line an event, one run (or the mean of ``-r`` runs) a file.

Fields: a time stamp (``-I``), what was counted on (``-A``, ``--per-socket`` with a number of CPUs ...), value, unit,
event, its spread in % (``-r``), run time of the counter, share of the time it ran, a metric with its unit. Lines of one
event are added up. ``<not counted>`` and ``<not supported>`` are missing. Decimal commas are understood, with the comma
as separator as well. Metrics alone on a line, and events that no counter needs, are passed over.
"""

from __future__ import annotations

import re
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import lines, number
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
from simcodesign.counters.table import CounterTable, counter_table

SEPARATORS = (";", "\t", "|", ",")
MISSING = ("<not counted>", "<not supported>")
UNITS = {"msec": 1e-3, "ns": 1e-9, "usec": 1e-6, "sec": 1.0}

_STAMP = re.compile(r"[0-9]+[.,][0-9]{9}")
_WHERE = re.compile(r"[A-Za-z][\w.:/-]*-?[0-9]+")
#: Sockets, dies, cores, nodes and caches come with the number of CPUs that were added up, single CPUs do not.
_GROUP = re.compile(r"(?:[SDCNL][0-9]+)(?:-.*)?")
_DIGITS = re.compile(r"[0-9]+")
_UNIT = re.compile(r"[A-Za-z%/]*")
_EVENT = re.compile(r"[A-Za-z_][^\s]*.*")


def read_perf_stat(path: Path, labels: Labels = NO_LABELS) -> CounterTable:
    """The one row of a file. The time is ``duration_time``, else the time on a CPU.

    ``labels.processes`` must be given or stand in a comment (``# processes: 4``). Raises InputError with the line for
    what cannot be read, and where no event is one that a counter needs.
    """
    events, comments, entries = EventCounts.empty(), [], 0
    passed_over: dict[str, None] = {}
    separator = ""
    used = missing = False
    for line, text in lines(path):
        place = Place(str(path), line)
        if text.startswith("#"):
            comments.append((text, place))
            continue
        separator = separator or separator_of(text, place)
        entry = parse_line(text, separator, place)
        entries += 1
        if entry is None:
            continue
        event, value, unit = entry
        if value is None:
            missing = True
            continue
        name = event_name(event)[0]
        if events.add(event, value * UNITS.get(unit, SCALES.get(name, 1.0))):
            used = True
        else:
            passed_over[event] = None
    unknown = [note for event in passed_over if (note := misspelt(event, events.counts))]
    if not used:
        what = "no event was counted" if missing or not entries else "no event that a counter needs"
        what = "; ".join([what, *unknown])
        raise InputError(what, Place(str(path)), allowed="cycles, instructions, task-clock, ...")
    run = labels.over(labels_in(comments))
    if run.processes is None:
        allowed = "FILE@P=4 for 'fit --counters', or a line '# processes: 4' in it"
        raise InputError("the number of processes is not known", Place(str(path)), allowed=allowed)
    row: dict[str, object] = {"kernel": WHOLE, **run.row()}
    counters = row | counters_of(events, run.processes if run.summed else 1.0)
    return counter_table([counters], [Place(str(path), 1)], [f"{path.name}: {note}" for note in unknown])


def separator_of(text: str, place: Place) -> str:
    """The separator with which a line can be read, none that could stand in a number before one that could."""
    for separator in SEPARATORS:
        if separator in text:
            return separator
    raise InputError("no line of perf stat -x", place, value=text, allowed="fields between , or ; or | or tabs")


def parse_line(text: str, separator: str, place: Place) -> tuple[str, float | None, str] | None:
    """Event, value (None: missing) and unit of a line; None for a line with a metric alone. InputError for others."""
    entries = [entry.strip() for entry in text.split(separator)]
    given = list(entries)
    if _STAMP.fullmatch(entries[0]):
        entries = entries[1:]
    elif separator == "," and len(entries) > 1 and _STAMP.fullmatch(",".join(entries[:2])):
        entries = entries[2:]
    if entries and _WHERE.fullmatch(entries[0]):
        group = _GROUP.fullmatch(entries[0])
        entries = entries[2:] if group else entries[1:]
    if len(entries) > 3 and not any(entries[:3]):
        return None
    value, rest = _value(entries, separator)
    if value is None or len(rest) < 2 or not _UNIT.fullmatch(rest[0]) or not _EVENT.fullmatch(rest[1]):
        raise InputError(
            "no line of perf stat -x", place, value=separator.join(given), allowed="value, unit, event, run time, share"
        )
    if value in MISSING:
        return rest[1], None, rest[0]
    return rest[1], number(value.replace(",", "."), place, "a count that is not a number"), rest[0]


def _value(entries: list[str], separator: str) -> tuple[str | None, list[str]]:
    """The value, and the fields after it. With the comma as separator and as decimal sign it is two fields."""
    if not entries:
        return None, []
    whole_and_part = len(entries) > 1 and _DIGITS.fullmatch(entries[0]) and _DIGITS.fullmatch(entries[1])
    if separator == "," and whole_and_part:
        return f"{entries[0]}.{entries[1]}", entries[2:]
    return entries[0], entries[1:]


def sniff(start: FileStart) -> Match:
    """The first line that is no comment can be one of perf stat."""
    line = next((line for line in start.lines if not line.startswith("#")), "")
    try:
        parse_line(line, separator_of(line, Place()), Place())
    except InputError:
        return Match.NONE
    return Match.CERTAIN


READERS.add_reader(CounterReader("perf", read_perf_stat, sniff=sniff))
