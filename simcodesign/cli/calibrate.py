"""The command ``calibrate``: constants of a machine from measured times."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from simcodesign.cli.app import app
from simcodesign.cli.options import AsJson, MachineName, Preset, Settings, WorkloadName, case_of
from simcodesign.core.errors import InputError, Place
from simcodesign.report.common.terminal import print_all, write, write_json


@app.command()
def calibrate(
    workload: WorkloadName,
    machine: MachineName,
    times: Annotated[
        list[Path],
        typer.Argument(
            metavar="TIMES.csv...",
            help="Measured times, one a row: seconds, parameters of the workload, P, preset, phase, component.",
        ),
    ],
    unknown: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="Constants to determine, e.g. network.startup,network.per_byte; computation is a factor of the "
            "computation time. By default the startup and per-byte times of network and disk in use. Repeatable.",
        ),
    ] = None,
    fix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="A known constant: disk.read_startup=43us, or of one phase: PHASE:NAME=VALUE."
        ),
    ] = None,
    ratio: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A=X,B=Y,...",
            help="Constants whose ratio is known: disk.read_startup=43us,disk.write_startup=1.5ms. Their common factor "
            "is determined. Repeatable.",
        ),
    ] = None,
    per_phase: Annotated[
        bool | None,
        typer.Option(
            "--per-phase/--shared",
            help="One value for each phase, or one for all; by default per phase if every time is of a phase.",
        ),
    ] = None,
    weights: Annotated[
        str, typer.Option(metavar="KIND", help="What is the same for all times: their relative or absolute error.")
    ] = "relative",
    error: Annotated[
        str | None,
        typer.Option(metavar="ERROR", help="Standard error of a time, if known: 2% (relative) or 5ms (absolute)."),
    ] = None,
    level: Annotated[str, typer.Option(metavar="SHARE", help="Level of the intervals.")] = "90%",
    settings: Settings = None,
    preset: Preset = None,
    as_json: AsJson = False,
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print constants for a workload or machine file.")] = False,
) -> None:
    """Determine startup and per-byte times from measured times, and say what the times cannot tell apart.

    Least squares of the forecast, which must be linear in the constants, with none below 0. A table of times has the
    columns seconds, P, preset, phase, component and parameters of the workload, as far as they are needed: with
    "preset,P,phase,component,seconds" and "test,16,stacking,communication,0.98" in times.csv, for example, simcodesign
    calibrate seismic power-challenge times.csv.
    """
    if as_json and as_yaml:
        raise InputError("--json and --yaml exclude each other", allowed="one of them")
    case = case_of(workload, machine, settings, None, preset, None)
    parse_quantity = import_module("simcodesign.core.units").parse_quantity
    kind = "time" if weights == "absolute" else "count"
    found = import_module("simcodesign.calibration.calibrate").calibrate(
        case.workload,
        case.machine,
        times,
        case.parameters,
        preset=preset,
        unknown=None if unknown is None else [name.strip() for item in unknown for name in item.split(",")],
        per_phase=per_phase,
        fixed=_named("--fix", fix or []),
        ratios=[_named("--ratio", item.split(",")) for item in ratio or []],
        weighting=weights,
        error=None if error is None else parse_quantity(error, kind, Place("--error")),
        level=parse_quantity(level, "count", Place("--level")),
    )
    report = import_module("simcodesign.report.calibration.tables")
    if as_json:
        write_json(report.calibration_dict(found))
    elif as_yaml:
        write(report.yaml_text(found))
    else:
        print_all(report.calibration_tables(found))


def _named(option: str, items: list[str]) -> dict[str, float]:
    """Values by name, in SI units."""
    constants = import_module("simcodesign.describe.constants").CONSTANTS
    parse_quantity = import_module("simcodesign.core.units").parse_quantity
    found: dict[str, float] = {}
    for item in items:
        name, _, value = (part.strip() for part in item.partition("="))
        if not name or not value:
            raise InputError("not a value of a constant", Place(option), value=item, allowed="NAME=VALUE")
        if name in found:
            raise InputError("given twice", Place(option), value=name, allowed="one value per name")
        path = name.rpartition(":")[2]
        found[name] = parse_quantity(value, constants[path][2] if path in constants else "count", Place(option))
    return found
