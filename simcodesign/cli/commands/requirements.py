"""The command ``requirements``: models of what a program that uses mpi4py requires."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Option, command
from simcodesign.cli.options.models import use_one_thread
from simcodesign.cli.options.program_options import NUMBER_OF_RANKS, ProgramOptions
from simcodesign.cli.options.shared import AsJson, Vary, Write
from simcodesign.cli.sections import Section
from simcodesign.cli.written_files import TABLE, Output, Outputs, write_text


def _write_workload(found: Any, path: Path) -> None:
    write_text(found.text, path)


FILES = Outputs(
    Output("workload", (".yaml", ".yml"), "the models as a workload", _write_workload),
    TABLE,
)


@dataclass(frozen=True, kw_only=True)
class RequirementsOptions(ProgramOptions):
    """The program, the runs to record, and what is written."""

    ranks: Annotated[str, Option("-n", "--np", **NUMBER_OF_RANKS)] = "2-64"
    vary: Vary = field(default_factory=list)
    write: Write = field(default_factory=list)
    as_json: AsJson = False


@command(app, "requirements", section=Section.MEASURE, no_args_is_help=True, outputs=FILES)
def run(options: RequirementsOptions) -> None:
    """Record a program that uses mpi4py at several sizes, and fit models of what each rank requires.

    The program is executed, at all numbers of ranks and values of --vary, which replace {NAME} in its arguments:
    -n 9,16,25,36,64 --vary N=100,200,400 PROGRAM.py -- --size {N}. The largest is kept to check the models.
    """
    use_one_thread()
    from simcodesign.report.common.progress import ProgressBar
    from simcodesign.report.requirements.recorded_tables import recorded_dict, recorded_tables
    from simcodesign.studies.recorded.plan import parsed_ranks, plan_of
    from simcodesign.studies.recorded.requirements import requirements
    from simcodesign.studies.sweep.design.grid import parse_axis

    files = FILES.requested(options.write)
    speed, declared = options.computation()
    axes = [parse_axis(text) for text in options.vary]
    vary = {axis.name: [float(value) for value in axis.values] for axis in axes}
    ranks = parsed_ranks(options.ranks)
    count = len(plan_of(ranks, vary, options.arguments).points) + 1
    with ProgressBar("recording", total=count, unit="runs", steps=True) as on_progress:
        found = requirements(
            options.program,
            ranks,
            options.on,
            vary=vary,
            arguments=options.arguments,
            speed=speed,
            declared=declared,
            effects=options.effects,
            seed=options.seed,
            on_progress=lambda: on_progress(1),
        )
    files.show(found, lambda: recorded_tables(found), options.as_json, lambda: recorded_dict(found))
