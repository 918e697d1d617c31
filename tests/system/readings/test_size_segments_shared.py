"""Costs of messages that are piecewise by size, where stations are shared: bounds, engines, flows and packets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.result import Result
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.base import SizeSegment
from simcodesign.describe.network.message_models.hockney import HockneySegment
from simcodesign.describe.network.message_models.loggops import LogGOPS, LogGOPSSegment
from simcodesign.describe.network.sharing import SHARINGS
from simcodesign.describe.programs.program import Block, Step
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.analytic.test_bounds import SHARING, TIMES, cases, holds
from tests.builders import machine, network, read_machine, workload

US = 1e-6
SEGMENTS = (
    HockneySegment(8192.0, 1 * US, 4e-10),
    HockneySegment(65536.0, 3 * US, 2e-10, 0.5 * US),
    HockneySegment(np.inf, 9 * US, 1e-10, 0.0),
)


def numbered(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Steps whose blocks replace constants of a segment, in place of those of the network that segments state."""
    renamed = {f"network.{key}": f"network.segments.1.{key}" for key in ("startup", "L", "o", "g")}
    return tuple(
        replace(
            step,
            body=numbered(step.body),
            constants=tuple((renamed.get(path, path), value) for path, value in step.constants),
        )
        if isinstance(step, Block)
        else step
        for step in steps
    )


@st.composite
def sized_cases(draw: st.DrawFn) -> tuple[Workload, Machine, int]:
    """Random programs on random machines whose messages have segments: slower ones than those of the machine, and as
    fast."""
    program, made, ranks = draw(cases())
    plain = made.network
    slower = st.sampled_from([1.0, 1.0, 2.0, 5.0])
    model = plain.message_model
    if plain.sharing.name == "round_robin" and plain.is_stored:
        slower = st.just(1.0)
    segments: list[SizeSegment] = []
    for end in [*sorted(draw(st.sets(st.sampled_from([1.0, 8.0, 50.0]), min_size=1, max_size=2))), np.inf]:
        per_byte_s = model.per_byte_s * draw(slower)  # in a rendezvous, ranks may wait forever
        if isinstance(model, LogGOPS):
            times = {name: draw(TIMES) for name in ("latency_s", "overhead_s", "gap_s")}
            overhead_s = model.overhead_per_byte_s
            segments.append(LogGOPSSegment(end, per_byte_s=per_byte_s, overhead_per_byte_s=overhead_s, **times))
        else:
            overhead_s = None if draw(st.booleans()) else draw(TIMES)
            segments.append(HockneySegment(end, draw(TIMES), per_byte_s, overhead_s))
    # What was the bandwidth of links and interfaces stays so, where it was that of messages.
    link_s = model.per_byte_s if plain.link_per_byte_s is None else plain.link_per_byte_s
    least_s = min(one.per_byte_s for one in segments)
    nothing = {name: 0.0 for name, _ in model.constants().values() if name != "receive_overhead_s"}
    sized = replace(
        plain,
        message_model=replace(model, segments=tuple(segments), **nothing),
        link_per_byte_s=min(link_s, least_s),
    )
    return replace(program, program=numbered(program.program)), replace(made, network=sized), ranks


@settings(max_examples=examples(500), deadline=None)
@given(sized_cases(), st.sets(st.sampled_from(["hops", *SHARING])))
def test_every_simulation_lies_in_its_bounds(case: tuple[Workload, Machine, int], effects: set[str]) -> None:
    program, made, ranks = case
    result = forecast(program, made, {"P": ranks}, bounds=True)
    holds(result, simulate(program, made, {"P": ranks}, effects=effects))


@settings(max_examples=examples(300), deadline=None)
@given(sized_cases())
def test_the_longest_path_is_no_longer_than_a_simulation(case: tuple[Workload, Machine, int]) -> None:
    program, made, ranks = case
    path = forecast(program, made, {"P": ranks}).longest_path
    if path is not None and path.time_s is not None:
        simulated = simulate(program, made, {"P": ranks}, effects="none").makespan_s
        assert path.time_s <= simulated * (1 + 1e-10)


