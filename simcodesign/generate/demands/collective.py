"""Lowering of collective demands: takes the messages of the algorithm from ``generate/messages/collectives``."""

from __future__ import annotations

from simcodesign.describe.demands.collective import Collective
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.messages.collectives.algorithm_messages import messages_of
from simcodesign.generate.plan_builder import StepWriter


class CollectiveLowering(Lowering[Collective]):
    """Sends and receives of all ranks."""

    is_collective = True

    def operations(self, demand: Collective, writer: StepWriter) -> float:
        each = 2 if writer.columns.reduction_s_per_byte == 0 else 3  # send, receive, operator
        return each * messages_of(demand).most(writer.builder.ranks)

    def write(self, demand: Collective, writer: StepWriter) -> None:
        size_bytes, tally = float(writer.amount(demand.bytes, "bytes")), writer.builder.tally
        if tally is not None:
            repetitions = writer.step.repetitions
            tally.note("collectives", writer.phase, repetitions)
            tally.note("collective_bytes", writer.phase, size_bytes * repetitions)
        messages_of(demand).write(writer.columns, size_bytes)


LOWERINGS.add(Collective, CollectiveLowering())
