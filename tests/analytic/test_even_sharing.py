"""Closed forms of operations whose messages share links evenly: the simulation under fair sharing, and numbers by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.compare import compare
from simcodesign.core.forecast_parts import SharedLinks
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.builders import machine, network, read_machine, workload

TREE = "broadcast: {bytes: 1000, algorithm: binomial, order: near}"
EXCHANGE = "allreduce: {bytes: 1000}"
#: Rounding of some hundred sums, and of the times of flows to 43 bits.
CLOSE = 1e-11


def grid(
    kind: str,
    *shape: int,
    network: str = "sends: blocking, startup: 2 us, bandwidth: 1 GB/s",
    sharing: str = "max_min",
    topology: str = "",
) -> Machine:
    """A machine of a mesh or torus."""
    return read_machine(
        f"simcodesign: 1\nname: test\nnodes: {math.prod(shape)}\nprocessor: {{rate: 1 GFLOP/s}}\n"
        f"network: {{{network}, sharing: {sharing}, topology: {{kind: {kind}, shape: {[*shape]}{topology}}}}}\n"
    )


def shared(step: str, machine: Machine, ranks: int | None = None) -> SharedLinks | None:
    return forecast(workload(f"- {step}"), machine, {"P": ranks or machine.nodes}).shared_links


def simulated_s(step: str, machine: Machine, ranks: int | None = None, effects: str = "links") -> float:
    at = {"P": ranks or machine.nodes}
    return float(simulate(workload(f"- {step}"), machine, at, effects=effects, engine="simpy").makespan_s)


@pytest.mark.parametrize("step", [TREE, EXCHANGE])
@pytest.mark.parametrize("kind", ["mesh", "torus"])
@pytest.mark.parametrize(
    "shape", [(2,), (4,), (8,), (16,), (32,), (2, 2, 2), (4, 4), (2, 8), (8, 2), (4, 1, 8), (4, 4, 4), (2, 4, 2, 4)]
)
def test_the_simulation_of_every_grid(step: str, kind: str, shape: tuple[int, ...]) -> None:
    times = shared(step, grid(kind, *shape))
    assert times is not None
    assert simulated_s(step, grid(kind, *shape)) == pytest.approx(times.makespan_s, rel=CLOSE)


@pytest.mark.parametrize("step", [TREE, EXCHANGE])
@pytest.mark.parametrize("dimensions", range(1, 5))
@pytest.mark.parametrize("digits", range(1, 7))
def test_times_of_lines_and_rings_by_hand(step: str, digits: int, dimensions: int) -> None:
    shape = (2**digits,) * dimensions
    on_line, on_ring = 2**digits - 1, 1 if digits == 1 else 2 ** (digits - 1) - 1 + 2 ** (digits - 2)
    for kind, count in (("mesh", on_line), ("torus", on_ring)):
        times = shared(step, grid(kind, *shape))
        assert times is not None
        assert times.makespan_s == pytest.approx(dimensions * (digits * 2e-6 + count * 1e-6), rel=1e-12)
        (operation,) = times.operations
        assert operation.alone_s == pytest.approx(dimensions * digits * 3e-6, rel=1e-12)


@settings(max_examples=examples(40))
@given(
    step=st.sampled_from([TREE, EXCHANGE]),
    kind=st.sampled_from(["mesh", "torus"]),
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    digits=st.integers(1, 5),
    holds=st.booleans(),
    latency_us=st.integers(0, 5),
    receive_us=st.integers(0, 5),
    per_hop=st.booleans(),
    unequal=st.booleans(),
)
def test_where_there_is_a_closed_form_it_is_the_simulation(
    step: str,
    kind: str,
    shape: list[int],
    digits: int,
    holds: bool,
    latency_us: int,
    receive_us: int,
    per_hop: bool,
    unequal: bool,
) -> None:
    shape[-1] = 2 ** max(1, shape[-1].bit_length() - 1)
    ranks = 2 ** min(digits, int(math.log2(math.prod(shape))))
    bandwidths = f", bandwidth: [{', '.join(f'{1 + place} GB/s' for place in range(len(shape)))}]" if unequal else ""
    case = grid(
        kind,
        *shape,
        network=f"sends: blocking, startup: 2 us, bandwidth: 2 GB/s, hop_latency: {latency_us} us, receive_overhead: {receive_us} us, "
        f"hops_hold_sender: {str(holds).lower()}, startup_per: {'hop' if per_hop else 'message'}",
        topology=bandwidths,
    )
    times = shared(step, case, ranks)
    if times is not None:
        assert simulated_s(step, case, ranks) == pytest.approx(times.makespan_s, rel=CLOSE)
    elif step is EXCHANGE:
        assert any(extent & (extent - 1) for extent in shape)  # the ranks do not fill their lines


@pytest.mark.parametrize("step", [TREE, EXCHANGE])
def test_full_duplex_interfaces_as_fast_as_links_change_nothing(step: str) -> None:
    times, case = shared(step, grid("mesh", 4, 4)), grid("mesh", 4, 4)
    assert times is not None
    assert simulated_s(step, case, effects="links,interfaces") == pytest.approx(times.makespan_s, rel=CLOSE)


@pytest.mark.parametrize("step", [TREE, EXCHANGE])
def test_messages_in_turn_take_as_long_on_short_lines_and_less_on_long_ones(step: str) -> None:
    # The ranks whose messages come first begin the next round before the others.
    def in_turn_s(hosts: int) -> float:
        return simulated_s(
            step, grid("mesh", hosts, network="sends: blocking, startup: 0 us, bandwidth: 1 GB/s", sharing="fcfs")
        )

    assert [in_turn_s(hosts) for hosts in (2, 4, 8)] == pytest.approx([1e-6, 3e-6, 7e-6], rel=CLOSE)
    assert in_turn_s(16) < 14e-6


@pytest.mark.parametrize(
    ("case", "ranks"),
    [
        (grid("mesh", 3), 3),  # no power of two
        (grid("mesh", 4, 3), 8),  # distances that lie in two dimensions
        (grid("mesh", 4, network="model: loggop, L: 1 us, o: 1 us, g: 1 us, G: 1 ns/B"), 4),
        (machine(network(4, "crossbar", per_byte_s=1e-9, sharing="max_min")), 4),
        (grid("mesh", 4, sharing="fcfs"), 4),
        (machine(network(4, "mesh", per_byte_s=1e-9, sharing="max_min"), processors_per_node=2), 8),
        (machine(network(4, "mesh", per_byte_s=1e-9, sharing="max_min"), mapping=(0, 2, 1, 3)), 4),
    ],
)
def test_none_where_it_does_not_hold(case: Machine, ranks: int) -> None:
    assert shared(EXCHANGE, case, ranks) is None


def test_a_list_of_nodes_in_order_and_one_rank_per_node_are_as_good() -> None:
    links = network(4, "mesh", per_byte_s=1e-9, sharing="max_min")
    for mapping in ((0, 1, 2, 3), "one_per_node"):
        assert shared(EXCHANGE, machine(links, processors_per_node=2, mapping=mapping), 4) is not None


def test_phases_and_repetitions_add_up_to_the_makespan() -> None:
    program = workload(f"- compute: {{seconds: 1}}\n- repeat: 5\n  phase: sums\n  do:\n  - {EXCHANGE}\n- barrier: {{}}")
    compared = compare(program, grid("mesh", 8), {"P": 8}, effects="links")
    times = compared.forecast.shared_links
    assert times is not None
    (operation,) = times.operations
    assert (operation.phase, operation.operation, operation.times) == ("sums", "allreduce (recursive doubling)", 5)
    assert operation.shared_s == pytest.approx(5 * (3 * 2e-6 + 7e-6))
    assert compared.simulation.makespan_s == pytest.approx(times.makespan_s, rel=CLOSE)
