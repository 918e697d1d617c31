"""Questions of a lesson as the teacher's guide shows them: answers, tolerances, usual mistakes and replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import product
from typing import Any

from simcodesign.core.errors import Place
from simcodesign.lessons.grading.marking import max_error
from simcodesign.lessons.grading.questions import of_case
from simcodesign.lessons.teacher.words import word
from simcodesign.lessons.values import digits_in, shown

Question = Mapping[str, Any]


def question_html(one: Question, header: Mapping[str, Any]) -> str:
    """Return the HTML of a question; ``header``: the header of the page that asks it."""
    language, first = header["language"], of_case(one, 0)
    points = word(language, "points", _digits(one["points"], language))
    head = f"<h3>{word(language, 'question', escape(one['name']))} <small>{points}</small></h3>"
    asked = f'<div class="asked">{first["html"]}</div>'
    truth = _by_code(one, header) if "cases" in one else ""
    if "choices" in one or not truth:
        truth += _truth(first, header)
    return f'<section class="question">{head}{asked}{truth}{_replies(first, language)}</section>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are HTML."""
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    shown = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{", ".join(heads)}">{shown}</div>'


def time_text(seconds: float, language: str) -> str:
    """Return a time in the unit in which it reads well, to four digits."""
    unit = next((unit for size, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if seconds >= size), "ns")
    return digits_in(shown(seconds, f"{unit} .4g", Place()), language)


def _truth(one: Question, header: Mapping[str, Any]) -> str:
    """Return the answer to a question of one combination."""
    language = header["language"]
    if "choices" in one:
        rows = [(each["html"], _is_right(each, language), each["feedback"]) for each in one["choices"]]
        return table([word(language, name) for name in ("choices", "verdict", "means")], rows)
    if "truth" in one:
        caption = word(language, "curve", _digits(100 * one["tolerance"], language))
        return f"<p>{caption}</p>{_curve(one, header)}"
    names = [word(language, name) for name in ("answer", "accepted")]
    return table(names, [(f"<b>{_answer(one, language)}</b>", _accepted(one, language))])


def _is_right(choice: Mapping[str, Any], language: str) -> str:
    return f"<b>✓ {word(language, 'is_right')}</b>" if choice["right"] else word(language, "is_wrong")


def _curve(one: Question, header: Mapping[str, Any]) -> str:
    """Return times at the stops of a curve, those that students are given first."""
    language, slider = header["language"], header["sliders"][one["over"]]
    given = [(stop, f"{time_text(seconds, language)} ({word(language, 'given')})") for stop, seconds in one["given"]]
    asked = [(stop, time_text(seconds, language)) for stop, seconds in zip(one["open"], one["truth"], strict=True)]
    rows = [(escape(slider["stops"][stop]["text"]), shown_s) for stop, shown_s in [*given, *asked]]
    return table([escape(slider["about"]), word(language, "answer")], rows)


def _by_code(one: Question, header: Mapping[str, Any]) -> str:
    """Return the answers of all combinations, over the sliders on which they depend."""
    language, seeded = header["language"], header["seeded"]
    cases = [of_case(one, number) for number in range(len(seeded["combinations"]))]
    answers = [_short(each, language) for each in cases]
    known = dict(zip(map(tuple, seeded["combinations"]), answers, strict=True))
    axes = [sorted({stops[k] for stops in known}) for k in range(len(seeded["sliders"]))]
    acting = [k for k in range(len(axes)) if _acts(known, k)]
    rows = []
    for chosen in product(*(axes[k] if k in acting else axes[k][:1] for k in range(len(axes)))):
        sliders = [header["sliders"][seeded["sliders"][k]]["stops"][chosen[k]]["text"] for k in acting]
        rows.append([*map(escape, sliders), f"<b>{known[chosen][0]}</b>", known[chosen][1]])
    heads = [escape(header["sliders"][seeded["sliders"][k]]["about"]) for k in acting]
    names = [word(language, name) for name in ("answer", "accepted")]
    note = f"<p>{word(language, 'by_code_feedback')}</p>"
    return f"<p>{word(language, 'by_code')}</p>{table([*heads, *names], rows)}{note}"


def _acts(known: Mapping[tuple[int, ...], tuple[str, str]], axis: int) -> bool:
    """Whether answers differ between combinations that differ in this slider alone."""
    found: dict[tuple[int, ...], tuple[str, str]] = {}
    return any(
        found.setdefault((*stops[:axis], *stops[axis + 1 :]), answer) != answer for stops, answer in known.items()
    )


def _short(one: Question, language: str) -> tuple[str, str]:
    """Return the answer and what is accepted, in two cells."""
    if "choices" in one:
        return next(str(each["html"]) for each in one["choices"] if each["right"]), ""
    if "truth" in one:
        points = "; ".join(time_text(value, language) for value in one["truth"])
        return points, word(language, "within", _digits(100 * one["tolerance"], language))
    return _answer(one, language), _accepted(one, language)


def _answer(one: Question, language: str) -> str:
    return _with_unit(_digits(one["answer"], language), one)


def _accepted(one: Question, language: str) -> str:
    """Return the interval of numbers that count as right."""
    error = max_error(one["answer"], one["tolerance"])
    if not one["tolerance"]:
        return word(language, "exactly")
    within = word(language, "within", _digits(100 * one["tolerance"], language))
    ends = [_digits(one["answer"] + sign * error, language) for sign in (-1, 1)]
    return f"{_with_unit(' – '.join(ends), one)} ({within})"


def _with_unit(digits: str, one: Question) -> str:
    return f"{digits}\N{NO-BREAK SPACE}{escape(one['unit'])}" if one["unit"] else digits


def _replies(one: Question, language: str) -> str:
    """Mistakes, hints and replies of the page."""
    parts = []
    if one.get("mistakes"):
        rows = [(_with_unit(_digits(each["answer"], language), one), each["html"]) for each in one["mistakes"]]
        heads = [word(language, "gives"), word(language, "means")]
        parts.append(f"<h4>{word(language, 'mistakes')}</h4>{table(heads, rows)}")
    kept = [(word(language, name), one[name]) for name in ("right", "wrong") if one.get(name)]
    kept += [(word(language, "hint"), hint) for hint in one["hints"]]
    rows_of = "".join(f"<dt>{name}</dt><dd>{html}</dd>" for name, html in kept)
    return "".join(parts) + (f"<dl>{rows_of}</dl>" if kept else "")


def _digits(value: float, language: str) -> str:
    """Return a number to four digits, in full up to a million."""
    text = f"{value:.4g}"
    return digits_in(f"{float(text):,.0f}" if "e+0" in text else text, language)
