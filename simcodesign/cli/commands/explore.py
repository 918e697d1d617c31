"""The command ``explore``."""

from __future__ import annotations

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import command
from simcodesign.cli.options.explore_options import FILES, ExploreOptions
from simcodesign.cli.sections import Section


@command(app, "explore", section=Section.DESIGN, outputs=FILES)
def run(options: ExploreOptions) -> None:
    """Search for the best design among all that --vary allows: parameters of the workload, constants of the machine.

    A name alone (--vary ecc) is varied over all choices, or over the range of an Aspen parameter; without --vary, the
    size of the problem is varied. With --simulate, the best point when simulated is found, constraints included: a few
    points are simulated, chosen by the forecast and the previous simulations.

    Without --minimize and --maximize: if the size of the problem is varied, or nothing, the largest problem that meets
    the constraints and fits the memory; if only constants of the machine are varied and the time or the rate is
    bounded, the machine with the lowest rates; of a machine without a workload, the highest peak rate; otherwise the
    shortest time.

    With two costs without values (--vary ts --vary tw) and one bound (--subject-to 'rate >= 61 TFLOP/s' or 'time <=
    1 s'), find the region of both costs in which the bound holds: its boundary, and the largest cost on each axis. The
    rate counts useful_flops. Values of another name (--vary eta=1,0.5) give a region each.
    """
    from simcodesign.cli.run import explore

    options.check()
    explore.run(options)
