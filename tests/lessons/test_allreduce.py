"""The lesson on all-reduce: crossovers and shared links counted by hand, and measured times that are published."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
import pytest

from simcodesign.lessons.description import ReadValue
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.lattice import formula_times, ladder_at
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lessons.test_shipped_by_hand import published, run_of, stop_of
from tests.lessons.test_shipped_numbers import formula_values_of

STARTUP_S, BANDWIDTH, HOP_S = 2.4e-6, 6.345e9, 100e-9
LONG = 2**26


def by_hand_s(name: str, ranks: float, size_bytes: float) -> float:
    """Thakur et al. 2005, Sec. 4.5, without the time to add."""
    levels, passed = np.log2(ranks), 2 * (ranks - 1) / ranks
    startups, vectors = {
        "doubling": (levels, levels),
        "ring": (2 * (ranks - 1), passed),
        "halving": (2 * levels, passed),
    }[name]
    return float(startups * STARTUP_S + vectors * size_bytes / BANDWIDTH)


@pytest.mark.parametrize("name", ["doubling", "ring", "halving"])
def test_the_formulas_are_published(name: str) -> None:
    run = run_of("allreduce", name)
    nodes, sizes = (np.array([stop.value for stop in one.stops]) for one in run.sliders)
    expected = [[by_hand_s(name, ranks, size) for size in sizes] for ranks in nodes]
    assert formula_times(run) == pytest.approx(np.array(expected), rel=1e-9)


def test_crossovers_follow_by_bisection() -> None:
    """Of the formulas, on 64 nodes and on the nodes of every code."""
    lesson = read_lesson(lesson_folder("allreduce"))
    group = lesson.sliders["group"].stops
    cases: list[tuple[str, str, float, dict[str, int]]] = [
        ("even_ring", "ring", 64, {}),
        ("even_halving", "halving", 64, {}),
        *(("even_yours", "ring", group[stop].value, {"group": stop}) for stop in lesson.seeded["group"]),
    ]
    for value, other, ranks, drawn in cases:
        low, high = 1.0, 1e9
        while high - low > 1e-3:
            middle = (low + high) / 2
            doubling_wins = by_hand_s("doubling", ranks, middle) < by_hand_s(other, ranks, middle)
            low, high = (middle, high) if doubling_wins else (low, middle)
        known = replace(formula_values_of(lesson), drawn=drawn)
        assert known.named(value, lesson.runs["ring"].place) == pytest.approx(low, rel=1e-6)


def route(source: int, target: int) -> list[tuple[int, int]]:
    """The links between two nodes of an 8x8 mesh: along the row first, then along the column, or the other way round."""
    places = [source]
    for unit in (8, 1):
        while (places[-1] // unit) % 8 != (target // unit) % 8:
            step = unit if (places[-1] // unit) % 8 < (target // unit) % 8 else -unit
            places.append(places[-1] + step)
    return list(pairwise(places))


def exchanges_units(rounds: list[tuple[int, float]], hop: float, startup: float) -> float:
    """When the last of 64 nodes ends its exchanges of vectors of a size with partners at a distance, in units of one vector.

    Links and the receiving interface serve first come, first served; a message waits in the network, and holds its sender for
    its startup and its own size. A node begins a round when it has sent and received.
    """
    free, done = defaultdict[tuple[int, int], float](float), defaultdict[tuple[int, int], list[float]](list)
    events = [(startup, node, 0, 0) for node in range(64)]
    last = 0.0
    while events:
        now, node, number, place = heappop(events)
        distance, size = rounds[number]
        partner = node ^ distance
        stations = [*route(node, partner), (partner, partner)]
        begins = max(now, free[stations[place]])
        free[stations[place]] = begins + size
        if place + 1 < len(stations):
            heappush(events, (begins + hop, node, number, place + 1))
        ended = [(node, now + size)] * (place == 0) + [(partner, begins + size)] * (place + 1 == len(stations))
        for one, time in ended:
            done[one, number].append(time)
            if len(done[one, number]) == 2:
                last = max(last, *done[one, number])
                if number + 1 < len(rounds):
                    heappush(events, (max(done[one, number]) + startup, one, number + 1, 0))
    return last


def test_what_a_mesh_does_to_each_algorithm() -> None:
    """Exchanges message by message; the ring shares no link."""
    vector_s = LONG / BANDWIDTH
    hop, startup = HOP_S / vector_s, STARTUP_S / vector_s
    halves = [(2**bit, 0.5 ** (bit + 1)) for bit in range(6)]
    expected = {
        "doubling": exchanges_units([(2**bit, 1.0) for bit in range(6)], hop, startup),
        "ring": 2 * 63 / 64 + 126 * startup,
        "halving": exchanges_units(halves + halves[::-1], hop, startup),
    }
    assert expected["doubling"] == pytest.approx(12, rel=1e-3)
    for name, units in expected.items():
        run = run_of("allreduce", name)
        at = {"nodes": stop_of(run, "nodes", 64), "size": stop_of(run, "size", LONG)}
        assert ladder_at(run, at)[-1, 0] == pytest.approx(units * vector_s, rel=0.01 if name == "ring" else 5e-4)


def test_measured_times_on_fugaku_are_published() -> None:
    lesson = read_lesson(lesson_folder("allreduce"))
    rows = published("fugaku-collectives", operation="allreduce")
    for name, algorithm in (("fugaku_doubling", "recursive_doubling"), ("fugaku_ring", "ring")):
        run = lesson.runs[name]
        table = rows[(rows.algorithm == algorithm) & (rows["shape"] == "2x2x2")].set_index("bytes")
        assert len(run.measured) == len(run.sliders[0].stops)
        for one in run.measured:
            row = table.loc[int(run.sliders[0].stops[one.at["bytes"]].value)]
            found = np.array([one.low_s, one.value_s, one.high_s]) * 1e6
            assert found == pytest.approx([row.lower_us, row.median_us, row.upper_us], rel=1e-9)
    cube = rows[(rows.algorithm == "recursive_doubling") & (rows.bytes == LONG)].set_index("shape")
    for one in lesson.runs["fugaku_cube"].measured:
        row = cube.loc[lesson.sliders["cube"].stops[one.at["cube"]].note]
        found = np.array([one.low_s, one.value_s, one.high_s]) * 1e6
        assert found == pytest.approx([row.lower_us, row.median_us, row.upper_us], rel=1e-9)
    for name, size, shape in (
        ("16K", 2**14, "2x2x2"),
        ("128K", 2**17, "2x2x2"),
        ("1M", 2**20, "2x2x2"),
        ("512", LONG, "8x8x8"),
    ):
        for word, algorithm in (("doubling", "recursive_doubling"), ("ring", "ring")):
            value = lesson.values[f"measured_{word}_{name}"]
            assert not isinstance(value, ReadValue)
            found = rows[(rows.algorithm == algorithm) & (rows.bytes == size) & (rows["shape"] == shape)].median_us
            assert value.evaluate({}) * 1e6 == pytest.approx(found.item(), rel=1e-9)


def test_the_measured_crossover_is_the_one_size_of_equal_times() -> None:
    rows = published("fugaku-collectives", operation="allreduce", shape="2x2x2")
    doubling, ring = (
        rows[rows.algorithm == one].set_index("bytes").median_us for one in ("recursive_doubling", "ring")
    )
    share = (doubling / ring - 1).abs()
    assert share.index[(share < 0.01) & (share.index > 4)].tolist() == [2**17]


def test_the_forecast_on_fugaku_is_the_formula_by_hand() -> None:
    """Startup and receive 2.426 us, 6.345 GB/s, and 16.8 GB/s to add; the ring adds in the first half of its rounds."""
    for name, rounds, vectors, added in (("fugaku_doubling", 3, 3, 3), ("fugaku_ring", 14, 14 / 8, 7 / 8)):
        run = run_of("allreduce", name)
        sizes = np.array([stop.value for stop in run.sliders[0].stops])
        expected = rounds * 2.426e-6 + sizes * (vectors / 6.345e9 + added / 16.8e9)
        assert formula_times(run) == pytest.approx(expected, rel=1e-9)
