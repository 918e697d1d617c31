"""Address streams of kernels, compared with the loops written out in Python, and with counts in closed form."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.locality.streams import loop_nest
from simcodesign.locality.streams.kernels import C_COUNTED, KERNELS, PAGE, KernelTrace, kernel_trace
from simcodesign.locality.traces.trace import LOAD, MODIFY, STORE, read_all

#: An access by the loops: array, element, kind.
Touch = tuple[str, int, int]


def touches(trace: KernelTrace, most: int | None = None) -> list[Touch]:
    """The accesses of a trace, as elements of its arrays."""
    chunks = list(trace.chunks() if most is None else trace.chunks(most))
    assert all(1 <= len(chunk) <= (most or len(chunk)) for chunk in chunks)
    recorded = []
    for chunk in chunks:
        assert chunk.address.dtype == chunk.group.dtype == np.uint64
        assert chunk.kind.dtype == np.uint8
        for address, kind, group in zip(*(a.tolist() for a in (chunk.address, chunk.kind, chunk.group)), strict=True):
            array = trace.group_names[group]
            element, rest = divmod(address - trace.base[array], trace.sizes["element_bytes"])
            assert rest == 0
            assert element >= 0
            recorded.append((array, element, kind))
    return recorded


def matmul(n: int, count_c: bool = True) -> Iterator[Touch]:
    for i in range(n):
        for j in range(n):
            for k in range(n):
                yield "A", i * n + k, LOAD
                yield "B", k * n + j, LOAD
            if count_c:
                yield "C", i * n + j, STORE


def blocked_matmul(n: int, b: int, count_c: str) -> Iterator[Touch]:
    for jj in range(0, n, b):
        for kk in range(0, n, b):
            for i in range(n):
                for j in range(jj, jj + b):
                    for k in range(kk, kk + b):
                        yield "A", i * n + k, LOAD
                        yield "B", k * n + j, LOAD
                        if count_c == "inner":
                            yield "C", i * n + j, MODIFY
                        if count_c == "accumulator":
                            yield "v", 0, MODIFY
                    if count_c in ("once", "accumulator"):
                        yield "C", i * n + j, MODIFY
                    if count_c == "load_store":
                        yield "C", i * n + j, LOAD
                        yield "C", i * n + j, STORE


def stencil(n: int, sweeps: int, rows: int = 0, centre: bool = True) -> Iterator[Touch]:
    for sweep in range(sweeps):
        source, target = ("u", "v") if sweep % 2 == 0 else ("v", "u")
        for i in range(1, (rows or n) - 1):
            for j in range(1, n - 1):
                for row, column in ((i - 1, j), (i, j - 1), (i, j), (i, j + 1), (i + 1, j)):
                    if centre or (row, column) != (i, j):
                        yield source, row * n + column, LOAD
                yield target, i * n + j, STORE


def triad(n: int, repeats: int) -> Iterator[Touch]:
    for _ in range(repeats):
        for i in range(n):
            yield "b", i, LOAD
            yield "c", i, LOAD
            yield "a", i, STORE


def fft(n: int, twiddles: bool) -> Iterator[Touch]:
    bits = n.bit_length() - 1
    for i in range(n):
        j = int(f"{i:0{bits}b}"[::-1], 2)
        if i < j:
            yield from (("x", i, LOAD), ("x", j, LOAD), ("x", i, STORE), ("x", j, STORE))
    length = 2
    while length <= n:
        for first in range(0, n, length):
            for k in range(length // 2):
                one, other = first + k, first + k + length // 2
                yield from (("x", one, LOAD), ("x", other, LOAD))
                if twiddles:
                    yield "w", k * (n // length), LOAD
                yield from (("x", one, STORE), ("x", other, STORE))
        length *= 2


LOOPS = {"matmul": matmul, "blocked_matmul": blocked_matmul, "stencil": stencil, "triad": triad, "fft": fft}


@st.composite
def sizes(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A kernel and sizes of some hundred to thousand accesses."""
    name = draw(st.sampled_from(sorted(KERNELS)))
    small, seed = st.integers(1, 7), st.integers(0, 2**40)
    b = draw(st.integers(1, 4))
    given_sizes: dict[str, Any] = {
        "matmul": {"n": draw(small), "count_c": draw(st.booleans())},
        "blocked_matmul": {"n": b * draw(st.integers(1, 3)), "b": b, "count_c": draw(st.sampled_from(C_COUNTED))},
        "stencil": {
            "n": draw(st.integers(3, 8)),
            "sweeps": draw(small),
            "rows": draw(st.sampled_from([0, 3, 9])),
            "centre": draw(st.booleans()),
        },
        "triad": {"n": draw(st.integers(1, 60)), "repeats": draw(small)},
        "fft": {"n": 2 ** draw(small), "twiddles": draw(st.booleans())},
        "random_access": {"n": draw(small), "updates": draw(st.integers(1, 400)), "seed": draw(seed)},
        "pointer_chase": {"n": draw(st.integers(1, 40)), "steps": draw(st.integers(1, 400)), "seed": draw(seed)},
    }[name]
    return name, given_sizes | draw(st.sampled_from([{}, {"element_bytes": 4}, {"element_bytes": 24}]))


