"""The command ``fit-counters``: models of hardware counters of recorded or simulated runs, and what they predict."""

from __future__ import annotations

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import command
from simcodesign.cli.options.fit_counters_options import FILES, FitCountersOptions
from simcodesign.cli.options.models import use_one_thread
from simcodesign.cli.sections import Section


@command(app, "fit-counters", section=Section.MEASURE, no_args_is_help=True, outputs=FILES)
def run(options: FitCountersOptions) -> None:
    """Fit models to hardware counters of three or more small runs, and predict the time of larger runs.

    The models are of instructions, cycles and memory stalls of each kernel, and of communication. Each --target is a
    prediction: P=128, or P=256,size=1e6 for another size of the problem. --machine gives the latencies of caches and
    memory.

    --profile WORKLOAD MACHINE finds out whether such models can be trusted: it profiles simulated runs on the numbers
    of processes of --vary P=2,4,8, predicts the targets, and compares with simulations of the targets and with two
    simpler models. Another size is then a preset or a parameter: --target P=128,preset=B or P=128,n=102; volume=4 is
    the factor by which messages grow.
    """
    options.check()
    use_one_thread()
    if options.profile:
        from simcodesign.cli.run.fits.profile import run_fit_profile

        run_fit_profile(options)
    else:
        from simcodesign.cli.run.fits.counters import run_fit_counters

        run_fit_counters(options)
