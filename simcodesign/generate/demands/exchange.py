"""Halo exchanges as messages."""

from __future__ import annotations

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.describe.demands.exchange import Exchange, check_train
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.messages.halo import halo_exchange
from simcodesign.generate.plan_builder import StepWriter


class ExchangeLowering(Lowering[Exchange]):
    """Sends to all neighbours, then receives from all; some messages together as trains."""

    def operations(self, demand: Exchange, writer: StepWriter) -> float:
        messages, train = _messages(demand, writer)
        return float(sum(4 * float(np.ceil(count / train)) * writer.builder.ranks for count in messages))

    def write(self, demand: Exchange, writer: StepWriter) -> None:
        sizes = [float(size) for size in demand.sizes_bytes(writer.amount)]
        messages, train = _messages(demand, writer)
        grid = [int(extent) for extent in demand.checked_extents(writer.builder.ranks, writer.amount)]
        whole = [int(count) for count in messages]
        halo_exchange(writer.columns, grid, sizes, demand.periodic, whole, int(min(train, max(whole) or 1)))


def _messages(demand: Exchange, writer: StepWriter) -> tuple[list[float], float]:
    """Messages to each neighbour by dimension, and how many of them go together. InputError unless they are whole."""
    messages = [float(count) for count in demand.message_counts(writer.amount)]
    for count, expression in zip(messages, demand.messages_by_dim, strict=True):
        if count != np.floor(count):
            what = (
                f"a simulation needs whole messages, but messages = {expression.text} = {count:g} here; choose "
                "parameters that divide evenly (a forecast takes any number)"
            )
            raise InputError(what, expression.place or demand.place)
    train = float(writer.amount(demand.train, "train"))
    check_train(demand, train, writer.machine.network)
    return messages, train


LOWERINGS.add(Exchange, ExchangeLowering())
