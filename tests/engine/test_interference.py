"""Kernels that messages of their rank slow down: times by hand, in both engines."""

from __future__ import annotations

from random import Random

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.effects import effect_named
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from simcodesign.generate import lower
from tests.builders import read_machine, workload

#: A flop takes 1 s on an accelerator and on a processor, a message of n bytes 1 s + n/4 s.
FASTER = "startup: 1 s, bandwidth: 4 B/s"


def machine(interference: str = "25 %", network: str = FASTER) -> Machine:
    return read_machine(
        f"simcodesign: 1\nname: m\nnodes: 8\nprocessor: {{rate: 1 FLOP/s}}\n"
        f"network: {{topology: {{kind: crossbar}}, {network}}}\n"
        f"accelerator: {{count: 1, rate: 1 FLOP/s, interference: {interference}, link: {{bandwidth: 1 B/s}}}}\n"
    )


def kernel(flops: float) -> str:
    return f"- compute: {{on: accelerator, flops: {flops}}}\n"


def started(what: str, name: str = "x") -> str:
    return f"- {{start: {{{what}}}, as: {name}}}\n"


#: On two ranks 1 + 12/4 = 4 s; with a quarter of the rate lost, 3 s of a kernel are done in 4 s.
SUM = "allreduce: {bytes: 12, algorithm: recursive_doubling}"
WAIT = "- wait: x\n"
TIMES = [
    # The kernel outlasts the message: the quarter of 4 s is lost.
    (started(SUM) + kernel(10) + WAIT, 10, 11),
    # It is over before, at 3/4 of its rate.
    (started(SUM) + kernel(1.5) + kernel(12) + WAIT, 13.5, 14.5),
    (started(SUM) + kernel(3) + kernel(3) + WAIT, 6, 7),
    (started(SUM) + kernel(4.5) + WAIT, 4.5, 5.5),
    # Work of the processor is not slowed, and the message passes meanwhile.
    (started(SUM) + "- compute: {flops: 3}\n" + kernel(5) + WAIT, 8, 8.25),
    (started(SUM) + "- compute: {flops: 4}\n" + kernel(5) + WAIT, 9, 9),
    # Two messages at a time cost as much as one: in flight from 0 to 4 s.
    (started(SUM) + started(SUM, "y") + kernel(10) + "- wait: [x, y]\n", 10, 11),
    # Nothing is left of the message after its wait.
    (started(SUM) + kernel(1) + WAIT + kernel(5), 9, 9),
    # A kernel that is started, while the rank sends: from 2 to 6 s.
    (started("compute: {on: accelerator, flops: 10}") + "- compute: {flops: 2}\n- " + SUM + "\n" + WAIT, 10, 11),
    # Again in each iteration.
    ("- repeat: 3\n  do:\n  " + "  ".join((started(SUM) + kernel(10) + WAIT).splitlines(True)), 30, 33),
    # A copy is no message, and without overlap nothing is slowed.
    (started("copy: {to: host, bytes: 4}") + kernel(10) + WAIT + "- " + SUM, 14, 14),
    ("- " + SUM + "\n" + kernel(10), 14, 14),
    # Of a message from rank 0 to rank 1 both kernels are slowed by 4 s / 4.
    (
        "- {start: {send: {to: 1, bytes: 12, when: rank == 0}}, as: x}\n"
        "- {start: {receive: {from: 0, when: rank == 1}}, as: y}\n" + kernel(8) + "- wait: [x, y]\n",
        8,
        9,
    ),
]


@pytest.mark.parametrize(("program", "alone_s", "slowed_s"), TIMES)
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_times_by_hand(program: str, alone_s: float, slowed_s: float, engine: str) -> None:
    load = workload(program)
    assert simulate(load, machine(), {"P": 2}, effects="none", engine=engine).makespan_s == alone_s
    slowed = simulate(load, machine(), {"P": 2}, effects="interference", engine=engine)
    assert slowed.makespan_s == pytest.approx(slowed_s, rel=1e-12)
    assert simulate(load, machine("0"), {"P": 2}, effects="interference", engine=engine).makespan_s == alone_s


