"""Messages from one rank to another as operations, paired by their tags when all are known."""

from __future__ import annotations

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.generate.columns import Int32s, of_ranks
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.plan import ANY
from simcodesign.generate.plan_builder import StepWriter


class SendLowering(Lowering[Send]):
    """One send of each rank."""

    def write(self, demand: Send, writer: StepWriter) -> None:
        size, who = writer.amount(demand.bytes, "bytes"), writer.who
        writer.columns.message(SEND, _peers(demand.to, "to", writer), of_ranks(size, who), demand.tag, who)


class ReceiveLowering(Lowering[Receive]):
    """One receive of each rank; if its size is not stated, the size of its message counts."""

    def write(self, demand: Receive, writer: StepWriter) -> None:
        who = writer.who
        size: FloatOrArray = np.nan if demand.bytes is None else writer.amount(demand.bytes, "bytes")
        peer = ANY if demand.source is None else _peers(demand.source, "from", writer)
        writer.columns.message(RECEIVE, peer, of_ranks(size, who), demand.tag, who)


def _peers(expression: Expression, what: str, writer: StepWriter) -> Int32s:
    """Return the peer of each rank to which the demand applies. InputError for one that is not another rank."""
    ranks, who = writer.builder.ranks, writer.who
    here = np.arange(ranks) if who is None else who
    value = writer.step.evaluation.value(expression, what)
    if writer.step.demand.communicator is not None:
        return writer.step.membership.checked_peers(value, what, expression, here.astype(np.int64)).astype(np.int32)
    peer = np.broadcast_to(of_ranks(value, who), here.shape)
    bad = (peer != np.floor(peer)) | (peer < 0) | (peer >= ranks) | (peer == here)
    if bad.any():
        rank = int(here[bad][0])
        raise InputError(
            f"rank {rank}: {what} = {expression.text} is not another rank",
            expression.place,
            value=float(peer[bad][0]),
            allowed=f"0 to {ranks - 1}, not {rank} itself; % P wraps around",
        )
    return peer.astype(np.int32)


LOWERINGS.add(Send, SendLowering())
LOWERINGS.add(Receive, ReceiveLowering())
