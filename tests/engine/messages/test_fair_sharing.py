"""Links that are shared fairly: exact times by hand, the property that defines max-min fairness, and SimGrid's answers.

Engines are compared with each other in ``test_engines_agree.py``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.engine import event_contract
from simcodesign.engine.reference.fair_links import Flow, fair_shares
from simcodesign.engine.selection import run
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from tests import examples
from tests.builders import read_machine, workload

ENGINES = ("simpy", "compiled")
BOTH = pytest.mark.parametrize("engine", ENGINES)


def machine(
    nodes: int,
    topology: str,
    more: str = "",
    startup: str = "1 us",
    sharing: str = "max_min",
    sends: str = "blocking",
) -> Machine:
    """Links of 1 GB/s, a startup, and nothing else that costs time."""
    return read_machine(
        f"simcodesign: 1\nname: test\nnodes: {nodes}\nprocessor: {{rate: 1 GFLOP/s}}\nnetwork:\n"
        f"  sends: {sends}\n  startup: {startup}\n  bandwidth: 1 GB/s\n  sharing: {sharing}\n  topology: {{{topology}}}\n{more}"
    )


LINE = machine(4, "kind: mesh, shape: [4]")


def makespan_us(program: str, machine: Machine, engine: str, ranks: int = 4, effects: str = "links") -> float:
    return simulate(workload(program), machine, {"P": ranks}, effects=effects, engine=engine).makespan_s * 1e6


def message(source: int, target: int, size_bytes: int) -> str:
    """One message, as a send and a receive in YAML."""
    send = f"- send: {{to: {target}, bytes: {size_bytes}, when: rank == {source}}}\n"
    return send + f"- receive: {{from: {source}, when: rank == {target}}}\n"


# --- By hand --------------------------------------------------------------------------------------------------


@BOTH
def test_rounding_lets_no_message_arrive_before_it_is_sent(engine: str) -> None:
    # 1/3 is rounded down to 43 bits.
    at_once = machine(4, "kind: mesh, shape: [4]", startup="0 s")
    program = "- compute: {seconds: 1/3, when: rank == 0}\n" + message(0, 2, 0)
    result = simulate(workload(program), at_once, {"P": 4}, effects="links", engine=engine)
    assert result.ranks.end_s[2] == 1 / 3


@BOTH
def test_two_messages_over_a_link_take_half_of_it_each(engine: str) -> None:
    # 0 -> 2 and 1 -> 2 share the link from 1 to 2.
    both = message(0, 2, 1000) + message(1, 2, 1000)
    assert makespan_us(both, LINE, engine) == pytest.approx(1 + 2, rel=1e-12)


@BOTH
def test_what_one_message_leaves_the_other_takes(engine: str) -> None:
    # At half the bandwidth until the short one has passed, at the whole of it afterwards: 2 us, then 2 us.
    both = message(0, 2, 3000) + message(1, 2, 1000)
    assert makespan_us(both, LINE, engine) == pytest.approx(1 + 4, rel=1e-12)


@BOTH
def test_a_sender_is_held_until_its_last_byte_has_passed(engine: str) -> None:
    # The second message of rank 0 leaves when its first one has passed at half the bandwidth.
    program = message(0, 2, 1000) + message(1, 2, 1000) + message(0, 1, 1000)
    assert makespan_us(program, LINE, engine) == pytest.approx((1 + 2) + (1 + 1), rel=1e-12)


@BOTH
def test_latencies_that_do_not_hold_the_sender_come_after_its_bytes(engine: str) -> None:
    slow = machine(4, "kind: mesh, shape: [4]", "  hop_latency: 10 us\n  hops_hold_sender: false\n")
    program = message(0, 2, 1000) + message(0, 1, 1000)
    # Rank 0 is free after 1 + 1 us; its first message arrives 20 us later, its second one 1 + 1 + 10 us later.
    assert makespan_us(program, slow, engine) == pytest.approx(2 + 20, rel=1e-12)
    assert makespan_us(message(0, 1, 1000) * 2, slow, engine) == pytest.approx(2 + 2 + 10, rel=1e-12)


@BOTH
def test_an_interface_is_shared_like_a_link(engine: str) -> None:
    crossbar = machine(4, "kind: crossbar")
    several = "".join(message(rank, 3, 1000) for rank in range(3))
    assert makespan_us(several, crossbar, engine, effects="interfaces") == pytest.approx(1 + 3, rel=1e-12)


@BOTH
def test_a_message_that_a_slow_link_limits_leaves_the_rest_of_the_others(engine: str) -> None:
    # Routes go along the first dimension first. The first message passes at 0.25 GB/s, the second one at the other 0.75.
    grid = machine(6, "kind: mesh, shape: [2, 3], bandwidth: [0.25 GB/s, 1 GB/s]")
    assert makespan_us(message(0, 5, 1000), grid, engine, 6) == pytest.approx(1 + 4, rel=1e-12)
    both = message(0, 5, 1000) + message(3, 4, 3000)
    assert makespan_us(both, grid, engine, 6) == pytest.approx(1 + 4, rel=1e-12)
    assert makespan_us(message(0, 5, 1000) + message(3, 4, 6000), grid, engine, 6) == pytest.approx(
        1 + 4 + 3, rel=1e-12
    )


@BOTH
def test_messages_without_bytes_share_nothing(engine: str) -> None:
    assert makespan_us(message(0, 2, 0) + message(1, 2, 0), LINE, engine) == pytest.approx(1, rel=1e-12)


@BOTH
@pytest.mark.parametrize(("bits", "sizes"), [(3, "2, 2, 2"), (6, "4, 4, 4")])
def test_a_broadcast_to_the_nearest_child_first_over_a_mesh(engine: str, bits: int, sizes: str) -> None:
    # Rounds of messages over 1, 2, 4 ... nodes of a line, which share its links evenly: in each dimension of 2**k nodes
    # 2**k - 1 times the time of one message, without the startups.
    ranks = 2**bits
    program = ""
    for bit in range(bits):
        near = 2**bit
        program += f"- receive: {{from: rank - {near}, when: (rank >= {near}) * (rank < {2 * near})}}\n"
        program += f"- send: {{to: rank + {near}, bytes: 1e6, when: rank < {near}}}\n"
    grid = machine(ranks, f"kind: mesh, shape: [{sizes}]")
    rounds = 3 * (2 ** (bits // 3) - 1)
    assert makespan_us(program, grid, engine, ranks) == pytest.approx(1000 * rounds + bits, rel=1e-9)


# --- SimGrid --------------------------------------------------------------------------------------------------


def goal_of(
    stages: list[list[list[float]]], ranks: int, delay_ns: Callable[[int, int], int], with_answers: bool = True
) -> str:
    """A schedule in which a message sets out after a delay when its sender and its receiver have both done all of their
    stage before. The receiver says so, and ``with_answers`` that it has got the message, by messages without bytes, which
    take no time; every message has a processor of its own."""
    lines: dict[int, list[str]] = defaultdict(list)
    before: dict[int, list[str]] = defaultdict(list)

    def add(rank: int, name: str, what: str, *after: str) -> None:
        lines[rank] += [f"{name}: {what}", *(f"{name} requires {other}" for other in after)]

    for stage, messages in enumerate(stages):
        mine: dict[int, list[str]] = defaultdict(list)
        for number, (source, target, size) in enumerate((int(s), int(t), round(size)) for s, t, size in messages):
            if source == target:
                continue
            name, tag, cpu = f"m{stage}x{number}", 3 * (stage * 100_000 + number), f"cpu {number}"
            add(target, f"{name}a", f"send 0b to {source} tag {tag} {cpu}", *before[target])
            add(source, f"{name}b", f"recv 0b from {target} tag {tag} {cpu}")
            add(source, f"{name}c", f"calc {delay_ns(source, target)} {cpu}", f"{name}b", *before[source])
            add(source, f"{name}d", f"send {size}b to {target} tag {tag + 1} {cpu}", f"{name}c")
            add(target, f"{name}e", f"recv {size}b from {source} tag {tag + 1} {cpu}")
            if with_answers:
                add(target, f"{name}f", f"send 0b to {source} tag {tag + 2} {cpu}", f"{name}e")
                add(source, f"{name}g", f"recv 0b from {target} tag {tag + 2} {cpu}", f"{name}d")
            mine[source].append(f"{name}{'g' if with_answers else 'd'}")
            mine[target].append(f"{name}e")
        before.update(mine)
    bodies = ("\n".join(lines[rank]) for rank in range(ranks))
    return f"num_ranks {ranks}\n" + "".join(f"rank {rank} {{\n{body}\n}}\n" for rank, body in enumerate(bodies))


@pytest.mark.parametrize("number", range(10))
def test_simgrid_gives_the_same_where_all_routes_have_the_same_latency(
    cases: Path, tmp_path: Path, number: int
) -> None:
    case = json.loads((cases / "flows" / "torus-4x4x4.json").read_text())[number]
    (tmp_path / "flows.goal").write_text(goal_of(case["stages"], 64, lambda source, target: 1000))
    torus = machine(64, "kind: torus, shape: [4, 4, 4]", startup="0 us")
    result = simulate(str(tmp_path / "flows.goal"), torus, effects="links", engine="compiled")
    assert result.makespan_s * 1e6 == pytest.approx(case["simgrid_equal_shares_us"], rel=1e-6)


@pytest.mark.parametrize("number", [6, 7])
def test_simgrid_gives_the_same_where_senders_wait_for_the_end_of_their_flows(
    cases: Path, tmp_path: Path, number: int
) -> None:
    """Ten permutations in a row: what requires a send begins when its flow has ended, as in SimGrid; without S it does
    not."""
    case = json.loads((cases / "flows" / "torus-4x4x4.json").read_text())[number]
    text = goal_of(case["stages"], 64, lambda source, target: 1000, with_answers=False)
    (tmp_path / "flows.goal").write_text(text)
    times_us = {}
    for limit in ("  S: 0 B\n", ""):
        torus = machine(64, "kind: torus, shape: [4, 4, 4]", limit, startup="0 us")
        result = simulate(str(tmp_path / "flows.goal"), torus, effects="links", engine="compiled")
        times_us[limit] = result.makespan_s * 1e6
    assert times_us["  S: 0 B\n"] == pytest.approx(case["simgrid_equal_shares_us"], rel=1e-6)
    assert times_us[""] != pytest.approx(case["simgrid_equal_shares_us"], rel=1e-3)


STAGES = """num_ranks 4
rank 0 {
a: send 3000b to 3
b: send 500b to 1
c: recv 1000b from 3 cpu 1
b requires a
}
rank 1 {
a: send 1000b to 2
b: send 1000b to 3
c: recv 500b from 0 cpu 1
b requires a
}
rank 2 {
a: calc LATE
b: recv 1000b from 1
b requires a
}
rank 3 {
a: recv 3000b from 0
b: recv 1000b from 1 cpu 1
c: send 1000b to 0
c requires a
}
"""


@BOTH
@pytest.mark.parametrize("sends", ["blocking", "nonblocking"])
@pytest.mark.parametrize(
    ("late_ns", "ends_us"), [(0, [6.0, 5.5, 2.0, 6.0]), (2500, [6.0, 5.5, 2.5, 6.0]), (6000, [5.0, 7.0, 6.0, 7.0])]
)
def test_stages_of_a_schedule_by_hand(
    tmp_path: Path, engine: str, sends: str, late_ns: int, ends_us: list[float]
) -> None:
    """A line of four nodes, 1,000 bytes a us. The flows 0 -> 3 and 1 -> 2 share the middle link: the second has its 1,000
    bytes at 2, the first has 2,000 left. Rank 1 goes on when rank 2 takes its message up, at 2 or when that is ready: 1 -> 3
    shares two links with 0 -> 3.

    - Ready at 0: 1 -> 3 ends at 4; 0 -> 3 has 1,000 left, which end at 5. Then rank 0 sends 500 bytes until 5.5, and rank 3
      sends 1,000 the other way until 6.
    - Ready at 2.5: 0 -> 3 has 1,500 left then; 1 -> 3 ends at 4.5, and 0 -> 3, with 500 left, at 5 again.
    - Ready at 6: 0 -> 3 is alone from 2 on and ends at 4: rank 0 sends until 4.5, rank 3 from 4 until 5. 1 -> 3 is alone
      from 6 on and ends at 7.
    """
    (tmp_path / "stages.goal").write_text(STAGES.replace("LATE", str(late_ns)))
    line = machine(4, "kind: mesh, shape: [4]", "  S: 0 B\n", "0 us", sends=sends)
    result = simulate(str(tmp_path / "stages.goal"), line, effects="links", engine=engine)
    assert result.ranks is not None
    assert result.ranks.end_s * 1e6 == pytest.approx(ends_us, abs=1e-6)


@pytest.mark.parametrize("number", range(10))
def test_simgrid_gives_the_same_where_shares_go_by_latency(cases: Path, tmp_path: Path, number: int) -> None:
    """Each link of a route takes 1 us, which is the delay here; for the shares only the ratios of latencies matter."""
    case = json.loads((cases / "flows" / "torus-4x4x4.json").read_text())[number]
    torus = machine(64, "kind: torus, shape: [4, 4, 4]", "  hop_latency: 1 ps\n", "0 us", "{max_min: by_latency}")
    pairs = [*product(range(64), repeat=2)]
    hops = dict(zip(pairs, torus.network.topology.hops(*zip(*pairs, strict=True)).tolist(), strict=True))
    text = goal_of(case["stages"], 64, lambda source, target: 1000 * hops[source, target])
    (tmp_path / "flows.goal").write_text(text)
    result = simulate(str(tmp_path / "flows.goal"), torus, effects="links", engine="compiled")
    assert result.makespan_s * 1e6 == pytest.approx(case["simgrid_weighted_us"], rel=1e-6)


@BOTH
def test_shares_in_proportion_to_one_over_latency(engine: str) -> None:
    # 0 -> 2 has twice the latency of 1 -> 2 and so a third of their link. Latencies of 1 and 2 us; the short one
    # is alone for 1 us and has 2000 bytes left, which take 3 us; the other one has then had 1000 of its 3000.
    by_latency = machine(4, "kind: mesh, shape: [4]", "  hop_latency: 1 us\n", "0 us", "{max_min: by_latency}")
    program = message(0, 2, 3000) + message(1, 2, 3000)
    assert makespan_us(program, by_latency, engine) == pytest.approx(2 + 3 + 2, rel=1e-6)


def test_shares_by_latency_need_latencies() -> None:
    none = machine(4, "kind: mesh, shape: [4]", sharing="{max_min: by_latency}")
    with pytest.raises(InputError, match="hop_latency"):
        makespan_us(message(0, 2, 1000), none, "simpy")


@pytest.mark.parametrize("sharing", ["{max_min: by_hops}", "{max_min: by_latency, round_robin: 1 KiB}", "{}", "fairly"])
def test_ways_of_sharing_that_do_not_exist(sharing: str) -> None:
    with pytest.raises(InputError, match=r"by_latency|round_robin"):
        machine(4, "kind: mesh, shape: [4]", sharing=sharing)


def test_statistics_do_not_depend_on_how_many_flows_are_counted_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    program = workload(message(0, 2, 1000) + message(1, 2, 500) + message(0, 3, 0) + message(3, 0, 2000))
    plan = make_plan(bind(program, LINE, {"P": 4}), ("links",))
    monkeypatch.setattr(event_contract, "FLOWS_AT_A_TIME", 1)
    log = run(plan, "simpy")
    # Over 0-1 goes one message, over 1-2 two, and back over each of three links another one; 1 GB/s.
    assert sorted(log.served[log.served > 0]) == [1, 1, 1, 1, 2]
    assert sorted(log.busy_s[log.served > 0] * 1e6) == pytest.approx([1, 1.5, 2, 2, 2], rel=1e-12)


# --- What max-min fairness is -----------------------------------------------------------------------------------


@pytest.mark.thorough
@settings(max_examples=examples(2000, ordinary=200))
@given(
    routes=st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=12),
    capacity=st.lists(st.integers(1, 30), min_size=6, max_size=6),
    parts=st.one_of(st.just([1] * 6), st.lists(st.integers(1, 3), min_size=6, max_size=6)),
    weights=st.one_of(st.just([1] * 12), st.lists(st.integers(1, 50), min_size=12, max_size=12)),
)
def test_every_flow_has_a_full_link_on_which_none_is_faster(
    routes: list[set[int]], capacity: list[int], parts: list[int], weights: list[int]
) -> None:
    """The condition that defines max-min fair rates (Bertsekas, Gallager, Data Networks, 1992, section 6.5.2); with
    weights, of rates over weights. Several flows share a part of the capacity of a link alone."""
    alone = [each * 10**12 for each in capacity]
    loaded = [each // part for each, part in zip(alone, parts, strict=True)]
    several = [sum(link in route for route in routes) > 1 for link in range(6)]
    units = [(loaded if several[link] else alone)[link] for link in range(6)]
    env = simpy.Environment()
    ways = zip(routes, weights, strict=False)
    flows = {Flow(sorted(route), 1.0, simpy.Event(env), weight=weight): None for route, weight in ways}
    rates = fair_shares(flows, alone, loaded)
    for flow in flows:
        assert any(
            units[link] - sum(rates[other] for other in flows if link in other.links) < sum(weights)  # but for rounding
            and rates[flow] / flow.weight >= max(rates[each] / each.weight for each in flows if link in each.links)
            for link in flow.links
        )
        assert all(sum(rates[other] for other in flows if link in other.links) <= units[link] for link in flow.links)


@pytest.mark.thorough
@settings(max_examples=examples(500, ordinary=60), deadline=None)
@given(sizes=st.lists(st.integers(1, 100_000), min_size=1, max_size=12), engine=st.sampled_from(ENGINES))
def test_messages_over_one_link_pass_as_under_processor_sharing(sizes: list[int], engine: str) -> None:
    """One link, all messages at once: in the order of their sizes, each when all have had as much as it (exactly)."""
    ranks = len(sizes) + 1
    star = machine(ranks, "kind: crossbar")
    program = "".join(message(rank, ranks - 1, size) for rank, size in enumerate(sizes))
    passed, before = Fraction(0), 0
    for place, size in enumerate(sorted(sizes)):
        passed += Fraction((size - before) * (len(sizes) - place))
        before = size
    expected_us = 1 + float(passed) * 1e-3
    assert makespan_us(program, star, engine, ranks, "interfaces") == pytest.approx(expected_us, rel=1e-9)


# --- What is refused ------------------------------------------------------------------------------------------


def test_links_that_store_messages_are_not_shared() -> None:
    with pytest.raises(InputError, match="cut_through"):
        machine(4, "kind: mesh, shape: [4]", "  switching: store_and_forward\n")


def test_links_on_which_bytes_take_no_time_are_not_shared() -> None:
    fast = machine(4, "kind: mesh, shape: [4]", "  link_per_byte: 0 ns/B\n")
    with pytest.raises(InputError, match="take no time"):
        makespan_us(message(0, 2, 1000), fast, "simpy")


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_schedules_in_loggops_share_links_fairly(tmp_path: Path, engine: str) -> None:
    """Two messages of 1001 bytes on one link, each at half its bandwidth: the last bytes are there 2 us after o + L,
    when their receiver is only busy for o with each."""
    (tmp_path / "a.goal").write_text(
        "num_ranks 2\nrank 0 {\nsend 1001b to 1\nsend 1001b to 1 cpu 1 nic 1\n}\n"
        "rank 1 {\nrecv 1001b from 0\nrecv 1001b from 0\n}\n"
    )
    loggops = read_machine(
        "simcodesign: 1\nname: test\nnodes: 2\nprocessor: {rate: 1 GFLOP/s}\nnetwork:\n  model: loggop\n"
        "  L: 1 us\n  o: 1 us\n  g: 0 us\n  G: 1 ns/B\n  sharing: max_min\n"
        "  topology: {kind: mesh, shape: [2]}\n"
    )
    result = simulate(str(tmp_path / "a.goal"), loggops, effects="links", engine=engine)
    assert result.makespan_s == pytest.approx(2e-6 - 1e-9 + 2 * 1001e-9 + 1e-6, rel=1e-9)
