"""The command ``fit-formula``: coefficients of formulas of the user's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.fit_options import KnownMachine, ModelOptions, use_one_thread
from simcodesign.cli.options import Settings
from simcodesign.cli.sections import Section
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
    nonnegative: Annotated[bool, Option(help="Keep coefficients that enter linearly at zero or above.")] = False


@command(app, "fit-formula", section=Section.MEASURE, no_args_is_help=True, outputs=FILES)
def run(options: FitFormulaOptions) -> None:
    """Fit the coefficients of formulas of your own, beside the best model of the normal form.

    Each name in a formula that is neither a parameter of the measurements, nor set with --set, nor a constant of
    --machine (t_s, network.startup) is a coefficient.
    """
    use_one_thread()
    from simcodesign.cli.run.fits.formula import run_fit_formula

    run_fit_formula(options)
