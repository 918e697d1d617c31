"""What the options of the command ``fit`` say, read and checked before any model is made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from importlib import import_module
from pathlib import Path
from typing import Any

from simcodesign.cli.options import check_folder
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.report.common.terminal import complain

TABLE, JSON, LATEX, PYTHON = "table", "--json", "--latex", "--python"
TARGET_FORMS = "name=value for each parameter, e.g. --target p=1024,n=1e6"
EXPONENT_FORMS = "extrap, paper, or own powers and logarithms, e.g. '0,1/2,1;0,1'"


@dataclass(frozen=True)
class Asked:
    """What the options say."""

    files: list[Path]
    format: str | None
    partial: bool
    regions: list[str]
    metrics: list[str]
    target: list[str]
    level: float
    exponents: str
    terms: int
    collectives: list[str]
    negative_exponents: bool
    negative_coefficients: bool
    refine: bool
    weighting: str
    exact: bool
    output: str

    def check(self) -> None:
        """InputError for what can be refused before a file is read."""
        if not 0 < self.level < 1:
            raise InputError("the level of an interval", Place("--level"), value=self.level, allowed="between 0 and 1")
        known = import_module("simcodesign.fitting.weights").WEIGHTINGS
        if self.weighting not in known:
            allowed = nearest(self.weighting, known)
            raise InputError("unknown weighting", Place("--weighting"), value=self.weighting, allowed=allowed)
        for number, file in enumerate(self.files):
            if file in self.files[:number]:
                raise InputError("a file is given twice", Place(str(file)), allowed="each file once")
        self.fit_options()

    def measurements(self) -> Any:
        """The measurements of all files, of the regions and metrics that were asked for."""
        read = import_module("simcodesign.fitting.readers.formats").read_measurements
        partial = True if self.partial else None
        try:
            parts = [read(file, self.format, partial=partial) for file in self.files]
        except InputError as error:
            raise _hinted(error) from None
        whole = import_module("simcodesign.fitting.readers.merge").merge(
            parts, [str(file) for file in self.files], partial=self.partial
        )
        if text := lacking(whole, self.partial):
            complain(f"note: {text}")
        if not self.regions and not self.metrics:
            return whole
        regions = matching(self.regions, whole.regions, "--region")
        return whole.select(regions, matching(self.metrics, whole.metrics, "--metric"))

    def fit_options(self) -> dict[str, Any]:
        """The options of ``fitting.select.fit`` but for the target."""
        return {
            "exponents": own_exponents(self.exponents),
            "terms": self.terms,
            "collectives": [_collective(text) for text in self.collectives],
            "negative_exponents": self.negative_exponents,
            "negative_coefficients": self.negative_coefficients,
            "refine": self.refine,
            "weighting": self.weighting,
            "exact": self.exact,
        }

    def target_of(self, measurements: Any) -> list[float] | None:
        """The target in the order of the parameters; None if none is given."""
        if not self.target:
            return None
        point = {name: _number(name, value) for name, value in _pairs(self.target)}
        try:
            return [float(x) for x in import_module("simcodesign.fitting.fit").as_point(measurements.parameters, point)]
        except InputError as error:
            raise InputError(error.what, Place("--target"), value=error.value, allowed=error.allowed) from None


@dataclass(frozen=True)
class WorkloadAsked:
    """The workload that is to be written: its file, which metric is which demand, neighbours, name of the ranks."""

    file: Path | None
    demands: list[str]
    neighbours: str | None
    ranks: str | None

    def check(self) -> None:
        """InputError for what can be refused before anything is read."""
        given = {"--as": " ".join(self.demands), "--neighbours": self.neighbours, "--ranks": self.ranks}
        for option, value in given.items():
            if value and not self.file:
                raise InputError("there is no workload to write", Place(option), value=value, allowed="with --workload")
        if self.file:
            check_folder("--workload", self.file, (".yaml", ".yml"))
        self.named()

    def named(self) -> dict[str, str]:
        """Metric -> demand, of ``--as``."""
        found = {}
        for text in self.demands:
            metric, equals, demand = (piece.strip() for piece in text.rpartition("="))
            if not (equals and metric and demand):
                raise InputError("not a metric and its demand", Place("--as"), value=text, allowed="fp_ops=flops")
            found[metric] = demand
        return found

    def written(self, fits: Any, files: Sequence[Path]) -> Sequence[str]:
        """Write it; what the user should be told."""
        module = import_module("simcodesign.fitting.as_workload.pmnf")
        notes: Sequence[str] = module.write_workload(
            fits,
            self.file,
            source=", ".join(file.name for file in files),
            ranks=self.ranks,
            demands=self.named(),
            pattern=self.neighbours or "halo1d",
        )
        return notes


def _hinted(error: InputError) -> InputError:
    """The error of a file, with a word on ``--counters`` where it may hold hardware counters."""
    try:
        import_module("simcodesign.counters.readers.formats").recognised(Path(error.place.file if error.place else ""))
    except (InputError, OSError):
        return error
    allowed = f"{error.allowed}; for hardware counters, --counters" if error.allowed else "--counters"
    return InputError(error.what, error.place, value=error.value, allowed=allowed)


def lacking(measurements: Any, partial: bool) -> str:
    """Where values are missing that others of their series have; empty if nowhere. ``partial``: points may be."""
    counts, most = measurements.counts, measurements.values.shape[2]
    short = (counts < most) & (counts > 0) if partial else counts < most
    if not (found := int(short.sum())):
        return ""
    row, point = divmod(int(short.argmax()), short.shape[1])
    series = " ".join(name for name in (measurements.regions[row], measurements.metrics[row]) if name)
    at = import_module("simcodesign.fitting.measurements").point_text(
        measurements.parameters, measurements.points[point]
    )
    more = f"; so do {found - 1:,} more" if found > 2 else "; so does 1 more" if found == 2 else ""
    return f"{series} has {counts[row, point]} of {most} values at {at} (empty, or not given){more}"


def _pairs(given: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Name and value of each part between commas; a part without a value begins a name that has a comma."""
    seen: set[str] = set()
    for text in given:
        begun = ""
        for part in text.split(","):
            begun = f"{begun},{part}" if begun else part
            name, equals, value = (piece.strip() for piece in begun.rpartition("="))
            if equals:
                if not name or not value or name in seen:
                    what = "a target that names a parameter twice" if name in seen else "not a target"
                    raise InputError(what, Place("--target"), value=begun.strip(), allowed=TARGET_FORMS)
                seen.add(name)
                yield name, value
                begun = ""
        if begun:
            raise InputError("not a target", Place("--target"), value=begun.strip(), allowed=TARGET_FORMS)


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        allowed = "a number, e.g. 1024 or 1e6"
        raise InputError(
            f"the target of {name} is not a number", Place("--target"), value=value, allowed=allowed
        ) from None


