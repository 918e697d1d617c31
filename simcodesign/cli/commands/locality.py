"""The command ``locality``: stack distances, misses and hits of a trace, a kernel, a program that is run, a profile."""

from __future__ import annotations

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import command
from simcodesign.cli.options.locality_options import FILES, LocalityOptions
from simcodesign.cli.sections import Section


@command(app, "locality", section=Section.MEASURE, no_args_is_help=True, outputs=FILES)
def run(options: LocalityOptions) -> None:
    """Measure memory locality: LRU stack distances, and miss ratios for every cache size.

    The stack distance of an access is the number of distinct other lines used since the last use of its own line.
    """
    files = options.requested_files()
    from simcodesign.cli.run.locality import run_locality

    run_locality(options, files)
