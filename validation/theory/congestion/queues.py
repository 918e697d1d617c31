"""Queues of known length: messages that meet on no link, or all at one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import simcodesign as sc
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.network.interfaces import Interfaces
from simcodesign.describe.topology.build import build_topology
from simcodesign.studies.validation.case import Case, Derived, Label, Readings

from ..machines import ROUNDING, TH, TL, TS, TW, M, furthest, grid, hockney, permutation, program
from .all_to_all import DALLY


def _free_case(switching: str) -> Case:
    """Neighbours on a ring: nobody waits."""
    sizes = (4, 5, 16, 32)
    works = {
        "one": permutation("(rank + 1) % P", "(rank + P - 1) % P"),
        "other": permutation("(rank + P - 1) % P", "(rank + 1) % P"),
    }
    both = program(*works["one"].program, *works["other"].program)
    line = Derived(
        "T", "2*(ts + th + m*tw)", {"ts": TS, "th": TH, "m": M, "tw": TW}, "s", "a shift up, then a shift down"
    )

    def measure() -> Readings:
        simulated: dict[Label, float] = {}
        for k in sizes:
            machine = hockney(grid("torus", k), switching=switching)
            one = (2 * _time(work, machine) for work in works.values())  # twice one shift is two
            simulated[k] = furthest((*one, _time(both, machine)), line.value)
        return Readings(simulation=simulated)

    name = switching.replace("_", "-")
    return Case(
        name=f"congestion/free/ring-{name}",
        claim=f"Shifts by one on a ring, up or down or one after the other, meet on no link ({name}): each takes "
        "ts + th + m tw.",
        source=f"{DALLY}, neighbour traffic; one message a link",
        unit="s",
        expected=dict.fromkeys(sizes, line.value),
        tolerance=ROUNDING,
        reading="simulation",
        measure=measure,
        axis="nodes",
        derivation=(line,),
        quick=True,
    )


def _time(work: sc.Workload, machine: sc.Machine, effects: str = "links") -> float:
    return float(sc.simulate(work, machine, {"P": machine.nodes}, effects=effects).makespan_s)


def _queue_case(
    name: str, claim: str, formula: str, source: str, sizes: Sequence[int], time_s: Callable[[int], float]
) -> Case:
    symbols = {"ts": TS, "th": TH, "m": M, "tw": TW, "tl": TL}
    lines = {P: Derived("T", formula, symbols | {"P": P}, "s", f"{P} nodes") for P in sizes}
    return Case(
        name=f"congestion/queue/{name}",
        claim=claim,
        source=source,
        unit="s",
        expected={P: line.value for P, line in lines.items()},
        tolerance=ROUNDING,
        reading="simulation",
        measure=lambda: Readings(simulation={P: time_s(P) for P in sizes}),
        axis="nodes",
        derivation=(lines[sizes[-1]],),
        quick=True,
    )


def _on_bus(ranks: int) -> float:
    return _time(permutation("(rank + 1) % P", "(rank + P - 1) % P"), hockney(build_topology("bus", ranks)))


#: Interfaces of a node that has several.
SEVERAL = 4


def _swap(duplex: str, ranks: int) -> float:
    """All send to their neighbour to the right and receive from the left, over links of their own."""
    machine = hockney(build_topology("crossbar", ranks), interfaces=Interfaces(duplex=duplex))
    return _time(permutation("(rank + 1) % P", "(rank + P - 1) % P"), machine, "links, interfaces")


def _incast(interfaces: int, ranks: int) -> float:
    """All send to rank 0 at once, whose interfaces eject one message after another each."""
    machine = hockney(build_topology("crossbar", ranks), interfaces=Interfaces(interfaces))
    sends = Send(parse("rank > 0"), Place(), parse(0), parse(M))
    receives = [Receive(parse("rank == 0"), Place(), parse(source), parse(M)) for source in range(1, ranks)]
    return _time(program(sends, *receives), machine, "links, interfaces")


QUEUES = [
    _queue_case(
        "bus",
        "When every node sends one message over a bus, they pass one after another, from the startup on: the last "
        "of them arrives at ts + P m tl + th, but none before ts + m tw + th.",
        "ts + max(tw, P*tl)*m + th",
        "A single server and P simultaneous requests: the last has waited for P - 1 services",
        (2, 3, 4, 8, 33, 64),
        _on_bus,
    ),
    _queue_case(
        "incast",
        "When all send to node 0 over a crossbar, its network interface ejects one after another: "
        "ts + th + (P - 1) m tw.",
        "ts + th + (P - 1)*m*tw",
        "A single server and P - 1 simultaneous requests (one port: Chan et al., CCPE 19 (2007))",
        (2, 3, 4, 8, 33, 64),
        partial(_incast, 1),
    ),
    _queue_case(
        "incast-several-interfaces",
        f"Of {SEVERAL} interfaces, which the messages take in turn, each ejects a {SEVERAL}th of them, rounded up: "
        f"ts + th + ceil((P - 1)/{SEVERAL}) m tw.",
        f"ts + th + ceil((P - 1)/{SEVERAL})*m*tw",
        f"{SEVERAL} servers and P - 1 simultaneous requests, dealt out in turn",
        (2, 3, 5, 6, 33, 64),
        partial(_incast, SEVERAL),
    ),
    _queue_case(
        "exchange-full-duplex",
        "When every node sends one message and receives another through a full-duplex interface, nobody waits: "
        "ts + th + m tw.",
        "ts + th + m*tw",
        "Two servers at a node, one request each (Grama et al., section 2.5.1: a message on an idle network)",
        (2, 3, 64),
        partial(_swap, "full"),
    ),
    _queue_case(
        "exchange-half-duplex",
        "Through a half-duplex interface it ejects the one when it has injected the other: ts + m tw + max(th, m tw).",
        "ts + m*tw + max(th, m*tw)",
        "A single server at a node and two requests, the second of which comes th later",
        (2, 3, 64),
        partial(_swap, "half"),
    ),
]


CASES: list[Case] = [_free_case("cut_through"), _free_case("store_and_forward"), *QUEUES]
