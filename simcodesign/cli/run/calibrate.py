"""``calibrate`` of a machine by what benchmarks printed: files are read, tables and the machine's file written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from simcodesign.calibration.benchmarks.machine_constants import NoConstantError, calibrate_machine
from simcodesign.cli.options.shared import FIT_LEVEL
from simcodesign.cli.run.scenario import parsed_level
from simcodesign.cli.written_files import PRINTED, RequestedFiles, write_text
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import parse_quantity
from simcodesign.describe.yaml.files import load_machine
from simcodesign.fitting.readers.benchmarks.output.table import read_benchmark, tidy_text
from simcodesign.report.calibration.benchmark_tables import benchmark_dict, benchmark_tables
from simcodesign.report.calibration.what_to_measure import command_lines, what_to_measure
from simcodesign.report.common.terminal import write, write_json


class BenchmarkOptions(Protocol):
    """Options used here."""

    @property
    def names(self) -> list[str]:
        """Return the names of the files to read."""

    @property
    def level(self) -> str | None:
        """Return the probability of the intervals as text, None for the default."""

    @property
    def segments(self) -> int | None:
        """Return the number of segments to use, None to choose it."""

    @property
    def given(self) -> list[str]:
        """Return values that the files do not state, as ``KEY=VALUE``."""

    @property
    def format(self) -> str | None:
        """Return the format of the files, None to recognise it."""

    @property
    def algorithms(self) -> bool:
        """Return whether algorithms are chosen."""

    @property
    def evidence(self) -> list[str]:
        """Return the names of files from which nothing is determined."""

    @property
    def simulate(self) -> bool:
        """Return whether evidence is by simulations."""

    @property
    def robust(self) -> bool:
        """Return whether outlying times weigh less."""

    @property
    def as_json(self) -> bool:
        """Return whether to print JSON."""


def calibrate_from_benchmarks(options: BenchmarkOptions, known: Mapping[str, float], requested: RequestedFiles) -> None:
    """Read, determine, write and print. Raises InputError for options and files that cannot be used."""
    machine, *files = options.names
    _check_folder(requested.paths("constants"), machine)
    given = _given(options.given, [*files, *options.evidence])
    tables, evidence = (
        [read_benchmark(file, options.format).with_parameters(given[file]) for file in some]
        for some in (files, options.evidence)
    )
    try:
        calibration = calibrate_machine(
            machine,
            tables,
            known=known,
            segments=options.segments,
            level=parsed_level(options.level, FIT_LEVEL),
            robust=options.robust,
            algorithms=options.algorithms,
            evidence=evidence,
            simulate=options.simulate,
        )
    except NoConstantError:
        every = [*tables, *evidence]
        rows = tidy_text(every, {"role": ["evidence" for table in every for _ in table.rows]})
        for path in requested.paths("rows"):
            write_text(rows, path)
        raise
    requested.show(
        calibration, lambda: benchmark_tables(calibration), options.as_json, lambda: benchmark_dict(calibration)
    )


def show_what_to_measure(options: BenchmarkOptions) -> None:
    """Print the commands whose output determines the constants of a machine's messages."""
    (name,) = options.names
    machine = load_machine(name)
    commands = what_to_measure(machine)
    if options.as_json:
        write_json(commands)
    else:
        write("".join(f"{line}\n" for line in command_lines(name, machine, commands)))


def _check_folder(paths: Sequence[Path], machine: str) -> None:
    """InputError for a machine file that would not find the file that it extends."""
    beside = Path(machine).parent.resolve()
    for path in paths:
        if path != PRINTED and machine.endswith((".yaml", ".yml")) and path.parent.resolve() != beside:
            what = "a machine extends a bundled one, or one in the same folder"
            raise InputError(what, Place("--write"), value=str(path), allowed=f"a file in {beside}")


def _given(items: Sequence[str], files: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the parameters of each file by [FILE:]NAME=VALUE; parameters of a file win over parameters of all."""
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
