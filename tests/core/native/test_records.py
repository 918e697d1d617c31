"""Structs of C and of Python: one layout, and arrays that C uses in place."""

from __future__ import annotations

import ctypes
from typing import ClassVar

import numpy as np
import pytest

from simcodesign.core.native.compiler import compile_library, find_compiler
from simcodesign.core.native.records import Floats, Integers, Record, check_layout
from tests.core.native.test_shared_library import LAYOUT, needs_compiler

SOURCE = """
#include "layout.h"
struct run { double *time_s; int64_t *order; int32_t count; };
LAYOUT(run, PLACE(run, time_s), PLACE(run, order), PLACE(run, count))
EXPORTED void add(struct run *run);
void add(struct run *run) { for (int32_t i = 0; i < run->count; i++) run->time_s[run->order[i]] += i; }
"""


class Run(Record):
    struct = "run"
    _fields_: ClassVar = [("time_s", Floats), ("order", Integers), ("count", ctypes.c_int32)]


class Swapped(Record):
    """Two fields of one size, in the other order: sizes and offsets alone would agree."""

    struct = "run"
    _fields_: ClassVar = [("order", Integers), ("time_s", Floats), ("count", ctypes.c_int32)]


class Longer(Record):
    struct = "run"
    _fields_: ClassVar = [*Run._fields_, ("more", ctypes.c_int32)]  # fits into the padding: one size


class Whole(Record):
    """An array of another type: sizes and offsets alone would agree."""

    struct = "run"
    _fields_: ClassVar = [("time_s", Integers), *Run._fields_[1:]]


class Wider(Record):
    struct = "run"
    _fields_: ClassVar = [("time_s", Floats), ("order", Integers), ("count", ctypes.c_int64)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("native")
    (folder / "layout.h").write_bytes(LAYOUT.read_bytes())
    (folder / "all.c").write_text(SOURCE)
    compiler = find_compiler()
    assert compiler is not None
    compile_library(compiler, folder / "all.c", folder / "simcodesign.shared")
    return ctypes.CDLL(str(folder / "simcodesign.shared"))


@needs_compiler
def test_c_writes_into_the_arrays_of_a_record(library: ctypes.CDLL) -> None:
    check_layout(library, Run)
    time_s = np.zeros(3)
    run = Run(time_s=time_s, order=np.array([2, 0, 1]), count=3)
    library.add(ctypes.byref(run))
    assert time_s.tolist() == [1.0, 2.0, 0.0]
    run.time_s = np.ones(3)
    library.add(ctypes.byref(run))
    assert run.arrays["time_s"].tolist() == [2.0, 3.0, 1.0]


@needs_compiler
@pytest.mark.parametrize(
    ("record", "difference"),
    [
        (Swapped, r"got \('time_s', 'double \*', 0, 8\) \(allowed: \('order', 'int64_t \*', 0, 8\)\)"),
        (Whole, r"got \('time_s', 'double \*', 0, 8\) \(allowed: \('time_s', 'int64_t \*', 0, 8\)\)"),
        (Longer, r"got 3 fields \(allowed: 4\)"),
        (Wider, r"got \('count', 'int32_t', 16, 4\) \(allowed: \('count', 'int64_t', 16, 8\)\)"),
    ],
)
def test_another_layout_is_refused(library: ctypes.CDLL, record: type[Record], difference: str) -> None:
    with pytest.raises(RuntimeError, match=f"simcodesign.shared: struct run: .*{difference}"):
        check_layout(library, record)


@pytest.mark.parametrize("array", [np.zeros(3, np.float32), np.zeros(6)[::2], [0.0, 1.0]])
def test_an_array_that_c_cannot_use_in_place_is_refused(array: object) -> None:
    with pytest.raises(TypeError, match=r"struct run: time_s, got .* \(allowed: a contiguous array of float64\)"):
        Run(time_s=array)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(AttributeError, match="struct run has no field 'times'"):
        Run().times = 1
