"""Commands that answer questions about designs: ``codesign upgrade | strawman``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import click

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options import (
    EngineOptions,
    OutputOptions,
    Preset,
    Ranks,
    Seed,
    Settings,
)
from simcodesign.cli.sections import Section, put_in
from simcodesign.core.errors import InputError, Place

codesign = click.Group(
    "codesign",
    help="Judge designs that you name (explore searches for one): what does an upgrade bring?",
)
app.add_command(codesign)
put_in(Section.DESIGN, codesign.name or "")

Size = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="The parameter that is the problem size of a process (default: n, or what the workload states).",
    ),
]
Log = Annotated[
    str | None,
    Option(
        metavar="BASE",
        help="Base of the logarithms in requirement models: 2 (the default), natural or 10. Short for "
        "--set n_base=... --set p_base=...; collectives keep log2, which is how many messages they have.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class RequirementOptions:
    """Which workloads, and what is set of them and the machines."""

    size: Size = None
    log: Log = None
    settings: Settings = field(default_factory=list)
    preset: Preset = None


@dataclass(frozen=True, kw_only=True)
class SimulatedRequirementOptions(EngineOptions):
    """Whether smaller machines are simulated as well, and how."""

    simulate: Annotated[bool, Option(help="Simulate as well, on machines made smaller.")] = False
    seed: Seed = 0

    def check_unused(self, option: str, given: Sequence[str] | int | None) -> None:
        """InputError for options that only a simulation has: ``option``, or --effects."""
        wrong = option if given else "--effects"
        if not self.simulate and (given or self.effects != "all"):
            raise InputError(f"only a simulation has {wrong}", Place(wrong), allowed="with --simulate")


@dataclass(frozen=True, kw_only=True)
class UpgradeOptions:
    """Which workloads run on which machine, and how that is upgraded."""

    workloads: Annotated[
        list[str], Argument(metavar="WORKLOAD...", help="Shipped workloads or paths, with a footprint each.")
    ]
    machine: Annotated[str, Option("--base", metavar="MACHINE", help="The machine that is upgraded.")] = "juqueen"
    upgrades: Annotated[
        list[str],
        Option("--upgrade", metavar="NAME", help="racks, sockets, memory or a file. Repeatable; default: all three."),
    ] = field(default_factory=list)
    requirements: RequirementOptions
    ranks: Ranks = None
    simulation: SimulatedRequirementOptions
    vary: Annotated[
        list[str],
        Option(
            metavar="NAME=FACTOR,...",
            help="With --simulate: a rate of the machine or a parameter times these, simulated again, e.g. "
            "network.bandwidth=0.5,2. Repeatable; default: every assumed number by the forecast.",
        ),
    ] = field(default_factory=list)
    output: OutputOptions


@command(codesign, "upgrade")
def run_upgrade(options: UpgradeOptions) -> None:
    """How the largest problem and the requirements of a process change with an upgrade, step by step.

    Requirements are computation, communication, memory access and, where a workload reads or writes, I/O.

    With --simulate also how the time does, on the machine made smaller: to -P ranks, with its nodes as they are.
    """
    from simcodesign.cli.run import requirements

    options.output.check()
    requirements.run_upgrade(options)


@dataclass(frozen=True, kw_only=True)
class StrawManOptions:
    """Which systems are compared, and with which workloads."""

    systems: Annotated[
        list[str], Argument(metavar="[SYSTEM]...", help="Machines; by default those of the literature.")
    ] = field(default_factory=list)
    workloads: Annotated[
        list[str],
        Option("--workload", metavar="NAME", help="Repeatable; by default the shipped requirement workloads."),
    ] = field(default_factory=list)
    benchmark: Annotated[
        float | None,
        Option(metavar="N", help="Overall problem to be timed; by default the largest that all systems hold."),
    ] = None
    requirements: RequirementOptions
    simulation: SimulatedRequirementOptions
    ranks: Annotated[
        int | None, Option("-P", "--ranks", metavar="N", help="With --simulate: of the largest system, at most.")
    ] = None
    output: OutputOptions


@command(codesign, "strawman")
def run_straw_man(options: StrawManOptions) -> None:
    """The largest problem that each system holds, and the least time of each for the same problem.

    With --simulate also the simulated times, on systems whose processors are divided by one factor.
    """
    from simcodesign.cli.run import requirements

    options.output.check()
    requirements.run_straw_man(options)
