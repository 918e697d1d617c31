"""Interfaces that belong to ranks (``assignment: rank``, ``nearest``), by hand: in both engines, and in bounds."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.bounds import bounds_of
from simcodesign.analytic.forecast import forecast
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

ENGINES = pytest.mark.parametrize("engine", ["simpy", "compiled"])
SHARINGS = pytest.mark.parametrize("sharing", ["fcfs", "max_min", "{round_robin: 1 MB}"])
GB_MS = 40.0  # 1 GB through an interface of 25 GB/s


def machine(interfaces: str, more: str = "", per_node: int = 8, nodes: int = 2, rails: int = 1) -> Machine:
    """Nodes on a crossbar whose links pass everything at once, as far as an interface is concerned."""
    return read_machine(
        f"simcodesign: 1\nname: own\nnodes: {nodes}\nprocessors_per_node: {per_node}\nprocessor: {{rate: 1 GFLOP/s}}\n"
        "network:\n  topology: {kind: crossbar}\n  startup: 0 us\n  bandwidth: 25 GB/s\n  link_bandwidth: 10 TB/s\n"
        f"  rails: {rails}\n  interfaces: {{{interfaces}}}\n{more}"
    )


SOCKETS = (
    "  node: {startup: 0 us, bandwidth: 100 GB/s}\n  socket: {startup: 0 us, bandwidth: 100 GB/s, per_node: SOCKETS}\n"
)


def of_messages(ends: list[tuple[int, int]], size: str = "1e9") -> Workload:
    """One message for each (source, target), all of which are posted at once."""
    sends = [f"- send: {{to: {b}, bytes: {size}, when: rank == {a}}}\n" for a, b in ends]
    receives = [f"- receive: {{from: {a}, when: rank == {b}}}\n" for a, b in ends]
    return workload("".join(sends + receives))


def milliseconds(on: Machine, ends: list[tuple[int, int]], engine: str = "compiled") -> float:
    run = simulate(of_messages(ends), on, {"P": on.processors}, effects="interfaces", engine=engine)
    return float(run.makespan_s) * 1e3


@ENGINES
@SHARINGS
@pytest.mark.parametrize(("assignment", "expected_ms"), [("", 4 * GB_MS), (", assignment: round_robin", GB_MS)])
def test_four_messages_of_a_rank_pass_its_one_interface(
    assignment: str, expected_ms: float, sharing: str, engine: str
) -> None:
    """To four receivers with interfaces of their own, so that only the sender's is shared; and all to one."""
    on = machine(f"count: 8{assignment}", f"  sharing: {sharing}\n")
    for targets in ([8, 9, 10, 11], [8] * 4):
        found = milliseconds(on, [(0, target) for target in targets], engine)
        assert found == pytest.approx(expected_ms, rel=1e-9)


@ENGINES
@SHARINGS
@pytest.mark.parametrize("assignment", ["rank", "nearest"])
def test_ranks_that_each_have_an_interface_do_not_wait(assignment: str, sharing: str, engine: str) -> None:
    on = machine(f"count: 8, assignment: {assignment}", f"  sharing: {sharing}\n")
    assert milliseconds(on, [(rank, rank + 8) for rank in range(8)], engine) == pytest.approx(GB_MS, rel=1e-9)


@ENGINES
@pytest.mark.parametrize(
    ("assignment", "pair", "rounds"),
    [
        ("rank", (0, 4), 2),  # both have interface 0
        ("rank", (0, 1), 1),
        ("nearest", (0, 4), 1),  # of socket 0 and of socket 1
        ("nearest", (0, 1), 1),  # interfaces 0 and 1 of socket 0
        ("nearest", (0, 2), 2),  # interface 0 of socket 0
    ],
)
def test_ranks_of_a_socket_use_its_interfaces(assignment: str, pair: tuple[int, int], rounds: int, engine: str) -> None:
    """Four interfaces for eight ranks on two sockets."""
    on = machine(f"count: 4, assignment: {assignment}", SOCKETS.replace("SOCKETS", "2"))
    expected_ms = rounds * GB_MS
    assert milliseconds(on, [(rank, rank + 8) for rank in pair], engine) == pytest.approx(expected_ms, rel=1e-9)


@pytest.mark.parametrize(
    ("per_node", "count", "sockets", "assignment", "expected"),
    [
        (8, 4, 1, "rank", [[0], [1], [2], [3], [0], [1], [2], [3]]),
        (4, 3, 1, "rank", [[0], [1], [2], [0]]),
        (2, 6, 1, "rank", [[0, 2, 4], [1, 3, 5]]),
        (3, 4, 1, "rank", [[0, 3], [1], [2]]),
        (8, 4, 2, "nearest", [[0], [1], [0], [1], [2], [3], [2], [3]]),
        (8, 2, 4, "nearest", [[0], [0], [0], [0], [1], [1], [1], [1]]),
        (4, 8, 2, "nearest", [[0, 2], [1, 3], [4, 6], [5, 7]]),
        (2, 3, 1, "round_robin", [[0, 1, 2], [1, 2, 0]]),
    ],
)
def test_interfaces_of_every_rank(
    per_node: int, count: int, sockets: int, assignment: str, expected: list[list[int]]
) -> None:
    """Those of its messages, as many as it has interfaces, by the stations of the Plan: for what it sends, and for what
    it receives."""
    more = SOCKETS.replace("SOCKETS", str(sockets)) if sockets > 1 else ""
    on = machine(f"count: {count}, assignment: {assignment}", more, per_node)
    for rank, own in enumerate(expected):
        for ends in ([(rank, per_node)] * len(own), [(per_node, rank)] * len(own)):
            plan = make_plan(bind(of_messages(ends), on, {"P": 2 * per_node}), ("interfaces",))
            assert plan.routes is not None
            first, last = plan.routes.start[:-1], plan.routes.start[1:] - 1
            passed = plan.stations.unit[plan.routes.station[first if ends[0][0] == rank else last]] % count
            route = plan.routes.route[plan.routes.route >= 0]
            assert passed[route].tolist() == own