def own_exponents(text: str) -> Any:
    """The name of a set, or pairs: each of the powers before the semicolon with each of the logarithms behind it."""
    exponents = import_module("simcodesign.fitting.selection.exponent_sets")
    if re.fullmatch(r"\s*[A-Za-z]\w*\s*", text):
        if text.strip() not in exponents.SETS:
            allowed = f"{nearest(text.strip(), exponents.SETS)}; or own powers and logarithms: '0,1/2,1;0,1'"
            raise InputError("an unknown set of exponents", Place("--exponents"), value=text, allowed=allowed)
        return text.strip()
    powers, _, logs = text.partition(";")
    try:
        pairs = [(power, log) for power in _list(powers) for log in _list(logs or "0")]
        return exponents.exponent_set(pairs)
    except (ValueError, InputError) as error:
        what = error.what if isinstance(error, InputError) else "not a set of exponents"
        raise InputError(what, Place("--exponents"), value=text, allowed=EXPONENT_FORMS) from None


def _list(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ValueError(text)
    return parts


def _collective(text: str) -> tuple[str, str]:
    name, equals, parameter = (part.strip() for part in text.partition("="))
    known = import_module("simcodesign.fitting.normal_form").COLLECTIVES
    if not equals or not parameter:
        allowed = "operation=parameter, e.g. Alltoall=p"
        raise InputError(
            "not a collective operation of a parameter", Place("--collective"), value=text, allowed=allowed
        )
    if name not in known:
        allowed = nearest(name, known)
        raise InputError("an unknown collective operation", Place("--collective"), value=name, allowed=allowed)
    return name, parameter


def matching(patterns: Sequence[str], names: Sequence[str], option: str) -> set[str] | None:
    """The names that match a pattern of the shell or are one; None without patterns. InputError for one without any."""
    if not patterns:
        return None
    found: set[str] = set()
    for pattern in patterns:
        matches = re.compile(translate(pattern)).match
        some = {name for name in names if name == pattern or matches(name)}
        if not some:
            allowed = nearest(pattern, set(names))
            raise InputError("a pattern that matches nothing", Place(option), value=pattern, allowed=allowed)
        found |= some
    return found
