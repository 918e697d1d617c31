"""Labels of a rank in a GOAL file, and the dependencies between the operations that they name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled
from simcodesign.describe.goal.errors import FINE, UNKNOWN
from simcodesign.describe.goal.tokens import Bytes


class Edges(NamedTuple):
    """``target`` waits for ``source``; while a rank is read, both are labels, afterwards operations."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    early: NDArray[np.bool_]


class Labels(NamedTuple):
    """Hash table of the labels of the rank that is being read: ``slots`` (a power of two) hold 1 + label, or 0.

    A label has its bytes in the file, its operation (-1 while it has only been mentioned) and its slot.
    """

    slots: NDArray[np.int32]
    at: NDArray[np.int64]
    end: NDArray[np.int64]
    operation: NDArray[np.int32]
    slot: NDArray[np.int64]


@compiled
def label_number(data: Bytes, labels: Labels, known: int, at: int, end: int, stem: int, number: int) -> int:
    """The number of the label ``data[at:end]`` in this rank, ``known`` if it is new (it is entered then).

    Labels that count up (l1, l2, l3 ...) lie side by side, which keeps them in the processor's cache.
    """
    mask = len(labels.slots) - 1
    slot, step = (stem + number) & mask, (stem >> 15) | 1  # an odd step comes by every slot
    while labels.slots[slot] != 0:
        label = int(labels.slots[slot]) - 1
        if _same(data, labels.at[label], labels.end[label], at, end):
            return label
        slot = (slot + step) & mask
    labels.slots[slot] = known + 1
    labels.at[known], labels.end[known] = at, end
    labels.operation[known], labels.slot[known] = -1, slot
    return known


@compiled
def _same(data: Bytes, at: int, end: int, other: int, other_end: int) -> bool:
    if end - at != other_end - other:
        return False
    for index in range(end - at):  # noqa: SIM110 - compiled, generators are not
        if data[at + index] != data[other + index]:
            return False
    return True


@compiled
def resolve_labels(labels: Labels, known: int, edges: Edges, first_edge: int, edge: int) -> tuple[int, int]:
    """Turn the labels of a rank's edges into operations and empty the table: error, where the label stands."""
    for label in range(known):
        labels.slots[labels.slot[label]] = 0
        if labels.operation[label] < 0:
            return UNKNOWN, labels.at[label]
    for index in range(first_edge, edge):
        edges.source[index] = labels.operation[edges.source[index]]
        edges.target[index] = labels.operation[edges.target[index]]
    return FINE, 0
