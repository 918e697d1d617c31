"""The texts of a lesson in another language: ``lesson.yaml`` and Markdown in a folder of that name in the lesson's own.

Sliders, runs, values and answers stay those of the lesson: numbers are computed once. Every text must be there, and no
other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import is_file
from simcodesign.describe.yaml.machine import check_format
from simcodesign.describe.yaml.tree import Entry, read_yaml
from simcodesign.lessons.description import (
    ChoiceQuestion,
    DrawnQuestion,
    Lesson,
    NumberQuestion,
    Question,
    Run,
    Slider,
    Step,
    View,
)
from simcodesign.lessons.yaml.lesson import FILE, LANGUAGES, read_markdown
from simcodesign.lessons.yaml.questions import hints_in

T = TypeVar("T")
#: Four letters are no unit.
_WORD = re.compile(r"[^\W\d_]{4,}")
KEYS = ("simcodesign", "title", "about", "objectives", "sources", "sliders", "runs", "steps", "teacher")


def languages_of(lesson: Lesson) -> tuple[str, ...]:
    """Return the languages in which a lesson has texts, its own first."""
    others = (one for one in LANGUAGES if one != lesson.language and is_file(lesson.folder / one / FILE))
    return (lesson.language, *others)


def in_language(lesson: Lesson, language: str | None) -> Lesson:
    """Return the lesson with its texts in a language; None: in its own.

    InputError for a language that it has not, for texts that are missing, and for those that belong to nothing.
    """
    if language is None or language == lesson.language:
        return lesson
    if language not in languages_of(lesson):
        place, allowed = Place(str(lesson.folder)), ", ".join(languages_of(lesson))
        raise InputError("the lesson has no texts in this language", place, value=language, allowed=allowed)
    items = read_yaml(lesson.folder / language / FILE).mapping(KEYS, required=("simcodesign", "title", "steps"))
    check_format(items["simcodesign"])
    sliders, runs = _sliders_and_runs(items, lesson)
    return replace(
        lesson,
        language=language,
        title=items["title"].text(),
        about=_text(items, "about", lesson.about),
        objectives=_texts(items, "objectives", lesson.objectives),
        sources=_texts(items, "sources", lesson.sources),
        sliders=sliders,
        runs=runs,
        steps=tuple(
            _step(entry, one, lesson, language) for entry, one in _pairs(items["steps"], lesson.steps, "steps")
        ),
        teacher=read_markdown(items["teacher"], lesson.folder / language)[0] if lesson.teacher else "",
    )


def _sliders_and_runs(items: Mapping[str, Entry], lesson: Lesson) -> tuple[dict[str, Slider], dict[str, Run]]:
    """Return the names of sliders and runs."""
    sliders = _required(items, "sliders").mapping(lesson.sliders, required=tuple(lesson.sliders))
    named = {name: _slider(sliders[name], one) for name, one in lesson.sliders.items()}
    runs = _required(items, "runs").mapping(lesson.runs, required=tuple(lesson.runs))
    return named, {name: _run(runs[name], one, named) for name, one in lesson.runs.items()}


def _slider(entry: Entry, slider: Slider) -> Slider:
    """Return the name of a slider, and its stops, if they are words and not numbers alone."""
    has_words = any(_WORD.search(stop.text) for stop in slider.stops)
    keys = ("about", "stops") if has_words else ("about",)
    items = entry.mapping(keys, required=keys)
    texts = _texts(items, "stops", [stop.text for stop in slider.stops]) if has_words else ()
    stops = (
        tuple(replace(stop, text=text) for stop, text in zip(slider.stops, texts, strict=True))
        if texts
        else slider.stops
    )
    return replace(slider, about=items["about"].text(), stops=stops)


def _run(entry: Entry, run: Run, sliders: Mapping[str, Slider]) -> Run:
    keys = ("about", "measured") if run.measured_about else ("about",)
    items = entry.mapping(keys, required=keys)
    measured = items["measured"].text() if run.measured_about else ""
    over = tuple(sliders[one.name] for one in run.sliders)
    return replace(run, about=items["about"].text(), measured_about=measured, sliders=over)


def _step(entry: Entry, step: Step, lesson: Lesson, language: str) -> Step:
    items = entry.mapping(("name", "text", "titles", "questions"), required=("name", "text"))
    text, place = read_markdown(items["text"], lesson.folder / language)
    titles = iter(_texts(items, "titles", tuple(view.title for view in step.views if view.title)))
    questions: tuple[Question, ...] = ()
    if step.questions or "questions" in items:
        names = {one.name: one for one in step.questions}
        asked = _required(items, "questions").mapping(names, required=tuple(names))
        questions = tuple(_question(asked[name], one) for name, one in names.items())
    views = tuple(_titled(view, next(titles)) if view.title else view for view in step.views)
    return replace(step, name=items["name"].text(), text=text, text_place=place, views=views, questions=questions)


def _titled(view: View, title: str) -> View:
    return replace(view, title=title)


def _question(entry: Entry, one: Question) -> Question:
    """Return a question with its texts; the truth is that of the original."""
    own = {
        NumberQuestion: ("right", "wrong", "mistakes"),
        ChoiceQuestion: ("choices",),
        DrawnQuestion: ("right", "wrong"),
    }.get(type(one), ())
    items = entry.mapping(("text", "hint", *own), required=("text",))
    text, hints = items["text"].text(), _hints(items, one.hints)
    if isinstance(one, ChoiceQuestion):
        pairs = _pairs(_required(items, "choices"), one.choices, "choices")
        read = [(each.mapping(("text", "feedback"), required=("text",)), choice) for each, choice in pairs]
        choices = tuple(
            replace(choice, text=each["text"].text(), feedback=_text(each, "feedback", choice.feedback))
            for each, choice in read
        )
        return replace(one, text=text, hints=hints, place=entry.place, choices=choices)
    right, wrong = (_text(items, key, getattr(one, key)) for key in ("right", "wrong"))
    if isinstance(one, NumberQuestion):
        texts = _texts(items, "mistakes", tuple(each.text for each in one.mistakes))
        mistakes = tuple(replace(each, text=text) for each, text in zip(one.mistakes, texts, strict=True))
        one = replace(one, mistakes=mistakes)
    return replace(one, text=text, hints=hints, place=entry.place, right=right, wrong=wrong)


def _hints(items: Mapping[str, Entry], originals: Sequence[str]) -> tuple[str, ...]:
    """As many hints as the original has."""
    if not originals:
        _text(items, "hint", "")
        return ()
    entry, hints = _required(items, "hint"), hints_in(items)
    if len(hints) != len(originals):
        raise entry.error("not as many hints as in the lesson", f"{len(originals)}, in the same order")
    return hints


def _required(items: Mapping[str, Entry], key: str) -> Entry:
    if key not in items:
        place = next(iter(items.values())).place
        raise InputError(f"'{key}' is missing", place, allowed="the texts of all that the lesson has")
    return items[key]


def _text(items: Mapping[str, Entry], key: str, original: str) -> str:
    """Return a text that is there exactly if the original has one."""
    if not original:
        if key in items:
            raise items[key].error("translates nothing", "texts that the lesson has")
        return ""
    return _required(items, key).text()


def _texts(items: Mapping[str, Entry], key: str, originals: Sequence[str]) -> tuple[str, ...]:
    """As many texts as the original has."""
    if not originals and key not in items:
        return ()
    return tuple(entry.text() for entry, _ in _pairs(_required(items, key), originals, key))


def _pairs(entry: Entry, originals: Sequence[T], what: str) -> list[tuple[Entry, T]]:
    found = entry.sequence()
    if len(found) != len(originals):
        raise entry.error(f"not as many {what} as in the lesson", f"{len(originals)}, in the same order")
    return list(zip(found, originals, strict=True))
