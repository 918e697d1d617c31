"""Meshes, tori and hypercubes under uniform random traffic: every node sends messages at random times to all others.

One rank a node, dimension-ordered routing, cut-through. Messages of m bytes occupy each link of their way for m tl, and
nothing else takes time unless stated: all of a latency is then its own m tl and its waits. Loads and shares are
counted along routes that are written out from the definition (``definitions``).

Sources: W. Dally, B. Towles, "Principles and Practices of Interconnection Networks" (2004), ch. 3 and 23; L. Kleinrock,
"Communication Nets" (1964): every link a queue of its own (independence); C. P. Kruskal, M. Snir, A. Weiss, "The
distribution of waiting times in clocked multistage interconnection networks", IEEE Trans. Computers 37(11), 1988.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import networkx as nx
import numpy as np

import simcodesign as sc
from simcodesign.analytic.queueing.uniform_traffic import saturation_per_s, uniform_latency, uniform_traffic
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.jit import HAVE_NUMBA
from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.distribution import Distribution
from simcodesign.describe.machine import Machine
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.workload import Workload
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from .definitions import Hop, all_pairs, dimension_order, hypercube_graph, mesh_graph, torus_graph
from .machines import ROUNDING, TH, TL, TS, TW, M, grid, hockney, kind_of
from .queueing.stations import EXPONENTIAL, engine_for, program

DALLY = "Dally and Towles, Principles and Practices of Interconnection Networks, 2004"
KLEINROCK = "Kleinrock, Communication Nets, 1964 (independence approximation)"
KRUSKAL = "Kruskal, Snir and Weiss, IEEE Trans. Computers 37(11), 1988"
FIXED = Distribution("deterministic")


@dataclass(frozen=True)
class Net:
    """``shape`` of a grid; a hypercube is one of extents 2. ``load``: messages per second over the most loaded link when
    every node sends one; ``hops``: their mean number."""

    name: str
    kind: str
    shape: tuple[int, ...]
    load: str
    hops: str
    build: Callable[[], Topology]
    graph: Callable[[], nx.Graph]

    @property
    def nodes(self) -> int:
        """Their number."""
        return math.prod(self.shape)

    @property
    def values(self) -> dict[str, float]:
        """Symbols of the formulas."""
        return {"k": self.shape[0], "n": len(self.shape), "P": self.nodes}

    @property
    def load_line(self) -> Derived:
        """Of the most loaded link."""
        return Derived("load", self.load, self.values, about=self.name)

    @property
    def hops_line(self) -> Derived:
        """Of a message."""
        return Derived("H", self.hops, self.values, about=self.name)

    @cached_property
    def routes(self) -> list[list[Hop]]:
        """Of every ordered pair."""
        wraps = self.kind == "torus"
        return [list(dimension_order(*pair, self.shape, wraps)) for pair in all_pairs(self.shape)]

    @cached_property
    def passed(self) -> Counter[Hop]:
        """Pairs over each link."""
        return Counter(hop for route in self.routes for hop in route)

    @cached_property
    def merged(self) -> dict[Hop, float]:
        """For each link, the sum of the squared shares of its messages by the link that they come over."""
        turns = Counter(turn for route in self.routes for turn in itertools.pairwise(route))
        shares = dict.fromkeys(self.passed, 0.0)
        for (_, link), count in turns.items():
            shares[link] += (count / self.passed[link]) ** 2
        return shares

    def machine(self, **constants: object) -> Machine:
        """Messages that take m tl, and nothing else."""
        free = {"startup_s": 0.0, "hop_latency_s": 0.0, "per_byte_s": TL, "interface_per_byte_s": 0.0}
        return hockney(self.build(), **(free | constants))


def _net(kind: str, k: int, n: int) -> Net:
    line = {"mesh": "floor(k/2)*ceil(k/2)", "torus": "ceil((k*k - k % 2)/8)"}[kind]
    mean = {"mesh": "(k*k - 1)/(3*k)", "torus": "(k*k - k % 2)/(4*k)"}[kind]
    graph = {"mesh": mesh_graph, "torus": torus_graph}[kind]
    return Net(
        f"{kind}-{'x'.join([str(k)] * n)}",
        kind,
        (k,) * n,
        f"k**(n - 1)*{line}/(P - 1)",
        f"n*{mean}*P/(P - 1)",
        lambda: grid(kind, *(k,) * n),
        lambda: graph(*(k,) * n),
    )


def _cube(n: int) -> Net:
    return Net(
        f"hypercube-{2**n}",
        "mesh",
        (2,) * n,
        "P/2/(P - 1)",
        "n/2*P/(P - 1)",
        lambda: kind_of("hypercube")(2**n),
        lambda: hypercube_graph(n),
    )


NETS = (
    _net("mesh", 4, 2),
    _net("mesh", 5, 2),
    _net("mesh", 3, 3),
    _net("torus", 4, 2),
    _net("torus", 5, 2),
    _net("torus", 3, 3),
    _cube(4),
    _cube(6),
)
#: On which queues are looked at.
BUSY_NETS = (_net("mesh", 4, 2), _net("torus", 4, 2), _cube(6))


def _stream(rate_per_s: float, requests: float, varies: Distribution | None = None) -> Workload:
    """Uniform random traffic."""
    step = Arrivals(None, Place(), "network", parse(rate_per_s), parse(requests), parse(M), varies=varies)
    return program(step)


def _every_pair(nodes: int) -> Workload:
    """One message from every node to every other, at one time."""
    steps = (
        Arrivals(
            None,
            Place(),
            "network",
            parse(1),
            parse(1),
            parse(M),
            between=FIXED,
            destination=parse(f"(rank + {apart}) % P"),
        )
        for apart in range(1, nodes)
    )
    return program(*steps)


# --- Exact: without waits, and at the links -----------------------------------------------------------------------

#: Messages per second of a node at which nobody waits, to rounding.
NEARLY_NONE = 1e-9


def _empty_case(switching: str) -> Case:
    stored = "" if switching == "cut_through" else " + (H - 1)*m*tl"
    lines = {
        net.name: Derived(
            "T",
            f"ts + H*th + m*tw{stored}",
            {"ts": TS, "th": TH, "m": M, "tw": TW, "H": net.hops_line.value} | ({"tl": TL} if stored else {}),
            "s",
            net.name,
        )
        for net in NETS
    }
    own = {net.name: float(nx.average_shortest_path_length(net.graph())) for net in NETS}

    def measure() -> Readings:
        # The interface is no slower than a link: the last one of a stored message would else wait for it.
        machines = {net.name: hockney(net.build(), switching=switching, interface_per_byte_s=TL) for net in NETS}
        forecast = {
            net.name: _latency_s(sc.forecast(_stream(NEARLY_NONE, 1), machines[net.name], {"P": net.nodes}))
            for net in NETS
        }
        simulation = {
            net.name: _latency_s(
                sc.simulate(_every_pair(net.nodes), machines[net.name], {"P": net.nodes}, effects="hops")
            )
            for net in NETS
        }
        return Readings(forecast, simulation)

    name = switching.replace("_", "-")
    return Case(
        name=f"uniform-traffic/empty/{name}",
        claim=f"At no load a message of uniform traffic takes ts + H th + m tw{stored}, H the mean distance ({name}).",
        source=f"{DALLY}, ch. 3: zero-load latency",
        unit="s",
        expected={label: line.value for label, line in lines.items()},
        own={
            net.name: TS + own[net.name] * TH + M * TW + ((own[net.name] - 1) * M * TL if stored else 0) for net in NETS
        },
        tolerance=ROUNDING,
        reading="both",
        measure=measure,
        derivation=(*(net.hops_line for net in NETS), *lines.values()),
        quick=True,
    )


def _latency_s(result: sc.Result) -> float:
    return float(np.asarray(result.response_s))


def _loads_case() -> Case:
    def simulated(net: Net) -> float:
        run = sc.simulate(_every_pair(net.nodes), net.machine(), {"P": net.nodes}, effects="links")
        return float(run.stations.busy_s.max()) / (M * TL) / (net.nodes - 1)

    return Case(
        name="uniform-traffic/loads",
        claim="When every node sends one message per second, so many pass the most loaded link per second.",
        source=f"{DALLY}, ch. 3: channel load k/4 of a k-ary mesh, k/8 of a k-ary torus, for k even and with messages "
        "to oneself, which there are not here",
        unit="1/s",
        expected={net.name: net.load_line.value for net in NETS},
        own={net.name: max(net.passed.values()) / (net.nodes - 1) for net in NETS},
        tolerance=ROUNDING,
        reading="both",
        measure=lambda: Readings(
            {net.name: uniform_traffic(net.build()).highest_load for net in NETS},
            {net.name: simulated(net) for net in NETS},
        ),
        derivation=tuple(net.load_line for net in NETS),
        quick=True,
    )


def _saturation_line(net: Net) -> Derived:
    return Derived("rate", "1/(load*m*tl)", {"load": net.load_line.value, "m": M, "tl": TL}, "1/s", net.name)


def _saturation_case() -> Case:
    """Of a network whose interfaces are as fast as its links, too: they serve what is sent and what is received."""
    lines: dict[Label, Derived] = {net.name: _saturation_line(net) for net in NETS}
    values = {"load": NETS[-1].load_line.value, "m": M, "tl": TL}
    lines["hypercube-64, interfaces"] = Derived("rate", "1/(max(load, 2)*m*tl)", values, "1/s")
    narrow = NETS[-1].machine(interface_per_byte_s=TL)

    def measure() -> Readings:
        forecast: dict[Label, float] = {net.name: float(saturation_per_s(net.machine().network, M)) for net in NETS}
        forecast["hypercube-64, interfaces"] = float(saturation_per_s(narrow.network, M))
        return Readings(forecast)

    return Case(
        name="uniform-traffic/saturation/forecast",
        claim="A node can send at most 1/(load m tl) messages per second, or what an interface passes, if that is less.",
        source=f"{DALLY}, ch. 3: ideal throughput, the bandwidth over the largest channel load",
        unit="1/s",
        expected={label: line.value for label, line in lines.items()},
        tolerance=ROUNDING,
        reading="forecast",
        measure=measure,
        derivation=tuple(lines.values()),
        quick=True,
    )


# --- Beyond saturation --------------------------------------------------------------------------------------------

#: So many times the rate that saturates; messages over the most loaded link.
BEYOND, OVER = (1.5,), 20_000


def _beyond_case(net: Net) -> Case:
    line = Derived("accepted/bound", "min(1, r)", {"r": min(BEYOND)}, about="r: rate by that of saturation")

    def measure() -> Readings:
        times: dict[Label, float] = {}
        bound = _saturation_line(net).value
        each = math.ceil(OVER / net.load_line.value)
        for number, share in enumerate(BEYOND):
            run = sc.simulate(
                _stream(share * bound, each),
                net.machine(),
                {"P": net.nodes},
                effects="links",
                seed=9100 + number,
                engine=engine_for(each * net.nodes),
            )
            times[f"{share:g} times"] = each / float(run.makespan_s) / bound
        return Readings(simulation=times)

    return Case(
        name=f"uniform-traffic/saturation/{net.name}",
        claim=f"On a {net.name}, messages that come faster than the most loaded link can pass them are delivered at the "
        "rate of that link: the throughput stays at the bound.",
        source=f"{DALLY}, ch. 3 and 23: throughput at saturation",
        unit="",
        expected={f"{share:g} times": line.value for share in BEYOND},
        tolerance=Tolerance(
            f"four standard deviations of a Poisson count of {OVER} messages over the most loaded link (2.8 %), and as "
            "much for the largest of several such links and for the last messages, that are not in its queue",
            relative=0.05,
        ),
        reading="simulation",
        measure=measure,
        derivation=(net.load_line, _saturation_line(net), line),
        full=not HAVE_NUMBA,
    )


# --- Latency against load -----------------------------------------------------------------------------------------

#: Shares of the rate that saturates, and the tolerance of a mean latency there: approximations, both. Chosen before anything
#: was simulated.
LIGHT, HEAVY = (0.1, 0.3), (0.5, 0.7)
TOLERANCES = {
    LIGHT: Tolerance(
        "an approximation of the waits, which are a small part of the latency at these loads", relative=0.05
    ),
    HEAVY: Tolerance(
        "an approximation: the waits at successive links depend on each other, the more the higher the load",
        relative=0.15,
    ),
}
NAMES = {LIGHT: "light", HEAVY: "heavy"}
#: Messages of a run: the mean latency is then known to 1 % and better, even if of 100 in a row all are as late.
MESSAGES = 60_000
#: Of Kruskal, Snir and Weiss, as remembered: the paper was not at hand.
TRAINS = 0.8


def _waits(net: Net, share: float, squares: float, merging: bool) -> float:
    """Waits of a message on its way, in services: at each link that of M/G/1 (``squares``: 1 + squared variation), or
    less where its messages come over the same link before. Summed over the links, by what passes them."""
    busiest = max(net.passed.values())
    total = 0.0
    for link, count in net.passed.items():
        load, m = share * count / busiest, net.merged[link] if merging else 0.0
        total += count * load * squares / (2 * (1 - load)) * (1 - m) * (1 + TRAINS * load * m)
    return total / len(net.routes)


@dataclass(frozen=True)
class Law:
    """What is claimed of the waits: of messages of one size or of exponential sizes, with or without merging."""

    name: str
    claim: str
    source: str
    sizes: Distribution
    merging: bool
    has_forecast: bool = True
    missed: tuple[str, ...] = ()

    @property
    def squares(self) -> float:
        """1 + the squared variation of the services."""
        return 1.0 if self.sizes.constant else 2.0

    def lines(self, net: Net, shares: Sequence[float]) -> dict[Label, Derived]:
        """Latencies in services m tl."""
        return {
            share: Derived(
                "T/(m*tl)",
                "1 + W",
                {"W": _waits(net, share, self.squares, self.merging)},
                about=f"load {share:g}, W summed over the links",
            )
            for share in shares
        }

    def forecast(self, net: Net, share: float) -> float:
        """By the package: what its forecast says, or the formula that it does not use for messages of one size."""
        rate, service = share * _saturation_line(net).value, M * TL
        if self.sizes.constant and not self.merging:
            return float(uniform_latency(net.machine().network, rate, M, independent=True).latency_s) / service
        work = _stream(rate, 100, self.sizes)
        return _latency_s(sc.forecast(work, net.machine(), {"P": net.nodes})) / service

    def cases(self, net: Net) -> Iterator[Case]:
        """One of the forecast, where that has the formula, and two of the simulation."""
        if self.has_forecast:
            yield self._case(net, (*LIGHT, *HEAVY, 0.95), "forecast", ROUNDING, quick=True)
        for shares, margin in TOLERANCES.items():
            yield self._case(net, shares, NAMES[shares], margin)

    def _case(self, net: Net, shares: tuple[float, ...], name: str, margin: Tolerance, quick: bool = False) -> Case:
        lines = self.lines(net, shares)

        def measure() -> Readings:
            forecast: dict[Label, float] = {share: self.forecast(net, share) for share in shares if self.has_forecast}
            if quick:
                return Readings(forecast)
            latencies: dict[Label, float] = {share: _simulated(net.name, share, self.sizes.name) for share in shares}
            waits = ", ".join(
                f"{share:g}: {latencies[share] - 1:.4g} (theory {line.value - 1:.4g})" for share, line in lines.items()
            )
            return Readings(
                forecast, latencies, notes=(f"{MESSAGES} messages each; waits in services at load {waits}",)
            )

        return Case(
            name=f"uniform-traffic/{self.name}/{net.name}-{name}",
            claim=f"On a {net.name} at these shares of saturation, {self.claim}",
            source=self.source,
            unit="services",
            expected={share: line.value for share, line in lines.items()},
            tolerance=margin,
            reading="forecast" if quick else "simulation",
            measure=measure,
            axis="load",
            derivation=tuple(lines.values()),
            quick=quick,
            because=SAME_LINK if f"{net.name}-{name}" in self.missed else "",
        )


@cache
def _simulated(name: str, share: float, sizes: str) -> float:
    """Mean latency in services."""
    net = next(net for net in BUSY_NETS if net.name == name)
    each = math.ceil(MESSAGES / net.nodes)
    work = _stream(share * _saturation_line(net).value, each, Distribution(sizes))
    run = sc.simulate(
        work,
        net.machine(),
        {"P": net.nodes},
        effects="links, noise",
        seed=9000 + round(100 * share),
        engine=engine_for(each * net.nodes),
    )
    return _latency_s(run) / (M * TL)


#: Why independence does not hold, and where it misses by more than the tolerance.
SAME_LINK = (
    "messages that come over the same link do not hinder each other again at the next one, which queues of their own "
    "forget: the waits come out 20 to 50 % too long (see uniform-traffic/merging)"
)
TOO_LONG = ("mesh-4x4-light", "mesh-4x4-heavy", "torus-4x4-light", "hypercube-64-light", "hypercube-64-heavy")
MERGED = "M/D/1 times (1 - m) (1 + 4/5 rho m), m the sum of the squared shares that come over the same link before."
LAWS = (
    Law(
        "merging",
        f"messages of one size wait at each link as in {MERGED}",
        f"{KRUSKAL} (waits at later stages, for k sides alike, m = 1/k); {KLEINROCK}",
        FIXED,
        merging=True,
    ),
    Law(
        "independent",
        "messages of one size wait at each link as in M/D/1, whatever the links before.",
        KLEINROCK,
        FIXED,
        merging=False,
        missed=TOO_LONG,
    ),
    Law(
        "exponential-sizes",
        "messages of exponential sizes wait at each link as in M/M/1, whatever the links before.",
        KLEINROCK,
        EXPONENTIAL,
        merging=False,
        missed=(*TOO_LONG, "torus-4x4-heavy"),
    ),
    Law(
        "exponential-merging",
        f"messages of exponential sizes wait at each link twice as long as those of one size: {MERGED}",
        f"{KRUSKAL}; Pollaczek-Khinchine (1 + c^2 = 2)",
        EXPONENTIAL,
        merging=True,
        has_forecast=False,
    ),
)


CASES: list[Case] = [
    _empty_case("cut_through"),
    _empty_case("store_and_forward"),
    _loads_case(),
    _saturation_case(),
    *(_beyond_case(net) for net in (*BUSY_NETS[:2], _cube(4))),
    *(case for law in LAWS for net in BUSY_NETS for case in law.cases(net)),
]
