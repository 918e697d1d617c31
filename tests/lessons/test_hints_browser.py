"""Staged hints and solutions in a real browser. Needs what test_browser.py does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simcodesign.lessons.page import build_lesson
from tests.lessons import test_browser
from tests.lessons.small import small_lesson
from tests.lessons.test_browser import DESKTOP, browser  # noqa: F401
from tests.lessons.test_grading_browser import opened  # noqa: F401
from tests.lessons.test_hints import HINTS

pytestmark = test_browser.pytestmark


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hints")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        small_lesson(folder / "small", HINTS)
        build_lesson(folder / "small", folder / "page.html", 1)
        build_lesson(folder / "small", folder / "exam.html", 1, exam=True)
    return folder


def hints_after(page: Any, answer: str) -> list[str]:
    """What the page shows below the first question after an answer."""
    page.locator("lesson-question input").first.fill(answer)
    page.locator("lesson-question button[type=submit]").first.click()
    return shown(page)


def shown(page: Any) -> list[str]:
    return [
        one.split(" ", 1)[0] if one.startswith("Sol") else one[:6]
        for one in page.locator("lesson-question .hint").all_inner_texts()
    ]


def test_a_hint_for_each_wrong_answer_and_then_the_solution(opened: Any, built: Path) -> None:  # noqa: F811
    page = opened(built / "page.html", "", needs_code=False)
    assert page.locator("lesson-question details").count() == 0
    assert hints_after(page, "1e9") == ["Hint 1"]
    assert hints_after(page, "1e9") == ["Hint 1"]  # the same answer again
    assert hints_after(page, "2e9") == ["Hint 1", "Hint 2"]
    assert hints_after(page, "3e9") == ["Hint 1", "Hint 2", "Hint 3", "Solution:"]
    page.reload()
    page.wait_for_selector("body.is-ready")
    assert shown(page) == ["Hint 1", "Hint 2", "Hint 3", "Solution:"]
    answer = page.locator("lesson-question .hint").last.inner_text().split()[1]
    assert hints_after(page, answer) == ["Hint 1", "Hint 2", "Hint 3"]
    assert "Right" in page.locator("lesson-question .feedback").first.inner_text()


def test_the_solution_of_a_choice(opened: Any, built: Path) -> None:  # noqa: F811
    page = opened(built / "page.html", "", needs_code=False)
    chips = page.locator('lesson-question[data-question="1"] [data-choice]')
    texts = chips.all_inner_texts()
    wrong = chips.nth(texts.index("Hops"))
    right = chips.nth(texts.index("Links"))
    for _ in range(3):  # right answers between wrong ones count as none
        right.click()
        wrong.click()
    found = page.locator('lesson-question[data-question="1"] .hint').all_inner_texts()
    assert [one.split()[:2] for one in found] == [["Solution:", "Links"]]


def test_an_exam_shows_none(opened: Any, built: Path) -> None:  # noqa: F811
    page = opened(built / "exam.html", "s1")
    for answer in ("1e9", "2e9", "3e9", "4e9"):
        assert hints_after(page, answer) == []
