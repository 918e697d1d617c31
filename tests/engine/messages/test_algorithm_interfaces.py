"""Collective algorithms whose messages take some of a rank's network interfaces alone, as the machine file states."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

import simcodesign as sc
from simcodesign.analytic.bounds import MOST_LOADED_INTERFACE, bounds_of
from simcodesign.comparison.assumptions import message_assumptions
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from tests.builders import read_machine, workload

STARTUP_S, BYTE_S, BYTES, SENDERS = 1e-6, 1e-9, 1000, 7
ALGORITHMS = "  algorithms:\n    - {{operation: {}, algorithm: {}, interfaces: {}}}\n"


def machine(
    more: str = "",
    assignment: str = "round_robin",
    count: int = 6,
    sharing: str = "max_min",
    topology: str = "{kind: crossbar}",
) -> Machine:
    return read_machine(
        f"simcodesign: 1\nname: few\nnodes: 8\nprocessor: {{rate: 1 GFLOP/s}}\nnetwork:\n  startup: 1 us\n"
        f"  bandwidth: 1 GB/s\n  sends: nonblocking\n  sharing: {sharing}\n  topology: {topology}\n"
        f"  interfaces: {{count: {count}, assignment: {assignment}}}\n{more}"
    )


def gather(algorithm: str = "linear", more: str = "") -> sc.Workload:
    return workload(f"- gather: {{bytes: {BYTES}, algorithm: {algorithm}{more}}}")


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("sharing", ["fcfs", "max_min"])
@pytest.mark.parametrize("assignment", ["round_robin", "rank"])
@pytest.mark.parametrize("used", [1, 2, 3, 6])
def test_messages_to_a_rank_share_the_interfaces_that_they_use(
    used: int, assignment: str, sharing: str, engine: str
) -> None:
    """Seven messages that come at once: the interface with the most of them, ceil(7 / used), is the last to be done."""
    on = machine(ALGORITHMS.format("gather", "linear", used), assignment, sharing=sharing)
    found = simulate(gather(), on, {"P": 8}, effects="interfaces", engine=engine)
    expected_s = STARTUP_S + math.ceil(SENDERS / used) * BYTES * BYTE_S
    assert float(found.makespan_s) == pytest.approx(expected_s, rel=1e-12)


def test_the_busiest_interface_is_a_bound() -> None:
    """Of one interface that takes all messages its whole load, of six a sixth of it at least."""
    for more, load in ((ALGORITHMS.format("gather", "linear", 1), SENDERS), ("", SENDERS / 6)):
        bounds = bounds_of(bind(gather(), machine(more), {"P": 8}))
        assert bounds is not None
        assert bounds.lower_s[MOST_LOADED_INTERFACE] == pytest.approx(load * BYTES * BYTE_S, rel=1e-12)


@pytest.mark.parametrize(
    ("operation", "algorithm", "step"),
    [("gather", "binomial", "linear"), ("reduce", "linear", "linear"), ("gather", "linear", "binomial")],
)
def test_other_algorithms_use_all(operation: str, algorithm: str, step: str) -> None:
    tuned, plain = machine(ALGORITHMS.format(operation, algorithm, 1)), machine()
    work = gather(step)
    assert simulate(work, tuned, {"P": 8}).makespan_s == simulate(work, plain, {"P": 8}).makespan_s


def test_a_comparison_states_both() -> None:
    """One of the two gathers takes two interfaces."""
    both = workload("- gather: {bytes: 8, algorithm: linear}\n- gather: {bytes: 8, algorithm: binomial}")
    on = bind(both, machine(ALGORITHMS.format("gather", "linear", 2)), {"P": 8})
    words = message_assumptions(on, ("interfaces",))["interfaces"].split(" or ")
    assert ["2 of them by the messages of a rank" in one for one in words] == [True, False]


@pytest.mark.parametrize("order", ["near", "far"])
def test_both_orders_of_children_are_one_algorithm(order: str) -> None:
    """With one interface for each rank as on nodes that have one."""
    work = gather("binomial", f", order: {order}")
    tuned, one = machine(ALGORITHMS.format("gather", "binomial", 1)), machine(count=1)
    assert simulate(work, tuned, {"P": 8}).makespan_s == simulate(work, one, {"P": 8}).makespan_s


def test_programs_in_python_and_phases_with_constants() -> None:
    """The same messages from a program in Python; a phase with constants of its own keeps the interfaces."""

    @sc.program
    def own(rank: int, size: int) -> Iterator[object]:
        yield sc.rank.world.gather(bytes=BYTES, algorithm="linear")

    on = machine(ALGORITHMS.format("gather", "linear", 1))
    step = f"gather: {{bytes: {BYTES}, algorithm: linear}}"
    phase = workload(f"- {{phase: own, constants: {{network.startup: 1 us}}, do: [{step}]}}")
    expected_s = simulate(gather(), on, {"P": 8}, effects="interfaces").makespan_s
    for work in (own, phase):
        assert simulate(work, on, {"P": 8}, effects="interfaces").makespan_s == expected_s


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (("gather", "linear", 7), "allowed: 1 to 6, network.interfaces.count"),
        (("gather", "ring", 1), "allowed: binomial, linear"),
        (("all", "linear", 1), "allowed: .*all_to_all"),
    ],
)
def test_bad_entries(entry: tuple[str, str, int], words: str) -> None:
    with pytest.raises(InputError, match=words):
        machine(ALGORITHMS.format(*entry))


def test_an_algorithm_is_given_once() -> None:
    entry = ALGORITHMS.format("gather", "binomial", 1)
    with pytest.raises(InputError, match="an algorithm is given twice"):
        machine(entry + entry.partition("\n")[2])


def test_a_direction_chooses_by_itself() -> None:
    with pytest.raises(InputError, match="where the direction of a message chooses"):
        machine(ALGORITHMS.format("gather", "linear", 1), "direction", topology="{kind: torus, shape: [2, 2, 2]}")
