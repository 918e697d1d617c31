"""Switches, ports, cables and links: against closed forms of publications, and counted on the built graph."""

import networkx as nx
import pytest

from simcodesign.describe.topology.build import build_topology

KINDS = {
    "fat_tree of 4-port switches": ("fat_tree", 64, {"arity": 4}),
    "fat_tree with empty places": ("fat_tree", 61, {"arity": 4}),
    "fat_tree of one host": ("fat_tree", 1, {"arity": 4}),
    "tree": ("tree", 13, {}),
    "mesh": ("mesh", 12, {}),
    "torus": ("torus", 24, {"shape": [2, 3, 4]}),
    "hypercube": ("hypercube", 16, {}),
    "dragonfly": ("dragonfly", 72, {"terminals": 2, "routers": 4, "global_links": 2}),
    "dragonfly_plus": ("dragonfly_plus", 32, {"terminals": 2, "leaves": 2, "spines": 2, "global_links": 4}),
    "slim_fly": ("slim_fly", 200, {"q": 5}),
    "hyperx": ("hyperx", 32, {"shape": [4, 4], "terminals": 2}),
}


@pytest.mark.parametrize("name", KINDS)
def test_hardware_is_counted_on_the_graph(name: str) -> None:
    """Vertices that are no hosts, pairs of opposite edges, and ends of these at switches, or between hosts."""
    kind, hosts, options = KINDS[name]
    topology = build_topology(kind, hosts, **options)  # type: ignore[arg-type]
    graph = topology.to_networkx()
    cables: dict[tuple[int, int], int] = {}
    for tail, head in graph.edges():
        if tail < head:
            cables[tail, head] = cables.get((tail, head), 0) + 1
    ends = sum(count * ((one >= hosts) + (other >= hosts) or 2) for (one, other), count in cables.items())
    found = topology.hardware
    assert found.links == graph.number_of_edges()
    assert found.cables == sum(cables.values())
    assert (found.switches, found.ports) == (graph.number_of_nodes() - hosts, ends)


@pytest.mark.parametrize("radix", [4, 6, 8])
def test_fat_tree_of_al_fares(radix: int) -> None:
    """M. Al-Fares, A. Loukissas, A. Vahdat, SIGCOMM 2008: k pods, 5k^2/4 switches of k ports and k^3/4 hosts. A k-ary
    n-tree with half of the arity has as many ports for each host: its highest switches use half of theirs."""
    half = radix // 2
    graph, hosts = nx.Graph(), radix**3 // 4
    for host in range(hosts):
        pod, edge = host // half**2, host // half % half
        graph.add_edge(("h", host), ("edge", pod, edge))
    for pod in range(radix):
        for one in range(half):
            for other in range(half):
                graph.add_edge(("edge", pod, one), ("aggregation", pod, other))
                graph.add_edge(("aggregation", pod, one), ("core", one, other))
    for vertex in graph:
        graph.nodes[vertex]["host"] = vertex[0] == "h"
    clos = build_topology("graph", hosts, graph=graph).hardware
    assert (clos.switches, clos.ports, clos.cables) == (5 * radix**2 // 4, 5 * radix**3 // 4, 3 * hosts)
    tree = build_topology("fat_tree", half**3, arity=half).hardware
    assert tree.ports * hosts == clos.ports * half**3
    assert tree.switches == 3 * half**2  # F. Petrini and M. Vanneschi, IPPS 1997: n k^(n-1)


def test_published_numbers_of_routers_and_cables() -> None:
    """J. Kim et al., ISCA 2008: g = a h + 1 groups of a routers, with a p hosts; M. Besta and T. Hoefler, SC 2014: a
    Slim Fly has 2 q^2 routers of degree (3 q - delta) / 2, q = 4 w + delta."""
    terminals, routers, per_router = 2, 4, 2
    groups = routers * per_router + 1
    hosts = groups * routers * terminals
    options = {"terminals": terminals, "routers": routers, "global_links": per_router}
    dragonfly = build_topology("dragonfly", hosts, **options).hardware  # type: ignore[arg-type]
    between = groups * (groups - 1) // 2
    assert dragonfly.switches == groups * routers
    assert dragonfly.cables == hosts + groups * routers * (routers - 1) // 2 + between
    q = 5
    slim_fly = build_topology("slim_fly", 200, q=q).hardware
    assert slim_fly.switches == 2 * q**2
    assert slim_fly.cables == 200 + 2 * q**2 * (3 * q - 1) // 2 // 2


def test_taper_leaves_fewer_cables() -> None:
    """Two to one from the second tier on: half of the cables there, and of the ends at switches."""
    plain = build_topology("fat_tree", 64, arity=4)
    tapered = build_topology("fat_tree", 64, arity=4, taper=2)
    assert tapered.taper == (1.0, 2.0, 2.0)  # type: ignore[attr-defined]
    assert tapered == build_topology("fat_tree", 64, arity=4, taper=[1, 2, 2])
    assert (plain.hardware.cables, tapered.hardware.cables) == (3 * 64, 64 + 2 * 32)
    assert (plain.hardware.ports, tapered.hardware.ports) == (5 * 64, 64 + 4 * 32)
    assert build_topology("fat_tree", 64, arity=4, taper=[1, 1, 3]).hardware.cables == 64 + 64 + 22
    assert build_topology("fat_tree", 64, arity=4, taper=[2, 1, 1]).hardware.cables == 3 * 64


def test_one_switch_and_one_cable() -> None:
    crossbar, bus = (build_topology(kind, 16).hardware for kind in ("crossbar", "bus"))
    assert (crossbar.switches, crossbar.ports, crossbar.cables) == (1, 16, 16)
    assert (bus.switches, bus.ports, bus.cables, bus.links) == (0, 0, 1, 1)
