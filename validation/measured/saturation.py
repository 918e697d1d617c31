"""Pairs of nodes that communicate at once over one switch: does anybody slow anybody else down, and where?

The bandwidth of a message is that of one pair alone, and so is what is known of its interface: whether a message each way takes
twice as long as one (half duplex). More pairs and exchanges among all are evidence.

Source: the runs by which SMPI is calibrated (repository Ezibenroc/platform-calibration).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import simcodesign as sc
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.machine import machine_from
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from ..published import tables

SOURCE = "repository Ezibenroc/platform-calibration, commit 899f0446: load_send, load_sendrecv_same, load_sendrecv_diff, load_alltoall"
TABLE = "smpi-load"
BYTES = 4_000_000
#: Operations whose times of one pair are the constants.
CALIBRATION = ("send", "both ways")
#: One rank to another, to a partner and back, to one partner and from the next, to and from all.
PROGRAMS = {
    "send": "[{send: {to: rank + P//2, bytes: m, when: rank < P//2}}, {receive: {from: rank - P//2, when: rank >= P//2}}]",
    "both ways": "[{send: {to: (rank + P//2) % P, bytes: m}}, {receive: {from: (rank + P//2) % P}}]",
    "two partners": "[{send: {to: (rank + 1) % P, bytes: m}}, {receive: {from: (rank + P - 1) % P}}]",
    "all to all": "[{all_to_all: {bytes: m, algorithm: pairwise}}]",
}


def measured(cluster: str, operation: str, ranks: int) -> MeasuredValue:
    """Of one operation among so many ranks, in ms."""
    lower, median, upper, count = (
        tables.number(TABLE, column, cluster=cluster, operation=operation, ranks=ranks)
        for column in ("lower_ms", "median_ms", "upper_ms", "n")
    )
    return MeasuredValue(median, lower, upper, int(count), "quartiles")


@cache
def machine(cluster: str) -> Machine:
    """Sixteen nodes at one switch, by the times of one pair: of one way, and of a way and back."""
    one_way_s = float(measured(cluster, CALIBRATION[0], 2)) / 1e3
    there_and_back_s = float(measured(cluster, CALIBRATION[1], 2)) / 1e3
    duplex = "half" if there_and_back_s > 1.5 * one_way_s else "full"
    text = (
        f"simcodesign: 1\nname: {cluster}\nnodes: 16\nprocessor: {{rate: 1 GFLOP/s}}\n"
        f"network: {{topology: {{kind: crossbar}}, sends: blocking, startup: 0, bandwidth: {BYTES / one_way_s!r}, "
        f"interfaces: {{duplex: {duplex}}}}}\n"
    )
    return machine_from(parse_yaml(text, cluster), Path())


@cache
def workload(operation: str) -> Workload:
    """What all ranks do."""
    text = f"simcodesign: 1\nname: load\nparameters: {{m: {{default: {BYTES}}}}}\nprogram: {PROGRAMS[operation]}\n"
    return workload_from(parse_yaml(text, operation))


def _case(cluster: str, operation: str, margin: float, because: str = "") -> Case:
    frame = tables.table(TABLE)
    here = frame[(frame.cluster == cluster) & (frame.operation == operation)]
    counts = [int(ranks) for ranks in here.ranks if ranks > 2]
    values = {ranks: measured(cluster, operation, ranks) for ranks in counts}

    def measure() -> Readings:
        given = workload(operation), machine(cluster)
        return Readings(
            {ranks: 1e3 * float(sc.forecast(*given, {"P": ranks}).makespan_s) for ranks in counts},
            {ranks: 1e3 * float(sc.simulate(*given, {"P": ranks}, effects="all").makespan_s) for ranks in counts},
            notes=(f"interfaces of {cluster}: {machine(cluster).network.interfaces.duplex} duplex, by one pair",),
        )

    return Case(
        name=f"saturation/{cluster}/{operation.replace(' ', '-')}",
        claim={
            "send": "Pairs at one switch do not slow each other down.",
            "both ways": "Nor do pairs that send both ways at once.",
            "two partners": "A node that sends to one and receives from another takes as long as with one partner.",
            "all to all": "An exchange among all takes what one pair's bandwidth and interfaces allow.",
        }[operation],
        source=SOURCE,
        unit="ms",
        expected={ranks: float(one) for ranks, one in values.items()},
        measured=values,
        axis="ranks",
        reading="simulation",
        tolerance=Tolerance("quartiles of a time are so far from its median, at most", relative=margin),
        measure=measure,
        because=because,
        quick=True,
    )


_BETWEEN = (
    "interfaces are neither: with one partner a way and back take twice one way, with two partners or with all 1.4 to 1.7 times, "
    "between half and full duplex (the forecast has full duplex)"
)
_NOISY = "the ten calls of the pair that is calibrated on lie between 7 and 18 ms: those of more pairs are quicker, and steadier"

CASES = (
    _case("taurus", "send", 0.02),
    _case("taurus", "both ways", 0.03),
    _case("taurus", "two partners", 0.08, because=_BETWEEN),
    _case("taurus", "all to all", 0.2, because=_BETWEEN),
    _case("miriel", "send", 0.2, because=_NOISY),
    _case("miriel", "both ways", 0.07, because=_NOISY),
    _case("miriel", "two partners", 0.03),
    _case(
        "miriel",
        "all to all",
        0.4,
        because="a block takes 9 ms among 6, 10, 12 and 14 ranks, about what a pair takes, but 14 to 15 ms among 4, 8 and 16: for "
        "powers of two the library must have another algorithm, which is not in the data",
    ),
)
