"""A heap of numbered items by a key of each, compiled; it knows the place of every item, so that keys may change.

Keys stand in the order of the heap, beside each other, since comparing them is most of the work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from simcodesign.core.jit import inlined
from simcodesign.engine.compiled.state import Array
from simcodesign.generate.plan import NONE


class Heap(NamedTuple):
    """Items, the one of the smallest key first."""

    key: Array  # by place
    item: Array  # by place
    place: Array  # by item; NONE for one that is not in the heap
    size: NDArray[np.int64]  # one number


def heap_for(items: int, key: DTypeLike) -> Heap:
    """An empty heap for the items 0, 1, ... Their places are to be set to NONE before they are put in."""
    numbers = np.empty(items, np.int32), np.empty(items, np.int32)
    return Heap(np.empty(items, key), *numbers, np.zeros(1, np.int64))


@inlined
def put(heap: Heap, item: int, key: float) -> None:
    """Put an item in, or give another key to one that is there."""
    place = heap.place[item]
    if place == NONE:
        place = heap.size[0]
        heap.size[0] += 1
        _rise(heap, place, item, key)
    elif key < heap.key[place]:
        _rise(heap, place, item, key)
    else:
        _sink(heap, place, item, key)


@inlined
def take_first(heap: Heap) -> int:
    """Take the item of the smallest key out."""
    first = int(heap.item[0])
    heap.place[first] = NONE
    heap.size[0] -= 1
    last = heap.size[0]
    if last > 0:
        _sink(heap, 0, heap.item[last], heap.key[last])
    return first


@inlined
def _rise(heap: Heap, place: int, item: int, key: float) -> None:
    """Put an item at a place, or above it where it belongs."""
    while place > 0:
        above = (place - 1) // 2
        if not key < heap.key[above]:
            break
        _set(heap, place, heap.item[above], heap.key[above])
        place = above
    _set(heap, place, item, key)


@inlined
def _sink(heap: Heap, place: int, item: int, key: float) -> None:
    """Put an item at a place, or below it where it belongs."""
    size, child = heap.size[0], 2 * place + 1
    while child < size:
        if child + 1 < size and heap.key[child + 1] < heap.key[child]:
            child += 1
        if not heap.key[child] < key:
            break
        _set(heap, place, heap.item[child], heap.key[child])
        place, child = child, 2 * child + 1
    _set(heap, place, item, key)


@inlined
def _set(heap: Heap, place: int, item: int, key: float) -> None:
    heap.key[place], heap.item[place] = key, item
    heap.place[item] = place
