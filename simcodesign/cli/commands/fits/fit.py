"""The command ``fit``: models of measurements, and what they predict."""

from __future__ import annotations

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import command
from simcodesign.cli.options.fit_options import FILES, FitOptions
from simcodesign.cli.options.models import use_one_thread
from simcodesign.cli.sections import Section


@command(app, "fit", section=Section.MEASURE, no_args_is_help=True, outputs=FILES)
def run(options: FitOptions) -> None:
    """Fit scaling models to measurements, in the performance-model normal form: c0 + sums of c x^i log2(x)^j ...

    A metric, for example the run time, was measured at several values of parameters such as p. Each metric of each
    region of the program (a function or phase) gets a model, its errors, and a prediction with an interval. For
    example: fit times.csv --target p=1024.
    """
    use_one_thread()
    from simcodesign.cli.run.fits.fit import run_fit

    run_fit(options)
