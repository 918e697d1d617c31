"""The command ``calibrate``: constants of a machine from measured times, or from what benchmarks print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options.shared import (
    FIT_LEVEL,
    AsJson,
    Evidence,
    Format,
    Level,
    Preset,
    Robust,
    Settings,
    Simulate,
    Value,
    WorkloadOnMachine,
    Write,
)
from simcodesign.cli.sections import Heading, Section
from simcodesign.cli.written_files import PRINTED, TABLE, Output, Outputs, RequestedFiles
from simcodesign.core.errors import InputError, Place

#: Options of one form alone, by the field.
OF_TIMES = ("unknown", "ratio", "per_phase", "settings", "preset", "error", "value")
OF_BENCHMARKS = ("segments", "given", "format", "algorithms", "simulate", "evidence")


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """The measurements, what is to be determined from them, and what is printed."""

    names: Annotated[
        list[str],
        Argument(
            metavar="[WORKLOAD] MACHINE FILE...",
            help="MACHINE alone, to print what to measure; MACHINE and the output of benchmarks (OSU, IMB, nccl-tests, "
            "HPL, HPCG, STREAM, IOR, mdtest, PICO, Caliper, SMPI's calibration, products of matrices) or logs of "
            "training; or WORKLOAD, MACHINE and tables with measured times of the workload.",
        ),
    ]
    settings: Settings = field(default_factory=list)
    preset: Preset = None
    unknown: Annotated[
        list[str],
        Option(
            heading=Heading.FITTED,
            metavar="LIST",
            help="Determine these constants, for example network.startup,network.per_byte (default: the startup and "
            "per-byte times of the network and disk in use). The name computation is a factor on the computation time. "
            "Repeatable.",
        ),
    ] = field(default_factory=list)
    fix: Annotated[
        list[str],
        Option(
            heading=Heading.FITTED,
            metavar="[PHASE:]NAME=VALUE",
            help="Fix a constant to a known value, in all phases or in one: disk.read_startup=43us. Repeatable.",
        ),
    ] = field(default_factory=list)
    ratio: Annotated[
        list[str],
        Option(
            heading=Heading.FITTED,
            metavar="A=X,B=Y,...",
            help="Keep the ratio of these constants, and determine their common factor: "
            "disk.read_startup=43us,disk.write_startup=1.5ms. Repeatable.",
        ),
    ] = field(default_factory=list)
    per_phase: Annotated[
        bool | None,
        Option(
            "--per-phase/--shared",
            heading=Heading.FITTED,
            help="Determine a value for each phase, or one for all phases (default: --per-phase if every time belongs "
            "to a phase).",
        ),
    ] = None
    value: Value = None
    weights: Annotated[
        str,
        Option(
            heading=Heading.FITTED,
            metavar="KIND",
            help="Minimize the relative or the absolute errors of the times: relative, absolute.",
        ),
    ] = "relative"
    robust: Robust = False
    error: Annotated[
        str | None,
        Option(
            heading=Heading.MEASURED,
            metavar="ERROR",
            help="Use this standard error of every time: 2% (relative) or 5ms (absolute).",
        ),
    ] = None
    level: Level = None
    segments: Annotated[
        int | None,
        Option(
            heading=Heading.FITTED,
            metavar="N",
            min=1,
            help="Benchmarks: divide the message sizes into N segments (default: chosen by cross-validation).",
        ),
    ] = None
    given: Annotated[
        list[str],
        Option(
            heading=Heading.MEASURED,
            metavar="[FILE:]NAME=VALUE",
            help="Benchmarks: set a parameter that FILE (default: every file) does not print: P=16, far.txt:hops=5, "
            "nodes=2, ranks_per_node=48. Repeatable.",
        ),
    ] = field(default_factory=list)
    algorithms: Annotated[
        bool,
        Option(
            heading=Heading.FITTED,
            help="Benchmarks: for each collective operation and range of sizes, name the algorithm whose forecasts are "
            "off by the most constant factor; --write NAME.yaml states them as the machine's rules for algorithm: "
            "auto.",
        ),
    ] = False
    evidence: Evidence = field(default_factory=list)
    simulate: Simulate = False
    format: Format = None
    as_json: AsJson = False
    write: Write = field(default_factory=list)


def _constants_text(calibration: Any, path: Path) -> str:
    from simcodesign.calibration.calibrate import Calibration
    from simcodesign.report.calibration.machine_file import machine_file_text
    from simcodesign.report.calibration.tables import yaml_text

    if isinstance(calibration, Calibration):
        return yaml_text(calibration)
    return machine_file_text(calibration, f"{calibration.machine.name}-calibrated" if path == PRINTED else path.stem)


def _rows_text(calibration: Any, _: Path) -> str:
    from simcodesign.fitting.readers.benchmarks.output.table import tidy_text

    return tidy_text(calibration.tables, {"role": calibration.roles})


FILES = Outputs(
    Output(
        "constants",
        (".yaml", ".yml"),
        "the constants: from benchmarks as a machine file that extends MACHINE and lists the rows used; from times as "
        "a part of a workload or machine file",
        _constants_text,
        is_text=True,
    ),
    Output(
        "rows",
        (".csv",),
        "all rows of benchmarks as one tidy table, with their role: calibration or evidence",
        _rows_text,
        is_text=True,
    ),
    TABLE,
)


@command(app, "calibrate", section=Section.MEASURE, outputs=FILES)
def run(options: CalibrateOptions) -> None:
    """Determine constants of a machine from benchmarks or measured times, and list those that the data leave open.

    With MACHINE and the output of benchmarks: determine startup and bandwidth of messages for ranges of sizes,
    overheads, hop latency, interfaces, reductions, memory and processors; within nodes (nodes=1) and between them
    (nodes=2). Writes a machine file that lists the rows used: simcodesign calibrate torus-cluster osu_latency.txt
    stream.txt --given osu_latency.txt:nodes=2 --write my-cluster.yaml.

    With MACHINE alone: print the commands to run on a machine whose nodes have several ranks: PingPong within a node,
    Sendrecv on a full node, and Alltoall on two full nodes (Intel MPI Benchmarks), or osu_latency, osu_multi_lat and
    osu_alltoall.

    With WORKLOAD, MACHINE and tables of its measured times: fit the forecast by least squares, with no constant below
    0. The forecast must be linear in the constants. A table has one time a row, in the columns value (or seconds, time,
    or --value COLUMN), P, preset, phase, component and the workload's parameters, as needed. Example: times.csv with
    the lines "preset,P,phase,component,seconds" and "test,16,stacking,communication,0.98", and simcodesign calibrate
    seismic power-challenge times.csv.
    """
    from simcodesign.cli.run.scenario import kind_of

    files = FILES.requested(options.write)
    if options.as_json and files.prints:
        raise InputError("--json and a file that is printed exclude each other", allowed="one of them")
    is_of_times = kind_of(options.names[0]) == "workload"
    if not is_of_times and len(options.names) == 1 and not files.prints:
        from simcodesign.cli.run.calibrate import show_what_to_measure

        show_what_to_measure(options)
        return
    least = 3 if is_of_times else 2
    if len(options.names) < least:
        allowed = "WORKLOAD MACHINE TIMES.csv..." if is_of_times else "MACHINE FILE..."
        raise InputError("the files with measured times are missing", value=" ".join(options.names), allowed=allowed)
    for name in OF_BENCHMARKS if is_of_times else OF_TIMES:
        if getattr(options, name) not in (None, [], False):
            form = "for benchmarks, without a workload" if is_of_times else "for times of a workload"
            shown = "--set" if name == "settings" else f"--{name.replace('_', '-')}"
            raise InputError(f"an option {form}", Place(shown), allowed="the other form: see --help")
    if is_of_times:
        files.refuse(["rows"], "of benchmarks, without a workload", "the other form: see --help")
        _from_times(options, files)
    else:
        from simcodesign.cli.run.calibrate import calibrate_from_benchmarks

        calibrate_from_benchmarks(options, _constants("--fix", options.fix), files)


def _from_times(options: CalibrateOptions, files: RequestedFiles) -> None:
    """Constants by the forecast of a workload."""
    from simcodesign.calibration.calibrate import calibrate
    from simcodesign.cli.run.scenario import load_scenario, parsed_level
    from simcodesign.core.units import parse_quantity
    from simcodesign.report.calibration.tables import calibration_dict, calibration_tables

    workload, machine, *times = options.names
    scenario = load_scenario(
        WorkloadOnMachine(workload=workload, machine=machine, settings=options.settings, preset=options.preset)
    )
    kind = "time" if options.weights == "absolute" else "count"
    calibration = calibrate(
        scenario.workload,
        scenario.machine,
        times,
        scenario.parameters,
        preset=scenario.preset,
        unknown=[name.strip() for item in options.unknown for name in item.split(",")] or None,
        per_phase=options.per_phase,
        fixed=_constants("--fix", options.fix),
        ratios=[_constants("--ratio", item.split(",")) for item in options.ratio],
        weighting=options.weights,
        error=None if options.error is None else parse_quantity(options.error, kind, Place("--error")),
        level=parsed_level(options.level, FIT_LEVEL),
        value=options.value,
        robust=options.robust,
    )
    files.show(
        calibration, lambda: calibration_tables(calibration), options.as_json, lambda: calibration_dict(calibration)
    )


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
