"""Costs of messages that are piecewise by size, in both readings."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.describe.machine_parts.network import LocalMessages
from simcodesign.describe.machine_parts.size_segments import SizeSegment
from simcodesign.engine.simulate import simulate
from tests.builders import machine, network, workload

US = 1e-6
#: Sizes on both sides of each end, on it, and far from any -> seconds of a message, by hand: startup + bytes x time per
#: byte, and what its receiver pays.
SEGMENTS = (
    SizeSegment(8192.0, 1 * US, 4e-10),
    SizeSegment(65536.0, 3 * US, 2e-10, 0.5 * US),
    SizeSegment(np.inf, 9 * US, 1e-10, 0.0),
)
COSTS = {
    0.0: (1 * US, 0.2 * US),
    8191.0: (1 * US + 8191 * 4e-10, 0.2 * US),
    8192.0: (1 * US + 8192 * 4e-10, 0.2 * US),
    8193.0: (3 * US + 8193 * 2e-10, 0.5 * US),
    65536.0: (3 * US + 65536 * 2e-10, 0.5 * US),
    65537.0: (9 * US + 65537 * 1e-10, 0.0),
    1e7: (9 * US + 1e7 * 1e-10, 0.0),
}
ONE_MESSAGE = """
- send: {to: "1", bytes: m, when: "rank == 0"}
- receive: {from: "0", when: "rank == 1"}
"""
PARAMETER = "parameters: {m: {default: 1}}\n"


@pytest.mark.parametrize("size_bytes", COSTS)
def test_one_message_costs_what_its_segment_says(size_bytes: float) -> None:
    sent_s, received_s = COSTS[size_bytes]
    made = machine(network(4, segments=SEGMENTS, receive_overhead_s=0.2 * US, distance="none"))
    described = workload(ONE_MESSAGE, PARAMETER)
    given = {"P": 2, "m": size_bytes}
    for engine in ("simpy", "compiled"):
        result = simulate(described, made, given, effects="none", engine=engine)
        assert result.makespan_s == pytest.approx(sent_s + received_s, rel=1e-12)
    path = forecast(described, made, given, longest_path=True).longest_path
    assert path is not None
    assert path.time_s == pytest.approx(sent_s + received_s, rel=1e-12)


def test_many_sizes_are_one_call() -> None:
    made = machine(network(4, segments=SEGMENTS, receive_overhead_s=0.2 * US, distance="none"))
    sizes = np.array(list(COSTS))
    result = forecast(workload("- broadcast: {bytes: m}", PARAMETER), made, {"P": 2, "m": sizes})
    assert result.makespan_s == pytest.approx([sum(cost) for cost in COSTS.values()], rel=1e-12)


def test_constants_of_segments_may_be_arrays() -> None:
    made = machine(network(4, segments=SEGMENTS, receive_overhead_s=0.2 * US, distance="none"))
    given = {"P": 2, "m": 8192, "network.segments.1.up_to": np.array([8191.0, 8192.0, 70000.0])}
    given |= {"network.segments.2.up_to": 80000.0, "network.segments.2.startup": np.array([3 * US, 5 * US, 3 * US])}
    result = forecast(workload("- broadcast: {bytes: m}", PARAMETER), made, given)
    low_s, high_s = 1.2 * US + 8192 * 4e-10, 3.5 * US + 8192 * 2e-10
    assert result.makespan_s == pytest.approx([high_s, low_s, low_s], rel=1e-12)


@pytest.mark.parametrize(("target", "sent_s"), [(1, 0.3 * US + 5000 * 2e-10), (2, 1 * US + 5000 * 4e-10)])
def test_messages_within_a_node_have_their_own_segments(target: int, sent_s: float) -> None:
    near = LocalMessages(segments=(SizeSegment(4096.0, 0.1 * US, 1e-10), SizeSegment(np.inf, 0.3 * US, 2e-10)))
    made = machine(network(4, segments=SEGMENTS, node=near, distance="none"), processors_per_node=2)
    program = f'- send: {{to: "{target}", bytes: 5000, when: "rank == 0"}}\n'
    program += f'- receive: {{from: "0", when: "rank == {target}"}}\n'
    result = simulate(workload(program), made, {"P": 4}, effects="none")
    path = forecast(workload(program), made, {"P": 4}, longest_path=True).longest_path
    assert path is not None
    assert (result.makespan_s, path.time_s) == pytest.approx((sent_s, sent_s), rel=1e-12)
