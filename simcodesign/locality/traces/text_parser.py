"""Lines of a trace of text, parsed byte by byte; compiled with Numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled_without_arrays, inlined
from simcodesign.locality.traces.text_bytes import (
    BLANK,
    COLON,
    COMMA,
    DECIMAL,
    DIGIT,
    IS_LACKEY,
    IS_PIN,
    MESSAGE,
    NEWLINE,
    NOTHING,
    ZERO,
    Parsed,
)
from simcodesign.locality.traces.trace import FETCH, MOST_SIZE, Accesses, Addresses, Kinds, Sizes

#: Places of the results in ``numbers``.
ACCESSES, LINES, FETCHES, WRONG = 0, 1, 2, 3
#: A line takes at least as many bytes: label, blank, digit, newline.
SHORTEST = 4
ONE, EIGHT, SIXTEEN = np.uint64(1), np.uint64(8), np.uint64(16)
S, B, HASH, SMALL_X, LARGE_X = (ord(sign) for sign in "SB#xX")


def parse_lines(text: Kinds, labels: Kinds, form: int, with_fetches: bool, group: int) -> Parsed:
    """The accesses of bytes that end with a newline; ``group`` is the last instruction fetched before them.

    ``form`` is ``IS_DIN``, ``IS_LACKEY``, whose accesses have sizes, or ``IS_PIN``.
    """
    most = len(text) // SHORTEST + 1
    address, kind, issuer = np.empty(most, np.uint64), np.empty(most, np.uint8), np.empty(most, np.uint64)
    size = np.empty(most if form == IS_LACKEY else 0, np.uint32)
    last, numbers = np.array([group], np.uint64), np.zeros(4, np.int64)
    _parse(text, labels, int(form), with_fetches, last, address, kind, issuer, size, numbers)
    count, lines, fetches, wrong = (int(number) for number in numbers)
    # Copies, because the arrays are far longer than the number of accesses.
    sizes = size[:count].copy() if form == IS_LACKEY else None
    kept = Accesses(address[:count].copy(), kind[:count].copy(), issuer[:count].copy(), sizes)
    return Parsed(kept, lines, fetches, wrong, int(last[0]))


@inlined
def _number(text: Kinds, at: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64, bool]:
    """A hexadecimal number: its value, the place after it, and whether there is one and it fits in 64 bits."""
    four, start, value = np.uint64(4), at, np.uint64(0)
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
        at += ONE
        digit = DIGIT[text[at]]
    fits = at - start <= SIXTEEN
    if not fits:
        zero = start
        while text[zero] == ZERO:
            zero += ONE
        fits = at - zero <= SIXTEEN
    return value, at, bool(fits and at > start)


@inlined
def _after_0x(text: Kinds, at: np.uint64) -> np.uint64:
    """Return the place after ``0x``, or the same place if there is none. A newline ends the text at latest."""
    if text[at] == ZERO and (text[at + ONE] == SMALL_X or text[at + ONE] == LARGE_X):
        at += ONE + ONE
    return at


@inlined
def _after_blanks(text: Kinds, at: np.uint64) -> np.uint64:
    while BLANK[text[at]]:
        at += ONE
    return at


@inlined
def _size_in_bytes(text: Kinds, at: np.uint64) -> tuple[np.uint32, np.uint64, bool]:
    """A comma and a decimal number at the end of a line: the number, at most ``MOST_SIZE``, the place after the blanks
    behind it, and whether they are present."""
    good, value = text[at] == COMMA, 0
    if good:
        at += ONE
    good &= DECIMAL[text[at]]
    while DECIMAL[text[at]]:
        value = min(value * 10 + text[at] - ZERO, MOST_SIZE)
        at += ONE
    at = _after_blanks(text, at)
    return np.uint32(value), at, bool(good and text[at] == NEWLINE)


@inlined
def _passed_over(text: Kinds, at: np.uint64, form: int) -> bool:
    """Whether a line is empty, a message of valgrind, or a comment of a pintool."""
    if form == IS_LACKEY and MESSAGE[text[at]] and text[at + ONE] == text[at]:
        return True
    return bool(text[at] == NEWLINE or (form == IS_PIN and text[at] == HASH))


@compiled_without_arrays
def _parse(
    text: Kinds,
    labels: Kinds,
    form: int,
    with_fetches: bool,
    last: Addresses,
    address: Addresses,
    kind: Kinds,
    group: Addresses,
    size: Sizes,
    numbers: NDArray[np.int64],
) -> None:
    """Fills the columns and ``numbers``, up to the first line that is wrong. Every loop ends at a newline at latest."""
    # Unsigned, so that nothing looks whether a place counts from the end.
    at, end = np.uint64(0), np.uint64(len(text))
    count, lines, fetches, issuer = np.uint64(0), 0, 0, last[0]
    numbers[WRONG] = -1
    while at < end:
        start = at
        at = _after_blanks(text, at)
        if not _passed_over(text, at, form):
            good, is_block = True, form == IS_LACKEY and text[at] == S and text[at + ONE] == B
            if form == IS_PIN:
                issuer, at, good = _number(text, _after_0x(text, at), end)
                good &= text[at] == COLON
                if good:
                    at = _after_blanks(text, at + ONE)
                fetches += 1
            label = labels[text[at]]
            good &= label != NOTHING
            if good:
                at += ONE + ONE if is_block else ONE
            good &= BLANK[text[at]]
            at = _after_blanks(text, at)
            if form != IS_LACKEY:
                at = _after_0x(text, at)
            value, at, is_number = _number(text, at, end)
            good &= is_number
            if is_block:  # the beginning of a superblock is no access
                at = _after_blanks(text, at)
                good &= text[at] == NEWLINE
            elif form == IS_LACKEY:
                bytes_of, at, is_size = _size_in_bytes(text, at)
                good &= is_size
                size[count] = bytes_of
            else:
                good &= BLANK[text[at]] or text[at] == NEWLINE
            if not good:
                numbers[WRONG] = start
                break
            if label == FETCH:
                issuer = value
                fetches += 1
            if not is_block and (label != FETCH or with_fetches):
                address[count], kind[count], group[count] = value, label, issuer
                count += ONE
        while text[at] != NEWLINE:
            at += ONE
        at += ONE
        lines += 1
    numbers[ACCESSES], numbers[LINES], numbers[FETCHES] = count, lines, fetches
    last[0] = issuer
