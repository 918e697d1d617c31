"""Questions of a lesson as Moodle XML, which the question bank of Moodle imports, with variants for codes 1 to N.

A question has a category of its own, which holds its variants, so that a "random question" of a quiz draws one of them.
The format is described at https://docs.moodle.org/en/Moodle_XML_format. Moodle has no question for a drawn curve.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.lessons.compute import OnProgress, numbers_of
from simcodesign.lessons.contents import contents
from simcodesign.lessons.equations import without_mathml
from simcodesign.lessons.grading.changes import Changes, changed
from simcodesign.lessons.grading.marking import max_error
from simcodesign.lessons.grading.questions import of_case
from simcodesign.lessons.grading.seeding import place_of
from simcodesign.lessons.grading.withheld import OnWithheld, Withheld
from simcodesign.lessons.values import digits_in
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language

#: What a page accepts around a known mistake at least (``front/views/question.js``).
_MISTAKE_TOLERANCE = 0.02
_UNIT = {"en": "Unit", "de": "Einheit"}
#: Buttons that set the clock of a page, and characters that no XML file may have.
_BUTTON = re.compile("</?button[^>]*>")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def build_questions(
    folder: Path,
    output: Path,
    workers: int,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
    exam: bool = False,
    changes: Changes | None = None,
    language: str | None = None,
    variants: int | None = None,
    on_withheld: OnWithheld | None = None,
) -> str:
    """Write the questions of a lesson's folder as Moodle XML, and return how many there are, and which are left out.

    ``exam``: without hints, and with the texts of the exam page. ``variants``: write the variants of the codes 1 to N
    (default: every combination of slider positions that codes draw). ``on_withheld`` is called for each value that the
    texts of an exam lack. InputError for a lesson, a path, changes or a number of variants that cannot be used.
    """
    original = read_lesson(folder)
    lesson, made = in_language(original, language), changes or Changes()
    numbers = numbers_of(original, workers, fresh, on_progress)

    def on_shown(one: Withheld) -> None:
        if on_withheld is not None and one.kind == "value" and not set(one.parts) & set(made.hide):
            on_withheld(one)

    told = changed(contents(lesson, numbers)[0], made)
    shown = changed(contents(lesson, numbers, True, on_shown)[0], made) if exam else told
    quiz, left_out = quiz_of(told, shown, variants)
    ET.indent(quiz)
    with replacing_text(output) as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(quiz, encoding="unicode") + "\n")
    questions, categories = len(quiz.findall("question[questiontext]")), len(quiz.findall("question/category"))
    counted = f"{questions} questions in {categories} categories"
    return f"{counted}; without {', '.join(left_out)}: Moodle has no question for a curve" if left_out else counted


def quiz_of(told: Mapping[str, Any], shown: Mapping[str, Any], variants: int | None) -> tuple[ET.Element, list[str]]:
    """Return the element ``quiz`` and the names of drawn questions, which it lacks.

    ``told``: the header of a page, which has all answers; ``shown``: the header whose texts students see. InputError if
    there are fewer combinations than ``variants``, or no question that Moodle can ask.
    """
    count = len(told["seeded"]["combinations"])
    if variants is not None and not 1 <= variants <= count:
        allowed = f"1 to {count}, the number of combinations of stops that codes draw"
        raise InputError("number of variants", Place("--variants"), value=variants, allowed=allowed)
    quiz, left_out = ET.Element("quiz"), []
    for step, seen in zip(told["steps"], shown["steps"], strict=True):
        for one, public in zip(step["questions"], seen["questions"], strict=True):
            if "open" in one:
                left_out.append(one["name"])
                continue
            category = ET.SubElement(ET.SubElement(quiz, "question", type="category"), "category")
            title = told["title"].replace("/", "//")  # one slash separates a category from its parent
            _text(category, f"$course$/{title}/{one['name'].replace('/', '//')}")
            quiz.extend(_variants(told, one, (seen, public), variants or count))
    if not len(quiz):
        raise InputError("no question that Moodle can ask", allowed="questions for numbers and choices")
    return quiz, left_out


def _variants(
    told: Mapping[str, Any], one: Mapping[str, Any], seen: tuple[Mapping[str, Any], Mapping[str, Any]], count: int
) -> Iterator[ET.Element]:
    """Yield a question for each of the codes 1 to ``count``, unless it is the same as an earlier one."""
    known = set()
    for code in range(1, count + 1):
        case = place_of(told["name"], str(code), len(told["seeded"]["combinations"]))
        step, public = (of_case(each, case) for each in seen)
        element = _question(of_case(one, case), step["html"], public, told["language"])
        body = ET.tostring(element)
        if body not in known:
            known.add(body)
            name = ET.Element("name")
            _text(name, f"{one['name']} {code}")
            element.insert(0, name)
            yield element


def _question(one: Mapping[str, Any], text: str, public: Mapping[str, Any], language: str) -> ET.Element:
    """Return a question without its name, below the text of its step; ``public``: the question as students see it."""
    is_choice = "choices" in one
    element = ET.Element("question", type="multichoice" if is_choice else "numerical")
    unit = "" if is_choice or not one["unit"] else f"<p>{_UNIT[language]}: {one['unit']}</p>"
    asked = public["html"] if "<p>" in public["html"] else f"<p>{public['html']}</p>"
    _html(element, "questiontext", text + asked + unit)
    ET.SubElement(element, "defaultgrade").text = f"{one['points']:g}"
    if is_choice:
        ET.SubElement(element, "single").text = "true"
        ET.SubElement(element, "shuffleanswers").text = "true"
        texts = {choice["id"]: choice["html"] for choice in public["choices"]}
        for choice in one["choices"]:
            answer = ET.SubElement(element, "answer", fraction="100" if choice["right"] else "0", format="html")
            _text(answer, texts[choice["id"]])
            _html(answer, "feedback", choice["feedback"])
    else:
        error = max_error(one["answer"], one["tolerance"])
        around = f" ± {error:.3g}" if one["tolerance"] else ""
        _html(element, "generalfeedback", digits_in(f"{one['answer']:.4g}{around} {one['unit']}", language))
        _numerical(element, one, error)
    if public.get("hint"):
        _html(element, "hint", public["hint"])
    return element


def _numerical(element: ET.Element, one: Mapping[str, Any], error: float) -> None:
    """Add the answer, known mistakes, ``*`` and the unit; Moodle takes the first answer that fits."""
    largest = max(one["tolerance"], _MISTAKE_TOLERANCE)
    rows = [("100", one["answer"], error, one["right"])]
    rows += [("0", each["answer"], largest * abs(each["answer"]), each["html"]) for each in one["mistakes"]]
    # More than 12 digits would only show how binary numbers are rounded.
    texts = [(fraction, f"{value:.12g}", f"{off:.12g}", feedback) for fraction, value, off, feedback in rows]
    for fraction, value, tolerance, feedback in [*texts, ("0", "*", "0", one["wrong"])]:
        answer = ET.SubElement(element, "answer", fraction=fraction, format="moodle_auto_format")
        _text(answer, value)
        ET.SubElement(answer, "tolerance").text = tolerance
        _html(answer, "feedback", feedback)
    if one["unit"]:
        units = ET.SubElement(element, "units")
        for name in dict.fromkeys([one["unit"], one["unit"].replace("µs", "us")]):
            unit = ET.SubElement(units, "unit")
            ET.SubElement(unit, "multiplier").text = "1"
            ET.SubElement(unit, "unit_name").text = name


def _html(element: ET.Element, tag: str, html: str) -> None:
    _text(ET.SubElement(element, tag, format="html"), html)


def _text(element: ET.Element, text: str) -> None:
    """Add a text, without MathML, which Moodle removes with its fractions.

    HTML in it is escaped, which an XML parser reads like a CDATA section.
    """
    ET.SubElement(element, "text").text = _NOT_XML.sub("", _BUTTON.sub("", without_mathml(text))).strip()
