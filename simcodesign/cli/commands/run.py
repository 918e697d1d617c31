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
        Path | None, Option("--save", metavar="FILE", help="Keep the recording: a workload for every command.")
    ] = None


#: What another order of the messages that receives from any rank take changes.
_WORDS = {
    "nothing": "receives from any rank take what arrives first; another order would change nothing",
    "operations": "receives from any rank take what arrives first; another order changes what the ranks do",
    "lines": "receives from any rank take what arrives first; another order changes what the program prints",
    "error": "receives from any rank take what arrives first; in another order the program ends with an error",
    "deadlock": "receives from any rank take what arrives first; in another order the ranks wait for each other",
}


@command(app, "run", section=Section.MODEL)
def run_program(options: RunOptions) -> None:
    """Run a program that uses mpi4py on simulated ranks, without MPI, and forecast and simulate what it did.

    The program is executed in this process. With several machines it runs on the first, whose times its clock shows.
    """
    from simcodesign.analytic.forecast import forecast
    from simcodesign.core.units import format_quantity
    from simcodesign.describe.recordings.file import SUFFIX, write_recording
    from simcodesign.engine.simulate import simulate
    from simcodesign.mpi.run import marked, run
    from simcodesign.report.common.tables import text_table
    from simcodesign.report.common.terminal import complain, print_all, write

    speed, declared = options.computation()
    if options.save is not None and not options.save.name.endswith(SUFFIX):
        raise InputError("--save", value=str(options.save), allowed=f"a name that ends in {SUFFIX}")
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
    columns = ("forecast", "longest path", "simulated")
    table = text_table("Time of the program", "machine", *columns, right=columns)
    for machine in options.on:
        point = {"P": options.ranks}
        predicted = forecast(done.workload, machine, point, longest_path=True)
        simulated = simulate(done.workload, machine, point, effects=options.effects, seed=options.seed)
        path_s = None if predicted.longest_path is None else predicted.longest_path.time_s
        times = (float(predicted.makespan_s), path_s, float(simulated.makespan_s))
        table.add_row(machine, *("-" if one is None else format_quantity(one, "time") for one in times))
    print_all([table])
    often = "once" if done.runs == 1 else f"{done.runs} times"
    complain(f"note: {done.operations:,} operations of {done.ranks} ranks; the program ran {often}")
    if not done.settled:
        complain("note: what the program does still changes with the times that its clock shows")
    if done.other_order is not None:
        complain(f"note: {_WORDS[done.other_order]}")
    if done.out_of_order:
        complain(
            f"note: {done.out_of_order:,} receives from any rank did not take what arrives first in the simulation"
        )
