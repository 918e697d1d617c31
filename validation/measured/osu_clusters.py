"""Two clusters calibrated from their own benchmark output, as a new user would: ping-pongs of two ranks, and then collectives.

The network is that of the ping-pongs alone, by ``calibrate`` as it is. The library of gke is known by its name (Open MPI, of
which rules are published); of lassen it is not, so that ``calibrate --algorithms`` chooses by the times of 4, 8 and 16 nodes.
All other collectives are evidence: up to 8 times as many nodes.

On gke, rounds take longer the more ranks there are. A second machine has a receive overhead that grows with P, as if the
library looked at one TCP connection of each rank before it finds a message; its one further constant is the median of
allreduce among 16 nodes of up to 1 KiB, which are no evidence for it.

Source: OSU micro-benchmarks in the repository converged-computing/metrics-operator-experiments.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import simcodesign as sc
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.describe.scenario import Scenario
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable
from simcodesign.report.calibration.machine_file import machine_file_text
from simcodesign.studies.validation.case import Case

from ..published import tables
from . import collective_sizes

SOURCE = "repository converged-computing/metrics-operator-experiments, google/kubecon: OSU micro-benchmarks 5.8"
TABLE = "osu-clusters"
#: What a user writes before anything is measured.
BASE = """
simcodesign: 1
name: {name}
nodes: 256
processor: {{rate: 1 GFLOP/s}}
network: {{topology: {{kind: crossbar}}, startup: 1 us, bandwidth: 1 GB/s}}
{rules}
"""
RULES = {"gke": "collectives: open_mpi", "lassen": ""}
#: What the second machine of gke has in addition: ``EACH`` per rank beyond those of a ping-pong.
POLLING = """
simcodesign: 1
extends: {base}
name: gke-polling
network: {{receive_overhead: "{each}*(P - 2)"}}
"""
#: The rows that determine it: ranks and largest size in bytes of allreduce by recursive doubling.
POLLING_ROWS = (16, 1024)
#: Numbers of ranks of collectives that are calibration.
CHOSEN_ON = {"gke": (), "lassen": (4, 8, 16)}


def rows(cluster: str, operation: str, ranks: int) -> BenchmarkTable:
    """The times of an operation among so many ranks, one a node."""
    frame = tables.table(TABLE)
    here = frame[(frame.cluster == cluster) & (frame.operation == operation) & (frame.ranks == ranks)]
    every = (
        BenchmarkRow(operation, "time", time_us / 1e6, line, parameters={"bytes": size, "P": ranks, "nodes": ranks})
        for line, size, time_us in zip(here.index, here.bytes, here.time_us, strict=True)
    )
    return BenchmarkTable(f"{cluster}-{operation}-{ranks}", "osu", tuple(every))


def calibrated_text(cluster: str) -> str:
    """The machine file that ``calibrate`` writes, which extends the file of what was known before."""
    files = [rows(cluster, "ping_pong", 2), *(rows(cluster, "allreduce", ranks) for ranks in CHOSEN_ON[cluster])]
    with TemporaryDirectory() as folder:
        base = Path(folder) / f"{cluster}.yaml"
        base.write_text(BASE.format(name=cluster, rules=RULES[cluster]))
        return machine_file_text(sc.calibrate(str(base), files, algorithms=len(files) > 1), cluster)


@cache
def machine(cluster: str) -> Machine:
    """The cluster by its calibration rows."""
    with TemporaryDirectory() as folder:
        base, calibrated = Path(folder) / f"{cluster}.yaml", Path(folder) / "mine.yaml"
        base.write_text(BASE.format(name=cluster, rules=RULES[cluster]))
        calibrated.write_text(calibrated_text(cluster))
        return Machine.load(str(calibrated))


def each_s() -> float:
    """Compute what a round of the calibration rows takes longer than a ping-pong, for each of the other ranks: seconds."""
    ranks, most_bytes = POLLING_ROWS
    used = [row for row in rows("gke", "allreduce", ranks).rows if row.parameters["bytes"] <= most_bytes]
    foreseen = [sc.forecast(_scenario("allreduce", machine("gke"), ranks, row.parameters["bytes"])) for row in used]
    longer = [row.value - float(one.makespan_s) for row, one in zip(used, foreseen, strict=True)]
    return median(longer) / (math.log2(ranks) * (ranks - 2))


@cache
def polling_machine() -> Machine:
    """The cluster gke whose receives take longer the more ranks there are."""
    with TemporaryDirectory() as folder:
        base, calibrated = Path(folder) / "gke.yaml", Path(folder) / "mine.yaml"
        base.write_text(BASE.format(name="gke", rules=RULES["gke"]))
        calibrated.write_text(calibrated_text("gke"))
        polling = Path(folder) / "polling.yaml"
        polling.write_text(POLLING.format(base="mine", each=f"{each_s():.4g}"))
        return Machine.load(str(polling))


def _scenario(operation: str, on: Machine, ranks: int, size_bytes: float) -> Scenario:
    return Scenario.of(collective_sizes.workload(operation, "auto"), on, {"P": ranks, "size": size_bytes})


def _case(cluster: str, operation: str, ranks: int, because: str, *, polls: bool = False) -> Case:
    times_us = {
        int(row.parameters["bytes"]): MeasuredValue(row.value * 1e6) for row in rows(cluster, operation, ranks).rows
    }
    return collective_sizes.case(
        f"osu/{cluster}{'-polling' * polls}/{operation}-{ranks}",
        f"The ping-pongs of two nodes predict the {operation} of {ranks}"
        + (", with the algorithms that were chosen on up to 16" if CHOSEN_ON[cluster] else "")
        + (", with a receive overhead in proportion to P - 2 from 16 nodes." if polls else "."),
        SOURCE,
        times_us,
        lambda size: _scenario(operation, polling_machine() if polls else machine(cluster), ranks, size),
        because=because,
        names_algorithms=True,
    )


_GROWS = (
    "small vectors take 1.3 to 1.8 times as long as rounds of ping-pongs on 16 nodes, 2.6 to 3.7 times on 64 and 5 to 8 times on "
    "128: virtual machines with one core each, over TCP. gke-polling has an overhead that grows with P; "
    "the sizes at which the algorithm changes are those of the rules"
)
_LIBRARY = (
    "small vectors are right on 64 nodes and a third too short on 128, where the measured time is 1.7 times that of 64 for one round more; "
    "from 64 KiB on, the algorithm is not known"
)
_RING = (
    "vectors that Open MPI's rules send around a ring: their rounds are half as long on 128 nodes as with the overhead from "
    "short messages in an allreduce, and twice as long in an allgather"
)
CASES = (
    *(_case("gke", operation, ranks, _GROWS) for operation in ("allgather", "allreduce") for ranks in (16, 64, 128)),
    *(
        _case("gke", operation, ranks, _RING, polls=True)
        for operation, several in (("allgather", (16, 64, 128)), ("allreduce", (64, 128)))
        for ranks in several
    ),
    *(_case("lassen", "allreduce", ranks, _LIBRARY) for ranks in (64, 128)),
)
