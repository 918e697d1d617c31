"""Dragonflies, HyperX and Slim Flies: published sizes, hops, and the messages over the busiest link.

Hops are those between routers, as published: ours count the two links of the hosts as well.

Sources: J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008; A.
Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017; J. Ahn, N. Binkert, A. Davis, M.
McLaren, R. Schreiber, "HyperX: topology, routing, and packaging of efficient large-scale networks", SC 2009; J. Kim, W.
Dally, D. Abts, "Flattened butterfly", ISCA 2007; M. Besta, T. Hoefler, "Slim Fly: a cost effective low-diameter network
topology", SC 2014; D. De Sensi et al., "An in-depth analysis of the Slingshot interconnect", SC 2020.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import networkx as nx

import simcodesign as sc
from simcodesign.analytic.queueing.busiest_links import busiest_link
from simcodesign.core.errors import InputError
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.studies.validation.case import Case, Derived, Label, Readings

from ..machines import EXACT, ROUNDING, TL, M, collective, hockney, permutation
from .all_to_all import busiest_s, busy

DRAGONFLY = "Kim, Dally, Scott, Abts, ISCA 2008"
BUTTERFLY = "Kim, Dally, Abts, ISCA 2007"
HYPERX = "Ahn, Binkert, Davis, McLaren, Schreiber, SC 2009"
SLIM_FLY = "Besta, Hoefler, SC 2014"
PLUS = "Shpiner et al., HiPINEB 2017"
#: Links between routers, summed over all ordered pairs of routers; in the symbols of each network.
HOPS = {
    "dragonfly": "R*(a - 1) + g*(g - 1)*(3*a**2 - 2*a)",
    "dragonfly_plus": "g*(2*l*(l - 1) + 3*(g - 1)*l**2)",
    "hyperx": "n*R**2*(1 - 1/S)",
    "slim_fly": "R*(2*(R - 1) - k)",
}
#: Pairs of hosts over the busiest link between routers, and messages when a part sends to the next.
PAIRS = {
    "dragonfly": "p**2*(1 + 2*a*h)",
    "dragonfly_plus": "p**2*l**2",
    "hyperx": "p**2*R/S",
    "slim_fly": "(3*q - 2)*p**2",
}
ONE_WAY = {"dragonfly": "a*p", "dragonfly_plus": "p*l", "hyperx": "p", "slim_fly": "p"}


@dataclass(frozen=True)
class Net:
    """A network by the symbols of its publication; ``p`` hosts on each of ``R`` routers that have any. ``part``: hosts
    that all send to the next part."""

    name: str
    kind: str
    options: Mapping[str, object]
    symbols: Mapping[str, int]
    part: int

    @property
    def hosts(self) -> int:
        return self.symbols["p"] * self.symbols["R"]

    def build(self) -> Topology:
        return build_topology(self.kind, self.hosts, **self.options)  # type: ignore[arg-type] # options by name

    def line(self, formulas: Mapping[str, str], symbol: str) -> Derived:
        return Derived(symbol, formulas[self.kind], self.symbols, about=self.name)


def _dragonfly(p: int, a: int, h: int) -> Net:
    groups = a * h + 1
    options = {"terminals": p, "routers": a, "global_links": h}
    return Net(
        f"dragonfly-{p}-{a}-{h}", "dragonfly", options, {"p": p, "a": a, "h": h, "g": groups, "R": a * groups}, a * p
    )


def _plus(p: int, leaves: int, h: int) -> Net:
    groups = leaves * h + 1
    options = {"terminals": p, "leaves": leaves, "spines": leaves, "global_links": h}
    symbols = {"p": p, "l": leaves, "g": groups, "R": leaves * groups}
    return Net(f"dragonfly-plus-{p}-{leaves}-{h}", "dragonfly_plus", options, symbols, leaves * p)


def _flat(k: int, dims: int) -> Net:
    """The k-ary (dims + 1)-flat. The next router of a part differs in the last dimension, or in several."""
    symbols = {"p": k, "S": k, "n": dims, "R": k**dims}
    return Net(f"{k}-ary-{dims + 1}-flat", "hyperx", {"shape": (k,) * dims}, symbols, k)


def _slim_fly(q: int, p: int) -> Net:
    delta = 1 if q % 4 == 1 else -1
    return Net(
        f"slim-fly-{q}-{p}", "slim_fly", {"q": q}, {"p": p, "q": q, "k": (3 * q - delta) // 2, "R": 2 * q * q}, q * p
    )


SMALL = [_dragonfly(2, 4, 2), _plus(4, 4, 1), _flat(4, 2), _flat(8, 1), _slim_fly(5, 2)]
LARGE = [_dragonfly(4, 8, 4), _dragonfly(16, 32, 16), _flat(32, 1), _flat(16, 3), _slim_fly(5, 4), _slim_fly(19, 15)]


def _most_hosts(p: int, a: int, h: int) -> float:
    """Of the largest dragonfly with such routers that can be built."""
    options = {"terminals": p, "routers": a, "global_links": h}
    for groups in itertools.count(2**15, -1):
        try:
            return float(build_topology("dragonfly", p * a * groups, **options).node_count)
        except InputError:
            continue
    raise AssertionError


#: Hosts by p, a and h.
SIZES = {"figure 5": (2, 4, 2), "1K": (4, 8, 4), "256K": (16, 32, 16), "Slingshot": (16, 32, 17)}
SIZE = Case(
    name="congestion/few-hops/size",
    claim="A dragonfly of routers with p hosts, a - 1 links within the group and h to other groups has at most a p (a h + 1) "
    "hosts: 72, 1,056 and 262,656 with p = h = a / 2, and 279,040 with switches of 64 ports in Slingshot.",
    source=f"{DRAGONFLY}, Sec. 3.1 and figure 5; De Sensi et al., SC 2020, Sec. II (545 groups of 512)",
    unit="hosts",
    expected={"figure 5": 72, "1K": 1056, "256K": 262_656, "Slingshot": 279_040},
    tolerance=EXACT,
    reading="simulation",
    measure=lambda: Readings(simulation={name: _most_hosts(*sizes) for name, sizes in SIZES.items()}),
    quick=True,
)
#: Between routers.
DIAMETERS = {"dragonfly": 3, "dragonfly_plus": 3, "slim_fly": 2}
DIAMETER = Case(
    name="congestion/few-hops/diameter",
    claim="Minimal routes take at most three hops between routers in a dragonfly and between leaves of a Dragonfly+, two in "
    "a Slim Fly, and one for each dimension of a HyperX.",
    source="; ".join((DRAGONFLY, PLUS, SLIM_FLY, HYPERX)),
    unit="hops",
    expected={net.name: float(DIAMETERS.get(net.kind, net.symbols.get("n", 0))) for net in SMALL + LARGE},
    own={net.name: float(nx.diameter(net.build().to_networkx()) - 2) for net in SMALL},
    tolerance=EXACT,
    reading="simulation",
    measure=lambda: Readings(simulation={net.name: float(net.build().diameter - 2) for net in SMALL + LARGE}),
    quick=True,
)


def _mean_case() -> Case:
    nets = SMALL + LARGE
    hops = {net.name: net.line(HOPS, "hops") for net in nets}
    means: dict[Label, Derived] = {
        net.name: Derived(
            "mean",
            "2 + p**2*hops/(N*(N - 1))",
            {"p": net.symbols["p"], "N": net.hosts, "hops": hops[net.name].value},
            about=net.name,
        )
        for net in nets
    }
    shortest = [net for net in SMALL if net.kind != "dragonfly"]  # whose minimal routes are not always shortest
    pairs = {net.name: nx.all_pairs_shortest_path_length(net.build().to_networkx()) for net in shortest}
    own = {
        net.name: sum(
            length
            for source, lengths in pairs[net.name]
            for target, length in lengths.items()
            if max(source, target) < net.hosts
        )
        / (net.hosts * (net.hosts - 1))
        for net in shortest
    }
    return Case(
        name="congestion/few-hops/mean-hops",
        claim="Mean hops of all pairs of hosts, over minimal routes.",
        source=f"{DRAGONFLY}, {PLUS}, {HYPERX}, {SLIM_FLY}: the definitions; pairs of routers counted by distance",
        unit="hops",
        expected={name: line.value for name, line in means.items()},
        own=own,
        tolerance=ROUNDING,
        reading="simulation",
        measure=lambda: Readings(simulation={net.name: net.build().mean_hops() for net in nets}),
        derivation=(*hops.values(), *means.values()),
        quick=True,
    )


def _loads(nets: list[Net], of: Callable[[Net], tuple[float, float]]) -> Readings:
    both = {net.name: of(net) for net in nets}
    return Readings(
        forecast={name: values[0] for name, values in both.items()},
        simulation={name: values[1] for name, values in both.items()},
    )


def _uniform_s(net: Net) -> tuple[float, float]:
    """For how long the busiest link between all pairs works: by the law, and simulated."""
    topology = net.build()
    law, machine = busiest_link(topology), hockney(topology)
    run = sc.simulate(collective("all_to_all", "linear"), machine, {"P": net.hosts}, effects="links")
    return (law.uniform if law else 0.0) * (net.hosts - 1) * M * TL, busiest_s(run)


def _one_way_s(net: Net) -> tuple[float, float]:
    """The same when every host sends to the one that is a part further on, and in a Slim Fly half of them do."""
    topology = net.build()
    law, machine = busiest_link(topology), hockney(topology)
    to, source = f"(rank + {net.part}) % P", f"(rank + P - {net.part}) % P"
    if (
        net.kind == "slim_fly"
    ):  # the groups of a rack: (0, x, y) and (1, x, y + x x) are joined, so that x = 0 is enough
        own = f"(rank < {2 * net.part})"
        to = source = f"rank + {own}*({net.part} - 2*{net.part}*(rank >= {net.part}))"
    run = sc.simulate(permutation(to, source), machine, {"P": net.hosts}, effects="links")
    return (law.adverse if law else 0.0) * M * TL, busiest_s(run)


def _load_case(detail: str, claim: str, formulas: Mapping[str, str], of: Callable[[Net], tuple[float, float]]) -> Case:
    lines = {net.name: net.line(formulas, "messages") for net in SMALL}
    # A link of a host has the messages of that host.
    own_link = {net.name: net.hosts - 1.0 if formulas is PAIRS else 1.0 for net in SMALL}
    return Case(
        name=f"congestion/few-hops/{detail}",
        claim=claim,
        source=f"{DRAGONFLY}, Sec. 4; {PLUS}; {HYPERX} and {BUTTERFLY}; {SLIM_FLY}: channel loads of minimal routes",
        unit="s",
        expected={name: max(line.value, own_link[name]) * M * TL for name, line in lines.items()},
        tolerance=ROUNDING,
        reading="both",
        measure=lambda: _loads(SMALL, of),
        derivation=(*lines.values(), *map(busy, lines.values())),
        quick=True,
    )


def _throughputs() -> Readings:
    def throughput(net: Net) -> tuple[float, float]:
        forecast_s, simulated_s = _one_way_s(net)
        return M * TL / forecast_s, M * TL / simulated_s

    return _loads([_dragonfly(4, 8, 4), _flat(32, 1)], throughput)


THROUGHPUT = Case(
    name="congestion/few-hops/worst-case-throughput",
    claim="Minimal routes sustain 1 / (a h) of the injection rate in a dragonfly of 1,056 hosts (p = h = 4, a = 8) whose groups "
    "all send to the next group, and 1 / 32 in the 32-ary 2-flat whose routers all send to the next router.",
    source=f"{DRAGONFLY}, Sec. 4.2 (worst-case traffic, minimal routing); {BUTTERFLY}",
    unit="",
    expected={"dragonfly-4-8-4": 1 / 32, "32-ary-2-flat": 1 / 32},
    tolerance=ROUNDING,
    reading="both",
    measure=_throughputs,
    quick=True,
)


def _bisection_case() -> Case:
    """Of regular HyperX networks with S even: S, K, T and the number of dimensions."""
    shapes = [(4, 1, 4, 2), (8, 1, 8, 1), (4, 2, 4, 2), (6, 1, 3, 3), (8, 3, 12, 2)]
    lines = {
        f"hyperx-{s}-{k}-{t}-{dims}": Derived("beta", "K*S/(2*T)", {"K": k, "S": s, "T": t}) for s, k, t, dims in shapes
    }

    def relative(s: int, k: int, t: int, dims: int) -> float:
        network = build_topology("hyperx", t * s**dims, shape=(s,) * dims, cables=(k,) * dims)
        return network.bisection_width / (network.node_count / 2)

    return Case(
        name="congestion/few-hops/bisection",
        claim="A regular HyperX network has K S / (2 T) of the bisection that hosts could fill.",
        source=f"{HYPERX}, relative bisection bandwidth; a flattened butterfly with K = 1 and S = T has half: {BUTTERFLY}",
        unit="1",
        expected={name: line.value for name, line in lines.items()},
        tolerance=ROUNDING,
        reading="simulation",
        measure=lambda: Readings(simulation={name: relative(*net) for name, net in zip(lines, shapes, strict=True)}),
        derivation=tuple(lines.values()),
        quick=True,
    )


CASES: list[Case] = [
    SIZE,
    _bisection_case(),
    DIAMETER,
    _mean_case(),
    _load_case(
        "uniform",
        "When every host sends to every other, this many messages pass the busiest link between routers, or that of a host "
        "if those are more.",
        PAIRS,
        _uniform_s,
    ),
    _load_case(
        "one-way",
        "When all hosts of a group (dragonflies) or a router send to the same places of another one, a p messages meet on "
        "the link between two groups, and p on that between two routers.",
        ONE_WAY,
        _one_way_s,
    ),
    THROUGHPUT,
]
