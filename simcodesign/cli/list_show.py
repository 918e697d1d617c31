"""Commands about the description files: ``list`` and ``show``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from simcodesign.cli.app import app, sc
from simcodesign.core.errors import InputError, nearest
from simcodesign.report.common.terminal import print_all, write


@app.command("list")
def list_() -> None:
    """List the machines and workloads that are shipped."""
    machines = [(name, sc.load_machine(name)) for name in sc.available("topologies")]
    workloads = [(name, sc.load_workload(name)) for name in sc.available("workloads")]
    print_all(import_module("simcodesign.report.results.data_sheets").overview(machines, workloads))


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A machine or workload: a shipped name or a path (.yaml, .goal, .aspen)."),
    ],
    machine: Annotated[bool, typer.Option("--machine", help="NAME is a machine.")] = False,
    workload: Annotated[bool, typer.Option("--workload", help="NAME is a workload.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print the equations of a workload in LaTeX.")] = False,
) -> None:
    """Show what a machine or workload file says."""
    if machine and workload:
        raise InputError("--machine and --workload exclude each other", allowed="one of them")
    if name.endswith(".aspen"):
        if latex:
            raise InputError(
                "--latex: for workloads that are shipped or in YAML", value=name, allowed="without --latex"
            )
        print_all(import_module("simcodesign.report.aspen.data_sheet").aspen_sheet(Path(name)))
        return
    sheets = import_module("simcodesign.report.results.data_sheets")
    if machine or (not workload and _kind(name) == "machine"):
        if latex:
            raise InputError("--latex: a machine has no equations", value=name, allowed="the name of a workload")
        print_all(sheets.machine_sheet(sc.load_machine(name)))
        return
    described = sc.load_workload(name)
    if latex:
        write(sheets.latex(described))
    else:
        print_all(sheets.workload_sheet(described))


def _kind(name: str) -> str:
    """Whether a name or file is a machine or a workload."""
    if name.endswith(".goal"):
        return "workload"
    if "/" in name or name.endswith((".yaml", ".yml")):
        keys = import_module("simcodesign.describe.yaml.tree").read_yaml(Path(name)).mapping()
        of_workload = {"program", "equations"} & keys.keys()
        of_machine = {"nodes", "processor", "network", "extends", "resources"} & keys.keys()
        return "workload" if of_workload or ("parameters" in keys and not of_machine) else "machine"
    machines, workloads = sc.available("topologies"), sc.available("workloads")
    if name in machines and name in workloads:
        what = "there is a machine and a workload of this name"
        raise InputError(what, value=name, allowed="say which: --machine or --workload")
    if name not in machines and name not in workloads:
        allowed = f"{nearest(name, [*machines, *workloads])}, or the path of a .yaml file"
        raise InputError("no such machine or workload", value=name, allowed=allowed)
    return "machine" if name in machines else "workload"