@settings(max_examples=examples(200), deadline=None)
@given(sized_cases(), st.sets(st.sampled_from(["hops", *SHARING])))
def test_engines_agree_to_the_last_bit(case: tuple[Workload, Machine, int], effects: set[str]) -> None:
    program, made, ranks = case
    both: list[Result] = [
        simulate(program, made, {"P": ranks}, effects=effects, engine=engine) for engine in ("simpy", "compiled")
    ]
    assert both[0].makespan_s == both[1].makespan_s
    assert both[0].phases == both[1].phases


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("size_bytes", [8192.0, 8193.0, 65536.0, 65537.0])
def test_a_message_alone_on_its_way_is_as_fast_as_its_segment(sharing: str, size_bytes: float) -> None:
    one = next(segment for segment in SEGMENTS if size_bytes <= segment.up_to_bytes)
    by_hand = one.startup_s + size_bytes * one.per_byte_s + (one.receive_overhead_s or 0.0)
    made = machine(network(4, segments=SEGMENTS, sharing=sharing, hop_latency_s=0.0))
    step = workload(
        f'- send: {{to: "1", bytes: {size_bytes}, when: "rank == 0"}}\n- receive: {{from: "0", when: "rank == 1"}}'
    )
    result = simulate(step, made, {"P": 2}, effects=["links", "interfaces"])
    # Flows have times of 43 bits; a packet of 4096 bytes is stored by no station of a crossbar, which is cut-through.
    packet_s = 2 * 4096 * 1e-10 if sharing == "round_robin" else 0.0
    assert by_hand * (1 - 1e-11) <= result.makespan_s <= (by_hand + packet_s) * (1 + 1e-11)


@pytest.mark.parametrize(("size_bytes", "shared_s_per_byte"), [(8000, 4e-10), (60000, 2e-10), (100000, 2e-10)])
def test_flows_share_a_link_up_to_the_bandwidth_of_their_segments(size_bytes: int, shared_s_per_byte: float) -> None:
    """Two messages into one host by an interface of 10 GB/s: 2.5 GB/s each by their segment fit, 5 GB/s just so, 10 do not."""
    made = machine(network(4, segments=SEGMENTS, sharing="max_min"))
    program = f'- send: {{to: "2", bytes: {size_bytes}, when: "rank < 2"}}\n'
    program += '- receive: {from: "0", when: "rank == 2"}\n- receive: {from: "1", when: "rank == 2"}'
    one = next(segment for segment in SEGMENTS if size_bytes <= segment.up_to_bytes)
    by_hand = one.startup_s + size_bytes * shared_s_per_byte + 2 * (one.receive_overhead_s or 0.0)
    result = simulate(workload(program), made, {"P": 3}, effects=["links", "interfaces"])
    assert result.makespan_s == pytest.approx(by_hand, rel=1e-11)


@pytest.mark.parametrize("size_bytes", [1000, 1001, 5000, 5001])
@pytest.mark.parametrize("step", ["broadcast: {bytes: m, algorithm: binomial, order: near}", "allreduce: {bytes: m}"])
def test_links_that_are_shared_evenly(step: str, size_bytes: int) -> None:
    segments = "[{up_to: 1 kB, startup: 1 us, bandwidth: 1 GB/s}, {up_to: 5 kB, startup: 2 us, bandwidth: 4 GB/s}, "
    segments += "{startup: 4 us, bandwidth: 2 GB/s}]"
    made = read_machine(
        "simcodesign: 1\nname: test\nnodes: 32\nprocessor: {rate: 1 GFLOP/s}\nnetwork:\n"
        f"  {{sends: blocking, segments: {segments}, sharing: max_min, topology: {{kind: torus, shape: [4, 8]}}}}\n"
    )
    described = workload(f"- {step}", "parameters: {m: {default: 1}}\n")
    times = forecast(described, made, {"P": 32, "m": size_bytes}).shared_links
    assert times is not None
    simulated = simulate(described, made, {"P": 32, "m": size_bytes}, effects="links")
    assert simulated.makespan_s == pytest.approx(times.makespan_s, rel=1e-11)
