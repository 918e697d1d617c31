"""The command ``study``: a folder with questions, answered on one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options.shared import Jobs
from simcodesign.cli.sections import Section


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """Which study is carried out, and with how many processes."""

    folder: Annotated[Path, Argument(metavar="DIR", help="A folder with a file study.yaml.")]
    new: Annotated[bool, Option(help="Create DIR with a small study that works, as a start for your own.")] = False
    jobs: Jobs = None


@command(app, "study", section=Section.DESIGN, no_args_is_help=True)
def run(options: StudyOptions) -> None:
    """Answer the questions of a folder's study.yaml, and write DIR/page.html and the tables as CSV files.

    Each question is a command (compare, explore, forecast, simulate, sweep) with its options. Answers are kept in
    DIR/answers: whatever ends a study, the same command continues with it, and answers again what has changed.
    Questions that fail are listed and do not end it; exit status 1 if any of them fails.
    """
    from simcodesign.cli.run.study import run_study

    run_study(options.folder, options.jobs, new=options.new)
