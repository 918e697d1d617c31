"""Halo exchanges as messages."""

from __future__ import annotations

import functools

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.exchange import Exchange, check_train, take_trains
from simcodesign.generate.columns import Ranks
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.messages.group_columns import EqualGroups, equal_groups
from simcodesign.generate.messages.halo import halo_exchange
from simcodesign.generate.plan_builder import StepWriter


class ExchangeLowering(Lowering[Exchange]):
    """Sends to all neighbours, then receives from all; some messages together as trains."""

    def operations(self, demand: Exchange, writer: StepWriter) -> float:
        if demand.group is None:
            return _operations(demand, writer, writer.amount, writer.builder.ranks)
        groups = equal_groups(writer.step)
        return sum(_operations(demand, writer, _amounts(writer, one), one.members.size) for one in groups)

    def write(self, demand: Exchange, writer: StepWriter) -> None:
        if demand.group is None:
            _write(demand, writer, writer.columns, writer.amount)
            return
        for several in equal_groups(writer.step):
            _write(demand, writer, several.ranks, _amounts(writer, several))
            writer.columns.columns += several.columns(writer.builder.ranks)


def _amounts(writer: StepWriter, groups: EqualGroups) -> Evaluate:
    """Evaluate amounts for groups of one size."""
    return functools.partial(writer.amount, changed=groups.names)


def _operations(demand: Exchange, writer: StepWriter, amount: Evaluate, ranks: int) -> float:
    messages, train = _messages(demand, writer, amount)
    return float(sum(4 * float(np.ceil(count / train)) * ranks for count in messages))


def _write(demand: Exchange, writer: StepWriter, ranks: Ranks, amount: Evaluate) -> None:
    """Write the messages of one process grid."""
    sizes = [float(size) for size in demand.sizes_bytes(amount)]
    messages, train = _messages(demand, writer, amount)
    grid = [int(extent) for extent in demand.checked_extents(ranks.count, amount)]
    whole = [int(count) for count in messages]
    halo_exchange(ranks, grid, sizes, demand.periodic, whole, int(min(train, max(whole) or 1)))


def _messages(demand: Exchange, writer: StepWriter, amount: Evaluate) -> tuple[list[float], float]:
    """Return messages to each neighbour by dimension, and how many of them go together.

    One by one if trains are not the same. InputError unless they are whole.
    """
    messages = [float(count) for count in demand.message_counts(amount)]
    for count, expression in zip(messages, demand.messages_by_dim, strict=True):
        if count != np.floor(count):
            what = (
                f"a simulation needs whole messages, but messages = {expression.text} = {count:g} here; choose "
                "parameters that divide evenly (a forecast takes any number)"
            )
            raise InputError(what, expression.place or demand.place)
    train = float(amount(demand.train, "train"))
    check_train(demand, train)
    return messages, train if take_trains(writer.machine.levels) else 1.0


LOWERINGS.add(Exchange, ExchangeLowering())
