"""Both readings on networks of few hops and on mixed tori: what routes and links add to a forecast by mean hops."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.comparison.compare import compare
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.topology.build import build_topology
from tests.builders import machine, network_of, workload_of_steps

LATENCY_S, PER_BYTE_S, SIZE_BYTES = 1e-7, 1e-9, 4096.0
NETWORKS = {
    "dragonfly": build_topology("dragonfly", 72, terminals=2, routers=4, global_links=2),
    "dragonfly of few groups": build_topology("dragonfly", 24, terminals=2, routers=4, global_links=2),
    "dragonfly+": build_topology("dragonfly_plus", 20, terminals=2, leaves=2, spines=2, global_links=2),
    "hyperx": build_topology("hyperx", 32, (4, 4), cables=(1, 2)),
    "slim fly": build_topology("slim_fly", 50, q=5),
    "mixed torus": build_topology("torus", 48, (2, 3, 2, 2, 1, 2), wrap=(True, True, False, True, False, False)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_an_all_to_all_on_mean_hops_and_on_routes(name: str) -> None:
    """In a linear all-to-all, rank i sends to i - 1 last: the effect hops puts the longest of these routes in place of the
    mean. No link can then pass its messages in less time than they take one after another."""
    network = NETWORKS[name]
    hosts = network.node_count
    step = Collective(None, Place(), "all_to_all", "linear", parse(SIZE_BYTES))
    described = machine(
        network_of(network, startup_s=1e-6, per_byte_s=PER_BYTE_S, hop_latency_s=LATENCY_S, distance="mean")
    )
    comparison = compare(workload_of_steps(step), described, {"P": hosts}, effects="hops,links")
    host = np.arange(hosts)
    last = int(network.hops(host, (host - 1) % hosts).max())
    changes = {rung.effect: rung.change_s for rung in comparison.rungs}
    assert changes["dependencies and waiting"] == pytest.approx(0.0, abs=1e-15)
    assert changes["hops"] == pytest.approx((last - network.mean_hops()) * LATENCY_S, abs=1e-15)
    _, loads = network.traffic_loads(SIZE_BYTES * (1 - np.eye(hosts)))
    busy_s = float(loads.max()) * PER_BYTE_S
    assert comparison.simulation.makespan_s >= busy_s
    assert float(comparison.simulation.stations.busy_s.max()) == pytest.approx(busy_s, rel=1e-12)
    assert comparison.within_bounds
