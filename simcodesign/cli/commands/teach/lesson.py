"""``simcodesign lesson list | new | check | build``: lessons as pages that need nothing but a browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import click

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options import AsJson, Jobs, Write, usable_cpus
from simcodesign.cli.sections import Section, put_in
from simcodesign.cli.written_files import Output, Outputs
from simcodesign.core.errors import InputError, Place

lesson = click.Group(
    "lesson",
    help="Lessons: draw the formula, see the simulation, find out who explains the gap. A lesson is a folder of text "
    "and questions, and becomes one page that opens in any browser, without network.",
)
app.add_command(lesson)
put_in(Section.TEACH, lesson.name or "")

LessonName = Annotated[str, Argument(metavar="LESSON", help="A shipped lesson, or a folder with a file lesson.yaml.")]


@dataclass(frozen=True, kw_only=True)
class ListLessonsOptions:
    """How the list is printed."""

    as_json: AsJson = False


@command(lesson, "list")
def run_list(options: ListLessonsOptions) -> None:
    """List the lessons that are shipped."""
    from simcodesign.lessons.folders import available, lesson_folder
    from simcodesign.lessons.yaml.lesson import read_lesson
    from simcodesign.report.common.terminal import print_all, write_json
    from simcodesign.report.lessons.tables import lesson_rows, lesson_table

    lessons = [read_lesson(lesson_folder(name)) for name in available()]
    if options.as_json:
        write_json(lesson_rows(lessons))
    else:
        print_all([lesson_table(lessons)])


@dataclass(frozen=True, kw_only=True)
class NewLessonOptions:
    """Where the new lesson is made."""

    folder: Annotated[Path, Argument(metavar="FOLDER", help="The folder to make; its name is that of the lesson.")]


@command(lesson, "new")
def run_new(options: NewLessonOptions) -> None:
    """Make a folder with a small lesson that works, to be changed."""
    from simcodesign.lessons.folders import new_lesson
    from simcodesign.report.common.terminal import write

    new_lesson(options.folder)
    write(f"{options.folder}: change lesson.yaml and its texts, then\n  simcodesign lesson check {options.folder}\n")


@dataclass(frozen=True, kw_only=True)
class CheckLessonOptions:
    """Which lesson is checked, and how."""

    lesson: LessonName
    code: Annotated[
        str, Option(metavar="CODE", help="A student's code: print the stops, values and answers that it gives.")
    ] = ""
    jobs: Jobs = None


@command(lesson, "check")
def run_check(options: CheckLessonOptions) -> None:
    """Compute all that a lesson shows, and print its named values and the answers to its questions."""
    from simcodesign.lessons.checking import check_lesson
    from simcodesign.lessons.folders import lesson_folder
    from simcodesign.report.common.progress import ProgressBar
    from simcodesign.report.common.terminal import print_all
    from simcodesign.report.lessons.tables import check_tables

    with ProgressBar("simulations of the lesson", counted=True) as on_progress:
        folder, jobs = lesson_folder(options.lesson), options.jobs or usable_cpus()
        checked = check_lesson(folder, jobs, on_progress, options.code)
    print_all(check_tables(checked))


@dataclass(frozen=True, kw_only=True)
class BuildLessonOptions:
    """Which lesson is built, and where to."""

    lesson: LessonName
    write: Write = field(default_factory=list)
    exam: Annotated[
        bool, Option(help="Without truths, feedback and hints, and without all that answers could be read from.")
    ] = False
    hide: Annotated[
        list[str],
        Option(metavar="NAME", help="Leave out a step, a question, or STEP/N: figure N of a step. Repeatable."),
    ] = field(default_factory=list)
    start: Annotated[
        list[str], Option(metavar="SLIDER=STOP", help="Where a slider begins in the page. Repeatable.")
    ] = field(default_factory=list)
    answer_tolerance: Annotated[
        list[str],
        Option(metavar="QUESTION=FRACTION", help="Accept answers to QUESTION within FRACTION: factor=5%. Repeatable."),
    ] = field(default_factory=list)
    changes: Annotated[
        Path | None, Option(metavar="FILE", help="Such changes in a YAML file, or in a page that has them.")
    ] = None
    fresh: Annotated[bool, Option(help="Compute everything anew, also what has not changed.")] = False
    language: Annotated[
        str | None, Option(metavar="LANGUAGE", help="Of the texts: de, for a lesson that has a folder of this name.")
    ] = None
    jobs: Jobs = None


PAGE = Outputs(Output("page", (".html",), "the lesson as one page"))


@command(lesson, "build", outputs=PAGE)
def run_build(options: BuildLessonOptions) -> None:
    """Write a lesson as one HTML file, which opens without installation, server or network.

    Simulations are kept in ~/.cache/simcodesign/lessons (or in $XDG_CACHE_HOME) until something that they depend on
    changes.
    """
    from simcodesign.lessons.folders import lesson_folder
    from simcodesign.lessons.grading.changes import Changes, changes_of, read_changes
    from simcodesign.lessons.grading.withheld import Withheld
    from simcodesign.lessons.page import build_lesson
    from simcodesign.report.common.progress import ProgressBar
    from simcodesign.report.common.terminal import complain, write

    (_, page), *more = PAGE.requested(options.write, needed=True).files
    if more:
        raise InputError("a page at a time", Place("--write"), value=str(more[0][1]), allowed="one file")
    stored = read_changes(options.changes) if options.changes else Changes()
    withheld: list[Withheld] = []
    with ProgressBar("simulations of the lesson", counted=True) as on_progress:
        build_lesson(
            lesson_folder(options.lesson),
            page,
            options.jobs or usable_cpus(),
            options.fresh,
            on_progress,
            exam=options.exam,
            language=options.language,
            changes=stored.and_then(changes_of(options.hide, options.start, options.answer_tolerance)),
            on_withheld=withheld.append,
        )
    for one in withheld:
        complain(f"warning: {one.place}: {one.words}")
    write(f"{page}: {page.stat().st_size / 1e6:.2f} MB\n")
