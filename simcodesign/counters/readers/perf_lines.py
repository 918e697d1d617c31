"""Lines of ``perf stat``: its three outputs, as counts with the fraction of the time for which they were counted.

- ``-x SEPARATOR``: a time stamp (``-I``), what was counted on (``-A``, ``--per-socket`` with a number of CPUs ...),
  value, unit, event, its spread in % (``-r``), run time of the counter, percentage of the time it ran, a metric with
  its unit. Decimal commas are understood, with the comma as separator as well.
- ``-j``: one JSON object per line, with ``counter-value``, ``unit``, ``event``, ``pcnt-running`` and ``interval``.
- the default text: value, unit, event, ``# metric``, ``( +- spread)``, ``(percentage)``; then the elapsed time.

Source: perf-stat(1), sections "CSV format" and "JSON format"; ``tools/perf/util/stat-display.c`` of Linux.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.text_files import number

SEPARATORS = (";", "\t", "|", ",")
MISSING = ("<not counted>", "<not supported>")
FORMS = "output of perf stat -x, (fields between , or ; or | or tabs), of perf stat -j, or of perf stat alone"
SUMMARY = "summary"  # in the place of the time stamp: the total of all intervals
ELAPSED = "duration_time"
CLOCKS = ("task-clock", "cpu-clock")

_STAMP = re.compile(r"[0-9]+[.,][0-9]{9}")
_WHERE = re.compile(r"[A-Za-z][\w.:/-]*-?[0-9]+")
#: Sockets, dies, cores, nodes and caches come with the number of CPUs that were added up, single CPUs do not.
_GROUP = re.compile(r"(?:[SDCNL][0-9]+)(?:-.*)?")
_DIGITS = re.compile(r"[0-9]+")
_DECIMAL = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
_UNIT = re.compile(r"[A-Za-z%/]*")
_EVENT = re.compile(r"[A-Za-z_][^\s]*.*")
_FLOATS_IN_JSON = re.compile(r'(:\s*"?[0-9]+),([0-9]+)')
#: In the text: the title of a table, or the heading of intervals.
_TITLE = re.compile(r"^\s*(?:Performance counter stats for|#\s+time\s.*counts\s+unit\s+events)", re.MULTILINE)
_TEXT_STAMP = re.compile(r"(?P<stamp>[0-9]+[.,][0-9]+)\s+(?=<not |[0-9]|[A-Za-z][\w.-]*\s+(?:[0-9]|<not ))")
_TEXT_WHERE = re.compile(r"(?P<where>[A-Za-z][\w.:/-]*-?[0-9]+)\s+(?=[0-9]|<not )")
_TEXT_COUNT = re.compile(r"(?P<value><not counted>|<not supported>|[0-9][0-9.,'’\s]*)\s(?P<rest>[^\W\d].*)")
_TEXT_ELAPSED = re.compile(r"(?P<value>[0-9.,]+)\s+(?:\+-\s+[0-9.,]+\s+)?seconds time elapsed.*")
#: A further metric of the count above; the percentage of that count is on its last one.
_TEXT_METRIC = re.compile(r"#\s.*%\)\s*")
_TEXT_SHARE = re.compile(r"\((?P<share>[0-9]+[.,][0-9]+)%\)\s*$")


@dataclass(frozen=True)
class CounterLine:
    """One count, in ``unit``; ``value`` is None if it is missing.

    ``share``: fraction of the time for which the event was counted, None if unknown; ``stamp``: end of the interval,
    empty for the whole run.
    """

    event: str
    value: float | None
    unit: str = ""
    share: float | None = None
    stamp: str = ""


def is_metric(text: str) -> bool:
    """Return whether a line of the default output has a further metric, and a percentage, of the count above it."""
    return _TEXT_METRIC.fullmatch(text) is not None


def is_text(content: str) -> bool:
    """Return whether the start of a file shows the default output of ``perf stat``."""
    return _TITLE.search(content) is not None


def json_line(text: str, place: Place) -> CounterLine | None:
    """Parse a line of ``perf stat -j``; None for a line with a metric alone. InputError for others."""
    try:
        entry = json.loads(text)
    except ValueError:  # or an integer of more digits than Python converts
        try:
            entry = json.loads(_FLOATS_IN_JSON.sub(r"\1.\2", text))  # perf writes the decimal sign of the locale
        except (ValueError, RecursionError):
            entry = None
    except RecursionError:
        entry = None
    if not isinstance(entry, dict) or not ("event" in entry or "metric-value" in entry):
        raise InputError(
            "this is not a line of perf stat -j", place, value=text[:60], allowed='{"counter-value": ..., "event": ...}'
        )
    value = str(entry.get("counter-value", ""))
    if "event" not in entry or not value:
        return None
    share = entry.get("pcnt-running")
    return CounterLine(
        str(entry["event"]),
        _count(value, place),
        str(entry.get("unit", "")),
        None if share is None else _percentage(str(share), place),
        str(entry.get("interval", "")),
    )


def separated_line(text: str, separator: str, place: Place) -> CounterLine | None:
    """Parse a line of ``perf stat -x``; None for a line with a metric alone. InputError for others."""
    entries = [entry.strip() for entry in text.split(separator)]
    given, stamp = entries, ""
    if _STAMP.fullmatch(entries[0]) or entries[0] == SUMMARY or _is_stamped(entries, separator):
        stamp, entries = entries[0], entries[1:]
    elif separator == "," and len(entries) > 1 and _STAMP.fullmatch(",".join(entries[:2])):
        stamp, entries = ",".join(entries[:2]), entries[2:]
    if entries and _WHERE.fullmatch(entries[0]):
        group = _GROUP.fullmatch(entries[0])
        entries = entries[2:] if group else entries[1:]
    if len(entries) > 3 and not any(entries[:3]):
        return None
    value, rest = _value(entries, separator)
    if value is None or len(rest) < 2 or not _UNIT.fullmatch(rest[0]) or not _EVENT.fullmatch(rest[1]):
        allowed = "value, unit, event, run time, percentage"
        raise InputError("this is not a line of perf stat -x", place, value=separator.join(given), allowed=allowed)
    stamp = "" if stamp == SUMMARY else stamp
    return CounterLine(rest[1], _count(value, place), rest[0], _share_of(rest[2:], separator), stamp)


def _is_stamped(entries: list[str], separator: str) -> bool:
    """Return whether a number precedes another one, or what was counted on.

    With commas as separators, a whole number may be the part of a time before its decimal comma; counts without a unit
    are whole.
    """
    first, *rest = entries
    if not rest or not _DECIMAL.fullmatch(first):
        return False
    if separator == "," and "." not in first and _DIGITS.fullmatch(rest[0]):
        return len(rest) > 2 and not rest[1] and not rest[2].startswith(CLOCKS)
    return bool(_DECIMAL.fullmatch(rest[0]) or _WHERE.fullmatch(rest[0])) or rest[0] in MISSING


def _value(entries: list[str], separator: str) -> tuple[str | None, list[str]]:
    """Return the value, and the fields after it. With the comma as separator and as decimal sign it is two fields."""
    if not entries:
        return None, []
    whole_and_part = len(entries) > 1 and _DIGITS.fullmatch(entries[0]) and _DIGITS.fullmatch(entries[1])
    if separator == "," and whole_and_part:
        return f"{entries[0]}.{entries[1]}", entries[2:]
    return entries[0], entries[1:]


def _share_of(fields: list[str], separator: str) -> float | None:
    """Return the percentage that follows the run time of the counter, which may follow a spread; as a fraction."""
    numbers = [field for field in fields if field and not field.endswith("%")]
    if separator == "," and fields and _DIGITS.fullmatch(fields[0]) and len(fields) > 1 and fields[1].endswith("%"):
        numbers = numbers[1:]  # the spread has a decimal comma
    if len(numbers) < 2 or not _DIGITS.fullmatch(numbers[0]):
        return None
    has_comma = separator == "," and len(numbers) > 2 and _DIGITS.fullmatch(numbers[1]) and len(numbers[2]) == 2
    text = f"{numbers[1]}.{numbers[2]}" if has_comma and _DIGITS.fullmatch(numbers[2]) else numbers[1]
    return float(text.replace(",", ".")) / 100 if _DECIMAL.fullmatch(text) else None


def text_lines(lines: Iterator[tuple[int, str]], file: str) -> Iterator[CounterLine]:
    """Parse the default output of ``perf stat``. What the program itself printed before the table is passed over.

    Raises InputError for a count that is followed by no event.
    """
    begun = False
    last: CounterLine | None = None
    for line, text in lines:
        if _TITLE.match(text):
            begun = True
        elif begun and last is not None and _TEXT_METRIC.fullmatch(text):
            if last.share is None and (share := _TEXT_SHARE.search(text)):
                last = replace(last, share=_percentage(share["share"], Place(file, line)))
        elif begun and (found := text_line(text, Place(file, line))):
            yield from () if last is None else (last,)
            last = found
    yield from () if last is None else (last,)


def text_line(text: str, place: Place) -> CounterLine | None:
    """Parse a line of the default output; None for a line that is no count."""
    if elapsed := _TEXT_ELAPSED.fullmatch(text):
        return CounterLine(ELAPSED, number(elapsed["value"].replace(",", "."), place), "sec")
    stamp = ""
    if stamped := _TEXT_STAMP.match(text):
        stamp, text = stamped["stamp"], text[stamped.end() :]
    if where := _TEXT_WHERE.match(text):
        text = text[where.end() :]
        if _GROUP.fullmatch(where["where"]):
            text = text.partition(" ")[2].strip()
    count = _TEXT_COUNT.fullmatch(text)
    if count is None:
        return None
    share = _TEXT_SHARE.search(count["rest"])
    words = re.split(r"\s#|\s\(\s*\+-|\s{2,}\(|\s\([0-9]", count["rest"])[0].split()
    event, unit = (words[-1], words[0]) if len(words) > 1 else (words[0], "")
    if event == "(msec)":  # before Linux 4.20
        event, unit = words[0], "msec"
    if event in ("user", "sys") and unit == "seconds":
        return None
    value = None if count["value"] in MISSING else _grouped(count["value"], event, unit, place)
    return CounterLine(event, value, unit, None if share is None else _percentage(share["share"], place), stamp)


def _grouped(text: str, event: str, unit: str, place: Place) -> float:
    """Return a number with thousands separators.

    Counts and nanoseconds are whole, milliseconds have 2 or 6 decimals.
    """
    digits = re.sub(r"['’\s]", "", text)
    has_decimals = unit not in ("", "ns") or event.startswith(CLOCKS)
    decimals = re.search(r"[.,]([0-9]{2}|[0-9]{6})$", digits) if has_decimals else None
    whole = digits[: decimals.start()] if decimals else digits
    plain = re.sub(r"[.,]", "", whole) + (f".{decimals[1]}" if decimals else "")
    return number(plain, place, "a count that is not a number")


def _count(text: str, place: Place) -> float | None:
    if text in MISSING:
        return None
    return number(text.replace(",", "."), place, "a count that is not a number")


def _percentage(text: str, place: Place) -> float:
    return number(text.replace(",", "."), place, "a percentage that is not a number") / 100


def separator_of(text: str, place: Place) -> str:
    """Return the separator with which a line can be read; separators that numbers cannot contain come first."""
    for separator in SEPARATORS:
        if separator in text:
            return separator
    raise InputError("this is not a line of perf stat", place, value=text, allowed=FORMS)
