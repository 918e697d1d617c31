"""Commands to run on a machine so that ``calibrate`` determines the constants of its messages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simcodesign.calibration.benchmarks.levels import NODE
from simcodesign.calibration.benchmarks.nodes.full_node import COPIES, HOLDS_RECEIVER
from simcodesign.calibration.benchmarks.nodes.within_node import TOPOLOGY
from simcodesign.describe.machine import Machine

#: Sendrecv goes up to this power of two, or to four times a rank's share of the last cache.
LEAST_POWER = 22
IMB, OSU = "Intel MPI Benchmarks", "OSU micro-benchmarks"


@dataclass(frozen=True)
class BenchmarkCommand:
    """A ``command`` of a benchmark of the suite ``benchmarks``.

    ``where`` to run it, the constants that it ``determines``, and what its ``file`` does not print (``given``).
    """

    benchmarks: str
    command: str
    where: str
    determines: tuple[str, ...]
    file: str
    given: tuple[str, ...]


def what_to_measure(machine: Machine) -> tuple[BenchmarkCommand, ...]:
    """Return the commands for full nodes of the machine, with each suite, and those for its network and memory.

    >>> from simcodesign.describe.machine import Machine
    >>> [one.command.split()[4] for one in what_to_measure(Machine.load("torus-cluster"))[:3]]
    ['PingPong', '-npmin', '-npmin']
    """
    each = machine.processors_per_node
    power = _largest_power(machine)
    inside, loaded = (f"{NODE}.startup", f"{NODE}.bandwidth"), ("network.interfaces.loaded_bandwidth",)
    held = (HOLDS_RECEIVER, COPIES)
    one, full, two = "two ranks of one node", f"one full node, {each} ranks", f"two full nodes, {2 * each} ranks"
    whole, both = ("nodes=1", f"ranks_per_node={each}"), ("nodes=2", f"ranks_per_node={each}")
    pairs = f"mpirun -np {2 * each} -ppn {each}"
    within = (
        (IMB, "mpirun -np 2 IMB-MPI1 PingPong", one, inside, "pingpong.txt", ("nodes=1",)),
        (IMB, f"mpirun -np {each} IMB-MPI1 -npmin {each} -msglog {power} Sendrecv", full, held, "sendrecv.txt", whole),
        (IMB, f"{pairs} IMB-MPI1 -npmin {2 * each} -msglog 16:20 Alltoall", two, loaded, "alltoall.txt", both),
        (OSU, "mpirun -np 2 osu_latency", one, inside, "latency.txt", ("nodes=1",)),
        (OSU, f"mpirun -np {each} osu_multi_lat -m :{2**power}", full, (COPIES,), "multi_lat.txt", whole),
        (OSU, f"{pairs} osu_alltoall -m 65536:1048576", two, loaded, "alltoall.txt", both),
        (OSU, "mpirun -np 2 osu_bw", one, (HOLDS_RECEIVER,), "bw.txt", ("nodes=1",)),
        (OSU, "mpirun -np 2 osu_bibw", one, (HOLDS_RECEIVER,), "bibw.txt", ("nodes=1",)),
    )
    network = ("network.startup", "network.bandwidth")
    apart = ("IMB-MPI1 PingPong", "osu_latency")
    between = [
        (suite, f"mpirun -np 2 -ppn 1 {name}", "two ranks of two nodes", network, "far.txt", ("nodes=2",))
        for suite, name in zip((IMB, OSU), apart, strict=True)
    ]
    stream = [(suite, "stream", "one node, all cores", ("memory.bandwidth",), "stream.txt", ()) for suite in (IMB, OSU)]
    of_nodes = within if each > 1 else ()
    every = [BenchmarkCommand(*one) for one in (*of_nodes, *between, *(stream if each > 1 else ()))]
    return tuple(sorted(every, key=lambda command: (IMB, OSU).index(command.benchmarks)))


def _largest_power(machine: Machine) -> int:
    caches = () if machine.memory is None else machine.memory.caches
    share = caches[-1].size_bytes / caches[-1].shared_by if caches else 1.0
    if machine.node_memory is not None:
        share = float(machine.message_cache_bytes)
    return max(LEAST_POWER, math.ceil(math.log2(4 * share)))


def command_lines(name: str, machine: Machine, commands: Sequence[BenchmarkCommand]) -> Iterator[str]:
    """Yield the lines that a terminal shows: the commands of each suite, and the calibration of what they print."""
    each = machine.processors_per_node
    yield f"{machine.name}: what to measure on nodes of {each} rank{'s' if each > 1 else ''}, filled node after node"
    for suite in (IMB, OSU):
        some = [one for one in commands if one.benchmarks == suite]
        yield ""
        yield f"{suite}:"
        texts = [f"{one.command} > {one.file}" for one in some]
        width = max(map(len, texts))
        for one, text in zip(some, texts, strict=True):
            yield f"  {text:{width}}  # {one.where}: {', '.join(one.determines)}"
        given = " ".join(f"--given {one.file}:{item}" for one in some for item in one.given)
        files = " ".join(one.file for one in some)
        yield f"  simcodesign calibrate {name} {files} {given} --write mine.yaml"
    yield ""
    yield "Skip commands for constants that the machine file states already."
    if each > 1:
        yield "PingPong of a run on full nodes is between two ranks of the first node: it does not measure the network."
    if each > 1 and not machine.has_levels:
        yield f"The file gets node: {{network: {{topology: {{kind: {TOPOLOGY}}}}}}}, because the machine states none."
