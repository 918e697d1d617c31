"""Bandwidth of links and interfaces from what saturates them: windows of messages, and pairs of ranks.

Windows (``osu_bw``, ``osu_bibw``, ``osu_mbw_mr``) have many messages in flight together, so that a size's time is its
share of the interface: its time per byte in the last segment of sizes is the interface's. ``osu_mbw_mr`` has its pairs
between two nodes; the pairs of Intel's Uniband and Biband may be on any nodes: only one pair counts, or all pairs if
``nodes`` is two. In SMPI's runs every pair of ranks has two nodes for itself: a pair has the bandwidth of one
interface, and what all pairs together reach is the network's between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simcodesign.calibration.benchmarks.samples import MachineConstant, Sample, columns, samples, united
from simcodesign.calibration.linear_constants import ConstantsProblem, fit_constants
from simcodesign.calibration.segments import LEAST_SIZES, segmentation
from simcodesign.fitting.measurements import FloatArray
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable

PATH = "network.interfaces.per_byte"
#: The operation in which several pairs have windows of messages.
WINDOWS = "multi_pair_window"
#: Twice the traffic that takes more than this many times as long is on a half-duplex interface; 1 is full, 2 is half.
HALF = 1.5
#: A bandwidth of all pairs together that falls behind in proportion by this fraction is saturated.
FALLEN_BEHIND = 0.1


def interface_bandwidth(tables: Sequence[BenchmarkTable], level: float) -> MachineConstant | None:
    """Return the time per byte of an interface of a node: from the most pairs of two nodes, otherwise from one pair."""
    many = _most(_of_two_nodes(tables), "pairs", "window")
    alone = [one for one in samples(tables, WINDOWS, "bandwidth") if one.parameters.get("pairs") == 1]
    single = _least([*samples(tables, "window", "bandwidth"), *alone], "P")
    for taken, what in (
        (many, "windows of several pairs of one pair of nodes"),
        (single, "windows of one pair"),
    ):
        if len({one.parameters["bytes"] for one in taken}) >= LEAST_SIZES:
            return _of_windows(taken, what, level)
    pairs = samples(tables, "pairs_send", by=("bytes", "pairs"))
    return _of_pairs(pairs, level) if pairs else None


def _of_two_nodes(tables: Sequence[BenchmarkTable]) -> list[Sample]:
    """Return the windows of several pairs between two nodes."""
    known = []
    for table in tables:
        rows = tuple(row for row in table.rows if row.parameters.get("nodes", _nodes(table)) == 2)
        known.append(replace(table, rows=rows))
    return [one for one in samples(known, WINDOWS, "bandwidth", by=("pairs", "bytes")) if one.parameters["pairs"] > 1]


def _nodes(table: BenchmarkTable) -> float:
    """Return the number of nodes of a benchmark's pairs if no row specifies it, 0 for any."""
    return 0.0 if "imb" in table.format.split(" and ") else 2.0


def _most(taken: Sequence[Sample], *names: str) -> list[Sample]:
    """Return the samples of the largest value of each parameter, one parameter after another."""
    kept = [*taken]
    for name in names:
        most = max((one.parameters.get(name, 0.0) for one in kept), default=0.0)
        kept = [one for one in kept if one.parameters.get(name, 0.0) == most]
    return kept


def _least(taken: Sequence[Sample], name: str) -> list[Sample]:
    """Return the samples of the smallest value of a parameter."""
    least = min((one.parameters.get(name, 0.0) for one in taken), default=0.0)
    return [one for one in taken if one.parameters.get(name, 0.0) == least]


def windows_of_any_nodes(tables: Sequence[BenchmarkTable]) -> str:
    """Describe what windows of several pairs reach if they do not determine an interface; empty if there are none."""
    every = samples(tables, WINDOWS, "bandwidth", by=("pairs", "bytes"))
    if _of_two_nodes(tables) or not (many := [one for one in every if one.parameters["pairs"] > 1]):
        return ""
    best = max(many, key=lambda one: one.median)
    return (
        f"Windows of {best.parameters['pairs']:g} pairs reach {best.median / 1e9:.4g} GB/s together. They "
        "determine no interface, because no file states the number of nodes: set it, for example by --given nodes=2."
    )


