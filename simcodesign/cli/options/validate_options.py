"""Options of ``validate``, and the cases that it has run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from simcodesign.cli.dataclass_commands import Argument, Option
from simcodesign.cli.options.shared import AsJson, Jobs, Write


@dataclass(frozen=True, kw_only=True)
class ValidateOptions:
    """Which cases run, and what is printed and written of them."""

    listed: Annotated[bool, Option("--list", help="List the cases instead of running them.")] = False
    keyword: Annotated[
        str | None,
        Option(
            "-k",
            metavar="EXPR",
            help="Run only cases whose name, claim or source contains these words: seismic, 'cg and not (links or "
            "hops)'.",
        ),
    ] = None
    jobs: Jobs = None
    as_json: AsJson = False
    write: Write = field(default_factory=list)
    full: Annotated[bool, Option(help="Run all cases, including those that take minutes.")] = False
    quick: Annotated[bool, Option(help="Run only the cases that take less than a second.")] = False
    dated: Annotated[bool, Option(help="Print the date and time on the page.")] = False
    folder: Annotated[
        Path | None,
        Option(
            "--cases",
            metavar="DIR",
            help="Run the cases in the Python modules of folder DIR instead of the bundled ones.",
        ),
    ] = None


@dataclass(frozen=True)
class Validated:
    """Contents of the page."""

    outcomes: Sequence[Any]
    dated: bool


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """The predictions, and what is printed and written of them."""

    predictions: Annotated[
        Path | None,
        Argument(
            metavar="[PREDICTIONS.csv]",
            help="A table with the columns id and seconds. Without it, the rows of each group and role are counted.",
        ),
    ] = None
    as_json: AsJson = False
    write: Write = field(default_factory=list)
