"""``calibrate`` of a machine by what benchmarks printed: files are read, tables and the machine's file written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from simcodesign.calibration.benchmarks.machine_constants import (
    MachineCalibration,
    NoConstantError,
    calibrate_machine,
)
from simcodesign.cli.options import FIT_LEVEL, check_folder
from simcodesign.cli.run.scenario import parsed_level
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.atomic_files import replacing
from simcodesign.core.units import parse_quantity
from simcodesign.fitting.readers.benchmarks.table import BenchmarkTable, read_benchmark, tidy_text
from simcodesign.report.calibration.benchmark_tables import benchmark_dict, benchmark_tables
from simcodesign.report.calibration.machine_file import machine_file_text
from simcodesign.report.common.terminal import complain, print_all, write, write_json


class BenchmarkOptions(Protocol):
    """What is used of the command's options."""

    @property
    def names(self) -> list[str]: ...
    @property
    def level(self) -> str | None: ...
    @property
    def segments(self) -> int | None: ...
    @property
    def given(self) -> list[str]: ...
    @property
    def format(self) -> str | None: ...
    @property
    def output(self) -> Path | None: ...
    @property
    def rows(self) -> Path | None: ...
    @property
    def robust(self) -> bool: ...
    @property
    def as_json(self) -> bool: ...
    @property
    def as_yaml(self) -> bool: ...


def calibrate_from_benchmarks(options: BenchmarkOptions, known: Mapping[str, float]) -> None:
    """Read, determine, write and print. Raises InputError for options and files that cannot be used."""
    machine, *files = options.names
    _check_output(options, machine)
    given = _given(options.given, files)
    tables = [read_benchmark(file, options.format).with_parameters(given.get(file, {})) for file in files]
    try:
        calibration = calibrate_machine(
            machine,
            tables,
            known=known,
            segments=options.segments,
            level=parsed_level(options.level, FIT_LEVEL),
            robust=options.robust,
        )
    except NoConstantError:
        if options.rows is not None:
            _write_rows(options.rows, tables, ["evidence" for table in tables for _ in table.rows])
        raise
    _write_files(calibration, tables, options)
    if options.as_json:
        write_json(benchmark_dict(calibration))
    elif options.as_yaml:
        write(machine_file_text(calibration, f"{calibration.machine.name}-calibrated"))
    else:
        print_all(benchmark_tables(calibration))


def _check_output(options: BenchmarkOptions, machine: str) -> None:
    """InputError for files that cannot be written, before any work is done."""
    if options.output is not None:
        check_folder("--output", options.output, (".yaml", ".yml"))
        beside = Path(machine).parent.resolve()
        if machine.endswith((".yaml", ".yml")) and options.output.parent.resolve() != beside:
            what = "a machine extends one that is shipped, or stands beside it"
            raise InputError(what, Place("--output"), value=str(options.output), allowed=f"a file in {beside}")
    if options.rows is not None:
        check_folder("--rows", options.rows, (".csv",))


def _given(items: Sequence[str], files: Sequence[str]) -> dict[str, dict[str, float]]:
    """The parameters of each file by [FILE:]NAME=VALUE; those of a file win over those of all."""
    given: dict[str, dict[str, float]] = {file: {} for file in files}
    for item in sorted(items, key=lambda one: ":" in one):
        where, _, value = item.rpartition("=")
        file, _, name = where.rpartition(":")
        chosen = [one for one in files if not file or file in (one, Path(one).name)]
        if not name.strip() or not value.strip():
            raise InputError("not a parameter", Place("--given"), value=item, allowed="[FILE:]NAME=VALUE")
        if not chosen:
            raise InputError("no such file", Place("--given"), value=file, allowed=nearest(file, files))
        dimension = "size" if name.strip() == "bytes" else "count"
        for one in chosen:
            given[one][name.strip()] = parse_quantity(value, dimension, Place("--given"))
    return given


def _write_files(calibration: MachineCalibration, tables: Sequence[BenchmarkTable], options: BenchmarkOptions) -> None:
    if options.output is not None:
        _write(options.output, machine_file_text(calibration, options.output.stem))
    if options.rows is not None:
        _write_rows(options.rows, tables, calibration.roles)


def _write_rows(path: Path, tables: Sequence[BenchmarkTable], roles: Sequence[str]) -> None:
    _write(path, tidy_text(tables, {"role": roles}))


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())
    complain(f"wrote {path}")
