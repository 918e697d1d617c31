"""Meshes, tori and hypercubes under uniform random traffic: every node sends messages at random times to all others.

One rank a node, dimension-ordered routing, cut-through. Messages of m bytes occupy each link of their way for m tl, and
nothing else takes time unless stated: all of a latency is then its own m tl and its waits.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np

import simcodesign as sc
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.interfaces import Interfaces
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.workload import Workload
from simcodesign.studies.validation.case import Derived

from ..definitions import Hop, all_pairs, dimension_order, hypercube_graph, mesh_graph, torus_graph
from ..machines import TL, M, grid, hockney, kind_of
from ..queueing.stations import program

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
        free = {"startup_s": 0.0, "hop_latency_s": 0.0, "per_byte_s": TL, "interfaces": Interfaces(per_byte_s=0.0)}
        return hockney(self.build(), **(free | constants))


def array(kind: str, k: int, n: int) -> Net:
    """A mesh or torus of n dimensions of k nodes."""
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


def cube(n: int) -> Net:
    """A hypercube of 2^n nodes."""
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
    array("mesh", 4, 2),
    array("mesh", 5, 2),
    array("mesh", 3, 3),
    array("torus", 4, 2),
    array("torus", 5, 2),
    array("torus", 3, 3),
    cube(4),
    cube(6),
)
#: On which queues are looked at.
BUSY_NETS = (array("mesh", 4, 2), array("torus", 4, 2), cube(6))


def stream(rate_per_s: float, requests: float, varies: Distribution | None = None) -> Workload:
    """Uniform random traffic."""
    step = Arrivals(None, Place(), "network", parse(rate_per_s), parse(requests), parse(M), varies=varies)
    return program(step)


def latency_s(result: sc.Result) -> float:
    """Of the mean message."""
    return float(np.asarray(result.response_s))


def saturation_line(net: Net) -> Derived:
    """Messages per second of a node at which the most loaded link is always at work."""
    return Derived("rate", "1/(load*m*tl)", {"load": net.load_line.value, "m": M, "tl": TL}, "1/s", net.name)
