"""Options of ``fit-formula``, and the files that it writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from simcodesign.cli.dataclass_commands import Argument, Option
from simcodesign.cli.options.models import KnownMachine, ModelOptions
from simcodesign.cli.options.shared import Settings
from simcodesign.cli.sections import Heading
from simcodesign.cli.written_files import TABLE, Output, Outputs

FILES = Outputs(
    Output("formulas", (".yaml", ".yml"), "the fitted formulas, as compare --formula reads them"),
    TABLE,
)


@dataclass(frozen=True, kw_only=True)
class FitFormulaOptions(ModelOptions):
    """Which formulas are fitted, and which of their names are known."""

    file: Annotated[Path, Argument(metavar="FILE", help="Measurements, as for fit.")]
    formulas: Annotated[
        list[str],
        Argument(
            metavar="FORMULA...",
            help="A formula with unknown coefficients: 'c0 + c1*log2(P)*m + c2*P**x', 'NAME = EXPRESSION', or a .yaml "
            "file of formulas.",
        ),
    ]
    settings: Settings = field(default_factory=list)
    machine: KnownMachine = None
    nonnegative: Annotated[
        bool, Option(heading=Heading.FITTED, help="Keep coefficients that enter linearly at zero or above.")
    ] = False
