"""Lines of a trace of text, parsed with NumPy: the oracle of the compiled ``text_parser``.

A line is blank, or a label, an address in hexadecimal digits and the rest of it, each with blanks before it. All lines
are parsed at once: a loop goes on to the next byte of every line whose present part has not ended there.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from simcodesign.locality.traces.text_bytes import DIGIT, NOTHING, Parsed
from simcodesign.locality.traces.trace import FETCH, MOST_SIZE, Accesses, Addresses, Kinds, Sizes

NEWLINE, COMMA = (ord(sign) for sign in "\n,")
DECIMAL, BLANK, MESSAGE = (np.isin(np.arange(256), [*each]) for each in (b"0123456789", b" \t\r", b"=-*"))


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
    label, address, size, good = _records(lines, labels, is_lackey)
    wrong = int(starts[np.argmin(good)]) if not good.all() else -1
    fetches = np.flatnonzero(label == FETCH)
    # Number of the fetch before each line; 0 stands for the one before the text.
    issued_by = np.cumsum(label == FETCH)
    groups = np.concatenate([[np.uint64(group)], address[fetches]])
    wanted = np.flatnonzero((label != NOTHING) & (with_fetches | (label != FETCH)))
    sizes = size[wanted] if is_lackey else None
    accesses = Accesses(address[wanted], label[wanted], groups[issued_by[wanted]], sizes)
    return Parsed(accesses, len(ends), len(fetches), wrong, int(groups[-1]))


def _records(lines: _Lines, labels: Kinds, is_lackey: bool) -> tuple[Kinds, Addresses, Sizes, NDArray[np.bool_]]:
    """Label, address and size of lines that have reached their label, and whether the whole line is as it should be.

    The label of superblocks is ``NOTHING``, although their lines are good.
    """
    label = labels[lines.now()]
    good = label != NOTHING
    is_block = is_lackey & (lines.now() == ord("S")) & (lines.text[lines.at + 1] == ord("B"))
    lines.at[good] += 1
    lines.at[is_block] += 1
    good &= BLANK[lines.now()]
    lines.skip(BLANK)
    if not is_lackey:
        has_0x = (lines.now() == ord("0")) & np.isin(lines.text[lines.at + (lines.now() == ord("0"))], [*b"xX"])
        lines.at[has_0x] += 2
    address, is_number = lines.number()
    good &= is_number
    size = np.zeros(len(label), np.uint32)
    if not is_lackey:
        return label, address, size, good & (BLANK[lines.now()] | (lines.now() == NEWLINE))
    good &= (lines.now() == COMMA) | is_block
    lines.at[good & ~is_block] += 1
    good &= DECIMAL[lines.now()] | is_block
    for place in np.flatnonzero(good & ~is_block).tolist():
        digits = bytes(lines.text[lines.at[place] :]).split(b"\n")[0].split()[0]
        number = int(re.match(rb"[0-9]+", digits)[0])  # type: ignore[index] # the first byte is a digit
        size[place] = min(number, MOST_SIZE)
    moving = _Lines(lines.text, lines.at[~is_block])
    moving.skip(DECIMAL)
    lines.at[~is_block] = moving.at
    lines.skip(BLANK)
    label[is_block] = NOTHING
    return label, address, size, good & (lines.now() == NEWLINE)
