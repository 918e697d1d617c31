"""The memory side of nodes: caches that processors share, controllers of sockets, and prefetch.

- *Shared caches.* An LRU cache that k equal streams of lines of their own go through in turn serves each as one of a k-th
  of its lines, rounded down, would: held against dictionaries that keep the order of use of the interleaved streams.
- *Layer condition.* Threads that share a cache share the room for their rows: Stengel, Treibig, Hager, Wellein, ICS 2015,
  give the lines of a sweep with and without it, 3 and 5; each of k threads needs its own three rows in half the cache.
- *Sockets.* Streams that fill the memory get what the most loaded of controllers and links between sockets lets through.
- *Prefetch.* With d lines under way, one comes every latency / d (Little's law), until the memory is busy all the time, as
  the ECM model takes it to be; a table with fewer entries than streams recognises none of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import simcodesign as sc
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.machine_parts.memory import CacheLevel, Memory, Prefetcher
from simcodesign.describe.workload import Workload
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from ..later import Later

WORKLOAD, MACHINE = "stencil", "sandy-bridge"
ECM = (
    "H. Stengel, J. Treibig, G. Hager, G. Wellein, Quantifying performance bottlenecks of stencil computations using the "
    "Execution-Cache-Memory model, ICS 2015 (arXiv:1410.5010)"
)
STACKS = (
    "R. Mattson, J. Gecsei, D. Slutz, I. Traiger, Evaluation techniques for storage hierarchies, IBM Systems J. 9, 1970"
)
LITTLE = "J. Little, A proof for the queuing formula L = lambda W, Operations Research 9, 1961"
LINE, ELEMENT, PAGE = 64, 8, 4096
CLOCK_HZ = 2.7e9
CORES = (1, 2, 4, 8)
#: Of the shared cache: lines, and of the stencil: points of a row, rows and sweeps.
CACHE_LINES = (60, 200, 201, 400, 900)
N, ROWS, SWEEPS = 50, 24, 2
SHARERS = (1, 2, 3)
#: Bytes of the cache of the layer condition, far more than the private ones before it.
SHARED_BYTES = 2 * 2**20
#: Of the machine that fetches ahead: latency, seconds per byte, and what lines come.
LATENCY_S, BYTE_S = 80e-9, 1 / 40e9
DEPTHS = (1, 2, 5, 10, 20, 40, 100)
VECTOR = 2**16
TRIAD_LINES = 3 * VECTOR * ELEMENT / LINE
#: Of the node with two sockets: seconds per byte of each controller and of what lies between, and lines of a rank.
LINK_S = 1 / 20e9
SHARES = (0.0, 0.25, 0.5, 1.0)


def with_one_cache(cache: CacheLevel, **of_memory: Any) -> sc.Machine:
    """The processors with one cache before a memory that they need not share."""
    machine = sc.Machine.load(MACHINE)
    memory = {"latency_s": LATENCY_S, "per_byte_s": BYTE_S, "line_bytes": LINE} | of_memory
    return replace(machine, memory=Memory(caches=(cache,), **memory))


# --- Shared caches --------------------------------------------------------------------------------------------


def stencil_lines() -> Iterator[int]:
    """The lines that sweeps over the grid touch, as the loops are written: north, west, east, south, and the store."""
    row = N * ELEMENT
    first = (0, -(-ROWS * row // PAGE) * PAGE)
    for sweep in range(SWEEPS):
        source, target = first[sweep % 2], first[(sweep + 1) % 2]
        for j in range(1, ROWS - 1):
            for i in range(1, N - 1):
                for dj, di in ((-1, 0), (0, -1), (0, 1), (1, 0)):
                    yield (source + (j + dj) * row + (i + di) * ELEMENT) // LINE
                yield (target + j * row + i * ELEMENT) // LINE


@cache
def misses(sharers: int, lines: int) -> int:
    """Of one of so many equal streams that go through one least recently used list in turn."""
    recent: OrderedDict[tuple[int, int], None] = OrderedDict()
    count = 0
    for line in stencil_lines():
        for stream in range(sharers):
            key = stream, line
            count += stream == 0 and key not in recent
            recent[key] = None
            recent.move_to_end(key)
            if len(recent) > lines:
                recent.popitem(last=False)
    return count


def from_memory(reading: str, sharers: int, lines: int) -> float:
    """Accesses of a rank that no cache serves, where a cache of so many lines is all there is."""
    machine = with_one_cache(CacheLevel("shared", lines * LINE, 1e-9, shared_by=8))
    given = {"P": sharers, "n": N, "rows": ROWS, "sweeps": SWEEPS}
    if reading == "forecast":
        return float(sc.forecast(WORKLOAD, machine, given).served["memory"]) / sharers
    return float(sc.simulate(WORKLOAD, machine, given, effects="caches").served["memory"]) / sharers


def of_shares(what: Callable[[int, int], float]) -> Later:
    """By the label of every case."""
    pairs = [(sharers, lines) for sharers in SHARERS for lines in CACHE_LINES]
    return Later({f"{sharers} ranks, {lines} lines": partial(what, sharers, lines) for sharers, lines in pairs})


# --- Layer condition ------------------------------------------------------------------------------------------


def layer_grids(cores: int) -> dict[str, int]:
    """Points of a row for which three rows of every core fit in half the cache, and for which not even those of one row
    and its neighbours fit in all of it."""
    return {"met": SHARED_BYTES // (2 * 3 * ELEMENT * cores), "not met": 2 * SHARED_BYTES // (3 * ELEMENT * cores)}


def memory_cycles(reading: str, cores: int, points: int) -> float:
    """Cycles of the transfers between the shared cache and memory for a line of updates more, of a core that waits for
    no other."""
    machine = sc.Machine.load(MACHINE, changes={"caches.L3.size": f"{SHARED_BYTES} B", "caches.L3.shared_by": 8})
    free = {f"caches.L{level}.per_byte": 0.0 for level in (1, 2, 3)} | {"processor.rate": 1e60}
    times = []
    for rows in (12, 22):
        given = {"P": cores, "n": points, "rows": rows, **free}
        result = (
            sc.forecast(WORKLOAD, machine, given)
            if reading == "forecast"
            else sc.simulate(WORKLOAD, machine, given, effects="caches")
        )
        times.append((float(result.makespan_s), float(result.values["lines"])))
    (less_s, less), (more_s, more) = times
    return (more_s - less_s) * CLOCK_HZ / (more - less)


def of_layers(reading: str) -> Later:
    return Later(
        {
            f"{cores} cores, {name}": partial(memory_cycles, reading, cores, points)
            for cores in CORES
            for name, points in layer_grids(cores).items()
        }
    )


# --- Sockets --------------------------------------------------------------------------------------------------

SOCKETS = {
    "memory.controllers": 2,
    "memory.remote": {"latency": "80 ns", "bandwidth": "20 GB/s"},
    "memory.transfers": "overlap",
    "processors_per_node": 16,
    "nodes": 1,
}


def node_s(ranks: int, remote: float) -> float:
    """Seconds of streams on a node of two sockets, its ranks filling the first one first: those of the most loaded
    controller, or of the most loaded way between sockets, or of a rank's own lines, one after another."""
    rank_bytes = 1e6 * LINE
    first, second = min(ranks, 8), max(ranks - 8, 0)
    at_controllers = [first * (1 - remote) + second * remote, second * (1 - remote) + first * remote]
    between = max(first, second) * remote
    return rank_bytes * max(max(1.0, *at_controllers) * BYTE_S, between * LINK_S)


