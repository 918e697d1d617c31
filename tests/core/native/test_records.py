"""Structs of C and of Python: one layout, and arrays that C uses in place."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from simcodesign.core.native.compiler import compile_library, find_compiler
from simcodesign.core.native.records import Record
from tests.core.native.test_shared_library import LAYOUT, needs_compiler

SOURCE = """
#include "layout.h"
struct run { double *time_s; int64_t *order; int32_t count; };
LAYOUT(run, PLACE(run, time_s), PLACE(run, order), PLACE(run, count))
#pragma pack(push, 1)
struct packed { uint8_t *flags; int32_t first; int64_t second; };
#pragma pack(pop)
LAYOUT(packed, PLACE(packed, flags), PLACE(packed, first), PLACE(packed, second))
EXPORTED void add(struct run *run);
void add(struct run *run) { for (int32_t i = 0; i < run->count; i++) run->time_s[run->order[i]] += i; }
"""


class Run(Record):
    struct = "run"
    use = "a test"


class Packed(Record):
    """A struct that C lays out as ctypes would not: its fields are packed."""

    struct = "packed"
    use = "a test"


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
    Run.lay_out(library)
    time_s = np.zeros(3)
    run = Run(time_s=time_s, order=np.array([2, 0, 1]), count=3)
    library.add(ctypes.byref(run))
    assert time_s.tolist() == [1.0, 2.0, 0.0]
    run.time_s = np.ones(3)
    library.add(ctypes.byref(run))
    assert run.arrays["time_s"].tolist() == [2.0, 3.0, 1.0]


@needs_compiler
def test_fields_are_those_of_c(library: ctypes.CDLL) -> None:
    Run.lay_out(library)
    kinds = [("time_s", ctypes.c_void_p), ("order", ctypes.c_void_p), ("count", ctypes.c_int32)]
    assert [*Run._fields_] == kinds
    assert Run.array_types == {"time_s": np.float64, "order": np.int64}
    assert ctypes.sizeof(Run) == 24


@needs_compiler
def test_another_layout_is_refused(library: ctypes.CDLL) -> None:
    with pytest.raises(RuntimeError, match=r"struct packed: offsets and sizes, got .*4.* \(allowed: .*1.*\)"):
        Packed.lay_out(library)


@needs_compiler
@pytest.mark.parametrize("array", [np.zeros(3, np.float32), np.zeros(6)[::2], [0.0, 1.0]])
def test_an_array_that_c_cannot_use_in_place_is_refused(library: ctypes.CDLL, array: object) -> None:
    Run.lay_out(library)
    with pytest.raises(TypeError, match=r"struct run: time_s, got .* \(allowed: a contiguous array of float64\)"):
        Run(time_s=array)


@needs_compiler
def test_an_unknown_field_is_refused(library: ctypes.CDLL) -> None:
    Run.lay_out(library)
    with pytest.raises(AttributeError, match="struct run has no field 'times'"):
        Run().times = 1
