"""Binomial reductions in segments: the closed form against an independent recursion, and against the simulation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.analytic.collectives.pipelines.tree import pipelined_tree
from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.messages.message import Message
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.hockney import SENDS
from simcodesign.engine.simulate import simulate
from tests import builders
from tests.builders import read_machine, workload
from tests.oracles.segmented_tree import segmented_reduce_s

ROUNDING = 1e-12
MOST_RANKS = 40
CONSTANTS = {"startup_s": 3e-6, "per_byte_s": 1e-9}
durations_s = st.one_of(st.just(0.0), st.floats(1e-3, 10.0))


@given(st.integers(1, 9), durations_s, durations_s, durations_s)
def test_every_number_of_ranks(segments: int, send_s: float, flight_s: float, receive_s: float) -> None:
    """All numbers of ranks at once, and one by one."""
    message = Message(send_s, send_s + flight_s, receive_s, send_s, receive_s)
    ranks = np.arange(1.0, MOST_RANKS + 1)
    found_s = pipelined_tree(ranks, float(segments), message).time_s
    for place, count in enumerate(range(1, MOST_RANKS + 1)):
        expected_s = segmented_reduce_s(count, segments, send_s, send_s + flight_s, receive_s)
        alone_s = pipelined_tree(float(count), float(segments), message).time_s
        assert [np.asarray(found_s)[place], alone_s] == pytest.approx([expected_s] * 2, rel=ROUNDING, abs=0)


@pytest.mark.parametrize("reduction", [None, 2e-9])
@pytest.mark.parametrize("overhead_s", [0.0, 4e-7, 5e-6])
@pytest.mark.parametrize("sends", SENDS)
def test_it_is_the_simulation(sends: str, overhead_s: float, reduction: float | None) -> None:
    """Without effects; some segments, and as many bytes as are no multiple of the segment."""
    more = {"sends": sends, "receive_overhead_s": overhead_s, "reduction_per_byte_s": reduction}
    machine = builders.machine(builders.network(64, **CONSTANTS, **more))
    for ranks in (1, 2, 3, 7, 8, 13, 32, 40):
        for segment, root in ((9000, 0), (2000, 0), (1100, ranks - 1)):
            work = workload(f"- reduce: {{bytes: 9000, segment: {segment}, root: {root}}}")
            closed = forecast(work, machine, {"P": ranks})
            simulated = simulate(work, machine, {"P": ranks}, effects="none")
            assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING, abs=0), (ranks, segment)
            assert (simulated.messages, simulated.message_bytes) == (
                closed.messages,
                pytest.approx(closed.message_bytes, rel=ROUNDING),
            )


@pytest.mark.parametrize(("sends", "pace_s"), [(SENDS[0], 2 * 4e-7 + 4e-6), (SENDS[1], 2 * 4e-7 + 3e-6)])
def test_eight_ranks_by_hand(sends: str, pace_s: float) -> None:
    """Three messages, and 8 segments more at the pace of rank 4, which has two children and sends."""
    more = {"sends": sends, "receive_overhead_s": 4e-7}
    machine = builders.machine(builders.network(8, **CONSTANTS, **more))
    found = forecast(workload("- reduce: {bytes: 9000, segment: 1000}"), machine, {"P": 8})
    assert found.makespan_s == pytest.approx(3 * (4e-6 + 4e-7) + 8 * pace_s, rel=ROUNDING)


def with_tuning(segment: str) -> Machine:
    return read_machine(
        "simcodesign: 1\nname: tuned\nnodes: 64\nprocessor: {rate: 1 GFLOP/s}\nnetwork:\n  topology: {kind: crossbar}\n"
        "  startup: 3 us\n  bandwidth: 1 GB/s\n  receive_overhead: 400 ns\n"
        f"  algorithms:\n    - {{operation: reduce, algorithm: binomial, segment: {segment}}}\n"
    )


@pytest.mark.parametrize(("size", "segments"), [(0, 1), (2000, 1), (2001, 3), (9000, 9)])
def test_a_machine_states_segments_by_size(size: int, segments: int) -> None:
    """Of a workload that states none, in both readings; a workload's own go first, and other orders have none."""
    on = with_tuning('"where(n <= 2000, n, 1000)"')
    for more, expected in (("", segments), (", algorithm: auto", segments), (", segment: 3000", -(-size // 3000) or 1)):
        work = workload(f"- reduce: {{bytes: s, root: 2{more}}}", f"parameters: {{s: {size}}}\n")
        closed, simulated = forecast(work, on, {"P": 13}), simulate(work, on, {"P": 13}, effects="none")
        assert closed.messages == simulated.messages == 12 * expected
        assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING, abs=0)
    far = workload("- reduce: {bytes: 9000, order: far}")
    assert forecast(far, on, {"P": 13}).messages == simulate(far, on, {"P": 13}).messages == 12


@pytest.mark.parametrize(("segment", "words"), [("m/2", "the name n"), ("[1]", "segment")])
def test_segments_depend_on_the_bytes_alone(segment: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        with_tuning(segment)


def test_a_program_in_python() -> None:
    @sc.program
    def program(rank: int, size: int) -> Iterator[object]:
        yield sc.rank.world.reduce(bytes=9000, segment=2000)

    machine = builders.machine(builders.network(64, **CONSTANTS, receive_overhead_s=4e-7))
    times_s = {
        round(read(work, machine, {"P": 13}, **more).makespan_s, 15)
        for work in (program, workload("- reduce: {bytes: 9000, segment: 2000}"))
        for read, more in ((forecast, {}), (simulate, {"effects": "none"}))
    }
    assert len(times_s) == 1


@pytest.mark.parametrize(
    "constants",
    [
        {**CONSTANTS, "rendezvous_above_bytes": 100.0},
        {"model": "loggop", "latency_s": 3e-6, "overhead_s": 1e-6, "gap_s": 2e-6, "per_byte_s": 2e-9},
    ],
)
def test_it_has_no_closed_form_elsewhere(constants: dict[str, object]) -> None:
    machine = builders.machine(builders.network(8, **constants))
    work = workload("- reduce: {bytes: 9000, segment: 1000}")
    with pytest.raises(InputError, match=r"reduce \(binomial\).*algorithm: chain; or simulate it"):
        forecast(work, machine, {"P": 8})
    assert simulate(work, machine, {"P": 8}, effects="none").messages == 9 * 7
