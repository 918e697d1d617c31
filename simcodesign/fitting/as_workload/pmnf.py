"""Fitted models as a workload file, which both readings run: a phase for each region, an equation for each model.

The file lists the quality of every model. ``fitted_demands`` decides which metric is which demand, and
``fitted_messages`` how the sent bytes are charged.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.yaml.tree import MAX_NAME, parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.fitting.as_workload.demands import HALOS, SENT, Use, uses_of, without_twins
from simcodesign.fitting.as_workload.messages import bytes_step, has_collective, has_negative, parts_of, payload_step
from simcodesign.fitting.as_workload.names import MeasuredParameters, measured_parameters, one_line, quoted
from simcodesign.fitting.fit import Fit, Fits
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.normal_form import Model

#: A workload with more phases is no longer one that can be read.
MAX_REGIONS = 1000
#: Arguments of one max(...): more are put together step by step.
_AT_ONCE = 40
_ACCESSES = ("accesses", "loads", "stores")
_COMPUTE = ("flops", "instructions", "seconds")


@dataclass(frozen=True)
class WorkloadText:
    """The text of a workload file, and ``notes``: what its user should know."""

    text: str
    notes: tuple[str, ...]


class WorkloadKeywords(TypedDict, total=False):
    """The keywords of ``workload_text``, which ``write_workload`` passes on."""

    source: str
    ranks: str | None
    demands: Mapping[str, str] | None
    regions: Collection[str] | None
    pattern: str
    element_bytes: int


def workload_text(
    fits: Fits,
    name: str,
    *,
    source: str = "",
    ranks: str | None = None,
    demands: Mapping[str, str] | None = None,
    regions: Collection[str] | None = None,
    pattern: str = "halo1d",
    element_bytes: int = 8,
) -> WorkloadText:
    """Return the workload whose demands are the fitted models.

    ``source``: the file of the measurements. ``ranks``: the parameter that is the number of processes, which becomes
    ``P`` (None: one named in ``fitted_names.RANKS``). ``demands``: which metric is which demand
    (``fitted_demands.allowed_demands``), where its name does not say so. ``regions``: only these. ``pattern``: halo1d
    to halo4d, the neighbours to which bytes go that no collective operation sends. ``element_bytes``: of the elements
    in which stack distances are counted.

    Raises InputError for unknown names, for metrics of which none is known to be a demand or none is left, for two
    metrics of a region for one demand, and for more than ``MAX_REGIONS`` regions.
    """
    if pattern not in HALOS:
        raise InputError("not a pattern of neighbours", value=pattern, allowed=", ".join(HALOS))
    measurements = fits.measurements
    rows = _rows(measurements, regions)
    demands = demands or {}
    uses = uses_of(dict.fromkeys(measurements.metrics[row] for places in rows.values() for row in places), demands)
    writer = _Writer(measured_parameters(measurements, ranks), pattern, element_bytes)
    for metric, use in uses.items():
        if use is None and metric not in demands:
            writer.note(f"metric {one_line(metric)!r} is left out: it is not known to be a demand")
    for region, places in rows.items():
        writer.region(region, _charged(fits, region, places, uses, writer))
    if not writer.equations:
        raise InputError(
            "no demand is left", value="; ".join(writer.every_note()), allowed="a metric that can be charged"
        )
    if not writer.has_ranks:
        writer.note("no parameter is the number of processes: no demand depends on P")
    text = "\n".join(writer.lines(name, source)) + "\n"
    workload_from(parse_yaml(text, one_line(name)))  # what is written can be read
    return WorkloadText(text, tuple(writer.every_note()))


@shows_keywords(WorkloadKeywords, taken_by=workload_text)
def write_workload(
    fits: Fits,
    path: Path,
    name: str | None = None,
    **options: Unpack[WorkloadKeywords],
) -> tuple[str, ...]:
    """Write the workload of the fits to a file, by default under the file's name; returns the notes.

    The rest is as in ``workload_text``. Raises InputError also where the file cannot be written.
    """
    written = workload_text(fits, path.stem if name is None else name, **options)
    with replacing_text(path) as file:
        file.write(written.text)
    return written.notes


def _rows(measurements: Measurements, regions: Collection[str] | None) -> dict[str, list[int]]:
    """Return the series of every region, both in their order."""
    known = dict.fromkeys(measurements.regions)
    chosen = known if regions is None else dict.fromkeys([regions] if isinstance(regions, str) else regions)
    for region in chosen:
        if region not in known:
            raise InputError("no such region", value=region, allowed=nearest(region, known))
    if not 1 <= len(chosen) <= MAX_REGIONS:
        raise InputError("regions of a workload", value=len(chosen), allowed=f"1 to {MAX_REGIONS}: select some")
    rows: dict[str, list[int]] = {region: [] for region in chosen}
    for row, region in enumerate(measurements.regions):
        if region in rows:
            rows[region].append(row)
    return rows


@dataclass(frozen=True)
class _Charged:
    """The fit of a metric, what it is charged as, and the number of points at which it was measured."""

    fit: Fit
    use: Use
    points: int

    def remarks(self) -> Iterator[str]:
        """How good the model is."""
        fit, left_out = self.fit, self.fit.cross_validated_smape
        spared = f"{left_out:.3g} %" if math.isfinite(left_out) else "not known"
        yield (
            f"{fit.metric!r} of region {fit.region!r} as {self.use.text}: SMAPE {fit.smape:.3g} %, cross-validated "
            f"{spared}, R2 {fit.r2:.6g}, {self.points} points"
        )
        if fit.warning:
            yield f"warning: {fit.warning}"


@dataclass
class _Writer:
    """The parts of the file, which grow region by region."""

    parameters: MeasuredParameters
    pattern: str
    element_bytes: int
    equations: list[str] = field(default_factory=list)
    phases: dict[str, list[str]] = field(default_factory=dict)
    footprints: list[str] = field(default_factory=list)
    patterns: set[str] = field(default_factory=set)
    notes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def has_ranks(self) -> bool:
        """Whether one of the parameters is the number of processes."""
        return any(parameter.name == "P" for parameter in self.parameters.every)

    def note(self, text: str, *regions: str) -> None:
        """Add a note to the user about these regions."""
        self.notes.setdefault(text, []).extend(one_line(region) for region in regions)

    def every_note(self) -> Iterator[str]:
        """Yield the notes, each with the regions that it is about."""
        for text, regions in self.notes.items():
            more = f" and {len(regions) - 3} more" if len(regions) > 3 else ""
            yield f"{text} (in {', '.join(regions[:3])}{more})" if regions else text

    def region(self, region: str, charged: Sequence[_Charged]) -> None:
        """Add a region: its models as equations, and as the steps of a phase what they are charged as."""
        used = self._used(region, charged)
        steps: dict[str, list[str]] = {}
        names: dict[str, str] = {}
        for each in used:
            demand = each.use.demand
            model = self.parameters.renamed(each.fit.model)
            if demand in SENT:
                steps.setdefault("sent", []).extend(self._sent(each, model))
            else:
                names[demand] = self._equation((region, each.fit.metric), model, each.remarks())
        if "bytes_used" in names:
            self.footprints.append(names["bytes_used"])
        steps["computed"] = [f"compute: {{{key}: {names[key]}}}" for key in _COMPUTE if key in names]
        steps["memory"] = self._memory(names)
        steps["read"] = [f"read: {{bytes: {names[key]}}}" for key in ("bytes_read",) if key in names]
        steps["written"] = [f"write: {{bytes: {names[key]}}}" for key in ("bytes_written",) if key in names]
        ordered = [step for key in ("read", "computed", "memory", "sent", "written") for step in steps.get(key, ())]
        if "seconds" in names and len(ordered) > 1:
            self.note(
                "seconds are charged in addition to messages, memory or disks, whose time they may contain", region
            )
        if ordered:
            self._phase(region, ordered)

    def _used(self, region: str, charged: Sequence[_Charged]) -> list[_Charged]:
        """Without memory accesses whose stack distance is not known, and distances of no accesses."""
        demands = {each.use.demand for each in charged}
        accesses, distances = demands & {*_ACCESSES}, "stack_distance" in demands
        if accesses and not distances:
            self.note(
                f"{' and '.join(sorted(accesses))} left out: no stack distance determines the serving level", region
            )
        if distances and not accesses:
            self.note("stack distance left out: there are no loads and stores that have it", region)
        if accesses and distances:
            self.note("memory demands need a machine with a memory (latency, bandwidth, caches)")
        kept = accesses and distances
        return [each for each in charged if kept or each.use.demand not in (*_ACCESSES, "stack_distance")]

    def _equation(self, wanted: tuple[str, ...], model: Model, remarks: Iterator[str] | Sequence[str] = ()) -> str:
        """Add an equation of a name like the ``wanted`` one, with its remarks; returns the name."""
        text = model.expression
        name = self.parameters.names.new(*wanted)
        self.equations += [f"  # {one_line(remark)}" for remark in remarks]
        if has_negative(model):
            self.equations.append(
                "  # max(0, ...): with a coefficient below zero the model may be so, away from the data"
            )
            text = f"max(0, {text})"
        self.equations.append(f"  {name}: {text}")
        return name

    def _sent(self, each: _Charged, model: Model) -> list[str]:
        """Return the equations of bytes sent, and the steps that send them."""
        wanted, halves = (each.fit.region, each.fit.metric), each.use.demand != SENT[0]
        by_terms = not each.use.pattern and has_collective(model, "P")
        if by_terms and has_negative(model):  # its parts would not add up to it if one of them is cut off at zero
            what = f"{one_line(each.fit.metric)!r} goes to neighbours, not by collective operations"
            self.note(f"{what}: a coefficient is below zero", each.fit.region)
        if not by_terms or has_negative(model):
            pattern = each.use.pattern or self.pattern
            self.patterns.add(pattern)
            return [bytes_step(pattern, self._equation(wanted, model, each.remarks()), halves)]
        self.equations += [f"  # {one_line(remark)}" for remark in each.remarks()]
        parts = parts_of(model, "P", self.pattern)
        self.patterns |= {part.pattern for part in parts}
        names = [self._equation((*wanted, part.pattern), part.payload) for part in parts]
        whole = self.parameters.names.new(*wanted)
        terms = " + ".join(f"{name}{part.sent}" for name, part in zip(names, parts, strict=True))
        self.equations.append(f"  {whole}: {terms}{' ' * 8}# the model; what is sent follows from its parts")
        return [payload_step(part.pattern, name, halves) for name, part in zip(names, parts, strict=True)]

    def _memory(self, names: Mapping[str, str]) -> list[str]:
        if "stack_distance" not in names:
            return []
        accesses = ", ".join(f"{key}: {names[key]}" for key in _ACCESSES if key in names)
        return [f"memory: {{{accesses}, stack_distance: {names['stack_distance']}, element: {self.element_bytes}}}"]

    def _phase(self, region: str, steps: Sequence[str]) -> None:
        plain = one_line(region)
        name, number = plain[:MAX_NAME] or "program", 1
        while name in self.phases:
            number += 1
            name = f"{plain[: MAX_NAME - 8]} ({number})"
        about = [f"    about: {quoted(f'region {region}')}"] if name != region else []
        self.phases[name] = [
            f"  - phase: {quoted(name)}",
            *about,
            "    do:",
            *(f"      - {step}" for step in steps),
        ]

    def lines(self, name: str, source: str) -> Iterator[str]:
        """Yield the file, line by line."""
        regions = f"{len(self.phases)} region{'s' if len(self.phases) != 1 else ''}"
        over = ", ".join(one_line(parameter.measured) for parameter in self.parameters.every)
        footprint = list(self._footprint())
        yield "simcodesign: 1"
        yield f"name: {quoted(one_line(name)[:MAX_NAME] or 'fitted')}"
        yield f"about: {quoted(f'Models of {over} fitted to measurements; {regions}, every rank alike')}"
        if source:
            yield f"source: {quoted(source)}"
        yield "parameters:"
        yield from (parameter.line for parameter in self.parameters.every)
        yield from ("equations:", *self.equations)
        yield from footprint
        yield "program:"
        yield from self._messages()
        for phase in self.phases.values():
            yield from phase
        if not self.phases:
            yield "  - compute: {flops: 0}        # nothing but the footprint was measured"

    def _footprint(self) -> Iterator[str]:
        """Yield the largest footprint of the regions, each of which is a footprint of the whole process."""
        names = self.footprints
        while len(names) > _AT_ONCE:
            groups = [names[start : start + _AT_ONCE] for start in range(0, len(names), _AT_ONCE)]
            names = [self.parameters.names.new("footprint") for _ in groups]
            self.equations += [f"  {name}: {_largest(group)}" for name, group in zip(names, groups, strict=True)]
        if names:
            yield f"footprint: {_largest(names)}"

    def _messages(self) -> Iterator[str]:
        """Yield notes for the reader on how bytes are sent."""
        if "allreduce" in self.patterns:
            yield "  # allreduce: log2(P) payloads are sent by a rank where P is a power of two, fewer for other P"
        if self.patterns & {*HALOS[1:]}:
            yield "  # exchange: where the grid has fewer dimensions than for a power of two as large, less is sent"


def _largest(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"max({', '.join(names)})"


def _charged(
    fits: Fits, region: str, rows: Sequence[int], uses: Mapping[str, Use | None], writer: _Writer
) -> list[_Charged]:
    """Return the fits of a region that are demands, each once."""
    measurements = fits.measurements
    row_of = {measurements.metrics[row]: row for row in rows}
    wanted = [(metric, use) for metric in row_of if (use := uses[metric]) is not None]
    kept, notes = without_twins(region, wanted)
    for note in notes:
        writer.note(one_line(note), region)
    points = np.count_nonzero(measurements.counts[[row_of[metric] for metric, _ in kept]], axis=1)
    return [_Charged(fits[row_of[metric]], use, int(count)) for (metric, use), count in zip(kept, points, strict=True)]
