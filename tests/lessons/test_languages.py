"""A lesson in another language has all texts and only these, the same numbers in the same places, and nothing in the first language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import KINDS
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.effects import effect_names
from simcodesign.generate.plan import STATION_KINDS
from simcodesign.lessons.checking import check_lesson
from simcodesign.lessons.compute import content_hash
from simcodesign.lessons.contents import contents
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.figures.helps import PLAIN_WORDS
from simcodesign.lessons.folders import available, lesson_folder
from simcodesign.lessons.grading.questions import of_case
from simcodesign.lessons.lattice import Lattice, formula_times
from simcodesign.lessons.packing import block_in, unpack
from simcodesign.lessons.page import build_lesson
from simcodesign.lessons.values import digits_in
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language, languages_of
from tests import ROOT
from tests.lessons.small import small_lesson
from tests.lessons.test_grading import numbers_without_simulating

FRONT = ROOT / "simcodesign/lessons/front"
TRANSLATED = [
    (name, language) for name in available() for language in languages_of(read_lesson(lesson_folder(name)))[1:]
]
#: Words that are English alone.
ENGLISH = re.compile(r"\b(the|of|and|is|are|with|which|what|how|that|from|you|for|by|it)\b", re.IGNORECASE)
#: Titles of works that lessons cite stay as they are.
TITLES = (
    "Introduction to Parallel Computing",
    "Optimization of Collective Communication Operations in MPICH",
    "Validity of the single processor approach to achieving large scale computing capabilities",
    "The Tofu Interconnect D",
    "LULESH 2.0 Updates and Changes",
    "An Introduction to Probability Theory and Its Applications",
    "The Case of the Missing Supercomputer Performance",
    "Performance Forecasting: Characterization of Applications on Current and Future Architectures",
    "Optimization of Collective Reduction Operations",
    "Roofline: an insightful visual performance model for multicore architectures",
    "The cache performance and optimizations of blocked algorithms",
    "A First Order Approximation to the Optimum Checkpoint Interval",
    "A Higher Order Estimate of the Optimum Checkpoint Interval for Restart Dumps",
    "A higher order estimate of the optimum checkpoint interval for restart dumps",
    "The Llama 3 Herd of Models",
    "LogGP: incorporating long messages into the LogP model",
    "Quantifying performance bottlenecks of stencil computations using the Execution-Cache-Memory model",
)
#: Words of both languages.
SHARED = {"Ring", "Caches", "Pipelines"}
GERMAN = """\
simcodesign: 1
title: Eine kleine Lektion
sliders: {nodes: {about: Knoten}, size: {about: Größe}, startup: {about: Startzeit}}
runs: {near: {about: nah}}
steps:
  - name: Eins
    text: one.md
    titles: [Titel]
    questions:
      number: {text: "Wie lange?", mistakes: [Die Hälfte davon.]}
      choice: {text: "Was?", choices: [{text: Teilstrecken, feedback: Nein.}, {text: Verbindungen, feedback: Ja.}]}
