"""Operations that follow one another: the pipelined closed forms, what they claim, and what bounds the sum.

The oracle is the simulation without effects, in which every message is sent and every rank goes on as soon as it can.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.demands.base import closed_form
from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.pipelining.sequences import Chain
from simcodesign.analytic.pipelining.succession import Operation
from simcodesign.core.forecast_parts import Pipelined
from simcodesign.describe.demands.collective import ON_NODES
from simcodesign.describe.design_point import bind
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.machine import Machine
from simcodesign.describe.topology.build import build_topology
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.builders import machine, network, network_of, workload
from tests.random_programs import operations, readings

#: Some thousand additions.
ROUNDING = 1e-12


def hockney(startup_s: float, flight_s: float = 0.0, receive_s: float = 0.0, per_byte_s: float = 0.0) -> Machine:
    """A crossbar: c, f and r of ``message_costs``."""
    times = {"startup_s": startup_s, "receive_overhead_s": receive_s, "per_byte_s": per_byte_s}
    hops = {"hop_latency_s": flight_s, "hops_hold_sender": False, "distance": "one"}
    return machine(network(64, **times, **(hops if flight_s else {"distance": "none"})))


def simulated_s(program: str, where: Machine, ranks: int) -> float:
    return float(simulate(workload(program), where, {"P": ranks}, effects="none").makespan_s)


def pipelined_of(program: str, where: Machine, ranks: int) -> Pipelined:
    pipelined = forecast(workload(program), where, {"P": ranks}).pipelined
    assert pipelined is not None
    return pipelined


# ----------------------------------------------------------------------------------------------------------------------
# Broadcasts


@settings(max_examples=examples(500))
@given(
    algorithm=st.sampled_from(("binomial", "linear")),
    ranks=st.integers(1, 40),
    times=st.integers(1, 6),
    startup=st.sampled_from((0.0, 1.0, 4.0)),
    flight=st.sampled_from((0.0, 0.0, 3.0, 30.0)),
    receive=st.sampled_from((0.0, 1.0, 6.0, 30.0)),
    size=st.sampled_from((0, 8, 1000)),
    compute=st.sampled_from((0.0, 5.0)),
)
def test_broadcasts_in_a_row(algorithm, ranks, times, startup, flight, receive, size, compute) -> None:
    where = hockney(startup, flight, receive, 1e-3)
    program = (
        f"- repeat: {times}\n  do:\n  - compute: {{seconds: {compute}}}\n"
        f"  - broadcast: {{bytes: {size}, algorithm: {algorithm}}}"
    )
    pipelined = pipelined_of(program, where, ranks)
    assert pipelined.makespan_s == pytest.approx(simulated_s(program, where, ranks), rel=ROUNDING)


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("c", "f", "r"), [(4.0, 0.0, 0.0), (4.0, 0.0, 1.0), (4.0, 0.0, 9.0), (4.0, 30.0, 7.0)])
def test_binomial_broadcasts_of_full_trees_by_hand(depth: int, c: float, f: float, r: float) -> None:
    """The first goes all the way down; then the root, or its first child where receives take longer, is busy."""
    by_hand = depth * (c + f + r) + 9 * ((depth - 1) * c + max(c, r))
    pipelined = pipelined_of("- repeat: 10\n  do: [broadcast: {bytes: 8}]", hockney(c, f, r), 2**depth)
    assert pipelined.makespan_s == pytest.approx(by_hand, rel=ROUNDING)


@pytest.mark.parametrize("ranks", [2, 8, 16])
def test_the_sum_of_ten_broadcasts_is_far_from_them(ranks: int) -> None:
    """Startup and receive overhead 1 us, 8 bytes at 1 GB/s."""
    result = forecast(
        workload("- {phase: all, repeat: 10, do: [broadcast: {bytes: 8}]}"),
        hockney(1e-6, 0.0, 1e-6, 1e-9),
        {"P": ranks},
    )
    assert result.pipelined is not None
    depth = np.log2(ranks)
    assert result.makespan_s == pytest.approx(10 * depth * 2.008e-6)
    assert result.pipelined.makespan_s == pytest.approx(depth * (2.008e-6 + 9 * 1.008e-6))
    (sequence,) = result.pipelined.sequences
    assert (sequence.phase, sequence.operations, sequence.times) == ("all", "broadcast (binomial) x 10", 1)
    assert sequence.sum_s - sequence.saved_s == sequence.pipelined_s == pytest.approx(result.pipelined.makespan_s)


def test_a_part_of_a_broadcast_takes_its_share() -> None:
    for times, expected in ((0.5, 0.5 * 15), (1, 15), (1.5, 15 + 0.5 * 12)):
        pipelined = pipelined_of(f"- repeat: {times}\n  do: [broadcast: {{bytes: 8}}]", hockney(4.0, 0.0, 1.0), 8)
        assert pipelined.makespan_s == pytest.approx(expected)


# ----------------------------------------------------------------------------------------------------------------------
# What is said of operations


def operation_at(text: str, where: Machine, ranks: int) -> Operation:
    (step,) = Evaluation.at_points(bind(workload(f"- {text}"), where, {"P": ranks})).program.demands()
    form = closed_form(step.demand)
    result = form.operation(step.demand, step, form.charge(step.demand, step))
    assert result is not None
    return result


def longest_chains_s(text: str, where: Machine, ranks: int) -> np.ndarray:
    """M[i, j], from the end of each rank when rank j begins so late that whoever ends later has waited for it."""
    late_s, columns = 1e6, []
    for rank in range(ranks):
        program = workload(f"- compute: {{seconds: {late_s}, when: rank == {rank}}}\n- {text}")
        times = simulate(program, where, {"P": ranks}, effects="none").ranks
        assert times is not None
        columns.append(np.where(times.end_s >= late_s, times.end_s - late_s, -np.inf))
    return np.array(columns).T


@pytest.mark.parametrize("text", [text.replace("BYTES", "8") for text in operations()])
@pytest.mark.parametrize("ranks", [6, 8, pytest.param(13, marks=pytest.mark.thorough)])
def test_what_operations_claim(text: str, ranks: int) -> None:
    for where in (hockney(4.0, 0.0, 1.0), hockney(4.0, 3.0, 7.0)):
        operation = operation_at(text, where, ranks)
        chains_s = longest_chains_s(text, where, ranks)
        end_s = chains_s.max(axis=1)
        assert end_s.max() == pytest.approx(operation.time_s)
        assert not operation.ends_together or end_s.min() == pytest.approx(operation.time_s)
        assert not operation.waits_for_all or chains_s.min() == pytest.approx(operation.time_s)
        whole = np.broadcast_to(operation.whole_time(), ranks)
        assert np.diag(chains_s)[whole] == pytest.approx(operation.time_s)


def test_most_operations_claim_something() -> None:
    """So that the test before this one is not empty: with Hockney's plain messages, of operations in which all ranks
    send to all, or learn of all, only those claim nothing that have no form, that fold some of 9 ranks in, or that look
    at the nodes of ranks."""
    where, nothing = hockney(4.0, 0.0, 1.0), set()
    for text in operations():
        result = operation_at(text.replace("BYTES", "8"), where, 9)
        if not (result.ends_together or result.waits_for_all or result.whole_time().any()):
            nothing.add(result.label)
    rooted = {label for label in nothing if label.partition(" ")[0] in ("broadcast", "reduce", "scatter", "gather")}
    by_nodes = {f"{name} ({algorithm.replace('_', ' ')})" for name, algorithm in ON_NODES}
    assert nothing - rooted - by_nodes == {"allreduce (rabenseifner)", "scan (linear)", "scan (recursive doubling)"}


# ----------------------------------------------------------------------------------------------------------------------
# Programs


@settings(max_examples=examples(1000))
@given(st.integers(0, 2**32))
def test_pipelined_times_of_programs(seed: int) -> None:
    """Never below the simulation, never above the sum, which bounds it, and exact unless the sum of a sequence
    stands. The argument is in ``succession``."""
    foreseen, simulated = readings(seed, "hockney")
    pipelined = foreseen.pipelined
    assert pipelined is not None
    assert pipelined.makespan_s is not None
    dust_s = ROUNDING * max(float(foreseen.makespan_s), 1e-12)
    assert simulated.makespan_s <= pipelined.makespan_s + dust_s
    assert pipelined.makespan_s <= foreseen.makespan_s + dust_s
    if all(sequence.pipelined_s is not None for sequence in pipelined.sequences):
        assert simulated.makespan_s == pytest.approx(pipelined.makespan_s, rel=ROUNDING)


def test_where_the_sum_stands() -> None:
    """The second broadcast, of another size, begins as the first one has ended: nobody has derived that."""
    pipelined = pipelined_of("[broadcast: {bytes: 8}, broadcast: {bytes: 16}, barrier: {}]", hockney(4.0, 0.0, 1.0), 8)
    (sequence,) = pipelined.sequences
    assert (sequence.operations, sequence.pipelined_s) == ("broadcast (binomial), broadcast (binomial)", None)
    assert sequence.sum_s == pipelined.makespan_s - 15 == 30


def test_operations_that_all_wait_for_cut_sequences() -> None:
    """Seven broadcasts in a row are two, twice three with the first of the next iteration, and one."""
    body = "[broadcast: {bytes: 8}, broadcast: {bytes: 8}, barrier: {}, broadcast: {bytes: 8}]"
    where = hockney(4.0, 0.0, 1.0)
    pipelined = pipelined_of(f"- repeat: 3\n  do: {body}", where, 8)
    assert [(one.operations, one.times) for one in pipelined.sequences] == [
        ("broadcast (binomial) x 3", 2),
        ("broadcast (binomial) x 2", 1),
    ]
    assert pipelined.makespan_s == pytest.approx(simulated_s(f"- repeat: 3\n  do: {body}", where, 8))


def test_equal_operations_are_one_sequence_however_they_are_written() -> None:
    one = Chain.of(Operation("p", "a", 1.0, key="a"))
    assert list((one + one).repeated(3).sequences) == list(one.repeated(6).sequences)
    assert list((one.repeated(2) + one.repeated(4)).sequences) == list(one.repeated(6).sequences)
    assert not list(one.repeated(0).sequences)
    other = Chain.of(Operation("p", "b", 1.0, key="b"))
    ((parts, count),) = (one + other).repeated(3).sequences
    assert (parts[0].words, parts[0].time_s, count) == ("(a, b) x 3", 6.0, 1.0)


@pytest.mark.parametrize(
    ("program", "where", "parameters"),
    [
        ("[broadcast: {bytes: 8}, barrier: {}]", machine(network(8, model="loggop", latency_s=1.0)), {"P": 8}),
        ("- repeat: 2\n  do: [barrier: {}, broadcast: {bytes: 8}]", machine(network(8, model="loggop")), {"P": 8}),
        ("- repeat: 1.5\n  do: [barrier: {}]", machine(network(8, model="loggop", latency_s=1.0)), {"P": 8}),
        ("[compute: {seconds: rank}, broadcast: {bytes: 8}]", hockney(1.0), {"P": 8}),
    ],
)
def test_where_none_is_given(program: str, where: Machine, parameters: dict[str, float]) -> None:
    pipelined = forecast(workload(program), where, parameters).pipelined
    assert pipelined is not None
    assert pipelined.makespan_s is None
    assert pipelined.reason
    assert not pipelined.sequences


def test_none_in_loggops_where_links_differ() -> None:
    """Ranks whose messages pass slower links are later than others."""
    topology = build_topology("fat_tree", 8, arity=2, taper=(1, 4, 2))
    where = machine(network_of(topology, model="loggop", per_byte_s=1e-9))
    assert "links differ" in pipelined_of("- repeat: 2\n  do: [barrier: {}]", where, 8).reason


def test_none_of_several_points() -> None:
    assert forecast(workload("[broadcast: {bytes: 8}]"), hockney(1.0), {"P": np.array([2, 4])}).pipelined is None


# ----------------------------------------------------------------------------------------------------------------------
# LogGOPS


def loggop(latency: float, overhead: float, gap: float, per_byte: tuple[float, float], above: float | None) -> Machine:
    """A crossbar: L, o and g in us, G and O in ns, S in bytes."""
    times = {"latency_s": latency * 1e-6, "overhead_s": overhead * 1e-6, "gap_s": gap * 1e-6}
    rates = {"per_byte_s": per_byte[0] * 1e-9, "overhead_per_byte_s": per_byte[1] * 1e-9}
    return machine(network(64, model="loggop", distance="none", rendezvous_above_bytes=above, **times, **rates))


TIMES_US = st.one_of(
    st.sampled_from((0.0, 1.0, 2.0, 5.0, 20.0, 200.0)), st.integers(0, 50_000).map(lambda ns: ns / 1000)
)
LOGGOP = st.builds(
    loggop,
    *(TIMES_US,) * 3,
    st.tuples(st.sampled_from((0.0, 1.0, 6.0)), st.sampled_from((0.0, 0.0, 1.0, 8.0))),
    st.sampled_from((None, None, 100.0)),
)
SIZES = st.sampled_from((0, 1, 50, 101, 10_001))


@settings(max_examples=examples(300))
@given(
    where=LOGGOP, ranks=st.integers(1, 64), times=st.integers(1, 20), size=SIZES, compute=st.sampled_from((0.0, 5.0))
)
def test_binomial_broadcasts_in_a_row_with_gaps(where, ranks, times, size, compute) -> None:
    """Exact, or none is given: with one byte, and where O >= G or g >= o, one is."""
    program = f"- compute: {{seconds: {compute}}}\n- repeat: {times}\n  do: [broadcast: {{bytes: {size}}}]"
    makespan_s, net = pipelined_of(program, where, ranks).makespan_s, where.network.message_model
    if makespan_s is None:
        assert size > 1
        assert net.per_byte_s > net.overhead_per_byte_s
        assert net.overhead_s > net.gap_s
    else:
        assert makespan_s == pytest.approx(simulated_s(program, where, ranks), rel=ROUNDING)


ALIKE = [
    "barrier: {}",
    "compute: {seconds: 0.000003}",
    *(f"{name}: {{bytes: BYTES, algorithm: {way}}}" for name, way in (("allreduce", "ring"), ("allgather", "ring"))),
    "allreduce: {bytes: BYTES, algorithm: recursive_doubling}",
    "all_to_all: {bytes: BYTES, algorithm: pairwise}",
    *(f"exchange: {{pattern: halo{dims}d, bytes: BYTES, periodic: true}}" for dims in (1, 2, 3)),
]
STEPS = st.builds(lambda text, size: f"{{{text.replace('BYTES', str(size))}}}", st.sampled_from(ALIKE), SIZES)


@pytest.mark.thorough
@settings(max_examples=examples(300))
@given(
    where=LOGGOP,
    ranks=st.sampled_from((1, 2, 4, 8, 16, 32)),
    body=st.lists(STEPS, min_size=1, max_size=4),
    times=st.integers(1, 9),
    last=STEPS,
)
def test_operations_that_ranks_do_alike_with_gaps(where, ranks, body, times, last) -> None:
    """Barriers, halo exchanges, allreduces ... in any order, and own work, in which gaps go by."""
    program = f"- repeat: {times}\n  do: [{', '.join(body)}]\n- {last}"
    assert pipelined_of(program, where, ranks).makespan_s == pytest.approx(
        simulated_s(program, where, ranks), rel=ROUNDING
    )


@pytest.mark.parametrize("ranks", [3, 7, 8, 64])
def test_barriers_in_a_row_by_hand(ranks: int) -> None:
    """No rank sends more often than every g = 4, with o = 1 and L = 0; the last message takes 2 o."""
    rounds = 10 * int(np.ceil(np.log2(ranks)))
    pipelined = pipelined_of(
        "- repeat: 10\n  do: [barrier: {}]", machine(network(64, model="loggop", overhead_s=1.0, gap_s=4.0)), ranks
    )
    assert pipelined.makespan_s == (rounds - 1) * 4 + 2


def test_broadcasts_in_a_row_with_gaps_by_hand() -> None:
    """The root sends 30 messages g = 4 apart; the last broadcast has 2 sends before that of the whole of its last
    message: 29 x 4 + 2 o + L, or its first goes down three levels: 27 x 4 + 3 (2 o + L)."""
    for latency_s, by_hand in ((0.0, 29 * 4 + 2), (20.0, 27 * 4 + 3 * 22)):
        where = machine(network(8, model="loggop", overhead_s=1.0, gap_s=4.0, latency_s=latency_s, distance="none"))
        assert pipelined_of("- repeat: 10\n  do: [broadcast: {bytes: 8}]", where, 8).makespan_s == by_hand


def test_no_form_for_broadcasts_whose_receivers_are_busier_than_the_root() -> None:
    """G > O, o > g: a message may find its receiver busy with those before."""
    where = loggop(7.47, 38.43, 3.033, (3.0, 0.0), None)
    pipelined = pipelined_of("- repeat: 16\n  do: [broadcast: {bytes: 1001}]", where, 4)
    assert pipelined.makespan_s is None
    assert "broadcast (binomial)" in pipelined.reason


# ----------------------------------------------------------------------------------------------------------------------
# What bounds the sum


def test_gaps_make_the_sum_too_low() -> None:
    """Ten barriers whose messages do not fly: the gap of the last round of one delays the first round of the next."""
    where = machine(network(8, model="loggop", overhead_s=1.0, gap_s=4.0))
    ten = workload("- repeat: 10\n  do: [barrier: {}]")
    assert forecast(ten, where, {"P": 8}).makespan_s == 10 * (2 * 4 + 2)
    assert simulate(ten, where, {"P": 8}, effects="none").makespan_s == 9 * 12 + 10


@pytest.mark.parametrize(
    "program",
    [
        "[{compute: {seconds: 10, when: rank == 0}}, {barrier: {}}, {compute: {seconds: 10, when: rank == 1}}]",
        "[{receive: {from: rank - 1, when: rank > 0}}, {send: {to: rank + 1, bytes: 8, when: rank < P - 1}}]",
    ],
    ids=["ranks differ", "single messages"],
)
def test_no_bound_where_ranks_differ_or_messages_stand_alone(program: str) -> None:
    """The busiest rank's sum does not have what it waits for; the longest path does."""
    where = hockney(4.0, 0.0, 1.0)
    result = forecast(workload(program), where, {"P": 8})
    assert result.sum_s is not None
    assert simulated_s(program, where, 8) > 1.3 * float(result.sum_s)
    assert simulated_s(program, where, 8) == pytest.approx(float(result.makespan_s), rel=1e-12)


def test_ranks_that_are_too_many_to_look_at() -> None:
    """A closed form of a thousand million ranks takes no memory for each of them."""
    where = machine(network(1_000_000_000, startup_s=1.0, distance="none"))
    program = (
        "- broadcast: {bytes: 8, algorithm: binomial}\n- barrier: {}\n- broadcast: {bytes: 8, algorithm: binomial}"
    )
    result = forecast(workload(program), where, {"P": 1_000_000_000})
    assert result.pipelined == Pipelined(None, reason="more than 1e+07 ranks")
    assert result.makespan_s == pytest.approx(3 * 30)
