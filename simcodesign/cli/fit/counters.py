"""``fit --counters``: files of hardware counters with what they do not say themselves, options, and what is printed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from simcodesign.cli import app
from simcodesign.cli.options import check_files, check_folder
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.report.common.terminal import complain, print_all, write_json

#: Options of ``fit`` that mean something with --counters, and those that mean something with it alone.
SHARED = ("files", "target", "format", "no_refine", "as_json", "plot", "workload", "counters")
OWN = ("threshold", "normal_form", "guard", "volume", "dimensions", "machine", "against")
TARGET_FORMS = "--target P=128, or --target P=256,size=1e6"
LABEL_FORMS = "FILE@P=4,size=1e6,clock=2.5GHz,class=C,rank=0,repetition=2,kernel=main,summed"
#: What may stand behind the @ of a file, and which label it is.
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
TEXTS = ("problem_class", "kernel")
NO_GUARD = "none"

Counters = Annotated[
    bool,
    typer.Option(
        "--counters",
        help="The files hold hardware counters of runs: a table, perf stat -x, or likwid-perfctr -O. What a file does "
        "not say stands behind its name: FILE@P=4,size=1e6 (also clock=2GHz, class, rank, repetition, kernel; summed: "
        "counts of all processes together).",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="With --counters: a kernel is what takes more of the time; 0.05 by default."),
]
NormalForm = Annotated[
    bool, typer.Option("--normal-form", help="With --counters: models of counters as without; asks for five runs.")
]
Guard = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="With --counters: the largest share of last-level misses with which another size is predicted; 1e-4 by "
        "default, none for any.",
    ),
]
Volume = Annotated[
    float | None,
    typer.Option(metavar="RATIO", help="With --counters: what messages grow by at another size; else by --dimensions."),
]
Dimensions = Annotated[
    float | None,
    typer.Option(
        metavar="D", help="With --counters: messages grow as the surface of so many dimensions; 3 by default."
    ),
]
MachineOfCounters = Annotated[
    str | None,
    typer.Option(metavar="MACHINE", help="With --counters: latencies of caches and memory are those of this machine."),
]
Against = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="With --counters: runs that are not fitted, but compared with the prediction (those at the targets, if "
        "any are given). May be a file that is fitted otherwise. Repeatable.",
    ),
]


def check_options(context: typer.Context, counters: bool) -> None:
    """InputError for an option that says nothing with --counters, or nothing without it."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is None or source.name != "COMMANDLINE":
            continue
        option = parameter.opts[0]
        if counters and parameter.name not in (*SHARED, *OWN):
            raise InputError("of no use with --counters", Place(option), allowed="without --counters")
        if not counters and parameter.name in OWN:
            raise InputError("of no use without --counters", Place(option), allowed="with --counters")


@dataclass(frozen=True)
class CountersAsked:
    """What the options say."""

    files: Sequence[str]
    target: Sequence[str]
    format: str | None
    refine: bool
    threshold: float | None
    normal_form: bool
    guard: str | None
    volume: float | None
    dimensions: float | None
    machine: str | None
    against: Sequence[str]

    def study(self) -> Any:
        """The study of the files."""
        module = import_module("simcodesign.counters.study")
        parts = import_module("simcodesign.counters.partition")
        options = self._options()
        targets = [parts.Target(*one) for one in map(target_of, self.target)]
        for number, one in enumerate(targets):
            if one in targets[:number]:
                raise InputError("a target is given twice", Place("--target"), value=one.text, allowed="each once")
        table = runs_of(self.files, self.format)
        against = runs_of(self.against, self.format) if self.against else None
        if not targets and against is None:
            targets = [parts.default_target(table)]
            complain(f"note: predicted is {targets[0].text}, four times the largest of the runs (--target for another)")
        study = module.study(table, targets, against=against, **options)
        self._tell_processors(study)
        if (self.volume is not None or self.dimensions is not None) and not any(
            one.prediction.volume_ratio != 1 for one in study.forecasts
        ):
            complain("note: --volume and --dimensions say nothing here: no message grows with another size")
        return study

    def _tell_processors(self, study: Any) -> None:
        """Say which targets have more processes than the machine has processors."""
        if self.machine is None:
            return
        machine = app.sc.load_machine(self.machine)
        for processes in dict.fromkeys(one.target.processes for one in study.forecasts):
            if processes > machine.processors:
                have = f"{machine.name} has {machine.processors} processors"
                complain(f"note: P = {processes:.12g} is beyond the machine: {have}")

    def _options(self) -> dict[str, Any]:
        """Those that were given; the others are what they are by default."""
        if self.volume is not None and self.dimensions is not None:
            raise InputError("--volume and --dimensions exclude each other", allowed="one of them")
        if self.volume is not None and not (math.isfinite(self.volume) and self.volume >= 0):
            raise InputError("ratio of volumes", Place("--volume"), value=self.volume, allowed="a number of 0 or above")
        given = {"threshold": self.threshold, "volume": self.volume, "dimensions": self.dimensions}
        options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if self.guard is not None:
            options["guard"] = guard_of(self.guard)
        if self.machine is not None:
            options["latencies"] = import_module("simcodesign.studies.extrapolation.virtual_profiler").latencies_of(
                self.machine
            )
        return options | {"normal_form": self.normal_form, "refined": self.refine}


