"""Meaning of the bytes of a text trace, and the results of parsing whole lines."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcodesign.locality.traces.trace import FETCH, LOAD, MODIFY, STORE, Accesses, Kinds

NOTHING = 255  # no digit, no label


def _table(values: dict[str, int]) -> Kinds:
    table = np.full(256, NOTHING, np.uint8)
    for byte, value in values.items():
        table[ord(byte)] = value
    return table


DIGIT = _table({byte: int(byte, 16) for byte in "0123456789abcdefABCDEF"})
#: Formats of lines.
IS_DIN, IS_LACKEY, IS_PIN = 0, 1, 2
LACKEY = _table({"L": LOAD, "S": STORE, "M": MODIFY, "I": FETCH})
PIN = _table({"R": LOAD, "W": STORE})
#: Dinero III's numbers and Dinero IV's letters.
DIN = _table({"0": LOAD, "1": STORE, "2": FETCH, "r": LOAD, "w": STORE, "i": FETCH})


class Parsed(NamedTuple):
    """Accesses of whole lines, and the other contents of the lines."""

    accesses: Accesses
    lines: int
    fetches: int
    wrong: int  # where the first line starts that cannot be read; -1: nowhere
    group: int  # address of the last instruction fetch so far
