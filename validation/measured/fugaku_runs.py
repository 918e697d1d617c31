"""Collective operations that were measured on Fugaku, and what formula, forecast and simulation say of each.

A row is an operation by one algorithm among the nodes of a job (2x2x2, 4x4x4 or 8x8x8), with one process each, and one
size. What is calibrated comes from these rows, which are no evidence:

* bandwidth and startup of a message of m bytes: ``broadcast`` by ``binomial`` on 2x2x2 is three messages, one after
  another, over links that they share with nobody; of m bytes each takes startup(m) + m / bandwidth. The bandwidth is that
  of 512 MiB;
* the rate of the operator: ``allreduce`` by ``recursive_doubling`` on 2x2x2 is three times such a message and an addition;
* the time per copied byte in Bruck's all-to-all, by size of the buffer: on 2x2x2 it has three messages of half the
  buffer, and copies the buffer five times: half of it before and after each round, and the whole before the first and
  after the last one;
* the time per copied block: of the four rows of Bruck on larger shapes that the hash gives to calibration. On 2x2x2
  every row copies 40 blocks, which cannot be told apart from bytes and rounds;
* the overhead of a receive: ``RECEIVES``, four rows of a reduce whose root receives from all, which are compared with
  nothing;
* how messages of a rank leave, and interfaces take them: from the rows of 64 MiB on 2x2x2.

Where ranks are is published, and the same for all shapes: the mapping of the machine ``fugaku``. The rows of 8 MiB of
``GEOMETRY_ROWS`` compared geometries before, so that they are no evidence either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

import simcodesign as sc
from simcodesign.analytic.given_formulas.values import formula_values
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_machine
from simcodesign.studies.validation.scores import role_of

from ..published.tables import table

KIB, MIB = 2**10, 2**20
TABLE, WORKLOAD, MACHINE = "fugaku-collectives", "fugaku-collectives", "fugaku"
#: Nodes along each side of a job.
SIDES = {"2x2x2": 2, "4x4x4": 4, "8x8x8": 8}
#: Operation and algorithm, as the benchmark names them, and the phase of our workload that does the same.
PHASES: Mapping[tuple[str, str], str] = {
    ("broadcast", "binomial"): "broadcast-binomial",
    ("broadcast", "binary-tree"): "broadcast-binary-tree",
    ("broadcast", "chain"): "broadcast-three-chains",
    ("broadcast", "pipeline"): "broadcast-chain",
    ("allreduce", "recursive_doubling"): "allreduce-recursive-doubling",
    ("allreduce", "ring"): "allreduce-ring",
    ("allreduce", "nonoverlapping"): "allreduce-reduce-broadcast",
    ("allreduce", "rdbc"): "allreduce-reduce-broadcast",
    ("all_to_all", "pairwise"): "all-to-all-pairwise",
    ("all_to_all", "linear"): "all-to-all-linear",
    ("all_to_all", "modified-bruck"): "all-to-all-bruck",
}
#: Of the buffer, what a message holds: all of it unless it is said here.
MESSAGE_PARTS = {"ring": "1/P", "pairwise": "1/P", "linear": "1/P", "modified-bruck": "1/2"}
#: Rows of 8 MiB on each shape by which geometries were compared.
GEOMETRY_ROWS = (("broadcast", "binomial"), ("allreduce", "recursive_doubling"), ("all_to_all", "pairwise"))
#: What chose the number of chains, three, of 2 to 4.
CHAINS_ROW = ("broadcast", "chain", "8x8x8", 8 * MIB)
#: By bytes, medians on 2x2x2 in us of allreduce by ``basic_linear``, a reduce and a broadcast whose root has a message with
#: each other rank, and of that broadcast.
RECEIVES: Mapping[int, tuple[float, float]] = {
    4: (19.379, 8.6295),
    32: (21.8495, 9.9595),
    256: (23.3945, 11.069),
    2048: (27.6795, 15.099),
}
BRUCK = ("all_to_all", "modified-bruck")
#: Copies of the buffer in Bruck's all-to-all: two, and one more for each round.
COPIES = 2


@dataclass(frozen=True)
class Row:
    """One measured row: seconds of the slowest process, median and quartiles over ``n`` repetitions."""

    operation: str
    algorithm: str
    shape: str
    size_bytes: int
    n: int
    lower_s: float
    median_s: float
    upper_s: float

    @property
    def key(self) -> tuple[str, str]:
        """Operation and algorithm, as the benchmark names them."""
        return self.operation, self.algorithm

    @property
    def ranks(self) -> int:
        """Processes, one on each node."""
        return SIDES[self.shape] ** 3

    @property
    def message_bytes(self) -> float:
        """Of one message."""
        return self.size_bytes / {"1/P": self.ranks, "1/2": 2}.get(MESSAGE_PARTS.get(self.algorithm, ""), 1)

    @property
    def measured(self) -> MeasuredValue:
        """The median with its quartiles."""
        return MeasuredValue(self.median_s, self.lower_s, self.upper_s, self.n, "quartiles")

    @property
    def role(self) -> str:
        """``calibration``, ``development`` or ``evidence``, as in the benchmark."""
        return self._role(self.is_calibration)

    def _role(self, calibrates: bool) -> str:
        return role_of(f"{MACHINE}/{self.operation}/{self.label}", calibrates)

    @property
    def label(self) -> str:
        """What it is called within its operation."""
        return f"{self.algorithm}/{self.shape}/{self.size_bytes}"

    @property
    def falls_back(self) -> bool:
        """Whether the library runs another algorithm: a ring of fewer elements than ranks is recursive doubling."""
        return self.algorithm == "ring" and self.size_bytes < 4 * self.ranks

    @property
    def is_calibration(self) -> bool:
        """Whether some constant or choice comes from it."""
        if self.shape == "2x2x2":
            constants = {
                ("broadcast", "binomial"),
                ("allreduce", "recursive_doubling"),
                BRUCK,
            }
            return self.key in constants or self.size_bytes == 64 * MIB
        if self.key == BRUCK:
            return self._role(False) == "calibration"
        chooses = self.key in GEOMETRY_ROWS and self.size_bytes == 8 * MIB
        return chooses or (*self.key, self.shape, self.size_bytes) == CHAINS_ROW


@cache
def rows() -> tuple[Row, ...]:
    """All measured rows, but those of the library's other algorithm."""
    names = ("lower_us", "median_us", "upper_us")
    every = (
        Row(
            str(each.operation),
            str(each.algorithm),
            str(each.shape),
            int(each.bytes),
            int(each.n),
            *(float(getattr(each, name)) / 1e6 for name in names),
        )
        for each in table(TABLE).itertuples()
    )
    return tuple(row for row in every if not row.falls_back)