@pytest.mark.parametrize(
    ("what", "in_flight_s"),
    [
        # 2 (4 - 1) rounds of 1 + (16/4)/4 s
        ("allreduce: {bytes: 16, algorithm: ring}", 12),
        # 2 rounds of 1 + 16/4 s
        ("allreduce: {bytes: 16, algorithm: recursive_doubling}", 10),
        # 3 messages of 1 + 16/4 s
        ("all_to_all: {bytes: 16, algorithm: pairwise}", 15),
    ],
)
def test_a_collective_is_in_flight_for_its_closed_form(what: str, in_flight_s: float) -> None:
    slowed = simulate(workload(started(what) + kernel(40) + WAIT), machine(), {"P": 4}, effects="interference")
    assert slowed.makespan_s == pytest.approx(40 + in_flight_s / 4, rel=1e-12)


def test_a_receive_lasts_until_its_overhead_is_over() -> None:
    """2 rounds of 1 + 16/4 + 1/2 s."""
    on, what = machine(network=f"{FASTER}, receive_overhead: 0.5 s"), "allreduce: {bytes: 16}"
    slowed = simulate(workload(started(what) + kernel(40) + WAIT), on, {"P": 4}, effects="interference")
    assert slowed.makespan_s == pytest.approx(40 + 11 / 4, rel=1e-12)


def test_in_loggops_a_message_is_in_flight_until_its_last_byte_is_there() -> None:
    """Overhead, latency, 4 bytes after the first and the overhead of the receiver: 1 + 1 + 1 + 1 s. The processor sends for
    1 s before the kernel, and receives for 2 s after it."""
    on = machine(network="model: loggop, L: 1 s, o: 1 s, g: 1 s, G: 0.25 s/B")
    load = workload(started("allreduce: {bytes: 5}") + kernel(10) + WAIT)
    times_s = [simulate(load, on, {"P": 2}, effects=effect).makespan_s for effect in ("none", "interference")]
    assert times_s == pytest.approx([13, 14], rel=1e-12)


def test_a_message_that_does_not_hold_its_sender_is_in_flight_until_it_arrives() -> None:
    on = machine(network=f"{FASTER}, sends: nonblocking")
    load = workload(started(SUM) + kernel(10) + WAIT)
    assert simulate(load, on, {"P": 2}, effects="interference").makespan_s == pytest.approx(11, rel=1e-12)


def test_it_is_a_rung_where_messages_pass_beside_kernels() -> None:
    load = workload(started(SUM) + kernel(10) + WAIT)
    rungs = {rung.effect: rung for rung in sc.compare(load, machine(), {"P": 2}).rungs}
    assert rungs["interference"].change_s == pytest.approx(1, rel=1e-12)
    acts = effect_named("interference").acts_on
    assert acts(load, machine())
    assert not acts(load, machine("0"))
    assert not acts(workload("- " + SUM + "\n" + kernel(10)), machine())


@pytest.mark.parametrize("seed", range(20))
def test_it_does_not_matter_into_how_many_kernels_work_is_divided(seed: int) -> None:
    """W seconds of kernels beside a message of m seconds take W + f min(W/(1 - f), m)."""
    chance = Random(seed)
    parts = [chance.uniform(0.1, 2) for _ in range(chance.randint(1, 9))]
    share = chance.uniform(0.05, 0.9)
    load = workload(started(SUM) + "".join(map(kernel, parts)) + WAIT)
    slowed_s = sum(parts) + share * min(sum(parts) / (1 - share), 4)
    simulated = simulate(load, machine(str(share)), {"P": 2}, effects="interference")
    assert simulated.makespan_s == pytest.approx(max(slowed_s, 4), rel=1e-9)


def test_ranks_that_do_the_same_are_still_simulated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    load = workload("- repeat: 40\n  do:\n  " + "  ".join((started(SUM) + kernel(10) + WAIT).splitlines(True)))
    every = simulate(load, machine(), {"P": 8}, effects="interference")
    monkeypatch.setattr(lower, "MIN_BY_CLASS", 1)
    plan = lower.Plans(bind(load, machine(), {"P": 8}), every_rank=False).plan(("interference",))
    assert plan.ranks == 1
    once = simulate(load, machine(), {"P": 8}, effects="interference")
    assert every.makespan_s == once.makespan_s
    # 3 rounds of 4 s: 10/(3/4) s are more than 12 s.
    assert every.makespan_s == pytest.approx(40 * min(10 / 0.75, 10 + 12 / 4), rel=1e-12)


@pytest.mark.parametrize("value", ["1", "-0.1", "150 %", "fast"])
def test_other_fractions_are_refused(value: str) -> None:
    with pytest.raises(InputError, match="interference"):
        machine(value)
