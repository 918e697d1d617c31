"""``collectives: open_mpi`` for rooted operations: segments in groups, from any root, within nodes and between them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.engine.simulate import simulate
from tests import examples
from tests.builders import closed_forms, read_machine, workload

ROUNDING = 1e-12
MACHINE = """
simcodesign: 1
name: here
nodes: 16
processors_per_node: {per_node}
processor: {{rate: 1 GFLOP/s}}
network: {{startup: 5 us, bandwidth: 1 GB/s, sends: {sends}, receive_overhead: {receive}, reduction: 4 GB/s,
  topology: {{kind: crossbar}}{local}}}
{inside}
collectives: open_mpi
"""
LOCAL = (", node: {startup: 1 us, bandwidth: 5 GB/s}", "")
INSIDE = (
    "",
    "node: {network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 4 GB/s, holds_receiver: true}}",
)


@settings(max_examples=examples(60))
@given(
    st.sampled_from([(1, *LOCAL[1:], ""), (2, LOCAL[0], ""), (4, "", INSIDE[1]), (4, LOCAL[0], ""), (2, "", "")]),
    st.sampled_from(["blocking", "nonblocking"]),
    st.sampled_from(["0 s", "400 ns", "6 us"]),
    st.sampled_from(["broadcast", "reduce", "gather", "scatter"]),
    st.sampled_from([100, 3000, 20_000, 200_000]),
    st.integers(1, 16),
    st.sampled_from(["", ", group: g", ", root: P - 1"]),
)
def test_both_readings_take_the_same_algorithm_in_the_same_segments(
    node: tuple[int, str, str], sends: str, receive: str, operation: str, size: int, ranks: int, more: str
) -> None:
    """Messages, bytes and times, rank by rank where messages cross levels; bounds hold."""
    per_node, local, inside = node
    machine = read_machine(MACHINE.format(per_node=per_node, sends=sends, receive=receive, local=local, inside=inside))
    work = workload(f"- {operation}: {{bytes: {size}, algorithm: auto{more}}}\n", "groups: {g: rank // 5}\n")
    closed = closed_forms(work, machine, {"P": ranks}, bounds=True)
    simulated = simulate(work, machine, {"P": ranks}, effects="none")
    assert simulated.messages == closed.messages
    assert simulated.makespan_s == pytest.approx(closed.makespan_s, rel=ROUNDING, abs=0)
    if closed.bounds is not None:
        limits = closed.bounds.least_s(()), closed.bounds.upper_s
        assert limits[0] * (1 - 1e-9) <= simulated.makespan_s <= limits[1] * (1 + 1e-9)
