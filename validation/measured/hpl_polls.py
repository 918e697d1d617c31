"""Swaps and look-ahead of Linpack on Dahu with HPL's polls for the panel, against the runs that were measured.

``python -m validation.measured.hpl_polls`` prints docs/tables/linpack-polls.csv (half an hour of CPU time and 6 GB). A
run of order 250,000 has too many operations, so three parts of it are simulated, each of LAST panels, of which those from
FIRST on count. In their middle as many rows are left as at a node of Gauss's rule. Messages above 64 KiB
wait for their receivers, which is assumed. Calls of dgemm vary as repeated calls on one processor did in its calibration
(thesis data, generative/dgemm_calibration.csv: mnk_residual over mnk). All runs are evidence.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import simcodesign as sc
from simcodesign.core.memory_limit import allow_memory
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.noise import Noise

from .hpl import EFFECTS, GRID, RANKS, WORKLOAD, machine
from .hpl_grids import CHOICES, ORDER, measured_s

BLOCK, BROADCAST = 128, "two_rings"
#: Swap and look-ahead.
OPTIONS = (("binary_exchange", 1), ("binary_exchange", 0), ("spread_roll", 1), ("spread_roll", 0))
#: Above these bytes a sender waits for its receiver.
RENDEZVOUS_BYTES = 65536.0
#: Standard deviation of repeated calls of dgemm over their mean: the median over processors and days.
VARIATION = 0.037
#: Pieces of an update between which processes poll; HPL has pieces of a panel's columns, up to 61.
PIECES = 16
#: Panels of each part: before those that count, and in all.
FIRST, LAST = 50, 120
#: Memory that a simulation may take: that of spread-roll is overestimated, with a poll of each ring by each process.
MEMORY_BYTES = 24e9
COLUMNS = (
    "swap",
    "look-ahead",
    "measured, s",
    "SMPI, s",
    "without polls, s",
    "with polls, s",
    "and dgemm that varies, s",
)


def dahu(variation: float) -> sc.Machine:
    """Dahu, each processor with its own speed, whose dgemm varies from call to call."""
    shipped = machine(False)
    model = replace(shipped.network.message_model, rendezvous_above_bytes=RENDEZVOUS_BYTES)
    noise = Noise(compute=Distribution("gamma", {"variation": variation})) if variation else 0.0
    return replace(shipped, network=replace(shipped.network, message_model=model), noise=noise)


def simulated_s(swap: str, lookahead: int, pieces: int, variation: float) -> float:
    """Seconds of all panels, from three parts."""
    nodes, weights = np.polynomial.legendre.leggauss(3)
    total_s = 0.0
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        panels = int(ORDER * node) // BLOCK + (FIRST + LAST) // 2
        given = {"P": RANKS, "q": GRID, "b": BLOCK, "n": panels * BLOCK, "broadcast": BROADCAST}
        given |= {"swap": swap, "lookahead": lookahead, "polls": pieces * lookahead}
        effects = (*EFFECTS, "noise") if variation else EFFECTS
        until_s = [
            sc.simulate(WORKLOAD, dahu(variation), given | {"panels": count}, effects=effects, seed=1).makespan_s
            for count in (FIRST, LAST)
        ]
        total_s += weight * (ORDER // BLOCK) * (until_s[1] - until_s[0]) / (LAST - FIRST)
    return total_s


def lines() -> Iterator[tuple[str, ...]]:
    """Yield the lines of the table. Without look-ahead nothing is polled."""
    for swap, lookahead in OPTIONS:
        chosen = dict(zip(CHOICES, map(str, (GRID, GRID, BLOCK, BROADCAST, swap, lookahead)), strict=True))
        without_s = simulated_s(swap, lookahead, 0, 0.0)
        with_s = simulated_s(swap, lookahead, PIECES, 0.0) if lookahead else without_s
        times_s = (*measured_s(chosen), without_s, with_s, simulated_s(swap, lookahead, PIECES, VARIATION))
        yield (swap.replace("_", " "), str(lookahead), *(f"{one:.1f}" for one in times_s))


def main() -> int:
    """Print the table; spread-roll takes 6 GB, less than is foreseen."""
    written = csv.writer(sys.stdout, lineterminator="\n")
    written.writerow(COLUMNS)
    with allow_memory(MEMORY_BYTES):
        written.writerows(lines())
    return 0


if __name__ == "__main__":
    sys.exit(main())
