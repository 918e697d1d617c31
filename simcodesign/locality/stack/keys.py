"""State of every key, in pages of neighbouring keys: programs touch neighbours together.

A page is a stretch of an array with one entry for each of its keys, 0 for none; a hash table with open addressing
gives the page of a key. With 64 keys to a page, a page of which a single key is used would take 256 bytes for it.
Where the pages turn out to be sparse, they are therefore broken into pages of 4 keys.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.native.records import Record
from simcodesign.locality.stack.loops import loops

#: log2 of the keys in a page, and in a page with sparse keys.
WIDE, NARROW = 6, 2
#: Wide pages are sparse with fewer keys than this, on average.
SPARSE = 16
#: Pages for which there is memory at first, and log2 of the first hash table.
PAGES, TABLE = 1 << 10, 11
#: Memory grows by one page in this many. Little, as memory counts, and growing in place is cheap.
GROWTH = 8
#: A hash table is full with four of five places taken.
_FULL = (4, 5)


class Keys(Record):
    """The entries of all keys: ``slot`` in a counter of stack distances, otherwise ``entry``."""

    struct = "stack_keys"
    use = "a stack distance"

    @property
    def entries(self) -> NDArray[Any]:
        """The array of entries."""
        return self.arrays["slot" if "slot" in self.arrays else "entry"]


def new_keys(kind: type[np.unsignedinteger[Any]], page_bits: int = WIDE, pages: int = PAGES) -> Keys:
    """Return no keys; entries of the type ``kind``."""
    return _keys(np.zeros(pages << page_bits, kind), np.zeros(2 << TABLE, np.uint64), page_bits, 0)


def _keys(entries: NDArray[Any], table: NDArray[np.uint64], page_bits: int, pages: int) -> Keys:
    places = len(table) // 2
    max_pages = min(len(entries) >> page_bits, places * _FULL[0] // _FULL[1])
    keys = Keys(table=table, places=places, page_bits=page_bits, table_bits=places.bit_length() - 1, pages=pages)
    setattr(keys, "slot" if entries.dtype == np.uint32 else "entry", entries)
    keys.max_pages = max_pages
    return keys


def grown(keys: Keys, used: int) -> Keys:
    """Return memory for more pages, with ``used`` keys; sparse pages are broken up."""
    pages, page_bits, entries, table = keys.pages, keys.page_bits, keys.entries, keys.arrays["table"]
    if page_bits == WIDE and used < SPARSE * pages:
        return _broken_up(keys, used)
    if pages << page_bits == len(entries):
        # In place; nothing else looks into this array. What is new is zero.
        entries.resize((pages + pages // GROWTH + 1) << page_bits, refcheck=False)
    if pages != len(table) // 2 * _FULL[0] // _FULL[1]:
        return _keys(entries, table, page_bits, pages)
    larger = _keys(entries, np.zeros(2 * len(table), np.uint64), page_bits, pages)
    loops().stack_rehash(ctypes.byref(keys), ctypes.byref(larger))
    return larger


def _broken_up(keys: Keys, used: int) -> Keys:
    places = 1 << TABLE
    while used * _FULL[1] >= places * _FULL[0]:
        places *= 2
    entries = np.zeros((used + used // GROWTH + 1) << NARROW, keys.entries.dtype)
    narrow = _keys(entries, np.zeros(2 * places, np.uint64), NARROW, 0)
    loops().stack_break_up(ctypes.byref(keys), ctypes.byref(narrow))
    # Fewer pages than keys are left if some keys share one.
    pages = narrow.pages
    entries.resize((pages + pages // GROWTH + 1) << NARROW, refcheck=False)
    return _keys(entries, narrow.arrays["table"], NARROW, pages)
