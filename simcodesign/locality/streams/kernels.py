"""Address streams of kernels with known locality, made as they are read: none has to fit in memory.

``kernel_trace("matmul", n=500)`` is a trace like any other, with kinds, and with a group for each array
(``trace.group_names``: group 1 is the first array). Arrays lie one after another in rows, each at the start of a page.
Matrix multiply follows Listings 1 and 2 of Calotoiu et al., CLUSTER 2018 (blocked: loops jj, kk, i, j, k); STREAM is
McCalpin's, random access the HPC Challenge's, the FFT by Cooley and Tukey, radix 2, in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import index
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, nearest
from simcodesign.locality.streams.equal_turns import repeated
from simcodesign.locality.streams.irregular import BitReversal, Chase, RandomUpdates
from simcodesign.locality.streams.loop_nest import FIRST_GROUP, Access, Loop, Node
from simcodesign.locality.traces.trace import CHUNK, LOAD, MODIFY, STORE, Accesses, Repeated, Trace, at_least_one

#: Address of the first array, and what every array's address is a multiple of.
BASE, PAGE = 1 << 16, 4096
#: No array may end above this address.
END = 1 << 62
#: How often blocked matrix multiply touches C, or the accumulator that replaces it.
C_COUNTED = ("none", "once", "load_store", "inner", "accumulator")

Part = Loop | BitReversal | RandomUpdates | Chase
Value = int | bool | str


@dataclass(frozen=True)
class Size:
    """A size or option of a kernel: a whole number from ``least`` up; or one of ``words``; or yes or no.

    ``default`` None: it must be given. Its type determines the type of the value.
    """

    about: str
    least: int = 1
    default: Value | None = None
    words: tuple[str, ...] = ()

    def checked(self, name: str, value: Any) -> Value:
        """Return the value, as the kernel needs it; InputError for any other. A float that is a whole number is one."""
        if self.words:
            if not isinstance(value, str) or value not in self.words:
                raise InputError(f"{name} is not one of the choices", value=value, allowed=", ".join(self.words))
            return value
        if isinstance(self.default, bool):
            if value not in (0, 1):
                raise InputError(f"{name} must be yes or no", value=value, allowed="true, false")
            return bool(value)
        try:
            number = int(value) if isinstance(value, float) and value.is_integer() else index(value)
        except TypeError:
            number = self.least - 1
        if isinstance(value, bool) or number < self.least:
            raise InputError(f"{name} must be a whole number", value=value, allowed=f"{self.least} or more")
        return number


@dataclass(frozen=True)
class Program:
    """Accesses of a kernel: arrays with their sizes in bytes, and the parts of the stream one after another."""

    arrays: Mapping[str, int]
    parts: tuple[Part, ...]

    @property
    def accesses(self) -> int:
        """Accesses of all parts."""
        return sum(part.count for part in self.parts)


@dataclass(frozen=True)
class Kernel:
    """A kernel by its name: what sizes it takes, how many accesses those give, and how the stream is made.

    ``formula`` is the closed form of the number of accesses, of the checked sizes.
    """

    name: str
    about: str
    sizes: Mapping[str, Size]
    formula: Callable[..., int] = field(repr=False)
    program: Callable[..., Program] = field(repr=False)

    def checked(self, sizes: Mapping[str, Any]) -> dict[str, Any]:
        """All sizes, those not given at their defaults. InputError for one that is unknown, missing or not allowed."""
        for name in sizes:
            if name not in self.sizes:
                raise InputError(f"kernel {self.name}: no such size", value=name, allowed=nearest(name, self.sizes))
        chosen: dict[str, Any] = {}
        for name, size in self.sizes.items():
            value = sizes.get(name, size.default)
            if value is None:
                raise InputError(f"kernel {self.name}: {name} is missing", allowed=size.about)
            chosen[name] = size.checked(f"kernel {self.name}: {name}", value)
        return chosen

    def accesses(self, **sizes: Any) -> int:
        """Return the number of accesses, in closed form. InputError as ``kernel_trace``."""
        chosen = self.checked(sizes)
        self.program(**chosen)  # checks the sizes against each other
        return self.formula(**chosen)


class KernelTrace(Trace):
    """The accesses of a kernel.

    ``sizes``: all of them, with defaults; ``accesses``: how many there are; ``footprint_bytes``: sum of the arrays;
    ``group_names``: the array of each group; ``base``: the address of each array by its name.
    """

    def __init__(self, kernel: Kernel, sizes: Mapping[str, Any]) -> None:
        self.kernel, self.sizes = kernel, kernel.checked(sizes)
        self._program = kernel.program(**self.sizes)
        arrays = self._program.arrays
        self.name = f"{kernel.name}({', '.join(f'{name}={value}' for name, value in self.sizes.items())})"
        self.accesses = self._program.accesses
        self.footprint_bytes = sum(arrays.values())
        self.group_names = dict(enumerate(arrays, FIRST_GROUP))
        self.base = dict(zip(arrays, _bases(arrays), strict=True))
        #: The first address, and the end of the last.
        self.span = (BASE, max(self.base[name] + size_bytes for name, size_bytes in arrays.items()))

    def __len__(self) -> int:
        return self.accesses

    @cached_property
    def stores(self) -> int:
        """Accesses that only store."""
        return sum(_stores(part) for part in self._program.parts)

    def repeated(self, line_bytes: int) -> Repeated | None:
        """Most turns of a loop have the stack distances of others; not if it is one of several parts."""
        (first, *others) = self._program.parts
        return None if others or not isinstance(first, Loop) else repeated(first, line_bytes)

    def chunks(self, most: int = CHUNK) -> Iterator[Accesses]:
        """All accesses in order; chunks have varying sizes, and share their kinds and groups."""
        at_least_one(most)
        return (block for part in self._program.parts for block in part.blocks(most))


def _stores(part: Part) -> int:
    """Return accesses that only store."""
    if isinstance(part, Loop):
        return part.stores
    return sum(int(np.count_nonzero(chunk.kind == STORE)) for chunk in part.blocks(CHUNK))


def kernel_trace(name: str, **sizes: Any) -> KernelTrace:
    """Return the trace of a kernel of ``KERNELS``. InputError for an unknown name, and sizes missing or not allowed."""
    return KernelTrace(kernel(name), sizes)


def kernel(name: str) -> Kernel:
    """Return the kernel of a name; InputError for an unknown one."""
    if name not in KERNELS:
        raise InputError("no such kernel", value=name, allowed=nearest(name, KERNELS))
    return KERNELS[name]


def _bases(arrays: Mapping[str, int]) -> list[int]:
    """Addresses of arrays one after another, each at the start of a page. InputError when they end too high."""
    bases, end = [], BASE
    for size_bytes in arrays.values():
        bases.append(end)
        end += -(-size_bytes // PAGE) * PAGE
    if end > END:
        raise InputError("arrays of a kernel are too large", value=sum(arrays.values()), allowed="up to 2**62 bytes")
    return bases


# --- Matrix multiply ------------------------------------------------------------------------------------------


def _matmul(n: int, count_c: bool, element_bytes: int) -> Program:
    """for i: for j: (for k: load A[i, k], load B[k, j]), store C[i, j]."""
    e, row = element_bytes, n * element_bytes
    arrays = dict.fromkeys(("A", "B", "C") if count_c else ("A", "B"), n * row)
    a, b, *c = _bases(arrays)

    def steps(*each: int) -> tuple[int, ...]:
        return each[: len(arrays)]

    inner = Loop(n, steps(e, row, 0), (Access(0, a), Access(1, b)))
    stores = [Access(2, address, STORE) for address in c]
    return Program(arrays, (Loop(n, steps(row, 0, row), (Loop(n, steps(0, e, e), (inner, *stores)),)),))


def _blocked_matmul(n: int, b: int, count_c: str, element_bytes: int) -> Program:
    """for jj, kk in steps of b: for i: for j in jj...: (for k in kk...: load A[i, k], load B[k, j]), C[i, j] += v."""
    if n % b:
        raise InputError("kernel blocked_matmul: n is not divisible by b", value=(n, b), allowed="n = b, 2 b, 3 b, ...")
    e, row = element_bytes, n * element_bytes
    arrays = dict.fromkeys(("A", "B") if count_c == "none" else ("A", "B", "C"), n * row)
    arrays |= {"v": e} if count_c == "accumulator" else {}
    bases = [*_bases(arrays), 0, 0]  # what is not counted is nowhere

    def steps(*each: int) -> tuple[int, ...]:
        return (*each, 0)[: len(arrays)]

    in_k, after_k = {
        "none": ((), ()),
        "once": ((), (MODIFY,)),
        "load_store": ((), (LOAD, STORE)),
        "inner": ((MODIFY,), ()),
        "accumulator": ((MODIFY,), (MODIFY,)),
    }[count_c]
    summed = 3 if count_c == "accumulator" else 2
    nest: tuple[Node, ...] = (Access(0, bases[0]), Access(1, bases[1]))
    nest += tuple(Access(summed, bases[summed], kind) for kind in in_k)
    nest = (Loop(b, steps(e, row, 0), nest), *(Access(2, bases[2], kind) for kind in after_k))
    for turns, step in ((b, (0, e, e)), (n, (row, 0, row)), (n // b, (b * e, b * row, 0)), (n // b, (0, b * e, b * e))):
        nest = (Loop(turns, steps(*step), nest),)
    (whole,) = nest
    assert isinstance(whole, Loop)
    return Program(arrays, (whole,))


def _blocked_accesses(n: int, b: int, count_c: str, element_bytes: int) -> int:
    per_sum = {"none": 0, "once": 1, "load_store": 2, "inner": b, "accumulator": b + 1}[count_c]
    return 2 * n**3 + n**3 // b * per_sum


# --- Stencil, STREAM ------------------------------------------------------------------------------------------


def _stencil(n: int, sweeps: int, rows: int, centre: bool, element_bytes: int) -> Program:
    """Jacobi: every sweep loads north, west, centre, east and south of one array and stores to the other."""
    e, row, rows = element_bytes, n * element_bytes, rows or n
    if rows < 3:
        raise InputError("kernel stencil has too few rows", value=rows, allowed="3 or more; 0 for as many as n")
    arrays = {"u": rows * row, "v": rows * row}
    u, v = _bases(arrays)

    def sweep(array: int, source: int, target: int) -> Loop:
        shifts = (e, row, *((row + e,) if centre else ()), row + 2 * e, 2 * row + e)
        points = tuple(Access(array, source + shift) for shift in shifts)
        point = (*points, Access(1 - array, target + row + e, STORE))
        return Loop(rows - 2, (row, row), (Loop(n - 2, (e, e), point),))

    there, back = sweep(0, u, v), sweep(1, v, u)
    twice = (Loop(sweeps // 2, (0, 0), (there, back)),) if sweeps > 1 else ()
    return Program(arrays, (*twice, *((there,) if sweeps % 2 else ())))


def _triad(n: int, repeats: int, element_bytes: int) -> Program:
    """a[i] = b[i] + s c[i]: load b, load c, store a."""
    arrays = dict.fromkeys(("a", "b", "c"), n * element_bytes)
    a, b, c = _bases(arrays)
    step = (element_bytes,) * 3
    once = Loop(n, step, (Access(1, b), Access(2, c), Access(0, a, STORE)))
    return Program(arrays, (Loop(repeats, (0, 0, 0), (once,)),))


# --- FFT, random access, pointer chase ------------------------------------------------------------------------


def _fft(n: int, twiddles: bool, element_bytes: int) -> Program:
    """Bit reversal, then log2 n stages of n/2 butterflies: load x[k], load x[k + half], (load w,) store both."""
    bits = n.bit_length() - 1
    if n != 1 << bits:
        raise InputError("kernel fft: n must be a power of two", value=n, allowed="2, 4, 8, ...")
    e = element_bytes
    arrays = {"x": n * e} | ({"w": n // 2 * e} if twiddles else {})
    x, *w = _bases(arrays)
    stages = []
    for half in (1 << stage for stage in range(bits)):
        ends = (x, x + half * e)
        turned = tuple(Access(1, address) for address in w)
        butterfly = (*(Access(0, end) for end in ends), *turned, *(Access(0, end, STORE) for end in ends))
        within = Loop(half, (e, n // (2 * half) * e)[: len(arrays)], butterfly)
        stages.append(Loop(n // (2 * half), (2 * half * e, 0)[: len(arrays)], (within,)))
    return Program(arrays, (BitReversal(x, bits, e), *stages))


def _fft_accesses(n: int, twiddles: bool, element_bytes: int) -> int:
    bits = n.bit_length() - 1
    return 2 * (n - (1 << (bits + 1) // 2)) + (4 + twiddles) * n // 2 * bits


def _random_access(n: int, updates: int, seed: int, element_bytes: int) -> Program:
    arrays = {"table": n * element_bytes}
    return Program(arrays, (RandomUpdates(_bases(arrays)[0], n, element_bytes, updates, seed),))


def _pointer_chase(n: int, steps: int, seed: int, element_bytes: int) -> Program:
    arrays = {"nodes": n * element_bytes}
    return Program(arrays, (Chase(_bases(arrays)[0], n, element_bytes, steps, seed),))


# --- By name --------------------------------------------------------------------------------------------------

_DOUBLE = Size("bytes of an element", default=8)
_SEED = Size("seed of the random draws", least=0, default=0)

#: All kernels by their names.
KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        Kernel(
            "matmul",
            "naive multiplication of two n x n matrices",
            {
                "n": Size("rows of a matrix"),
                "count_c": Size("whether stores to C count", default=True),
                "element_bytes": _DOUBLE,
            },
            lambda n, count_c, element_bytes: 2 * n**3 + count_c * n**2,
            _matmul,
        ),
        Kernel(
            "blocked_matmul",
            "multiplication of two n x n matrices in blocks of b x b",
            {
                "n": Size("rows of a matrix"),
                "b": Size("rows of a block, a divisor of n"),
                "count_c": Size("how C counts", default="load_store", words=C_COUNTED),
                "element_bytes": _DOUBLE,
            },
            _blocked_accesses,
            _blocked_matmul,
        ),
        Kernel(
            "stencil",
            "Jacobi sweeps of the 5-point stencil over a grid of n x n points, from one array into another",
            {
                "n": Size("points of a side, or of a row, with the border", least=3),
                "sweeps": Size("sweeps", default=1),
                "rows": Size("rows of the grid, with the border; 0: n", least=0, default=0),
                "centre": Size("whether the point itself is loaded, in addition to its four neighbours", default=True),
                "element_bytes": _DOUBLE,
            },
            lambda n, sweeps, rows, centre, element_bytes: (5 + centre) * (n - 2) * ((rows or n) - 2) * sweeps,
            _stencil,
        ),
        Kernel(
            "triad",
            "STREAM triad a = b + s c over vectors of n elements",
            {"n": Size("elements of a vector"), "repeats": Size("times over all", default=1), "element_bytes": _DOUBLE},
            lambda n, repeats, element_bytes: 3 * n * repeats,
            _triad,
        ),
        Kernel(
            "fft",
            "radix-2 Fourier transform in place, with bit reversal, of n complex doubles",
            {
                "n": Size("elements, a power of two", least=2),
                "twiddles": Size("whether factors are loaded from a table of n/2", default=False),
                "element_bytes": Size("bytes of an element", default=16),
            },
            _fft_accesses,
            _fft,
        ),
        Kernel(
            "random_access",
            "read and write back of random elements of a table",
            {
                "n": Size("elements of the table"),
                "updates": Size("number of random updates"),
                "seed": _SEED,
                "element_bytes": _DOUBLE,
            },
            lambda n, updates, seed, element_bytes: updates,
            _random_access,
        ),
        Kernel(
            "pointer_chase",
            "loads along a random cycle through n nodes",
            {
                "n": Size("nodes"),
                "steps": Size("loads"),
                "seed": _SEED,
                "element_bytes": Size("bytes of a node", default=64),
            },
            lambda n, steps, seed, element_bytes: steps,
            _pointer_chase,
        ),
    )
}
