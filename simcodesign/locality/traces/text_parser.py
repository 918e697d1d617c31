"""Lines of a trace of text, parsed byte by byte; compiled with Numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled_without_arrays, inlined
from simcodesign.locality.traces.text_bytes import BLANK, COMMA, DECIMAL, DIGIT, MESSAGE, NEWLINE, NOTHING, Parsed
from simcodesign.locality.traces.trace import FETCH, Accesses, Addresses, Kinds

#: Places of the results in ``numbers``.
ACCESSES, LINES, FETCHES, WRONG = 0, 1, 2, 3
#: A line takes at least as many bytes: label, blank, digit, newline.
SHORTEST = 4
EIGHT, SIXTEEN, ZERO = np.uint64(8), np.uint64(16), ord("0")


def parse_lines(text: Kinds, labels: Kinds, is_lackey: bool, with_fetches: bool, group: int) -> Parsed:
    """The accesses of bytes that end with a newline; ``group`` is the last instruction fetched before them."""
    most = len(text) // SHORTEST + 1
    address, kind, issuer = np.empty(most, np.uint64), np.empty(most, np.uint8), np.empty(most, np.uint64)
    last, numbers = np.array([group], np.uint64), np.zeros(4, np.int64)
    _parse(text, labels, is_lackey, with_fetches, last, address, kind, issuer, numbers)
    count, lines, fetches, wrong = (int(number) for number in numbers)
    # Copies, because the arrays are far longer than the number of accesses.
    kept = Accesses(address[:count].copy(), kind[:count].copy(), issuer[:count].copy())
    return Parsed(kept, lines, fetches, wrong, int(last[0]))


@inlined
def _number(text: Kinds, at: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64, bool]:
    """A hexadecimal number: its value, the place after it, and whether there is one and it fits in 64 bits."""
    one, four, start, value = np.uint64(1), np.uint64(4), at, np.uint64(0)
    if at + EIGHT < end:
        # Eight digits without a branch between them: most addresses have as many or more.
        every, together = np.uint8(0), np.uint64(0)
        for place in range(8):
            digit = DIGIT[text[at + np.uint64(place)]]
            every |= digit
            together = together << four | np.uint64(digit)
        if every < 16:
            value, at = together, at + EIGHT
    digit = DIGIT[text[at]]
    while digit != NOTHING:
        value = value << four | np.uint64(digit)
        at += one
        digit = DIGIT[text[at]]
    fits = at - start <= SIXTEEN
    if not fits:
        zero = start
        while text[zero] == ZERO:
            zero += one
        fits = at - zero <= SIXTEEN
    return value, at, bool(fits and at > start)


@compiled_without_arrays
def _parse(
    text: Kinds,
    labels: Kinds,
    is_lackey: bool,
    with_fetches: bool,
    last: Addresses,
    address: Addresses,
    kind: Kinds,
    group: Addresses,
    numbers: NDArray[np.int64],
) -> None:
    """Fills the columns and ``numbers``, up to the first line that is wrong. Every loop ends at a newline at latest."""
    # Unsigned, so that nothing looks whether a place counts from the end.
    one, at, end = np.uint64(1), np.uint64(0), np.uint64(len(text))
    count, lines, fetches, issuer = np.uint64(0), 0, 0, last[0]
    numbers[WRONG] = -1
    while at < end:
        start = at
        while BLANK[text[at]]:
            at += one
        is_message = is_lackey and MESSAGE[text[at]] and text[at + one] == text[at]
        if text[at] != NEWLINE and not is_message:
            label = labels[text[at]]
            good = label != NOTHING
            if good:
                at += one
            good &= BLANK[text[at]]
            while BLANK[text[at]]:
                at += one
            value, at, is_number = _number(text, at, end)
            good &= is_number
            if is_lackey:
                good &= text[at] == COMMA
                if good:
                    at += one
                good &= DECIMAL[text[at]]
                while DECIMAL[text[at]]:
                    at += one
                while BLANK[text[at]]:
                    at += one
                good &= text[at] == NEWLINE
            else:
                good &= BLANK[text[at]] or text[at] == NEWLINE
            if not good:
                numbers[WRONG] = start
                break
            if label == FETCH:
                issuer = value
                fetches += 1
            if label != FETCH or with_fetches:
                address[count], kind[count], group[count] = value, label, issuer
                count += one
        while text[at] != NEWLINE:
            at += one
        at += one
        lines += 1
    numbers[ACCESSES], numbers[LINES], numbers[FETCHES] = count, lines, fetches
    last[0] = issuer
