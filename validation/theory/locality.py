"""Locality of matrix multiplication: stack and reuse distances, published and as they follow from the loops.

Source: Calotoiu et al., CLUSTER 2018, section on locality modeling, with Listings 1 and 2. Expected values are the
published formulas and those that follow from the loops (``matrix_multiply``); where a formula does not hold, what holds
is counted there by definition. Measured are the kernels of this system, element by element, by its own engine. A
published formula is one case: under the way to count C that the text specifies, otherwise under the one that fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise

from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.stack.distances import group_profiles, reuse_distances
from simcodesign.locality.streams.kernels import KernelTrace, kernel_trace
from simcodesign.locality.traces.trace import read_all
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ..later import Later
from ..published.tables import text
from .matrix_multiply import CONVENTIONS, EXACT, coefficients, most_frequent

PAPER = "Calotoiu et al., CLUSTER 2018, locality modeling"
TABLE = "matmul-distances"
COUNTS = Tolerance("distances are counts, and formulas are of whole numbers")
UNITS = {"stack": "elements", "reuse": "accesses"}
LISTINGS = {"naive": "Listing 1", "blocked": "Listing 2"}
#: Keys are elements of 8 bytes.
ELEMENT = 8
#: Rows of the matrices and of the blocks (0: no blocks); the few of them that are counted by definition.
NAIVE = tuple((n, 0) for n in (12, 16, 20, 32))
BLOCKED = ((12, 4), (12, 6), (16, 4), (16, 8), (20, 4), (24, 6), (32, 4), (32, 8))
FEW = BLOCKED[:4]

#: How the text counts C in the blocked listing.
IN_EACH_TURN = "the text: the same address in every turn of the innermost loop"

#: Listing, array, kind of distance, and a way to count C.
Distance = tuple[str, str, str, str]


# --- Measured here ------------------------------------------------------------------------------------------------


def trace_of(listing: str, convention: str, n: int, b: int) -> KernelTrace:
    """The kernel of a listing."""
    if listing == "naive":
        return kernel_trace("matmul", n=n, count_c=convention == "counted", element_bytes=ELEMENT)
    return kernel_trace("blocked_matmul", n=n, b=b, count_c=convention.replace("-", "_"), element_bytes=ELEMENT)


@cache
def measured(listing: str, convention: str, n: int, b: int) -> dict[tuple[str, str], StackDistanceProfile]:
    """Profiles of both distances by array."""
    trace = trace_of(listing, convention, n, b)
    reuse, group = reuse_distances(trace, ELEMENT), read_all(trace).group
    stack = group_profiles(trace, ELEMENT)
    return {(name, "stack"): stack[number] for number, name in trace.group_names.items()} | {
        (name, "reuse"): StackDistanceProfile.from_distances(reuse[group == number], ELEMENT)
        for number, name in trace.group_names.items()
    }


def mode(distance: Distance, n: int, b: int) -> float:
    """The most frequent distance, measured."""
    listing, array, kind, convention = distance
    return measured(listing, convention, n, b)[array, kind].mode


# --- Formulas ---------------------------------------------------------------------------------------------------------


def label(n: int, b: int) -> Label:
    """Of a point: n alone is a place on an axis."""
    return f"n = {n}, b = {b}" if b else n


def formula_line(formula: str, n: int, b: int, symbol: str = "distance") -> Derived:
    """A formula at a point."""
    values = {name: float(value) for name, value in (("n", n), ("b", b)) if name in formula}
    return Derived(symbol, formula, values)


def published_case(distance: Distance, claim: str, holds: bool, convention_from: str = "") -> Case:
    """Compare a published formula with the loops under one way to count C. ``convention_from``: where the text specifies
    that way; without it, it was chosen as the one that fits."""
    listing, array, kind, convention = distance
    formula = text(TABLE, kind, listing=listing, array=array)
    points = NAIVE if listing == "naive" else BLOCKED if holds else FEW
    return Case(
        name=f"locality/published/{listing}-{array.lower()}-{kind}",
        claim=f"{claim}, if {CONVENTIONS[listing][convention]}.",
        source=f"{PAPER}, text on {LISTINGS[listing]}",
        unit=UNITS[kind],
        expected={label(n, b): formula_line(formula, n, b).value for n, b in points},
        printed=True,
        inputs={
            LISTINGS[listing]: "published",
            f"how C counts{convention_from and ', by '}{convention_from}": "published" if convention_from else "chosen",
        },
        own={} if holds else Later({label(n, b): partial(counted, distance, n, b) for n, b in points}),
        tolerance=COUNTS,
        reading="simulation",
        measure=lambda: Readings(simulation={label(n, b): mode(distance, n, b) for n, b in points}),
        axis="n" if listing == "naive" else "",
        derivation=(
            formula_line(formula, *points[-1], "published"),
            formula_line(EXACT[listing, convention][array, kind], *points[-1], "from the loops"),
        ),
        quick=True,
    )


def counted(distance: Distance, n: int, b: int) -> int:
    """The most frequent distance, by definition."""
    listing, array, kind, convention = distance
    return most_frequent(listing, convention, n, b, array, kind)


def no_convention_case(array: str, kind: str, claim: str) -> Case:
    """A formula of the blocked listing that holds under no way to count C."""
    formula = text(TABLE, kind, listing="blocked", array=array)
    points = {
        f"C {convention}, n = {n}, b = {b}": (("blocked", array, kind, convention), n, b)
        for convention in CONVENTIONS["blocked"]
        for n, b in FEW
    }
    return Case(
        name=f"locality/published/blocked-{array.lower()}-{kind}",
        claim=claim,
        source=f"{PAPER}, text on Listing 2; five ways to count C",
        unit=UNITS[kind],
        expected={label: formula_line(formula, n, b).value for label, (_, n, b) in points.items()},
        printed=True,
        inputs={"Listing 2": "published", "how C and the ends of a distance count": "chosen"},
        own=Later({label: partial(counted, *point) for label, point in points.items()}),
        tolerance=COUNTS,
        reading="simulation",
        measure=lambda: Readings(simulation={label: mode(*point) for label, point in points.items()}),
        derivation=(
            formula_line(formula, *FEW[-1], "published"),
            *(
                formula_line(EXACT["blocked", convention][array, kind], *FEW[-1], f"C {convention}")
                for convention in CONVENTIONS["blocked"]
            ),
        ),
        quick=True,
    )


PUBLISHED = [
    published_case(("naive", "A", "stack", "counted"), "Naive A has a stack distance of 2 n", True),
    published_case(("naive", "A", "reuse", "counted"), "Naive A has a reuse distance of 2 n", True),
    published_case(
        ("naive", "B", "stack", "counted"),
        "Naive B has a stack distance of n^2 + 2 n - 1",
        False,
        "the reuse distance that is printed beside it",
    ),
    published_case(("naive", "B", "reuse", "counted"), "Naive B has a reuse distance of 2 n^2 + n - 1", True),
    published_case(("blocked", "A", "stack", "inner"), "Blocked A has a stack distance of 2 b + 1", True, IN_EACH_TURN),
    published_case(("blocked", "A", "reuse", "accumulator"), "Blocked A has a reuse distance of 3 b", True),
    published_case(
        ("blocked", "B", "stack", "inner"), "Blocked B has a stack distance of 2 b^2 + b", False, IN_EACH_TURN
    ),
    no_convention_case("B", "reuse", "Blocked B has a reuse distance of 3 b^2."),
    published_case(("blocked", "C", "stack", "inner"), "Blocked C has a stack distance of 2", True, IN_EACH_TURN),
    published_case(("blocked", "C", "reuse", "inner"), "Blocked C has a reuse distance of 2", True, IN_EACH_TURN),
    Case(
        name="locality/published/naive-c",
        claim="No element of C is accessed again in the naive multiplication.",
        source=f"{PAPER}, text on Listing 1",
        unit="reuses",
        expected={n: 0.0 for n, _ in NAIVE},
        printed=True,
        inputs={"Listing 1": "published"},
        tolerance=COUNTS,
        reading="simulation",
        measure=lambda: Readings(
            simulation={n: measured("naive", "counted", n, 0)["C", "stack"].reuses for n, _ in NAIVE}
        ),
        axis="n",
        quick=True,
    ),
]


# --- What follows from the loops --------------------------------------------------------------------------------------


def exact_case(listing: str, convention: str) -> Case:
    """All distances of a listing under a way to count C."""
    formulas = EXACT[listing, convention]
    points = NAIVE if listing == "naive" else BLOCKED
    lines = {
        f"{array} {kind}, n = {n}" + (f", b = {b}" if b else ""): (
            ((listing, array, kind, convention), n, b),
            formula_line(formula, n, b, f"{array} {kind}"),
        )
        for (array, kind), formula in formulas.items()
        for n, b in points
    }
    return Case(
        name=f"locality/exact/{listing}-c-{convention}",
        claim=f"The most frequent distances of all arrays are those that follow from the loops, if {CONVENTIONS[listing][convention]}.",
        source=f"the loops of {LISTINGS[listing]} ({PAPER}), between two uses of an element",
        unit="elements (stack) or accesses (reuse)",
        expected={label: line.value for label, (_, line) in lines.items()},
        tolerance=COUNTS,
        reading="simulation",
        measure=lambda: Readings(simulation={label: mode(*point) for label, (point, _) in lines.items()}),
        derivation=tuple(line for (_, n, b), line in lines.values() if (n, b) == points[-1]),
        quick=True,
    )


EXACTLY = [exact_case(listing, convention) for listing in CONVENTIONS for convention in CONVENTIONS[listing]]


# --- Formulas from measured distances ------------------------------------------------------------------------------------

#: Terms of the polynomial, points that determine it, and points at which it is checked.
SEARCHES: dict[str, tuple[tuple[str, ...], tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]] = {
    "naive": (("n**2", "n", "1"), ((10, 0), (14, 0), (18, 0)), ((13, 0), (24, 0), (37, 0))),
    "blocked": (
        ("n*b**2", "n*b", "n", "b**2", "b", "1"),
        tuple((n, b) for n in (24, 36) for b in (4, 6, 12)),
        ((16, 4), (30, 5), (32, 8), (40, 10)),
    ),
}


def monomials(terms: Sequence[str], n: int, b: int) -> list[int]:
    """The value of every term at a point."""
    return [int(formula_line(term, n, b).value) for term in terms]


def solved(rows: Sequence[Sequence[int]], values: Sequence[int]) -> list[Fraction]:
    """The solution of as many linear equations as unknowns, in fractions (Gauss and Jordan)."""
    table = [[Fraction(x) for x in (*row, value)] for row, value in zip(rows, values, strict=True)]
    for column in range(len(table)):
        pivot = next(row for row in range(column, len(table)) if table[row][column])
        table[column], table[pivot] = table[pivot], table[column]
        table[column] = [x / table[column][column] for x in table[column]]
        for row in range(len(table)):
            if row != column:
                table[row] = [x - table[row][column] * y for x, y in zip(table[row], table[column], strict=True)]
    return [row[-1] for row in table]


def fitted_polynomial(distance: Distance) -> dict[str, float]:
    """Coefficients of the polynomial through measured distances, and how far others are from it."""
    terms, points, checks = SEARCHES[distance[0]]
    solution = solved([monomials(terms, n, b) for n, b in points], [int(mode(distance, n, b)) for n, b in points])
    polynomial = dict(zip(terms, solution, strict=True))
    others = [abs(float(value_at(polynomial, n, b)) - mode(distance, n, b)) for n, b in checks]
    return {**{term: float(c) for term, c in polynomial.items()}, "farthest of others": max(others)}


def value_at(polynomial: dict[str, Fraction], n: int, b: int) -> Fraction:
    """The value of a polynomial at a point."""
    return sum((c * m for c, m in zip(polynomial.values(), monomials([*polynomial], n, b), strict=True)), Fraction(0))


def search_case(listing: str, convention: str) -> Case:
    """Every distance of a listing as a polynomial in n and b that a few measurements give."""
    terms, points, checks = SEARCHES[listing]
    expected: dict[Label, float] = {}
    for (array, kind), formula in EXACT[listing, convention].items():
        known = coefficients(formula)
        expected |= {f"{array} {kind}: {term}": known.get(term, 0) for term in terms}
        expected[f"{array} {kind}: farthest of others"] = 0.0

    def measure() -> Readings:
        return Readings(
            simulation={
                f"{array} {kind}: {term}": value
                for array, kind in EXACT[listing, convention]
                for term, value in fitted_polynomial((listing, array, kind, convention)).items()
            }
        )

    where = ", ".join(str(label(n, b)) for n, b in points)
    return Case(
        name=f"locality/found/{listing}-c-{convention}",
        claim=f"The polynomials through {len(points)} measurements are those that follow from the loops, and hold at {len(checks)} more, "
        f"if {CONVENTIONS[listing][convention]}.",
        source=f"the loops of {LISTINGS[listing]} ({PAPER}); measured at {where}",
        unit="coefficients; elements or accesses",
        expected=expected,
        tolerance=COUNTS,
        reading="simulation",
        measure=measure,
        derivation=tuple(
            formula_line(formula, *checks[-1], f"{array} {kind}")
            for (array, kind), formula in EXACT[listing, convention].items()
        ),
        quick=True,
    )


FOUND = [search_case(listing, convention) for listing in CONVENTIONS for convention in CONVENTIONS[listing]]


# --- Naive grows with n, blocked depends on b only --------------------------------------------------------------------


def growth(distance: Distance, points: Sequence[tuple[int, int]]) -> float:
    """By how much the distance at the last point exceeds that at the first."""
    return mode(distance, *points[-1]) - mode(distance, *points[0])


def growth_case(convention: str) -> Case:
    """Compare distances for the same block in matrices of 16 and of 24 rows. The text claims that they do not grow, and
    counts C in each turn; what follows from the loops under another way to count C is no claim of the text."""
    as_printed = convention == "inner"
    distances = {
        f"{array} {kind}, b = {b}": ((array, kind), b) for array, kind in EXACT["blocked", convention] for b in (4, 8)
    }

    def by_loops(array: str, kind: str, b: int) -> float:
        distance = ("blocked", array, kind, convention)
        return counted(distance, 24, b) - counted(distance, 16, b)

    def measure() -> Readings:
        return Readings(
            simulation={
                name: growth(("blocked", *key, convention), ((16, b), (24, b))) for name, (key, b) in distances.items()
            }
        )

    grows = "do not grow" if as_printed else "grow by as much as the loops require"
    return Case(
        name=f"locality/growth/blocked-c-{convention}",
        claim=f"The distances in the blocked multiplication {grows} with the matrix, if {CONVENTIONS['blocked'][convention]}.",
        source=f"{PAPER}, text on Listing 2; n = 16 and 24",
        unit="elements or accesses, more",
        expected=dict.fromkeys(distances, 0.0)
        if as_printed
        else Later({name: partial(by_loops, *key, b) for name, (key, b) in distances.items()}),
        printed=as_printed,
        inputs={"Listing 2": "published", f"how C counts, by {IN_EACH_TURN}": "published"} if as_printed else {},
        tolerance=COUNTS,
        reading="simulation",
        measure=measure,
        quick=True,
    )


def _naive_growth_case() -> Case:
    names = {
        f"{array} {kind}, from n = {one[0]} to {other[0]}": (("naive", array, kind, "counted"), (one, other))
        for array, kind in EXACT["naive", "counted"]
        for one, other in pairwise(NAIVE)
    }
    return Case(
        name="locality/growth/naive",
        claim="As the size of the matrix increases, the reuse and stack distances of both A and B increase.",
        source=f"{PAPER}, text on Listing 1",
        unit="elements or accesses, more",
        expected=dict.fromkeys(names, 1.0),
        printed=True,
        inputs={"Listing 1": "published", "how C counts, by the printed distances of A": "published"},
        tolerance=Tolerance("whole numbers that grow, grow by one at least", sense="at_least"),
        reading="simulation",
        measure=lambda: Readings(simulation={name: growth(*arguments) for name, arguments in names.items()}),
        quick=True,
    )


GROWTH = [_naive_growth_case(), *(growth_case(convention) for convention in CONVENTIONS["blocked"])]

CASES: list[Case] = [*PUBLISHED, *EXACTLY, *FOUND, *GROWTH]
