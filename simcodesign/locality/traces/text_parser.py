"""Lines of a trace of text, parsed byte by byte in C."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from simcodesign.core.native.records import Record
from simcodesign.core.native.shared_library import required_library
from simcodesign.locality.traces.text_bytes import DIGIT, IS_LACKEY, Parsed
from simcodesign.locality.traces.trace import Accesses, Kinds

#: A line takes at least as many bytes: label, blank, digit, newline.
SHORTEST = 4


class TraceText(Record):
    """Bytes of whole lines, and what is parsed from them."""

    struct = "trace_text"
    use = "a trace of text"


def parse_lines(text: Kinds, labels: Kinds, form: int, with_fetches: bool, group: int) -> Parsed:
    """Return the accesses of bytes that end with a newline; ``group`` is the last instruction fetched before them.

    ``form`` is ``IS_DIN``, ``IS_LACKEY``, whose accesses have sizes, or ``IS_PIN``.
    """
    most = len(text) // SHORTEST + 1
    run = TraceText(text=text, labels=labels, digits=DIGIT, bytes=len(text), form=form, with_fetches=with_fetches)
    run.address, run.kind, run.group = np.empty(most, np.uint64), np.empty(most, np.uint8), np.empty(most, np.uint64)
    run.size, run.issuer = np.empty(most if form == IS_LACKEY else 0, np.uint32), group
    _functions().parse_trace_text(ctypes.byref(run))
    # Copies, because the arrays are far longer than the number of accesses.
    address, kind, issuer, size = (
        run.arrays[name][: run.accesses].copy() for name in ("address", "kind", "group", "size")
    )
    kept = Accesses(address, kind, issuer, size if form == IS_LACKEY else None)
    return Parsed(kept, run.lines, run.fetches, run.wrong, run.issuer)


@cache
def _functions() -> ctypes.CDLL:
    library = required_library("a trace of text")
    library.parse_trace_text.restype = None
    return library
