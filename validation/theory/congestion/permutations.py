"""Permutations, in which every rank sends one message: how many of them pass the most loaded link.

Sources: W. Dally, B. Towles, "Principles and Practices of Interconnection Networks" (2004); F. T. Leighton,
"Introduction to Parallel Algorithms and Architectures" (1992), greedy routing on arrays and hypercubes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import simcodesign as sc
from simcodesign.describe.topology.base import Topology
from simcodesign.studies.validation.case import Case, Derived, Label, Readings

from ..definitions import bits, most_passed
from ..machines import ROUNDING, TL, M, grid, hockney, kind_of, permutation
from .all_to_all import DALLY, LEIGHTON, busiest_s, busy


def _permuted(build: Callable[[int], Topology], to: Callable[[int], str], counts: Mapping[int, float]) -> Readings:
    """Busy time of the most loaded link when every rank sends one message, to its image under an involution."""
    simulation: dict[Label, float] = {}
    for size in counts:
        machine = hockney(build(size))
        work = permutation(to(size), to(size))
        simulation[size] = busiest_s(sc.simulate(work, machine, {"P": machine.nodes}, effects="links"))
    return Readings(simulation=simulation)


def _transposed(k: int) -> int:
    return most_passed((((r, c), (c, r)) for r in range(k) for c in range(k)), (k, k), wraps=False)


def _reversed(hosts: int) -> int:
    d = hosts.bit_length() - 1
    return most_passed(((bits(a, d), bits(a, d)[::-1]) for a in range(hosts)), (2,) * d, wraps=False)


def _involution(
    name: str,
    claim: str,
    source: str,
    formula: str,
    symbol: str,
    sizes: Sequence[int],
    own: Callable[[int], int],
    build: Callable[[int], Topology],
    to: Callable[[int], str],
) -> Case:
    counts = {size: Derived("messages", formula, {symbol: size}) for size in sizes}
    return Case(
        name=f"congestion/permutation/{name}",
        claim=claim,
        source=source,
        unit="s",
        expected={size: line.value * M * TL for size, line in counts.items()},
        own={size: own(size) * M * TL for size in sizes},
        tolerance=ROUNDING,
        reading="simulation",
        measure=lambda: _permuted(build, to, {size: line.value for size, line in counts.items()}),
        axis="nodes" if symbol == "P" else "extent",
        derivation=(counts[sizes[-1]], busy(counts[sizes[-1]])),
        quick=True,
    )


def _reverse(hosts: int) -> str:
    """The rank with the bits reversed."""
    d = hosts.bit_length() - 1
    return " + ".join(f"rank // {2**bit} % 2 * {2 ** (d - 1 - bit)}" for bit in range(d))


TRANSPOSE = _involution(
    "transpose",
    "In a transpose on a k x k mesh with dimension-order routing, k - 1 messages pass the most loaded link: all of a "
    "row turn at its diagonal node.",
    f"{DALLY}, transpose traffic; {LEIGHTON}, greedy routing on arrays",
    "k - 1",
    "k",
    (2, 3, 4, 5, 8, 12),
    _transposed,
    lambda k: grid("mesh", k, k),
    lambda k: f"rank % {k} * {k} + rank // {k}",
)
REVERSAL = _involution(
    "bit-reversal",
    "In a bit reversal on a hypercube with e-cube routing, sqrt(P)/2 messages pass the most loaded link (P = 4^h; "
    "sqrt(P/2)/2 for P = 2 4^h): those whose lower half of bits is corrected meet.",
    f"{LEIGHTON}, greedy routing on hypercubes: on the order of sqrt(P); exactly, 2^i messages pass a link of "
    "dimension i < floor(d/2): bits below i are free at the source, all others are given",
    "2**(floor(log2(P)/2) - 1)",
    "P",
    (4, 8, 16, 32, 64, 128, 256),
    _reversed,
    kind_of("hypercube"),
    _reverse,
)


def _shift_case() -> Case:
    k, distances = 16, (1, 2, 3, 5, 7)

    def measure() -> Readings:
        simulated: dict[Label, float] = {}
        machine = hockney(grid("torus", k))
        for s in distances:
            work = permutation(f"(rank + {s}) % P", f"(rank + P - {s}) % P")
            simulated[s] = busiest_s(sc.simulate(work, machine, {"P": k}, effects="links"))
        return Readings(simulation=simulated)

    ring = {s: most_passed((((a,), ((a + s) % k,)) for a in range(k)), (k,), wraps=True) for s in distances}
    return Case(
        name="congestion/permutation/ring-shift",
        claim="A shift by s < k/2 on a ring of k loads every link of one direction with s messages; s = k/2 - 1 is the "
        "tornado pattern.",
        source=f"{DALLY}, tornado traffic",
        unit="s",
        expected={s: s * M * TL for s in distances},
        own={s: count * M * TL for s, count in ring.items()},
        tolerance=ROUNDING,
        reading="simulation",
        measure=measure,
        axis="distance",
        derivation=(Derived("busy", "s*m*tl", {"s": 7, "m": M, "tl": TL}, "s"),),
        quick=True,
    )


CASES: list[Case] = [TRANSPOSE, REVERSAL, _shift_case()]
