"""Errors in the text of a GOAL file: a code and a byte from the scanner, made into a message."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest

#: Largest size in bytes and largest time in nanoseconds: whole numbers that survive the way to seconds and back.
MOST = 10**15
#: Largest number of ranks, processor or network interface.
MOST_INT = 2**31 - 1
(
    FINE,
    HEADER,
    RANKS,
    BLOCK,
    RANK,
    OPEN,
    CLOSE,
    STATEMENT,
    OPERATION,
    DUPLICATE,
    TIME,
    AMOUNT,
    UNIT,
    TO,
    FROM,
    PEER,
    ATTRIBUTE,
    TWICE,
    TAG,
    NUMBER,
    LABEL,
    ITSELF,
    UNKNOWN,
    END,
) = range(24)

#: Error and allowed values, with the last rank of the file as {last} and the rank of the error as {rank}.
_TEXTS = {
    HEADER: ("a GOAL file begins with the number of its ranks", "num_ranks NUMBER"),
    RANKS: ("number of ranks", f"a whole number from 1 to {MOST_INT}"),
    BLOCK: ("outside of a rank", "rank NUMBER {{"),
    RANK: ("rank", "a whole number from 0 to {last}"),
    OPEN: ("{{ is missing after the rank", "rank NUMBER {{"),
    CLOSE: ("}} of rank {rank} is missing", ""),
    STATEMENT: (
        "unknown statement",
        "send, recv or calc, after LABEL: or without; LABEL requires LABEL; LABEL irequires LABEL",
    ),
    OPERATION: ("unknown operation", "send, recv, calc"),
    DUPLICATE: ("label given twice in rank {rank}", "each label once in a rank"),
    TIME: ("time of a calc", f"a whole number of nanoseconds from 0 to {MOST}"),
    AMOUNT: ("size of a message", f"a whole number of bytes from 0 to {MOST}, then b"),
    UNIT: ("b is missing after the size of a message", "send SIZEb to RANK, recv SIZEb from RANK"),
    TO: ("to is missing", "send SIZEb to RANK"),
    FROM: ("from is missing", "recv SIZEb from RANK"),
    PEER: ("rank at the other end of a message", "a whole number from 0 to {last}, -1 to receive from any rank"),
    ATTRIBUTE: ("unknown attribute", "tag, cpu, nic of a message; cpu of a calc"),
    TWICE: ("attribute given twice", "each once"),
    TAG: ("tag", "a whole number below 10**17, not 2**32 - 1; -1 to receive any tag"),
    NUMBER: ("number of a processor or network interface", f"a whole number from 0 to {MOST_INT}"),
    LABEL: ("label of an operation is missing", "LABEL requires LABEL, LABEL irequires LABEL"),
    ITSELF: ("an operation waits for itself", "labels of two operations"),
    UNKNOWN: ("label that no operation of rank {rank} has", "labels of its operations"),
    END: ("end of the statement is missing", "end of line, ;"),
}


def goal_error(code: int, data: NDArray[np.uint8], at: int, file: str, *, ranks: int, rank: int) -> InputError:
    """Return the error ``code`` at byte ``at`` of a file of ``ranks`` ranks, in the block of ``rank``."""
    place = place_at(data, at, file)
    if bytes(data[at : at + 2]) == b"/*":
        return InputError("comment without an end", place, allowed="/* ... */")
    what, allowed = (text.format(last=ranks - 1, rank=rank) for text in _TEXTS[code])
    token = _token(data, at, whole=code == STATEMENT)
    if code == OPERATION:
        allowed = nearest(token, ("send", "recv", "calc"))
    return InputError(what, place, value=token, allowed=allowed)


def place_at(data: NDArray[np.uint8], at: int, file: str) -> Place:
    """Return the line of a byte."""
    return Place(file, int(np.count_nonzero(data[:at] == ord("\n"))) + 1)


def _token(data: NDArray[np.uint8], at: int, *, whole: bool) -> str:
    """Text at this byte, as far as a message shows it: a word, or the ``whole`` statement."""
    if at >= len(data) - 1:
        return "end of file"
    if data[at] == ord("\n"):
        return "end of line"
    text = bytes(data[at : min(at + 100, len(data) - 1)]).decode("utf-8", "replace")
    end = 1
    stop = "\n;{}" if whole else "\n;{}: \t\r"
    while end < len(text) and text[end] not in stop:
        end += 1
    return text[:end].rstrip()
