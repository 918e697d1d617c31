"""``simcodesign aspen``: an Aspen application on an Aspen machine, in closed form and simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options import AsJson, Engine
from simcodesign.cli.sections import Section
from simcodesign.core.errors import InputError, Place


@dataclass(frozen=True, kw_only=True)
class AspenOptions:
    """Which application runs on which machine, how, and what is printed of it."""

    application: Annotated[Path, Argument(metavar="APP.aspen", help="An application model.")]
    machine: Annotated[Path, Argument(metavar="MACHINE.aspen", help="A machine model.")]
    socket: Annotated[
        str | None, Option(metavar="NAME", help="One kind of socket; without, all of them in a table.")
    ] = None
    settings: Annotated[
        list[str],
        Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of the application or the machine (application.n, machine.n where both have it). "
            "Repeatable.",
        ),
    ] = field(default_factory=list)
    kernel: Annotated[str, Option(metavar="NAME", help="The kernel that is run.")] = "main"
    compatible: Annotated[bool, Option("--aspen-compatible", help="Add map and par up, as the original does.")] = False
    simulate: Annotated[bool, Option(help="Simulate as well, and say why the simulation differs.")] = False
    effects: Annotated[
        str | None,
        Option(metavar="LIST", help="With --simulate: all, none, or some of conflicts, maps, chance."),
    ] = None
    seed: Annotated[
        int | None,
        Option(metavar="N", min=0, help="Draw samples, in place of their means; with --simulate of chance."),
    ] = None
    engine: Engine = "auto"
    as_json: AsJson = False


@command(app, "aspen", section=Section.MODEL)
def run(options: AspenOptions) -> None:
    """Run time, energy, power and memory of an Aspen application on an Aspen machine."""
    from simcodesign.cli.run.aspen import run_aspen

    if options.effects is not None and not options.simulate:
        raise InputError("has no meaning here", Place("--effects"), value=options.effects, allowed="with --simulate")
    run_aspen(options)
