"""Bandwidth of links and interfaces from what saturates them: windows of messages, and pairs of ranks.

Windows (``osu_bw``, ``osu_bibw``, ``osu_mbw_mr``) have many messages on their way at once, so that a size's time is its
share of the interface: its time per byte in the last segment of sizes is the interface's. ``osu_mbw_mr`` has its pairs
between two nodes. In SMPI's runs every pair of ranks has two nodes for itself: a pair's bandwidth is that of an
interface, and what all pairs together reach is the network's between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcodesign.calibration.benchmarks.samples import MachineConstant, Sample, columns, samples, united
from simcodesign.calibration.linear_constants import ConstantsProblem, fit_constants
from simcodesign.calibration.segments import LEAST_SIZES, segmentation
from simcodesign.fitting.measurements import FloatArray
from simcodesign.fitting.readers.benchmarks.table import BenchmarkTable

PATH = "network.interfaces.per_byte"
#: Twice the traffic that takes more than this many times as long is on a half-duplex interface; 1 is full, 2 is half.
HALF = 1.5
#: A bandwidth of all pairs together that falls behind in proportion by this share is saturated.
FALLEN_BEHIND = 0.1


def interface_bandwidth(tables: Sequence[BenchmarkTable], level: float) -> MachineConstant | None:
    """The time per byte of an interface of a node: of several pairs on one node, else of a pair."""
    many = samples(tables, "multi_pair_window", "bandwidth", by=("pairs", "bytes"))
    if many:
        most = max(one.parameters["pairs"] for one in many)
        many = [one for one in many if one.parameters["pairs"] == most]
    for taken, what in (
        (many, "windows of several pairs of one pair of nodes"),
        (samples(tables, "window", "bandwidth"), "windows of one pair"),
    ):
        if len(taken) >= LEAST_SIZES:
            return _of_windows(taken, what, level)
    pairs = samples(tables, "pairs_send", by=("bytes", "pairs"))
    return _of_pairs(pairs, level) if pairs else None


def _of_windows(taken: Sequence[Sample], what: str, level: float) -> MachineConstant:
    """By the times per message, bytes / bandwidth, of the last segment of sizes."""
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
    """By the time of a pair that is alone, or of the fewest pairs that there are."""
    fewest = min(one.parameters["pairs"] for one in taken)
    alone = max((one for one in taken if one.parameters["pairs"] == fewest), key=lambda one: one.parameters["bytes"])
    size = alone.parameters["bytes"]
    low, high = alone.median_interval(level)
    how = f"{len(alone.values)} messages of {size:g} bytes of {fewest:g} pair{'s' if fewest > 1 else ''}; median"
    return MachineConstant(PATH, alone.median / size, low / size, high / size, how, alone.lines)


def duplex(tables: Sequence[BenchmarkTable]) -> tuple[str | None, str]:
    """``full`` or ``half``, by how much longer messages both ways take than one way; and the ratio in words."""
    for one_way, both_ways, quantity in (
        ("window", "window_both_ways", "bandwidth"),
        ("pairs_send", "pairs_sendrecv", "time"),
    ):
        first, second = (
            {one.parameters["bytes"]: one.median for one in samples(tables, operation, quantity)}
            for operation in (one_way, both_ways)
        )
        common = sorted(first.keys() & second.keys())
        if common:
            size = common[-1]
            ratio = 2 * first[size] / second[size] if quantity == "bandwidth" else second[size] / first[size]
            kind = "half" if ratio > HALF else "full"
            return kind, f"Both ways at once take {ratio:.3g} times as long as one way ({size:g} bytes): {kind} duplex."
    return None, ""


def saturated_pairs(tables: Sequence[BenchmarkTable]) -> str:
    """What all pairs together reach as pairs are added, in words; empty where no table tells."""
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
