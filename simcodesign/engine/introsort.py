"""Introsort (D. Musser, "Introspective sorting and selection algorithms", 1997) as ``std::sort`` of GNU's library is.

LogGOPSim sorts operations that become ready together by kind with it. Equal ones keep their order up to 16 operations,
not beyond: quicksort by the median of three, then insertion sort. The resulting order affects its makespans.
Three different keys never reach the depth at which introsort turns to heap sort (tried on random ones).
"""

from __future__ import annotations

from typing import Any

#: Ranges no longer than this are left to insertion sort.
SHORT = 16


def introsort(items: Any, keys: Any, count: int, ranges: Any) -> None:
    """Sort the first ``count`` items by their keys; both move. ``ranges``: room for as many numbers.

    ``engine/native/loggopsim.c`` does this in C.
    """
    pending = 1 if count > SHORT else 0
    if pending:
        ranges[0], ranges[1] = 0, count
    while pending:
        pending -= 1
        first, last = ranges[2 * pending], ranges[2 * pending + 1]
        while last - first > SHORT:
            one, two, three = first + 1, first + (last - first) // 2, last - 1
            if keys[one] < keys[two]:
                median = two if keys[two] < keys[three] else (three if keys[one] < keys[three] else one)
            else:
                median = one if keys[one] < keys[three] else (three if keys[two] < keys[three] else two)
            items[first], items[median] = items[median], items[first]
            keys[first], keys[median] = keys[median], keys[first]
            left, right = first + 1, last
            while True:
                while keys[left] < keys[first]:
                    left += 1
                right -= 1
                while keys[first] < keys[right]:
                    right -= 1
                if left >= right:
                    break
                items[left], items[right] = items[right], items[left]
                keys[left], keys[right] = keys[right], keys[left]
                left += 1
            if last - left > SHORT:
                ranges[2 * pending], ranges[2 * pending + 1] = left, last
                pending += 1
            last = left
    for place in range(1, count):
        item, key, to = items[place], keys[place], place
        while to > 0 and key < keys[to - 1]:
            items[to], keys[to] = items[to - 1], keys[to - 1]
            to -= 1
        items[to], keys[to] = item, key
