"""Lowering of collective demands: takes the messages of the algorithm from ``generate/messages/collectives``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.collective import SEGMENT_ROUNDING, Collective
from simcodesign.generate.columns import Int32s
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.messages.collectives.algorithm_messages import messages_of
from simcodesign.generate.messages.group_columns import EqualGroups, equal_groups
from simcodesign.generate.plan_builder import StepWriter


class CollectiveLowering(Lowering[Collective]):
    """Sends and receives of all ranks, or of every group."""

    is_collective = True

    def operations(self, demand: Collective, writer: StepWriter) -> float:
        costs = writer.columns.data_costs
        copies_take_time = max(costs.packing_s, costs.packing_s_per_byte) > 0

        def of_group(ranks: int, names: Mapping[str, FloatOrArray] | None = None) -> float:
            way = demand.choices(float(ranks), writer.amount(demand.bytes, "bytes", names))[0][0]
            messages = messages_of(way)
            # Send, receive, operator, and copies after each round and before the first one.
            each = 2.0 + (costs.reduction_s_per_byte > 0) + 2.0 * (copies_take_time and messages.packs)
            return each * messages.at_most(ranks, writer.machine) * _segments(way, writer, names)

        if demand.group is None:
            return of_group(writer.builder.ranks)
        return sum(len(one.members) * of_group(one.size, one.names) for one in equal_groups(writer.step))

    def write(self, demand: Collective, writer: StepWriter) -> None:
        if demand.group is None and demand.root is None:
            size_bytes = writer.amount(demand.bytes, "bytes")
            size_bytes = size_bytes if demand.is_sized_by_rank else float(size_bytes)
            _note(writer, 1.0, size_bytes)
            way = demand.choices(float(writer.builder.ranks), size_bytes)[0][0]
            options = _options(way, writer) | _nodes(way, writer)
            messages_of(way).write(writer.columns, size_bytes, **options)
            return
        for several in equal_groups(writer.step, demand.root):
            size_bytes = writer.amount(demand.bytes, "bytes", several.names)
            taking_part = np.zeros(writer.builder.ranks)
            taking_part[several.members] = 1.0
            _note(writer, taking_part, size_bytes)
            size_bytes = np.asarray(size_bytes)[several.members[0]] if demand.is_sized_by_rank else float(size_bytes)
            way = demand.chosen(several.size, size_bytes)
            for alike in _alike_on_nodes(several, writer) if way.looks_at_nodes else (several,):
                options = _options(way, writer, several.names) | _nodes(way, writer, alike.members[0])
                messages_of(way).write(alike.ranks, size_bytes, **options)
                writer.columns.columns += alike.columns(writer.builder.ranks)


def _options(demand: Collective, writer: StepWriter, names: Mapping[str, FloatOrArray] | None = None) -> dict[str, Any]:
    """Arguments of the algorithm in addition to the bytes."""
    return {} if demand.segment is None else {"segments": _segments(demand, writer, names)}


def _nodes(demand: Collective, writer: StepWriter, members: Int32s | None = None) -> dict[str, Any]:
    """Return the nodes of the ranks, or of these members in their order, for an algorithm that looks at them."""
    if not demand.looks_at_nodes:
        return {}
    node = writer.machine.node_of(writer.builder.ranks)
    return {"node": node if members is None else node[members]}


def _alike_on_nodes(several: EqualGroups, writer: StepWriter) -> Iterator[EqualGroups]:
    """Yield the groups in parts: in all groups of a part, the same members share nodes."""
    node = writer.machine.node_of(writer.builder.ranks)[several.members]
    first = []  # of every member, the first one on its node
    for row in node:
        _, index, inverse = np.unique(row, return_index=True, return_inverse=True)
        first.append(index[inverse.ravel()])
    patterns, which = np.unique(first, axis=0, return_inverse=True)
    for number in range(len(patterns)):
        yield replace(several, members=several.members[which.ravel() == number])


def _segments(demand: Collective, writer: StepWriter, names: Mapping[str, FloatOrArray] | None = None) -> int:
    """In how many parts its bytes are passed on. InputError if segments are to have no bytes."""
    if demand.segment is None:
        return 1
    most_bytes = float(writer.amount(demand.segment, "segment", names))
    if most_bytes <= 0:
        raise InputError("a segment has no bytes", demand.segment.place, value=most_bytes, allowed="more than 0 bytes")
    exact = float(writer.amount(demand.bytes, "bytes", names)) / most_bytes
    return max(math.ceil(exact - SEGMENT_ROUNDING), 1)


def _note(writer: StepWriter, taking_part: FloatOrArray, size_bytes: FloatOrArray) -> None:
    """Note for the counters of which ranks the operation is: 1 for each, 0 for others."""
    tally, repetitions = writer.builder.tally, writer.step.repetitions
    if tally is not None:
        tally.note("collectives", writer.phase, taking_part * repetitions)
        tally.note("collective_bytes", writer.phase, size_bytes * taking_part * repetitions)


LOWERINGS.add(Collective, CollectiveLowering())
