"""What the published feasibility region of conjugate gradients leaves out: routes, shared links, shared interfaces.

Nobody has published these numbers. What can be derived without a simulation is expected exactly (hops on the torus) or
between bounds (half-duplex interfaces; hops elsewhere); the rest is shown: here the ladder at three points of the
published boundary, in ``effects_regions`` the region that is left.
The paper has no latency of a hop: 40 ns is assumed where one is needed, and one case goes over a range of them. Nor does
it say whether a node sends while it receives: interfaces are full duplex, as those of all machines of its time, and
half-duplex ones on the torus show what that is worth.
"""

from __future__ import annotations

from collections.abc import Mapping

import simcodesign as sc
from simcodesign.comparison.compare import Comparison
from simcodesign.studies.feasibility.regions import FeasibilityQuestion, question, simulated_region
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from .iteration import N_SHARED, RATE, ROUNDING, SOURCE, P, S, constants, node_grid, t_iter, useful_flops

WORKLOAD = "cg"
HOP = 40e-9
HALF_DUPLEX = "-half-duplex"
EFFECTS = ("hops", "links", "interfaces")
#: One effect after another; each is called by its last.
STEPS = tuple(EFFECTS[: k + 1] for k in range(3))
#: Where on the line between the intercepts: bound by bandwidth, by both, by latency.
POINTS = {"bandwidth": 0.0, "both": 0.5, "latency": 1.0}
TRAIN = {"train": 104.0}
#: Levels of the fat tree of 32 ports by the number of nodes: 32^levels hosts are enough.
LEVELS = {2**9: 2, 2**20: 4}
MACHINES = {"torus": "exascale-cg", "hypercube": "exascale-cg-hypercube", "fat-tree": "exascale-cg-fat-tree"}
#: Nodes in an ordinary run, and of the whole machine.
NODES = 2**9


def boundary(nodes: int) -> dict[str, tuple[float, float]]:
    """Three points of the published boundary at eta = 1: (t_s, t_w). It depends on the nodes by lg P alone."""
    lg = nodes.bit_length() - 1
    most_s, most_w = (
        left_for_messages_s(nodes) / (2 * (S + 2 * lg)),
        left_for_messages_s(nodes) / (2 * (S * N_SHARED + 2 * lg)),
    )
    return {name: (share * most_s, (1 - share) * most_w) for name, share in POINTS.items()}


def limit_s(nodes: int) -> float:
    """Time allowed: that of the whole machine at 1 Eflop/s; a part of it must reach that part of the rate."""
    return useful_flops(nodes=nodes) / (RATE * nodes / P)


def left_for_messages_s(nodes: int) -> float:
    """What of it computation leaves for messages."""
    return limit_s(nodes) - t_iter(nodes, 0.0, 0.0)


def _machine(network: str, nodes: int, duplex: str = "full") -> sc.Machine:
    return sc.Machine.load(MACHINES[network], {"nodes": nodes, "network.interfaces.duplex": duplex})


def network_question(network: str, nodes: int, duplex: str) -> FeasibilityQuestion:
    """Which messages let so many nodes reach their share of 1 Eflop/s?"""
    machine = _machine(network, nodes, duplex)
    return question(WORKLOAD, machine, ("ts", "tw"), RATE * nodes / P, TRAIN)


def _simulated(network: str, nodes: int, ts: float, tw: float, effects: str) -> float:
    machine = _machine(network, nodes)
    given = {**constants(ts, tw), **TRAIN}
    return float(sc.simulate(WORKLOAD, machine, given, phases="iterate", effects=effects).makespan_s)


def _ladders(network: str, nodes: int, duplex: str) -> dict[str, Comparison]:
    machine = _machine(network, nodes, duplex)
    return {
        f"bound by {name}: t_s = {1e9 * ts:.4g} ns, t_w = {1e12 * tw:.4g} ps": sc.compare(
            WORKLOAD, machine, {**constants(ts, tw), **TRAIN}, phases="iterate", effects=EFFECTS
        )
        for name, (ts, tw) in boundary(nodes).items()
    }


def hop_sum(nodes: int) -> int:
    """Hops on the way up the binomial tree on the torus: partners at 1, 2, 4, ... in every dimension of k hosts.

    Distances 1, 2, ..., k/2 add up to k - 1.
    """
    return sum(extent - 1 for extent in node_grid(nodes))


def hops_case(nodes: int, full: bool) -> Case:
    """With routes counted, and nothing shared: exact on the torus; shared links and interfaces add nothing to it, since
    all send to one and receive from one at a time."""
    way = hop_sum(nodes)
    expected: dict[Label, float] = {
        f"{name}, {effect}": t_iter(nodes, ts, tw) + (2 + 4 * way) * HOP
        for name, (ts, tw) in boundary(nodes).items()
        for effect in EFFECTS
    }

    def measure() -> Readings:
        points = boundary(nodes)
        return Readings(
            simulation={
                label: _simulated("torus", nodes, *points[point], ",".join(EFFECTS[: EFFECTS.index(last) + 1]))
                for label in expected
                for point, last in [str(label).split(", ")]
            }
        )

    x, y, z = node_grid(nodes)
    return Case(
        name=f"cg-effects/hops-torus-{nodes}",
        claim="On the torus, hops prolong the published time by one for each exchange and by four ways through the tree, "
        "and no two messages meet on a link or at a full-duplex interface.",
        source=f"{SOURCE}; hops of the binomial tree on the torus added up here",
        unit="s",
        expected=expected,
        tolerance=ROUNDING,
        reading="simulation",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINES["torus"],
        parameters={"nodes": nodes, "network.hop_latency": HOP, **TRAIN},
        derivation=(
            Derived("way", "x - 1 + y - 1 + z - 1", {"x": x, "y": y, "z": z}, "hops"),
            Derived(
                "T",
                "limit + (2 + 4*way)*hop",
                {"limit": limit_s(nodes), "way": way, "hop": HOP},
                "s",
                "on the boundary",
            ),
        ),
        full=full,
    )