def simulated_node_s(ranks: int, remote: float) -> float:
    """The same of a simulation in which they queue for each other: 10^6 lines of every rank, all from memory."""
    far = ((parse(1), parse(1e12)),)
    lines = MemoryAccesses(None, Place(), distances=far, accesses=parse(1e6), blocking=parse(0), remote=parse(remote))
    machine = sc.Machine.load(MACHINE, changes=SOCKETS)
    return float(sc.simulate(Workload("lines", {}, {}, (lines,)), machine, {"P": ranks}, effects="memory").makespan_s)


# --- Prefetch -------------------------------------------------------------------------------------------------


def triad_s(with_stores: bool, depth: int, streams: int) -> float:
    """Seconds of a triad whose accesses wait for nothing but memory: the first line of each vector, and all others as
    far as they are not fetched ahead; or those of all bytes. ``with_stores``: the lines of one vector go back, except for
    those that are left in the cache: three of the last eight lines in each of its 64 sets."""
    ahead = TRIAD_LINES - 3 if streams >= 3 else 0.0
    moved = TRIAD_LINES * 4 / 3 - 3 * 64 if with_stores else TRIAD_LINES
    return max((TRIAD_LINES - ahead + ahead / depth) * LATENCY_S, moved * LINE * BYTE_S)


def measured_triad_s(reading: str, depth: int, streams: int) -> float:
    """The same by a reading; the simulation follows the stream of accesses."""
    triad = MemoryAccesses(None, Place(), kernel="triad", sizes=(("n", parse(VECTOR)),))
    machine = with_one_cache(CacheLevel("L1", 32 * 2**10, 0.0, 8), prefetch=Prefetcher(streams, depth))
    workload = Workload("triad", {}, {}, (triad,))
    if reading == "forecast":
        return float(sc.forecast(workload, machine, {"P": 1}).makespan_s)
    return float(sc.simulate(workload, machine, {"P": 1}, effects="caches").makespan_s)


def stencil_ratio(reading: str, streams: int) -> float:
    """Seconds of the stencil with prefetch of so many streams over those without, both waiting for memory alone: a grid
    of which three rows fit in the caches."""
    times = []
    for prefetch in (None, Prefetcher(streams, 20)):
        machine = with_one_cache(CacheLevel("L1", 64 * 2**10, 0.0, 8), per_byte_s=0.0, prefetch=prefetch)
        given = {"P": 1, "n": 1002, "rows": 402, "blocking": 1, "processor.rate": 1e18}
        times.append(
            sc.forecast(WORKLOAD, machine, given).makespan_s
            if reading == "forecast"
            else sc.simulate(WORKLOAD, machine, given, effects="caches").makespan_s
        )
    return float(times[1]) / float(times[0])


