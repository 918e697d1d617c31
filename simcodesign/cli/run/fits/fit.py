"""Models of the performance-model normal form: read measurements, fit in processes, print, plot and write."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from fnmatch import translate
from functools import partial
from pathlib import Path

from simcodesign.cli.options.fit_options import FitOptions
from simcodesign.cli.options.models import ModelOptions
from simcodesign.cli.options.shared import FIT_LEVEL, usable_cpus
from simcodesign.cli.run.scenario import parsed_level
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.counters.readers.formats import recognised
from simcodesign.fitting.as_workload.pmnf import write_workload
from simcodesign.fitting.batch_predictions import default_target
from simcodesign.fitting.collective_shapes import COLLECTIVES
from simcodesign.fitting.fit import FitKeywords
from simcodesign.fitting.fits import Fits
from simcodesign.fitting.measurements import Measurements, as_point, point_text
from simcodesign.fitting.parallel_fit import fitted, joined
from simcodesign.fitting.readers.benchmarks.output.runs import check_files
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable, as_measurements, read_table
from simcodesign.fitting.readers.merge import merge
from simcodesign.fitting.selection.exponent_sets import SETS, ExponentSet, exponent_set
from simcodesign.fitting.weights import WEIGHTINGS
from simcodesign.fitting.without_outliers import without_outliers
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import complain, print_all, write
from simcodesign.report.fits.output import WRITERS, JsonWriter, Writer, made
from simcodesign.report.fits.plot import fits_plot
from simcodesign.report.fits.tables import Digest, Heading, fit_tables

#: Maximum number of outliers in a note.
MOST_NAMED = 20
TARGET_FORMS = "name=value for each parameter, e.g. --target p=1024,n=1e6"
EXPONENT_FORMS = "extrap, paper, or own powers and logarithms, e.g. '0,1/2,1;0,1'"


def run_fit(options: FitOptions) -> None:
    """Fit, print, and write the models, their plot and their workload."""
    check(options)
    requested = options.requested()
    for number, file in enumerate(options.files):
        if file in options.files[:number]:
            raise InputError("a file is given twice", Place(str(file)), allowed="each file once")
    demands = parsed_demands(options.demands)
    measurements = measurements_of(options, options.files)
    blocks: list[Fits] | None = [] if "workload" in requested else None
    with ExitStack() as stack:  # files are complete or not there at all
        outputs = [
            (WRITERS[path.suffix.lower()], stack.enter_context(replacing_text(path)).write)
            for path in requested.paths("models")
        ]
        digests = "plot" in requested or "table" in requested
        digest, heading = _fitted(options, measurements, blocks, outputs, digests=digests)
    if not options.as_json or "table" in requested:
        tables = list(fit_tables(digest, heading))
        print_all([] if options.as_json else tables)
        requested.write_tables(tables)
    for plot in requested.paths("plot"):
        plotted = fits_plot(digest, heading, plot)
        if plotted < digest.series:
            complain(f"note: the plot shows {plotted} of {digest.series:,} series (--region and --metric choose)")
    for workload in requested.paths("workload"):
        for note in write_workload(
            joined(measurements, blocks or []),
            workload,
            source=", ".join(file.name for file in options.files),
            ranks=options.ranks_parameter,
            demands=demands,
            pattern=options.neighbours or "halo1d",
        ):
            complain(f"note: {note}")


def check(options: ModelOptions) -> None:
    """InputError for what can be refused before a file is read."""
    level_of(options)
    if options.weighting not in WEIGHTINGS:
        allowed = nearest(options.weighting, WEIGHTINGS)
        raise InputError("unknown weighting", Place("--weighting"), value=options.weighting, allowed=allowed)
    fit_arguments(options)


def level_of(options: ModelOptions) -> float:
    """Return the probability of the intervals."""
    return parsed_level(options.level, FIT_LEVEL)


def measurements_of(options: ModelOptions, files: Sequence[Path]) -> Measurements:
    """Return the measurements of all files, of the chosen regions and metrics."""
    try:
        found = [
            read_table(file, options.format, partial=options.partial or None, value=options.value) for file in files
        ]
    except InputError as error:
        raise _hinted(error) from None
    tables = [one for one in found if isinstance(one, BenchmarkTable)]
    check_files(tables)
    for note in (f"{table.file}: {one}" for table in tables for one in table.notes):
        complain(f"note: {note}")
    whole = merge([as_measurements(one) for one in found], [str(file) for file in files], partial=options.partial)
    if text := missing_values(whole, options.partial):
        complain(f"note: {text}")
    if options.region or options.metric:
        regions = matching(options.region, whole.regions, "--region")
        whole = whole.select(regions, matching(options.metric, whole.metrics, "--metric"))
    return _robust(options, whole) if options.robust else whole


def _robust(options: ModelOptions, measurements: Measurements) -> Measurements:
    """Return the measurements without outliers, and print the outliers."""
    kept, left_out = without_outliers(measurements, **fit_arguments(options))
    for one in left_out[:MOST_NAMED]:
        complain(f"note: left out: {one}")
    if len(left_out) > MOST_NAMED:
        complain(f"note: left out: {len(left_out) - MOST_NAMED:,} more")
    return kept


def _fitted(
    options: FitOptions,
    measurements: Measurements,
    blocks: list[Fits] | None,
    outputs: Sequence[tuple[type[Writer], Callable[[str], object]]],
    *,
    digests: bool,
) -> tuple[Digest, Heading]:
    """Return data for tables and plots.

    Each series is printed and written as soon as it is fitted. ``blocks`` takes all.
    """
    arguments, heading = arguments_and_heading(options, measurements, options.files)
    if options.as_json:
        outputs = [*outputs, (JsonWriter, write)]
    writers = [(kind(heading, measurements), put) for kind, put in outputs]
    digests = digests or not options.as_json or blocks is not None
    digest = Digest()
    wanted = not options.as_json or not sys.stdout.isatty()
    count = len(measurements.regions)
    with ProgressBar("fitting", total=count, unit="series", steps=True, wanted=wanted) as on_progress:
        every = fitted(
            measurements,
            partial(made, [writer.make for writer, _ in writers], digests),
            jobs=options.jobs or usable_cpus(),
            on_progress=on_progress,
            **arguments,
        )
        with closing(every):  # type: ignore[type-var] # a generator: an error ends the processes immediately
            for fits, overview, parts in every:
                if digests and fits is not None and overview is not None:
                    digest.add(fits, overview)
                if blocks is not None and fits is not None:
                    blocks.append(fits)
                for (writer, put), part in zip(writers, parts, strict=True):
                    put("".join(writer.texts(part)))
    for writer, put in writers:
        put(writer.end())
    return digest, heading


def arguments_and_heading(
    options: ModelOptions, measurements: Measurements, files: Sequence[Path], more: Mapping[str, object] | None = None
) -> tuple[FitKeywords, Heading]:
    """Arguments of ``fit``, and the common part of all answers; ``more``: options in addition to the normal form's."""
    arguments = fit_arguments(options)
    given = _target_of(options.target, measurements)
    target = tuple(given or default_target(measurements).tolist())
    shown = {**arguments, "exponents": options.exponents, **(more or {})}
    arguments["target"] = target
    names = [str(file) for file in files]
    return arguments, Heading(measurements.parameters, target, given is not None, level_of(options), shown, names)


