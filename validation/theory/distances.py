"""Mean distances of grids and hypercubes, as published.

Source: W. Dally, B. Towles, "Principles and Practices of Interconnection Networks" (2004), Sec. 5.2.1: H_min of k-ary
n-cubes and n-meshes, over all pairs of nodes, a node and itself among them; Grama et al. (2nd ed. 2003), Sec. 2.4
(hypercubes). Ours is over pairs of different nodes, N / (N - 1) times as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simcodesign.describe.topology.base import Topology
from simcodesign.studies.validation.case import Case, Derived, Readings

from .machines import ROUNDING, grid, kind_of

EVEN, ODD, MESH, CUBE = "n*k/4", "n*(k/4 - 1/(4*k))", "n*(k/3 - 1/(3*k))", "n/2"


@dataclass(frozen=True)
class Grid:
    """A network of k^n nodes, and its mean distance."""

    name: str
    build: Callable[[], Topology]
    k: int
    n: int
    distance: str

    @property
    def mean(self) -> Derived:
        """Over pairs of different nodes."""
        symbols = {"k": self.k, "n": self.n, "N": self.k**self.n}
        return Derived("H", f"({self.distance})*N/(N - 1)", symbols, "hops", self.name)


def _torus(k: int, n: int) -> Grid:
    return Grid(f"{k}-ary-{n}-cube", lambda: grid("torus", *[k] * n), k, n, ODD if k % 2 else EVEN)


def _mesh(k: int, n: int) -> Grid:
    return Grid(f"{k}-ary-{n}-mesh", lambda: grid("mesh", *[k] * n), k, n, MESH)


def _cube(n: int) -> Grid:
    return Grid(f"{n}-cube", lambda: kind_of("hypercube")(2**n), 2, n, CUBE)


GRIDS = [
    *(_torus(k, n) for k, n in ((8, 1), (8, 2), (16, 2), (5, 2), (8, 3), (7, 3), (4, 6))),
    *(_mesh(k, n) for k, n in ((8, 1), (8, 2), (16, 2), (5, 3), (3, 6))),
    *(_cube(n) for n in (4, 10)),
]
CASES: list[Case] = [
    Case(
        name="routes/mean-hops",
        claim="The mean distances of tori and meshes of one to six dimensions, and of hypercubes, are those of the literature.",
        source="Dally and Towles, Principles and Practices of Interconnection Networks, 2004, Sec. 5.2.1; Grama et al., "
        "Introduction to Parallel Computing, 2nd ed. 2003, Sec. 2.4",
        unit="hops",
        expected={each.name: each.mean.value for each in GRIDS},
        tolerance=ROUNDING,
        reading="simulation",
        measure=lambda: Readings(simulation={each.name: each.build().mean_hops() for each in GRIDS}),
        derivation=tuple(each.mean for each in GRIDS),
        quick=True,
    )
]