def is_simulated(each: Row) -> bool:
    """Whether it is simulated: not 261,632 messages at once above 1 MiB, whose shares change with every end, which takes
    more than two CPU minutes (docs/fugaku.md)."""
    return (each.algorithm, each.shape) != ("linear", "8x8x8") or each.size_bytes <= MIB


def row(operation: str, algorithm: str, shape: str, size_bytes: int) -> Row:
    """The row of these; KeyError if nothing was measured."""
    wanted = (operation, algorithm, shape, size_bytes)
    for each in rows():
        if (each.operation, each.algorithm, each.shape, each.size_bytes) == wanted:
            return each
    raise KeyError(wanted)


def copies_of(ranks: int) -> float:
    """How often Bruck's all-to-all among so many ranks copies the buffer."""
    return math.log2(ranks) + COPIES


class Constants:
    """What is calibrated, by the size of a message: between two sizes that were measured by the logarithm of the size,
    beyond them as at the nearest one."""

    @cached_property
    def _sizes(self) -> list[int]:
        return sorted(each.size_bytes for each in rows() if each.shape == "2x2x2" and each.key == GEOMETRY_ROWS[0])

    def _median_s(self, operation: str, algorithm: str, size_bytes: int) -> float:
        return row(operation, algorithm, "2x2x2", size_bytes).median_s

    @cached_property
    def per_byte_s(self) -> float:
        """Of a message: from the largest one."""
        return self._median_s(*GEOMETRY_ROWS[0], self._sizes[-1]) / 3 / self._sizes[-1]

    def _at(self, size_bytes: float, values: list[float]) -> float:
        return float(np.interp(math.log2(max(size_bytes, 1.0)), np.log2(self._sizes), values))

    @cached_property
    def receive_s(self) -> float:
        """The overhead of a receive: of a linear reduce on 2x2x2, what it takes beyond one message, a seventh of it."""
        each = [
            ((both_us - broadcast_us) / 1e6 - self._message_s(size)) / 7
            for size, (both_us, broadcast_us) in RECEIVES.items()
        ]
        return sum(each) / len(each)

    def _message_s(self, size_bytes: int) -> float:
        return self._median_s(*GEOMETRY_ROWS[0], size_bytes) / 3

    def startup_s(self, message_bytes: float) -> float:
        """Of a message of so many bytes, without the overhead of its receive."""
        each = [max(self._message_s(size) - size * self.per_byte_s - self.receive_s, 0.0) for size in self._sizes]
        return self._at(message_bytes, each)

    def reduction_per_byte_s(self, message_bytes: float) -> float:
        """Of the operator, for a message of so many bytes."""
        both = [[self._median_s(*key, size) for key in GEOMETRY_ROWS[:2]] for size in self._sizes]
        added = [max(allreduce_s - broadcast_s, 0.0) / 3 for broadcast_s, allreduce_s in both]
        return self._at(message_bytes, [time_s / size for time_s, size in zip(added, self._sizes, strict=True)])

    def copies_s(self, each: Row) -> float:
        """Of Bruck's all-to-all: what it takes longer than its messages."""
        half = each.size_bytes / 2
        messages_s = math.log2(each.ranks) * (self.startup_s(half) + half * self.per_byte_s + self.receive_s)
        return max(each.median_s - messages_s, 0.0)

    @cached_property
    def packing_s(self) -> float:
        """Of a block that Bruck's all-to-all copies: least squares of relative errors of the larger shapes' rows, if the
        rest of 2x2x2 grows with the copies of the buffer."""
        squares = products = 0.0
        for each in rows():
            if each.key == BRUCK and each.is_calibration and each.shape != "2x2x2":
                small = row(*BRUCK, "2x2x2", each.size_bytes)
                copies = copies_of(each.ranks) / copies_of(small.ranks)
                slope = (each.ranks * copies_of(each.ranks) - small.ranks * copies_of(each.ranks)) / each.median_s
                squares += slope**2
                products += slope * (self.copies_s(each) - copies * self.copies_s(small)) / each.median_s
        return max(products / squares, 0.0)

    def packing_per_byte_s(self, each: Row) -> float:
        """Of a byte that Bruck's all-to-all copies, by the size of the buffer: what blocks leave of 2x2x2."""
        small = row(*BRUCK, "2x2x2", each.size_bytes)
        copies = copies_of(small.ranks)
        return max(self.copies_s(small) - copies * small.ranks * self.packing_s, 0.0) / (copies * small.size_bytes)