def of_depths(what: Callable[[int, int], float]) -> Later:
    """By depth, with enough streams; and for a depth of 20 with too few."""
    pairs = [(depth, 32) for depth in DEPTHS] + [(20, streams) for streams in (1, 2, 3)]
    return Later({f"{depth} lines, {streams} streams": partial(what, depth, streams) for depth, streams in pairs})


CASES = [
    *(
        Case(
            name=f"node-memory/shared-cache-{reading}",
            claim="Equal streams that go through a cache in turn miss as each alone in its share of the lines.",
            source=f"{STACKS}; interleaved LRU lists in Python",
            unit="accesses",
            expected=of_shares(lambda sharers, lines: float(misses(sharers, lines))),
            tolerance=Tolerance("counts are whole numbers"),
            reading=reading,
            measure=partial(lambda reading: Readings(**{reading: of_shares(partial(from_memory, reading))}), reading),
            workload=WORKLOAD,
            machine=MACHINE,
            axis="ranks, and lines of the cache that they share",
            quick=True,
        )
        for reading in ("forecast", "simulation")
    ),
    Case(
        name="node-memory/layer-condition",
        claim="Cores that share a cache each need their three rows in it: 13 cycles from memory for the update of a line "
        "where these fit in half of the cache together, 22 where they do not.",
        source=f"{ECM}, 2-D Jacobi: T_L3Mem, and the layer condition with the cache divided by its cores",
        unit="cycles",
        expected={
            f"{cores} cores, {name}": value for cores in CORES for name, value in (("met", 13.0), ("not met", 22.0))
        },
        tolerance=Tolerance("published as whole cycles", absolute=0.5),
        reading="both",
        measure=lambda: Readings(forecast=of_layers("forecast"), simulation=of_layers("simulation")),
        workload=WORKLOAD,
        machine=MACHINE,
        axis="cores that share the last cache, and whether the condition is met",
        quick=False,
    ),
    Case(
        name="node-memory/sockets",
        claim="Streams that fill the memories of two sockets take as long as the most loaded controller, or the most loaded "
        "way between the sockets, or a rank's own lines.",
        source=LITTLE,
        unit="s",
        expected={
            f"{ranks} ranks, {share:.0%} remote": node_s(ranks, share) for ranks in (1, 4, 8, 16) for share in SHARES
        },
        tolerance=Tolerance(
            "of the 16 slices of a demand, the first and the last have no others beside them", relative=0.13
        ),
        reading="simulation",
        measure=lambda: Readings(
            simulation=Later(
                {
                    f"{ranks} ranks, {share:.0%} remote": partial(simulated_node_s, ranks, share)
                    for ranks in (1, 4, 8, 16)
                    for share in SHARES
                }
            )
        ),
        machine=MACHINE,
        axis="ranks, and share of their lines at the other socket",
        quick=True,
    ),
    *(
        Case(
            name=f"node-memory/prefetch-{reading}",
            claim="With d lines under way a line of a triad comes every latency / d, until the memory is busy all the time; "
            "with fewer streams than vectors all lines are waited for.",
            source=LITTLE,
            unit="s",
            expected=of_depths(partial(triad_s, reading == "simulation")),
            tolerance=Tolerance("lines of two vectors side by side, where one ends and the next begins", relative=1e-3),
            reading=reading,
            measure=partial(
                lambda reading: Readings(**{reading: of_depths(partial(measured_triad_s, reading))}), reading
            ),
            machine=MACHINE,
            axis="lines under way, and streams that are recognised",
            quick=True,
        )
        for reading in ("forecast", "simulation")
    ),
    Case(
        name="node-memory/prefetch-of-a-stencil",
        claim="A sweep whose rows stay in a cache has two streams: with these recognised and 20 lines under way it waits for "
        "1/20 of the latency, but for the rows with which it begins, of which two streams more come; with one, for all.",
        source=f"{ECM}: the grids u and v, one line each; {LITTLE}",
        unit="ratio",
        expected={1: 1.0, 2: (800 / 20 + 4 * (1 - 1 / 20)) / 802 + 2 / 802 / 20, 4: 1 / 20, 32: 1 / 20},
        tolerance=Tolerance("of 803 rows, those at the begin; lines at the ends of rows", absolute=0.003),
        reading="both",
        measure=lambda: Readings(
            **{
                reading: Later({streams: partial(stencil_ratio, reading, streams) for streams in (1, 2, 4, 32)})
                for reading in ("forecast", "simulation")
            }
        ),
        workload=WORKLOAD,
        machine=MACHINE,
        axis="streams that are recognised",
        quick=False,
    ),
]
