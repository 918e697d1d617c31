"""The headings of the help: of commands in ``simcodesign --help``, and of options in the help of a command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

import click

#: Width of the column of names, of which a longer one has a line of its own; as Click has it.
MAX_NAME_WIDTH = 30


class Section(Enum):
    """A heading of the help, in the order in which they are printed."""

    MODEL = "Model (describe, forecast, simulate, compare)"
    MEASURE = "Measure (models and constants from measurements and traces)"
    DESIGN = "Design (many points, requirements, searches)"
    TEACH = "Teach (lessons that open in any browser)"
    CHECK = "Check (the models and this installation)"
    OTHER = "Other (of other packages)"


class Heading(Enum):
    """A heading of options in the help of a command, in the order in which they are printed."""

    MACHINE = "Machine and workload"
    POINTS = "Varied points and search"
    TRACE = "Trace and caches"
    EFFECTS = "Effects and engine"
    REPEATED = "Replications and intervals"
    MEASURED = "Measurements and formulas"
    FITTED = "Fitted models and constants"
    SHOWN = "What is shown"
    OUTPUT = "Output"
    WORKERS = "Worker processes and stored results"
    ASPEN = "Aspen models"
    OTHER = "Other options"


#: Section by the name of the command; others belong to other packages.
_SECTION_OF: dict[str, Section] = {}


def put_in(section: Section, name: str) -> None:
    """List the command of this name under ``section``."""
    _SECTION_OF[name] = section


def write_sections(formatter: click.HelpFormatter, commands: Iterable[tuple[str, click.Command]]) -> None:
    """Names and short help of commands that are not hidden, section by section."""
    shown = [(name, one) for name, one in commands if not one.hidden]
    rows = [(_SECTION_OF.get(name, Section.OTHER), name, one.get_short_help_str(limit=1000)) for name, one in shown]
    write_under_headings(formatter, rows)


def write_under_headings(formatter: click.HelpFormatter, rows: Sequence[tuple[Enum, str, str]]) -> None:
    """Names and their help under their headings, in the headings' order; headings without names are left out."""
    width = min(max((len(name) for _, name, _ in rows), default=0), MAX_NAME_WIDTH)
    for heading in type(rows[0][0]) if rows else ():
        if chosen := [(name.ljust(width), text) for one, name, text in rows if one is heading]:
            with formatter.section(heading.value):
                formatter.write_dl(chosen)
