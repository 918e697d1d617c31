"""``simcodesign lesson list | new | check | build``: lessons as pages that need nothing but a browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import click

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options.shared import AsJson, Jobs, Write, usable_cpus
from simcodesign.cli.sections import Heading, Section, put_in
from simcodesign.cli.written_files import Output, Outputs, RequestedFiles
from simcodesign.core.errors import InputError, Place

lesson = click.Group(
    "lesson",
    help="Create, check and build lessons. A lesson is a folder of texts, questions and figures. A student draws a "
    "prediction, watches the simulation, and explains the difference, on one page that opens in any browser offline.",
)
app.add_command(lesson)
put_in(Section.TEACH, lesson.name or "")

LessonName = Annotated[str, Argument(metavar="LESSON", help="A bundled lesson, or a folder with a file lesson.yaml.")]


@dataclass(frozen=True, kw_only=True)
class ListLessonsOptions:
    """How the list is printed."""

    as_json: AsJson = False


@command(lesson, "list")
def run_list(options: ListLessonsOptions) -> None:
    """List the bundled lessons."""
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

    folder: Annotated[Path, Argument(metavar="FOLDER", help="Create this folder; the lesson gets its name.")]


@command(lesson, "new")
def run_new(options: NewLessonOptions) -> None:
    """Create a folder with a small working lesson, as a start for your own."""
    from simcodesign.lessons.folders import new_lesson
    from simcodesign.report.common.terminal import write

    new_lesson(options.folder)
    write(f"{options.folder}: change lesson.yaml and its texts, then\n  simcodesign lesson check {options.folder}\n")


@dataclass(frozen=True, kw_only=True)
class CheckLessonOptions:
    """Which lesson is checked, and how."""

    lesson: LessonName
    code: Annotated[
        str,
        Option(metavar="CODE", help="Print the slider positions, values and answers for the student with this code."),
    ] = ""
    jobs: Jobs = None


@command(lesson, "check")
def run_check(options: CheckLessonOptions) -> None:
    """Compute everything that a lesson shows, and print its named values and the answers to its questions."""
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
class NotebookOptions:
    """Which notebook is written, and where to."""

    notebook: Annotated[str, Argument(metavar="NOTEBOOK", help="A bundled notebook: simpy_by_hand, for example.")]
    write: Write = field(default_factory=list)


NOTEBOOK_FILES = Outputs(
    Output("jupyter", (".ipynb",), "the notebook for Jupyter"),
    Output("marimo", (".py",), "the notebook for marimo, which is also a script"),
)


@command(lesson, "notebook", outputs=NOTEBOOK_FILES)
def run_notebook(options: NotebookOptions) -> None:
    """Write a bundled notebook for courses that program, for Jupyter or marimo."""
    from importlib.util import find_spec

    from simcodesign.lessons.courses.jupyter import write_notebook
    from simcodesign.report.common.terminal import write

    for output, path in NOTEBOOK_FILES.requested(options.write, needed=True).files:
        write_notebook(options.notebook, path)
        program = f"jupyter lab {path}" if output.word == "jupyter" else f"marimo edit {path}"
        install = (
            "" if output.word == "jupyter" or find_spec("marimo") else "pip install 'simcodesign[notebooks]', then "
        )
        write(f"{path}: {install}{program}\n")


@dataclass(frozen=True, kw_only=True)
class BuildLessonOptions:
    """Which lesson is built, and where to."""

    lesson: LessonName
    write: Write = field(default_factory=list)
    exam: Annotated[
        bool,
        Option(
            heading=Heading.SHOWN,
            help="Build an exam: leave out hints and everything that reveals an answer. A page then contains no "
            "correct answers and no feedback either.",
        ),
    ] = False
    teacher: Annotated[
        bool,
        Option(
            heading=Heading.SHOWN,
            help="Build the guide for teachers instead: notes with numbers, answers with the intervals that are "
            "accepted, and usual mistakes.",
        ),
    ] = False
    hide: Annotated[
        list[str],
        Option(
            heading=Heading.SHOWN,
            metavar="NAME",
            help="Leave out a step, a question, or STEP/N: figure N of a step. Repeatable.",
        ),
    ] = field(default_factory=list)
    topic: Annotated[
        list[str],
        Option(
            heading=Heading.SHOWN,
            metavar="STEP",
            help="Keep only this step, for example a topic of the lesson bank. Repeatable.",
        ),
    ] = field(default_factory=list)
    question_level: Annotated[
        list[int],
        Option(heading=Heading.SHOWN, metavar="N", help="Keep only questions of this level, 1 to 3. Repeatable."),
    ] = field(default_factory=list)
    start: Annotated[
        list[str],
        Option(
            heading=Heading.SHOWN,
            metavar="SLIDER=STOP",
            help="Start with SLIDER at STOP, one of its positions. Repeatable.",
        ),
    ] = field(default_factory=list)
    answer_tolerance: Annotated[
        list[str],
        Option(
            heading=Heading.SHOWN,
            metavar="QUESTION=FRACTION",
            help="Accept answers to QUESTION that differ by up to FRACTION: factor=5%. Repeatable.",
        ),
    ] = field(default_factory=list)
    changes: Annotated[
        Path | None,
        Option(
            heading=Heading.SHOWN,
            metavar="FILE",
            help="Read the options above from FILE: a YAML file, or a page that was built with them.",
        ),
    ] = None
    variants: Annotated[
        int | None,
        Option(
            heading=Heading.SHOWN,
            metavar="N",
            help="Write the questions for the student codes 1 to N (default: for every combination of slider "
            "positions).",
        ),
    ] = None
    fresh: Annotated[
        bool, Option(heading=Heading.WORKERS, help="Compute everything again, even what has not changed.")
    ] = False
    language: Annotated[
        str | None,
        Option(
            heading=Heading.SHOWN,
            metavar="LANGUAGE",
            help="Use the texts in LANGUAGE, a subfolder of the lesson such as de.",
        ),
    ] = None
    jobs: Jobs = None


FILES = Outputs(
    Output("page", (".html",), "the lesson as one page"),
    Output("moodle", (".xml",), "its questions with answers and feedback as Moodle XML, one category for each"),
    Output("qti", (".zip",), "the same questions as a package of QTI 2.1, one section for each"),
    Output("scorm", (".zip",), "the lesson as a package of SCORM 1.2, which reports the score to a learning platform"),
)


def _check_options(options: BuildLessonOptions, files: RequestedFiles) -> None:
    """Raise InputError for options that the requested file does not have."""
    if options.variants is not None:
        files.refuse(["page", "scorm"], "--variants is for questions", "moodle:FILE.xml, qti:FILE.zip")
    if options.teacher:
        files.refuse(["moodle", "qti", "scorm"], "the guide for teachers is a page", "--teacher with page:FILE.html")
        if options.exam:
            raise InputError("--teacher writes all answers, --exam none", allowed="one of the two")
    if options.exam:
        files.refuse(["scorm"], "an exam has no score to report", "--exam with page:FILE.html, moodle: or qti:")


@command(lesson, "build", outputs=FILES)
def run_build(options: BuildLessonOptions) -> None:
    """Write a lesson as one HTML file that opens without installation, server or network, or for a learning platform.

    --teacher writes the guide for teachers instead of the page for students.

    Keeps the simulated times in ~/.cache/simcodesign/lessons (or in $XDG_CACHE_HOME) until their inputs change. The
    first build of a lesson takes up to a few minutes, later ones seconds.
    """
    from simcodesign.lessons.folders import lesson_folder
    from simcodesign.lessons.grading.changes import Changes, changes_of, read_changes
    from simcodesign.lessons.grading.withheld import Withheld
    from simcodesign.report.common.progress import ProgressBar
    from simcodesign.report.common.terminal import complain, write
    from simcodesign.report.lessons.tables import note_on_withheld

    files = FILES.requested(options.write, needed=True)
    (output, path), *more = files.files
    if more:
        raise InputError("a file at a time", Place("--write"), value=str(more[0][1]), allowed="one file")
    _check_options(options, files)
    stored = read_changes(options.changes) if options.changes else Changes()
    changes = stored.and_then(changes_of(options.hide, options.start, options.answer_tolerance))
    folder = lesson_folder(options.lesson)
    if options.topic or options.question_level:
        from simcodesign.lessons.grading.selection import only
        from simcodesign.lessons.yaml.lesson import read_lesson
        from simcodesign.lessons.yaml.translation import in_language

        chosen = only(in_language(read_lesson(folder), options.language), options.topic, options.question_level)
        changes = changes.and_then(chosen)
    withheld: list[Withheld] = []
    with ProgressBar("simulations of the lesson", counted=True) as on_progress:
        jobs = options.jobs or usable_cpus()
        how = (jobs, options.fresh, on_progress, options.exam, changes, options.language)
        if output.word in ("moodle", "qti"):
            from simcodesign.lessons.courses.bank import read_bank
            from simcodesign.lessons.courses.moodle import write_moodle
            from simcodesign.lessons.courses.qti import write_qti

            bank = read_bank(folder, *how, options.variants, withheld.append)
            (write_moodle if output.word == "moodle" else write_qti)(bank, path)
            report = bank.summary
        elif options.teacher:
            from simcodesign.lessons.teacher.guide import build_guide

            report = build_guide(folder, path, jobs, options.fresh, on_progress, changes, options.language)
        else:
            from simcodesign.lessons.page import build_lesson

            build_lesson(folder, path, *how, withheld.append, output.word == "scorm")
            report = f"{path.stat().st_size / 1e6:.2f} MB"
    if withheld:
        complain(note_on_withheld(withheld))
    write(f"{path}: {report}\n")
