"""``simcodesign grade``: marks of a class from exported answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options.shared import Jobs, Write, usable_cpus
from simcodesign.cli.sections import Section
from simcodesign.cli.written_files import Output, Outputs


@dataclass(frozen=True, kw_only=True)
class GradeOptions:
    """Which files are graded, and by what."""

    files: Annotated[
        list[Path], Argument(metavar="FILE...", help="Answers that students exported from their pages (.json).")
    ]
    write: Write = field(default_factory=list)
    lesson: Annotated[
        str | None,
        Option(
            metavar="LESSON",
            help="Grade by this lesson, a name or a folder (default: the bundled lesson that most files name).",
        ),
    ] = None
    tolerances: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Use the tolerances and hidden parts in FILE: a YAML file, or the page that was built with them.",
        ),
    ] = None
    jobs: Jobs = None


def _marks(marks: Any, path: Path) -> str:
    """Write the table of answers next to the marks, and return the marks."""
    from simcodesign.core.files.atomic_files import replacing_text
    from simcodesign.lessons.grading.marks import answers_of, marks_csv

    with replacing_text(path.with_name(f"{path.stem}-answers.csv")) as file:
        file.write(answers_of(marks))
    return marks_csv(marks)


FILES = Outputs(
    Output(
        "marks",
        (".csv",),
        "the marks of each file; in addition, NAME-answers.csv lists every answer with the correct one",
        _marks,
    )
)


@command(app, "grade", section=Section.TEACH, outputs=FILES)
def run_grade(options: GradeOptions) -> None:
    """Grade the exported answers of a class: write a row of marks for each file, and a table of all answers.

    Computes every correct answer again from the models. Uses only the code and the last answer to each question from a
    file. The last column lists what is inconsistent in a file, and marks the file "check" or "refused".
    """
    from simcodesign.lessons.grading.changes import read_changes
    from simcodesign.lessons.grading.marks import grade
    from simcodesign.report.common.terminal import print_all
    from simcodesign.report.lessons.tables import marks_tables

    files = FILES.requested(options.write, needed=True)
    changes = read_changes(options.tolerances) if options.tolerances else None
    marks = grade(options.files, options.lesson, changes, options.jobs or usable_cpus())
    files.write(marks)
    print_all(marks_tables(marks))
