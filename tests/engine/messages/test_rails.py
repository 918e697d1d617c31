"""Several rails: copies of the network, of which the interfaces of a node each have one."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.bounds import bounds_of
from simcodesign.analytic.queueing.uniform_traffic import uniform_latency
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.interfaces import DUPLEXES
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine import selection
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from tests.builders import read_machine, workload
from tests.engine.test_engines_agree import agree

STARTUP_US, BYTES = 2, 1000  # a message takes 1 us of a link, at 1 GB/s
SHARINGS = ("fcfs", "max_min", "{round_robin: 100 B}")


def machine(
    rails: int, topology: str = "{kind: mesh, shape: [2]}", nodes: int = 2, more: str = "", per: int = 1
) -> Machine:
    return read_machine(
        f"simcodesign: 1\nname: rails\nnodes: {nodes}\nprocessors_per_node: {per}\nprocessor: {{rate: 1 GFLOP/s}}\n"
        f"network:\n  startup: {STARTUP_US} us\n  bandwidth: 1 GB/s\n  rails: {rails}\n  topology: {topology}\n{more}"
    )


def side_by_side(count: int) -> Workload:
    """Each rank of the first node sends a message to its partner on the second."""
    return workload(
        f"- send: {{to: rank + {count}, bytes: {BYTES}, when: 'rank < {count}'}}\n"
        f"- receive: {{from: rank - {count}, when: 'rank >= {count}'}}\n"
    )


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize(("messages", "rails"), [(1, 2), (4, 1), (4, 2), (5, 2), (8, 4), (7, 3)])
@pytest.mark.parametrize("effects", ["links", "interfaces", "links,interfaces"])
def test_messages_over_a_link_are_dealt_to_the_rails(
    messages: int, rails: int, sharing: str, effects: str, engine: str
) -> None:
    """All set out at once; the link with the most of them is the last to be done, by whatever turns they take."""
    on = machine(rails, more=f"  sharing: {sharing}\n", per=messages)
    found = simulate(side_by_side(messages), on, {"P": 2 * messages}, effects=effects, engine=engine)
    expected_us = STARTUP_US + math.ceil(messages / rails)
    assert 1e6 * float(found.makespan_s) == pytest.approx(expected_us, rel=1e-12)


messages = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 8), st.integers(1, 3)), min_size=1, max_size=25)


def of_messages(sent: list[tuple[int, int, int]]) -> Workload:
    """Of each (source, distance, size), all posted at once: nobody receives before everything is sent."""
    sends = [f"- send: {{to: {(s + d) % 9}, bytes: {100 * size}, when: rank == {s}}}\n" for s, d, size in sent]
    receives = [f"- receive: {{from: {s}, when: rank == {(s + d) % 9}}}\n" for s, d, _ in sent]
    return workload("".join(sends + receives))


@given(messages, st.integers(2, 3), st.sampled_from(["mesh", "torus", "tree"]), st.sampled_from([*SHARINGS]))
def test_every_rail_is_a_network_of_its_own(
    sent: list[tuple[int, int, int]], rails: int, kind: str, sharing: str
) -> None:
    """The j-th message of a rank, which has a node for itself, is on rail j mod R. Without startups, each rail takes as
    long as the one network that has its messages alone."""
    dealt: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    turn = [0] * 9
    for one in sent:
        dealt[turn[one[0]] % rails].append(one)
        turn[one[0]] += 1
    topology, more = f"{{kind: {kind}}}", f"  sharing: {sharing}\n"
    constants = {"P": 9, "network.startup": 0.0}
    whole = simulate(of_messages(sent), machine(rails, topology, 9, more), constants, effects="links")
    alone = [
        simulate(of_messages(part), machine(1, topology, 9, more), constants, effects="links")
        for part in dealt.values()
    ]
    assert float(whole.makespan_s) == pytest.approx(max(float(one.makespan_s) for one in alone), rel=1e-9)
    used = whole.use
    assert used is not None
    assert used.links == sum(one.use.links for one in alone if one.use is not None and one.use.links is not None)


@pytest.mark.thorough
@pytest.mark.parametrize("sharing", ["max_min", "{round_robin: 1 KiB}"])
@pytest.mark.parametrize("rails", [1, 2, 4])
def test_an_all_to_all_takes_what_crosses_the_bisection_of_all_rails(rails: int, sharing: str) -> None:
    """P/2 x P/2 messages in each direction over the links in the middle of a mesh, of all rails. On four rails every
    fourth message of a rank is on the same one, and goes as many columns far: then links in the middle are half used."""
    size, side = 65536, 4
    ranks = side * side
    on = machine(rails, f"{{kind: mesh, shape: [{side}, {side}]}}", ranks, f"  sharing: {sharing}\n")
    work = workload(f"[all_to_all: {{bytes: {size}, algorithm: linear}}]")
    crossing = Counter[tuple[int, int, int]]()
    for rank, turn in itertools.product(range(ranks), range(ranks - 1)):
        (row, column), (_, other) = divmod(rank, side), divmod((rank + turn + 1) % ranks, side)
        goal = divmod((rank + turn + 1) % ranks, side)[0]  # rows first: the column changes in the row of the receiver
        if column < side // 2 <= other:
            crossing[turn % rails, goal, 1] += 1
        if row < side // 2 <= goal:
            crossing[turn % rails, column, 0] += 1
    most_s = max(crossing.values()) * size * 1e-9
    if rails < 4:
        assert most_s == pytest.approx((ranks // 2) ** 2 * size * 1e-9 / side / rails, rel=1e-12)
    else:
        assert most_s == pytest.approx(2 * (ranks // 2) ** 2 * size * 1e-9 / side / rails, rel=1e-12)
    found = simulate(work, on, {"P": ranks}, effects="links")
    assert 1 <= float(found.makespan_s) / most_s <= 1.06  # startups: 30 us of 524 or more


@given(
    sent=messages,
    rails=st.integers(2, 3),
    each=st.integers(1, 2),
    duplex=st.sampled_from(DUPLEXES),
    model=st.sampled_from([*SHARINGS, "loggop", "loggop, max_min", "stored"]),
    effects=st.sampled_from([(), ("links",), ("interfaces",), ("links", "interfaces")]),
)
def test_both_engines_do_the_same(
    sent: list[tuple[int, int, int]], rails: int, each: int, duplex: str, model: str, effects: tuple[str, ...]
) -> None:
    more = f"  interfaces: {{count: {rails * each}, duplex: {duplex}}}\n"
    text = {"stored": "  switching: store_and_forward\n"}.get(
        model, f"  sharing: {model.removeprefix('loggop').strip(', ') or 'fcfs'}\n"
    )
    on = machine(rails, "{kind: mesh}", 9, more + text)
    if model.startswith("loggop"):
        on = on.with_constants({f"network.{name}": 2.0**-19 for name in "Log"} | {"network.G": 1e-9})
    plan = make_plan(bind(of_messages(sent), on, {"P": 9}), effects)
    assert not isinstance(agree(partial(selection.run, engine="compiled"), plan), str)


def test_stations_are_named_by_their_rail_and_the_bound_counts_all_rails() -> None:
    found = simulate(side_by_side(4), machine(2, per=4), {"P": 8}, effects="links")
    assert found.stations is not None
    names = {found.stations.name(number) for number in range(len(found.stations.kind))}
    assert {name for name in names if "link" in name} == {f"rail {rail}: link (0)->(1)" for rail in (0, 1)}
    bounds = bounds_of(bind(side_by_side(4), machine(2, per=4), {"P": 8}))
    assert bounds is not None
    assert bounds.lower_s["most loaded link"] == pytest.approx(2e-6)
    assert bounds.lower_s["most loaded interface"] == pytest.approx(2e-6)


@pytest.mark.parametrize(
    ("more", "value"),
    [
        ("  rails: 0\n", 0),
        ("  rails: 2\n  interfaces: {count: 3}\n", 3),
        ("  rails: 2\n  interfaces: {count: 4, assignment: direction}\n", "direction"),
        ("  rails: 1025\n", 1025),
    ],
)
def test_rails_that_cannot_be_are_refused(more: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        read_machine(
            "simcodesign: 1\nname: m\nnodes: 4\nprocessor: {rate: 1 GFLOP/s}\n"
            f"network:\n  startup: 1 us\n  bandwidth: 1 GB/s\n  topology: {{kind: mesh}}\n{more}"
        )
    assert str(caught.value.value) == str(value)


def test_four_interfaces_of_rails_are_taken_in_turn_on_a_mesh_of_four_directions() -> None:
    on = load_machine("mesh-256", {"network.rails": 2, "network.interfaces": {"count": 4}})
    assert on.interface_assignment == "round_robin"
    assert on.network.link_count == 2 * on.network.topology.link_count


def test_open_streams_over_rails_have_no_closed_form() -> None:
    with pytest.raises(InputError, match="rails"):
        uniform_latency(machine(2, "{kind: mesh}", 9).network, 1.0, 100.0, links=True, interfaces=False)
