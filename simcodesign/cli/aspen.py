"""``simcodesign aspen``: an Aspen application on an Aspen machine, in closed form and simulated."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from simcodesign.cli.app import app
from simcodesign.cli.options import AsJson, Engine
from simcodesign.core.errors import InputError, Place
from simcodesign.report.common.terminal import print_all, write_json

SETTINGS = "NAME=VALUE of a parameter of the application or the machine, e.g. --set n=4096"


@app.command()
def aspen(
    application: Annotated[Path, typer.Argument(metavar="APP.aspen", help="An application model.")],
    machine: Annotated[Path, typer.Argument(metavar="MACHINE.aspen", help="A machine model.")],
    socket: Annotated[
        str | None, typer.Option(metavar="NAME", help="One kind of socket; without, all of them in a table.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of the application or the machine (application.n, machine.n where both have it). "
            "Repeatable.",
        ),
    ] = None,
    kernel: Annotated[str, typer.Option(metavar="NAME", help="The kernel that is run.")] = "main",
    compatible: Annotated[
        bool, typer.Option("--aspen-compatible", help="Add map and par up, as the original does.")
    ] = False,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Simulate as well, and say why the simulation differs.")
    ] = False,
    effects: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="With --simulate: all, none, or some of conflicts, maps, chance."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Draw samples, in place of their means; with --simulate of chance."),
    ] = None,
    engine: Engine = "auto",
    as_json: AsJson = False,
) -> None:
    """Run time, energy, power and memory of an Aspen application on an Aspen machine."""
    if effects is not None and not simulate:
        raise InputError("has no meaning here", Place("--effects"), value=effects, allowed="with --simulate")
    given = given_parameters(settings or [])
    loaded = import_module("simcodesign.aspen.application").load_application(application)
    described = import_module("simcodesign.aspen.machine").load_machine(machine)
    timed = import_module("simcodesign.aspen.timing").run_time
    drawn = None if simulate else seed
    several = socket is None and len(described.sockets) > 1
    if several and simulate:
        allowed = ", ".join(described.sockets)
        raise InputError("a simulation is of one kind of socket", Place("--socket"), value=socket, allowed=allowed)
    if several:
        _all_sockets(loaded, described, given, kernel, compatible, drawn, as_json)
        return
    timing = timed(loaded, described, socket, given, kernel=kernel, compatible=compatible, seed=drawn)
    report = import_module("simcodesign.report.aspen.tables")
    answer, comparison = report.Answer(timing), None
    if simulate:
        comparison = import_module("simcodesign.aspen.run.comparison").compare_aspen(
            loaded,
            described,
            timing.socket,
            given,
            kernel=kernel,
            seed=seed or 0,
            engine=engine,
            effects="all" if effects is None else effects,
        )
    if as_json:
        write_json(report.answer_dict(answer, comparison))
    else:
        print_all([*report.answer_tables(answer), *(report.comparison_tables(comparison) if comparison else [])])


def _all_sockets(
    loaded: Any, described: Any, given: dict[str, Any], kernel: str, compatible: bool, seed: int | None, as_json: bool
) -> None:
    """A row for each kind of socket; those that lack a resource are said to."""
    report, timed = import_module("simcodesign.report.aspen.tables"), import_module("simcodesign.aspen.timing").run_time
    answers, absent = {}, {}
    errors: list[InputError] = []
    for socket in described.sockets:
        try:
            timing = timed(loaded, described, socket, given, kernel=kernel, compatible=compatible, seed=seed)
            answers[socket] = report.Answer(timing)
        except InputError as error:
            errors.append(error)
            absent[socket] = str(error)
    if not answers:
        raise errors[0]
    if as_json:
        rows = [report.answer_dict(answer) for answer in answers.values()]
        write_json({"sockets": rows, "absent": absent})
    else:
        print_all(report.socket_tables(answers, absent))


def given_parameters(settings: list[str]) -> dict[str, Any]:
    """Values by name: numbers, and words for members of enumerations. InputError for what is no setting."""
    given: dict[str, Any] = {}
    for item in settings:
        name, _, value = (part.strip() for part in item.partition("="))
        if not name or not value:
            raise InputError("not a setting", Place("--set"), value=item, allowed=SETTINGS)
        if name in given:
            raise InputError("set twice", Place("--set"), value=name, allowed="one value per name")
        try:
            given[name] = float(value)
        except ValueError:
            given[name] = value
    return given
