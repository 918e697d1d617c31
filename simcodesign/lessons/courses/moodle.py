"""Questions as Moodle XML, which the question bank of Moodle imports.

A question has a category of its own, which holds its variants, so that a "random question" of a quiz draws one of them.
The format is described at https://docs.moodle.org/en/Moodle_XML_format.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.lessons.courses.bank import Bank, Variant, in_digits
from simcodesign.lessons.equations import without_mathml

_UNIT = {"en": "Unit", "de": "Einheit"}


def write_moodle(bank: Bank, output: Path) -> None:
    """Write questions as Moodle XML."""
    quiz = quiz_of(bank)
    ET.indent(quiz)
    with replacing_text(output) as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(quiz, encoding="unicode") + "\n")


def quiz_of(bank: Bank) -> ET.Element:
    """Return the element ``quiz``."""
    quiz = ET.Element("quiz")
    for topic in bank.topics:
        category = ET.SubElement(ET.SubElement(quiz, "question", type="category"), "category")
        # One slash separates a category from its parent.
        folders = (one.replace("/", "//") for one in (bank.title, *topic.place, topic.name))
        _text(category, "/".join(["$course$", *folders]))
        quiz.extend(_question(topic.name, variant, bank.language) for variant in topic.variants)
    return quiz


def _question(name: str, one: Variant, language: str) -> ET.Element:
    """Return a question with the text of its step."""
    element = ET.Element("question", type="multichoice" if one.choices else "numerical")
    _text(ET.SubElement(element, "name"), f"{name} {one.code}")
    unit = f"<p>{_UNIT[language]}: {one.unit}</p>" if one.unit else ""
    _html(element, "questiontext", f"{one.text}\n{one.asked}{unit}")
    ET.SubElement(element, "defaultgrade").text = f"{one.points:g}"
    if one.choices:
        ET.SubElement(element, "single").text = "true"
        ET.SubElement(element, "shuffleanswers").text = "true"
        for choice in one.choices:
            answer = ET.SubElement(element, "answer", fraction="100" if choice.is_right else "0", format="html")
            _text(answer, choice.html)
            _html(answer, "feedback", choice.feedback)
    else:
        _html(element, "generalfeedback", one.solution)
        _numerical(element, one)
    for hint in one.hints:
        _html(element, "hint", hint)
    return element


def _numerical(element: ET.Element, one: Variant) -> None:
    """Add the answer, known mistakes, ``*`` and the unit; Moodle takes the first answer that fits."""
    rows = [
        ("100" if reply.is_right else "0", in_digits(reply.value), in_digits(reply.max_error), reply.html)
        for reply in one.replies
    ]
    for fraction, value, tolerance, feedback in [*rows, ("0", "*", "0", one.otherwise)]:
        answer = ET.SubElement(element, "answer", fraction=fraction, format="moodle_auto_format")
        _text(answer, value)
        ET.SubElement(answer, "tolerance").text = tolerance
        _html(answer, "feedback", feedback)
    if one.unit:
        units = ET.SubElement(element, "units")
        for name in dict.fromkeys([one.unit, one.unit.replace("µs", "us")]):
            unit = ET.SubElement(units, "unit")
            ET.SubElement(unit, "multiplier").text = "1"
            ET.SubElement(unit, "unit_name").text = name


def _html(element: ET.Element, tag: str, html: str) -> None:
    _text(ET.SubElement(element, tag, format="html"), html)


def _text(element: ET.Element, text: str) -> None:
    """Add a text, without MathML, which Moodle removes with its fractions.

    HTML in it is escaped, which an XML parser reads like a CDATA section.
    """
    ET.SubElement(element, "text").text = without_mathml(text)
