"""Lessons on pages of the site: ``{lessons}`` shows a gallery of all lessons, ``{lesson} NAME`` shows one in a frame.

All bundled lessons are built in each of their languages when a build of the site begins. Results that are kept of
earlier computations are used again if nothing has changed.
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
from simcodesign.lessons.yaml.translation import in_language, languages_of

#: What is copied to the top of the site (``html_extra_path``), and the folder of lessons in it.
EXTRA, FOLDER = "_lessons", "lessons"


class EmbeddedLesson(SphinxDirective):
    """Show the lesson of this name in a frame, with a link that opens it alone."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        lesson = read_lesson(lesson_folder(name))
        address, title = _address(self, name), html.escape(lesson.title)
        frame = f'<iframe class="lesson" src="{address}" title="{title}" loading="lazy"></iframe>'
        link = f'<p><a href="{address}">Open <em>{title}</em> alone</a> ({lesson.minutes} minutes)</p>'
        return [nodes.raw("", link + frame, format="html")]


class Gallery(SphinxDirective):
    """Show a card for each bundled lesson, which opens the built lesson: its title, subject, name and minutes.

    Below it are the titles in its other languages, which open these.
    """

    def run(self) -> list[nodes.Node]:
        lines = ["::::{grid} 1 2 2 3", ":gutter: 3", ""]
        for name in available():
            lesson = read_lesson(lesson_folder(name))
            lines += [f":::{{grid-item-card}} {lesson.title}", f":link: {_address(self, name)}", ":link-type: url"]
            lines += ["", lesson.about, "", f"`{name}`, {lesson.minutes} minutes", ""]
            for language in languages_of(lesson)[1:]:
                title = in_language(lesson, language).title
                lines.append(f'<a href="{_address(self, name, language)}" lang="{language}">{html.escape(title)}</a>')
            lines.append(":::")
        holder = nodes.container()
        self.state.nested_parse(StringList([*lines, "::::"], "lessons"), 0, holder)
        return holder.children


def _address(directive: SphinxDirective, name: str, language: str | None = None) -> str:
    """Return the address of a built lesson, relative to the page of the directive."""
    return f"{'../' * directive.env.docname.count('/')}{FOLDER}/{_file(name, language)}"


def _file(name: str, language: str | None) -> str:
    return f"{name}.{language}.html" if language else f"{name}.html"


def _build_lessons(app: Sphinx) -> None:
    """Build all bundled lessons, before pages are read in several processes."""
    folder = Path(app.srcdir) / EXTRA / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name in available():
        own = lesson_folder(name)
        for language in (None, *languages_of(read_lesson(own))[1:]):
            build_lesson(own, folder / _file(name, language), workers=app.parallel, language=language)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    (Path(app.srcdir) / EXTRA).mkdir(exist_ok=True)
    app.connect("builder-inited", _build_lessons)
    app.add_directive("lesson", EmbeddedLesson)
    app.add_directive("lessons", Gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