def fit_counters(asked: CountersAsked, as_json: bool, plot: Path | None, workload: Path | None) -> None:
    """Print the study, draw it, and write its models as a workload."""
    check_files(plot)
    if workload:
        check_folder("--workload", workload, (".yaml", ".yml"))
    study = asked.study()
    if as_json:
        write_json(import_module("simcodesign.report.counters.to_json").study_dict(study))
    else:
        print_all(import_module("simcodesign.report.counters.tables").counter_tables(study))
    if plot:
        import_module("simcodesign.report.counters.plot").counters_plot(study, plot)
    if workload:
        sources = ", ".join(labelled(file)[0].name for file in asked.files)
        grown = {} if asked.dimensions is None else {"dimensions": asked.dimensions}
        import_module("simcodesign.counters.as_workload").write_counter_workload(
            study.model, workload, source=sources, **grown
        )


def target_of(text: str) -> tuple[float, float | None]:
    """Processes and size of ``P=128,size=1e6``."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        name = {"P": "P", "p": "P", "processes": "P"}.get(name, name)
        if not equals or name not in ("P", "size") or name in found:
            raise InputError("not a target", Place("--target"), value=text, allowed=TARGET_FORMS)
        found[name] = _positive(value, Place("--target"), name)
    if "P" not in found:
        raise InputError("a target without P", Place("--target"), value=text, allowed=TARGET_FORMS)
    if found["P"] != math.floor(found["P"]):
        raise InputError(
            "a target that is no whole number of processes",
            Place("--target"),
            value=text,
            allowed="whole numbers P of 1 or above",
        )
    if found["P"] < 1:
        raise InputError("a target below one process", Place("--target"), value=text, allowed="P of 1 or above")
    return found["P"], found.get("size")


def _positive(text: str, place: Place, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} that is no number above 0", place, value=text, allowed="e.g. 128 or 1e6")
    return value


def guard_of(text: str) -> float | None:
    """The largest E; None for none."""
    if text.strip() == NO_GUARD:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise InputError("not a guard", Place("--guard"), value=text, allowed="a share such as 1e-4, or none")
    return value


# --- Files ------------------------------------------------------------------------------------------------------


def runs_of(files: Sequence[str], format: str | None) -> Any:
    """The rows of all files. A file that says the same run as one before it is taken as a repetition of it."""
    for number, file in enumerate(files):
        if file in files[:number]:
            raise InputError("a file is given twice", Place(file), allowed="each file once")
    counters = import_module("simcodesign.counters.table")
    read = import_module("simcodesign.counters.readers.formats").read_counters
    tables: list[Any] = []
    seen: dict[object, str] = {}
    for file in files:
        path, labels = labelled(file)
        table = _numbered(read(path, labels, format), seen, file, counters)
        seen |= dict.fromkeys(_keys(table, counters), file)
        tables.append(table)
    return counters.joined(tables)


def _keys(table: Any, counters: Any) -> Iterator[object]:
    ranks = [None if math.isnan(rank) else rank for rank in table.column(counters.RANK).tolist()]
    return zip(table.kernels, counters.run_keys(table), ranks, strict=True)


def _numbered(table: Any, seen: dict[object, str], file: str, counters: Any) -> Any:
    """The table, with a number of repetition that is free where it lacks one and says a run that there is."""
    before = next((seen[key] for key in _keys(table, counters) if key in seen), None)
    column = counters.NUMBERS.index("repetition")
    if before is None or not all(map(math.isnan, table.values[:, column].tolist())):
        return table
    number = 2.0
    while True:
        values = table.values.copy()
        values[:, column] = number
        again = counters.CounterTable(table.kernels, table.classes, values, table.places)
        if not any(key in seen for key in _keys(again, counters)):
            complain(f"note: {file} is taken as a repetition of the run in {before}")
            return again
        number += 1


def labelled(text: str) -> tuple[Path, Any]:
    """The file of ``FILE@P=4,size=1e6`` and the labels behind it; a file of the whole name is that file."""
    events = import_module("simcodesign.counters.events")
    path, at, behind = text.rpartition("@")
    if not at or not path or Path(text).exists() or ("=" not in behind and behind.strip() != "summed"):
        return Path(text), events.NO_LABELS
    found: dict[str, object] = {}
    for part in behind.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in LABELS:
            raise InputError("not a label of a file", Place(text), value=name, allowed=nearest(name, LABELS))
        label = LABELS[name]
        if bool(equals) != bool(value) or (not value and label != "summed") or label in found:
            raise InputError("not labels of a file", Place(text), value=part, allowed=LABEL_FORMS)
        found[label] = _label(label, value, Place(text))
    return Path(path), events.Labels(**found)


def _label(label: str, value: str, place: Place) -> object:
    if label in TEXTS:
        return value
    if label == "summed":
        if value not in ("", "yes", "no"):
            raise InputError("summed", place, value=value, allowed="yes or no: counts of all processes together")
        return value != "no"
    if label == "frequency_hz":
        return import_module("simcodesign.core.units").parse_quantity(value, "frequency", place)
    if label in ("processes", "size"):
        return _positive(value, place, label)
    return import_module("simcodesign.core.text_files").number(value, place, f"{label} that is not a number")
