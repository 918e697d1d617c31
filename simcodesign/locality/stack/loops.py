"""The loops over accesses, in C."""

from __future__ import annotations

import ctypes
from functools import cache

from simcodesign.core.native.shared_library import required_library

_POINTER, _COUNT = ctypes.c_void_p, ctypes.c_uint64
#: Pointers, and counts in between, of what a loop over accesses takes: addresses, their number, the shift, its state.
_ACCESSES = [_POINTER, _COUNT, _COUNT, _POINTER]


@cache
def loops() -> ctypes.CDLL:
    """Return the library with the types of the functions of stack_distances.c set."""
    library = required_library("a stack distance")
    for name, arguments in (
        ("stack_rehash", [_POINTER, _POINTER]),
        ("stack_break_up", [_POINTER, _POINTER]),
        ("stack_renumber", [_POINTER, _COUNT, _POINTER, _POINTER, _COUNT]),
        ("stack_locate", [_POINTER, _COUNT]),
        ("stack_count", [*_ACCESSES, _POINTER, _POINTER, _POINTER, _COUNT, _POINTER]),
        ("reuse_measure", [*_ACCESSES, _POINTER, _POINTER]),
        ("writebacks_follow", [*_ACCESSES, _POINTER, _POINTER, _POINTER, _POINTER]),
    ):
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, ctypes.c_int64
    library.stack_locate.restype = ctypes.c_uint64
    return library
