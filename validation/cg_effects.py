"""What the published feasibility region of conjugate gradients leaves out: routes, shared links, shared interfaces.

Nobody has published these numbers. What can be derived without a simulation is expected exactly (hops on the torus) or as
a bound (interfaces); the rest is shown: the ladder at three points of the published boundary, and the region that is left.
The paper has no latency of a hop: 40 ns is assumed where one is needed, and one case goes over a range of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simcodesign as sc
from simcodesign.codesign.feasibility import Question, Region, forecast_region, question, simulated_region
from simcodesign.compare import Comparison
from simcodesign.validate.case import Case, Derived, Label, Said, Tolerance

from .conjugate_gradient import N_SHARED, RATE, ROUNDING, SOURCE, P, S, constants, node_grid, t_iter

WORKLOAD = "cg"
HOP = 40e-9
EFFECTS = ("hops", "links", "endpoints")
#: Where on the line between the intercepts: bound by bandwidth, by both, by latency.
POINTS = {"bandwidth": 0.0, "both": 0.5, "latency": 1.0}
TRAIN = {"train": 104.0}
MACHINES = {"torus": "exascale-cg", "hypercube": "exascale-cg-hypercube", "fat-tree": "exascale-cg-fat-tree"}
#: Nodes in an ordinary run, and of the whole machine.
NODES = 2**9


def boundary(nodes: int) -> dict[str, tuple[float, float]]:
    """Three points of the published boundary at eta = 1: (t_s, t_w). It depends on the nodes by lg P alone."""
    lg = nodes.bit_length() - 1
    room_s = limit_s(nodes) - t_iter(nodes, 0.0, 0.0)
    most_s, most_w = room_s / (2 * (S + 2 * lg)), room_s / (2 * (S * N_SHARED + 2 * lg))
    return {name: (share * most_s, (1 - share) * most_w) for name, share in POINTS.items()}


def limit_s(nodes: int) -> float:
    """Time allowed: that of the whole machine at 1 Eflop/s; a part of it must reach that part of the rate."""
    return float(asked("torus", nodes).limit_s)


def asked(network: str, nodes: int) -> Question:
    """Which messages let so many nodes reach their share of 1 Eflop/s?"""
    machine = sc.load_machine(MACHINES[network], {"nodes": nodes})
    return question(WORKLOAD, machine, ("ts", "tw"), RATE * nodes / P, TRAIN)


def _simulated(network: str, nodes: int, ts: float, tw: float, effects: str) -> float:
    machine = sc.load_machine(MACHINES[network], {"nodes": nodes})
    given = {**constants(ts, tw), **TRAIN}
    return float(sc.simulate(WORKLOAD, machine, given, phases="iterate", effects=effects).makespan_s)


def _ladders(network: str, nodes: int) -> dict[str, Comparison]:
    machine = sc.load_machine(MACHINES[network], {"nodes": nodes})
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
    """With routes counted, and nothing shared: exact on the torus; contention for links adds nothing to it."""
    way = hop_sum(nodes)
    expected: dict[Label, float] = {
        f"{name}, {effect}": t_iter(nodes, ts, tw) + (2 + 4 * way) * HOP
        for name, (ts, tw) in boundary(nodes).items()
        for effect in ("hops", "links")
    }

    def measure() -> Said:
        points = boundary(nodes)
        return Said(
            simulation={label: _simulated("torus", nodes, *points[str(label).split(", ")[0]], str(label).split(", ")[1])
                        for label in expected}
        )  # fmt: skip

    x, y, z = node_grid(nodes)
    return Case(
        name=f"cg-effects/hops-torus-{nodes}",
        claim="On the torus, hops prolong the published time by one for each exchange and by four ways through the tree, "
        "and no two messages meet on a link.",
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
            Derived("added", "(2 + 4*way)*hop", {"way": way, "hop": HOP}, "s"),
        ),
        full=full,
    )


#: Latencies of a hop, in ns: from an ideal network to one that spends more on the way than all else takes.
HOPS_NS = (0, 10, 20, 40, 80, 160)


def hop_latency_case(nodes: int) -> Case:
    """How much startup is left for a given latency of a hop, which the paper does not mention."""
    lg, way = nodes.bit_length() - 1, hop_sum(nodes)
    room_s = limit_s(nodes) - t_iter(nodes, 0.0, 0.0)
    left_s = {hop_ns: (room_s - (2 + 4 * way) * 1e-9 * hop_ns) / (2 * (S + 2 * lg)) for hop_ns in HOPS_NS}

    def measure() -> Said:
        machine = sc.load_machine(MACHINES["torus"], {"nodes": nodes})
        seen = {
            hop_ns: simulated_region(
                question(WORKLOAD, machine, ("ts", "tw"), RATE * nodes / P,
                         {**TRAIN, "network.hop_latency": 1e-9 * hop_ns}), ("hops",), points=2
            ).intercepts[0]
            for hop_ns in HOPS_NS
        }  # fmt: skip
        return Said(simulation=seen)

    whole = {"room": limit_s(P) - t_iter(P, 0.0, 0.0), "way": hop_sum(P)}
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
            Derived("most t_s", "(room - (2 + 4*way)*hop)/(2*(S + 2*lg))",
                    {"room": room_s, "way": way, "hop": HOP, "S": S, "lg": lg}, "s"),
            Derived("nothing is feasible from", "room/(2 + 4*way)", whole, "s", f"{P} nodes, latency of a hop"),
        ),
    )  # fmt: skip


def interface_case(network: str, nodes: int, full: bool) -> Case:
    """With one interface for sends and receives: at least both directions of both exchanges, one after another."""
    expected: dict[Label, float] = {
        name: t_iter(nodes, 0.0, 0.0) + 2 * S * max(ts + N_SHARED * tw, 2 * N_SHARED * tw)
        for name, (ts, tw) in boundary(nodes).items()
    }

    def measure() -> Said:
        ladders = _ladders(network, nodes)
        seen = [float(comparison.simulation.makespan_s) for comparison in ladders.values()]
        return Said(simulation=dict(zip(expected, seen, strict=True)), ladders=ladders)

    tw = boundary(nodes)["bandwidth"][1]
    values = {"S": S, "n": N_SHARED, "t_w": tw, "T_0": t_iter(nodes, 0.0, 0.0)}
    return Case(
        name=f"cg-effects/ladder-{network}-{nodes}",
        claim="One interface that sends or receives needs the time of both directions, at three points of the boundary.",
        source=f"{SOURCE}; what a node sends and receives in an iteration",
        unit="s",
        expected=expected,
        tolerance=Tolerance("a lower bound: waiting comes on top", relative=1e-12, sense="at_least"),
        reading="simulation",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINES[network],
        parameters={"nodes": nodes, "network.hop_latency": HOP, **TRAIN},
        derivation=(Derived("bound by bandwidth", "T_0 + 2*S*2*n*t_w", values, "s"),),
        full=full,
    )


def region_case(network: str, nodes: int, effects: tuple[tuple[str, ...], ...], full: bool) -> Case:
    """The region that is left, which can only be smaller than the published one."""
    names = {chosen: chosen[-1] for chosen in effects}
    published = boundary(nodes)
    most = {"latency": published["latency"][0], "bandwidth": published["bandwidth"][1]}
    expected: dict[Label, float] = {f"{axis}, {name}": most[axis] for name in names.values() for axis in most}

    def measure() -> Said:
        said = forecast_region(asked(network, nodes), points=2)
        seen = {name: simulated_region(asked(network, nodes), chosen, points=3) for chosen, name in names.items()}
        values = {
            f"{axis}, {name}": region.intercepts[place]
            for name, region in seen.items()
            for place, axis in enumerate(("latency", "bandwidth"))
        }
        return Said(simulation=values, notes=_notes(said, seen), plot=_drawn(said, seen))  # type: ignore[arg-type]

    return Case(
        name=f"cg-effects/region-{network}-{nodes}",
        claim="What the published formula leaves out can only shrink its feasible region (intercepts at eta = 1).",
        source=f"{SOURCE}, region of Figure 9, for {nodes} nodes",
        unit="s",
        expected=expected,
        tolerance=Tolerance("accuracy of the boundary", relative=1e-6, sense="at_most"),
        reading="simulation",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINES[network],
        parameters={"nodes": nodes, "network.hop_latency": HOP, **TRAIN},
        derivation=(
            Derived("latency", "room/(2*(S + 2*lg))",
                    {"room": limit_s(nodes) - t_iter(nodes, 0.0, 0.0), "S": S, "lg": nodes.bit_length() - 1.0}, "s"),
        ),
        full=full,
    )  # fmt: skip


def _notes(said: Region, seen: dict[str, Region]) -> tuple[str, ...]:
    """What is left of the region, in words."""
    notes = []
    for name, region in seen.items():
        latency, bandwidth = (got / had for got, had in zip(region.intercepts, said.intercepts, strict=True))
        notes.append(
            f"With {name}: t_s up to {1e9 * region.intercepts[0]:.4g} ns ({latency:.1%} of the forecast), t_w up to "
            f"{1e12 * region.intercepts[1]:.4g} ps per value, {8e-9 / region.intercepts[1]:.4g} GB/s ({bandwidth:.1%}); "
            f"half way between: {1e9 * region.x[1]:.4g} ns and {1e12 * region.y[1]:.4g} ps; {region.runs} simulations."
        )
    return tuple(notes)


def _drawn(said: Region, seen: dict[str, Region]) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        axes.plot(1e9 * said.x, 1e12 * said.y, color="black", label="forecast (published)")
        for marker, (name, region) in zip("osD^", seen.items(), strict=False):
            axes.plot(1e9 * region.x, 1e12 * region.y, marker=marker, label=f"simulated, with {name}")
        axes.set(xlabel="startup t_s in ns", ylabel="time per value t_w in ps", xlim=(0, None), ylim=(0, None))
        axes.legend()

    return draw


STEPS = (("hops",), ("hops", "links"), EFFECTS)

CASES = [
    hops_case(NODES, full=False),
    hops_case(P, full=True),
    hop_latency_case(NODES),
    *(interface_case(network, NODES, full=False) for network in MACHINES),
    *(region_case(network, NODES, STEPS, full=False) for network in MACHINES),
    *(interface_case(network, P, full=True) for network in MACHINES),
    *(region_case(network, P, (EFFECTS,), full=True) for network in MACHINES),
]