#: Latencies of a hop, in ns: from an ideal network to one that spends more on the way than all else takes.
HOPS_NS = (0, 10, 20, 40, 80, 160)


def hop_latency_case(nodes: int) -> Case:
    """How much startup is left for a given latency of a hop, which the paper does not mention."""
    lg, way = nodes.bit_length() - 1, hop_sum(nodes)
    left_s = {
        hop_ns: (left_for_messages_s(nodes) - (2 + 4 * way) * 1e-9 * hop_ns) / (2 * (S + 2 * lg)) for hop_ns in HOPS_NS
    }

    def measure() -> Readings:
        machine = _machine("torus", nodes)
        startup_s = {
            hop_ns: simulated_region(
                question(
                    WORKLOAD, machine, ("ts", "tw"), RATE * nodes / P, {**TRAIN, "network.hop_latency": 1e-9 * hop_ns}
                ),
                ("hops",),
                points=2,
            ).intercepts[0]
            for hop_ns in HOPS_NS
        }
        return Readings(simulation=startup_s)

    whole = {"left": left_for_messages_s(P), "way": hop_sum(P)}
    return Case(
        name=f"cg-effects/hop-latency-torus-{nodes}",
        claim="The startup that is allowed falls linearly with the latency of a hop (in ns).",
        source=f"{SOURCE}; hops of the binomial tree on the torus added up here",
        unit="s",
        expected=left_s,
        tolerance=Tolerance("accuracy of the boundary", relative=1e-6),
        reading="simulation",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINES["torus"],
        parameters={"nodes": nodes, **TRAIN},
        axis="latency of a hop, ns",
        derivation=(
            Derived(
                "most t_s",
                "(left - (2 + 4*way)*hop)/(2*(S + 2*lg))",
                {"left": left_for_messages_s(nodes), "way": way, "hop": HOP, "S": S, "lg": lg},
                "s",
            ),
            Derived("nothing is feasible from", "left/(2 + 4*way)", whole, "s", f"{P} nodes, latency of a hop"),
        ),
    )


def ladder_case(network: str, nodes: int, full: bool) -> Case:
    """With full-duplex interfaces: at least the hops, one a message unless they are known, on top of the published time."""
    hops = 2 + 4 * hop_sum(nodes) if network == "torus" else 2 + 4 * (nodes.bit_length() - 1)
    expected: dict[Label, float] = {
        name: t_iter(nodes, ts, tw) + hops * HOP for name, (ts, tw) in boundary(nodes).items()
    }
    values = {"limit": limit_s(nodes), "hops": hops, "hop": HOP}
    return _ladder_case(
        network,
        nodes,
        "full",
        expected,
        "Hops, shared links and full-duplex interfaces add no less than the hops, at three points of the boundary.",
        "hops on the way of an iteration added up here",
        Derived("T", "limit + hops*hop", values, "s", "on the boundary"),
        full,
    )


def half_duplex_case(network: str, nodes: int, full: bool) -> Case:
    """With an interface that sends or receives: at least both directions of both exchanges, one after another."""
    expected: dict[Label, float] = {
        name: t_iter(nodes, 0.0, 0.0) + 2 * S * max(ts + N_SHARED * tw, 2 * N_SHARED * tw)
        for name, (ts, tw) in boundary(nodes).items()
    }
    tw = boundary(nodes)["bandwidth"][1]
    values = {"S": S, "n": N_SHARED, "t_w": tw, "T_0": t_iter(nodes, 0.0, 0.0)}
    return _ladder_case(
        network,
        nodes,
        "half",
        expected,
        "A half-duplex interface needs the time of both directions, at three points of the boundary.",
        "what a node sends and receives in an iteration",
        Derived("bound by bandwidth", "T_0 + 2*S*2*n*t_w", values, "s"),
        full,
    )


def _ladder_case(
    network: str,
    nodes: int,
    duplex: str,
    expected: Mapping[Label, float],
    claim: str,
    source: str,
    line: Derived,
    full: bool,
) -> Case:
    def measure() -> Readings:
        ladders = _ladders(network, nodes, duplex)
        simulated_s = [float(comparison.simulation.makespan_s) for comparison in ladders.values()]
        return Readings(simulation=dict(zip(expected, simulated_s, strict=True)), ladders=ladders)

    return Case(
        name=f"cg-effects/ladder-{network}-{nodes}{HALF_DUPLEX if duplex == 'half' else ''}",
        claim=claim,
        source=f"{SOURCE}; {source}",
        unit="s",
        expected=expected,
        tolerance=Tolerance("a lower bound: waiting comes on top", relative=1e-12, sense="at_least"),
        reading="simulation",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINES[network],
        parameters={"nodes": nodes, "network.hop_latency": HOP, **TRAIN},
        derivation=(line,),
        full=full,
    )


CASES = [
    hops_case(NODES, full=False),
    hops_case(P, full=True),
    hop_latency_case(NODES),
    *(ladder_case(network, NODES, full=False) for network in MACHINES),
    half_duplex_case("torus", NODES, full=False),
    *(ladder_case(network, P, full=True) for network in MACHINES),
    half_duplex_case("torus", P, full=True),
]
