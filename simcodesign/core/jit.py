"""Functions compiled with Numba where it is installed; without it they are plain Python, with the same results.

Modules that use this import Numba, which takes half a second: whoever needs them imports them
inside the function that uses them.
Numba rounds as Python does here: no fast mathematics, every operation in the order that is written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec, source_hash
from pathlib import Path
from typing import Any, TypeVar

from simcodesign.core.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])

#: Whether Numba can be imported.
HAVE_NUMBA = find_spec("numba") is not None
_PACKAGE = Path(__file__).resolve().parent.parent
#: For functions that Python never calls itself: they need no wrappers, which take long to compile.
_INTERNAL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
#: Modules whose constants and functions compiled functions of other folders use.
_CONSTANTS = ("core/jit.py", "core/operation_kinds.py")

#: The last of these is called with a sentence when something is about to be compiled, which takes a minute. A program
#: that shows its progress puts one there.
listeners: list[Callable[[str], None]] = []


def compiled(function: Function) -> Function:
    """Compiled on the first call, and cached beside the file or, where that cannot be written, in the user's folder."""
    return _jit(function, in_cache=True)


def compiled_without_arrays(function: Function) -> Function:
    """Compiled and cached. It may use arrays but not make any, so that nothing has to be counted (see ``inlined``).

    Other threads go on meanwhile, such as that of a progress bar."""
    return _jit(function, in_cache=True, _nrt=False, nogil=True)


def called(function: Function) -> Function:
    """Compiled for compiled callers that rarely need it. Python cannot call it, and it may not make arrays."""
    return _jit(function, in_cache=False, _nrt=False, **_INTERNAL)


def inlined(function: Function) -> Function:
    """Compiled as part of its compiled callers. Python cannot call it, and it may not make arrays.

    Counting references of all arrays at every call made a simulation fifteen times as long.
    """
    return _jit(function, in_cache=False, _nrt=False, forceinline=True, **_INTERNAL)


def _jit(function: Function, in_cache: bool, **options: bool) -> Function:
    if not HAVE_NUMBA:
        return function
    try:
        import numba
    except ImportError as error:  # as Numba raises for a NumPy that it does not know yet
        allowed = "the SimPy engine; or a version of Numba that fits, or none"
        raise InputError(f"Numba is installed but cannot be used: {error}", allowed=allowed) from None
    except ValueError as error:
        given = os.environ.get("NUMBA_NUM_THREADS", "")
        what = f"Numba cannot be loaded: {error} Environment variable NUMBA_NUM_THREADS"
        raise InputError(what, value=given, allowed="1 or more, or not set") from None
    if in_cache:
        # Numba sees only whether the function's own file has changed; the name shows it all that is compiled in.
        folder = Path(sys.modules[function.__module__].__file__ or "").resolve().parent
        function.__qualname__ = f"{function.__name__}_{_digest(folder)}"
    dispatcher = numba.njit(error_model="numpy", **options)(function)
    if in_cache:
        from simcodesign.core.compiled_cache import CheckedCache

        with suppress(RuntimeError):  # there is no folder at all to cache it in
            dispatcher._cache = CheckedCache(function, _announce)
    return dispatcher  # type: ignore[no-any-return]


@cache
def _announce() -> None:
    """Say once in a process, however much there is to compile, that it is done for the first time."""
    if listeners:
        listeners[-1](
            "compiling for the first time, once: up to 45 CPU seconds (simcodesign warm-up compiles everything ahead)"
        )


@cache
def _digest(folder: Path) -> str:
    """A short name of the contents of the modules of a folder, and of the constants that they share."""
    files = [*sorted(folder.glob("*.py")), *(_PACKAGE / name for name in _CONSTANTS)]
    return source_hash(b"\0".join(path.read_bytes() for path in files)).hex()
