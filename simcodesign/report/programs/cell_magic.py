"""The cell magic ``%%simulate``: the cell's mpi4py program on simulated ranks, in IPython and Jupyter.

IPython is imported only by what ``%load_ext simcodesign`` calls.
"""

from __future__ import annotations

import base64
import shlex
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from rich.console import RenderableType

from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError, SimcodesignError
from simcodesign.core.result import Result
from simcodesign.mpi.computation import computation
from simcodesign.mpi.run import MpiRun, marked, run
from simcodesign.report.common.terminal import printed
from simcodesign.report.notebook.html import html_of
from simcodesign.report.programs.times import notes, time_table, times_on
from simcodesign.report.results.comparison_tables import comparison_tables
from simcodesign.report.timelines.gantt import gantt_chart

#: The name of the program in errors; a line is a line of the cell, whose first line is the magic.
NAME = "cell"


def register(shell: Any) -> None:
    """Add ``%%simulate`` to a shell of IPython."""
    from IPython.core.error import UsageError

    def simulate(line: str, cell: str) -> None:
        try:
            shown = simulated_cell(line, cell)
        except SimcodesignError as error:
            raise UsageError(str(error)) from error  # shown without the traceback of this package
        shell.push({shown.name: shown.run})
        shell.display_pub.publish({"text/html": shown.html(), "text/plain": shown.text()})

    simulate.__doc__ = _parser().format_help()
    shell.register_magic_function(simulate, "cell", "simulate")


@dataclass(frozen=True)
class SimulatedCell:
    """Output of a cell: lines and tables, and the timeline of the first machine's simulation."""

    name: str
    run: MpiRun
    parts: tuple[RenderableType, ...]
    timeline: Result

    def html(self) -> str:
        """Return the parts and the Gantt chart as HTML; a sentence instead of a chart that cannot be drawn."""
        try:
            chart = f'<img alt="Gantt chart" src="data:image/png;base64,{_png(self.timeline)}">'
        except InputError as error:  # too many operations, or no Matplotlib
            return html_of([*self.parts, f"no Gantt chart: {error}"])
        return f"{html_of(self.parts)}{chart}"

    def text(self) -> str:
        """Return the parts as text, for terminals."""
        return printed(self.parts)


def simulated_cell(line: str, cell: str) -> SimulatedCell:
    """Run the program ``cell`` with the options of ``line``.

    Raises InputError for an option, and errors of the program as ``run`` does, with their lines in the cell.
    """
    options = _options(line)
    speed, declared = computation(options.on, options.compute, options.speed)
    arguments = options.arguments
    source = f"\n{cell}"  # the first line is the magic
    done = run(NAME, options.n, options.on[0], arguments=arguments, speed=speed, declared=declared, source=source)
    times = [times_on(done, machine, timeline=not number) for number, machine in enumerate(options.on)]
    first = marked(done.lines[: options.lines]).rstrip("\n")
    parts: list[RenderableType] = [first] if first else []
    more = len(done.lines) - options.lines
    if more > 0:
        parts.append(f"... {more:,} more lines in {options.name}.lines")
    parts += [time_table(times), *notes(done)]
    if options.ladder:
        for machine in options.on:
            parts += comparison_tables(compare(done.workload, machine, {"P": done.ranks}))
    return SimulatedCell(options.name, done, tuple(parts), times[0].simulation)


class _Parser(ArgumentParser):
    """A parser that raises errors of this package."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError."""
        raise InputError(f"%%simulate: {message}")


def _parser() -> _Parser:
    parser = _Parser(
        prog="%%simulate",
        description="Run the cell's mpi4py program on simulated ranks.",
        usage="%%%%simulate -n RANKS --on MACHINE [OPTION]... [-- ARGUMENT...]",
        add_help=False,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-n", type=int, default=4, metavar="RANKS", help="Number of ranks (default: 4).")
    add("--on", action="append", default=[], metavar="MACHINE", help="Simulate on this machine. Repeatable.")
    add("--compute", default="time", metavar="WORD", help="Count computation by time, flops, or none.")
    add("--speed", type=float, default=1.0, metavar="X", help="Speed of a processor over this computer's.")
    add("--lines", type=int, default=10, metavar="N", help="Show the first N printed lines (default: 10).")
    add("--ladder", action="store_true", help="Show what each physical effect adds to the forecast.")
    add("--as", dest="name", default="_run", metavar="NAME", help="Store the run in this variable (default: _run).")
    return parser


def _options(line: str) -> Namespace:
    try:
        words = shlex.split(line)
    except ValueError as error:  # a quotation that does not end
        raise InputError(f"%%simulate: {error}", value=line) from None
    end = words.index("--") if "--" in words else len(words)
    options = _parser().parse_args(words[:end])
    options.arguments = words[end + 1 :]
    if not options.name.isidentifier():
        raise InputError("--as", value=options.name, allowed="the name of a variable")
    if options.lines < 0:
        raise InputError("--lines", value=options.lines, allowed="0 or above")
    return options


def _png(result: Result) -> str:
    """Return the Gantt chart as a picture in base64."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "gantt.png")
        gantt_chart(result, path)
        return base64.b64encode(path.read_bytes()).decode()
