"""One message between two nodes, on every topology and over every number of hops that occurs there.

Sources: A. Grama, A. Gupta, G. Karypis, V. Kumar, "Introduction to Parallel Computing" (2nd ed. 2003), section 2.5 (times
of store-and-forward and cut-through routing) and table 2.1 (diameters); R. Hockney, "The communication challenge for
MPP", Parallel Computing 20 (1994); A. Alexandrov et al., "LogGP", SPAA 1995. Hops are counted by breadth-first search
(NetworkX) on graphs that are built here from the definition of each topology.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace

import networkx as nx
import numpy as np

import simcodesign as sc
from simcodesign.describe.network.interfaces import Interfaces
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.studies.validation.case import Case, Derived, Readings, Tolerance

from .definitions import (
    complete_graph,
    fat_tree_graph,
    hypercube_graph,
    mesh_graph,
    ring_of_switches,
    torus_graph,
    tree_graph,
)
from .machines import EXACT, ROUNDING, TH, TL, TS, TW, M, furthest, grid, hockney, loggops, message, permutation

KUMAR = "Grama, Gupta, Karypis, Kumar, Introduction to Parallel Computing, 2nd ed. 2003"
#: The effects under which a message that is alone takes its time by the hops of its route.
EFFECTS = ("hops", "links", "hops, interfaces", "hops, links, interfaces")
CUT_THROUGH = "ts + h*th + m*tw"
STORED = "ts + h*th + m*tw + (h - 1)*m*tl"
SYMBOLS = {"ts": TS, "th": TH, "tw": TW, "tl": TL, "m": M}


@dataclass(frozen=True)
class Net:
    """A topology as this system builds it, and as a graph whose ``hosts`` are in the order of their numbers."""

    name: str
    build: Callable[[], Topology]
    graph: Callable[[], nx.Graph]
    hosts: Callable[[nx.Graph], Iterable[Hashable]]
    diameter: str  # in the literature, for the numbers filled in here

    @functools.cached_property
    def distances(self) -> np.ndarray:
        """Hops between all hosts by breadth-first search."""
        graph = self.graph()
        hosts = list(self.hosts(graph))
        far = dict(nx.all_pairs_shortest_path_length(graph))
        return np.array([[far[a][b] for b in hosts] for a in hosts])

    def pairs(self, hops: int) -> list[tuple[int, int]]:
        """The first and the last pair that is so far apart."""
        places = np.argwhere(self.distances == hops)
        return [(int(a), int(b)) for a, b in (places[0], places[-1])]

    @property
    def hops(self) -> list[int]:
        """Every number of hops between two hosts."""
        return [int(h) for h in np.unique(self.distances) if h]


def _whole(graph: nx.Graph) -> Iterable[Hashable]:
    return sorted(graph)


def _leaves(graph: nx.Graph) -> Iterable[Hashable]:
    return sorted(vertex for vertex in graph if vertex[0] == 0)


def _fat_leaves(graph: nx.Graph) -> Iterable[Hashable]:
    return sorted(vertex for vertex in graph if vertex[0] == "host")


def _given(make: Callable[[], nx.Graph], hosts: int) -> Callable[[], Topology]:
    return lambda: build_topology("graph", hosts, graph=make())


def _mesh(*shape: int) -> Net:
    make, graph = functools.partial(grid, "mesh", *shape), functools.partial(mesh_graph, *shape)
    return Net(f"mesh-{'x'.join(map(str, shape))}", make, graph, _whole, " + ".join(f"({k} - 1)" for k in shape))


def _torus(*shape: int) -> Net:
    make, graph = functools.partial(grid, "torus", *shape), functools.partial(torus_graph, *shape)
    return Net(f"torus-{'x'.join(map(str, shape))}", make, graph, _whole, " + ".join(f"{k}//2" for k in shape))


def _plain(kind: str, hosts: int, graph: Callable[[], nx.Graph], leaves: object, diameter: str) -> Net:
    name = f"{kind.replace('_', '-')}-{hosts}"
    make = functools.partial(build_topology, kind, hosts, arity=3 if kind == "fat_tree" else None)
    return Net(name, make, graph, leaves, diameter)  # type: ignore[arg-type] # as above


NETS = [
    _mesh(7),
    _mesh(4, 5),
    _mesh(3, 4, 3),
    _mesh(3, 2, 4, 2),
    _torus(9),
    _torus(10),
    _torus(6, 5),
    _torus(3, 4, 5),
    _torus(3, 2, 4, 3),
    _plain("tree", 16, functools.partial(tree_graph, 16), _leaves, "2*log2(16)"),
    _plain("tree", 11, functools.partial(tree_graph, 11), _leaves, "2*ceil(log2(11))"),
    _plain("fat_tree", 27, functools.partial(fat_tree_graph, 3, 3), _fat_leaves, "2*3"),
    _plain("hypercube", 32, functools.partial(hypercube_graph, 5), _whole, "log2(32)"),
    _plain("bus", 8, functools.partial(complete_graph, 8), _whole, "1"),
    _plain("crossbar", 8, functools.partial(complete_graph, 8), _whole, "1"),
    Net("graph-petersen", _given(nx.petersen_graph, 10), nx.petersen_graph, _whole, "2"),
    Net("graph-dodecahedron", _given(nx.dodecahedral_graph, 20), nx.dodecahedral_graph, _whole, "5"),
    Net("graph-ring-of-switches", _given(ring_of_switches, 12), ring_of_switches, lambda graph: range(12), "6//2 + 2"),
]


# --- Hops -------------------------------------------------------------------------------------------------------------


def _hops_case(net: Net) -> Case:
    def measure() -> Readings:
        every = np.arange(len(net.distances))
        hops_given = net.build().hops(every[:, None], every[None, :])
        right = Counter(hops_given[hops_given == net.distances].tolist())  # pairs for which both say the same
        return Readings(simulation={h: right[h] for h in net.hops})

    count = Counter(net.distances.ravel().tolist())
    return Case(
        name=f"point-to-point/hops/{net.name}",
        claim=f"Between the hosts of {net.name}, so many ordered pairs are h hops apart, and each of them is here too.",
        source=f"{KUMAR}, section 2.4; breadth-first search on the graph of its definition",
        unit="1",
        expected={h: count[h] for h in net.hops},
        tolerance=EXACT,
        reading="simulation",
        measure=measure,
        axis="hops",
        derivation=(Derived("diameter", net.diameter, unit="hops", about="the largest number of hops that occurs"),),
        quick=True,
    )


def _of_all(measured: Callable[[Topology], float]) -> Callable[[], Readings]:
    def measure() -> Readings:
        return Readings(simulation={net.name: measured(net.build()) for net in NETS})

    return measure


DIAMETERS = Case(
    name="point-to-point/diameter",
    claim="The diameters of all topologies are those of the literature.",
    source=f"{KUMAR}, table 2.1 (mesh, torus, hypercube, tree, crossbar); Petrini, Vanneschi 1997 (k-ary n-tree: 2n)",
    unit="hops",
    expected={net.name: Derived("d", net.diameter).value for net in NETS},
    tolerance=EXACT,
    reading="simulation",
    measure=_of_all(lambda topology: topology.diameter),
    derivation=tuple(Derived("diameter", net.diameter, unit="hops", about=net.name) for net in NETS),
    quick=True,
)


# --- The time of a message ----------------------------------------------------------------------------------------


def _time_case(net: Net, switching: str, formula: str) -> Case:
    def simulated_s(hops: int, expected: float) -> float:
        # Interfaces as fast as links: a stored message waits for no slower interface at its end.
        machine = hockney(net.build(), switching=switching, interfaces=Interfaces(per_byte_s=TL))
        first, last = net.pairs(hops)
        runs = [*((first, effects) for effects in EFFECTS), (last, EFFECTS[-1])]
        return furthest((_seconds(machine, pair, effects) for pair, effects in runs), expected)

    at = {h: Derived("T", formula, SYMBOLS | {"h": h}, "s", f"{h} hops") for h in net.hops}
    name = switching.replace("_", "-")
    return Case(
        name=f"point-to-point/{name}/{net.name}",
        claim=f"A message alone on {net.name} takes T = {formula} over h hops ({name}), with and without "
        "shared links and interfaces.",
        source=f"{KUMAR}, section 2.5.1, written for a message that costs tw and occupies a link for tl per byte",
        unit="s",
        expected={h: line.value for h, line in at.items()},
        tolerance=ROUNDING,
        reading="simulation",
        measure=lambda: Readings(simulation={h: simulated_s(h, line.value) for h, line in at.items()}),
        axis="hops",
        derivation=(at[net.hops[-1]],),
        quick=True,
    )


def _seconds(machine: sc.Machine, pair: tuple[int, int], effects: str) -> float:
    return float(sc.simulate(message(*pair), machine, {"P": machine.nodes}, effects=effects).makespan_s)


# --- The forecast, which looks at no route ----------------------------------------------------------------------------

RANKS = (2, 4, 8, 16, 64, 100, 1000)


def _law_case(law: str, formula: str, switching: str) -> Case:
    time = CUT_THROUGH if switching == "cut_through" else STORED
    # A law with less than one hop stores nothing again.
    full = (
        time.replace("(h - 1)", "max(h - 1, 0)").replace("h*th", f"({formula})*th").replace("max(h", f"max({formula}")
    )
    at = {P: Derived("T", full, SYMBOLS | {"P": P}, "s", f"P = {P}") for P in RANKS}

    def measure() -> Readings:
        machine = hockney(build_topology("crossbar", max(RANKS)), switching=switching, distance=law)
        pair = message(0, 1)
        return Readings(
            forecast={P: float(sc.forecast(pair, machine, {"P": P}).makespan_s) for P in RANKS},
            simulation={P: float(sc.simulate(pair, machine, {"P": P}, effects="none").makespan_s) for P in RANKS},
        )

    name = switching.replace("_", "-")
    return Case(
        name=f"point-to-point/law/{law}-{name}",
        claim=f"By the distance law '{law}' a message goes over h = {formula} hops, whatever its ends are ({name}).",
        source="Armstrong and Eigenmann, SPECseis96, section Modeling Communication (log2 P and sqrt P); "
        f"{KUMAR}, section 2.5.1",
        unit="s",
        expected={P: line.value for P, line in at.items()},
        tolerance=ROUNDING,
        reading="both",
        measure=measure,
        axis="ranks",
        derivation=(at[64],),
        quick=True,
    )


def _mean(net: Net) -> float:
    return float(net.distances.sum() / (len(net.distances) * (len(net.distances) - 1)))


def _law_of_mean() -> Readings:
    machines = {net.name: hockney(net.build(), distance="mean") for net in NETS}
    return Readings(
        forecast={
            name: float(sc.forecast(message(0, 1), at, {"P": at.nodes}).makespan_s) for name, at in machines.items()
        },
        simulation={name: _seconds(at, (0, 1), "none") for name, at in machines.items()},
    )


LAW_OF_MEAN = Case(
    name="point-to-point/law/mean",
    claim="By the distance law 'mean' a message goes over the mean number of hops of all ordered pairs of hosts.",
    source="Mean of all distances by breadth-first search on the graph of each definition",
    unit="s",
    expected={net.name: TS + _mean(net) * TH + M * TW for net in NETS},
    tolerance=ROUNDING,
    reading="both",
    measure=_law_of_mean,
    derivation=(
        Derived("h", "2*(k*k - 1)/(3*k)*P/(P - 1)", {"k": 4, "P": 16}, "hops", "a 4 x 4 mesh, for comparison"),
        Derived("T", CUT_THROUGH, SYMBOLS | {"h": _mean(NETS[1])}, "s", NETS[1].name),
    ),
    quick=True,
)


# --- The size of a message ----------------------------------------------------------------------------------------

SIZES = (0.0, 1.0, 2.0, 100.0, TS / TW, 65536.0, 1e9)
LOGGOPS = {"L": 5e-6, "o": 2e-6, "g": 1e-6, "G": 1e-9, "O": 0.2e-9}


def _by_size(machine: Callable[[], sc.Machine], work: Callable[[float], sc.Workload]) -> Callable[[], Readings]:
    def measure() -> Readings:
        at, works = machine(), {size: work(size) for size in SIZES}
        return Readings(
            forecast={m: float(sc.forecast(work, at, {"P": 2}).makespan_s) for m, work in works.items()},
            simulation={
                m: float(sc.simulate(work, at, {"P": 2}, effects="none").makespan_s) for m, work in works.items()
            },
        )

    return measure


def _size_case(
    name: str,
    claim: str,
    source: str,
    formula: Callable[[float], Derived],
    machine: Callable[[], sc.Machine],
    work: Callable[[float], sc.Workload],
) -> Case:
    return Case(
        name=f"point-to-point/size/{name}",
        claim=claim,
        source=source,
        unit="s",
        expected={size: formula(size).value for size in SIZES},
        tolerance=Tolerance("a sum of five doubles, each rounded by 1.1e-16", relative=1e-14),
        reading="both",
        measure=_by_size(machine, work),
        axis="bytes",
        derivation=(formula(TS / TW),),
        quick=True,
    )


def _pair() -> Topology:
    return build_topology("crossbar", 2)


def _one_way(size: float) -> sc.Workload:
    return message(0, 1, size)


def _both_ways(size: float) -> sc.Workload:
    """Two ranks send to each other and then receive."""
    return permutation("1 - rank", "1 - rank", size)


def _loggops() -> sc.Machine:
    return loggops(_pair(), latency_s=5e-6, overhead_s=2e-6, gap_s=1e-6, per_byte_s=1e-9, overhead_per_byte_s=0.2e-9)


def _hockney_time(size: float) -> Derived:
    return Derived("T", "ts*(1 + m/half)", {"ts": TS, "m": size, "half": TS / TW}, "s", f"{size:g} bytes")


def _loggops_time(size: float) -> Derived:
    formula = "2*o + L + max(m - 1, 0)*max(O, G)"
    return Derived("T", formula, LOGGOPS | {"m": size}, "s", f"{size:g} bytes")


def _loggops_exchange(size: float) -> Derived:
    formula = "o + max(L, max(m - 1, 0)*O) + o + max(m - 1, 0)*max(O, G)"
    return Derived("T", formula, LOGGOPS | {"m": size}, "s", f"{size:g} bytes")


OF_HOCKNEY = "Hockney, Parallel Computing 20 (1994): t = (n + n_half) / r_inf"
OF_LOGGP = (
    "Alexandrov et al., LogGP, SPAA 1995: o + (k - 1) G + L + o; "
    "Hoefler et al., LogGOPSim, HPDC 2010, and its implementation: a receiver is busy for o + (s - 1) max(O, G)"
)
SIZES_OF_MESSAGES = [
    _size_case(
        "hockney",
        "A message of m bytes takes ts + m tw: twice the startup at the half-performance length ts / tw.",
        OF_HOCKNEY,
        _hockney_time,
        lambda: hockney(_pair(), hop_latency_s=0.0),
        _one_way,
    ),
    _size_case(
        "loggops",
        "Two ranks that send each other m bytes take up the first byte after o + L, or when their own send is over, "
        "o + (m - 1) O, and are done o + (m - 1) max(O, G) later.",
        OF_LOGGP,
        _loggops_exchange,
        _loggops,
        _both_ways,
    ),
    # Only the simulation: a forecast adds up each rank's own steps and takes the busiest rank, so that of a single
    # message it has the sender's and the network's part, and not the receiver's after it.
    replace(
        _size_case(
            "loggops-one-way",
            "The first byte of m is at the receiver after o + L and keeps it for o + (m - 1) max(O, G).",
            OF_LOGGP,
            _loggops_time,
            _loggops,
            _one_way,
        ),
        reading="simulation",
    ),
]

CASES: list[Case] = [
    *map(_hops_case, NETS),
    DIAMETERS,
    *(_time_case(net, "cut_through", CUT_THROUGH) for net in NETS),
    *(_time_case(net, "store_and_forward", STORED) for net in NETS),
    *(
        _law_case(law, formula, switching)
        for law, formula in (("one", "1"), ("log2", "log2(P)"), ("sqrt", "sqrt(P)"))
        for switching in ("cut_through", "store_and_forward")
    ),
    LAW_OF_MEAN,
    *SIZES_OF_MESSAGES,
]
