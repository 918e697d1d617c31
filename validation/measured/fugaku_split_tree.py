"""Broadcasts by a split binary tree on Fugaku: an algorithm of which no row was used before, with the constants of the others.

Fujitsu MPI is made of Open MPI, whose split binary tree is taken, in one segment: the size of segments is not in the data. The
machine, its geometry and all constants are those of docs/fugaku.md; nothing was chosen by these rows.
"""

from __future__ import annotations

from functools import partial

from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.describe.scenario import Scenario
from simcodesign.studies.validation.case import Case

from ..published import tables
from . import collective_sizes
from .fugaku_runs import CONSTANTS, SIDES, machine

SOURCE = "PICO (repository HLC-Lab/pico, commit 413bc5d0), fugaku.csv: BCAST, split-binary-tree"
TABLE = "fugaku-split-tree"


def scenario(shape: str, size_bytes: int) -> Scenario:
    """A broadcast of so many bytes, whose messages are halves of it."""
    parameters = {
        "P": SIDES[shape] ** 3,
        "size": size_bytes,
        "network.startup": CONSTANTS.startup_s(size_bytes / 2),
        "network.receive_overhead": CONSTANTS.receive_s,
        "network.per_byte": CONSTANTS.per_byte_s,
        "network.interfaces.per_byte": CONSTANTS.per_byte_s,
    }
    return Scenario.of(collective_sizes.workload("broadcast", "split_binary_tree"), machine(shape), parameters)


def _case(shape: str, because: str, quick: bool) -> Case:
    frame = tables.table(TABLE)
    here = frame[frame["shape"] == shape]
    values = {
        int(row.bytes): MeasuredValue(row.median_us, row.low_us, row.high_us, interval="10 to 90 %")
        for row in here.itertuples()
    }
    return collective_sizes.case(
        f"fugaku/split-binary-tree/{shape}",
        f"The constants of other algorithms predict the split binary tree on {shape} nodes.",
        SOURCE,
        values,
        partial(scenario, shape),
        because=because,
        quick=quick,
    )


CASES = (
    _case(
        "2x2x2",
        "from 128 KiB on it takes as long as six halves one after another, simulated four: ranks send several messages at "
        "the same time, by different interfaces; why the library does not on 8 nodes, and does on 64 and 512, is not known",
        quick=True,
    ),
    _case("4x4x4", "", quick=True),
    _case(
        "8x8x8",
        "4 bytes took 0.3 ms, ten times as long as 32 bytes (the first size that was measured); of 128 KiB a third is "
        "missing, between 7 % too long at 16 KiB and 1 % too short at 1 MiB",
        quick=False,
    ),
)
