"""All-reduce among the GPUs of a node, and among racks that are nodes of 72 GPUs: what the network inside a node explains.

Three machines of each system: ``point`` has no inside, so that messages within a node cost what others do; ``data sheet``
is the shipped machine as it is; ``calibrated`` (a100 alone) has startup and bandwidth of a message from the smallest and
the largest row of 8 GPUs, which are no evidence then. Without a network in the switches a ring sends and receives
2 (P - 1) / P of the bytes, whatever the library takes for small messages.

Source: nccl-tests on A100 with NVSwitch (repository VIA-Research/vTrain) and on GB200 NVL72 (repository coreweave/nccl-tests).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import simcodesign as sc
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from ..published import tables

TABLE = "gpu-all-reduce"
SOURCES = {
    "a100": "repository VIA-Research/vTrain, trace/a100 (Bang et al., MICRO 2024): NCCL all-reduce of 4 and 8 A100 of a node",
    "gb200": "repository coreweave/nccl-tests, README: NCCL all-reduce of 1, 2 and 20 racks of GB200 NVL72",
}
#: GPUs of a node.
GPUS = {"a100": 8, "gb200": 72}
#: Rows whose two unknowns are the startup and the bandwidth of ``calibrated``: GPUs, and bytes of each.
CALIBRATION = {"a100": (8, (2**20, 2**30))}
#: One ring in a node; in several, rings in nodes for the parts, and between GPUs of the same number for each part.
WORKLOAD = """simcodesign: 1
name: all-reduce
parameters: {m: {default: 1 GiB, unit: B}}
program: [{allreduce: {bytes: m, algorithm: hierarchical}}]
"""
SHIPPED = {"a100": "a100-cluster", "gb200": "nvl72-cluster"}


@dataclass(frozen=True)
class Group:
    """Rows of one number of GPUs."""

    system: str
    gpus: int

    @property
    def nodes(self) -> int:
        """Full nodes, or the part of one."""
        return -(-self.gpus // GPUS[self.system])

    @property
    def name(self) -> str:
        """As in names of cases and on the page."""
        return f"{self.system}-{self.gpus}"

    @property
    def calibrates(self) -> tuple[int, ...]:
        """Sizes that are calibration of ``calibrated``."""
        gpus, sizes = CALIBRATION.get(self.system, (0, ()))
        return sizes if gpus == self.gpus else ()


GROUPS = {one.name: one for one in (Group("a100", 4), Group("a100", 8), *(Group("gb200", 72 * n) for n in (1, 2, 20)))}


@cache
def measured_us(group: Group) -> dict[int, float]:
    """Measured times by size."""
    frame = tables.table(TABLE)
    here = frame[(frame.system == group.system) & (frame.gpus == group.gpus)]
    return {int(size): float(time) for size, time in zip(here.bytes, here.time_us, strict=True)}


@cache
def workload() -> Workload:
    """An all-reduce of ``m`` bytes of each GPU."""
    return workload_from(parse_yaml(WORKLOAD, "all-reduce"))


@cache
def calibrated_constants(system: str) -> tuple[float, float]:
    """Startup in seconds and bandwidth in bytes/s of a message within a node: 2 (P - 1) (startup + m / (P bandwidth)) is the
    time of both rows that are calibration."""
    gpus, (small, large) = CALIBRATION[system]
    times = measured_us(Group(system, gpus))
    bandwidth = 2 * (gpus - 1) / gpus * (large - small) / (1e-6 * (times[large] - times[small]))
    return 1e-6 * times[small] / (2 * (gpus - 1)) - small / gpus / bandwidth, bandwidth


@cache
def machine(kind: str, system: str, nodes: int = 1) -> Machine:
    """A machine of one ``kind``: ``point``, ``data sheet`` or ``calibrated``."""
    shipped = load_machine(SHIPPED[system])
    shipped = load_machine(SHIPPED[system], {"nodes": nodes}) if nodes > shipped.nodes else shipped
    if kind == "data sheet":
        return shipped
    outer = shipped.network.message_model
    startup_s, bandwidth = (
        calibrated_constants(system) if kind == "calibrated" else (outer.startup_s, 1 / outer.per_byte_s)
    )
    return load_machine(
        SHIPPED[system],
        {"nodes": shipped.nodes, "node.network.startup": startup_s, "node.network.bandwidth": bandwidth},
    )


def forecast_us(kind: str, group: Group, size: int) -> float:
    """The closed forms."""
    at = {"P": group.gpus, "m": size}
    return 1e6 * float(sc.forecast(workload(), machine(kind, group.system, group.nodes), at).makespan_s)


def simulated_us(kind: str, group: Group, size: int) -> float:
    """With everything that messages share inside nodes and between them."""
    at = {"P": group.gpus, "m": size}
    effects = ("node", "links", "interfaces")
    return 1e6 * float(
        sc.simulate(workload(), machine(kind, group.system, group.nodes), at, effects=effects).makespan_s
    )


def _case(group: Group, kind: str, tolerance: Tolerance, because: str = "") -> Case:
    times = measured_us(group)
    evidence = [size for size in times if not (kind == "calibrated" and size in group.calibrates)]
    measured = {size: MeasuredValue(times[size]) for size in evidence}

    def measure() -> Readings:
        def taken(of_size: Callable[[str, Group, int], float], of_kind: str) -> dict[int, float]:
            return {size: of_size(of_kind, group, size) for size in evidence}

        return Readings(
            taken(forecast_us, kind),
            taken(simulated_us, kind),
            formula=taken(forecast_us, "point"),
            notes=("the formula is the forecast of nodes without an inside",),
        )

    words = {
        "data sheet": f"The data sheet alone predicts the all-reduce of {group.gpus:,} GPUs.",
        "calibrated": f"Two rows of 8 GPUs predict the all-reduce of {group.gpus} at the other sizes.",
    }
    return Case(
        name=f"gpu-node/{group.name}/{kind.replace(' ', '-')}",
        claim=words[kind],
        source=SOURCES[group.system],
        unit="us",
        expected={size: float(one) for size, one in measured.items()},
        measured=measured,
        axis="bytes",
        reading="simulation",
        tolerance=tolerance,
        measure=measure,
        because=because,
        inputs={"bandwidths": "public", "startups": "assumed"}
        if kind == "data sheet"
        else {"startup, bandwidth": "public"},
        printed=True,
        quick=group.gpus < 1000,
    )


#: NCCL's bus bandwidth of 8 GPUs rises from 126 GB/s at 16 MiB to 166 GB/s at 24 MiB: its algorithm or protocol changes.
_BY_SIZE = Tolerance("the library changes its protocol with the size, by steps of this much", relative=0.3)
_SHEET = Tolerance(
    "what protocols leave of the rate on a data sheet is not described, and taken as a quarter", relative=0.25
)
_SMALL = (
    "NCCL attains at most 222 GB/s (4 GPUs) and 229 GB/s (8 GPUs) of the 300 GB/s of NVLink, and startups, assumed as 2 us, "
    "are 6 us by two rows"
)
_TWENTY = (
    "from 2 to 20 racks longer rings add 4 ms at 16 GiB, where the measurement takes 43 ms more: NCCL's algorithm there is "
    "not in the data"
)

CASES = (
    *(_case(GROUPS[name], "data sheet", _SHEET, because=_SMALL) for name in ("a100-4", "a100-8")),
    *(_case(GROUPS[name], "calibrated", _BY_SIZE) for name in ("a100-4", "a100-8")),
    _case(GROUPS["gb200-72"], "data sheet", _SHEET),
    _case(GROUPS["gb200-144"], "data sheet", _SHEET),
    _case(GROUPS["gb200-1440"], "data sheet", _SHEET, because=_TWENTY),
)
