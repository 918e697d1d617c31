"""What typed answers mean, here and (test_grading_browser.py) in the page, and how ``grade`` takes texts."""

from __future__ import annotations

import pytest

from simcodesign.lessons.grading.marking import TWO_WAYS, mark
from simcodesign.lessons.grading.typed import readings, writes_thousands
from tests.lessons.typed_numbers import BESIDE, CASES


def test_what_a_text_means() -> None:
    for language, text, unit, expected in CASES:
        assert readings(text, language, unit) == pytest.approx(expected, rel=1e-14), (language, text)


def test_a_question_may_show_how_it_writes_thousands() -> None:
    assert [writes_thousands(html, language) for language, html, _ in BESIDE] == [expected for *_, expected in BESIDE]


@pytest.mark.parametrize(
    ("language", "html", "given", "answer", "points"),
    [
        ("en", "How many of the 4,032 messages?", "2,279", 2279.0, 1.0),
        ("de", "Wie viele der 4.032 Nachrichten?", "2.279", 2279.0, 1.0),
        ("de", "Um welchen Faktor?", "1,375", 1.375, 1.0),
        ("en", "By what factor?", "11/8", 1.375, 1.0),
        ("en", "By what factor?", "11/9", 1.375, 0.0),
    ],
)
def test_texts_are_graded_as_the_page_reads_them(
    language: str, html: str, given: str, answer: float, points: float
) -> None:
    question = {"html": html, "answer": answer, "tolerance": 0.01, "points": 1.0, "unit": ""}
    found = mark(question, given, language=language)
    assert (found.points, found.remark) == (points, "")


def test_a_text_with_two_meanings_has_no_points_and_both_are_named() -> None:
    question = {"html": "Um welchen Faktor?", "answer": 1.375, "tolerance": 0.01, "points": 1.0, "unit": ""}
    found = mark(question, "1.375", language="de")
    assert (found.points, found.remark) == (0.0, f"{TWO_WAYS}, as 1375 or as 1.375")
