"""Run time of naive against blocked matrix multiplication, as caches of the two readings make it.

Source: Calotoiu et al., CLUSTER 2018, section on locality modeling, Listings 1 and 2: the blocked multiplication computes
larger matrices without higher demands on memory. Expected times price every access of the listings by the level that an
LRU cache of Python dictionaries finds it in: of one set for the stack model (forecast), of real sets for the simulation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import cache, partial

import simcodesign as sc
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from ..later import Later
from .locality import PAPER
from .matrix_multiply import Element, blocked, naive

WORKLOAD, MACHINE = "matmul", "torus-cluster"
LINE, ELEMENT, PAGE = 64, 8, 4096
#: Bytes, ways and latency of each level, small enough for small matrices to show the steps; and that of memory.
LEVELS = ((2048, 4, 1e-9), (16384, 8, 5e-9))
MEMORY_S = 100e-9
B = 8
ROWS = (8, 16, 24, 32, 40, 48)
PHASES = ("naive", "blocked")
ROUNDING = Tolerance("counts of accesses times latencies, added up in another order", relative=1e-12)


def stream(phase: str, n: int) -> Iterator[Element]:
    """The accesses of a listing as compiled: C is stored, and in the blocked one loaded before."""
    return naive(n, "counted") if phase == "naive" else blocked(n, B, "load-store")


class Cache:
    """Least recently used lines of sets; a dictionary keeps the order of use."""

    def __init__(self, size_bytes: int, ways: int) -> None:
        self.ways = ways
        self.sets: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(size_bytes // LINE // ways)]

    def finds(self, line: int) -> bool:
        """Whether the line is there; from now on it is."""
        there = self.sets[line % len(self.sets)]
        hit = line in there
        there[line] = None
        there.move_to_end(line)
        if len(there) > self.ways:
            there.popitem(last=False)
        return hit


@cache
def expected_s(phase: str, n: int, in_sets: bool) -> float:
    """Seconds of all accesses. Each array begins on a page, and no way of a cache is larger than a page."""
    caches = [Cache(size, ways if in_sets else size // LINE) for size, ways, _ in LEVELS]
    first = {array: place * (-(-n * n * ELEMENT // PAGE) * PAGE) for place, array in enumerate("ABC")}
    counts = [0] * (len(LEVELS) + 1)
    for array, place in stream(phase, n):
        line = (first[array] + place * ELEMENT) // LINE
        if in_sets:
            level = next((number for number, cache_ in enumerate(caches) if cache_.finds(line)), len(LEVELS))
        else:  # by the stack: every level sees every access
            hits = [cache_.finds(line) for cache_ in caches]
            level = hits.index(True) if any(hits) else len(LEVELS)
        counts[level] += 1
    latencies = (*(latency for _, _, latency in LEVELS), MEMORY_S)
    return sum(count * latency for count, latency in zip(counts, latencies, strict=True))


@cache
def machine() -> sc.Machine:
    """The cluster with smaller caches and a memory of any bandwidth."""
    changes = {
        f"caches.L{number}.{key}": value
        for number, (size, ways, latency) in enumerate(LEVELS, start=1)
        for key, value in (("size", f"{size} B"), ("ways", ways), ("latency", f"{latency!r} s"))
    }
    third = {"caches.L3.latency": f"{MEMORY_S!r} s"}  # as if there were none
    return sc.Machine.load(
        MACHINE, changes | third | {"memory.latency": f"{MEMORY_S!r} s", "memory.bandwidth": "1e6 TB/s"}
    )


def seconds(reading: str, n: int) -> dict[str, float]:
    """Memory time of both listings."""
    given = {"P": 1, "n": n, "b": B, "blocking": 1.0}
    if reading == "forecast":
        result = sc.forecast(WORKLOAD, machine(), given)
    else:
        result = sc.simulate(WORKLOAD, machine(), given, effects="caches")
    return {phase: float(result.phases[phase]["memory"]) for phase in PHASES}


def time_case(reading: str) -> Case:
    """Both listings at every size."""
    in_sets = reading == "simulation"
    labels = {(phase, n): f"{phase}, n = {n}" for phase in PHASES for n in ROWS}

    def measure() -> Readings:
        times_of = {n: seconds(reading, n) for n in ROWS}
        return Readings(**{reading: {label: times_of[n][phase] for (phase, n), label in labels.items()}})

    return Case(
        name=f"locality/run-time/{reading}",
        claim="The memory time of both multiplications is that of their accesses, each served by the nearest level of "
        + ("LRU caches with sets." if in_sets else "fully associative LRU caches."),
        source=f"{PAPER}, Listings 1 and 2; caches simulated in Python",
        unit="s",
        expected=Later({label: partial(expected_s, *key, in_sets) for key, label in labels.items()}),
        tolerance=ROUNDING,
        reading=reading,
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"b": B, "blocking": 1},
        quick=True,
    )


def gain_case(reading: str) -> Case:
    """How much longer the naive one takes: as long as all fits, no longer; then more and more."""
    in_sets = reading == "simulation"

    def measure() -> Readings:
        times_of = {n: seconds(reading, n) for n in ROWS}
        return Readings(**{reading: {n: times["naive"] / times["blocked"] for n, times in times_of.items()}})

    def gain(n: int) -> float:
        return expected_s("naive", n, in_sets) / expected_s("blocked", n, in_sets)

    return Case(
        name=f"locality/run-time/gain-{reading}",
        claim="Naive over blocked memory time, by the rows of a matrix: blocking costs a little where everything fits, and "
        "saves most of the time where B does not.",
        source=f"{PAPER}, Listings 1 and 2; caches simulated in Python",
        unit="ratio",
        expected=Later({n: partial(gain, n) for n in ROWS}),
        tolerance=ROUNDING,
        reading=reading,
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"b": B, "blocking": 1},
        axis="n",
        quick=True,
    )


CASES: list[Case] = [make(reading) for reading in ("forecast", "simulation") for make in (time_case, gain_case)]
