"""What is known of every key, in pages of neighbouring keys: programs touch neighbours together.

A page is a stretch of an array with one entry for each of its keys, 0 for none; a hash table with open addressing
gives the page of a key. With 64 keys to a page, a page of which a single key is used would take 256 bytes for it.
Where the pages turn out to be sparse, they are therefore broken into pages of 4 keys.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled_without_arrays, inlined
from simcodesign.locality.stack.slots import ALL, ONE, TWO, ZERO, U, Words

#: log2 of keys in a page, and in a page where these are sparse.
WIDE, NARROW = 6, 2
#: Wide pages are sparse with fewer keys than this, on average.
SPARSE = 16
#: Pages for which there is memory at first, and log2 of the first hash table.
PAGES, TABLE = 1 << 10, 11
#: Memory grows by one page in so many. Little, as memory counts, and growing in place is cheap.
GROWTH = 8
#: A hash table is full with four of five places taken.
_FULL = (4, 5)
#: Stands for the place of a page when all are in use.
NO_ROOM = ALL
# 2^64 over the golden ratio (D. Knuth, The Art of Computer Programming 3, Section 6.4).
_GOLDEN = U(0x9E3779B97F4A7C15)


class Keys(NamedTuple):
    """The entries of all keys."""

    entry: NDArray[Any]  # (pages << page_bits,)
    table: Words  # (2 * places,) number of a page among all, and 1 + number of its stretch of ``entry``; 0 for none
    page_bits: np.uint64
    table_bits: np.uint64
    max_pages: np.uint64  # pages that may be in use


def new_keys(kind: type[np.unsignedinteger[Any]], page_bits: int = WIDE, pages: int = PAGES) -> Keys:
    """No keys; entries of the type ``kind``."""
    return _keys(np.zeros(pages << page_bits, kind), np.zeros(2 << TABLE, np.uint64), page_bits)


def _keys(entry: NDArray[Any], table: Words, page_bits: int) -> Keys:
    places = len(table) // 2
    max_pages = min(len(entry) >> page_bits, places * _FULL[0] // _FULL[1])
    return Keys(entry, table, U(page_bits), U(places.bit_length() - 1), U(max_pages))


def grown(keys: Keys, pages: int, used: int) -> tuple[Keys, int]:
    """Memory for more than ``pages`` pages, with ``used`` keys; and the number of pages now, which changes when sparse
    ones are broken up."""
    if int(keys.page_bits) == WIDE and used < SPARSE * pages:
        return _broken_up(keys, pages, used)
    entry, table = keys.entry, keys.table
    if pages << int(keys.page_bits) == len(entry):
        # In place; nothing else looks into this array. What is new is zero.
        entry.resize((pages + pages // GROWTH + 1) << int(keys.page_bits), refcheck=False)
    if pages == len(table) // 2 * _FULL[0] // _FULL[1]:
        table = np.zeros(2 * len(table), np.uint64)
        rehash(keys.table, table, U(len(table).bit_length() - 2))
    return _keys(entry, table, int(keys.page_bits)), pages


def _broken_up(keys: Keys, pages: int, used: int) -> tuple[Keys, int]:
    places = 1 << TABLE
    while used * _FULL[1] >= places * _FULL[0]:
        places *= 2
    narrow = np.zeros(2 * places, np.uint64)
    entry = np.zeros((used + used // GROWTH + 1) << NARROW, keys.entry.dtype)
    count = break_up(keys, entry, narrow, U(NARROW), U(places.bit_length() - 1))
    # Fewer pages than keys are left where some keys share one.
    entry.resize((int(count) + int(count) // GROWTH + 1) << NARROW, refcheck=False)
    return _keys(entry, narrow, NARROW), int(count)


@inlined
def place_of(table: Words, page: np.uint64, table_bits: np.uint64) -> np.uint64:
    """Where in the table a page stands, or may be put: a place whose second number is 0."""
    last = (TWO << table_bits) - ONE
    place: np.uint64 = ((page * _GOLDEN) >> (U(64) - table_bits)) << ONE
    while table[place + ONE] != ZERO and table[place] != page:
        place = (place + TWO) & last
    return place


@inlined
def stretch_of(keys: Keys, page: np.uint64, state: Words, used: int) -> np.uint64:
    """Where the entries of a page begin, which may be new and is counted then in ``state[used]``; NO_ROOM for none."""
    place = place_of(keys.table, page, keys.table_bits)
    if keys.table[place + ONE] == ZERO:
        if state[used] == keys.max_pages:
            return NO_ROOM
        state[used] += ONE
        keys.table[place] = page
        keys.table[place + ONE] = state[used]
    stretch: np.uint64 = (keys.table[place + ONE] - ONE) << keys.page_bits
    return stretch


@compiled_without_arrays
def rehash(old: Words, new: Words, table_bits: np.uint64) -> None:
    """Put all pages of a table into a larger one."""
    for place in range(0, len(old), 2):
        if old[place + 1] != ZERO:
            at = place_of(new, old[place], table_bits)
            new[at] = old[place]
            new[at + ONE] = old[place + 1]


@compiled_without_arrays
def break_up(keys: Keys, entry: NDArray[Any], table: Words, page_bits: np.uint64, table_bits: np.uint64) -> np.uint64:
    """Put all entries into smaller pages; how many these are."""
    pages = ZERO
    for place in range(0, len(keys.table), 2):
        if keys.table[place + 1] == ZERO:
            continue
        first = (keys.table[place + 1] - ONE) << keys.page_bits
        for within in range(1 << keys.page_bits):
            value = keys.entry[first + np.uint64(within)]
            if value == 0:
                continue
            key = (keys.table[place] << keys.page_bits) + np.uint64(within)
            at = place_of(table, key >> page_bits, table_bits)
            if table[at + ONE] == ZERO:
                pages += ONE
                table[at] = key >> page_bits
                table[at + ONE] = pages
            stretch = (table[at + ONE] - ONE) << page_bits
            entry[stretch + (key & ((ONE << page_bits) - ONE))] = value
    return pages
