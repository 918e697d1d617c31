"""Commands about the description files: ``list``, ``show`` and ``schema``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from simcodesign.cli.app import app
from simcodesign.cli.completion import names_of
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options.shared import AsJson, Ranks, Settings, Write
from simcodesign.cli.sections import Section
from simcodesign.cli.written_files import PLOT_SUFFIXES, Output, Outputs, RequestedFiles
from simcodesign.core.errors import InputError, Place
from simcodesign.report.common.terminal import print_all, write_json

_NO_RANKS = "-P needs a description that depends on the number of ranks"
_RANKS_OF = "FILE.py:NAME, a program in Python; a machine with nodes: P"


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """Selection and form of the list."""

    words: Annotated[
        list[str],
        Argument(
            metavar="[WORD]...",
            help="List only those that match every WORD in their name, description, source, or in what they do (halo, "
            "allreduce, dragonfly, ...).",
        ),
    ] = field(default_factory=list)
    as_json: AsJson = False


@command(app, "list", section=Section.MODEL)
def run_list(options: ListOptions) -> None:
    """List the bundled machines and workloads, optionally only those that match every WORD."""
    from simcodesign.describe.yaml.files import available, load_machine, load_workload
    from simcodesign.report.descriptions.to_json import overview_json
    from simcodesign.report.results.data_sheets import overview, said_of_machine, said_of_workload

    machines = [(name, load_machine(name)) for name in available("topologies")]
    workloads = [(name, load_workload(name)) for name in available("workloads")]
    for word in options.words:
        machines = [(name, one) for name, one in machines if word.lower() in said_of_machine(name, one)]
        workloads = [(name, one) for name, one in workloads if word.lower() in said_of_workload(name, one)]
    if options.words and not machines and not workloads:
        raise InputError(
            "no bundled machine or workload matches all words",
            value=" ".join(options.words),
            allowed="fewer or other words, or none",
        )
    if options.as_json:
        write_json(overview_json(machines, workloads))
    else:
        print_all(overview(machines, workloads))


KINDS = ("machine", "workload")


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """Object to show, and form."""

    name: Annotated[
        str,
        Argument(
            metavar="NAME",
            help="A machine or workload: a bundled name, a path (.yaml, .goal, .bin, .aspen, trace), or "
            "FILE.py:NAME in Python (the file is executed).",
            complete=names_of("machines", "workloads"),
        ),
    ]
    kind: Annotated[
        str | None, Option(metavar="KIND", help="Read NAME as this kind, machine or workload, if both exist.")
    ] = None
    settings: Settings = field(default_factory=list)
    ranks: Ranks = None
    as_json: AsJson = False
    write: Write = field(default_factory=list)


def _equations(workload: Any, _: Path) -> str:
    from simcodesign.report.results.workload_sheet import latex

    return latex(workload)


def _levels(machine: Any, path: Path) -> None:
    from simcodesign.report.machines.levels_plot import levels_plot

    levels_plot(machine, path)


def _roofline(machine: Any, path: Path) -> None:
    from simcodesign.report.machines.roofline_plot import roofline_plot

    roofline_plot(machine, path)


SHOWN_FILES = Outputs(
    Output("equations", (".tex",), "the equations of a workload, and its time as a formula", _equations, is_text=True),
    Output("levels", PLOT_SUFFIXES, "the networks between and inside the nodes of a machine, as boxes", _levels),
    Output("roofline", PLOT_SUFFIXES, "the rooflines of the processors and accelerators of a machine", _roofline),
)


@command(app, "show", section=Section.MODEL, outputs=SHOWN_FILES)
def run_show(options: ShowOptions) -> None:
    """Print a machine or a workload as a data sheet.

    For example: show torus-cluster. With --set, show it with other values. For a Python program, -P N also counts the
    operations of N ranks. For a machine whose number of nodes depends on P, -P sets P.
    """
    from simcodesign.cli.run.scenario import kind_of

    if options.kind not in (None, *KINDS):
        raise InputError("unknown kind", Place("--kind"), value=options.kind, allowed=", ".join(KINDS))
    files = SHOWN_FILES.requested(options.write)
    if files.prints and options.as_json:
        raise InputError("--json and --write equations:- exclude each other", allowed="one of them")
    if options.name.endswith(".aspen"):
        files.refuse(["equations"], f"{options.name} has no equations", "workloads that are bundled or in YAML")
        drawn = ["levels", "roofline"]
        files.refuse(drawn, f"{options.name} is not drawn", "machines that are bundled or in YAML")
        _show_aspen(options)
    elif (options.kind or kind_of(options.name)) == "machine":
        files.refuse(["equations"], "a machine has no equations", "the name of a workload")
        _show_machine(options, files)
    else:
        files.refuse(["levels", "roofline"], "a workload has no levels and no roofline", "the name of a machine")
        _show_workload(options, files)


def _show_aspen(options: ShowOptions) -> None:
    from simcodesign.report.aspen.data_sheet import aspen_sheet

    for option, is_given in (("--json", options.as_json), ("--set", options.settings)):
        if is_given:
            what = f"{option}: for machines and workloads that are no Aspen models"
            raise InputError(what, value=options.name, allowed=f"without {option}")
    print_all(aspen_sheet(Path(options.name)))


def _show_machine(options: ShowOptions, files: RequestedFiles) -> None:
    from simcodesign.cli.run.scenario import note_assumed_copies, note_shared_link, parsed_settings
    from simcodesign.describe.yaml.files import load_machine
    from simcodesign.report.descriptions.to_json import machine_json
    from simcodesign.report.machines.machine_sheet import machine_sheet

    changes = parsed_settings(options.settings)
    ranks = _ranks_in(changes, options)
    machine = load_machine(options.name, changes)
    if ranks is not None:
        if machine.nodes_by_ranks is None:
            raise InputError(_NO_RANKS, value=options.name, allowed=_RANKS_OF)
        machine = replace(machine.for_ranks(ranks), nodes_by_ranks=None)
    files.show(machine, lambda: machine_sheet(machine), options.as_json, lambda: machine_json(machine))
    if not options.as_json:
        note_shared_link(machine, options.name, changes)
        note_assumed_copies(machine)


def _show_workload(options: ShowOptions, files: RequestedFiles) -> None:
    from simcodesign.cli.run.scenario import is_in_python, note_execution, parsed_settings
    from simcodesign.describe.yaml.files import load_workload, workload_variant
    from simcodesign.report.descriptions.to_json import workload_json
    from simcodesign.report.results.workload_sheet import workload_sheet

    changes = parsed_settings(options.settings)
    ranks = _ranks_in(changes, options)
    if ranks is not None and not is_in_python(options.name):
        raise InputError(_NO_RANKS, value=options.name, allowed=_RANKS_OF)
    note_execution(options.name)
    workload = workload_variant(load_workload(options.name), changes)
    files.show(
        workload, lambda: workload_sheet(workload, ranks), options.as_json, lambda: workload_json(workload, ranks)
    )


def _ranks_in(changes: dict[str, str], options: ShowOptions) -> int | None:
    """Take the number of ranks out of what is set, and return it; None if it is not set."""
    if options.ranks is not None and "P" in changes:
        raise InputError("set twice", Place("--set"), value="P", allowed="one value per name")
    value = changes.pop("P", options.ranks)
    if value is not None and (not str(value).isdigit() or int(value) < 1):
        raise InputError("not a number of ranks", Place("-P"), value=value, allowed="1 or more")
    return None if value is None else int(value)


@dataclass(frozen=True, kw_only=True)
class SchemaOptions:
    """Kind of files."""

    kind: Annotated[str, Argument(metavar="KIND", help="machine or workload.")]


@command(app, "schema", section=Section.MODEL)
def run_schema(options: SchemaOptions) -> None:
    """Print the JSON Schema of machine or workload files, with which editors complete keys and mark errors."""
    from simcodesign.describe.schema.json_schema import json_schema

    write_json(json_schema(options.kind))
