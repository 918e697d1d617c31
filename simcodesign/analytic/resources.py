"""Closed form of an execute block (Spafford and Vetter, SC 2012; Sci. Prog. 2015, article 157305).

An item takes the t seconds of its resource's expression, changed by one trait after another. With p items
of a rank on the I instances of a resource that it has, a use takes

    ceil(p / I) t

and the block as long as its heaviest clique: the set of uses of the longest total time of which every two conflict; all
others overlap with them (``describe.resources.Custom.conflicting`` states the rule).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.resource_uses import ItemUse
from simcodesign.describe.resources import Custom

#: Relative: a quotient that is so little above a whole number is that number, rounded.
ROUNDING = 4e-15


def turns(parallelism: FloatOrArray, instances: FloatOrArray) -> FloatOrArray:
    """How many items an instance works on, one after another, at most: ceil(p / I)."""
    whole: FloatOrArray = np.ceil(parallelism / instances * (1.0 - ROUNDING))
    return whole


def use_s(use: ItemUse, parallelism: FloatOrArray) -> FloatOrArray:
    """Seconds of one use in a block of ``parallelism`` items."""
    return turns(parallelism, use.instances) * use.time_s


def block_s(uses: Iterable[ItemUse], parallelism: FloatOrArray, custom: Custom) -> FloatOrArray:
    """Seconds of a block: the heaviest clique of the graph of conflicts."""
    by_resource: dict[str, FloatOrArray] = {}
    for use in uses:
        by_resource[use.resource] = by_resource.get(use.resource, 0.0) + use_s(use, parallelism)
    return heaviest(by_resource, cliques(custom, by_resource))


def all_in_turn_s(uses: Iterable[ItemUse], parallelism: FloatOrArray) -> FloatOrArray:
    """Seconds of a block in which nothing overlaps."""
    return sum((use_s(use, parallelism) for use in uses), start=0.0)


def highest_power(watts: dict[str, FloatOrArray], custom: Custom) -> FloatOrArray:
    """Maximum concurrent power of resources: the power of the heaviest set without conflicts."""
    return heaviest(watts, cliques(custom, watts, together=True))


def heaviest(weights: dict[str, FloatOrArray], sets: Iterable[Iterable[str]]) -> FloatOrArray:
    """Return the largest sum of weights of a set; 0 without any."""
    sums = [sum((weights[name] for name in names), start=0.0) for names in sets]
    most: FloatOrArray = 0.0
    for total in sums:
        most = np.maximum(most, total)
    return most


def cliques(custom: Custom, names: Iterable[str], together: bool = False) -> Iterator[list[str]]:
    """Yield the maximal sets of resources that all conflict with each other, or of which none do, if ``together``."""
    import networkx as nx

    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from(pair for pair in custom.pairs if all(name in graph for name in pair) and len(pair) == 2)
    for clique in nx.find_cliques(nx.complement(graph) if together else graph):
        yield [name for name in graph if name in clique]  # sums of the same order in every process
