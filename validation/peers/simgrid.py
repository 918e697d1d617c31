"""SimGrid (Casanova, Giersch, Legrand, Quinson, Suter, JPDC 74, 2014) beside ours: messages that begin at once and share
links.

``simgrid.csv`` has the times at which the last of them has come. A star has a link up and a link down for every host, our
interfaces; routes on a torus with odd extents have no choice. All links have 1 GB/s in each direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import simcodesign as sc
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from .record import machine, table, workload

#: Source, target, bytes.
Messages = tuple[tuple[int, int, int], ...]
#: The flow model with nothing but links: no factors for TCP, no acknowledgements, shares of all flows computed again.
PLAIN = {
    "network/model": "CM02",
    "cpu/model": "Cas01",
    "network/weight-S": "0",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "0",
    "network/optim": "Full",
}
#: What SimGrid is told, by the name of the table. Its own defaults are those of LV08.
SETTINGS: dict[str, dict[str, str]] = {
    "plain": PLAIN,
    "lazy": {name: value for name, value in PLAIN.items() if name != "network/optim"},
    "TCP window": {name: value for name, value in PLAIN.items() if name != "network/TCP-gamma"},
    "cross traffic": PLAIN | {"network/crosstraffic": "1"},
    "default": {},
}
SAME = Tolerance("SimGrid prints nanoseconds, and ends a flow when less than 1e-5 bytes of it are left", relative=1e-6)


@dataclass(frozen=True)
class Flows:
    """Messages on a torus of this ``shape``, or on a star of ``hosts``; the latency of a link in seconds."""

    messages: Messages
    shape: tuple[int, ...] = ()
    hosts: int = 0
    latency_s: float = 1e-6

    @property
    def nodes(self) -> int:
        """How many there are."""
        return self.hosts or math.prod(self.shape)

    @property
    def extents(self) -> str:
        """For SimGrid: the dimensions and their extents, or no dimensions and the hosts of the star."""
        return f"0 {self.hosts}" if self.hosts else f"{len(self.shape)} {' '.join(map(str, self.shape))}"


def _shift(nodes: int, factor: int, step: int, smallest: int = 1_000_000, more: int = 0) -> Messages:
    """From every node to the one ``factor`` times its number and ``step`` on; later ones send ``more`` each."""
    to = [(factor * node + step) % nodes for node in range(nodes)]
    return tuple((node, target, smallest + more * node) for node, target in enumerate(to) if node != target)


def _all(nodes: int, size: int) -> Messages:
    return tuple((one, other, size) for one in range(nodes) for other in range(nodes) if one != other)


FLOWS = {
    "star, one message": Flows(((0, 1, 1_000_000),), hosts=2, latency_s=5e-7),
    "star, both ways": Flows(((0, 1, 1_000_000), (1, 0, 1_000_000)), hosts=2, latency_s=5e-7),
    "star, three messages": Flows(((0, 1, 1_000_000), (0, 2, 2_000_000), (1, 2, 1_000_000)), hosts=3, latency_s=5e-7),
    "star, seven into one": Flows(tuple((n, 0, 100_000 * n) for n in range(1, 8)), hosts=8, latency_s=5e-7),
    "star, all to all": Flows(_all(8, 100_000), hosts=8, latency_s=5e-7),
    "star, far away": Flows(((0, 1, 10_000_000),), hosts=2, latency_s=5e-3),
    "ring of 5, two into one": Flows(((0, 2, 3000), (1, 2, 3000)), (5,)),
    "ring of 9, all to all": Flows(_all(9, 100_000), (9,)),
    "ring of 9, two permutations": Flows((*_shift(9, 2, 3, 100_000, 30_000), *_shift(9, 3, 5, 100_000, 30_000)), (9,)),
    "torus of 3 x 3, all to all": Flows(_all(9, 100_000), (3, 3)),
    "torus of 5 x 5, permutation": Flows(_shift(25, 7, 3), (5, 5)),
    "torus of 5 x 5, sizes differ": Flows(_shift(25, 8, 1, 100_000, 70_000), (5, 5)),
    "torus of 5 x 5, two permutations": Flows((*_shift(25, 8, 1, 100_000), *_shift(25, 9, 3, 100_000)), (5, 5)),
    "torus of 7 x 7, two permutations": Flows((*_shift(49, 2, 2, 100_000), *_shift(49, 3, 4, 100_000)), (7, 7)),
    "torus of 3 x 3 x 3, permutation": Flows(_shift(27, 4, 2), (3, 3, 3)),
    "torus of 3 x 3 x 3, sizes differ": Flows(_shift(27, 10, 1, 50_000, 90_000), (3, 3, 3)),
}


def simulated_us(name: str, sharing: str = "", latency: float = 1.0, bandwidth: float = 1.0) -> float:
    """What ours says: all messages set out at time 0. ``sharing`` takes the place of the one that is like SimGrid's;
    latency and bandwidth are factors of those of a link."""
    flows = FLOWS[name]
    if flows.hosts:  # every route has two links, and so the same latency: all shares are equal
        topology, hops, sharing, effects = "crossbar", 2, sharing or "max_min", "hops,interfaces"
    else:
        topology, hops, effects = f"torus, shape: [{', '.join(map(str, flows.shape))}]", 1, "hops,links"
        sharing = sharing or "{max_min: by_latency}"
    on = machine(
        flows.nodes,
        f"sends: nonblocking, startup: 0 s, bandwidth: {bandwidth} GB/s, hop_latency: {1e9 * latency * hops * flows.latency_s} ns, "
        f"sharing: {sharing}, topology: {{kind: {topology}}}",
    )
    sends = [
        f"- send: {{to: {target}, bytes: {size}, tag: {tag}, when: rank == {source}}}"
        for tag, (source, target, size) in enumerate(flows.messages)
    ]
    receives = [
        f"- receive: {{from: {source}, tag: {tag}, when: rank == {target}}}"
        for tag, (source, target, _) in enumerate(flows.messages)
    ]
    run = sc.simulate(workload("\n".join(sends + receives)), on, {"P": flows.nodes}, effects=effects)
    return float(run.makespan_s) * 1e6


def recorded_us(flows: str, settings: str = "plain") -> float:
    """What SimGrid said."""
    frame = table("simgrid")
    return float(frame[(frame.flows == flows) & (frame.settings == settings)].theirs.iloc[0])


def _case(kind: str, claim: str) -> Case:
    names = [name for name in FLOWS if name.startswith(kind)]
    return Case(
        printed=True,
        name=f"peers/simgrid/{kind.replace(' ', '-')}",
        claim=claim,
        source="SimGrid 3.32 (Casanova et al., JPDC 74(10), 2014), model CM02",
        unit="us",
        expected={name: recorded_us(name) for name in names},
        tolerance=SAME,
        reading="simulation",
        measure=lambda: Readings(simulation={name: simulated_us(name) for name in names}),
        quick=True,
    )


CASES: list[Case] = [
    _case("star", "On a star, SimGrid's flows share the links of hosts as ours share interfaces."),
    _case("ring", "On a ring, SimGrid's flows share links in proportion to 1 / latency, as with fair: by_latency."),
    _case("torus", "On tori, SimGrid's flows share links in proportion to 1 / latency, as with fair: by_latency."),
]