def fit_arguments(options: ModelOptions) -> FitKeywords:
    """As ``fit`` takes them, except for the target."""
    return {
        "exponents": parsed_exponents(options.exponents),
        "terms": options.terms,
        "collectives": [_collective(text) for text in options.collective],
        "negative_exponents": options.negative_exponents,
        "negative_coefficients": options.negative_coefficients,
        "refine": not options.no_refine,
        "weighting": options.weighting,
        "exact": options.exact,
    }


def _target_of(texts: Sequence[str], measurements: Measurements) -> list[float] | None:
    """Return the target in the order of the parameters; None if none is given."""
    if not texts:
        return None
    point = {name: _number(name, value) for name, value in _pairs(texts)}
    try:
        return [float(x) for x in as_point(measurements.parameters, point)]
    except InputError as error:
        raise InputError(error.what, Place("--target"), value=error.value, allowed=error.allowed) from None


def parsed_demands(items: Iterable[str]) -> dict[str, str]:
    """Metric -> demand, of ``--as``."""
    demands = {}
    for text in items:
        metric, equals, demand = (piece.strip() for piece in text.rpartition("="))
        if not (equals and metric and demand):
            raise InputError("not a metric and its demand", Place("--as"), value=text, allowed="fp_ops=flops")
        demands[metric] = demand
    return demands


