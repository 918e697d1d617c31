"""The command ``sweep``: a workload on a machine, at many points."""

from __future__ import annotations

import click

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Command, command
from simcodesign.cli.options.sweep_options import ARGUMENTS, FILES, SweepOptions
from simcodesign.cli.sections import Section


class _RememberingCommand(Command):
    """A command that keeps its arguments as they were typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


@command(app, "sweep", section=Section.DESIGN, no_args_is_help=True, cls=_RememberingCommand, outputs=FILES)
def run(options: SweepOptions) -> None:
    """Forecast or simulate a workload on a machine at every point of a grid or sample.

    For example: sweep jacobi torus-cluster --vary P=1:64:x2 --simulate. With --simulate or --store, points are stored
    as they are evaluated. If such a sweep is interrupted, --resume continues from its store. Points that fail are
    listed and do not stop the sweep; exit status 1 if all of them fail.
    """
    from simcodesign.cli.run.sweep import run_sweep

    run_sweep(options, options.requested_files())
