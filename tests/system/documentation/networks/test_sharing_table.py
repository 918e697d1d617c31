"""The table docs/tables/link-sharing.csv: patterns under the three sharings of links, on a shipped machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.core.result import Result
from simcodesign.describe.network.sharing import SHARINGS
from simcodesign.engine.simulate import simulate
from tests import builders
from tests.builders import network_with
from tests.shipped_pairs import load_machine
from tests.system.documentation import csv_rows

RANKS = 64
PATTERNS = {
    "all-to-all, pairwise, 100 kB": "- all_to_all: {bytes: 100000, algorithm: pairwise}\n",
    "permutation (transpose of 8 x 8 ranks), 1 MB": (
        "- send: {to: 8*(rank % 8) + floor(rank/8), bytes: 1e6, when: rank % 8 != floor(rank/8)}\n"
        "- receive: {from: 8*(rank % 8) + floor(rank/8), when: rank % 8 != floor(rank/8)}\n"
    ),
    "incast, 63 ranks to one, 1 MB": "- send: {to: 0, bytes: 1e6, when: rank > 0}\n"
    + "".join(f"- receive: {{from: {rank}, when: rank == 0}}\n" for rank in range(1, RANKS)),
    "halo exchange in 3 dimensions, 1 MB": "- exchange: {pattern: halo3d, bytes: 1e6, periodic: true}\n",
    "100 ping-pongs of 1 kB beside a message of 10 MB": (
        "- send: {to: 2, bytes: 10e6, when: rank == 0}\n"
        "- repeat: 100\n  do:\n"
        "  - send: {to: 2, bytes: 1000, when: rank == 1}\n"
        "  - receive: {from: 1, when: rank == 2}\n"
        "  - send: {to: 1, bytes: 1000, when: rank == 2}\n"
        "  - receive: {from: 2, when: rank == 1}\n"
        "- receive: {from: 0, when: rank == 2}\n"
    ),
}


def result_of(pattern: str, sharing: str, effects: str = "hops,links") -> Result:
    machine = load_machine("packet-torus")
    machine = replace(machine, network=network_with(machine.network, sharing=sharing))
    return simulate(builders.workload(PATTERNS[pattern]), machine, {"P": RANKS}, effects=effects, engine="compiled")


def time_us(pattern: str, result: Result) -> float:
    """The makespan; of the ping-pongs, when they are over."""
    assert result.ranks is not None
    return float(result.ranks.end_s[1] if "ping-pongs" in pattern else result.makespan_s) * 1e6


def rows() -> list[list[str]]:
    """Return the cells of the table by row."""
    return [[*row.values()] for row in csv_rows("link-sharing")]


def test_every_pattern_has_its_row() -> None:
    assert [row[0] for row in rows()] == [*PATTERNS]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_times_and_events_of_a_pattern(pattern: str) -> None:
    cells = next(row for row in rows() if row[0] == pattern)
    results = [result_of(pattern, sharing) for sharing in SHARINGS]
    times = [
        *(time_us(pattern, result) for result in results),
        time_us(pattern, result_of(pattern, "fcfs", "hops")),
    ]
    shown = [f"{time:,.0f}" for time in times] + [f"{result.events:,}" for result in results]
    assert cells[1:] == shown
    bounds = forecast(
        builders.workload(PATTERNS[pattern]), load_machine("packet-torus"), {"P": RANKS}, bounds=True
    ).bounds
    assert bounds is not None
    assert min(result.makespan_s for result in results) >= bounds.lower_s["most loaded link"] * (1 - 1e-9)
