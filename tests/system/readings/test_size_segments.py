"""Costs of messages that are piecewise by size, in both readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.demands.base import LEAST_IN_LOGGOPS
from simcodesign.analytic.forecast import forecast
from simcodesign.describe.demands.collective import every_algorithm
from simcodesign.describe.network.message_models.base import SizeSegment
from simcodesign.describe.network.message_models.hockney import SENDS, HockneySegment
from simcodesign.describe.network.message_models.loggops import LogGOPSSegment
from simcodesign.describe.network.network import DISTANCES, SWITCHINGS, LocalMessages
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.builders import algorithm_entry, machine, network, workload
from tests.oracles.messages.sized_programs import PROGRAMS, Cost, run_s

US = 1e-6
#: Sizes on both sides of each end, on it, and far from any -> seconds of a message, by hand: startup + bytes x time per
#: byte, and what its receiver pays.
SEGMENTS = (
    HockneySegment(8192.0, 1 * US, 4e-10),
    HockneySegment(65536.0, 3 * US, 2e-10, 0.5 * US),
    HockneySegment(np.inf, 9 * US, 1e-10, 0.0),
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
    path = forecast(described, made, given).longest_path
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
    near = LocalMessages(segments=(HockneySegment(4096.0, 0.1 * US, 1e-10), HockneySegment(np.inf, 0.3 * US, 2e-10)))
    made = machine(network(4, segments=SEGMENTS, node=near, distance="none"), processors_per_node=2)
    program = f'- send: {{to: "{target}", bytes: 5000, when: "rank == 0"}}\n'
    program += f'- receive: {{from: "0", when: "rank == {target}"}}\n'
    result = simulate(workload(program), made, {"P": 4}, effects="none")
    path = forecast(workload(program), made, {"P": 4}).longest_path
    assert path is not None
    assert (result.makespan_s, path.time_s) == pytest.approx((sent_s, sent_s), rel=1e-12)


# Every collective: its closed form is what its messages say, and that is what brute force says.

ENDS = (16.0, 100.0, 1024.0, 8192.0, 65536.0)
TIMES = st.sampled_from([0.0, 0.3 * US, 1 * US, 5 * US])
PER_BYTE = st.sampled_from([0.0, 1e-10, 3e-10, 2.5e-9])
RANKS = st.one_of(st.integers(1, 40), st.sampled_from([64, 100]))


@st.composite
def segments_of_hockney(draw: st.DrawFn) -> tuple[SizeSegment, ...]:
    ends = [*sorted(draw(st.sets(st.sampled_from(ENDS), min_size=1, max_size=3))), np.inf]
    overheads = st.one_of(st.none(), TIMES) if draw(st.booleans()) else st.none()
    waits = st.booleans() if draw(st.booleans()) else st.just(False)
    return tuple(
        HockneySegment(end, draw(TIMES), draw(PER_BYTE), draw(overheads), rendezvous=draw(waits)) for end in ends
    )


def sizes_around(draw: st.DrawFn, segments: Sequence[SizeSegment], ranks: int) -> float:
    """Sizes of which some message, one of whole blocks or of a P-th, is on the end of a segment or beside it."""
    end = draw(st.sampled_from([float(segment.up_to_bytes) for segment in segments[:-1]]))
    beside = end + draw(st.sampled_from([-1.0, 0.0, 1.0]))
    blocks = draw(st.integers(1, max(1, ranks)))
    return draw(st.sampled_from([beside, ranks * beside, beside / blocks, ranks * beside / blocks, 2.0 * beside]))


@st.composite
def sized_operations(draw: st.DrawFn, algorithms: Sequence[tuple[str, str]]) -> tuple:
    key, ranks, segments = draw(st.sampled_from(algorithms)), draw(RANKS), draw(segments_of_hockney())
    return key, ranks, segments, sizes_around(draw, segments, ranks)


def step_of(key: tuple[str, str], size_bytes: float, more: str = "") -> Workload:
    size = "" if key[0] == "barrier" else f", bytes: {size_bytes!r}"
    return workload(f"- {key[0]}: {{{algorithm_entry(*key)}{size}{more}}}")


def cost_of(segments: Sequence[SizeSegment], receive_s: float) -> Cost:
    def cost(size_bytes: float) -> tuple[float, float, bool]:
        # As near to the end as float64 can tell parts of it from it.
        one = next(it for it in segments if size_bytes <= it.up_to_bytes * (1 + 1e-12))
        overhead_s = receive_s if one.receive_overhead_s is None else one.receive_overhead_s
        return one.startup_s + size_bytes * one.per_byte_s, overhead_s, one.rendezvous

    return cost


@pytest.mark.thorough
@given(operation=sized_operations(sorted(PROGRAMS)))
@settings(max_examples=examples(400), deadline=None)
def test_both_readings_are_brute_force_over_the_messages(operation: tuple) -> None:
    key, ranks, segments, size_bytes = operation
    made = machine(network(128, segments=segments, receive_overhead_s=0.2 * US, distance="none"))
    step = step_of(key, size_bytes, ", segment: 1000" if key[1] == "chain" else "")
    expected = pytest.approx(run_s(PROGRAMS[key], ranks, size_bytes, cost_of(segments, 0.2 * US)), rel=1e-12)
    assert simulate(step, made, {"P": ranks}, effects="none").makespan_s == expected
    assert forecast(step, made, {"P": ranks}).makespan_s == expected


@given(operation=sized_operations(list(every_algorithm())), data=st.data())
@settings(max_examples=examples(600), deadline=None)
def test_every_algorithm_is_its_closed_form(operation: tuple, data: st.DataObject) -> None:
    key, ranks, segments, size_bytes = operation
    more: dict = {"receive_overhead_s": data.draw(TIMES), "reduction_per_byte_s": data.draw(PER_BYTE)}
    more |= {"hop_latency_s": data.draw(TIMES), "distance": data.draw(st.sampled_from(DISTANCES))}
    more["switching"] = data.draw(st.sampled_from(SWITCHINGS))
    more["sends"] = data.draw(st.sampled_from(SENDS))
    more["startup_per"] = data.draw(st.sampled_from(["message", "hop"]))
    more["hops_hold_sender"] = more["sends"] == "nonblocking" or data.draw(st.booleans())
    per_node = data.draw(st.sampled_from([1, 2, 4]))
    if per_node > 1 and data.draw(st.booleans()):
        near = data.draw(segments_of_hockney())
        near = tuple(replace(one, receive_overhead_s=None, rendezvous=False) for one in near)
        more["node"] = LocalMessages(segments=near)
    made = machine(network(128, "torus", segments=segments, **more), processors_per_node=per_node)
    step = step_of(key, size_bytes)
    expected, result = forecast(step, made, {"P": ranks}), simulate(step, made, {"P": ranks}, effects="none")
    assert result.makespan_s == pytest.approx(expected.makespan_s, rel=1e-12)
    assert (result.messages, result.message_bytes) == pytest.approx((expected.messages, expected.message_bytes))


@pytest.mark.parametrize("key", [key for key in every_algorithm() if key[0] != "barrier"])
def test_design_points_are_those_of_single_forecasts(key: tuple[str, str]) -> None:
    made = machine(network(64, segments=SEGMENTS, receive_overhead_s=0.2 * US))
    sizes = np.array([1.0, 1024.0, 8192.0, 8193.0, 65536.0, 65537.0, 1e6])
    described = workload(f"- {key[0]}: {{{algorithm_entry(*key)}, bytes: m}}", PARAMETER)
    ranks = np.array([[3.0], [8.0], [29.0]])
    several = forecast(described, made, {"P": ranks, "m": sizes}).makespan_s
    single = [[forecast(described, made, {"P": p, "m": m}).makespan_s for m in sizes] for p in ranks.ravel()]
    assert several == pytest.approx(np.array(single), rel=1e-14)


#: Constants of LogGOPS by size: gaps that outlast the processor's work and others, in turn.
LOGGOPS = (
    LogGOPSSegment(300.0, latency_s=2.5 * US, overhead_s=1.5 * US, gap_s=1 * US, per_byte_s=6e-9),
    LogGOPSSegment(3000.0, latency_s=1 * US, overhead_s=2 * US, gap_s=9 * US, per_byte_s=1e-9),
    LogGOPSSegment(latency_s=20 * US, overhead_s=10 * US, gap_s=8 * US, per_byte_s=8e-9, overhead_per_byte_s=9e-9),
)
#: What is an estimate in LogGOPS (docs/messages.md), for every P or for what is no power of two.
ESTIMATES = (
    *("scatter_allgather", "split_binary_tree", "two_level"),
    *("ring_channels", "double_tree", "hierarchical_chunks"),
)
FOLDED_ESTIMATES = ("rabenseifner", "scan")


@pytest.mark.thorough
@pytest.mark.parametrize("key", every_algorithm())
def test_every_algorithm_in_loggops_is_its_closed_form(key: tuple[str, str]) -> None:
    rendezvous = (*LOGGOPS[:2], replace(LOGGOPS[2], rendezvous=True))
    for ranks in (2, 3, 5, 8, 13, 32):
        if key[1] in ESTIMATES or (ranks & (ranks - 1) and {*key} & {*FOLDED_ESTIMATES}):
            continue
        for segments in (LOGGOPS, rendezvous):
            made = machine(network(64, model="loggop", segments=segments))
            for size_bytes in (100.0, 300.0, 301.0, 1200.0, 3000.0, 3001.0, 9600.0):
                step = step_of(key, size_bytes)
                forecasted = forecast(step, made, {"P": ranks})
                expected = forecasted.makespan_s
                result = simulate(step, made, {"P": ranks}, effects="none").makespan_s
                if any(LEAST_IN_LOGGOPS in text for text in forecasted.basis):
                    assert expected * (1 - 1e-12) <= result <= 2 * expected, (ranks, size_bytes)
                else:
                    assert result == pytest.approx(expected, rel=1e-12), (ranks, size_bytes)
