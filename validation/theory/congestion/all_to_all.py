"""All-to-all exchanges: how long the most loaded link is busy.

One rank a node, effect ``links``: a message of m bytes occupies each link of its route for m tl. So the link that most
messages pass is busy for that many m tl. Loads of the literature are for uniform traffic with dimension-order (e-cube)
routing; here every ordered pair sends one message, that is P times the traffic of one message a node. They are held
against loads counted along routes that are written here from the definition (``own``), and against both readings: the
forecast gives the most loaded link as a bound of the time.

Sources: W. Dally, B. Towles, "Principles and Practices of Interconnection Networks" (2004), throughput of
meshes and tori; A. Grama et al., "Introduction to Parallel Computing" (2nd ed. 2003), table 2.1; E. Zahavi, JPDC
72 (2012), d-mod-k routing of fat trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import simcodesign as sc
from simcodesign.describe.topology.base import Topology
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ..definitions import all_pairs, most_passed
from ..machines import ROUNDING, TL, M, collective, furthest, grid, hockney, kind_of

DALLY = "Dally and Towles, Principles and Practices of Interconnection Networks, 2004"
LEIGHTON = "Leighton, Introduction to Parallel Algorithms and Architectures, 1992"
KUMAR = "Grama et al., Introduction to Parallel Computing, 2nd ed. 2003, table 2.1"


def busiest_s(result: sc.Result) -> float:
    """Seconds for which the busiest link works (with the effect ``links``, links are the only stations)."""
    return float(result.stations.busy_s.max())


def _bound_s(workload: sc.Workload, machine: sc.Machine) -> float:
    """The same in the forecast."""
    bounds = sc.forecast(workload, machine, {"P": machine.nodes}, bounds=True).bounds
    return bounds.lower_s["most loaded link"] if bounds else 0.0


def _loads(build: Callable[[int], Topology], counts: Mapping[int, float]) -> Readings:
    """Busy time of the most loaded link in an all-to-all, linear and pairwise, for every size of a topology."""
    forecast: dict[Label, float] = {}
    simulation: dict[Label, float] = {}
    for size, count in counts.items():
        machine = hockney(build(size))
        works = [collective("all_to_all", algorithm) for algorithm in ("linear", "pairwise")]
        runs = [sc.simulate(work, machine, {"P": machine.nodes}, effects="links") for work in works]
        forecast[size] = furthest((_bound_s(work, machine) for work in works), count * M * TL)
        simulation[size] = furthest(map(busiest_s, runs), count * M * TL)
    return Readings(forecast=forecast, simulation=simulation)


def busy(messages: Derived) -> Derived:
    """For how long so many messages keep a link busy."""
    return Derived("busy", "messages*m*tl", {"messages": messages.value, "m": M, "tl": TL}, "s")


@dataclass(frozen=True)
class Load:
    """``formula`` gives the messages over the most loaded link, in ``symbol``; ``own`` counts them along routes (of small nets)."""

    name: str
    build: Callable[[int], Topology]
    symbol: str
    formula: str
    sizes: tuple[int, ...]
    source: str
    own: Callable[[int], int] | None = None
    note: str = ""
    quick: bool = True

    def case(self) -> Case:
        """As a case."""
        line = {size: Derived("messages", self.formula, {self.symbol: size}) for size in self.sizes}
        last = self.sizes[-1]
        return Case(
            name=f"congestion/all-to-all/{self.name}",
            claim=f"When every node sends to every other, the most loaded link of {self.name} ({self.symbol} as given) "
            f"passes {self.formula} messages.{self.note}",
            source=self.source,
            unit="s",
            expected={size: each.value * M * TL for size, each in line.items()},
            own={size: self.own(size) * M * TL for size in self.sizes} if self.own else {},
            tolerance=ROUNDING,
            reading="both",
            measure=lambda: _loads(self.build, {size: each.value for size, each in line.items()}),
            axis="nodes" if self.symbol == "P" else "extent",
            derivation=(line[last], busy(line[last])),
            quick=self.quick,
        )


def _grids(kind: str, dims: int, sizes: tuple[int, ...], quick: bool = True, detail: str = "", note: str = "") -> Load:
    """A mesh or torus of k^n nodes. A line carries k^2 / 4 messages over its middle, a ring k^2 / 8 over each link, and
    every pair on a line stands for k^(n - 1) pairs of nodes."""
    line = "floor(k/2)*ceil(k/2)" if kind == "mesh" else "ceil((k*k - k % 2)/8)"
    source = {
        "mesh": f"{DALLY}: channel load k / 4 of the middle of a k-ary n-mesh, times k^n messages a node, for even k; "
        "floor(k/2) ceil(k/2) counts the pairs across the middle for any k",
        "torus": f"{DALLY}: channel load k / 8 (k even) or k / 8 - 1 / (8 k) (k odd) of a k-ary n-cube, times k^n "
        "messages a node",
    }[kind]

    def own(k: int) -> int:
        return most_passed(all_pairs((k,) * dims), (k,) * dims, kind == "torus")

    return Load(
        f"{kind}-{dims}d{detail}",
        lambda k: grid(kind, *(k,) * dims),
        "k",
        f"k**{dims - 1}*{line}",
        sizes,
        source,
        own if quick else None,
        note,
        quick,
    )


BALANCED = " Ties (half way round a ring) go both ways in equal numbers if k is odd or divisible by 4."
UNEVEN = (
    " For k = 6, 10, ... half of the k/2 nodes whose tied messages may pass a link is no whole number: by parity of "
    "the coordinate, k^2 / 8 - 1/2 or + 1/2 pairs of a ring pass it."
)


def _own_hypercube(hosts: int) -> int:
    dimension = hosts.bit_length() - 1
    return most_passed(all_pairs((2,) * dimension), (2,) * dimension, wraps=False)


SUBTREE = " Every host of one half sends to every host of the other through the root."
LOADS = [
    _grids("mesh", 1, (2, 3, 4, 5, 8, 9)),
    _grids("mesh", 2, (2, 3, 4)),
    _grids("mesh", 3, (2, 3)),
    _grids("mesh", 4, (2,)),
    _grids("torus", 1, (3, 4, 5, 7, 8, 12), note=BALANCED),
    _grids("torus", 2, (3, 4, 5), note=BALANCED),
    _grids("torus", 3, (3,), note=BALANCED),
    _grids("torus", 1, (6, 10, 14), detail="-ties", note=UNEVEN),
    _grids("torus", 2, (6,), quick=False, detail="-ties", note=UNEVEN),
    _grids("mesh", 2, (5, 6, 7, 8), quick=False, detail="-large"),
    _grids("mesh", 3, (4,), quick=False, detail="-large"),
    _grids("mesh", 4, (3,), quick=False, detail="-large"),
    _grids("torus", 2, (7, 8), quick=False, detail="-large", note=BALANCED),
    _grids("torus", 3, (4,), quick=False, detail="-large", note=BALANCED),
    _grids("torus", 4, (3,), quick=False, detail="-large", note=BALANCED),
    Load(
        "hypercube",
        kind_of("hypercube"),
        "P",
        "P/2",
        (2, 4, 8, 16),
        f"{DALLY}: a 2-ary n-mesh, k / 4 times P messages a node; {LEIGHTON}, e-cube routing",
        _own_hypercube,
    ),
    Load(
        "hypercube-large",
        kind_of("hypercube"),
        "P",
        "P/2",
        (32, 64),
        f"{DALLY}: a 2-ary n-mesh, k / 4 times P messages a node; {LEIGHTON}, e-cube routing",
        quick=False,
    ),
    Load(
        "tree",
        kind_of("tree"),
        "P",
        "(P/2)**2",
        (2, 4, 8, 16),
        f"{KUMAR}: bisection width 1, P^2 / 4 pairs each way",
        note=SUBTREE,
    ),
    Load("bus", kind_of("bus"), "P", "P*(P - 1)", (2, 3, 7, 16), f"{KUMAR}: one link for all pairs"),
    Load("crossbar", kind_of("crossbar"), "P", "1", (2, 3, 7, 16), f"{KUMAR}: a link for every pair"),
    Load(
        "fat-tree-2",
        kind_of("fat_tree", arity=2),
        "P",
        "P - 1",
        (4, 8, 16),
        "Zahavi, JPDC 72 (2012): d-mod-k spreads an all-to-all evenly, so no link above has more than that of a host",
    ),
    Load(
        "fat-tree-4",
        kind_of("fat_tree", arity=4),
        "P",
        "P - 1",
        (4, 16),
        "Zahavi, JPDC 72 (2012): d-mod-k spreads an all-to-all evenly, so no link above has more than that of a host",
    ),
]


def _ties_case() -> Case:
    """However ties are split, the mean over the links of a dimension is a bound."""
    sizes = (3, 4, 6)
    line = {k: Derived("messages", "k*(k*k - k % 2)/8", {"k": k}) for k in sizes}
    return Case(
        name="congestion/all-to-all/torus-2d-mean",
        claim="However ties are split, the most loaded link of a k x k torus passes at least k/8 times k^2 messages.",
        source=f"{DALLY}: channel load of a k-ary n-cube; the mean over the links is a bound for the most loaded one",
        unit="s",
        expected={k: each.value * M * TL for k, each in line.items()},
        tolerance=Tolerance(ROUNDING.reason, relative=ROUNDING.relative, sense="at_least"),
        reading="both",
        measure=lambda: _loads(lambda k: grid("torus", k, k), {k: each.value for k, each in line.items()}),
        axis="extent",
        derivation=(line[6], busy(line[6])),
        quick=False,
    )


CASES: list[Case] = [*(load.case() for load in LOADS), _ties_case()]
