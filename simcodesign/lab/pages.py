"""The pages of the laboratory: a lesson with a panel for free machines and workloads, and one without a lesson."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path

from simcodesign.describe.yaml.files import available
from simcodesign.lab.starts import Start, free_start, starts
from simcodesign.lessons.compute import Numbers, numbers_of
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.folders import available as lessons_available
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.page import POLICY, page
from simcodesign.lessons.yaml.lesson import read_lesson

#: The page asks this server, and no other.
LAB_POLICY = f"{POLICY}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def free_page() -> str:
    """Return the list of lessons, and the panel."""
    lesson = Lesson(
        folder=Path(),
        name="laboratory",
        title="The laboratory",
        language="en",
        about="A machine and a workload of your own: the forecast follows every change, and simulations fill in.",
        minutes=0,
        objectives=(),
        sliders={},
        runs={},
        values={},
        steps=(),
        sources=(),
    )
    links = "".join(
        f'<li><a href="lesson/{escape(one)}">{escape(read_lesson(lesson_folder(one)).title)}</a></li>'
        for one in lessons_available()
    )
    list_ = f'<section class="lab-lessons"><h2 data-text="labLessons"></h2><ul>{links}</ul></section>'
    html = page(lesson, Numbers({}, {}), is_lesson=False).replace('href="#step-1"', 'href="#free"')  # without steps
    return _with_panel(html, "", {"": free_start()}, "", list_)


def lesson_page(folder: Path, workers: int) -> str:
    """Return the page of a lesson, with the panel, which begins with its first run."""
    lesson = read_lesson(folder)
    return _with_panel(page(lesson, numbers_of(lesson, workers)), lesson.name, starts(lesson), "../")


def _with_panel(html: str, name: str, known: Mapping[str, Start], root: str, before: str = "") -> str:
    """Return a page that may ask this server, with the panel at its end.

    ``name``: of its lesson, under which a browser keeps the settings of the panel; ``known``: by run, the start of the
    panel, first that of the page; ``root``: from the page to the root of the server.
    """
    shipped = {"machine": available("topologies"), "workload": available("workloads")}
    start = next(iter(known.values()))
    config = {"root": root, "name": name, "shipped": shipped, "start": start, "runs": [one for one in known if one]}
    panel = f"<lesson-free id='free' tabindex='-1' data-config='{escape(json.dumps(config))}'></lesson-free>"
    head, policy, rest = html.partition(POLICY)
    body, end, after = rest.partition("</main>")
    assert policy
    assert end
    home = "" if not root else f'<p class="note"><a href="{root}" data-text="labHome"></a></p>'
    # A policy in the page itself has no frame-ancestors, which the headers of the response have.
    return head + LAB_POLICY.removesuffix("; frame-ancestors 'none'") + body + before + panel + home + end + after
