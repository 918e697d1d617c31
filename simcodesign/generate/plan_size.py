"""The size of a Plan before it is made: operations of a program, and memory from the types of their arrays.

A program is lowered to columns of operations, which are copied when its parts are joined; passes add arrays of their
own; the compiled engine and the Result have theirs. The peak is reached either while parts are joined or at the end of
the run, and the larger of the two is what a simulation takes. ``tests/engine/test_memory_estimate.py`` compares the
estimates with measured peaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from simcodesign.core.memory_limit import check_memory
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.evaluation import EvaluatedBlock, EvaluatedStep
from simcodesign.describe.network.sharing import MaxMin
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.describe.python_programs.recording import BYTES_PER_ENTRY
from simcodesign.generate.counter_tally import BYTES_PER_OPERATION as TALLY_BYTES
from simcodesign.generate.demands.base import lowering
from simcodesign.generate.operation_columns import EXTRAS, FIELDS
from simcodesign.generate.plan import Plan
from simcodesign.generate.plan_builder import PlanBuilder, StepWriter
from simcodesign.generate.power import BYTES_PER_OPERATION as POWER_BYTES
from simcodesign.generate.program_lowering import whole_repeat

#: Ratio of operations, when each receive may come with one of a receiver that is held, to operations without it.
HELD_SHARE = 1.5
#: Operations of a step in memory while they are made, to those that it has: as columns, and woven rank by rank.
WOVEN = 2.0


@dataclass(frozen=True)
class ProgramSize:
    """Operations of all ranks together, at most, and the most in memory while the program is lowered.

    In memory at a time: parts and what they are joined to, or a part and its repetitions.
    """

    operations: float
    most: float

    def of_ranks(self, fraction: float) -> ProgramSize:
        """Return the size with only this fraction of the ranks."""
        return ProgramSize(self.operations * fraction, self.most * fraction)


def size_of(builder: PlanBuilder, block: EvaluatedBlock) -> ProgramSize:
    """Return the size of a block that is done once."""
    return _joined(_of_step(builder, step) for step in block.steps())


def _joined(parts: Iterable[ProgramSize]) -> ProgramSize:
    """Return the size of parts one after another: all are kept until they are copied into one (``segment.joined``)."""
    operations = most = 0.0
    several = 0
    for part in parts:
        most = max(most, operations + part.most)
        operations += part.operations
        several += part.operations > 0
    return ProgramSize(operations, max(most, 2 * operations if several > 1 else operations))


def _of_step(builder: PlanBuilder, step: EvaluatedBlock | EvaluatedStep) -> ProgramSize:
    if isinstance(step, EvaluatedStep):
        own = lowering(step.demand).operations(step.demand, StepWriter(builder, step))
        own *= HELD_SHARE if builder.prices.holds_receivers else 1.0
        own += builder.ranks if step.demand.started_as else 0
        return ProgramSize(own, WOVEN * own)
    if step.block.index is not None:
        return _joined(size_of(builder, iteration) for iteration in step.iterations())
    times = whole_repeat(step)
    if not times:
        return ProgramSize(0.0, 0.0)
    once = size_of(builder, step)
    every = times * once.operations
    return ProgramSize(every, max(once.most, once.operations + every) if times > 1 else once.most)


#: Bytes of an operation that passes add to its columns: its rank (4), whether it follows the previous one (1), its
#: station (4).
PASSED = 4 + 1 + 4
#: Bytes of an operation that the draft of a Plan keeps for the next simulation, apart from the Plan: the places of the
#: other ends of messages as the program has them (4); where times vary, durations before they do (8).
KEPT, VARIED = 4, 8
#: Bytes of an operation in the compiled engine and its log: what it waits for (4), the stack of those that are ready
#: (4), when it is done (8); where messages arrive later than they are sent, when (8).
RUN, ARRIVAL = 4 + 4 + 8, 8
#: Bytes of an operation while the log becomes a Result: two arrays of numbers, which kinds and ranks choose from.
RESULT = 2 * 8
#: Bytes of an operation with dependencies beyond its rank: their begin (8), and two ends of each.
DEPENDENCIES = 8 + 2 * 4
#: Bytes of an operation of programs whose parts are polled: ``Polls``, and the poll that began a part.
POLLED = 4 + 4 + 4 + 1 + 4
#: Bytes of an operation where messages share links fairly: the arrays of ``FairSharing``.
FAIR = 8 + 8 + 8 + 1 + 8 + 4
#: What LogGOPSim's rules take in addition: times of gaps, queues, who waits for what. Measured on 0.5 and 2.1 million
#: operations: 230 and 262 bytes.
LOGGOPS = 262
#: Additional bytes for dependencies and requests of an open stream, while they are written too. Measured: 57 bytes.
OPEN = 70
#: Bytes of an operation with the columns that each has.
BYTES_PER_OPERATION = sum(np.dtype(kind).itemsize for kind in FIELDS.values()) + PASSED + KEPT + RUN + RESULT


def columns_bytes(builder: PlanBuilder) -> int:
    """Return the bytes of all columns of an operation."""
    extra = (np.dtype(EXTRAS[name][0]).itemsize for name in builder.extra_fields)
    return sum(np.dtype(kind).itemsize for kind in FIELDS.values()) + sum(extra)


def check_plan_fits(size: ProgramSize, builder: PlanBuilder) -> None:
    """Check the memory of a simulation before any of its operations is made.

    Raises CapacityError, or warns, as ``check_memory``.
    """
    workload = builder.design_point.workload
    what = f"simulating {workload.name} with {builder.ranks} ranks takes up to {size.operations:.3g} operations"
    columns = columns_bytes(builder)
    needed = max(size.most * columns, size.operations * (columns + PASSED + KEPT + RUN + RESULT + _others(builder)))
    if builder.tally is not None:
        needed += builder.tally.bytes
    check_memory(what, needed, workload.place, "fewer ranks or iterations")


def _others(builder: PlanBuilder) -> float:
    """Bytes of an operation that only some programs and machines need."""
    workload, on, needed = builder.design_point.workload, builder.on, 0.0
    needed += VARIED if on & {Mechanism.UNEVEN_RANKS, Mechanism.VARIED_TIMES} else 0
    needed += ARRIVAL if on & {Mechanism.LINKS, Mechanism.INTERFACES} or "flight_s" in builder.extra_fields else 0
    needed += TALLY_BYTES if builder.tally is not None else 0
    needed += POWER_BYTES if builder.powers is not None else 0
    if any(isinstance(step.demand, RecordedProgram) for step in builder.evaluation.program.demands()):
        needed += BYTES_PER_ENTRY
    needed += OPEN if workload.is_open else 0
    needed += DEPENDENCIES if workload.has_overlap else 0
    needed += POLLED if builder.polled_names else 0
    sharing = builder.design_point.machine.network.sharing
    needed += FAIR if Mechanism.LINKS in on and isinstance(sharing, MaxMin) else 0
    return needed + (LOGGOPS if builder.design_point.has_loggops or builder.prices.has_rendezvous else 0)


def plan_bytes(plan: Plan) -> int:
    """Return the bytes of the arrays of a Plan; each array counts once."""
    return sum({id(array): array.nbytes for array in _arrays(plan)}.values())


def _arrays(content: Any) -> Iterator[np.ndarray]:
    """Yield the arrays in a dataclass, each as the array that has its memory."""
    if isinstance(content, np.ndarray):
        while isinstance(content.base, np.ndarray):
            content = content.base
        yield content
    elif isinstance(content, tuple | list):
        for one in content:
            yield from _arrays(one)
    elif is_dataclass(content):
        for field in fields(content):
            yield from _arrays(getattr(content, field.name))
