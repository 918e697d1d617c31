"""Options that the fitting commands share."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import Annotated

from simcodesign.cli.completion import names_of
from simcodesign.cli.dataclass_commands import Option
from simcodesign.cli.options.shared import AsJson, Format, Level, Robust, Target, Value, Write
from simcodesign.cli.sections import Heading

KnownMachine = Annotated[
    str | None,
    Option(
        heading=Heading.FITTED,
        metavar="MACHINE",
        help="Use the constants of MACHINE as known values.",
        complete=names_of("machines"),
    ),
]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Which measurements are read, and how models of the performance-model normal form are fitted and predicted."""

    target: Target = field(default_factory=list)
    format: Format = None
    region: Annotated[
        list[str],
        Option(
            heading=Heading.MEASURED,
            metavar="PATTERN",
            help="Fit only regions that match PATTERN: main, 'solve*'. Repeatable.",
        ),
    ] = field(default_factory=list)
    metric: Annotated[
        list[str],
        Option(heading=Heading.MEASURED, metavar="PATTERN", help="Fit only metrics that match PATTERN. Repeatable."),
    ] = field(default_factory=list)
    value: Value = None
    robust: Robust = False
    partial: Annotated[
        bool, Option(heading=Heading.MEASURED, help="Accept series that lack points of other series.")
    ] = False
    exponents: Annotated[
        str,
        Option(
            heading=Heading.FITTED,
            metavar="SET",
            help="Choose exponents from SET: extrap (42 pairs), paper (155), or powers and logarithms of your own, "
            "which are all combined: '0,1/2,1;0,1'.",
        ),
    ] = "extrap"
    no_refine: Annotated[
        bool, Option(heading=Heading.FITTED, help="Try only the exponents of the set, and none between them.")
    ] = False
    terms: Annotated[
        int, Option(heading=Heading.FITTED, metavar="N", min=0, max=8, help="Use at most N terms and the constant.")
    ] = 3
    collective: Annotated[
        list[str],
        Option(
            heading=Heading.FITTED,
            metavar="OP=PARAMETER",
            help="Allow a collective operation (Allreduce, Bcast or Alltoall) of a parameter as a factor: Alltoall=p. "
            "Repeatable.",
        ),
    ] = field(default_factory=list)
    negative_exponents: Annotated[bool, Option(heading=Heading.FITTED, help="Allow factors that decrease.")] = False
    negative_coefficients: Annotated[bool, Option(heading=Heading.FITTED, help="Allow terms that are subtracted.")] = (
        False
    )
    weighting: Annotated[
        str,
        Option(
            heading=Heading.FITTED,
            metavar="NAME",
            help="Minimize relative errors (relative) or absolute errors (absolute).",
        ),
    ] = "relative"
    exact: Annotated[
        bool,
        Option(
            heading=Heading.MEASURED,
            help="Treat the values as free of noise, like counts. Equal repetitions have the same effect.",
        ),
    ] = False
    level: Level = None
    write: Write = field(default_factory=list)
    as_json: AsJson = False


def use_one_thread() -> None:
    """Switch off threads of linear algebra, because processes do the work.

    The threads cost a third more processor time than they save.
    """
    if "numpy" not in sys.modules:
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")
