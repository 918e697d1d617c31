"""The command ``run``: a program that uses mpi4py, on simulated ranks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Option, command
from simcodesign.cli.options.program_options import NUMBER_OF_RANKS, ProgramOptions
from simcodesign.cli.sections import Section
from simcodesign.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class RunOptions(ProgramOptions):
    """The program and the machines."""

    ranks: Annotated[int, Option("-n", "--np", min=1, **NUMBER_OF_RANKS)] = 4
    save: Annotated[
        Path | None,
        Option(
            "--save",
            metavar="FILE.recording.npz",
            help="Keep the recording in this file. Every command accepts it as a workload.",
        ),
    ] = None


@command(app, "run", section=Section.MODEL)
def run_program(options: RunOptions) -> None:
    """Run a program that uses mpi4py on simulated ranks, without MPI, and forecast and simulate what it did.

    For example: run solver.py -n 16 --on torus-cluster. The program is executed in this process. If --on is repeated,
    it runs on the first machine, and its clock shows the times of that machine. The recorded operations are then
    forecast and simulated on every machine.
    """
    from simcodesign.describe.recordings.file import SUFFIX, write_recording
    from simcodesign.mpi.run import marked, run
    from simcodesign.report.common.terminal import complain, print_all, write
    from simcodesign.report.programs.times import notes, time_table, times_on

    speed, declared = options.computation()
    if options.save is not None and not options.save.name.endswith(SUFFIX):
        raise InputError(
            "--save: the file has another suffix", value=str(options.save), allowed=f"a name that ends in {SUFFIX}"
        )
    done = run(
        options.program,
        options.ranks,
        options.on[0],
        arguments=options.arguments,
        speed=speed,
        declared=declared,
        seed=options.seed,
    )
    write(marked(done.lines))
    if options.save is not None:
        write_recording(done.recording, options.save)
    print_all([time_table(times_on(done, machine, options.effects, options.seed) for machine in options.on)])
    for note in notes(done):
        complain(f"note: {note}")
