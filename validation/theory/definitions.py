"""Topologies, routes and collective algorithms once more, by their definitions and apart from the package.

What the cases of theory count on: distances by breadth-first search, loads by following every route, and times by
following what every rank sends and receives.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence

import networkx as nx

#: Coordinates of a node; a link.
Point = tuple[int, ...]
Hop = tuple[Point, Point]
#: A step of a rank: whether it sends or receives, and its partner.
Steps = list[tuple[str, int]]

# --- Topologies by their definitions --------------------------------------------------------------------------------


def mesh_graph(*shape: int) -> nx.Graph:
    """Neighbours differ by one in one coordinate."""
    graph = nx.Graph()
    points = list(itertools.product(*map(range, shape)))
    graph.add_nodes_from(points)
    graph.add_edges_from((a, b) for a, b in itertools.combinations(points, 2) if math.dist(a, b) == 1)
    return graph


def torus_graph(*shape: int) -> nx.Graph:
    """Neighbours differ by one in one coordinate, modulo its extent."""
    graph = nx.Graph()
    for point in itertools.product(*map(range, shape)):
        for dim, extent in enumerate(shape):
            graph.add_edge(point, (*point[:dim], (point[dim] + 1) % extent, *point[dim + 1 :]))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def hypercube_graph(dimension: int) -> nx.Graph:
    """Neighbours differ in one bit."""
    return nx.Graph((a, a ^ 1 << bit) for a in range(2**dimension) for bit in range(dimension))


def complete_graph(hosts: int) -> nx.Graph:
    """Every two hosts are one hop apart."""
    return nx.Graph(itertools.combinations(range(hosts), 2))


def tree_graph(hosts: int) -> nx.Graph:
    """Hosts are leaves; two neighbouring vertices of a level have a parent, up to the root."""
    graph, width, level = nx.Graph(), hosts, 0
    while width > 1:
        graph.add_edges_from(((level, place), (level + 1, place // 2)) for place in range(width))
        width, level = (width + 1) // 2, level + 1
    return graph


def fat_tree_graph(arity: int, levels: int) -> nx.Graph:
    """The k-ary n-tree of Petrini and Vanneschi (1997): switches of levels l and l + 1 with words that differ at most
    in digit l are joined; k hosts hang on every switch of the lowest level."""
    graph = nx.Graph()
    words = list(itertools.product(range(arity), repeat=levels - 1))
    for word, host in itertools.product(words, range(arity)):
        graph.add_edge(("host", *word, host), (0, word))
    for level, word, digit in itertools.product(range(levels - 1), words, range(arity)):
        place = levels - 2 - level  # words stand highest digit first
        graph.add_edge((level, word), (level + 1, (*word[:place], digit, *word[place + 1 :])))
    return graph


def ring_of_switches() -> nx.Graph:
    """Six switches in a ring with two hosts each."""
    graph = nx.Graph()
    graph.add_nodes_from(range(12))
    graph.add_nodes_from((f"switch {s}" for s in range(6)), host=False)
    graph.add_edges_from((host, f"switch {host // 2}") for host in range(12))
    graph.add_edges_from((f"switch {s}", f"switch {(s + 1) % 6}") for s in range(6))
    return graph


# --- Routes by their definitions ----------------------------------------------------------------------------------


def dimension_order(source: Point, target: Point, shape: Sequence[int], wraps: bool) -> Iterator[Hop]:
    """One dimension after another, the first one first; on a ring the shorter way, half way round up from even
    coordinates and down from odd ones."""
    at = source
    for dim, extent in enumerate(shape):
        ahead = (target[dim] - at[dim]) % extent
        up = 2 * ahead < extent or (2 * ahead == extent and at[dim] % 2 == 0) if wraps else target[dim] > at[dim]
        while at[dim] != target[dim]:
            following = (*at[:dim], (at[dim] + (1 if up else -1)) % extent, *at[dim + 1 :])
            yield at, following
            at = following


def most_passed(pairs: Iterable[tuple[Point, Point]], shape: Sequence[int], wraps: bool) -> int:
    """Messages over the link that most of them pass."""
    loads = Counter(hop for pair in pairs for hop in dimension_order(*pair, shape, wraps))
    return max(loads.values())


def all_pairs(shape: Sequence[int]) -> Iterable[tuple[Point, Point]]:
    """Every ordered pair of different points."""
    return itertools.permutations(itertools.product(*map(range, shape)), 2)


def bits(number: int, dimension: int) -> Point:
    """The lowest bit first: e-cube routing of a hypercube is the dimension order of a mesh of extents 2."""
    return tuple(number >> bit & 1 for bit in range(dimension))


# --- Algorithms as what every rank does ------------------------------------------------------------


def replay(programs: Sequence[Steps], cost_s: float, receive_s: float) -> float:
    """When the last rank is done: a send takes ``cost_s`` and arrives then; a receive waits and takes ``receive_s``."""
    clock, at = [0.0] * len(programs), [0] * len(programs)
    arrived: dict[tuple[int, int], deque[float]] = {}
    ready = deque(range(len(programs)))
    while ready:
        rank = ready.popleft()
        for what, peer in programs[rank][at[rank] :]:
            if what == "send":
                clock[rank] += cost_s
                arrived.setdefault((rank, peer), deque()).append(clock[rank])
                ready.append(peer)
            elif arrived.get((peer, rank)):
                clock[rank] = max(clock[rank], arrived[peer, rank].popleft()) + receive_s
            else:
                break
            at[rank] += 1
    assert all(place == len(steps) for place, steps in zip(at, programs, strict=True))
    return max(clock)


def _tree(count: int, up: bool) -> list[Steps]:
    """Binomial tree by halving: the first rank of n ranks and that after the largest power of two below n."""
    programs: list[Steps] = [[] for _ in range(count)]

    def split(low: int, size: int) -> None:
        if size == 1:
            return
        middle = low + 2 ** ((size - 1).bit_length() - 1)
        if not up:
            programs[low].append(("send", middle))
            programs[middle].append(("receive", low))
        split(low, middle - low)
        split(middle, low + size - middle)
        if up:
            programs[middle].append(("send", low))
            programs[low].append(("receive", middle))

    split(0, count)
    return programs


def tree_down(count: int) -> list[Steps]:
    return _tree(count, up=False)


def tree_up_and_down(count: int) -> list[Steps]:
    return [first + then for first, then in zip(_tree(count, up=True), _tree(count, up=False), strict=True)]


def doubling(count: int) -> list[Steps]:
    """MPICH: of the first 2 (P - 2^k) ranks the even ones hand over to the odd ones, which report back at the end."""
    power = 2 ** (count.bit_length() - 1)
    rest = count - power
    programs: list[Steps] = [[] for _ in range(count)]
    for rank in range(0, 2 * rest, 2):
        programs[rank] += [("send", rank + 1), ("receive", rank + 1)]
        programs[rank + 1].append(("receive", rank))
    members = [*range(1, 2 * rest, 2), *range(2 * rest, count)]
    for new, rank in enumerate(members):
        for bit in range(power.bit_length() - 1):
            partner = members[new ^ 1 << bit]
            programs[rank] += [("send", partner), ("receive", partner)]
        if rank < 2 * rest:
            programs[rank].append(("send", rank - 1))
    return programs