def _hinted(error: InputError) -> InputError:
    """Return the error of a file, with a word on ``fit-counters`` if it may hold hardware counters."""
    try:
        recognised(Path(error.place.file if error.place else ""))
    except (InputError, OSError):
        return error
    command = "the command fit-counters"
    allowed = f"{error.allowed}; for hardware counters, {command}" if error.allowed else command
    return InputError(error.what, error.place, value=error.value, allowed=allowed)


def missing_values(measurements: Measurements, partial: bool) -> str:
    """Where values are missing that others of their series have; empty if nowhere. ``partial``: points may be."""
    counts, most = measurements.counts, measurements.values.shape[2]
    short = (counts < most) & (counts > 0) if partial else counts < most
    if not (number := int(short.sum())):
        return ""
    row, point = divmod(int(short.argmax()), short.shape[1])
    series = " ".join(name for name in (measurements.regions[row], measurements.metrics[row]) if name)
    at = point_text(measurements.parameters, measurements.points[point])
    more = f"; so do {number - 1:,} more" if number > 2 else "; so does 1 more" if number == 2 else ""
    return f"{series} has {counts[row, point]} of {most} values at {at} (empty, or not given){more}"


def _pairs(items: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Name and value of each part between commas; a part without a value begins a name that has a comma."""
    names: set[str] = set()
    for text in items:
        begun = ""
        for part in text.split(","):
            begun = f"{begun},{part}" if begun else part
            name, equals, value = (piece.strip() for piece in begun.rpartition("="))
            if equals:
                if not name or not value or name in names:
                    what = "one target with two values of a parameter" if name in names else "not a target"
                    raise InputError(what, Place("--target"), value=begun.strip(), allowed=TARGET_FORMS)
                names.add(name)
                yield name, value
                begun = ""
        if begun:
            raise InputError("not a target", Place("--target"), value=begun.strip(), allowed=TARGET_FORMS)


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        what, allowed = f"the target of {name} is not a number", "a number, e.g. 1024 or 1e6"
        raise InputError(what, Place("--target"), value=value, allowed=allowed) from None


def parsed_exponents(text: str) -> str | ExponentSet:
    """Return the name of a set, or pairs.

    Each of the powers before the semicolon with each of the logarithms behind it.
    """
    if re.fullmatch(r"\s*[A-Za-z]\w*\s*", text):
        if text.strip() not in SETS:
            allowed = f"{nearest(text.strip(), SETS)}; or own powers and logarithms: '0,1/2,1;0,1'"
            raise InputError("an unknown set of exponents", Place("--exponents"), value=text, allowed=allowed)
        return text.strip()
    powers, _, logs = text.partition(";")
    try:
        return exponent_set([(power, log) for power in _list(powers) for log in _list(logs or "0")])
    except (ValueError, InputError) as error:
        what = error.what if isinstance(error, InputError) else "not a set of exponents"
        raise InputError(what, Place("--exponents"), value=text, allowed=EXPONENT_FORMS) from None


def _list(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ValueError(text)
    return parts


def _collective(text: str) -> tuple[str, str]:
    """Operation and parameter of ``Alltoall=p``."""
    name, equals, parameter = (part.strip() for part in text.partition("="))
    place = Place("--collective")
    if not equals or not parameter:
        what, allowed = "not a collective operation of a parameter", "operation=parameter, e.g. Alltoall=p"
        raise InputError(what, place, value=text, allowed=allowed)
    if name not in COLLECTIVES:
        allowed = nearest(name, COLLECTIVES)
        raise InputError("an unknown collective operation", place, value=name, allowed=allowed)
    return name, parameter


def matching(patterns: Sequence[str], names: Sequence[str], option: str) -> set[str] | None:
    """Return the names that match a pattern of the shell or are one; None without patterns.

    InputError for one without any.
    """
    if not patterns:
        return None
    chosen: set[str] = set()
    for pattern in patterns:
        matches = re.compile(translate(pattern)).match
        some = {name for name in names if name == pattern or matches(name)}
        if not some:
            allowed = nearest(pattern, set(names))
            raise InputError("a pattern that matches nothing", Place(option), value=pattern, allowed=allowed)
        chosen |= some
    return chosen
