"""Constants of messages from ping-pongs, and from sends and receives alone.

A message's way takes, in Hockney's model, ``startup + hops x hop latency + bytes x per byte + receive overhead`` with
other startups and times per byte in every segment of sizes (``calibration.segments``); in LogGOPS, with x = bytes - 1,
``L + 2 o + hops x hop latency + x G`` with other L and G. A ping-pong is one such way. A receive of a message that has
arrived already takes the receive overhead (o) and a time per byte of its own, and a send without a waiting receiver o +
x O, both of the first segment of their sizes: beyond it they wait for the other side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simcodesign.calibration.benchmarks.rings import is_of_rings
from simcodesign.calibration.benchmarks.samples import Lines, MachineConstant, Sample, columns, samples, united
from simcodesign.calibration.linear_constants import ConstantsFit, ConstantsProblem, fit_constants
from simcodesign.calibration.segments import LEAST_SIZES, Segmentation, segmentation
from simcodesign.describe.constants import required_paths
from simcodesign.describe.machine import Machine
from simcodesign.fitting.measurements import FloatArray
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable

HOPS, LATENCY, RECEIVE = "hops", "network.hop_latency", "network.receive_overhead"
OVERHEAD, PER_BYTE = "network.o", "network.O"
#: Fits from which outliers are left out, at most.
MAX_ROUNDS = 4
#: Time per byte of a receive of a message that has arrived: no constant of a machine.
COPY = "a byte of a receive"

Intervals = Mapping[str, tuple[float, float]]
"""The ends of the intervals of constants."""


@dataclass(frozen=True)
class Segment:
    """Messages up to ``up_to`` bytes (infinite: the last) that are no part of the segments before.

    The change lies between two sizes, ``up_to_range``. ``startup`` and ``per_byte`` are L and G in LogGOPS.
    """

    up_to: float
    up_to_range: tuple[float, float]
    startup: MachineConstant
    per_byte: MachineConstant


@dataclass(frozen=True, eq=False)
class PointToPoint:
    """Constants of messages, of each segment of sizes and of all.

    ``all_unknown``: the fit in which nothing is taken as known, which shows the constants that cannot be separated.
    """

    segmentation: Segmentation
    segments: tuple[Segment, ...]
    constants: tuple[MachineConstant, ...]
    fit: ConstantsFit
    all_unknown: ConstantsFit
    notes: tuple[str, ...]
    lines: Lines


def point_to_point(
    tables: Sequence[BenchmarkTable],
    machine: Machine,
    known: Mapping[str, float],
    machine_hops: float,
    segments: int | None = None,
    level: float = 0.9,
    robust: bool = False,
) -> PointToPoint | None:
    """Constants of messages from the tables; None if there are too few sizes of ping-pongs.

    ``known``: given constants, in SI units by path. ``machine_hops``: of a ping-pong whose table has none.
    ``robust``: outliers are left out, and segments sought again, until there are none; otherwise they are named.
    """
    taken = samples(tables, "ping_pong", by=("bytes", HOPS)) or _with_hops(tables, machine_hops)
    if len({one.parameters["bytes"] for one in taken}) < LEAST_SIZES:
        return None
    left_out: list[str] = []
    for _ in range(MAX_ROUNDS):
        messages = _Messages(machine, known, taken, tables, segments, level)
        found = messages.result()
        outliers = messages.outliers(found.fit)
        kept = [one for one in taken if all(one is not outlier for outlier, _ in outliers)]
        if not robust or not outliers or len({one.parameters["bytes"] for one in kept}) < LEAST_SIZES:
            break
        left_out += [f"{text}; it was left out (--robust)." for _, text in outliers]
        taken = kept
    named = [] if robust else [f"{text}; it was used; --robust leaves it out." for _, text in outliers]
    enough = len({one.parameters["bytes"] for one in taken}) >= LEAST_SIZES * (messages.cuts.count + 1)
    if named and segments is None and enough:
        more = _Messages(machine, known, taken, tables, messages.cuts.count + 1, level)
        named += _explained(outliers, more)
    return replace(found, notes=(*found.notes, *left_out, *named))


def _explained(outliers: Sequence[tuple[Sample, str]], more: _Messages) -> list[str]:
    """Return in words which outliers are none with one segment more: the protocol may change there."""
    left = [sample for sample, _ in more.outliers(more.result().fit)]
    sizes = [one.parameters["bytes"] for one, _ in outliers if all(one is not other for other in left)]
    if not sizes:
        return []
    which = ", ".join(f"{size:g}" for size in sizes)
    ends = ", ".join(f"{end:g}" for end in more.cuts.up_to)
    what = f"With --segments {more.cuts.count} (up to {ends} bytes), the ping-pong of {which} bytes is no outlier"
    return [f"{what}: the protocol may change there."]


def _with_hops(tables: Sequence[BenchmarkTable], hops: float) -> list[Sample]:
    return [
        Sample({**one.parameters, HOPS: hops}, one.values, one.lines)
        for one in samples(tables, "ping_pong", by=("bytes",))
    ]


def cut_sizes(taken: Sequence[Sample], segments: int | None, level: float) -> Segmentation:
    """Return the segments of ping-pongs, less what their hops add if these differ, one time for each size."""
    size, hops, seconds = columns(taken, "bytes", HOPS)
    if len(np.unique(hops)) > 1:
        seconds = np.maximum(seconds - _hop_latency(size, hops, seconds) * (hops - hops.min()), seconds * 1e-3)
    every = np.unique(size)
    mean = np.array([float(np.exp(np.mean(np.log(seconds[size == one])))) for one in every])
    return segmentation(every, mean, segments, level)


def _hop_latency(size: FloatArray, hops: FloatArray, seconds: FloatArray) -> float:
    """Seconds a hop adds to messages of the same size, by least squares of relative errors; not below 0."""
    top = bottom = 0.0
    for one in np.unique(size):
        here = size == one
        weight = float(np.mean(seconds[here])) ** -2
        apart = hops[here] - hops[here].mean()
        top += weight * float(np.sum(apart * seconds[here]))
        bottom += weight * float(np.sum(apart**2))
    return max(top / bottom, 0.0) if bottom > 0 else 0.0


class _Messages:
    """From samples to the problem of least squares, and back to named constants."""

    def __init__(
        self,
        machine: Machine,
        known: Mapping[str, float],
        ping_pongs: Sequence[Sample],
        tables: Sequence[BenchmarkTable],
        segments: int | None,
        level: float,
    ) -> None:
        self.level, self.ping_pongs = level, ping_pongs
        self.what = "steps of rings" if any(is_of_rings(table) for table in tables) else "ping-pongs"
        self.is_hockney = not machine.network.message_model.has_gaps
        first, *_, last = required_paths(machine.network.message_model)
        self.paths = first, last
        self.cuts = cut_sizes(ping_pongs, segments, level)
        self.receives = _of_one_protocol(samples(tables, "late_receive"), level)
        self.sends = [] if self.is_hockney else _of_one_protocol(samples(tables, "isend"), level)
        stated = {path: float(np.max(value)) for path, value in machine.constants().items()}
        self.kept = {path: stated.get(path, 0.0) for path in (LATENCY, RECEIVE, OVERHEAD)} | {**known}
        self.given = {*known}
        self.names = self._names()
        self.samples = [*ping_pongs, *self.receives, *self.sends]
        self.design = self._design(self.cuts.up_to)
        self.seconds = np.array([one.median for one in self.samples])

    def _names(self) -> tuple[str, ...]:
        of_segments = [name(place) for name in (_startup, _per_byte) for place in range(self.cuts.count)]
        overheads = (RECEIVE,) if self.is_hockney else (OVERHEAD, *((PER_BYTE,) if self.sends else ()))
        return (*of_segments, *overheads, LATENCY, *((COPY,) if self.receives else ()))

    def _design(self, up_to: FloatArray) -> FloatArray:
        """Seconds of each sample that one unit of each constant makes, with segments that end there."""
        rows = [self._ping_pong(one, up_to) for one in self.ping_pongs]
        rows += [*map(self._receive, self.receives), *map(self._send, self.sends)]
        return np.array([[row.get(name, 0.0) for name in self.names] for row in rows])

    def _ping_pong(self, one: Sample, up_to: FloatArray) -> dict[str, float]:
        size, hops = one.parameters["bytes"], one.parameters[HOPS]
        segment = int(np.searchsorted(up_to, size, side="left"))
        overheads = {RECEIVE: 1.0} if self.is_hockney else {OVERHEAD: 2.0}
        charged = size if self.is_hockney else max(size - 1, 0.0)
        return {_startup(segment): 1.0, _per_byte(segment): charged, **overheads, LATENCY: hops}

    def _receive(self, one: Sample) -> dict[str, float]:
        return {RECEIVE if self.is_hockney else OVERHEAD: 1.0, COPY: one.parameters["bytes"]}

    def _send(self, one: Sample) -> dict[str, float]:
        return {OVERHEAD: 1.0, PER_BYTE: max(one.parameters["bytes"] - 1, 0.0)}

    def _fitted(self, held: set[str], up_to: FloatArray | None = None) -> ConstantsFit:
        """Fit with these constants at the kept values, and segments that end at the best places, or there."""
        design = self.design if up_to is None else self._design(up_to)
        places = [place for place, name in enumerate(self.names) if name not in held]
        part = sum(
            (design[:, self.names.index(name)] * self.kept.get(name, 0.0) for name in held),
            np.zeros(len(self.seconds)),
        )
        names = tuple(self.names[place] for place in places)
        return fit_constants(ConstantsProblem(names, design[:, places], self.seconds, part), self.level)

    def _intervals(self, fit: ConstantsFit, held: set[str]) -> dict[str, tuple[float, float]]:
        """Intervals of each constant, over all plausible places of the changes: they are not known either."""
        fits = [fit, *(self._fitted(held, self.cuts.ends_of(starts)) for starts in self.cuts.alternatives)]
        return {
            name: (min(one[name].low for one in fits), max(one[name].high for one in fits))
            for name in fit.problem.names
        }

    def result(self) -> PointToPoint:
        """All results."""
        every = self._fitted(set())
        loose = {name for group in every.groups for name in group.undetermined}
        kept = (loose & {LATENCY, RECEIVE, OVERHEAD}) | (self.given & {*self.names})
        contradicted = self._contradicted(kept)
        fit = self._fitted(kept)
        intervals = self._intervals(fit, kept)
        return PointToPoint(
            self.cuts,
            self._segments(fit, intervals),
            self._constants(fit, intervals),
            fit,
            every,
            (*contradicted, *self._notes(kept, fit)),
            united(one.lines for one in self.samples),
        )

    def outliers(self, fit: ConstantsFit) -> list[tuple[Sample, str]]:
        """Return the ping-pongs that the others do not explain, each with a description for the notes."""
        found = []
        for one in fit.outliers:
            if one.row < len(self.ping_pongs):
                sample = self.ping_pongs[one.row]
                what = f"An outlier: the ping-pong of {sample.parameters['bytes']:g} bytes ({_place(sample)})"
                times = f"measured {one.measured_s:.4g} s, the other sizes give {one.expected_s:.4g} s"
                found.append((sample, f"{what}: {times}"))
        return found

    def _contradicted(self, kept: set[str]) -> list[str]:
        """Constants of the machine for which no ping-pong has room, and which are then kept at 0, in words."""
        stated = {name: self.kept[name] for name in sorted(kept - self.given) if self.kept[name] > 0}
        part = sum((self.design[:, self.names.index(name)] * value for name, value in stated.items()), 0 * self.seconds)
        if not np.any(part[: len(self.ping_pongs)] >= self.seconds[: len(self.ping_pongs)]):
            return []
        self.kept |= dict.fromkeys(stated, 0.0)
        return [f"The machine's {' and '.join(stated)} would take longer than whole ping-pongs."]

    def _segments(self, fit: ConstantsFit, intervals: Intervals) -> tuple[Segment, ...]:
        ends = [*self.cuts.up_to.tolist(), np.inf]
        ranges = [*self.cuts.plausible, (np.inf, np.inf)]
        size = np.array([one.parameters["bytes"] for one in self.ping_pongs])
        places = np.searchsorted(self.cuts.up_to, size, side="left")
        made = []
        for segment, (end, between) in enumerate(zip(ends, ranges, strict=True)):
            inside = [one for one, place in zip(self.ping_pongs, places, strict=True) if place == segment]
            lines = united(one.lines for one in inside)
            how = f"{self.what} of {len({one.parameters['bytes'] for one in inside})} sizes"
            names = _startup(segment), _per_byte(segment)
            made.append(
                Segment(
                    end,
                    between,
                    *(
                        MachineConstant(path, fit[name].value, *intervals[name], how, lines)
                        for path, name in zip(self.paths, names, strict=True)
                    ),
                )
            )
        return tuple(made)

    def _constants(self, fit: ConstantsFit, intervals: Intervals) -> tuple[MachineConstant, ...]:
        of_ping_pongs = united(one.lines for one in self.ping_pongs)
        of_receives, of_sends = (united(one.lines for one in some) for some in (self.receives, self.sends))
        sources = {
            RECEIVE: ("receives of messages that have arrived", of_receives),
            LATENCY: ("ping-pongs at several distances", of_ping_pongs),
            OVERHEAD: ("sends and receives alone", united([of_receives, of_sends])),
            PER_BYTE: ("sends alone", of_sends),
        }
        names = [name for name in fit.problem.names if name in sources and fit[name].determined]
        return tuple(MachineConstant(name, fit[name].value, *intervals[name], *sources[name]) for name in names)

    def _notes(self, kept: set[str], fit: ConstantsFit) -> list[str]:
        notes = []
        for name in sorted(kept - self.given):
            what = {
                LATENCY: "pings at one distance cannot separate them: give the hops of files at other distances",
                RECEIVE: "no receive of a message that has arrived separates them",
                OVERHEAD: "no send or receive alone separates them",
            }[name]
            notes.append(f"{name} is kept at {self.kept[name]:g} s, and {self.paths[0]} is the rest: {what}.")
        held = [one.name for one in fit.estimates if one.at_bound]
        if held:
            notes.append(f"Held at 0, for the times would fit better with less: {', '.join(held)}.")
        return notes


def _place(sample: Sample) -> str:
    """Return the file and the first line of each part of a sample, and how many lines follow."""
    more = {file: f" and {len(lines) - 1} more lines" if len(lines) > 1 else "" for file, lines in sample.lines.items()}
    return "; ".join(f"{file}:{lines[0]}{more[file]}" for file, lines in sample.lines.items())


def _of_one_protocol(taken: Sequence[Sample], level: float) -> list[Sample]:
    """Return the samples of the first segment of sizes; few ones as they are."""
    if len(taken) < 2 * LEAST_SIZES:
        return list(taken)
    size, seconds = columns(taken, "bytes")
    cuts = segmentation(size, seconds, level=level)
    end = cuts.up_to[0] if cuts.count > 1 else np.inf
    return [one for one in taken if one.parameters["bytes"] <= end]


def _startup(segment: int) -> str:
    return f"startup of segment {segment + 1}"


def _per_byte(segment: int) -> str:
    return f"per_byte of segment {segment + 1}"
