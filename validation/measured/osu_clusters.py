"""Two clusters calibrated from their own benchmark output, as a new user would: ping-pongs of two ranks, and then collectives.

The network is that of the ping-pongs alone, by ``calibrate`` as it is. The library of gke is known by its name (Open MPI, of
which rules are published); of lassen it is not, so that ``calibrate --algorithms`` chooses by the times of 4, 8 and 16 nodes.
All other collectives are evidence: up to 8 times as many nodes.

Source: OSU micro-benchmarks in the repository converged-computing/metrics-operator-experiments.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import simcodesign as sc
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.describe.scenario import Scenario
from simcodesign.fitting.readers.benchmarks.table import BenchmarkRow, BenchmarkTable
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


@cache
def machine(cluster: str) -> Machine:
    """The cluster by its calibration rows."""
    files = [rows(cluster, "ping_pong", 2), *(rows(cluster, "allreduce", ranks) for ranks in CHOSEN_ON[cluster])]
    with TemporaryDirectory() as folder:
        base, calibrated = Path(folder) / f"{cluster}.yaml", Path(folder) / "mine.yaml"
        base.write_text(BASE.format(name=cluster, rules=RULES[cluster]))
        found = sc.calibrate(str(base), files, algorithms=len(files) > 1)
        calibrated.write_text(machine_file_text(found, cluster))
        return Machine.load(str(calibrated))


def _case(cluster: str, operation: str, ranks: int, because: str) -> Case:
    times_us = {
        int(row.parameters["bytes"]): MeasuredValue(row.value * 1e6) for row in rows(cluster, operation, ranks).rows
    }

    def scenario(size_bytes: int) -> Scenario:
        workload = collective_sizes.workload(operation, "auto")
        return Scenario.of(workload, machine(cluster), {"P": ranks, "size": size_bytes})

    return collective_sizes.case(
        f"osu/{cluster}/{operation}-{ranks}",
        f"The ping-pongs of two nodes predict the {operation} of {ranks}"
        + ("." if not CHOSEN_ON[cluster] else ", with the algorithms that were chosen on up to 16."),
        SOURCE,
        times_us,
        scenario,
        because=because,
        names_algorithms=True,
    )


_GROWS = (
    "small vectors take 1.3 to 1.8 times as long as rounds of ping-pongs on 16 nodes, 2.6 to 3.7 times on 64 and 5 to 8 times on "
    "128: virtual machines with one core each, over TCP. Why startups grow with P is not in the data, and not described here; "
    "the sizes at which the algorithm changes are those of the rules"
)
_LIBRARY = (
    "small vectors are right on 64 nodes and a third too short on 128, where the measured time is 1.7 times that of 64 for one round more; "
    "from 64 KiB on, the algorithm is not known"
)
CASES = (
    *(_case("gke", operation, ranks, _GROWS) for operation in ("allgather", "allreduce") for ranks in (16, 64, 128)),
    *(_case("lassen", "allreduce", ranks, _LIBRARY) for ranks in (64, 128)),
)
