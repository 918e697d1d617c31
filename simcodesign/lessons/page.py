"""A lesson as one HTML file, which needs no other file, no server and no network."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.files.input_files import is_file, read_text
from simcodesign.core.palette import page_colours
from simcodesign.lessons.compute import Numbers, OnProgress, numbers_of
from simcodesign.lessons.contents import contents
from simcodesign.lessons.courses.scorm import write_scorm
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.grading.changes import Changes, changed
from simcodesign.lessons.grading.withheld import OnWithheld, Withheld
from simcodesign.lessons.packing import pack
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language

NEEDS_SCRIPT = {"en": "This lesson needs JavaScript.", "de": "Diese Lektion braucht JavaScript."}
BUNDLE = Path(__file__).with_name("bundle")
_THEME = "<lesson-theme></lesson-theme>"
#: The page asks for nothing: styles, scripts and data stand in it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; font-src data:"


def build_lesson(
    folder: Path,
    output: Path,
    workers: int,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
    exam: bool = False,
    changes: Changes | None = None,
    language: str | None = None,
    on_withheld: OnWithheld | None = None,
    is_scorm: bool = False,
) -> Lesson:
    """Write the page of a lesson's folder, or its exam, in its own language or another that it has.

    ``on_withheld`` is called for each text and figure that an exam lacks. ``is_scorm``: write a package of SCORM 1.2
    with the page. InputError for a lesson, a path or changes that cannot be used.
    """
    original = read_lesson(folder)
    lesson = in_language(original, language)
    text = page(lesson, numbers_of(original, workers, fresh, on_progress), exam, changes, on_withheld, is_scorm)
    if is_scorm:
        write_scorm(lesson.name, lesson.title, text, output)
        return lesson
    with replacing_text(output) as file:
        file.write(text)
    return lesson


def page(
    lesson: Lesson,
    numbers: Numbers,
    exam: bool = False,
    changes: Changes | None = None,
    on_withheld: OnWithheld | None = None,
    is_scorm: bool = False,
    is_lesson: bool = True,
) -> str:
    """Return the HTML of a lesson, or of its exam, with a teacher's changes.

    ``is_scorm``: the page reports its score to a learning platform, and has no dialog for teachers. Without
    ``is_lesson`` the page shows only figures, without a list of steps, answers to export or a dialog for teachers.
    """
    changes = changes or Changes()

    def on_shown(one: Withheld) -> None:
        if on_withheld is not None and not set(one.parts) & set(changes.hide):
            on_withheld(one)

    header, arrays = contents(lesson, numbers, exam, on_shown)
    header = changed(header, changes)
    skip, made = ("skip", "made") if is_lesson else ("skipRun", "madeRun")
    tools, summary, export = _tools(exam or is_scorm) if is_lesson else (_THEME, "", "")
    own = f'<p data-text="ownLab" data-count="{escape(lesson.name)}"></p>' if is_lesson and not exam else ""
    links = f'<nav data-text-label="steps"><ol>{_links(header["steps"])}</ol></nav>' if is_lesson else "<nav></nav>"
    steps = [_step(number, one, lesson, is_lesson) for number, one in enumerate(header["steps"], start=1)]
    for one in header["steps"]:
        del one["html"]  # the text is in the page already
    return f"""<!doctype html>
<html lang="{lesson.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(lesson.title)}</title>
<style>{page_colours()}{_asset("lesson.css")}</style>
</head>
<body{' data-needs-code=""' if exam or lesson.seeded else ""}{' data-scorm=""' if is_scorm else ""}>
<a class="skip" href="#step-1" data-text="{skip}"></a>
<header class="bar"><div class="wrap">
<span class="brand">simcodesign{' <i data-text="lesson"></i>' if is_lesson else ""}</span>
{links}
<span class="tools">{tools}</span>
</div></header>
<main class="wrap">
<section class="hero">
<div><p class="kicker"><span data-text="{"exam" if exam else "minutes"}" data-count="{lesson.minutes}"></span></p>
<h1>{escape(lesson.title)}</h1><p class="about">{escape(lesson.about)}</p></div>
<div class="objectives"><h2 data-text="objectives"></h2><ul>{_items(lesson.objectives)}</ul></div>
</section>
<noscript><p>{NEEDS_SCRIPT[lesson.language]}</p></noscript>
{"".join(steps)}
{summary}</main>
<footer class="wrap">{export}<p data-text="{made}"></p>{own}<ul>{_items(lesson.sources)}</ul></footer>
<script type="text/plain" id="lesson-data">{pack(header, arrays)}</script>
<script>{_asset("lesson.js")}</script>
</body>
</html>
"""


def _tools(has_no_teacher: bool) -> tuple[str, str, str]:
    """Return the buttons of a lesson at the head of its page, its summary, and the buttons at its end."""
    export = "<lesson-export></lesson-export>"
    teacher = "" if has_no_teacher else "<lesson-teacher></lesson-teacher>"
    end = f"{export}<lesson-import></lesson-import><lesson-share></lesson-share>\n"
    return f"<lesson-slides></lesson-slides>{_THEME}{teacher}{export}", "<lesson-summary></lesson-summary>\n", end


def _asset(name: str) -> str:
    """Return a file of the bundle; InputError when the installation lacks it."""
    path = BUNDLE / name
    if not is_file(path):
        raise InputError(
            "the front end of lessons is missing", Place(str(path)), allowed="an installation with its data"
        )
    return read_text(path)


def _items(texts: tuple[str, ...]) -> str:
    return "".join(f"<li>{escape(text)}</li>" for text in texts)


def _links(steps: list[dict[str, Any]]) -> str:
    return "".join(
        f'<li><a href="#step-{number}"><b>{number}</b> <span>{escape(one["name"])}</span></a></li>'
        for number, one in enumerate(steps, start=1)
    )


def _step(number: int, step: dict[str, Any], lesson: Lesson, is_numbered: bool) -> str:
    """Return a step: text and questions beside rows of figures."""
    rows: dict[int, list[str]] = {}
    for place, view in enumerate(step["views"]):
        element = f'<lesson-{view["kind"]} data-step="{number - 1}" data-view="{place}"></lesson-{view["kind"]}>'
        rows.setdefault(view["row"], []).append(element)
    stage = "".join(f'<div class="row of-{len(row)}">{"".join(row)}</div>' for row in rows.values())
    questions = "".join(
        f'<lesson-{kind} data-step="{number - 1}" data-question="{place}"></lesson-{kind}>'
        for place, one in enumerate(step["questions"])
        for kind in ["drawing" if "open" in one else "question"]
    )
    counted = f'<p class="number"><span data-text="step" data-count="{number}"></span></p>\n' if is_numbered else ""
    later = ' data-after-prediction=""' if step["after_prediction"] else ""
    if step["after_answer"]:
        later = f' data-after-answer="{escape(step["after_answer"])}"'
    return f"""<section class="step" id="step-{number}"{later} tabindex="-1" aria-labelledby="head-{number}">
<div class="prose">{counted}<h2 id="head-{number}">{escape(step["name"])}</h2>
{step["html"]}</div>
<div class="stage">{stage}</div>
<div class="questions">{questions}</div>
</section>
"""
