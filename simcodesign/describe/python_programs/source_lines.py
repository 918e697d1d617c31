"""Lines of a file of Python at which a generator is, or has been, and of errors within it."""

from __future__ import annotations

from collections.abc import Callable
from types import GeneratorType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place

Int64s = NDArray[np.int64]


def line_within(generator: GeneratorType[Any, Any, Any], file: str) -> int:
    """Return the line of a generator, or of the one from which it yields: of the innermost one in the file."""
    assert generator.gi_frame is not None
    line, inner = generator.gi_frame.f_lineno, generator.gi_yieldfrom
    while isinstance(inner, GeneratorType) and inner.gi_frame is not None:
        if inner.gi_frame.f_code.co_filename == file:
            line = inner.gi_frame.f_lineno
        inner = inner.gi_yieldfrom
    return line


def lines_of(program: Callable[..., Any], at: Int64s) -> Int64s:
    """Lines of the file of places in the program's code; of places that are negative, minus the line."""
    begins, lines, line = [], [], program.__code__.co_firstlineno
    for begin, _, number in program.__code__.co_lines():
        line = number or line
        begins.append(begin)
        lines.append(line)
    own = np.array(lines, np.int64)[np.searchsorted(begins, np.maximum(at, 0), side="right") - 1]
    return np.where(at < 0, -at, own)


def with_line(error: BaseException, shown: InputError, file: str) -> InputError:
    """Return the error with the line of the program's file in which it came up."""
    if shown.place is not None and str(shown.place):
        return shown
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return InputError(shown.what, Place(file, line), value=shown.value, allowed=shown.allowed)
