"""Random programs with loops, on random machines. With ``exact`` times, all durations are whole numbers of 2^-30 s, so
that sums of them are exact in floating point; else they are decimal fractions, and sums are rounded."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.network.interfaces import DUPLEXES, Interfaces
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from tests.builders import machine, network_of, workload

TOPOLOGIES = ("bus", "mesh", "torus", "tree", "crossbar")
EFFECTS = (
    ("links",),
    ("links", "interfaces", "disks"),
    ("links", "interfaces", "disks", "imbalance"),
    ("links", "disks"),
    ("interfaces",),
    ("disks",),
    ("hops",),
    (),
)
SIZES_BYTES = (0, 8, 64, 128, 512, 2048)
WHO = ("rank == 0", "rank > 0", "rank % 2 == 0", "rank == P - 1", "rank < 2", "rank == 1")


@dataclass
class RandomLoops:
    """Programs and machines from one source of random numbers."""

    chance: random.Random
    exact: bool
    tag: int = field(default=0, init=False)
    from_anyone: bool = field(default=False, init=False)  # a receive of the last program

    def time_s(self, *seconds: float) -> float:
        """One of these times; if it need not be exact, one near it."""
        time_s = self.chance.choice(seconds)
        return time_s if self.exact else round(time_s * self.chance.choice((0.7, 0.9, 1.1, 1.3)), 6)

    def program(self) -> str:
        """Computations, perhaps a message from before the loops that is received after them, and loops."""
        chance, steps, late = self.chance, [], []
        if chance.random() < 0.25:
            sender, receiver = chance.choice((("0", "1"), ("1", "0"), ("0", "P - 1")))
            size_bytes, work_s = chance.choice((64, 4096, 2**15)), chance.choice((0, 64, 1024))
            steps.append(f"- send: {{to: {receiver}, bytes: {size_bytes}, when: rank == {sender}}}")
            late.append(f"- compute: {{seconds: {work_s}}}")
            late.append(f"- receive: {{from: {sender}, when: rank == {receiver}}}")
        if chance.random() < 0.4:
            steps.append(f"- compute: {{seconds: {self.time_s(1, 7, 20, 100)}, when: {chance.choice(WHO)}}}")
        for _ in range(chance.randint(1, 3)):
            body = [line for _ in range(chance.randint(1, 4)) for line in self.step()]
            inside = "\n".join(f"  {line}" for line in body)
            repeat, phase = chance.choice((40, 60, 100, 150)), chance.choice("ab")
            steps += [f"- repeat: {repeat}\n  phase: {phase}\n  do:\n{inside}"] if chance.random() < 0.75 else body
        if chance.random() < 0.3:
            late.append(f"- compute: {{seconds: {self.time_s(1, 100, 1000)}, when: {chance.choice(WHO)}}}")
        text = "\n".join([*steps, *late])
        self.from_anyone = "anyone" in text
        return text

    def step(self) -> list[str]:
        """What ranks do together."""
        self.tag += 1
        return self.chance.choice(list(self.steps(self.chance.choice(SIZES_BYTES), self.chance.choice(WHO))))

    def steps(self, size_bytes: int, who: str) -> Iterator[list[str]]:
        """One of each kind. Messages of a step have a tag of their own, so that steps are independent."""
        message, receive = f"bytes: {size_bytes}, tag: {self.tag}", f"tag: {self.tag}"
        yield [f"- compute: {{seconds: {self.time_s(0.5)}*(1 + rank % 3)}}"]
        yield [f"- compute: {{seconds: {self.time_s(0.25, 1, 3, 10)}, when: {who}}}"]
        yield [f"- compute: {{seconds: {self.time_s(2**-6, 2**-4, 0.5, 2)}}}"]
        yield [f"- compute: {{seconds: {self.time_s(2**-8, 2**-3, 1.5)}*rank}}"]
        yield [f"- read: {{bytes: {size_bytes}, times: 2}}"]
        yield [f"- write: {{bytes: {size_bytes}, when: {who}}}"]
        for collective in ("allreduce", "broadcast", "all_to_all", "allgather"):
            yield [f"- {collective}: {{bytes: {size_bytes}}}"]
        yield ["- barrier: {}"]
        yield [f"- exchange: {{pattern: halo2d, bytes: {size_bytes}, periodic: {str(self.tag % 2 == 0).lower()}}}"]
        ring = f"- send: {{to: (rank + 1) % P, {message}}}", f"- receive: {{from: (rank - 1) % P, {receive}}}"
        chain = f"- send: {{to: rank + 1, {message}, when: rank < P - 1}}"
        end = f"- receive: {{from: rank - 1, {receive}, when: rank > 0}}"
        yield from ([*ring], [chain, end], [end, chain])
        anyone = f"- {{repeat: P - 1, do: [{{receive: {{from: anyone, {receive}, when: rank == 0}}}}]}}"
        yield [f"- send: {{to: 0, {message}, when: rank > 0}}", anyone]

    def machine(self) -> Machine:
        """Of 2 to 5 nodes with 1 or 2 processors each."""
        chance = self.chance
        topology = build_topology(chance.choice(TOPOLOGIES), chance.randint(2, 5))
        per_byte_s = self.time_s(2**-10, 2**-8, 2**-12, 2**-10 + 2**-16)
        link_per_byte_s, interface_per_byte_s = (per_byte_s * chance.choice((1, 0.5, 0.75)) for _ in range(2))
        common = {
            "link_per_byte_s": link_per_byte_s,
            "interfaces": Interfaces(chance.choice((1, 1, 1, 2)), chance.choice(DUPLEXES), interface_per_byte_s),
            "per_byte_s": per_byte_s,
            "switching": chance.choice(("cut_through", "store_and_forward")),
            "hop_latency_s": self.time_s(0, 2**-8, 2, 30),
        }
        own = {"startup_s": self.time_s(0, 2**-9, 2**-6), "receive_overhead_s": self.time_s(0, 2**-7)}
        held: dict[str, object] = {"sends": "blocking"}
        limit = chance.choice((None, None, 100.0))  # of named senders only
        own |= {"rendezvous_above_bytes": None if self.from_anyone else limit}
        own |= chance.choice(({"sends": "nonblocking"}, held, held, held | {"hops_hold_sender": False}))
        if chance.random() < 0.15:  # the iterations of LogGOPS are all simulated
            own = {"model": "loggop", "latency_s": self.time_s(2**-6, 2, 20), "overhead_s": self.time_s(0, 2**-7)}
            own |= {"gap_s": self.time_s(0, 2**-5, 0.75), "rendezvous_above_bytes": chance.choice((None, 0.0, 100.0))}
        disk = Disk(2**-4, self.time_s(2**-3), 2**-10, shared_by=chance.randint(1, 3), spindles=chance.randint(1, 2))
        return machine(network_of(topology, **common, **own), 8.0, disk, processors_per_node=chance.randint(1, 2))


def random_loops(seed: int, exact: bool) -> tuple[Workload, Machine, tuple[str, ...]]:
    """A program, a machine and effects."""
    source = RandomLoops(random.Random(f"{seed} {exact}"), exact)
    return workload(source.program()), source.machine(), source.chance.choice(EFFECTS)
