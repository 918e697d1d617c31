"""The command ``lab``."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options.shared import Jobs, usable_cpus
from simcodesign.cli.sections import Section
from simcodesign.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class LabOptions:
    """Lessons to serve, and address."""

    lesson: Annotated[
        str | None,
        Argument(
            metavar="LESSON",
            help="A bundled lesson, or a folder with a file lesson.yaml (default: a list of the bundled ones).",
        ),
    ] = None
    port: Annotated[int, Option(metavar="N", min=0, max=65535, help="Serve on port N; 0 chooses a free one.")] = 0
    no_browser: Annotated[bool, Option("--no-browser", help="Print the address and do not open a browser.")] = False
    jobs: Jobs = None


@command(app, "lab", section=Section.TEACH)
def run(options: LabOptions) -> None:
    """Serve lessons to a browser on this computer, with a panel for your own machine and workload.

    The panel forecasts at every change and simulates point by point. The address has a token and works on this computer
    only. Ctrl-C ends the server.
    """
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise InputError("the laboratory needs Starlette and uvicorn: pip install 'simcodesign[lab]'")
    from simcodesign.lab.serve import serve
    from simcodesign.lessons.folders import available, lesson_folder
    from simcodesign.lessons.yaml.lesson import read_lesson
    from simcodesign.report.common.terminal import write

    lesson = None
    if options.lesson is not None:
        folder = lesson_folder(options.lesson)
        read_lesson(folder)
        lesson = options.lesson if options.lesson in available() else folder
    serve(
        lesson,
        options.port,
        options.jobs or usable_cpus(),
        not options.no_browser,
        lambda address: write(f"{address}\nCtrl-C ends the laboratory.\n"),
    )
