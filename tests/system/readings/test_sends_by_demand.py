"""How the messages of a collective are sent: by its key ``sends``, as its algorithm sends, or as the machine does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.demands.collective import ALGORITHM_SENDS, SIGNALS, every_algorithm
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.hockney import BLOCKING, NONBLOCKING, SENDS
from simcodesign.describe.network.network import LocalMessages
from simcodesign.engine.simulate import simulate
from tests import builders, examples
from tests.builders import closed_forms

#: At most some thousand sums follow one another, each rounded to 1.1e-16.
ROUNDING = 1e-12
#: A message of 1000 bytes: 4 us and 1 us for its bytes.
STARTUP_S, BYTES_S = 4e-6, 1e-6


def machine(sends: str, **more: Any) -> Machine:
    network = builders.network(16, startup_s=STARTUP_S, per_byte_s=1e-9, sends=sends, **more)
    return builders.machine(network)


def both_s(program: str, on: Machine, ranks: int = 8) -> tuple[float, float]:
    work = builders.workload(program)
    simulated = simulate(work, on, {"P": ranks}, effects="none")
    return float(closed_forms(work, on, {"P": ranks}).makespan_s), simulated.makespan_s


@pytest.mark.parametrize("on", SENDS)
@pytest.mark.parametrize(("sends", "expected_s"), [(BLOCKING, 7 * 5e-6), (NONBLOCKING, 7 * 4e-6 + 1e-6)])
def test_a_demand_says_how_it_sends(on: str, sends: str, expected_s: float) -> None:
    """The root of 8 ranks begins a message every 5 us, or every 4 us; the last one has its bytes 1 us after its startup."""
    program = f"- broadcast: {{bytes: 1000, algorithm: linear, sends: {sends}}}"
    assert both_s(program, machine(on)) == pytest.approx((expected_s, expected_s), rel=ROUNDING)


@pytest.mark.parametrize(("sends", "expected_s"), [("", 7 * 5e-6), (", sends: nonblocking", 7 * 4e-6 + 1e-6)])
def test_a_scatter_sends_as_libraries_do(sends: str, expected_s: float) -> None:
    """Blocking, on a machine of nonblocking sends, unless the demand says otherwise; the binomial one has 3 messages of 4,
    2 and 1 blocks after one another from the root."""
    linear = f"- scatter: {{bytes: 1000, algorithm: linear{sends}}}"
    assert both_s(linear, machine(NONBLOCKING)) == pytest.approx((expected_s, expected_s), rel=ROUNDING)
    binomial = f"- scatter: {{bytes: 1000{sends}}}"
    whole_s = 3 * 4e-6 + 7e-6 if not sends else max(3 * 4e-6 + 7e-6, 3 * 4e-6 + 1e-6)
    assert both_s(binomial, machine(NONBLOCKING)) == pytest.approx((whole_s, whole_s), rel=ROUNDING)


def test_other_demands_of_the_program_send_as_the_machine_does() -> None:
    """7 messages 4 us apart, then 7 messages 5 us apart; ranks of the second one wait for the root alone."""
    program = "- broadcast: {bytes: 1000, algorithm: linear}\n- scatter: {bytes: 1000, algorithm: linear}"
    simulated = simulate(builders.workload(program), machine(NONBLOCKING), {"P": 8}, effects="none")
    assert simulated.makespan_s == pytest.approx(7 * 4e-6 + 7 * 5e-6, rel=ROUNDING)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    sends = draw(st.sampled_from(SENDS))
    constants: dict[str, Any] = {
        "receive_overhead_s": draw(st.sampled_from([0.0, 4e-7])),
        "hop_latency_s": draw(st.sampled_from([0.0, 3e-7])),
        "rendezvous_above_bytes": draw(st.sampled_from([None, None, 800.0])),
        "sharing": draw(st.sampled_from(["fcfs", "max_min", "round_robin"])),
    }
    if sends == BLOCKING:
        constants["hops_hold_sender"] = draw(st.booleans())
    inside, per_node, inner = draw(st.sampled_from(["as outside", "constants", "network"])), 1, {}
    if inside == "constants":
        constants["node"], per_node = LocalMessages(5e-7, 2e-10), 3
    elif inside == "network":  # whose messages may hold their receivers
        alike = {"sends": sends, "sharing": constants["sharing"], "hop_latency_s": draw(st.sampled_from([0.0, 2e-7]))}
        alike["hops_hold_sender"] = constants.get("hops_hold_sender", True)
        holds, per_node = draw(st.booleans()), draw(st.sampled_from([2, 3, 8]))
        own = builders.network(per_node, startup_s=1e-6, per_byte_s=4e-10, holds_receiver=holds, **alike)
        inner = {"node_network": own}
    network = builders.network(8, startup_s=3e-6, per_byte_s=1e-9, sends=sends, **constants)
    return builders.machine(network, processors_per_node=per_node, **inner)


@settings(max_examples=examples(12))
@given(
    machines(),
    st.lists(st.tuples(st.sampled_from(every_algorithm()), st.sampled_from([None, *SENDS])), min_size=1, max_size=3),
    st.integers(1, 8),
)
def test_readings_and_engines(on: Machine, steps: list[tuple[tuple[str, str], str | None]], ranks: int) -> None:
    """One operation takes the forecast without effects; several take the same in both engines with all effects, too."""
    lines = []
    for (operation, algorithm), sends in steps:
        size = "" if operation in SIGNALS else "bytes: 1000, "
        how = "" if sends is None else f", sends: {sends}"
        lines.append(f"- {operation}: {{{size}{builders.algorithm_entry(operation, algorithm)}{how}}}")
    if len(steps) == 1:
        assert (times := both_s(lines[0], on, ranks))[0] == pytest.approx(times[1], rel=ROUNDING)
    work = builders.workload("\n".join(lines))
    runs = [
        simulate(work, on, {"P": ranks}, effects="hops,links,interfaces,node", engine=one)
        for one in ("simpy", "compiled")
    ]
    assert runs[0].makespan_s == runs[1].makespan_s
    assert runs[0].ranks.busy_s.tolist() == runs[1].ranks.busy_s.tolist()


def test_shared_links_hold_senders_by_demand() -> None:
    """With fair shares, a blocking sender goes on when its bytes have passed, a nonblocking one after the startup."""
    for sharing in ("max_min", "round_robin"):
        for on in SENDS:
            times = [
                simulate(
                    builders.workload(f"- broadcast: {{bytes: 1000, algorithm: linear, sends: {sends}}}"),
                    machine(on, sharing=sharing),
                    {"P": 8},
                    effects="links,interfaces",
                ).makespan_s
                for sends in SENDS
            ]
            same = simulate(
                builders.workload("- broadcast: {bytes: 1000, algorithm: linear}"),
                machine(on, sharing=sharing),
                {"P": 8},
                effects="links,interfaces",
            ).makespan_s
            assert times[0] == pytest.approx(7 * 5e-6, rel=1e-9)
            assert times[1] == pytest.approx(7 * 4e-6 + 1e-6, rel=1e-9)
            assert same == times[SENDS.index(on)]


def test_loggops_has_its_own_rule() -> None:
    network = builders.network(8, model="loggop", latency_s=1e-6, overhead_s=1e-6, gap_s=2e-6, per_byte_s=1e-9)
    on = builders.machine(network)
    plain, stated = ("- broadcast: {bytes: 100}", "- broadcast: {bytes: 100, sends: blocking}")
    assert both_s(plain, on) == both_s(stated, on)


def test_errors_name_what_is_allowed() -> None:
    with pytest.raises(InputError, match=r"sends.*blocking, nonblocking"):
        builders.workload("- broadcast: {bytes: 100, sends: later}")
    assert set(ALGORITHM_SENDS) <= set(every_algorithm())


def node_of(sends: str, holds: bool) -> Machine:
    alike: dict[str, Any] = {"sends": sends, "receive_overhead_s": 4e-7}
    node = builders.network(3, startup_s=1e-6, per_byte_s=4e-10, holds_receiver=holds, **alike)
    outer = builders.network(8, startup_s=STARTUP_S, per_byte_s=1e-9, **alike)
    return builders.machine(outer, processors_per_node=3, node_network=node)


@pytest.mark.parametrize("sends", SENDS)
@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("algorithm", ["linear", "binomial"])
def test_programs_in_python_send_as_files_do(sends: str, holds: bool, algorithm: str) -> None:
    """A scatter of its own way of sending, after a broadcast as the machine sends, over nodes that hold receivers."""

    @sc.program
    def program(rank: int, size: int) -> Iterator[Any]:
        yield sc.rank.world.broadcast(bytes=1000, algorithm="linear")
        yield sc.rank.world.scatter(bytes=1000, algorithm=algorithm)

    text = f"- broadcast: {{bytes: 1000, algorithm: linear}}\n- scatter: {{bytes: 1000, algorithm: {algorithm}}}"
    for effects in ("none", "hops,links,interfaces,node"):
        times = {
            simulate(work, node_of(sends, holds), {"P": 8}, effects=effects, engine=engine).makespan_s
            for work in (program, builders.workload(text))
            for engine in ("simpy", "compiled")
        }
        assert len(times) == 1


@pytest.mark.parametrize("holds", [False, True])
def test_the_longest_path_sends_as_algorithms_do(holds: bool) -> None:
    """After a scatter, which holds its root on a machine that holds no senders, the root sends to rank 1."""

    @sc.program
    def program(rank: int, size: int) -> Iterator[Any]:
        yield sc.rank.world.scatter(bytes=1000, algorithm="linear")
        if rank < 2:
            yield sc.rank.send(1, bytes=8) if rank == 0 else sc.rank.receive(0)

    on = node_of(NONBLOCKING, holds)
    path = forecast(program, on, {"P": 8}).longest_path
    assert path is not None
    assert path.time_s == pytest.approx(simulate(program, on, {"P": 8}, effects="none").makespan_s, rel=ROUNDING)


def test_programs_in_python_have_no_key_for_it() -> None:
    @sc.program
    def program(rank: int, size: int) -> Iterator[Any]:
        yield sc.rank.world.broadcast(bytes=1000, sends=BLOCKING)

    with pytest.raises(InputError, match=r"sends.*bytes, root, algorithm"):
        simulate(program, machine(NONBLOCKING), {"P": 8})
