"""Groups, roots and conditions that depend on the index of a loop, in both readings; and what is wrong with them, each
one error with its place."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import SEND
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from tests import builders, examples
from tests.builders import closed_forms
from tests.describe.test_resources import machine as machine_with_resources
from tests.shipped_pairs import POWER

STARTUP_S, PER_BYTE_S = 1e-6, 1e-9


def machine() -> Machine:
    """Of messages alone."""
    return builders.machine(builders.network(64, startup_s=STARTUP_S, per_byte_s=PER_BYTE_S, sends="blocking"))


def loop(steps: str, colour: str = "rank // 2", repeat: str = "4") -> str:
    """A file: a loop over k of steps in groups of these colours."""
    head = f"groups: {{g: '{colour}'}}\nparameters: {{n: {{default: 4}}}}\n"
    program = steps if repeat == "" else f"- repeat: {repeat}\n  index: k\n  do:\n    {steps}"
    return head + "program:\n" + program


def read(text: str) -> Any:
    """The workload of such a file."""
    head, _, program = text.partition("program:\n")
    return builders.workload(program, head)


@pytest.mark.parametrize("ranks", [8, 16, 64])
def test_recursive_halving_by_hand(ranks: int) -> None:
    """Groups of P, P/2, ..., 2 ranks; in each, every rank exchanges half of what is left of n bytes with one rank."""
    rounds = ranks.bit_length() - 1
    half = "group_size/2"
    colour = "rank // (P / 2**k)"
    steps = (
        f"- send: {{to: 'where(group_rank < {half}, group_rank + {half}, group_rank - {half})', bytes: 1024/2**k, group: g}}\n"
        f"    - receive: {{from: 'where(group_rank < {half}, group_rank + {half}, group_rank - {half})', group: g}}\n"
    )
    workload = read(loop(steps, colour, "log2(P)"))
    expected = rounds * STARTUP_S + 1024 * (2 - 2 / ranks) * PER_BYTE_S
    forecasted, simulated = (
        closed_forms(workload, machine(), {"P": ranks}),
        simulate(workload, machine(), {"P": ranks}, effects="none"),
    )
    assert forecasted.makespan_s == pytest.approx(expected, rel=1e-12)
    assert simulated.makespan_s == pytest.approx(expected, rel=1e-12)
    assert forecasted.messages == simulated.messages == ranks * rounds
    points = closed_forms(
        read(loop("- allreduce: {bytes: 8, group: g}\n", "rank // 2**k", "3")), machine(), {"P": np.array([8, 16])}
    )
    assert points.makespan_s == pytest.approx([(1 + 2) * (STARTUP_S + 8 * PER_BYTE_S)] * 2, rel=1e-12)


@pytest.mark.parametrize(
    "step",
    [
        "allreduce: {bytes: 64*(k + 1), group: g, algorithm: ring}",
        "barrier: {group: g}",
        "broadcast: {bytes: 8*k, root: k % group_size, group: g}",
    ],
)
@pytest.mark.parametrize("colour", ["rank // 2**k", "rank % 2**k", "where(k == 1, rank // 4, rank % 4)"])
def test_groups_of_equal_size_are_simulated_as_forecast(step: str, colour: str) -> None:
    workload = read(loop(f"- {step}\n    - barrier: {{}}\n", colour))
    forecasted, simulated = (
        closed_forms(workload, machine(), {"P": 16}),
        simulate(workload, machine(), {"P": 16}, effects="none"),
    )
    assert simulated.makespan_s == pytest.approx(forecasted.makespan_s, rel=1e-12)
    assert simulated.messages == forecasted.messages


def ring_messages(colours: list[int]) -> Counter[tuple[int, int]]:
    """(from, to): messages of a ring allreduce in every group that MPI_Comm_split makes of these colours."""
    groups: dict[int, list[int]] = {}
    for rank, colour in enumerate(colours):
        if colour >= 0:
            groups.setdefault(colour, []).append(rank)
    sent: Counter[tuple[int, int]] = Counter()
    for members in groups.values():
        for place, rank in enumerate(members):
            if len(members) > 1:
                sent[rank, members[(place + 1) % len(members)]] += 2 * (len(members) - 1)
    return sent


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(1, 13), st.lists(st.integers(0, 6), min_size=4, max_size=4), st.integers(1, 4))
def test_random_colours_are_those_of_brute_force(ranks: int, numbers: list[int], times: int) -> None:
    a, b, c, d = numbers
    colour = f"(rank*{a} + k*{b} + rank*k*{c}) % 5 - (rank > 0)*(k % 2)*{d % 3}"
    workload = read(loop("- allreduce: {bytes: 8*group_size, group: g, algorithm: ring}\n", colour, str(times)))
    expected: Counter[tuple[int, int]] = Counter()
    for k in range(times):
        colours = [(rank * a + k * b + rank * k * c) % 5 - (rank > 0) * (k % 2) * (d % 3) for rank in range(ranks)]
        expected += ring_messages(colours)
    plan = make_plan(bind(workload, machine(), {"P": ranks}))
    sends = plan.kind == SEND
    assert Counter(zip(plan.rank[sends].tolist(), plan.peer[sends].tolist(), strict=True)) == expected
    assert closed_forms(workload, machine(), {"P": ranks}).messages == expected.total()


@pytest.mark.parametrize("reading", [forecast, simulate])
def test_roots_that_differ_by_group_and_iteration(reading: Any) -> None:
    """In iteration k the root of group 0 is its rank k % 2, that of the others the other one."""
    root = "where(rank < 2, k % 2, 1 - k % 2)"
    result = reading(read(loop(f"- broadcast: {{bytes: 8, root: '{root}', group: g}}\n")), machine(), {"P": 8})
    assert result.messages == 4 * 4


@pytest.mark.parametrize("ranks", [4, 7])
def test_conditions_on_the_index(ranks: int) -> None:
    """Half of the iterations compute, in those from the third on every rank sends to the k-th next one."""
    steps = (
        "- compute: {seconds: 1e-3, when: 'k % 2'}\n"
        "    - send: {to: (rank + k) % P, bytes: 1000, when: 'k > 1'}\n"
        "    - receive: {from: (rank - k) % P, when: 'k > 1'}\n"
    )
    expected = 2e-3 + 2 * (STARTUP_S + 1000 * PER_BYTE_S)
    for reading in (forecast, simulate):
        result = reading(read(loop(steps)), machine(), {"P": ranks})
        assert result.makespan_s == pytest.approx(expected, rel=1e-12)
        assert result.messages == 2 * ranks


@pytest.mark.parametrize("reading", [forecast, simulate])
@pytest.mark.parametrize(
    ("text", "words", "where"),
    [
        (loop("- allreduce: {bytes: 8, group: g}\n", "-1", ""), "is empty", "w.yaml:3: groups.g"),
        (loop("- allreduce: {bytes: 8, group: g}\n", "rank/(k + 1)"), "no whole number", "w.yaml:3: groups.g"),
        (loop("- allreduce: {bytes: 8, group: g}\n", "rank // k"), "not finite", "w.yaml:3: groups.g"),
        (loop("- allreduce: {bytes: 8, group: g}\n", "rank // 2**k", ""), "unknown name", "w.yaml:3: groups.g"),
        (loop("- barrier: {group: h}\n"), "unknown group", "do[0].barrier"),
        (loop("- broadcast: {bytes: 8, group: g, root: 2}\n", repeat=""), "no rank of the group", "broadcast.root"),
        (loop("- broadcast: {bytes: 8, group: g, root: k}\n"), "no rank of the group", "do[0].broadcast.root"),
        (loop("- broadcast: {bytes: 8, root: 3*k}\n"), "no rank of the group", "do[0].broadcast.root"),
        (loop("- broadcast: {bytes: 8, root: k/2}\n"), "no rank of the group", "do[0].broadcast.root"),
        (
            loop("- broadcast: {bytes: 8, group: g, root: 2}\n", "where(rank >= k, 0, -1)", "7"),
            "no rank of the group",
            "do[0].broadcast.root",
        ),
        (loop("- broadcast: {bytes: 8, group: g, root: (rank == 3)*k}\n"), "different roots", "do[0].broadcast.root"),
        (loop("- send: {to: rank + k, bytes: 8, when: rank == 3}\n", repeat="7"), "not another rank", "do[0].send.to"),
        (loop("- send: {to: 0, bytes: 8, group: g}\n", repeat=""), "not another rank of its group", "send.to"),
        (loop("- wait: x\n"), "not started", "do[0].wait"),
        (loop("- {start: {barrier: {}}, as: x}\n"), "never waited for", "do[0].start.barrier"),
        (loop("- {start: {barrier: {}}, as: x}\n- wait: x\n"), "never waited for", "do[0].start.barrier"),
        (loop("- barrier: {}\n- compute: {flops: k}\n"), "unknown name", "program[1].compute.flops"),
        (loop("- compute: {flops: 1, when: k > 1}\n", repeat=""), "unknown name", "program[0].compute.when"),
        (loop("- {repeat: k, index: k, do: [barrier: {}]}\n", repeat=""), "unknown name", "program[0].repeat"),
    ],
)
def test_what_is_wrong_is_one_error_with_its_place(reading: Any, text: str, words: str, where: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        reading(read(text), machine(), {"P": 8})
    assert error.value.place is not None
    assert error.value.place.line is not None
    assert where in str(error.value.place)


RESOURCES = """resources:
  loads: {time: amount/2e9, dynamic_power: 2 W, energy: 0.5}
