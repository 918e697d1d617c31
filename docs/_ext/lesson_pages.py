"""Lessons on pages of the site: ``{lesson} NAME`` builds one and shows it in a frame, ``{lessons}`` lists all.

A lesson is computed when the site is built, from what is kept of earlier computations if nothing has changed. Only
those that take a few seconds are built here; of all others the list has the command.
"""

from __future__ import annotations

import html
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from simcodesign.lessons.folders import available, lesson_folder
from simcodesign.lessons.page import build_lesson
from simcodesign.lessons.yaml.lesson import read_lesson

#: What is copied to the top of the site (``html_extra_path``), and the folder of lessons in it.
EXTRA, FOLDER = "_lessons", "lessons"


class EmbeddedLesson(SphinxDirective):
    """Build the lesson of this name, and show it in a frame, with a link that opens it alone."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        lesson = read_lesson(lesson_folder(name))
        path = Path(self.env.srcdir) / EXTRA / FOLDER / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        build_lesson(lesson_folder(name), path, workers=1)
        up = "../" * self.env.docname.count("/")
        address, title = f"{up}{FOLDER}/{name}.html", html.escape(lesson.title)
        frame = f'<iframe class="lesson" src="{address}" title="{title}" loading="lazy"></iframe>'
        link = f'<p><a href="{address}">Open <em>{title}</em> alone</a> ({lesson.minutes} minutes)</p>'
        return [nodes.raw("", link + frame, format="html")]


class ListedLessons(SphinxDirective):
    """All shipped lessons: title, what each is about, how long it takes, and how it is built."""

    def run(self) -> list[nodes.Node]:
        lines = ["| lesson | about | minutes | command |", "|---|---|---|---|"]
        for name in available():
            lesson = read_lesson(lesson_folder(name))
            about = lesson.about.replace("|", "\\|")
            lines.append(f"| {lesson.title} | {about} | {lesson.minutes} | `simcodesign lesson build {name}` |")
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, "lessons"), 0, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    (Path(app.srcdir) / EXTRA).mkdir(exist_ok=True)
    app.add_directive("lesson", EmbeddedLesson)
    app.add_directive("lessons", ListedLessons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
