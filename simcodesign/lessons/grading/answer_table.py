"""Every answer beside its truth, as a table for spreadsheets: a row for each student and question."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any

from simcodesign.lessons.grading.marking import Mark, number, numbers

#: Spreadsheets take a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "\N{FULLWIDTH EQUALS SIGN}", "\N{FULLWIDTH PLUS SIGN}")
_MOST_CHARACTERS = 200
COLUMNS = ("code", "file", "stops", "question", "answer", "truth", "unit", "off", "tolerance", "points", "of", "remark")


@dataclass(frozen=True)
class Judged:
    """An answer beside its truth, both as they are shown.

    ``off``: by what fraction the answer misses, None if nothing can be said; ``tolerance``: what is allowed, None for a
    choice.
    """

    question: str
    answer: str
    truth: str
    unit: str
    off: float | None
    tolerance: float | None
    points: float
    most: float
    remark: str


def judged(
    question: Mapping[str, Any], given: object, found: Mark, stops: Sequence[Mapping[str, Any]], language: str
) -> Judged:
    """How an answer to a question is shown, ``None`` being none.

    ``stops``: of a curve's slider; ``language``: in whose notation a text is read as a number.
    """
    if "choices" in question:
        texts = {one["id"]: plain(one["html"]) for one in question["choices"]}
        answer = texts.get(given) if isinstance(given, str) else None
        truth, unit = next(texts[one["id"]] for one in question["choices"] if one["right"]), ""
    elif "truth" in question:
        names = [stops[stop]["text"] for stop in question["open"]]
        drawn = [number(given.get(str(stop))) for stop in question["open"]] if isinstance(given, Mapping) else []
        answer = None if None in drawn or not drawn else _curve(names, [value or 0.0 for value in drawn])
        truth, unit = _curve(names, question["truth"]), "s"
    else:
        values = numbers(question, given, language)
        answer = f"{values[0]:.6g}" if len(values) == 1 else None
        truth, unit = f"{question['answer']:.6g}", question["unit"]
    shown = answer if answer is not None else "" if given is None else str(given)[:_MOST_CHARACTERS]
    tolerance = question.get("tolerance")
    return Judged(
        question["name"], shown, truth, unit, found.off, tolerance, found.points, question["points"], found.remark
    )


def _curve(names: Sequence[str], values: Sequence[float]) -> str:
    """Points of a curve: ``64 KiB: 0.0012; 1 MiB: 0.02``."""
    return "; ".join(f"{name}: {value:.4g}" for name, value in zip(names, values, strict=True))


def plain(html: str) -> str:
    """Return the text of HTML of our own."""
    return unescape(re.sub(r"<[^>]*>", "", html))


def answers_csv(rows: Sequence[tuple[str, str, Mapping[str, str], Sequence[Judged]]]) -> str:
    """Return a line for each answer of rows of code, file, stops by slider and answers: ``COLUMNS``.

    Shares are numbers, 0.05 for 5 %.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for code, file, stops, answers in rows:
        here = "; ".join(f"{name}: {stop}" for name, stop in stops.items())
        for one in answers:
            shares = ["" if share is None else f"{share:.4g}" for share in (one.off, one.tolerance)]
            both = [text if _is_number(text) else cell(text) for text in (one.answer, one.truth)]
            points = [f"{one.points:.6g}", f"{one.most:.6g}"]
            whose = map(cell, (code, file, here, one.question))
            writer.writerow([*whose, *both, cell(one.unit), *shares, *points, cell(one.remark)])
    return text.getvalue()


def _is_number(text: str) -> bool:
    """Whether a text is a number as we write one, which a spreadsheet may read, also with a minus before it."""
    return re.fullmatch(r"-?\d+(\.\d+)?(e[+-]\d+)?", text) is not None


def cell(text: str) -> str:
    """One line of printable text that no spreadsheet takes for a formula."""
    shown = "".join(one if one.isprintable() else " " for one in text)
    shown = shown if len(shown) <= _MOST_CHARACTERS else f"{shown[:_MOST_CHARACTERS]}..."
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) or text.startswith(_FORMULA) else shown