components: {node: {count: nodes, static_power: 100 W}}
"""
PROGRAMS_WITH_ENERGY = (
    ("- compute: {flops: 1e6*(k + 1)}\n    - allreduce: {bytes: 8*k}\n", "rank // 2"),
    ("- compute: {flops: 1e6*sqrt(k + 1)}\n    - allreduce: {bytes: 8*n, group: g}\n", "rank // 2**k"),
    (
        "- {start: {allreduce: {bytes: 8*n, group: g}}, as: x}\n    - compute: {flops: 1e4*k}\n    - wait: x\n",
        "rank % 4",
    ),
    ("- execute: {parallelism: 8, uses: [{loads: 1e6*(k + 1)*n}]}\n    - barrier: {}\n", "rank"),
)


@pytest.mark.parametrize(("steps", "colour"), PROGRAMS_WITH_ENERGY)
def test_energy_of_many_points_is_that_of_each(steps: str, colour: str) -> None:
    """With an index, groups and overlap; and where one is simulated, it is the same."""
    on = machine_with_resources(RESOURCES).with_constants({path: POWER[path] for path in POWER if path[0] in "pn"})
    workload, ranks, n = read(loop(steps, colour, "n")), np.array([[4], [8]]), np.array([1, 2, 4])
    many = closed_forms(workload, on, {"P": ranks, "n": n})
    for row, column in np.ndindex(2, 3):
        given_ = {"P": int(ranks[row, 0]), "n": int(n[column])}
        one, run = closed_forms(workload, on, given_), simulate(workload, on, given_, effects="none")
        for name in ("makespan_s", "energy_j", "peak_power_w"):
            value = np.broadcast_to(getattr(many, name), (2, 3))[row, column]
            assert value == pytest.approx(getattr(one, name), rel=1e-12), name
        assert one.energy_j == pytest.approx(run.energy_j, rel=1e-12)


@pytest.mark.parametrize("kind", ["allreduce: {bytes: 1000, group: g}", "broadcast: {bytes: 1000, group: g}"])
def test_a_group_that_is_empty_in_an_iteration_does_nothing(kind: str) -> None:
    """Of four iterations, two have groups of two ranks each: as many messages and as much time as two by themselves."""
    some = read(loop(f"- {kind}", "where(k % 2 == 1, rank // 2, -1)"))
    twice = read(loop(f"- {kind}", "rank // 2 + 0*k", "2"))
    for effects in ((), ("hops", "links")):
        one, other = (simulate(each, machine(), {"P": 8}, effects=effects) for each in (some, twice))
        assert one.makespan_s == other.makespan_s > 0
        assert one.messages == other.messages > 0
    for time_of in (closed_forms, forecast):
        assert time_of(some, machine(), {"P": 8}).makespan_s == pytest.approx(
            time_of(twice, machine(), {"P": 8}).makespan_s, rel=1e-12
        )


def test_messages_of_an_empty_group_are_none() -> None:
    steps = (
        "- send: {to: 1 - group_rank, bytes: 1000, group: g, when: group_rank == 0}\n"
        "    - receive: {from: 1 - group_rank, group: g, when: group_rank == 1}\n"
    )
    workload = read(loop(steps, "where(k == 2, rank // 2, -1)"))
    simulated = simulate(workload, machine(), {"P": 8}, effects=())
    assert simulated.messages == 4
    assert simulated.makespan_s == pytest.approx(STARTUP_S + 1000 * PER_BYTE_S)
    assert forecast(workload, machine(), {"P": 8}).makespan_s == pytest.approx(simulated.makespan_s, rel=1e-12)


def test_a_group_that_is_empty_in_every_iteration_does_nothing() -> None:
    workload = read(loop("- allreduce: {bytes: 1000, group: g}\n    - compute: {seconds: 1}", "0*k - 1"))
    assert simulate(workload, machine(), {"P": 8}, effects=()).makespan_s == 4
    assert forecast(workload, machine(), {"P": 8}).makespan_s == 4


def test_the_algorithms_taken_are_those_of_the_groups_of_each_iteration() -> None:
    """Groups of four ranks in odd iterations alone, whose messages are large in the last one."""
    load = builders.workload(
        "- repeat: 4\n  index: k\n  do:\n  - allreduce: {bytes: 8 + 1e7 * (k == 3), algorithm: auto, group: odd}\n",
        "groups: {odd: 'where(k % 2, rank // 4, -1)'}\n",
    )
    on = builders.machine(builders.network(16))
    results = [reading(load, on, {"P": 16}) for reading in (forecast, simulate)]
    rows = [[(one.min_ranks, one.max_ranks, one.min_bytes, one.max_bytes) for one in it.algorithms] for it in results]
    assert rows[0] == rows[1]
    assert {(least, most) for *_, least, most in rows[0]} == {(8.0, 8.0), (8.0 + 1e7, 8.0 + 1e7)}
    assert {(least, most) for least, most, *_ in rows[0]} == {(4, 4)}
