"""Bisections: their widths, and the time that a burst between all pairs takes at least to get across.

Sources: A. Grama, A. Gupta, G. Karypis, V. Kumar, "Introduction to Parallel Computing" (2nd ed. 2003), table 2.1
(widths); W. Dally, B. Towles, "Principles and Practices of Interconnection Networks" (2004), bisection bound of
throughput; F. Petrini, M. Vanneschi, IPPS 1997 (k-ary n-trees).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import simcodesign as sc
from simcodesign.describe.network.interfaces import Interfaces
from simcodesign.describe.topology.base import Topology
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from .machines import EXACT, ROUNDING, TL, TS, collective, grid, hockney, kind_of

DALLY = "Dally and Towles, Principles and Practices of Interconnection Networks, 2004"
KUMAR = "Grama et al., Introduction to Parallel Computing, 2nd ed. 2003, table 2.1"
#: Bytes of a message in a burst: what links take outweighs startups.
BURST = 65536.0


@dataclass(frozen=True)
class Halves:
    """A topology and its bisection width; ``ways``: 2 where messages of both directions share a link; ``rails``: so
    many of it, which have this width together."""

    name: str
    build: Callable[[], Topology]
    hosts: int
    width: str
    ways: int = 1
    rails: int = 1

    def bound(self) -> Derived:
        """No link is used before the startup is over; then half of the pairs must cross the cut."""
        symbols = {
            "P": self.hosts,
            "ways": self.ways,
            "W": Derived("W", self.width).value,
            "m": BURST,
            "tl": TL,
            "ts": TS,
        }
        return Derived("T", "ts + ways*(P/2)**2*m*tl/W", symbols, "s", self.name)

    def makespan_s(self) -> float:
        """Time of a burst between all pairs."""
        machine, work = (
            hockney(self.build(), rails=self.rails, interfaces=Interfaces(self.rails)),
            collective("all_to_all", "linear", BURST),
        )
        return float(sc.simulate(work, machine, {"P": machine.nodes}, effects="links").makespan_s)


def _halves(side: int, cube: int) -> list[Halves]:
    """All topologies of side^2 nodes (and cubes of cube^3)."""
    P = side**2
    plain: list[tuple[str, str, dict[str, int], int]] = [
        ("hypercube", f"{P}/2", {}, 1),
        ("tree", "1", {}, 1),
        ("bus", "1", {}, 2),
        ("crossbar", f"{P}**2/4", {}, 1),
        ("fat_tree", f"{P}/2", {"arity": side}, 1),
    ]
    return [
        *(
            Halves(f"{kind.replace('_', '-')}-{P}", functools.partial(kind_of(kind, **more), P), P, width, ways)
            for kind, width, more, ways in plain
        ),
        Halves(f"line-{P}", lambda: grid("mesh", P), P, "1"),
        Halves(f"ring-{P}", lambda: grid("torus", P), P, "2"),
        Halves(f"mesh-{side}x{side}", lambda: grid("mesh", side, side), P, f"{side}"),
        Halves(f"torus-{side}x{side}", lambda: grid("torus", side, side), P, f"2*{side}"),
        Halves(f"mesh-{cube}-cubed", lambda: grid("mesh", cube, cube, cube), cube**3, f"{cube}**2"),
        *(
            [Halves(f"torus-{cube}-cubed", lambda: grid("torus", cube, cube, cube), cube**3, f"2*{cube}**2")]
            if cube > 2
            else []
        ),
    ]


def _bisection_case(detail: str, nets: list[Halves], quick: bool) -> Case:
    bounds: dict[Label, Derived] = {net.name: net.bound() for net in nets}
    return Case(
        name=f"congestion/bisection/{detail}",
        claim="A burst between all pairs takes at least the bytes that must cross the bisection by its bandwidth, "
        "after the startup.",
        source=f"{DALLY}, bisection bound of throughput; widths: {KUMAR}",
        unit="s",
        expected={name: line.value for name, line in bounds.items()},
        tolerance=Tolerance(ROUNDING.reason, relative=ROUNDING.relative, sense="at_least"),
        reading="simulation",
        measure=lambda: Readings(simulation={net.name: net.makespan_s() for net in nets}),
        derivation=tuple(bounds.values()),
        quick=quick,
    )


def _width_case(nets: list[Halves]) -> Case:
    widths = {net.name: Derived("W", net.width, about=net.name) for net in nets}
    return Case(
        name="congestion/bisection/width",
        claim="The bisection widths of all topologies are those of the literature.",
        source=f"{KUMAR}; Petrini and Vanneschi, IPPS 1997 (full bisection of a k-ary n-tree)",
        unit="links",
        expected={name: line.value for name, line in widths.items()},
        tolerance=EXACT,
        reading="simulation",
        measure=lambda: Readings(simulation={net.name: float(net.build().bisection_width) for net in nets}),
        derivation=tuple(widths.values()),
        quick=True,
    )


SMALL, LARGE = _halves(4, 2), _halves(8, 4)
RAILS = [
    Halves(f"{kind}-4x4-on-{rails}-rails", functools.partial(grid, kind, 4, 4), 16, f"{rails}*{width}", 1, rails)
    for kind, width in (("mesh", 4), ("torus", 8))
    for rails in (2, 4)
]
CASES: list[Case] = [
    _width_case(SMALL + LARGE),
    _bisection_case("16-nodes", SMALL, quick=True),
    _bisection_case("64-nodes", LARGE, quick=False),
    _bisection_case("rails", RAILS, quick=True),
]
