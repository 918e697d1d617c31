"""Options of the commands that run a program which uses mpi4py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from simcodesign.cli.completion import names_of
from simcodesign.cli.dataclass_commands import Argument, Option
from simcodesign.cli.options.shared import EFFECTS, SEED
from simcodesign.mpi.computation import computation

NUMBER_OF_RANKS = {"metavar": "N", "help": "Number of ranks; for requirements, several numbers: 9,16,25,36 or 2-64."}


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """The program, the machines, and what counts as computation."""

    program: Annotated[str, Argument(metavar="PROGRAM.py", help="A program that uses mpi4py. It is executed.")]
    arguments: Annotated[
        list[str], Argument(metavar="[ARGUMENT]...", help="Arguments of the program; after -- also options.")
    ] = field(default_factory=list)
    on: Annotated[
        list[str],
        Option("--on", metavar="MACHINE", help="Simulate on this machine. Repeatable.", complete=names_of("machines")),
    ] = field(default_factory=list)
    speed: Annotated[
        float,
        Option(
            metavar="X", help="Speed of a processor of the machine divided by the speed of this computer's processor."
        ),
    ] = 1.0
    compute: Annotated[
        str,
        Option(
            metavar="WORD",
            help="Source of computation times: time (the CPU time between MPI calls, and work that sc.compute "
            "declares), flops (only declared work), or none.",
        ),
    ] = "time"
    effects: Annotated[str, EFFECTS] = "all"
    seed: Annotated[int, SEED] = 0

    def computation(self) -> tuple[float | None, bool]:
        """Return ``speed`` and ``declared`` as ``run`` takes them. InputError without a machine, or for other words."""
        return computation(self.on, self.compute, self.speed)
