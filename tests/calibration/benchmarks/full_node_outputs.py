"""Outputs of benchmarks on full nodes, in the formats of IMB, OSU and nccl-tests, made of a model by its formulas.

A round in which k ranks of a node send and receive m bytes takes max(2 (a + m/b), [F > C] k m / R_m) within the node,
and a' + max(m / b', k m / R_N) between nodes: the max-rate model of Gropp, Olson, Samfass (EuroMPI 2016) with both ends
held and the memory of operations that touch F bytes a rank. No machine has printed these numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

US, GB, MIB = 1e-6, 1e9, 2.0**20
#: Ranks of a node, and their share of the last cache.
RANKS, CACHE = 16, 2 * MIB
NEAR_STARTUP, NEAR_BANDWIDTH = 0.4 * US, 8 * GB
FAR_STARTUP, FAR_BANDWIDTH = 1.5 * US, 12 * GB
STREAM_BANDWIDTH, COPIES, LOADED = 100 * GB, 1.4, 7 * GB
MEMORY = STREAM_BANDWIDTH / (2 * COPIES)
SIZES = [0, *(2**power for power in range(23))]
MACHINE = f"""simcodesign: 1
name: made
nodes: 4
processors_per_node: {RANKS}
processor: {{rate: 1 GFLOP/s}}
caches:
  L3: {{size: {RANKS * CACHE / MIB:g} MiB, ways: 16, latency: 20 ns, shared_by: {RANKS}}}
memory: {{latency: 100 ns, bandwidth: 50 GB/s}}
network:
  topology: {{kind: crossbar}}
  startup: 2 us
  bandwidth: 1 GB/s
  interfaces: {{bandwidth: 12.5 GB/s}}
"""
LEVELS = f"{MACHINE}node: {{network: {{topology: {{kind: crossbar}}, startup: 1 us, bandwidth: 1 GB/s}}}}\n"


def near(size: float) -> float:
    """A message alone within a node."""
    return NEAR_STARTUP + size / NEAR_BANDWIDTH


def far(size: float) -> float:
    """A message alone between nodes."""
    return FAR_STARTUP + size / FAR_BANDWIDTH


def round_within(size: float, count: int, footprint: float, ends: float = 2.0) -> float:
    """A round within a node of so many messages."""
    through_memory = count * size / MEMORY if footprint > CACHE else 0.0
    return max(ends * near(size), through_memory) if count else 0.0


def sendrecv(size: float) -> float:
    """All ranks of a node send to the next one and receive from the one before."""
    return round_within(size, RANKS, 2 * size)


def alltoall(size: float, rate: float = LOADED, nodes: int = 2) -> float:
    """Pairwise exchange: in round i each rank sends to the i-th after it, of ``nodes`` nodes in order."""
    ranks, total = nodes * RANKS, 0.0
    for turn in range(1, ranks):
        targets = [(rank, (rank + turn) % ranks) for rank in range(RANKS)]
        inside = sum(target < RANKS for _, target in targets)
        outside = RANKS - inside
        leaves = FAR_STARTUP + max(size / FAR_BANDWIDTH, outside * size / rate) if outside else 0.0
        total += max(leaves, round_within(size, inside, 2 * ranks * size))
    return total


def imb(name: str, ranks: int, seconds: Callable[[float], float], sizes: Sequence[int], waiting: int = 0) -> str:
    """What IMB-MPI1 prints of a benchmark."""
    waits = f"# ( {waiting} additional processes waiting in MPI_Barrier)\n" if waiting else ""
    rule = f"#{'-' * 51}\n"
    one_way = name == "PingPong"
    titles = "t[usec]   Mbytes/sec" if one_way else "t_min[usec]  t_max[usec]  t_avg[usec]"
    head = f"#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n{rule}# Benchmarking {name} \n# #processes = {ranks} \n"
    rows = [f"       #bytes #repetitions      {titles}\n"]
    for size in sizes:
        time = f"{seconds(float(size)) / US:.2f}"
        cells = [time, f"{size / seconds(float(size)) / 1e6:.2f}"] if one_way else [time] * 3
        rows.append(f"{size:13d}{1000:13d}{''.join(f'{cell:>13}' for cell in cells)}\n")
    return f"{head}{waits}{rule}{''.join(rows)}\n\n# All processes entering MPI_Finalize\n"


def osu(title: str, seconds: Callable[[float], float], sizes: Sequence[int], column: str = "Latency (us)") -> str:
    """What a test of the OSU micro-benchmarks prints; of a bandwidth ``seconds`` are bytes per second."""
    unit = 1e6 if "MB/s" in column else US
    rows = [f"{size:<10d}{seconds(float(size)) / unit:>18.2f}\n" for size in sizes]
    return f"\n# OSU MPI {title} v7.4\n# Datatype: MPI_CHAR.\n# Size{column:>18}\n{''.join(rows)}"


STREAM = f"""-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
Array size = 80000000 (elements), Offset = 0 (elements)
Number of Threads requested = {RANKS}
Number of Threads counted = {RANKS}
Function    Best Rate MB/s  Avg time     Min time     Max time
Triad:         {STREAM_BANDWIDTH / 1e6:.1f}     0.019200     0.019200     0.019200
"""


def nccl(
    operation: str,
    ranks: int,
    seconds: Callable[[float], float],
    sizes: Sequence[int],
    nodes: int = 1,
    element: tuple[str, int] = ("float", 4),
) -> str:
    """What nccl-tests print of a collective, with sums if it reduces, at sizes of the larger buffer."""
    each = ranks // nodes
    devices = "".join(
        f"#  Rank {rank:2d} Group  0 Pid {1000 + rank} on node-{rank // each} device {rank % each:2d} [0000:0f:00] X\n"
        for rank in range(ranks)
    )
    blocks = 1 if operation == "all_reduce" else ranks
    redop = "none" if operation == "all_gather" else "sum"
    head = (
        f"# Collective test starting: {operation}_perf\n# nThread 1 nGpus 1 minBytes 1024\n#\n# Using devices\n{devices}"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw"
        " #wrong\n"
    )
    rows = []
    for size in sizes:
        time = f"{seconds(float(size)) / US:.2f}    1.00    1.00      0"
        rows.append(f"{size:12d}{size // element[1] // blocks:14d}{element[0]:>10}{redop:>8}      -1  {time}  {time}\n")
    return head + "".join(rows)