CONSTANTS = Constants()


@cache
def machine(shape: str, geometry: str = "folded") -> Machine:
    """The machine ``fugaku`` as a job of this shape; ``mesh``: as a grid of the shape with open lines instead."""
    side = SIDES[shape]
    if geometry == "folded":
        return load_machine(MACHINE, {"mapping.job": [side] * 3})
    lines = {"network.topology.shape": [side] * 3, "network.topology.wrap": [False] * 3}
    return load_machine(MACHINE, {"nodes": side**3, **lines, "mapping": "linear"})


def scenario(each: Row, geometry: str = "folded") -> Scenario:
    """A row as a scenario, with the constants of its messages."""
    parameters = {
        "P": each.ranks,
        "size": each.size_bytes,
        "network.startup": CONSTANTS.startup_s(each.message_bytes),
        "network.receive_overhead": CONSTANTS.receive_s,
        "network.per_byte": CONSTANTS.per_byte_s,
        "network.interfaces.per_byte": CONSTANTS.per_byte_s,
        "network.reduction_per_byte": CONSTANTS.reduction_per_byte_s(each.message_bytes),
    }
    if each.key == BRUCK:
        parameters |= {
            "network.packing": CONSTANTS.packing_s,
            "network.packing_per_byte": CONSTANTS.packing_per_byte_s(each),
        }
    return Scenario.of(WORKLOAD, machine(each.shape, geometry), parameters, phases=[PHASES[each.key]])


def formula_s(each: Row) -> float:
    """What the textbook says."""
    point = scenario(each).bind()
    values = formula_values(point.workload.formulas["textbook"], point, whole_program=False)
    assert values.total_s is not None, values.reason
    return float(values.total_s)


def forecast_s(each: Row) -> float:
    """What the closed form says of the messages as they are sent."""
    return float(sc.forecast(scenario(each)).makespan_s)


@cache
def simulation_s(each: Row, geometry: str = "folded") -> float:
    """The simulated time with all effects."""
    return float(sc.simulate(scenario(each, geometry)).makespan_s)


def error(value_s: float, each: Row) -> float:
    """Relative to the median."""
    return value_s / each.median_s - 1.0


def evidence(operation: str | None = None) -> list[Row]:
    """The rows that chose nothing, of any role; the cases check them all."""
    return [each for each in rows() if not each.is_calibration and operation in (None, each.operation)]
