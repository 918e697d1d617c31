"""The command ``fit``: models of measurements, and what they predict."""

from __future__ import annotations

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import command
from simcodesign.cli.options.fit_options import FILES, FitOptions
from simcodesign.cli.options.models import use_one_thread
from simcodesign.cli.sections import Section


@command(app, "fit", section=Section.MEASURE, no_args_is_help=True, outputs=FILES)
def run(options: FitOptions) -> None:
    """Fit models of the performance-model normal form to measurements: c0 + sums of c x^i log2(x)^j ...

    Each region and metric gets a model, its errors, and a prediction with an interval.
    """
    use_one_thread()
    from simcodesign.cli.run.fits.fit import run_fit

    run_fit(options)
