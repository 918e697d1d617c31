"""The command ``explore``."""

from __future__ import annotations

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import command
from simcodesign.cli.options.explore_options import FILES, ExploreOptions
from simcodesign.cli.sections import Section


@command(app, "explore", section=Section.DESIGN, outputs=FILES)
def run(options: ExploreOptions) -> None:
    """Search for the best design among all that --vary allows: parameters of the workload, constants of the machine.

    For example: explore jacobi torus-cluster --vary P=1:64:x2 --minimize time. A name without values (--vary ecc)
    varies over all choices, or over the range of an Aspen parameter. Without --vary, the size of the problem varies.

    The search evaluates the forecast. With --simulate, it finds the best simulated point that meets the constraints.
    It then simulates a few points, which it chooses by the forecast and by the previous simulations.

    Without --minimize and --maximize, the search looks for:
    the largest problem that meets the constraints and fits the memory, if the size of the problem varies;
    the machine with the lowest rates, if only constants of the machine vary and the time or the rate is bounded;
    the highest peak rate, for a machine without a workload; and the shortest time in all other cases.

    Two costs without values (--vary ts --vary tw) and one bound (--subject-to 'rate >= 61 TFLOP/s' or 'time <= 1 s')
    ask for the region of both costs in which the bound holds. The command prints its boundary, and the largest cost on
    each axis. The rate counts useful_flops. Each value of a third name (--vary eta=1,0.5) gives its own region.
    """
    from simcodesign.cli.run import explore

    options.check()
    explore.run(options)