@given(sizes(), st.integers(1, 5000))
def test_streams_are_those_of_the_loops(kernel: tuple[str, dict[str, Any]], most: int) -> None:
    """Whatever the chunks, and as often as they are read; in number as the closed form says."""
    name, given_sizes = kernel
    trace = kernel_trace(name, **given_sizes)
    result = touches(trace)
    assert len(result) == len(trace) == trace.accesses == KERNELS[name].accesses(**given_sizes)
    assert touches(trace, most) == touches(trace, most) == result
    if name in LOOPS:
        wanted = {size: value for size, value in given_sizes.items() if size != "element_bytes"}
        assert result == list(LOOPS[name](**wanted))


@given(sizes(), st.sampled_from([1, 2, 7, 64]))
def test_long_loops(kernel: tuple[str, dict[str, Any]], longest: int) -> None:
    """Loops that are longer than a template are those of the template."""
    name, given_sizes = kernel
    trace = kernel_trace(name, **given_sizes)
    whole = read_all(trace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_nest, "LONGEST", longest)
        pieces = read_all(trace)
    for one, other in ((whole.address, pieces.address), (whole.kind, pieces.kind), (whole.group, pieces.group)):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "given_sizes", "accesses"),
    [
        ("matmul", {"n": 10**6}, 2 * 10**18 + 10**12),
        ("blocked_matmul", {"n": 2**20, "b": 2**10}, 2 * 2**60 + 2 * 2**50),
        ("blocked_matmul", {"n": 600, "b": 600, "count_c": "accumulator"}, 3 * 600**3 + 600**2),
        ("stencil", {"n": 10**6 + 2, "sweeps": 1001}, 6006 * 10**12),
        ("triad", {"n": 10**9, "repeats": 5}, 15 * 10**9),
        ("fft", {"n": 2**30}, 2 * (2**30 - 2**15) + 60 * 2**30),
        ("random_access", {"n": 2**40, "updates": 2**42}, 2**42),
    ],
)
def test_streams_longer_than_memory_begin_at_once(name: str, given_sizes: dict[str, Any], accesses: int) -> None:
    trace = kernel_trace(name, **given_sizes)
    assert trace.accesses == KERNELS[name].accesses(**given_sizes) == accesses
    for _, chunk in zip(range(3), trace.chunks(), strict=False):
        assert len(chunk) <= 1 << 20
        ends = {trace.base[array] + trace.footprint_bytes // len(trace.base) for array in trace.base}
        assert chunk.address.min() >= min(trace.base.values())
        assert chunk.address.max() < max(ends)


def test_distant_parts_of_a_long_stream() -> None:
    """Where a row is longer than a template: single accesses far from the start, by their position in the stream."""
    n = 40_000
    trace = kernel_trace("matmul", n=n)
    position, wanted = 0, {0, 1, 2 * n - 1, 2 * n, 2 * n + 1, 4 * n, 4 * n + 1, 60 * (2 * n + 1) + 33_334}
    for chunk in trace.chunks():
        for access in [at for at in wanted if position <= at < position + len(chunk)]:
            j, inner = divmod(access, 2 * n + 1)  # i = 0
            k = inner // 2
            array, element = ("C", j) if inner == 2 * n else (("A", k), ("B", k * n + j))[inner % 2]
            assert chunk.address[access - position] == trace.base[array] + 8 * element
            assert trace.group_names[int(chunk.group[access - position])] == array
            wanted.discard(access)
        position += len(chunk)
        if not wanted:
            break
    assert not wanted


@pytest.mark.parametrize(
    ("recorded", "name", "given_sizes", "accesses"),
    [
        ("mm_naive", "matmul", {"n": 172}, 999_995),
        ("triad", "triad", {"n": 200_000, "repeats": 2}, 999_997),
    ],
)
def test_streams_are_those_of_compiled_programs(
    recorded: str, name: str, given_sizes: dict[str, int], accesses: int, cases: Path
) -> None:
    """Recorded accesses of the three instructions of the loop, one by one: the same but for where the arrays are."""

    def column(suffix: str) -> np.ndarray:
        with lzma.open(cases / "cache" / f"{recorded}_1M{suffix}.npy.xz") as file:
            return np.load(file)

    instruction = column(".pc")
    numbers, times = np.unique(instruction, return_counts=True)
    in_loop = np.isin(instruction, numbers[np.argsort(times)[-3:]])
    address, kind = column("")[in_loop], column(".kind")[in_loop]
    assert len(address) == accesses
    stream = read_all(kernel_trace(name, **given_sizes))
    common = min(len(address), len(stream))
    assert stream.group is not None
    assert stream.kind is not None
    assert np.array_equal(kind[:common], stream.kind[:common])
    for group in (1, 2, 3):
        of_array = stream.group[:common] == group
        shift = address[:common][of_array] - stream.address[:common][of_array]
        assert np.all(shift == shift[0])


@given(st.integers(1, 100), st.integers(0, 2**32))
def test_a_chase_is_one_cycle(n: int, seed: int) -> None:
    nodes = [element for _, element, _ in touches(kernel_trace("pointer_chase", n=n, steps=3 * n, seed=seed))]
    assert sorted(nodes[:n]) == list(range(n))
    assert nodes[:n] == nodes[n : 2 * n] == nodes[2 * n :]


def test_all_cycles_have_equal_chances() -> None:
    """Four nodes have six cycles; 600 draws of each are 100 within 5 standard deviations (sqrt(600*1/6*5/6) = 9.1)."""
    values: dict[tuple[int, ...], int] = {}
    for seed in range(600):
        order = [element for _, element, _ in touches(kernel_trace("pointer_chase", n=4, steps=4, seed=seed))]
        start = order.index(0)
        cycle = (*order[start:], *order[:start])
        values[cycle] = values.get(cycle, 0) + 1
    assert len(values) == 6
    assert all(abs(times - 100) < 46 for times in values.values())


def test_random_access_is_uniform() -> None:
    """Each of 1000 elements 1000 times, within 6 standard deviations (6 sqrt(1000))."""
    address = read_all(kernel_trace("random_access", n=1000, updates=10**6, seed=3)).address
    times = np.bincount(((address - address.min()) // 8).astype(np.int64), minlength=1000)
    assert np.all(np.abs(times - 1000) < 190)


def test_seeds() -> None:
    for name, more in (("random_access", {"updates": 200_000}), ("pointer_chase", {"steps": 200_000})):
        one, same, other = (read_all(kernel_trace(name, n=500, seed=seed, **more)).address for seed in (1, 1, 2))
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)


@given(sizes())
def test_arrays_are_apart(kernel: tuple[str, dict[str, Any]]) -> None:
    name, given_sizes = kernel
    trace = kernel_trace(name, **given_sizes)
    assert list(trace.group_names) == list(range(1, len(trace.base) + 1))
    assert all(base % PAGE == 0 for base in trace.base.values())
    whole = read_all(trace)
    highest = {array: whole.address[whole.group == group].max(initial=0) for group, array in trace.group_names.items()}
    for array, after in zip(list(trace.base), list(trace.base)[1:], strict=False):
        assert highest[array] < trace.base[after]
    assert trace.footprint_bytes >= len({*whole.address.tolist()}) * trace.sizes["element_bytes"]


def test_sizes_that_are_whole_numbers_of_another_type() -> None:
    assert kernel_trace("matmul", n=5.0).sizes == kernel_trace("matmul", n=np.int64(5)).sizes
    assert kernel_trace("matmul", n=5, count_c=0).group_names == {1: "A", 2: "B"}
    assert str(kernel_trace("triad", n=5).name) == "triad(n=5, repeats=1, element_bytes=8)"


@pytest.mark.parametrize(
    ("name", "given_sizes", "words"),
    [
        ("matmull", {"n": 3}, "did you mean 'matmul'"),
        ("matmul", {}, "matmul: n is missing"),
        ("matmul", {"n": 3, "m": 4}, "no such size, got 'm'"),
        ("matmul", {"n": 0}, "matmul: n must be a whole number, got 0 .*1 or more"),
        ("matmul", {"n": 2.5}, "matmul: n must be a whole number, got 2.5"),
        ("matmul", {"n": float("nan")}, "matmul: n must be a whole number, got nan"),
        ("matmul", {"n": float("inf")}, "matmul: n must be a whole number, got inf"),
        ("matmul", {"n": True}, "matmul: n must be a whole number, got True"),
        ("matmul", {"n": "many"}, "matmul: n must be a whole number, got 'many'"),
        ("matmul", {"n": 3, "count_c": "once"}, "count_c must be yes or no, got 'once'"),
        ("matmul", {"n": 2**31}, "too large"),
        ("blocked_matmul", {"n": 10, "b": 4}, r"not divisible by b, got \(10, 4\)"),
        ("blocked_matmul", {"n": 4, "b": 8}, "not divisible by b"),
        ("blocked_matmul", {"n": 4, "b": 2, "count_c": "twice"}, "got 'twice' .*none, once, load_store"),
        ("blocked_matmul", {"n": 4, "b": 2, "count_c": True}, "got True"),
        ("stencil", {"n": 2}, "must be a whole number.*3 or more"),
        ("stencil", {"n": 5, "sweeps": 0}, "sweeps must be a whole number, got 0"),
        ("stencil", {"n": 5, "rows": 2}, "rows, got 2 .*3 or more"),
        ("triad", {"n": 5, "repeats": -1}, "repeats must be a whole number, got -1"),
        ("fft", {"n": 12}, "fft: n must be a power of two, got 12"),
        ("fft", {"n": 1}, "must be a whole number.*2 or more"),
        ("random_access", {"n": 5}, "updates is missing"),
        ("pointer_chase", {"n": 5, "steps": 5, "seed": -1}, "seed must be a whole number, got -1"),
        ("pointer_chase", {"n": 5, "steps": 5, "element_bytes": 0}, "element_bytes must be a whole number, got 0"),
    ],
)
def test_sizes_that_are_not_allowed(name: str, given_sizes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        kernel_trace(name, **given_sizes)
    if name in KERNELS:
        with pytest.raises(InputError, match=words):
            KERNELS[name].accesses(**given_sizes)


def test_chunks_of_nothing() -> None:
    with pytest.raises(InputError, match="chunks"):
        next(iter(kernel_trace("triad", n=4).chunks(0)))


@pytest.mark.benchmark
@pytest.mark.parametrize(
    ("name", "given_sizes"),
    [
        ("matmul", {"n": 300}),
        ("blocked_matmul", {"n": 288, "b": 16}),
        ("stencil", {"n": 1000, "sweeps": 5}),
        ("triad", {"n": 10**6, "repeats": 10}),
        ("fft", {"n": 2**20}),
        ("random_access", {"n": 10**6, "updates": 3 * 10**7}),
        ("pointer_chase", {"n": 10**6, "steps": 3 * 10**7}),
    ],
)
def test_speed(benchmark: Any, name: str, given_sizes: dict[str, Any]) -> None:
    """50 million accesses a second."""
    trace = kernel_trace(name, **given_sizes)
    benchmark.extra_info["accesses"] = trace.accesses
    total = benchmark(lambda: sum(len(chunk) for chunk in trace.chunks()))
    assert total == trace.accesses
    assert total / benchmark.stats.stats.min >= 50e6
