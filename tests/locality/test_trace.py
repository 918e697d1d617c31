"""Traces in arrays: what goes in comes out in chunks of any size, and what is no address is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.locality.traces.trace import Accesses, ArrayTrace, as_trace, line_shift, read_all

ADDRESSES = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=40)


@given(ADDRESSES, st.integers(1, 50), st.data())
def test_chunks_hold_the_trace_in_order_again_and_again(values: list[int], most: int, data: st.DataObject) -> None:
    kind = data.draw(st.none() | st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
    group = data.draw(st.none() | st.lists(st.integers(0, 2**64 - 1), min_size=len(values), max_size=len(values)))
    trace = ArrayTrace(values, kind, group)
    for _ in range(2):
        chunks = list(trace.chunks(most))
        assert all(1 <= len(chunk) <= most for chunk in chunks)
        assert [int(value) for chunk in chunks for value in chunk.address] == values
        for name, column in (("kind", kind), ("group", group)):
            parts = [getattr(chunk, name) for chunk in chunks]
            assert [part is None for part in parts] == [column is None] * len(chunks)
            assert column is None or [int(value) for part in parts for value in part] == column


@given(ADDRESSES, st.integers(1, 50))
def test_read_all_puts_the_chunks_together(values: list[int], size: int) -> None:
    whole = read_all(ArrayTrace(values, [1] * len(values)))
    assert whole.address.tolist() == values
    assert whole.kind is not None
    assert whole.kind.tolist() == [1] * len(values)
    assert whole.group is None
    assert [part.address.tolist() for part in whole.split(size)] == [
        values[start : start + size] for start in range(0, len(values), size)
    ]


@pytest.mark.parametrize("dtype", ["u1", "<u2", ">u4", "u8", ">u8", "i1", "<i4", ">i8", "i8"])
def test_every_type_of_integers_is_read_as_uint64(dtype: str) -> None:
    address = read_all(np.array([0, 5, 127], dtype)).address
    assert address.dtype == np.uint64
    assert address.dtype.isnative
    assert address.tolist() == [0, 5, 127]


def test_an_array_of_addresses_is_not_copied() -> None:
    for dtype in (np.uint64, np.int64):
        values = np.arange(10, dtype=dtype)
        assert all(np.shares_memory(chunk.address, values) for chunk in as_trace(values).chunks(3))


def test_chunks_are_contiguous_and_may_be_written_whatever_the_array_is_like() -> None:
    values = np.arange(20, dtype=np.uint64)
    values.setflags(write=False)
    chunks = list(ArrayTrace(values[::2], values.astype(np.uint8)[:10] % 3, values[::-2]).chunks(4))
    for chunk in chunks:
        for column in (chunk.address, chunk.kind, chunk.group):
            assert column is not None
            assert column.flags.c_contiguous
            assert column.flags.writeable
    assert read_all(ArrayTrace(values[::2])).address.tolist() == list(range(0, 20, 2))


def test_addresses_above_2_to_the_63_are_addresses() -> None:
    assert read_all([0, 2**63 - 1, 2**63, 2**64 - 1]).address.tolist() == [0, 2**63 - 1, 2**63, 2**64 - 1]


def test_a_trace_is_taken_as_it_is() -> None:
    trace = ArrayTrace([1, 2], name="mine")
    assert as_trace(trace) is trace
    assert (trace.name, len(trace)) == ("mine", 2)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([], "holds no access"),
        (np.empty(0, np.uint64), "holds no access"),
        (np.empty(0), "must contain integers, got 'float64'"),
        ([3, -1, -2], r"entry 1 is negative, got -1 \(allowed: 0 to 18446744073709551615\)"),
        (np.array([3, 4, -7], np.int8), "entry 2 is negative, got -7"),
        ([2**64], "not an array of addresses"),
        ([1.5], "must contain integers"),
        (np.array([1.0, 2.0]), "must contain integers, got 'float64'"),
        (np.array([True]), "must contain integers, got 'bool'"),
        (np.ones((2, 3), np.uint64), r"must have one dimension, got \(2, 3\) \(allowed: one dimension\)"),
        ([[1, 2], [3]], "not an array of addresses"),
        (["a"], "must contain integers"),
        (None, "not an array of addresses"),
        (7, "not an array of addresses"),
        ("gzip.npy", r"a file has to be opened first, got 'gzip.npy' \(allowed: open_trace"),
    ],
)
def test_what_is_no_address_is_refused(values: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        as_trace(values)


@pytest.mark.parametrize(
    ("kind", "group", "says"),
    [
        (
            [0],
            None,
            r"array: kind: the number of entries differs from the number of addresses, got 1 \(allowed: 2, one for each address\)",
        ),
        (None, [1, 2, 3], "array: group: the number of entries differs from the number of addresses, got 3"),
        ([0, 4], None, r"array: kind: entry 1 is not a kind of access, got 4 \(allowed: 0 load"),
        ([-1, 0], None, "array: kind: entry 0 is not a kind"),
        (None, [5, -5], "array: group: entry 1 is negative"),
        ([0.0, 1.0], None, "array: kind: an array of a trace must contain integers"),
    ],
)
def test_columns_that_do_not_fit_are_refused(kind: object, group: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        ArrayTrace([1, 2], kind, group)


def test_chunks_of_nothing_are_refused() -> None:
    with pytest.raises(InputError, match=r"got 0 \(allowed: 1 or more"):
        ArrayTrace([1]).chunks(0)


def test_line_shift_is_the_logarithm() -> None:
    assert [line_shift(2**power) for power in range(63)] == list(range(63))
    assert line_shift(np.int64(64)) == 6  # type: ignore[arg-type]


@pytest.mark.parametrize("line_bytes", [0, -64, 3, 63, 96, 64.0, "64", None, True, 2**64])
def test_line_sizes_that_are_no_powers_of_two_are_refused(line_bytes: object) -> None:
    with pytest.raises(InputError, match="the size of a line must be a power of two"):
        line_shift(line_bytes)  # type: ignore[arg-type]


def test_a_slice_of_accesses_has_all_columns() -> None:
    whole = Accesses(np.arange(5, dtype=np.uint64), np.zeros(5, np.uint8), np.arange(5, dtype=np.uint64) + 7)
    part = whole[1:3]
    assert part.group is not None
    assert (part.address.tolist(), len(part), part.group.tolist()) == ([1, 2], 2, [8, 9])
