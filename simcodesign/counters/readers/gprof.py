"""Flat profiles of gprof: the time of each function of an instrumented program, one run a file.

A flat profile has lines of "% time, cumulative seconds, self seconds, calls, self s/call, total s/call, name".
Functions that were not compiled for profiling lack the three fields after the seconds. The time of a
kernel is its self seconds.
``gprof -s`` adds up the files of several processes: then the file is ``summed``.
"""

from __future__ import annotations

import re
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import lines, number
from simcodesign.counters.events import NO_LABELS, Labels
from simcodesign.counters.readers.formats import READERS, CounterReader
from simcodesign.counters.table import CounterTable, counter_table

_TITLE = "Flat profile:"
_HEADER = re.compile(r"time\s+seconds\s+seconds\s+calls\s+.*name")
_NUMBER = r"[0-9]+[.,][0-9]+"
_ROW = re.compile(rf"({_NUMBER})\s+({_NUMBER})\s+({_NUMBER})\s+(?:[0-9]+\s+{_NUMBER}\s+{_NUMBER}\s+)?(\S.*)")


def read_gprof(path: Path, labels: Labels = NO_LABELS) -> CounterTable:
    """Return the functions of a flat profile that took any time, a row each.

    ``labels.processes`` must be given. Raises InputError for a file without a flat profile or without times.
    """
    if labels.processes is None:
        raise InputError("the number of processes is missing", Place(str(path)), allowed="FILE@P=4")
    rows: list[dict[str, object]] = []
    places, inside = [], False
    for line, text in lines(path):
        if _HEADER.search(text):
            inside = True
            continue
        match = _ROW.fullmatch(text.strip()) if inside else None
        if match is None:
            if inside and rows:
                break  # the explanations and the call graph follow
            continue
        place = Place(str(path), line)
        seconds = number(match[3].replace(",", "."), place, "self seconds that are not a number")
        if seconds > 0:
            share = labels.processes if labels.summed else 1.0
            rows.append({**labels.row(), "kernel": match[4].strip(), "time_s": seconds / share})
            places.append(place)
    if not rows:
        what = "the flat profile has no times" if inside else "the file has no flat profile"
        raise InputError(what, Place(str(path)), allowed="what gprof prints (also with -p), of a run of 0.01 s or more")
    return counter_table(rows, places)


def sniff(start: FileStart) -> Match:
    """Return the title of a flat profile, or its header where the title is suppressed (``-b`` keeps both)."""
    found = any(line.startswith(_TITLE) or _HEADER.search(line) for line in start.lines)
    return Match.CERTAIN if found else Match.NONE


READERS.add_reader(CounterReader("gprof", read_gprof, sniff=sniff))
