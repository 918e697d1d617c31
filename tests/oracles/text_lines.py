"""Lines of a trace of text, parsed with NumPy: the oracle of the compiled ``text_parser``.

A line is blank, or a label, an address in hexadecimal digits and the rest of it, each with blanks before it. All lines
are parsed at once: a loop goes on to the next byte of every line whose present part has not ended there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.locality.traces.text_bytes import BLANK, COMMA, DECIMAL, DIGIT, MESSAGE, NEWLINE, NOTHING, Parsed
from simcodesign.locality.traces.trace import FETCH, Accesses, Addresses, Kinds


class _Lines:
    """Lines still being looked at: their numbers, and the place that each has reached."""

    def __init__(self, text: Kinds, at: NDArray[np.int64]) -> None:
        self.text, self.at = text, at

    def now(self) -> Kinds:
        """The byte that each line has reached."""
        return self.text[self.at]

    def skip(self, table: NDArray[np.bool_]) -> None:
        """Goes past all bytes of a table."""
        going = np.flatnonzero(table[self.now()])
        while going.size:
            self.at[going] += 1
            going = going[table[self.text[self.at[going]]]]

    def number(self) -> tuple[Addresses, NDArray[np.bool_]]:
        """Goes past a hexadecimal number; its value, and whether there is one and it fits in 64 bits."""
        value = np.zeros(len(self.at), np.uint64)
        good = DIGIT[self.now()] != NOTHING
        going = np.flatnonzero(good)
        while going.size:
            good[going[value[going] >> np.uint64(60) != 0]] = False
            value[going] = value[going] << np.uint64(4) | DIGIT[self.text[self.at[going]]]
            self.at[going] += 1
            going = going[DIGIT[self.text[self.at[going]]] != NOTHING]
        return value, good


def parse_lines(text: Kinds, labels: Kinds, is_lackey: bool, with_fetches: bool, group: int) -> Parsed:
    """The accesses of bytes that end with a newline; ``group`` is the last instruction fetched before them."""
    ends = np.flatnonzero(text == NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lines = _Lines(text, starts.copy())
    lines.skip(BLANK)
    has_text = lines.at < ends
    if is_lackey:
        first = MESSAGE[lines.now()]
        has_text &= ~(first & (text[np.minimum(lines.at + 1, ends)] == lines.now()))
    starts, lines = starts[has_text], _Lines(text, lines.at[has_text])
    label, address, good = _records(lines, labels, is_lackey)
    wrong = int(starts[np.argmin(good)]) if not good.all() else -1
    fetches = np.flatnonzero(label == FETCH)
    # Number of the fetch before each line; 0 stands for the one before the text.
    issued_by = np.cumsum(label == FETCH)
    groups = np.concatenate([[np.uint64(group)], address[fetches]])
    wanted = slice(None) if with_fetches else np.flatnonzero(label != FETCH)
    accesses = Accesses(address[wanted], label[wanted], groups[issued_by[wanted]])
    return Parsed(accesses, len(ends), len(fetches), wrong, int(groups[-1]))


def _records(lines: _Lines, labels: Kinds, is_lackey: bool) -> tuple[Kinds, Addresses, NDArray[np.bool_]]:
    """Label and address of lines that have reached their label, and whether the whole line is as it should be."""
    label = labels[lines.now()]
    good = label != NOTHING
    lines.at[good] += 1
    good &= BLANK[lines.now()]
    lines.skip(BLANK)
    address, is_number = lines.number()
    good &= is_number
    if not is_lackey:
        return label, address, good & (BLANK[lines.now()] | (lines.now() == NEWLINE))
    good &= lines.now() == COMMA
    lines.at[good] += 1
    good &= DECIMAL[lines.now()]
    lines.skip(DECIMAL)
    lines.skip(BLANK)
    return label, address, good & (lines.now() == NEWLINE)