"""


def texts_of(lesson: Lesson) -> Iterator[tuple[str, str]]:
    """All texts of a lesson that are read, with where they stand."""
    yield from (("title", lesson.title), ("about", lesson.about), ("teacher", lesson.teacher))
    yield from ((f"objective {number}", one) for number, one in enumerate(lesson.objectives))
    yield from ((f"source {number}", one) for number, one in enumerate(lesson.sources))
    for name, one in lesson.sliders.items():
        yield f"slider {name}", one.about
        yield from ((f"slider {name}, stop {number}", stop.text) for number, stop in enumerate(one.stops))
    for name, run in lesson.runs.items():
        yield from ((f"run {name}", run.about), (f"run {name}, measured", run.measured_about))
    for step_number, step in enumerate(lesson.steps):
        here = f"step {step_number}"
        yield from ((f"{here}, name", step.name), (f"{here}, text", step.text))
        yield from ((f"{here}, view {number}", view.title) for number, view in enumerate(step.views))
        for question in step.questions:
            there = f"{here}, {question.name}"
            yield from ((f"{there}, {key}", getattr(question, key, "")) for key in ("text", "right", "wrong"))
            yield from ((f"{there}, hint {number}", hint) for number, hint in enumerate(question.hints))
            for number, one in enumerate((*getattr(question, "mistakes", ()), *getattr(question, "choices", ()))):
                yield f"{there}, {number}", one.text
                yield f"{there}, feedback {number}", getattr(one, "feedback", "")


def both(name: str, language: str) -> tuple[dict[str, str], dict[str, str]]:
    original = read_lesson(lesson_folder(name))
    shown = in_language(original, language)
    first, second = (dict(texts_of(one)) for one in (original, shown))
    assert first.keys() == second.keys()
    assert content_hash(original) == content_hash(read_lesson(lesson_folder(name)))
    return first, second


def is_text(text: str) -> bool:
    """Whether there is anything to translate: a word of small letters, besides numbers and names of units."""
    plain = re.sub(r"\{\{.*?\}\}|\]\(.*?\)|(?<=\d )min\b", " ", text)
    return bool(re.search(r"[a-zäöü]{3,}", plain))


def test_every_lesson_is_there_in_german() -> None:
    assert {name for name, language in TRANSLATED if language == "de"} == set(available())


@pytest.mark.parametrize(("name", "language"), TRANSLATED)
def test_no_text_is_left_untranslated(name: str, language: str) -> None:
    first, second = both(name, language)
    texts = {where: text for where, text in second.items() if is_text(first[where])}
    assert len(texts) > 50
    assert [(where, text) for where, text in texts.items() if text == first[where] and text not in SHARED] == []
    own_words = {
        where: re.sub(rf"\{{\{{.*?\}}\}}|`.*?`|{'|'.join(map(re.escape, TITLES))}", " ", text)
        for where, text in texts.items()
    }
    assert [(where, found[0]) for where, text in own_words.items() if (found := ENGLISH.search(text))] == []


@pytest.mark.parametrize(("name", "language"), TRANSLATED)
def test_the_same_values_stand_in_both(name: str, language: str) -> None:
    """Values, buttons of the clock and colours of roles are those of the original, in any order."""
    first, second = both(name, language)
    for where, text in first.items():
        for marks in (r"\{\{(.*?)\}\}", r"\]\((.*?)\)", r"^```(\w*)"):
            mine, theirs = (sorted(re.findall(marks, one, re.MULTILINE)) for one in (second[where], text))
            assert mine == theirs, where
        assert ("\n> " in second[where]) is ("\n> " in text), where


@pytest.mark.thorough
@pytest.mark.parametrize("exam", [False, True])
def test_the_exam_asks_the_same_in_both(exam: bool) -> None:
    """Questions, points, tolerances, keys and truths of every code, and what is held back, are equal; texts are not.

    Simulated times are made up: both languages are given the same.
    """
    lesson = read_lesson(lesson_folder("exam"))
    numbers = numbers_without_simulating(lesson, Lattice, formula_times)
    found = [contents(one, numbers, exam) for one in (lesson, in_language(lesson, "de"))]
    (first, arrays), (second, others) = found
    assert arrays.keys() == others.keys()
    assert first["content"] == second["content"]
    assert first["seeded"] == second["seeded"]
    texts = {"html", "hints", "right", "wrong", "feedback", "title", "about", "text", "name", "measured_about"}

    def rest(one: object) -> object:
        """Without its texts; ``right`` of a choice is none."""
        if isinstance(one, list):
            return [rest(each) for each in one]
        if not isinstance(one, dict):
            return one
        return {key: rest(value) for key, value in one.items() if key not in texts or isinstance(value, bool)}

    for step, other in zip(first["steps"], second["steps"], strict=True):
        assert [one["name"] for one in step["questions"]] == [one["name"] for one in other["questions"]]
        for one, its in zip(step["questions"], other["questions"], strict=True):
            cases = range(len(first["seeded"]["combinations"]))
            assert [rest(of_case(one, case)) for case in cases] == [rest(of_case(its, case)) for case in cases]
        assert rest(step["views"]) == rest(other["views"])
    assert rest(first["sliders"]) == rest(second["sliders"])
    assert {name: rest(one) for name, one in first["runs"].items()} == {
        name: rest(one) for name, one in second["runs"].items()
    }
    answers = [of_case(one, 0).get("answer") for step in first["steps"] for one in step["questions"]]
    assert any(answers) is not exam


def german(folder: Path, change: tuple[str, str] = ("", "")) -> Lesson:
    small_lesson(folder)
    (folder / "de").mkdir()
    assert change[0] in GERMAN
    (folder / "de" / "lesson.yaml").write_text(GERMAN.replace(*change) if change[0] else GERMAN, encoding="utf-8")
    (folder / "de" / "one.md").write_text("Die [Formel](role:formula) sagt {{formula : ms .2f}}.\n", encoding="utf-8")
    return in_language(read_lesson(folder), "de")


def test_numbers_of_both_languages_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    german(tmp_path / "small")
    pages = []
    for language in ("en", "de"):
        build_lesson(tmp_path / "small", tmp_path / "page.html", 1, language=language)
        pages.append((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert len(list((tmp_path / "cache").rglob("*.txt"))) == 1  # computed once
    (first, arrays), (second, others) = (unpack(block_in(page)) for page in pages)
    assert arrays.keys() == others.keys()
    for name, one in arrays.items():
        np.testing.assert_array_equal(others[name], one)
    for one, other in zip(first["steps"][0]["questions"], second["steps"][0]["questions"], strict=True):
        assert (one["name"], one.get("answer")) == (other["name"], other.get("answer"))
    assert '<html lang="de">' in pages[1]
    assert re.search(r"sagt \d+,\d\d\N{NO-BREAK SPACE}ms", pages[1])
    assert "JavaScript." in pages[1]
    assert "This lesson" not in pages[1]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("title: Eine kleine Lektion\n", ""), "'title' is missing"),
        (("nodes: {about: Knoten}, ", ""), "nodes"),
        (("titles: [Titel]", "titles: [Titel, Noch einer]"), "not as many titles"),
        (("mistakes: [Die Hälfte davon.]", "right: Ja."), "translates nothing"),
        (('"Wie lange?"', '"Wie lange?", hint: Hm.'), "translates nothing"),
        ((", mistakes: [Die Hälfte davon.]", ""), "'mistakes' is missing"),
        ((", feedback: Nein.", ""), "'feedback' is missing"),
        (("text: one.md", "text: two.md"), "no such file"),
        (("startup: {about: Startzeit}", "startup: {about: Startzeit, stops: [1, 20]}"), "stops"),
    ],
)
def test_what_is_missing_or_too_much_is_named(change: tuple[str, str], word: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(word)) as caught:
        german(tmp_path / "small", change)
    assert caught.value.place is not None
    assert Path(caught.value.place.file).parent.name == "de"


def test_check_reads_all_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    german(tmp_path / "small")
    (tmp_path / "small" / "de" / "one.md").write_text("{{nothing}}\n", encoding="utf-8")
    with pytest.raises(InputError, match="no such value") as caught:
        check_lesson(tmp_path / "small", 1)
    assert caught.value.place is not None
    assert Path(caught.value.place.file).parent.name == "de"


def test_a_language_that_is_not_there(tmp_path: Path) -> None:
    lesson = read_lesson(small_lesson(tmp_path / "small"))
    with pytest.raises(InputError, match="no texts in this language"):
        in_language(lesson, "de")


def test_digits_in_german() -> None:
    assert digits_in("1,024.5 ms, 3.5", "de") == "1024,5 ms, 3,5"
    assert digits_in("1,234,567.25 of 16384, 2e-05", "de") == "1\u202f234\u202f567,25 of 16\u202f384, 2e-05"
    assert digits_in("1,024.5 ms", "en") == "1,024.5 ms"


@pytest.mark.parametrize(("name", "language"), TRANSLATED)
def test_numbers_in_german_texts_have_one_form(name: str, language: str) -> None:
    """A comma before decimals, no mark in 1024, narrow blanks in 16 384: as ``digits_in`` writes computed numbers."""
    first, second = both(name, language)
    for where, text in second.items():
        if ", stop " in where and text == first[where]:
            continue  # the page writes it with digits_in
        own = re.sub(r"\{\{.*?\}\}|`.*?`|\]\(.*?\)", " ", text)
        if not where.startswith("source"):
            found = re.findall(r"(?<![\w.])\d{5,}(?!\w)|\d[. ]\d{3}(?!\d)|(?<![\d.])\d+\.\d+(?!\d|\.\d)", own)
            assert [one for one in found if not re.search(rf"Abschnitt {one}", own)] == [], where


def keys_of(file: str, language: str) -> set[str]:
    """The names of the texts that a table of the front end has in a language."""
    text = (FRONT / file).read_text(encoding="utf-8")
    (block,) = re.findall(rf"^  {language}: {{\n(.*?)^  }},$", text, re.DOTALL | re.MULTILINE)
    found = re.findall(r'(\w+): "(?:[^"\\]|\\.)*"', block)
    assert len(found) == len(set(found)) > 5
    return set(found)


@pytest.mark.parametrize("file", sorted(path.name for path in FRONT.glob("texts*.js")))
def test_every_text_of_the_interface_is_there_in_both_languages(file: str) -> None:
    assert keys_of(file, "en") == keys_of(file, "de")


def test_every_text_that_is_asked_for_is_there() -> None:
    known = set[str]().union(*(keys_of(path.name, "en") for path in FRONT.glob("texts*.js")))
    sources = [path.read_text(encoding="utf-8") for path in [*FRONT.glob("*.js"), *FRONT.glob("views/*.js")]]
    asked = {name for source in sources for name in re.findall(r'\btext\("(\w+)"', source)}
    assert len(asked) > 80
    assert asked - known == set()
    assert {f"effect_{name}" for name in effect_names()} - known == set()


def test_words_that_python_writes_have_a_german_one() -> None:
    text = (FRONT / "terms.js").read_text(encoding="utf-8")
    known = {quoted or plain for quoted, plain in re.findall(r'(?:"([^"]+)"|\b(\w+)): "', text)}
    algorithms = {one.replace("_", " ") for names in ALGORITHMS.values() for one in names}
    operations = {one.replace("_", " ") for one in ALGORITHMS}
    for words in (algorithms, operations, set(KINDS), set(STATION_KINDS), set(PLAIN_WORDS.values())):
        assert words - known == set()
