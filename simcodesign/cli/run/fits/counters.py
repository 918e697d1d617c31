"""``fit-counters FILE...``: files of hardware counters with what they do not say themselves, and their models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from simcodesign.cli.options.fit_counters_options import FILES, FitCountersOptions
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.text_files import number
from simcodesign.core.units import parse_quantity
from simcodesign.counters.as_workload import write_counter_workload
from simcodesign.counters.events import NO_LABELS, Labels
from simcodesign.counters.fit_and_predict import CounterPredictions, fit_and_predict
from simcodesign.counters.kernels import THRESHOLD
from simcodesign.counters.partition import Target, default_target
from simcodesign.counters.prediction import GUARD
from simcodesign.counters.readers.formats import read_counters
from simcodesign.counters.table import LATENCIES, NUMBERS, RANK, CounterTable, joined, run_keys
from simcodesign.describe.yaml.files import load_machine
from simcodesign.report.common.terminal import complain
from simcodesign.report.counters.plot import counters_plot
from simcodesign.report.counters.tables import counter_tables
from simcodesign.report.counters.to_json import study_dict
from simcodesign.studies.extrapolation.virtual_profiler import latencies_of

TARGET_FORMS = "--target P=128, or --target P=256,size=1e6"
LABEL_FORMS = "FILE@P=4,size=1e6,clock=2.5GHz,class=C,rank=0,repetition=2,kernel=main,summed"
#: Labels that may follow the @ of a file.
LABELS = {
    "P": "processes",
    "processes": "processes",
    "size": "size",
    "clock": "frequency_hz",
    "class": "problem_class",
    "rank": "rank",
    "repetition": "repetition",
    "kernel": "kernel",
    "summed": "summed",
}
NO_GUARD = "none"
#: Default number of dimensions by whose surface messages grow (--dimensions).
DIMENSIONS = 3.0


def run_fit_counters(options: FitCountersOptions) -> None:
    """Print and plot the predictions, and write the models as a workload."""
    requested = FILES.requested(options.write)
    fitted = _study(options)
    requested.show(fitted, lambda: counter_tables(fitted), options.as_json, lambda: study_dict(fitted))
    for plot in requested.paths("plot"):
        counters_plot(fitted, plot)
    for workload in requested.paths("workload"):
        sources = ", ".join(labelled(file)[0].name for file in options.files)
        write_counter_workload(fitted.model, workload, source=sources, dimensions=pipeline_of(options)["dimensions"])


class Pipeline(TypedDict):
    """How models are made of recorded and of simulated runs."""

    threshold: float
    dimensions: float
    guard: float | None


def pipeline_of(options: FitCountersOptions) -> Pipeline:
    """Return the options of the pipeline, with their defaults."""
    return {
        "threshold": THRESHOLD if options.threshold is None else options.threshold,
        "dimensions": DIMENSIONS if options.dimensions is None else options.dimensions,
        "guard": GUARD if options.guard is None else parsed_guard(options.guard),
    }


def _study(options: FitCountersOptions) -> CounterPredictions:
    """Models and predictions of the files."""
    recorded = options.recorded
    _check_volume(recorded.volume, options.dimensions)
    pipeline = pipeline_of(options)
    latencies = LATENCIES if recorded.machine is None else latencies_of(recorded.machine)
    targets = [Target(*parsed_target(text)) for text in options.target]
    for at, target in enumerate(targets):
        if target in targets[:at]:
            raise InputError("a target is given twice", Place("--target"), value=target.text, allowed="each once")
    table = runs_of(options.files, recorded.format)
    evidence = runs_of(recorded.evidence, recorded.format) if recorded.evidence else None
    instrumented = runs_of(recorded.instrumented, None) if recorded.instrumented else None
    unprofiled = runs_of(recorded.unprofiled, None) if recorded.unprofiled else None
    if not targets and evidence is None:
        targets = [default_target(table)]
        complain(f"note: predicted is {targets[0].text}, four times the largest of the runs (--target for another)")
    fitted = fit_and_predict(
        table,
        targets,
        evidence=evidence,
        latencies=latencies,
        normal_form=recorded.normal_form,
        refined=not recorded.no_refinement_runs,
        volume=recorded.volume,
        instrumented=instrumented,
        unprofiled=unprofiled,
        **pipeline,
    )
    _note_processors(fitted, recorded.machine)
    if (recorded.volume is not None or options.dimensions is not None) and not any(
        forecast.prediction.volume_ratio != 1 for forecast in fitted.forecasts
    ):
        complain("note: --volume and --dimensions have no effect here: no message grows with another size")
    return fitted


def _check_volume(volume: float | None, dimensions: float | None) -> None:
    if volume is not None and dimensions is not None:
        raise InputError("--volume and --dimensions exclude each other", allowed="one of them")
    if volume is not None and not (math.isfinite(volume) and volume >= 0):
        raise InputError("ratio of volumes", Place("--volume"), value=volume, allowed="a number of 0 or above")


def _note_processors(fitted: CounterPredictions, machine_name: str | None) -> None:
    """Say which targets have more processes than the machine has processors."""
    if machine_name is None:
        return
    machine = load_machine(machine_name)
    for processes in dict.fromkeys(forecast.target.processes for forecast in fitted.forecasts):
        if processes > machine.processors:
            have = f"{machine.name} has {machine.processors} processors"
            complain(f"note: P = {processes:.12g} is beyond the machine: {have}")


def parsed_target(text: str) -> tuple[float, float | None]:
    """Return processes and size of ``P=128,size=1e6``."""
    values: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        name = {"P": "P", "p": "P", "processes": "P"}.get(name, name)
        if not equals or name not in ("P", "size") or name in values:
            raise InputError("not a target", Place("--target"), value=text, allowed=TARGET_FORMS)
        values[name] = _positive(value, Place("--target"), name)
    if "P" not in values:
        raise InputError("a target without P", Place("--target"), value=text, allowed=TARGET_FORMS)
    if values["P"] != math.floor(values["P"]):
        what, allowed = "a target that is no whole number of processes", "whole numbers P of 1 or above"
        raise InputError(what, Place("--target"), value=text, allowed=allowed)
    if values["P"] < 1:
        raise InputError("a target below one process", Place("--target"), value=text, allowed="P of 1 or above")
    return values["P"], values.get("size")


def _positive(text: str, place: Place, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} that is no number above 0", place, value=text, allowed="e.g. 128 or 1e6")
    return value


def parsed_guard(text: str) -> float | None:
    """Return the largest share of last-level misses; None for ``none``."""
    if text.strip() == NO_GUARD:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise InputError("not a guard", Place("--guard"), value=text, allowed="a fraction such as 1e-4, or none")
    return value


# --- Files ------------------------------------------------------------------------------------------------------


def runs_of(files: Sequence[str], format: str | None) -> CounterTable:
    """Return the rows of all files. A file with the same run as a previous one is taken as a repetition of it."""
    for at, file in enumerate(files):
        if file in files[:at]:
            raise InputError("a file is given twice", Place(file), allowed="each file once")
    tables: list[CounterTable] = []
    file_of: dict[object, str] = {}
    for file in files:
        path, labels = labelled(file)
        table = _numbered(read_counters(path, labels, format), file_of, file)
        file_of |= dict.fromkeys(_keys(table), file)
        tables.append(table)
    return joined(tables)


def _keys(table: CounterTable) -> Iterator[object]:
    """Identity of every row: its kernel, run and rank."""
    ranks = [None if math.isnan(rank) else rank for rank in table.column(RANK).tolist()]
    return zip(table.kernels, run_keys(table), ranks, strict=True)


def _numbered(table: CounterTable, file_of: Mapping[object, str], file: str) -> CounterTable:
    """Return the table, with a free number of repetition if it lacks one and repeats a run."""
    before = next((file_of[key] for key in _keys(table) if key in file_of), None)
    column = NUMBERS.index("repetition")
    if before is None or not all(map(math.isnan, table.values[:, column].tolist())):
        return table
    repetition = 2.0
    while True:
        values = table.values.copy()
        values[:, column] = repetition
        again = CounterTable(table.kernels, table.classes, values, table.places)
        if not any(key in file_of for key in _keys(again)):
            complain(f"note: {file} is taken as a repetition of the run in {before}")
            return again
        repetition += 1


def labelled(text: str) -> tuple[Path, Labels]:
    """Return the file of ``FILE@P=4,size=1e6`` and the labels behind it; a file of the whole name is that file."""
    path, at, behind = text.rpartition("@")
    if not at or not path or Path(text).exists() or ("=" not in behind and behind.strip() != "summed"):
        return Path(text), NO_LABELS
    labels, given = NO_LABELS, set[str]()
    for part in behind.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in LABELS:
            raise InputError("not a label of a file", Place(text), value=name, allowed=nearest(name, LABELS))
        label = LABELS[name]
        if bool(equals) != bool(value) or (not value and label != "summed") or label in given:
            raise InputError("not labels of a file", Place(text), value=part, allowed=LABEL_FORMS)
        given.add(label)
        labels = _with_label(labels, label, value, Place(text))
    return Path(path), labels


def _with_label(labels: Labels, label: str, value: str, place: Place) -> Labels:
    """One label more. InputError for a value that it cannot have."""
    match label:
        case "problem_class":
            return replace(labels, problem_class=value)
        case "kernel":
            return replace(labels, kernel=value)
        case "summed":
            return replace(labels, summed=_yes_or_no(value, place))
        case "frequency_hz":
            return replace(labels, frequency_hz=parse_quantity(value, "frequency", place))
        case "processes":
            return replace(labels, processes=_positive(value, place, label))
        case "size":
            return replace(labels, size=_positive(value, place, label))
    what = f"{label} that is not a number"
    if label == "rank":
        return replace(labels, rank=number(value, place, what))
    return replace(labels, repetition=number(value, place, what))


def _yes_or_no(value: str, place: Place) -> bool:
    if value not in ("", "yes", "no"):
        raise InputError("summed", place, value=value, allowed="yes or no: counts of all processes together")
    return value != "no"
