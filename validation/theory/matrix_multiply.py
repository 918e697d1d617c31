"""Matrix multiplication once more, by its listings and apart from the package: loops, distances by definition, formulas.

Source of the loops: Calotoiu et al., CLUSTER 2018, Listings 1 and 2. What is an access is a matter of convention: that
to C after the innermost loop may count or not, or C may be thought of as updated in every turn of that loop. Distances
are counted strictly between two accesses to an element; the one that is meant by "the" distance of an array is the
most frequent one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import numpy as np

#: An element of an array.
Element = tuple[str, int]
#: By array and kind of distance (``stack`` or ``reuse``): how often each distance occurs.
Histograms = dict[tuple[str, str], Counter[int]]
#: How C counts in each listing, by the word for it in the kernels of this system; and what that means.
CONVENTIONS: dict[str, dict[str, str]] = {
    "naive": {"counted": "C counts, stored once for each sum", "not-counted": "C does not count"},
    "blocked": {
        "none": "C does not count",
        "once": "C counts once after each innermost loop",
        "load-store": "C is loaded and stored after each innermost loop, as compiled",
        "inner": "C counts in each turn of the innermost loop",
        "accumulator": "the accumulator v counts in each turn of the innermost loop, C once after it",
    },
}


def naive(n: int, convention: str) -> Iterator[Element]:
    """Listing 1."""
    for i in range(n):
        for j in range(n):
            for k in range(n):
                yield "A", i * n + k
                yield "B", k * n + j
            if convention == "counted":
                yield "C", i * n + j


def blocked(n: int, b: int, convention: str) -> Iterator[Element]:
    """Listing 2."""
    for jj in range(0, n, b):
        for kk in range(0, n, b):
            for i in range(n):
                for j in range(jj, jj + b):
                    for k in range(kk, kk + b):
                        yield "A", i * n + k
                        yield "B", k * n + j
                        if convention in ("inner", "accumulator"):
                            yield ("C", i * n + j) if convention == "inner" else ("v", 0)
                    for _ in range({"once": 1, "load-store": 2, "accumulator": 1}.get(convention, 0)):
                        yield "C", i * n + j


def histograms(elements: Iterator[Element]) -> Histograms:
    """All distances by their definition: stack distance is how many others were last accessed after this one was."""
    numbers: dict[Element, int] = {}
    stream = [(array, numbers.setdefault((array, place), len(numbers))) for array, place in elements]
    last, counts = np.full(len(numbers), -1), {}
    for now, (array, number) in enumerate(stream):
        before = last[number]
        if before >= 0:
            counts.setdefault((array, "reuse"), Counter())[now - int(before) - 1] += 1
            counts.setdefault((array, "stack"), Counter())[int(np.count_nonzero(last > before))] += 1
        last[number] = now
    return counts


@cache
def by_definition(listing: str, convention: str, n: int, b: int) -> Histograms:
    """The histograms of a listing; b is 0 for the naive one."""
    return histograms(naive(n, convention) if listing == "naive" else blocked(n, b, convention))


def most_frequent(listing: str, convention: str, n: int, b: int, array: str, kind: str) -> int:
    """The most frequent distance, by definition."""
    ((distance, _),) = by_definition(listing, convention, n, b)[array, kind].most_common(1)
    return distance


# --- Formulas -------------------------------------------------------------------------------------------------

#: The distances that follow from the loops, by listing, convention, array and kind, as polynomials.
#: Between two uses of A[i, k] lies one turn of the loop over j, between those of B[k, j] one of the loop over i (with
#: parts of two rows of A), between those of C[i, j] one of the loop over kk.
EXACT: dict[tuple[str, str], dict[tuple[str, str], str]] = {
    ("naive", "counted"): {
        ("A", "stack"): "2*n",
        ("A", "reuse"): "2*n",
        ("B", "stack"): "n**2 + 3*n - 1",
        ("B", "reuse"): "2*n**2 + n - 1",
    },
    ("naive", "not-counted"): {
        ("A", "stack"): "2*n - 1",
        ("A", "reuse"): "2*n - 1",
        ("B", "stack"): "n**2 + 2*n - 1",
        ("B", "reuse"): "2*n**2 - 1",
    },
    ("blocked", "none"): {
        ("A", "stack"): "2*b - 1",
        ("A", "reuse"): "2*b - 1",
        ("B", "stack"): "b**2 + 2*b - 1",
        ("B", "reuse"): "2*b**2 - 1",
    },
    ("blocked", "once"): {
        ("A", "stack"): "2*b",
        ("A", "reuse"): "2*b",
        ("B", "stack"): "b**2 + 3*b - 1",
        ("B", "reuse"): "2*b**2 + b - 1",
        ("C", "stack"): "2*n*b + 2*b**2 + b - 1",
        ("C", "reuse"): "2*n*b**2 + n*b - 1",
    },
    ("blocked", "load-store"): {
        ("A", "stack"): "2*b",
        ("A", "reuse"): "2*b + 1",
        ("B", "stack"): "b**2 + 3*b - 1",
        ("B", "reuse"): "2*b**2 + 2*b - 1",
        ("C", "stack"): "0",
        ("C", "reuse"): "0",
    },
    ("blocked", "inner"): {
        ("A", "stack"): "2*b + 1",
        ("A", "reuse"): "3*b - 1",
        ("B", "stack"): "b**2 + 3*b",
        ("B", "reuse"): "3*b**2 - 1",
        ("C", "stack"): "2",
        ("C", "reuse"): "2",
    },
    ("blocked", "accumulator"): {
        ("A", "stack"): "2*b + 1",
        ("A", "reuse"): "3*b",
        ("B", "stack"): "b**2 + 3*b",
        ("B", "reuse"): "3*b**2 + b - 1",
        ("C", "stack"): "2*n*b + 2*b**2 + b",
        ("C", "reuse"): "3*n*b**2 + n*b - 1",
        ("v", "stack"): "2",
        ("v", "reuse"): "2",
    },
}
_TERM = re.compile(r"([+-]?) ?(?:(\d+)\*)?([nb][nb*0-9]*)|([+-]?) ?(\d+)")


def coefficients(formula: str) -> dict[str, int]:
    """The coefficient of each monomial of a polynomial as they stand in ``EXACT``; that of ``1`` is the constant."""
    terms = {}
    for sign, factor, monomial, sign_1, constant in _TERM.findall(formula):
        value = int(constant or factor or 1)
        terms[monomial or "1"] = -value if "-" in (sign, sign_1) else value
    return terms
