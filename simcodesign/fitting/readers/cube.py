"""Score-P's Cube files: a folder with one folder for each run, read by the optional package pycubexr.

A run's folder is called ``[prefix.]x10y1z1[.rN]`` and holds ``profile.cubex``: parameters and their values, with comma
or point as decimal sign, and the number of the repetition. A comma or a dot may also separate parameters
(``x10,y1,5,z1``, ``x10.y1.z1``). What all names have before the first dot is a prefix, as in Extra-P.

A region is a call path, as ``main->foo``; a series holds the exclusive value (without the functions called), averaged
over the processes and threads. A call path that a run never came to is missing there (NaN), which is no error, as call
trees differ between runs.
"""

from __future__ import annotations

import re
import tarfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import DATA_BYTES, check_size, open_bytes
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.fitting.measurements import Measurements, check_parameters
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.rows import Rows, pair

PROFILE = "profile.cubex"
NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
_PART = rf"[A-Za-z_]+{NUMBER}"
_END = r"(?!r[0-9]+$)"  # a dot before the number of a repetition parts no parameters
# The prefix is tried last: in x10.r2 the x10 is a parameter.
RUN = re.compile(rf"(?:.*?\.{_END})??(?P<point>(?:{_PART}(?:,|\.{_END})?)*{_PART})(?:\.r(?P<run>[0-9]+))?")
#: A prefix up to the first dot, as Extra-P has it, with a parameter behind it.
PREFIX = re.compile(rf"([^.]*\.){_END}[A-Za-z_]")
COORDINATE = re.compile(rf"([A-Za-z_]+)({NUMBER})")
FORM = "[prefix.]x10y1z1[.rN], x10,y1,z1 or x10.y1.z1, the same parameters in each"


@dataclass(frozen=True)
class Run:
    """One measured run: its file, and the values of the parameters, from the name of its folder."""

    file: Path
    point: dict[str, float]
    repetition: int


def read_cube(path: Path, partial: bool = True) -> Measurements:
    """Return the measurements in a folder of runs measured with Score-P; needs pycubexr.

    Raises InputError naming the run: a folder that is not called as it must, other parameters than in the others,
    a file that cannot be read; with ``partial`` False also a call path that is not in every run.
    """
    runs = find_runs(path)
    package = load_package(path)
    rows = Rows(str(path), partial)
    parameters = tuple(runs[0].point)
    for run in runs:
        read_run(rows, run, parameters, package)
    return rows.measurements(parameters)


def find_runs(path: Path) -> list[Run]:
    """Return the runs in a folder, by parameters and repetition."""
    files = sorted(path.glob(f"*/{PROFILE}"))
    if not files:
        raise InputError("a folder without runs of Score-P", Place(str(path)), allowed=f"{FORM}, with {PROFILE} inside")
    runs = [run_of(file, _prefix(files)) for file in files]
    first = runs[0]
    check_parameters(tuple(first.point), Place(str(first.file.parent)))
    for run in runs:
        if run.point.keys() != first.point.keys():
            raise InputError(
                f"other parameters than in {first.file.parent.name}",
                Place(str(run.file.parent)),
                value=", ".join(run.point),
                allowed=", ".join(first.point),
            )
    ordered = [Run(run.file, {name: run.point[name] for name in first.point}, run.repetition) for run in runs]
    return sorted(ordered, key=lambda run: (tuple(run.point.values()), run.repetition))


def _prefix(files: Sequence[Path]) -> str:
    """Return the prefix of all folders' names, which may look like a parameter, as ``lulesh2.`` does.

    Empty if they differ.
    """
    found = [PREFIX.match(file.parent.name) for file in files]
    prefixes = {match[1] if match else "" for match in found}
    return prefixes.pop() if len(prefixes) == 1 else ""


