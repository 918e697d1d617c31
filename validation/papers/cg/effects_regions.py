"""What is left of the published feasibility region of conjugate gradients with hops, shared links and shared interfaces.

What can be derived without a simulation is expected exactly or between bounds, as in ``effects``. How much shared links
take on a hypercube or a fat tree has an upper bound only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from simcodesign.studies.feasibility.regions import Region, forecast_region, simulated_region
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from .effects import (
    EFFECTS,
    HALF_DUPLEX,
    HOP,
    LEVELS,
    MACHINES,
    NODES,
    STEPS,
    TRAIN,
    WORKLOAD,
    hop_sum,
    left_for_messages_s,
    network_question,
)
from .iteration import N_SHARED, SOURCE, P, S


@cache
def region(network: str, nodes: int, duplex: str, effects: tuple[str, ...]) -> Region:
    """What is left of the region under these effects; of the whole machine one point between the intercepts."""
    return simulated_region(network_question(network, nodes, duplex), effects, points=9 if nodes <= NODES else 3)


def latency(nodes: int, hops: float, about: str) -> Derived:
    """The most startup, the other cost being zero, when so many hops one after another prolong an iteration."""
    values = {"left": left_for_messages_s(nodes), "hops": hops, "hop": HOP, "S": S, "lg": nodes.bit_length() - 1}
    return Derived("t_s", "(left - hops*hop)/(2*(S + 2*lg))", values, "s", about)


def bandwidth(nodes: int, hops: float, about: str) -> Derived:
    """The most time per value, likewise, while messages share nothing."""
    values = {
        "left": left_for_messages_s(nodes),
        "hops": hops,
        "hop": HOP,
        "S": S,
        "n": N_SHARED,
        "lg": nodes.bit_length() - 1,
    }
    return Derived("t_w", "(left - hops*hop)/(2*(S*n + 2*lg))", values, "s", about)


def shared_interface(nodes: int, hops: float, idle: float, about: str) -> Derived:
    """The most time per value when a half-duplex interface passes S messages out and S in, in both exchanges, and stands
    still for the time of ``idle`` messages in each."""
    values = {
        "left": left_for_messages_s(nodes),
        "hops": hops,
        "hop": HOP,
        "S": S,
        "idle": idle,
        "n": N_SHARED,
        "lg": nodes.bit_length() - 1,
    }
    return Derived("t_w", "(left - hops*hop)/(2*((2*S + idle)*n + 2*lg))", values, "s", about)


def torus_lines(nodes: int, names: tuple[str, ...]) -> dict[str, dict[Label, Derived]]:
    """On the torus hops are known, and all send to one and receive from one at a time: no two messages meet on a link,
    nor at a full-duplex interface."""
    hops = 2 + 4 * hop_sum(nodes)
    exact: dict[Label, Derived] = {f"latency, {name}": latency(nodes, hops, f"with {name}") for name in names}
    exact |= {f"bandwidth, {name}": bandwidth(nodes, hops, f"with {name}") for name in names}
    return {"": exact}


def half_duplex_lines(nodes: int) -> dict[str, dict[Label, Derived]]:
    """On the torus with half-duplex interfaces. At t_w = 0 nobody waits for them.

    All interfaces do the same at the same time. One has messages to pass, out or in, all through both exchanges, but at
    their ends, where the last train that comes in may be on its way.
    """
    tree, all_hops = 4 * hop_sum(nodes), 2 + 4 * hop_sum(nodes)
    name = EFFECTS[-1]
    label = f"bandwidth, {name}"
    return {
        "": {f"latency, {name}": latency(nodes, all_hops, f"with {name}")},
        "at-most": {label: shared_interface(nodes, tree, 0.0, "interfaces never stand still")},
        "at-least": {label: shared_interface(nodes, all_hops, TRAIN["train"], "interfaces wait for one train")},
    }


def other_lines(nodes: int, names: tuple[str, ...], diameter: int) -> dict[str, dict[Label, Derived]]:
    """On another network a message goes over one hop at least and over the diameter at most; two exchanges and four
    ways through the tree follow one another. Links that messages share have no bound from below here."""
    messages = 2.0 + 4 * (nodes.bit_length() - 1)

    def lines(hops: float, about: str, without: tuple[str, ...] = ()) -> dict[Label, Derived]:
        allowed: dict[Label, Derived] = {f"latency, {name}": latency(nodes, hops, about) for name in names}
        return allowed | {f"bandwidth, {name}": bandwidth(nodes, hops, about) for name in names if name not in without}

    return {
        "at-most": lines(messages, "one hop a message"),
        "at-least": lines(messages * diameter, "the diameter for each message", EFFECTS[1:]),
    }


CLAIMS = {
    "": "On the torus the published region loses just the hops: no two messages meet on a link or at a full-duplex "
    "interface (intercepts at eta = 1).",
    "at-most": "What is left of the published region is no more than hops leave, one a message (intercepts at eta = 1).",
    "at-least": "What is left of the published region is no less than the longest routes leave (intercepts at eta = 1).",
    HALF_DUPLEX: "Without time per value half-duplex interfaces take nothing but the hops (intercept at eta = 1).",
    f"{HALF_DUPLEX}-at-most": "What is left of the published region is no more than hops and both directions through one "
    "interface leave (intercept at eta = 1).",
    f"{HALF_DUPLEX}-at-least": "What is left of the published region is no less than the hops and half-duplex interfaces "
    "that wait for one train leave (intercept at eta = 1).",
}


def region_case(
    network: str, nodes: int, duplex: str, bound: str, lines: Mapping[Label, Derived], full: bool, shown: bool
) -> Case:
    """The region that is left. ``bound``: whether that is known exactly or on one side; ``shown``: with notes and plot."""
    suffix = (HALF_DUPLEX if duplex == "half" else "") + (bound and f"-{bound}")
    chosen = tuple(step for step in STEPS if any(str(label).endswith(step[-1]) for label in lines))

    def measure() -> Readings:
        regions = {step[-1]: region(network, nodes, duplex, step) for step in chosen}
        places = {"latency": 0, "bandwidth": 1}
        values = {
            label: regions[name].intercepts[places[axis]] for label in lines for axis, name in [str(label).split(", ")]
        }
        if not shown:
            return Readings(simulation=values)
        forecast = forecast_region(network_question(network, nodes, duplex), points=2)
        return Readings(simulation=values, notes=_notes(forecast, regions), plot=_region_plot(forecast, regions))

    return Case(
        name=f"cg-effects/region-{network}-{nodes}{suffix}",
        claim=CLAIMS[suffix if duplex == "half" else bound],
        source=f"{SOURCE}, region of Figure 9, for {nodes} nodes; what the effects add, added up here",
        unit="s",
        expected={label: line.value for label, line in lines.items()},
        tolerance=Tolerance("accuracy of the boundary", relative=1e-6, sense=bound.replace("-", "_") or "equal"),
        reading="simulation",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINES[network],
        parameters={"nodes": nodes, "network.hop_latency": HOP, **TRAIN},
        derivation=tuple(lines.values()),
        full=full,
    )


def region_cases(network: str, nodes: int, names: tuple[str, ...], full: bool, duplex: str = "full") -> list[Case]:
    """What is known of the region that is left on a network."""
    diameter = {"hypercube": nodes.bit_length() - 1, "fat-tree": 2 * LEVELS[nodes]}
    if duplex == "half":
        known = half_duplex_lines(nodes)
    else:
        known = torus_lines(nodes, names) if network == "torus" else other_lines(nodes, names, diameter[network])
    first = next(iter(known))
    return [region_case(network, nodes, duplex, bound, lines, full, bound == first) for bound, lines in known.items()]


def _notes(forecast: Region, simulated: dict[str, Region]) -> tuple[str, ...]:
    """What is left of the region, in words."""
    notes = []
    for name, region in simulated.items():
        most_ts, most_tw = region.intercepts
        startup, value = (got / had for got, had in zip(region.intercepts, forecast.intercepts, strict=True))
        bend = f" it bends at {1e9 * region.bend[0]:.3g} ns and {1e12 * region.bend[1]:.3g} ps;" if region.bend else ""
        notes.append(
            f"With {name}: t_s up to {1e9 * most_ts:.4g} ns ({startup:.1%} of the forecast), t_w up to "
            f"{1e12 * most_tw:.4g} ps per value, {8e-9 / most_tw:.4g} GB/s ({value:.1%});{bend} {region.runs} simulations."
        )
    return tuple(notes)


def _region_plot(forecast: Region, simulated: dict[str, Region]) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        axes.plot(1e9 * forecast.x, 1e12 * forecast.y, color="black", label="forecast (published)")
        for marker, (name, region) in zip("osD^", simulated.items(), strict=False):
            axes.plot(1e9 * region.x, 1e12 * region.y, marker=marker, label=f"simulated, with {name}")
        axes.set(xlabel="startup t_s in ns", ylabel="time per value t_w in ps", xlim=(0, None), ylim=(0, None))
        axes.legend()

    return draw


CASES = [
    *(case for network in MACHINES for case in region_cases(network, NODES, EFFECTS, full=False)),
    *region_cases("torus", NODES, EFFECTS[-1:], full=False, duplex="half"),
    *(case for network in MACHINES for case in region_cases(network, P, EFFECTS[-1:], full=True)),
    *region_cases("torus", P, EFFECTS[-1:], full=True, duplex="half"),
]
