"""The sections of ``simcodesign --help``: under which heading each command is listed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import click


class Section(Enum):
    """A heading of the help, in the order in which they are printed."""

    MODEL = "Model (describe, forecast, simulate, compare)"
    MEASURE = "Measure (models and constants from measurements and traces)"
    DESIGN = "Design (many points, requirements, searches)"
    TEACH = "Teach (lessons that open in any browser)"
    CHECK = "Check (the models and this installation)"
    OTHER = "Other (of other packages)"


#: Section by the name of the command; others belong to other packages.
_SECTION_OF: dict[str, Section] = {}


def put_in(section: Section, name: str) -> None:
    """List the command of this name under ``section``."""
    _SECTION_OF[name] = section


def write_sections(formatter: click.HelpFormatter, commands: Iterable[tuple[str, click.Command]]) -> None:
    """Names and short help of commands that are not hidden, section by section; empty ones are left out."""
    shown = [(name, one) for name, one in commands if not one.hidden]
    width = max((len(name) for name, _ in shown), default=0)
    for section in Section:
        rows = [
            (name.ljust(width), one.get_short_help_str(limit=1000))
            for name, one in shown
            if _SECTION_OF.get(name, Section.OTHER) is section
        ]
        if rows:
            with formatter.section(section.value):
                formatter.write_dl(rows)