def run_of(file: Path, prefix: str = "") -> Run:
    """Return the point and the repetition that the name of a run's folder states after ``prefix``."""
    name = file.parent.name
    match = RUN.fullmatch(name.removeprefix(prefix))
    if match is None:
        raise InputError("the name of a run's folder", Place(str(file.parent)), value=name, allowed=FORM)
    pairs = [(key, float(value.replace(",", "."))) for key, value in COORDINATE.findall(match["point"])]
    if len(dict(pairs)) < len(pairs):
        raise InputError("one parameter appears twice", Place(str(file.parent)), value=name, allowed=FORM)
    return Run(file, dict(pairs), int(match["run"] or 0))


@dataclass(frozen=True)
class CubePackage:
    """Parts of pycubexr in use: the class that opens a file, and the errors of metrics that hold no plain numbers."""

    opened: Any
    left_out: tuple[type[Exception], ...]


def load_package(path: Path) -> CubePackage:
    """Return the package that reads Cube files. Raises InputError if it is not installed."""
    try:
        from pycubexr import CubexParser
        from pycubexr.utils.exceptions import (
            MissingMetricError,
            UnsupportedMetricFormatError,
        )
    except ImportError:
        raise InputError(
            "reading Cube files needs the package pycubexr, which is not installed",
            Place(str(path)),
            allowed='pip install "simcodesign[cube]"',
        ) from None
    return CubePackage(CubexParser, (MissingMetricError, UnsupportedMetricFormatError))


def read_run(rows: Rows, run: Run, parameters: tuple[str, ...], package: CubePackage) -> None:
    """Take in what one run measured."""
    place = Place(str(run.file))
    point = rows.point(tuple(run.point[name] for name in parameters), lambda: place)
    check_archive(run.file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a wrong checksum, which Cube's own writer leaves
            with package.opened(str(run.file)) as profile:
                values = values_of(rows, profile, package)
    except Exception as error:  # whatever a damaged archive makes the package raise
        reason = str(error) or type(error).__name__
        raise InputError(f"the Cube file cannot be read: {reason}", place) from error
    for value in values.values():
        if not np.isfinite(value):
            raise InputError("a value that is not finite", place, value=value, allowed="finite numbers")
    rows.add(list(values), [point] * len(values), list(values.values()))


def check_archive(file: Path) -> None:
    """Raise InputError for what is no regular file, or unpacks to too much."""
    with open_bytes(file) as opened:
        try:
            with tarfile.open(fileobj=opened, mode="r:") as archive:
                unpacked_bytes = sum(member.size for member in archive)
        except tarfile.TarError:
            return  # its reader reports what is wrong with it
    check_size(unpacked_bytes, DATA_BYTES, Place(str(file)), "what the file unpacks to")


def values_of(rows: Rows, profile: Any, package: CubePackage) -> dict[int, float]:
    """Return the series of a run, by number, and their values.

    Metrics of other kinds than plain numbers are left out.
    """
    means: dict[int, float] = {}
    paths = call_paths(profile)
    for metric in profile.all_metrics():
        try:
            values = profile.get_metric_values(metric=metric, cache=False)
        except package.left_out:
            continue
        for identity, name in paths:
            locations = np.asarray(values.cnode_values(profile.get_cnode(identity), convert_to_exclusive=True))
            if locations.dtype.kind in "iuf":
                number = pair(rows.region(name), rows.metric(metric.name))
                # Two calls of a function from one place have one path, and count together.
                means[number] = means.get(number, 0.0) + float(locations.mean(dtype=np.float64))
    return means


def call_paths(profile: Any) -> list[tuple[int, str]]:
    """Return the id of each node of the call tree, and its path from the root."""
    paths: list[tuple[int, str]] = []
    waiting = [(node, "") for node in reversed(profile.get_root_cnodes())]
    while waiting:
        node, above = waiting.pop()
        name = f"{above}->{node.region.name}" if above else node.region.name
        paths.append((node.id, name))
        waiting += [(child, name) for child in reversed(node.get_children())]
    return paths


def sniff(start: FileStart) -> Match:
    """Return a folder, of whatever name."""
    return Match.CERTAIN if start.is_folder else Match.NONE


READERS.add_reader(MeasurementReader("cube", read_cube, (".cubex",), sniff, reads_folder=True))
