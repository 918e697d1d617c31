"""The command ``fit-formula``: coefficients of formulas of the user's own."""

from __future__ import annotations

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import command
from simcodesign.cli.options.fit_formula_options import FILES, FitFormulaOptions
from simcodesign.cli.options.models import use_one_thread
from simcodesign.cli.sections import Section


@command(app, "fit-formula", section=Section.MEASURE, no_args_is_help=True, outputs=FILES)
def run(options: FitFormulaOptions) -> None:
    """Fit the coefficients of formulas of your own, and compare them with the best model of the normal form.

    Each name in a formula that is neither a parameter of the measurements, nor set with --set, nor a constant of
    --machine (t_s, network.startup) is a coefficient.
    """
    use_one_thread()
    from simcodesign.cli.run.fits.formula import run_fit_formula

    run_fit_formula(options)
