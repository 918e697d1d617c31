"""A routing is two classes of another package, in two files: what it is and where it can be (describe), and the routes
of pairs of nodes (generate). Forecasts ask the first one for mean hops. Both engines know the Plan already.

What a Plan can express: a route for each pair of nodes or for each message, and a choice between two routes by queues.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.generate.messages.routing.route_choice import ROUTE_CHOICES, route_choice
from tests.extension import last_first

#: Two rows of three hosts: 0 1 2 above 3 4 5.
MACHINE: dict[str, Any] = {
    "name": "rows",
    "nodes": 6,
    "processor": {"rate": 1e9},
    "network": {
        "topology": {"kind": "mesh", "shape": [2, 3]},
        "routing": "last_first",
        "sends": "blocking",
        "startup": "10 us",
        "bandwidth": "1 GB/s",
        "hop_latency": "1 us",
        "distance": "mean",
    },
}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The routing, for one test only."""
    last_first.register()
    yield
    last_first.take_back()


def machine(**network: Any) -> sc.Machine:
    return sc.Machine.load({**MACHINE, "network": {**MACHINE["network"], **network}})


def sends(*pairs: tuple[int, int]) -> sc.Workload:
    """One message of 1 MB for each pair, all at the same time."""
    steps: list[Any] = []
    for source, target in pairs:
        steps += [{"send": {"to": target, "bytes": 1e6, "when": f"rank == {source}"}}]
        steps += [{"receive": {"from": source, "when": f"rank == {target}"}}]
    return sc.Workload.load({"name": "messages", "program": steps})


@pytest.mark.parametrize(
    ("source", "target", "hosts"),
    [(0, 5, [0, 1, 2, 5]), (5, 0, [5, 4, 3, 0]), (2, 3, [2, 1, 0, 3]), (1, 4, [1, 4]), (3, 5, [3, 4, 5])],
)
def test_hops_and_links(source: int, target: int, hosts: list[int]) -> None:
    network = machine().network
    pair = np.array([source]), np.array([target])
    choice = route_choice(network, seed=0)
    tails, heads = network.topology.link_ends(choice.routes_of_pairs(*pair).link)
    assert [*zip(tails.tolist(), heads.tolist(), strict=True)] == [*itertools.pairwise(hosts)]
    assert choice.hops_of_pairs(*pair).tolist() == [len(hosts) - 1]


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize(
    ("routing", "other", "waits_s"),
    [
        ("last_first", (3, 4), 0.0),  # from 0 by 1 and 2
        ("last_first", (1, 2), 1e-3 - 1e-6),  # the link from 1 to 2 is free 1 ms after it was taken, 1 us too late
        ("minimal", (3, 4), 1e-3 - 1e-6),  # from 0 by 3 and 4
        ("minimal", (1, 2), 0.0),
    ],
)
def test_messages_wait_where_their_routes_meet(
    engine: str, routing: str, other: tuple[int, int], waits_s: float
) -> None:
    result = sc.simulate(
        sends((0, 5), other), machine(routing=routing), {"P": 6}, effects=["hops", "links"], engine=engine
    )
    alone_s = 10e-6 + 3 * 1e-6 + 1e-3
    assert result.makespan_s == pytest.approx(alone_s + waits_s, rel=1e-12)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_both_readings_count_its_hops(engine: str) -> None:
    """1/2 in a column and 8/9 in a row, in the mean over all 36 pairs, of which 6 are none: (1/2 + 8/9) 36/30 = 5/3."""
    mean_s = 10e-6 + 5 / 3 * 1e-6 + 1e-3
    assert sc.forecast(sends((0, 5)), machine(), {"P": 6}).makespan_s == pytest.approx(mean_s, rel=1e-12)
    by_law = sc.simulate(sends((0, 5)), machine(), {"P": 6}, effects="none", engine=engine)
    assert by_law.makespan_s == pytest.approx(mean_s, rel=1e-12)
    counted = sc.simulate(sends((0, 5)), machine(), {"P": 6}, effects=["hops"], engine=engine)
    assert counted.makespan_s == pytest.approx(10e-6 + 3e-6 + 1e-3, rel=1e-12)


def test_a_network_without_its_routes_says_so() -> None:
    with pytest.raises(InputError, match=r"last_first has no routes on a crossbar \(allowed: minimal\)"):
        machine(topology={"kind": "crossbar"})
    with pytest.raises(InputError, match=r"last_first has no routes on a mesh .*minimal, ecmp, valiant, ugal"):
        machine(topology={"kind": "mesh", "shape": [6]})
    with pytest.raises(InputError, match=r"valiant has no routes on a crossbar .*minimal; or one of .*mesh"):
        machine(topology={"kind": "crossbar"}, routing="valiant")


def test_a_simulation_that_does_not_know_it_says_so() -> None:
    ROUTE_CHOICES.remove(last_first.LastFirst)
    with pytest.raises(InputError, match=r"no route choice is registered for this class, got 'LastFirst'.*Valiant"):
        sc.simulate(sends((0, 5)), machine(), {"P": 6}, effects=["hops"])
    ROUTE_CHOICES.add(last_first.LastFirst, last_first.LastFirstChoice)