def _of_windows(taken: Sequence[Sample], what: str, level: float) -> MachineConstant:
    """Determine the constant from the times per message, bytes / bandwidth, of the last segment of sizes."""
    size, bandwidth = columns(taken, "bytes")
    seconds = size / bandwidth
    cuts = segmentation(size, seconds, level=level)
    last = int(cuts.starts[-1])
    x, y = size[last:], seconds[last:]
    problem = ConstantsProblem(("startup", "per byte"), np.column_stack([np.ones_like(x), x]), y, np.zeros_like(x))
    estimate = fit_constants(problem, level)["per byte"]
    lines = united(one.lines for one in taken[last:])
    return MachineConstant(PATH, estimate.value, estimate.low, estimate.high, what, lines)


def _of_pairs(taken: Sequence[Sample], level: float) -> MachineConstant:
    """Determine the constant from the time of a pair that is alone, or of the fewest pairs measured."""
    fewest = min(one.parameters["pairs"] for one in taken)
    alone = max((one for one in taken if one.parameters["pairs"] == fewest), key=lambda one: one.parameters["bytes"])
    size = alone.parameters["bytes"]
    low, high = alone.median_interval(level)
    how = f"{len(alone.values)} messages of {size:g} bytes of {fewest:g} pair{'s' if fewest > 1 else ''}; median"
    return MachineConstant(PATH, alone.median / size, low / size, high / size, how, alone.lines)


def duplex(tables: Sequence[BenchmarkTable]) -> tuple[str | None, str]:
    """Return ``full`` or ``half``, by how much longer messages both ways take than one way; and the ratio in words."""
    for one_way, both_ways, quantity in (
        ("window", "window_both_ways", "bandwidth"),
        ("pairs_send", "pairs_sendrecv", "time"),
    ):
        first, second = (
            {_pairs_and_size(one): one.median for one in samples(tables, operation, quantity)}
            for operation in (one_way, both_ways)
        )
        common = sorted(first.keys() & second.keys(), key=lambda point: (point[0], -point[1]))
        if common:
            point, size = common[0], common[0][1]
            ratio = 2 * first[point] / second[point] if quantity == "bandwidth" else second[point] / first[point]
            kind = "half" if ratio > HALF else "full"
            return (
                kind,
                f"Both ways together take {ratio:.3g} times as long as one way ({size:g} bytes): {kind} duplex.",
            )
    return None, ""


def _pairs_and_size(one: Sample) -> tuple[float, float]:
    return one.parameters.get("pairs", 1.0), one.parameters["bytes"]


def saturated_pairs(tables: Sequence[BenchmarkTable]) -> str:
    """Total rate of all pairs as pairs are added, in words; empty if no table shows it."""
    taken = samples(tables, "pairs_send", by=("bytes", "pairs"))
    if len({one.parameters["pairs"] for one in taken}) < 2:
        return ""
    size = max(one.parameters["bytes"] for one in taken)
    pairs, seconds = columns([one for one in taken if one.parameters["bytes"] == size], "pairs")
    together: FloatArray = pairs * size / seconds
    share = together / (pairs * together[0] / pairs[0])
    behind = np.flatnonzero(share < 1 - FALLEN_BEHIND)
    if len(behind):
        first = int(behind[0])
        return (
            f"From {pairs[first]:g} pairs on, all together fall behind in proportion ({share[first]:.2f}); the most "
            f"that is reached is {together.max() / 1e9:.4g} GB/s. No constant of a machine states it."
        )
    return f"Up to {pairs[-1]:g} pairs nothing saturates: each keeps {100 * share[-1]:.3g} % of its bandwidth."
