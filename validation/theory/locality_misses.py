"""Miss ratios of matrix multiplication over the size of the matrix: the steps, and the matrix that has none.

Source: Calotoiu et al., CLUSTER 2018, section on locality modeling: performance stays high while everything fits, B is
the first to miss, then all of B does and nothing changes until A misses too; the blocked multiplication computes larger
matrices without higher demands. Expected ratios follow from the stack distances (``matrix_multiply``) of single
accesses; both the stack model (forecast) and an LRU cache that is driven by the trace (simulation) are compared with them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from simcodesign.locality.hierarchy.simulate import lru_hits
from simcodesign.locality.stack.distances import stack_profile
from simcodesign.locality.streams.kernels import KernelTrace, kernel_trace
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from .locality import ELEMENT, PAPER

RATIO = Tolerance("one division of whole numbers, rounded once on either side", relative=1e-15)
PLACES = Tolerance("rows of a matrix are whole numbers")
#: Elements that the caches hold.
CACHES = (32, 64, 128)
#: Rows of a block.
B = 8


# --- Naive --------------------------------------------------------------------------------------------------------


def b_distances(n: int) -> list[tuple[int, int]]:
    """Stack distances of an element of B between two uses, with how many elements of B have it; C counts.

    Between the uses of B[k, j] lie the rest of B, all of C's row and A's, i and i + 1: but of row i only what comes
    after k if j is the last column, and of row i + 1 only what comes up to k if j is the first.
    """
    whole = n**2 - 1 + n + 2 * n
    first = [(whole - (n - 1 - k), 1) for k in range(n)]
    last = [(whole - (k + 1), 1) for k in range(n)]
    return [(whole, n * (n - 2)), *first, *last]


def naive_misses(n: int, lines: int) -> int:
    """First uses of three matrices; A again for each column but one, if 2 n elements do not fit; B likewise."""
    again = n**2 if 2 * n >= lines else 0
    again += sum(count for distance, count in b_distances(n) if distance >= lines)
    return 3 * n**2 + (n - 1) * again


def naive_ratio(n: int, lines: int) -> float:
    """Misses per access."""
    return naive_misses(n, lines) / (2 * n**3 + n**2)


@cache
def simulated(n: int, lines: int) -> int:
    """Misses of a simulated cache."""
    return lru_hits(kernel_trace("matmul", n=n, element_bytes=ELEMENT), lines, ELEMENT)[1]


def _both(trace: KernelTrace, lines: int) -> tuple[float, float]:
    hits, misses = lru_hits(trace, lines, ELEMENT)
    return float(stack_profile(trace, ELEMENT).miss_ratio(lines)), misses / (hits + misses)


def _curve(traces: dict[Label, KernelTrace], lines: int) -> Readings:
    ratios = {label: _both(trace, lines) for label, trace in traces.items()}
    return Readings(
        forecast={label: one for label, (one, _) in ratios.items()},
        simulation={label: other for label, (_, other) in ratios.items()},
    )


def sizes(lines: int) -> list[int]:
    """Rows of matrices: all about the steps, and some between and behind."""
    b_step, a_step = step_expected("B begins to miss", lines), step_expected("A misses", lines)
    near = {*range(2, b_step + 4), *range(a_step - 2, a_step + 3)}
    return sorted(near | {*range(b_step, a_step, 4), a_step + 6})


def naive_case(lines: int) -> Case:
    """The miss ratio over n."""
    rows = sizes(lines)
    flat = [n for n in rows if n**2 + 2 * n - 1 >= lines and 2 * n < lines][-1]
    return Case(
        name=f"locality/miss-ratio/naive-{lines}",
        claim=f"The miss ratio of a cache of {lines} elements rises in two steps with the size of the matrix: first B, then A.",
        source=f"{PAPER}, text on Listing 1; from the stack distances of all accesses",
        unit="misses per access",
        expected={n: naive_ratio(n, lines) for n in rows},
        tolerance=RATIO,
        reading="both",
        measure=lambda: _curve({n: kernel_trace("matmul", n=n, element_bytes=ELEMENT) for n in rows}, lines),
        axis="n",
        derivation=(
            Derived("everything fits", "3*n**2/(2*n**3 + n**2)", {"n": 4}),
            Derived("B misses", "(3*n**2 + (n - 1)*n**2)/(2*n**3 + n**2)", {"n": flat}),
            Derived("A misses, too", "(3*n**2 + 2*(n - 1)*n**2)/(2*n**3 + n**2)", {"n": rows[-1]}),
        ),
        quick=True,
    )


#: By step: whether the misses of reuses show it; whether the distances predict it; the distance in question.
Reached = Callable[[int, int], bool]
STEPS: dict[str, tuple[Reached, Reached, str]] = {
    "B begins to miss": (lambda n, again: again > 0, lambda n, lines: n**2 + 3 * n - 1 >= lines, "n**2 + 3*n - 1"),
    "all of B misses": (
        lambda n, again: again >= (n - 1) * n**2,
        lambda n, lines: n**2 + 2 * n - 1 >= lines,
        "n**2 + 2*n - 1",
    ),
    "A misses": (lambda n, again: again > (n - 1) * n**2, lambda n, lines: 2 * n >= lines, "2*n"),
    "all misses": (lambda n, again: again == 2 * (n - 1) * n**2, lambda n, lines: 2 * n >= lines, "2*n"),
}


def simulated_step(what: str, lines: int) -> int:
    """The smallest matrix of which a simulated cache shows the step: misses that are no first uses."""
    visible = STEPS[what][0]
    return next(n for n in range(2, lines) if visible(n, simulated(n, lines) - 3 * n**2))


def step_expected(what: str, lines: int) -> int:
    """The smallest matrix of which a distance is too long for the cache."""
    reached = STEPS[what][1]
    return next(n for n in range(2, lines) if reached(n, lines))


def _steps_case() -> Case:
    steps = {f"{what}, {lines} elements": (what, lines) for lines in CACHES for what in STEPS}
    lines = CACHES[-1]
    return Case(
        name="locality/miss-ratio/steps",
        claim="B begins to miss where its longest stack distance reaches the size of the cache, all of B where its shortest does, and A where 2 n does.",
        source=f"{PAPER}, text on Listing 1; caches of {', '.join(map(str, CACHES))} elements",
        unit="rows of a matrix",
        expected={label: step_expected(*step) for label, step in steps.items()},
        tolerance=PLACES,
        reading="simulation",
        measure=lambda: Readings(simulation={label: simulated_step(*step) for label, step in steps.items()}),
        derivation=tuple(
            Derived("distance", formula, {"n": step_expected(what, lines)}, f"of {lines}", about=what)
            for what, (_, _, formula) in STEPS.items()
        ),
        quick=True,
    )


def plateau(lines: int) -> float:
    """Sizes of matrices of which all of B misses, and nothing of A."""
    return simulated_step("A misses", lines) - simulated_step("all of B misses", lines)


ORDER = Case(
    name="locality/miss-ratio/b-before-a",
    claim="Accesses to B are the first to miss, and all of them do before any to A does.",
    source=f"{PAPER}, text on Listing 1",
    unit="sizes of matrices between the two steps",
    expected=dict.fromkeys(CACHES, 1.0),
    tolerance=Tolerance("matrices between the steps, one at least", sense="at_least"),
    reading="simulation",
    measure=lambda: Readings(simulation={lines: plateau(lines) for lines in CACHES}),
    axis="elements in the cache",
    quick=True,
)


# --- Blocked ------------------------------------------------------------------------------------------------------


def blocked_ratio(n: int) -> float:
    """Each block of B is loaded once, and each row of a block of A once for each block column of B; C does not count."""
    return (n**2 + n**2 * (n // B)) / (2 * n**3)


def _blocked_case() -> Case:
    lines, rows = CACHES[-1], [2 * B, 3 * B, 4 * B, 6 * B, 8 * B, 9 * B]
    return Case(
        name=f"locality/miss-ratio/blocked-{lines}",
        claim=f"Blocks of {B} rows let a cache of {lines} elements compute larger matrices without more misses per access.",
        source=f"{PAPER}, text on Listing 2; from the stack distances of all accesses, C not counted",
        unit="misses per access",
        expected={n: blocked_ratio(n) for n in rows},
        tolerance=RATIO,
        reading="both",
        measure=lambda: _curve(
            {n: kernel_trace("blocked_matmul", n=n, b=B, count_c="none", element_bytes=ELEMENT) for n in rows}, lines
        ),
        axis="n",
        derivation=(
            Derived("elements that B needs", "b**2 + 2*b - 1", {"b": B}, f"of {lines}"),
            Derived("miss ratio", "(1/n + 1/b)/2", {"n": rows[-1], "b": B}),
            Derived("in the end", "1/(2*b)", {"b": B}),
        ),
        quick=True,
    )


# --- Number of accesses -------------------------------------------------------------------------------------------


def _count(trace: KernelTrace) -> int:
    return sum(len(chunk) for chunk in trace.chunks())


def _accesses_case(detail: str, claim: str, naive: bool, blocked: str, own: str) -> Case:
    """Compare the number of accesses of both listings under one way to count C with the loops."""
    rows = [2 * B, 4 * B, 8 * B]
    lines = {n: Derived("more accesses", own, {"n": n, "b": B} if "b" in own else {}) for n in rows}
    return Case(
        name=f"locality/accesses/{detail}",
        claim=claim,
        source=f"{PAPER}, text on Listing 2; blocks of {B} rows",
        unit="accesses of the blocked one more",
        expected={n: line.value for n, line in lines.items()},
        printed=own == "0",
        inputs={"Listings 1 and 2": "published", "how C counts": "chosen"},
        tolerance=Tolerance("both are numbers of accesses"),
        reading="simulation",
        measure=lambda: Readings(
            simulation={
                n: _count(kernel_trace("blocked_matmul", n=n, b=B, count_c=blocked))
                - _count(kernel_trace("matmul", n=n, count_c=naive))
                for n in rows
            }
        ),
        axis="n",
        derivation=tuple(lines.values())[-1:],
        quick=True,
    )


ACCESSES = [
    _accesses_case(
        "c-not-counted",
        "Both multiplications need the same number of accesses, if C does not count.",
        False,
        "none",
        "0",
    ),
    _accesses_case(
        "as-compiled",
        "The blocked multiplication needs more accesses where those to C count as in compiled code, by those to C.",
        True,
        "load_store",
        "2*n**3/b - n**2",
    ),
]

CASES: list[Case] = [*(naive_case(lines) for lines in CACHES), _steps_case(), ORDER, _blocked_case(), *ACCESSES]
