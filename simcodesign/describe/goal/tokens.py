"""The words of GOAL files: keywords, names, numbers, white space and comments, read at a position in the bytes.

Every function works on a buffer of bytes that ends in a zero, so that looking at the next byte is always allowed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import compiled
from simcodesign.describe.goal.errors import END, FINE

Bytes = NDArray[np.uint8]

_DIGITS = b"0123456789"
_NAME_BYTES = _DIGITS + b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#: 0 for bytes that cannot stand in a name; else from 1 to 63, digits first.
CODES = np.zeros(256, np.uint8)
CODES[np.frombuffer(_NAME_BYTES, np.uint8)] = np.arange(1, 64)
#: Longest name with a code of its own.
_CODED = 9
MASK = 0xFFFFFFFF
#: Odd, and small enough for 64 bits to hold its product with 32.
_SPREAD = 0x5BD1E995
NEWLINE, _SPACE, _TAB_STOP, _RETURN, SEMICOLON, COLON, BRACE, CLOSING_BRACE, _SLASH, _STAR = b"\n \t\r;:{}/*"
_ZERO, _ONE, _NINE, _POINT, _MINUS, LETTER_B, LETTER_Q = b"019.-bq"


def _code(word: bytes) -> int:
    """The code of a keyword: its bytes as digits to the base 64, unique up to 9 of them (as ``name_at`` reads it)."""
    code = 0
    for byte in word:
        code = code * 64 + int(CODES[byte])
    return code


WORD_NUM_RANKS, WORD_RANK, WORD_REQUIRES, WORD_IREQUIRES = (
    _code(word) for word in (b"num_ranks", b"rank", b"requires", b"irequires")
)
WORD_SEND, WORD_RECV, WORD_CALC, WORD_TO, WORD_FROM = (
    _code(word) for word in (b"send", b"recv", b"calc", b"to", b"from")
)
WORD_TAG, WORD_CPU, WORD_NIC = (_code(word) for word in (b"tag", b"cpu", b"nic"))


@compiled
def name_at(data: Bytes, at: int) -> tuple[int, int, int, int]:
    """A run of letters, digits and _: its end, code (0 if too long for one), hash of its stem, number at its end."""
    end, code, stem, number = at, 0, 0, 0
    while True:
        digit = int(CODES[data[end]])
        if digit == 0:
            return end, code, stem, number
        code = code * 64 + digit if end - at < _CODED else 0
        if digit <= 10:
            number = (number * 10 + digit - 1) & MASK
        else:
            stem = (((stem ^ number) + digit) * _SPREAD) & MASK
            number = 0
        end += 1


@compiled
def number_at(data: Bytes, at: int) -> tuple[int, int]:
    """A whole number: its end and value, -1 if there is none or it runs into a letter other than b, or is huge."""
    value, end = 0, at
    while is_digit(data, end) and value <= 10**17:
        value = value * 10 + int(data[end]) - _ZERO
        end += 1
    after = int(data[end])
    if end == at or after == _POINT or (after != LETTER_B and CODES[after] != 0):
        return at, -1
    return end, value


@compiled
def is_digit(data: Bytes, at: int) -> bool:
    return bool(_ZERO <= data[at] <= _NINE)


@compiled
def is_any(data: Bytes, at: int) -> bool:
    """Whether -1 stands here."""
    return bool(data[at] == _MINUS and data[at + 1] == _ONE and CODES[data[at + 2]] == 0)


@compiled
def statement_end(data: Bytes, at: int) -> int:
    """Whether a statement ends here: an error code."""
    byte = data[at]
    if byte in (NEWLINE, SEMICOLON, CLOSING_BRACE) or at == len(data) - 1:
        return FINE
    return END


@compiled
def skip_to_statement(data: Bytes, at: int) -> int:
    """Position after white space, comments, and ends of lines and statements."""
    at = skip_blanks(data, at)
    while data[at] == NEWLINE or data[at] == SEMICOLON:
        at = skip_blanks(data, at + 1)
    return at


@compiled
def skip_blanks(data: Bytes, at: int) -> int:
    """Position after white space and comments of this line; a comment that is not closed stays."""
    while True:
        byte = data[at]
        if byte in (_SPACE, _TAB_STOP, _RETURN):
            at += 1
        elif byte == _SLASH:
            after = _comment(data, at)
            if after == at:
                return at
            at = after
        else:
            return at


@compiled
def _comment(data: Bytes, at: int) -> int:
    """Position after the comment that starts here; ``at`` if none does."""
    end = at + 2
    last = len(data) - 1
    if data[at + 1] == _SLASH:
        while end < last and data[end] != NEWLINE:
            end += 1
        return end
    if data[at + 1] == _STAR:
        while end < last:
            if data[end] == _STAR and data[end + 1] == _SLASH:
                return end + 2
            end += 1
    return at
