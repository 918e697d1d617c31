"""The command ``calibrate``: constants of a machine from measured times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options import AsJson, WorkloadOnMachine
from simcodesign.core.errors import InputError, Place
from simcodesign.report.common.terminal import print_all, write, write_json


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """The measured times, what is to be determined from them, and what is printed."""

    scenario: WorkloadOnMachine
    times: Annotated[
        list[Path],
        Argument(
            metavar="TIMES.csv...",
            help="Measured times, one a row: seconds, parameters of the workload, P, preset, phase, component.",
        ),
    ]
    unknown: Annotated[
        list[str],
        Option(
            metavar="LIST",
            help="Constants to determine, e.g. network.startup,network.per_byte; computation is a factor of the "
            "computation time. By default the startup and per-byte times of network and disk in use. Repeatable.",
        ),
    ] = field(default_factory=list)
    fix: Annotated[
        list[str],
        Option(
            metavar="NAME=VALUE", help="A known constant: disk.read_startup=43us, or of one phase: PHASE:NAME=VALUE."
        ),
    ] = field(default_factory=list)
    ratio: Annotated[
        list[str],
        Option(
            metavar="A=X,B=Y,...",
            help="Constants whose ratio is known: disk.read_startup=43us,disk.write_startup=1.5ms. Their common factor "
            "is determined. Repeatable.",
        ),
    ] = field(default_factory=list)
    per_phase: Annotated[
        bool | None,
        Option(
            "--per-phase/--shared",
            help="One value for each phase, or one for all; by default per phase if every time is of a phase.",
        ),
    ] = None
    weights: Annotated[
        str, Option(metavar="KIND", help="What is the same for all times: their relative or absolute error.")
    ] = "relative"
    error: Annotated[
        str | None,
        Option(metavar="ERROR", help="Standard error of a time, if known: 2% (relative) or 5ms (absolute)."),
    ] = None
    level: Annotated[str, Option(metavar="SHARE", help="Level of the intervals.")] = "90%"
    as_json: AsJson = False
    as_yaml: Annotated[bool, Option("--yaml", help="Print constants for a workload or machine file.")] = False


@command(app, "calibrate")
def run(options: CalibrateOptions) -> None:
    """Determine startup and per-byte times from measured times, and say what the times cannot tell apart.

    Least squares of the forecast, which must be linear in the constants, with none below 0. A table of times has the
    columns seconds, P, preset, phase, component and parameters of the workload, as far as they are needed: with
    "preset,P,phase,component,seconds" and "test,16,stacking,communication,0.98" in times.csv, for example, simcodesign
    calibrate seismic power-challenge times.csv.
    """
    from simcodesign.calibration.calibrate import calibrate
    from simcodesign.cli.run.scenario import load_scenario
    from simcodesign.core.units import parse_quantity
    from simcodesign.report.calibration.tables import calibration_dict, calibration_tables, yaml_text

    if options.as_json and options.as_yaml:
        raise InputError("--json and --yaml exclude each other", allowed="one of them")
    scenario = load_scenario(options.scenario)
    kind = "time" if options.weights == "absolute" else "count"
    calibration = calibrate(
        scenario.workload,
        scenario.machine,
        options.times,
        scenario.parameters,
        preset=scenario.preset,
        unknown=[name.strip() for item in options.unknown for name in item.split(",")] or None,
        per_phase=options.per_phase,
        fixed=_constants("--fix", options.fix),
        ratios=[_constants("--ratio", item.split(",")) for item in options.ratio],
        weighting=options.weights,
        error=None if options.error is None else parse_quantity(options.error, kind, Place("--error")),
        level=parse_quantity(options.level, "count", Place("--level")),
    )
    if options.as_json:
        write_json(calibration_dict(calibration))
    elif options.as_yaml:
        write(yaml_text(calibration))
    else:
        print_all(calibration_tables(calibration))


def _constants(option: str, items: Iterable[str]) -> dict[str, float]:
    """Values of constants by name, in SI units, from NAME=VALUE."""
    from simcodesign.core.units import parse_quantity
    from simcodesign.describe.constants import dimension_at

    values: dict[str, float] = {}
    for item in items:
        name, _, value = (part.strip() for part in item.partition("="))
        if not name or not value:
            raise InputError("not a value of a constant", Place(option), value=item, allowed="NAME=VALUE")
        if name in values:
            raise InputError("given twice", Place(option), value=name, allowed="one value per name")
        path = name.rpartition(":")[2]
        values[name] = parse_quantity(value, dimension_at(path) or "count", Place(option))
    return values
