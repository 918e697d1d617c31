"""Uniform random traffic at the links: latency without waits, loads, saturation, and what is beyond.

Loads are counted along routes that are written out from the definition (``definitions``).

Source: W. Dally, B. Towles, "Principles and Practices of Interconnection Networks" (2004), ch. 3 and 23.
"""

from __future__ import annotations

import math

import networkx as nx

import simcodesign as sc
from simcodesign.analytic.queueing.uniform_traffic import saturation_per_s, uniform_traffic
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.native.shared_library import library
from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.network.interfaces import DUPLEXES, Interfaces
from simcodesign.describe.workload import Workload
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ..machines import ROUNDING, TH, TL, TS, TW, M, hockney
from ..queueing.stations import program
from .networks import BUSY_NETS, FIXED, NETS, Net, cube, latency_s, saturation_line, stream

DALLY = "Dally and Towles, Principles and Practices of Interconnection Networks, 2004"


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
        interfaces = Interfaces(per_byte_s=TL)
        machines = {net.name: hockney(net.build(), switching=switching, interfaces=interfaces) for net in NETS}
        forecast = {
            net.name: latency_s(sc.forecast(stream(NEARLY_NONE, 1), machines[net.name], {"P": net.nodes}))
            for net in NETS
        }
        simulation = {
            net.name: latency_s(
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


def _saturation_case() -> Case:
    """Of a network whose interfaces are as fast as its links, too: full-duplex ones pass one message for each message
    that a node sends, half-duplex ones two, what is sent and what is received."""
    lines: dict[Label, Derived] = {net.name: saturation_line(net) for net in NETS}
    values = {"load": NETS[-1].load_line.value, "m": M, "tl": TL}
    narrow = {
        f"hypercube-64, {duplex} duplex": NETS[-1].machine(interfaces=Interfaces(duplex=duplex, per_byte_s=TL)).network
        for duplex in DUPLEXES
    }
    for label, network in narrow.items():
        passed = 1 if network.interfaces.is_full_duplex else 2
        lines[label] = Derived("rate", "1/(max(load, passed)*m*tl)", values | {"passed": passed}, "1/s")

    def measure() -> Readings:
        forecast: dict[Label, float] = {net.name: float(saturation_per_s(net.machine().network, M)) for net in NETS}
        forecast |= {label: float(saturation_per_s(network, M)) for label, network in narrow.items()}
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


#: So many times the rate that saturates; messages over the most loaded link.
BEYOND, OVER = (1.5,), 20_000


def _beyond_case(net: Net) -> Case:
    line = Derived("accepted/bound", "min(1, r)", {"r": min(BEYOND)}, about="r: rate by that of saturation")

    def measure() -> Readings:
        times: dict[Label, float] = {}
        bound = saturation_line(net).value
        each = math.ceil(OVER / net.load_line.value)
        for number, share in enumerate(BEYOND):
            run = sc.simulate(
                stream(share * bound, each),
                net.machine(),
                {"P": net.nodes},
                effects="links",
                seed=9100 + number,
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
        derivation=(net.load_line, saturation_line(net), line),
        full=library() is None,
    )


CASES: list[Case] = [
    _empty_case("cut_through"),
    _empty_case("store_and_forward"),
    _loads_case(),
    _saturation_case(),
    *(_beyond_case(net) for net in (*BUSY_NETS[:2], cube(4))),
]
