"""Links that messages share: how long the most loaded one is busy, and queues of known length.

One rank a node, effect ``links``: a message of m bytes occupies each link of its route for m tl. So the link that most
messages pass is busy for that many m tl. Loads of the literature are for uniform traffic with dimension-order (e-cube)
routing; here every ordered pair sends one message, that is P times the traffic of one message a node. They are held
against loads counted along routes that are written here from the definition (``own``), and against both readings: the
forecast gives the most loaded link as a bound of the time.

Sources: W. Dally, B. Towles, "Principles and Practices of Interconnection Networks" (2004), throughput of
meshes and tori; A. Grama et al., "Introduction to Parallel Computing" (2nd ed. 2003), table 2.1; F. T. Leighton,
"Introduction to Parallel Algorithms and Architectures" (1992), greedy routing on arrays and hypercubes; E. Zahavi, JPDC
72 (2012), d-mod-k routing of fat trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import simcodesign as sc
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from .definitions import all_pairs, bits, most_passed
from .machines import ROUNDING, TH, TL, TS, TW, M, collective, furthest, grid, hockney, kind_of, permutation, program

DALLY = "Dally and Towles, Principles and Practices of Interconnection Networks, 2004"
LEIGHTON = "Leighton, Introduction to Parallel Algorithms and Architectures, 1992"
KUMAR = "Grama et al., Introduction to Parallel Computing, 2nd ed. 2003, table 2.1"


# --- All-to-all ---------------------------------------------------------------------------------------------------


def _busiest_s(result: sc.Result) -> float:
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
        simulation[size] = furthest(map(_busiest_s, runs), count * M * TL)
    return Readings(forecast=forecast, simulation=simulation)


def _busy(messages: Derived) -> Derived:
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
            derivation=(line[last], _busy(line[last])),
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
        derivation=(line[6], _busy(line[6])),
        quick=False,
    )


# --- Permutations -------------------------------------------------------------------------------------------------


def _permuted(build: Callable[[int], Topology], to: Callable[[int], str], counts: Mapping[int, float]) -> Readings:
    """Busy time of the most loaded link when every rank sends one message, to its image under an involution."""
    simulation: dict[Label, float] = {}
    for size in counts:
        machine = hockney(build(size))
        work = permutation(to(size), to(size))
        simulation[size] = _busiest_s(sc.simulate(work, machine, {"P": machine.nodes}, effects="links"))
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
        derivation=(counts[sizes[-1]], _busy(counts[sizes[-1]])),
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
            simulated[s] = _busiest_s(sc.simulate(work, machine, {"P": k}, effects="links"))
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


# --- Queues of known length -------------------------------------------------------------------------------------------


def _free_case(switching: str) -> Case:
    """Neighbours on a ring: nobody waits."""
    sizes = (4, 5, 16, 32)
    works = {
        "one": permutation("(rank + 1) % P", "(rank + P - 1) % P"),
        "other": permutation("(rank + P - 1) % P", "(rank + 1) % P"),
    }
    both = program(*works["one"].program, *works["other"].program)
    line = Derived(
        "T", "2*(ts + th + m*tw)", {"ts": TS, "th": TH, "m": M, "tw": TW}, "s", "a shift up, then a shift down"
    )

    def measure() -> Readings:
        simulated: dict[Label, float] = {}
        for k in sizes:
            machine = hockney(grid("torus", k), switching=switching)
            one = (2 * _time(work, machine) for work in works.values())  # twice one shift is two
            simulated[k] = furthest((*one, _time(both, machine)), line.value)
        return Readings(simulation=simulated)

    name = switching.replace("_", "-")
    return Case(
        name=f"congestion/free/ring-{name}",
        claim=f"Shifts by one on a ring, up or down or one after the other, meet on no link ({name}): each takes "
        "ts + th + m tw.",
        source=f"{DALLY}, neighbour traffic; one message a link",
        unit="s",
        expected=dict.fromkeys(sizes, line.value),
        tolerance=ROUNDING,
        reading="simulation",
        measure=measure,
        axis="nodes",
        derivation=(line,),
        quick=True,
    )


def _time(work: sc.Workload, machine: sc.Machine, effects: str = "links") -> float:
    return float(sc.simulate(work, machine, {"P": machine.nodes}, effects=effects).makespan_s)


def _queue_case(
    name: str, claim: str, formula: str, source: str, sizes: Sequence[int], time_s: Callable[[int], float]
) -> Case:
    symbols = {"ts": TS, "th": TH, "m": M, "tw": TW, "tl": TL}
    lines = {P: Derived("T", formula, symbols | {"P": P}, "s", f"{P} nodes") for P in sizes}
    return Case(
        name=f"congestion/queue/{name}",
        claim=claim,
        source=source,
        unit="s",
        expected={P: line.value for P, line in lines.items()},
        tolerance=ROUNDING,
        reading="simulation",
        measure=lambda: Readings(simulation={P: time_s(P) for P in sizes}),
        axis="nodes",
        derivation=(lines[sizes[-1]],),
        quick=True,
    )


def _on_bus(ranks: int) -> float:
    return _time(permutation("(rank + 1) % P", "(rank + P - 1) % P"), hockney(build_topology("bus", ranks)))


def _incast(ranks: int) -> float:
    """All send to rank 0 at once, whose interface takes one message after another."""
    machine = hockney(build_topology("crossbar", ranks))
    sends = Send(parse("rank > 0"), Place(), parse(0), parse(M))
    receives = [Receive(parse("rank == 0"), Place(), parse(source), parse(M)) for source in range(1, ranks)]
    return _time(program(sends, *receives), machine, "links, interfaces")


QUEUES = [
    _queue_case(
        "bus",
        "When every node sends one message over a bus, they pass one after another, from the startup on: the last "
        "of them arrives at ts + P m tl + th, but none before ts + m tw + th.",
        "ts + max(tw, P*tl)*m + th",
        "A single server and P simultaneous requests: the last has waited for P - 1 services",
        (2, 3, 4, 8, 33, 64),
        _on_bus,
    ),
    _queue_case(
        "incast",
        "When all send to node 0 over a crossbar, its network interface takes one after another: "
        "ts + th + (P - 1) m tw.",
        "ts + th + (P - 1)*m*tw",
        "A single server and P - 1 simultaneous requests (one port: Chan et al., CCPE 19 (2007))",
        (2, 3, 4, 8, 33, 64),
        _incast,
    ),
]

CASES: list[Case] = [
    *(load.case() for load in LOADS),
    _ties_case(),
    TRANSPOSE,
    REVERSAL,
    _shift_case(),
    _free_case("cut_through"),
    _free_case("store_and_forward"),
    *QUEUES,
]
