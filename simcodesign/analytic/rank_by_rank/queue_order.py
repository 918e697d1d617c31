"""The order in which operations of a rank that become ready together come into LogGOPSim's queue.

GNU's ``std::sort`` leaves it, sends before receives: equal ones keep their order up to 16 operations, not beyond.
"""

from __future__ import annotations

import functools

#: Ranges no longer than this are left to insertion sort, which keeps the order of equal items.
SHORT = 16
#: 0 for a send and 1 for a receive, and its number.
Item = tuple[int, int]


@functools.lru_cache(maxsize=1024)
def order_of_sends(sends: int) -> tuple[int, ...]:
    """Which of so many sends comes first, second, ... where as many receives are posted after them."""
    items = [(0, number) for number in range(sends)] + [(1, number) for number in range(sends)]
    return tuple(number for kind, number in sorted(_partitioned(items), key=_kind) if kind == 0)


def _kind(item: Item) -> int:
    return item[0]


def _partitioned(items: list[Item]) -> list[Item]:
    """Quicksort by the median of three down to short ranges."""
    if len(items) <= SHORT:
        return items
    pivot_at = _median(items)
    items[0], items[pivot_at] = items[pivot_at], items[0]
    pivot, low, high = _kind(items[0]), 1, len(items)
    while True:
        while _kind(items[low]) < pivot:
            low += 1
        high -= 1
        while _kind(items[high]) > pivot:
            high -= 1
        if low >= high:
            return _partitioned(items[:low]) + _partitioned(items[low:])
        items[low], items[high] = items[high], items[low]
        low += 1


def _median(items: list[Item]) -> int:
    """The place of the median of the second item, the middle one and the last: which of equal ones is part of it."""
    one, middle, last = 1, len(items) // 2, len(items) - 1
    lower, upper = (one, middle) if _kind(items[one]) < _kind(items[middle]) else (middle, one)
    if _kind(items[upper]) < _kind(items[last]):
        return upper
    return last if _kind(items[lower]) < _kind(items[last]) else lower
