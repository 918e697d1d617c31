"""The command ``run``: a program that uses mpi4py, on simulated ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Option, command
from simcodesign.cli.options.program_options import NUMBER_OF_RANKS, ProgramOptions
from simcodesign.cli.sections import Section


@dataclass(frozen=True, kw_only=True)
class RunOptions(ProgramOptions):
    """The program and the machines."""

    ranks: Annotated[int, Option("-n", "--np", min=1, **NUMBER_OF_RANKS)] = 4


@command(app, "run", section=Section.MODEL)
def run_program(options: RunOptions) -> None:
    """Run a program that uses mpi4py on simulated ranks, without MPI, and forecast and simulate what it did.

    The program is executed in this process. With several machines it runs on the first, whose times its clock shows.
    """
    from simcodesign.analytic.forecast import forecast
    from simcodesign.core.units import format_quantity
    from simcodesign.engine.simulate import simulate
    from simcodesign.mpi.run import marked, run
    from simcodesign.report.common.tables import text_table
    from simcodesign.report.common.terminal import complain, print_all, write

    speed, declared = options.computation()
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
    if done.wildcards:
        complain(
            f"note: {done.wildcards:,} receives from any rank, probes and waits for any took what came first in the "
            "order of turns, not of simulated arrival"
        )
