"""docs/tables/routing-streams.csv of docs/networks.md: open streams of uniform traffic, simulated again."""

from __future__ import annotations

from itertools import product

import pytest

from simcodesign.engine.simulate import simulate
from tests.builders import read_machine, workload
from tests.system.documentation import csv_rows
from tests.system.documentation.networks.test_routing_table import BANDWIDTH, BYTES, MACHINE, NETWORKS

REQUESTS = 400
ROUTINGS = {
    "minimal": "minimal",
    "valiant": "valiant",
    "ugal": "ugal",
    "ugal with threshold 20": "{ugal: {threshold: 20}}",
    "ugal along_route": "{ugal: {queues: along_route}}",
}
ROWS = csv_rows("routing-streams")
TABLE = [[*row.values()] for row in ROWS]


def stream(name: str, routing: str, load: float, to: str = "") -> tuple[float, float]:
    """Accepted throughput in the second half of the time, as a share of what hosts can send, and the mean response of the
    messages that arrived then, in times of a message on a link."""
    topology, nodes, _, _ = NETWORKS[name]
    text = MACHINE.replace("TOPOLOGY", topology).replace("NODES", str(nodes)).replace("ROUTING", ROUTINGS[routing])
    rate = load * BANDWIDTH / BYTES
    end_s, alone_s, where = REQUESTS / rate, BYTES / BANDWIDTH, f", destination: '{to}'" if to else ""
    program = f"[arrivals: {{to: network, rate: {rate}, requests: {REQUESTS}, bytes: {BYTES}{where}}}]"
    result = simulate(workload(program), read_machine(text), {"P": nodes}, effects="links,interfaces")
    requests = result.requests
    assert requests is not None
    left, arrived = requests.left_s, requests.arrived_s
    came = ((left > end_s / 2) & (left <= end_s)).sum() * alone_s / (end_s / 2) / nodes
    late = (arrived > end_s / 2) & (arrived < end_s)
    return float(came), float((left - arrived)[late].mean() / alone_s)


def test_the_table_has_all_rows() -> None:
    assert [*ROWS[0]] == ["network", "offered", "quantity", *ROUTINGS]
    stated = [(row["network"], row["offered"], row["quantity"]) for row in ROWS]
    assert stated == [*product(NETWORKS, ("0.8", "1.0"), ("throughput", "response"))]


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(6))
def test_uniform_streams(number: int) -> None:
    """The cells, and that UGAL along routes loses nothing against minimal routes. Two seeds differ by up to 1 % in
    throughput, which is what "nothing" allows for; the response is to be no longer than that either."""
    came, response = TABLE[2 * number : 2 * number + 2]
    assert (came[2], response[2]) == ("throughput", "response")
    simulated = {routing: stream(came[0], routing, float(came[1])) for routing in ROUTINGS}
    for routing, cell, other in zip(ROUTINGS, came[3:], response[3:], strict=True):
        assert simulated[routing] == (pytest.approx(float(cell), abs=5.1e-4), pytest.approx(float(other), abs=0.051))
    minimal, along = simulated["minimal"], simulated["ugal along_route"]
    assert along[0] >= 0.99 * minimal[0]
    assert along[1] <= 1.01 * minimal[1]
    assert simulated["valiant"][0] < 0.7 * minimal[0]


@pytest.mark.thorough
def test_adverse_streams() -> None:
    """The figures below the table, for the dragonfly."""
    name = next(iter(NETWORKS))
    came = {routing: stream(name, routing, 0.3, NETWORKS[name][2][0])[0] for routing in ROUTINGS}
    assert [round(came[routing], 3) for routing in ("ugal along_route", "ugal", "ugal with threshold 20")] == [
        0.289,
        0.262,
        0.212,
    ]
    assert came["minimal"] == pytest.approx(0.125, rel=0.01)