@pytest.mark.parametrize(
    ("per_node", "count", "more", "expected"),
    [(8, 4, "", "rank"), (2, 4, "", "rank"), (4, 3, "", "round_robin"), (1, 4, "", "round_robin")],
)
def test_ranks_have_interfaces_where_they_can_be_shared_out(
    per_node: int, count: int, more: str, expected: str
) -> None:
    assert machine(f"count: {count}", more, per_node).interface_assignment == expected


def test_an_interface_for_each_direction_has_that_of_its_links() -> None:
    changes = {"network.interfaces": {"count": 4}, "processors_per_node": 4}
    assert load_machine("mesh-256", changes).interface_assignment == "direction"


@ENGINES
@pytest.mark.parametrize(
    ("ends", "rounds"),
    [
        ([(0, 8), (2, 10)], 1),  # interfaces 0 and 2 of rail 0, and these at the other node
        ([(0, 10), (2, 10)], 2),  # both come by interface 2, which is on rail 0
        ([(0, 9), (0, 8)], 2),  # from rail 0 rank 9 (interface 1) is reached by interface 0
        ([(1, 8), (0, 8)], 1),  # by interfaces 1 and 0
    ],
)
def test_messages_arrive_on_the_rail_on_which_they_left(ends: list[tuple[int, int]], rounds: int, engine: str) -> None:
    """Four interfaces of two rails."""
    on = machine("count: 4", rails=2)
    assert on.interface_assignment == "rank"
    assert milliseconds(on, ends, engine) == pytest.approx(rounds * GB_MS, rel=1e-9)


def test_the_bound_is_what_the_busiest_interface_passes() -> None:
    """Rank 0 sends 4 GB, whatever the other seven interfaces have; with round robin, these have their share of it."""
    ends = [(0, 8), (0, 9), (0, 10), (0, 11), (1, 12)]
    for assignment, expected_s in (("rank", 0.16), ("round_robin", 5 * 0.04 / 8)):
        bounds = bounds_of(bind(of_messages(ends), machine(f"count: 8, assignment: {assignment}"), {"P": 16}))
        assert bounds is not None
        assert bounds.lower_s["most loaded interface"] == pytest.approx(expected_s, rel=1e-12)


CASES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=12)


@given(
    ends=CASES,
    count=st.integers(1, 8),
    assignment=st.sampled_from(["rank", "nearest"]),
    duplex=st.sampled_from(DUPLEXES),
    rails=st.integers(1, 2),
    sharing=st.sampled_from(["fcfs", "max_min", "{round_robin: 100 MB}"]),
)
def test_both_engines_agree_and_bounds_hold(
    ends: list[tuple[int, int]], count: int, assignment: str, duplex: str, rails: int, sharing: str
) -> None:
    """Between the four ranks of two nodes, of one socket each."""
    interfaces = f"count: {count * rails}, duplex: {duplex}, assignment: {assignment}"
    on = machine(interfaces, f"  sharing: {sharing}\n", per_node=4, rails=rails)
    point = bind(of_messages([(a, b) for a, b in ends if a != b] or [(0, 4)]), on, {"P": 8})
    plan = make_plan(point, ("interfaces", "links"))
    assert not isinstance(agree(partial(selection.run, engine="compiled"), plan), str)
    bounds = bounds_of(point)
    assert bounds is not None
    run = simulate(point.workload, on, {"P": 8}, effects="interfaces,links")
    assert bounds.lower_s.get("most loaded interface", 0.0) <= float(run.makespan_s) * (1 + 1e-9)
    assert float(run.makespan_s) <= bounds.upper_s * (1 + 1e-9)


@pytest.mark.parametrize(("count", "sharers"), [(1, 2), (2, 1)])
def test_open_streams_of_ranks_with_interfaces_of_their_own_are_forecast(count: int, sharers: int) -> None:
    """Two ranks of a node send to two of another: M/D/1 at the injection, the link that both share, and the ejection."""
    stream = workload(
        "- arrivals: {to: network, rate: 10, bytes: 1e9, requests: 1000, destination: rank + 2, when: rank < 2}\n"
    )
    result = forecast(stream, machine(f"count: {count}", per_node=2), {"P": 4})

    def wait_s(rate: float, service_s: float) -> float:
        return rate * service_s**2 / (2 * (1 - rate * service_s))

    expected_s = 0.04 + 2 * wait_s(10 * sharers, 0.04) + wait_s(20, 1e-4)
    assert result.response_s == pytest.approx(expected_s, rel=1e-9)


@pytest.mark.parametrize(
    ("interfaces", "more", "value"),
    [
        ("count: 3, assignment: nearest", SOCKETS.replace("SOCKETS", "2"), "nearest"),
        ("count: 2, assignment: mine", "", "mine"),
    ],
)
def test_interfaces_that_no_rank_can_have_are_refused(interfaces: str, more: str, value: str) -> None:
    with pytest.raises(InputError) as caught:
        machine(interfaces, more)
    assert caught.value.value == value
    assert "rank" in str(caught.value.allowed)
