"""Plans: numbering, sends and receives that find each other, sizes, prices of phases, and what is refused."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import CapacityError, InputError, Place
from simcodesign.core.operation_kinds import COMPUTE, KINDS, MEMORY, READ, RECEIVE, SEND, WAIT, WRITE
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.engine.simulate import simulate
from simcodesign.generate.columns import Ranks
from simcodesign.generate.lower import make_plan
from simcodesign.generate.messages.matching import matches
from simcodesign.generate.plan import NONE, Plan
from simcodesign.generate.segment import Segment, joined, woven
from tests.builders import machine, network, workload


def unit_machine(ranks: int, **constants: float) -> Machine:
    """A machine whose startups and bytes take a second."""
    return machine(network(ranks, **({"startup_s": 1.0, "per_byte_s": 1.0} | constants)), disk=Disk(1.0, 2.0, 1.0))


def planned(program: str, ranks: int, effects: tuple[str, ...] = ()) -> Plan:
    return make_plan(bind(workload(program), unit_machine(ranks)), effects)


# ---------------------------------------------------------------------------------------------------------------------
# Numbering


Case = tuple[Ranks, list[list[tuple[int, float]]]]


@st.composite
def columns(draw: st.DrawFn) -> Case:
    """Random computations with masks, and each rank's operations (column, duration) as they should come out."""
    ranks, count = draw(st.integers(1, 5)), draw(st.integers(0, 6))
    program_writer = Ranks(ranks)
    expected: list[list[tuple[int, float]]] = [[] for _ in range(ranks)]
    for column in range(count):
        when = draw(st.one_of(st.just([True] * ranks), st.lists(st.booleans(), min_size=ranks, max_size=ranks)))
        times = draw(st.lists(st.floats(0, 9), min_size=ranks, max_size=ranks))
        who = None if all(when) else np.flatnonzero(when).astype(np.int32)
        program_writer.work(COMPUTE, float(column), np.array(times)[slice(None) if who is None else who], who)
        for rank in range(ranks):
            expected[rank] += [(column, times[rank])] if when[rank] else []
    return program_writer, expected


def operations(segment: Segment) -> list[list[tuple[int, float]]]:
    """Of every rank: (column, which stands as the size; duration)."""
    ends = zip(segment.first[:-1], segment.first[1:], strict=True)
    sizes, times = segment.fields["size_bytes"], segment.fields["duration_s"]
    return [list(zip(sizes[a:b].tolist(), times[a:b].tolist(), strict=True)) for a, b in ends]


@given(columns())
def test_operations_are_numbered_rank_by_rank_in_program_order(case: Case) -> None:
    program_writer, expected = case
    assert operations(woven(program_writer.columns, program_writer.count, 0)) == expected


@given(columns(), st.integers(1, 3))
def test_columns_repeat_and_join(case: Case, times: int) -> None:
    program_writer, expected = case
    written = woven(program_writer.columns, program_writer.count, 0)
    repeated, added = written.repeated(times), joined([written] * times, program_writer.count)
    assert operations(repeated) == operations(added) == [steps * times for steps in expected]
    assert repeated.first.tolist() == added.first.tolist()
    for name in written.fields:
        assert np.array_equal(repeated.fields[name], added.fields[name])


PROGRAM = """
  - compute: {seconds: rank + 1}
  - read: {bytes: 3, times: 2, when: rank != 1}
  - phase: talk
    repeat: 2
    do:
    - send: {to: 2, bytes: 5, when: rank == 0}
    - receive: {from: 0, bytes: 5, when: rank == 2}
  - write: {bytes: 4}
"""


def test_a_plan_written_out() -> None:
    plan = planned(PROGRAM, 3)
    assert [[KINDS[kind] for kind in kinds] for kinds in np.split(plan.kind, plan.first[1:-1])] == [
        ["compute", "read", "send", "send", "write"],
        ["compute", "write"],
        ["compute", "read", "receive", "receive", "write"],
    ]
    assert plan.rank.tolist() == [0] * 5 + [1] * 2 + [2] * 5
    assert plan.phases == ("main", "talk")
    assert plan.phase.tolist() == [0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0]
    assert plan.peer.tolist() == [-1, -1, 2, 2, -1, -1, -1, -1, -1, 0, 0, -1]
    assert plan.match.tolist() == [-1, -1, 9, 10, -1, -1, -1, -1, -1, 2, 3, -1]
    assert plan.size_bytes.tolist() == [0, 6, 5, 5, 4, 0, 4, 0, 6, 5, 5, 4]
    # read: 2 x (1 + 3); send: 1 + 5; write: 2 + 4
    assert plan.duration_s.tolist() == [1, 8, 6, 6, 6, 2, 6, 3, 8, 0, 0, 6]
    assert plan.follows_previous.tolist() == [False, *[True] * 4, False, True, False, *[True] * 4, False]
    assert plan.station is None
    assert plan.routes is plan.edges is plan.mailbox is plan.gap_s is plan.flight_s is None
    assert plan.describe(9) == "receive from rank 0 (operation 2, phase 'talk')"
    assert (len(plan), plan.ranks) == (12, 3)


def test_a_plan_of_one_rank_and_of_nothing() -> None:
    plan = planned("  - allreduce: {bytes: 8}\n  - compute: {seconds: 2}\n  - barrier: {}\n", 1)
    assert plan.kind.tolist() == [COMPUTE]
    nothing = planned("  - repeat: 0\n    do: [{compute: {seconds: 1}}, {barrier: {}}]\n", 3)
    assert (len(nothing), nothing.first.tolist()) == (0, [0] * 4)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("effects", ["none", "all"])
def test_a_workload_that_does_nothing_takes_no_time(ranks: int, effects: str) -> None:
    idle = workload("  - {phase: idle, repeat: 0, do: [{allreduce: {bytes: 8}}, {write: {bytes: 1}}]}\n")
    result = simulate(idle, unit_machine(ranks), effects=effects)
    assert (result.makespan_s, result.messages, result.events) == (0.0, 0, 0)


# ---------------------------------------------------------------------------------------------------------------------
# MessagePricing of phases


def test_constants_of_a_phase_price_only_what_stands_in_it() -> None:
    program = """
  - send: {to: 1, bytes: 1, when: rank == 0}
  - phase: dear
    constants: {network.startup: 10, network.receive_overhead: 4, processor.rate: 2, disk.write_startup: 7}
    do:
    - receive: {from: 0, when: rank == 1}
    - send: {to: 1, bytes: 1, when: rank == 0}
    - compute: {flops: 6}
    - constants: {network.startup: 100}
      do:
      - send: {to: 1, bytes: 1, when: rank == 0}
    - write: {bytes: 1}
    - send: {to: 1, bytes: 1, when: rank == 0}
  - repeat: 3
    do: [{receive: {from: 0, when: rank == 1}}]
  - compute: {flops: 6}
"""
    plan = planned(program, 2)
    assert plan.duration_s.tolist() == [2, 11, 3, 101, 8, 11, 6, 4, 3, 8, 0, 0, 0, 6]


# ---------------------------------------------------------------------------------------------------------------------
# Messages that find each other


@st.composite
def scripts(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, int, int]]]:
    """Ranks, and steps (kind, rank, peer, tag) of sends and receives in any order, as many of each."""
    ranks = draw(st.integers(2, 4))
    ends = st.tuples(st.integers(0, ranks - 1), st.integers(1, ranks - 1), st.sampled_from([0, 0, 7, 2**31 - 3]))
    steps = []
    for source, away, tag in draw(st.lists(ends, max_size=15)):
        target = (source + away) % ranks
        steps += [(SEND, source, target, tag), (RECEIVE, target, source, tag)]
    return ranks, draw(st.permutations(steps))


@given(scripts(), st.booleans())
def test_the_nth_send_meets_the_nth_receive_of_its_tag(
    script: tuple[int, list[tuple[int, int, int, int]]], with_barriers: bool
) -> None:
    """Against queues, one for every sender, receiver and tag; collectives in between keep to themselves."""
    ranks, steps = script
    program, waiting = "", defaultdict(deque)
    sizes = iter(range(1, 1000))
    expected: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for kind, rank, peer, tag in steps:
        if kind == SEND:
            size = next(sizes)
            program += f"  - send: {{to: {peer}, bytes: {size}, tag: {tag}, when: rank == {rank}}}\n"
            waiting[rank, peer, tag].append(size)
        else:
            program += f"  - receive: {{from: {peer}, tag: {tag}, when: rank == {rank}}}\n"
        program += "  - barrier: {}\n" if with_barriers else ""
    plan = planned(program + "  - compute: {seconds: 1}\n", ranks)
    for kind, rank, peer, tag in steps:
        if kind == RECEIVE:
            expected[rank].append(waiting[peer, rank, tag].popleft())
    got = {
        rank: plan.size_bytes[(plan.rank == rank) & (plan.kind == RECEIVE) & (plan.size_bytes > 0)].tolist()
        for rank in expected
    }
    assert got == expected
    messages = np.flatnonzero((plan.kind == SEND) | (plan.kind == RECEIVE))
    assert (plan.match[plan.match[messages]] == messages).all()
    assert (plan.peer[plan.match[messages]] == plan.rank[messages]).all()


def test_tags_let_messages_pass_each_other() -> None:
    program = """
  - send: {to: 1, bytes: 10, tag: 1, when: rank == 0}
  - send: {to: 1, bytes: 20, tag: 2, when: rank == 0}
  - receive: {from: 0, bytes: 20, tag: 2, when: rank == 1}
  - receive: {from: 0, bytes: 10, tag: 1, when: rank == 1}
"""
    assert planned(program, 2).match.tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize("pattern", ["halo1d", "halo2d"])
def test_messages_of_ranks_do_not_mix_with_those_of_an_exchange(pattern: str) -> None:
    program = f"""
  - send: {{to: (rank + 1) % P, bytes: 3}}
  - exchange: {{pattern: {pattern}, bytes: 9}}
  - receive: {{from: (rank - 1) % P}}
"""
    plan = planned(program, 4)
    first, last = plan.first[:-1], plan.first[1:] - 1
    assert plan.size_bytes[last].tolist() == [3] * 4
    assert plan.match[last].tolist() == np.roll(first, 1).tolist()


UNEVEN = {
    "one receive too few": (
        "  - send: {to: 1, bytes: 8, tag: 5, when: rank == 0}\n",
        "rank 0 sends 1 message with tag 5 to rank 1, which receives 0 of them",
    ),
    "one send too few": (
        "  - receive: {from: 2, when: rank == 0}\n",
        "rank 2 sends 0 messages with tag 0 to rank 0, which receives 1 of them",
    ),
    "another tag": (
        "  - send: {to: 1, bytes: 8, tag: 5, when: rank == 0}\n  - receive: {from: 0, tag: 6, when: rank == 1}\n",
        "rank 0 sends 1 message with tag 5 to rank 1, which receives 0 of them",
    ),
    "two for one": (
        "  - repeat: 2\n    do: [{send: {to: 1, bytes: 8, when: rank == 2}}]\n"
        "  - receive: {from: 2, when: rank == 1}\n",
        "rank 2 sends 2 messages with tag 0 to rank 1, which receives 1 of them",
    ),
    "another size": (
        "  - send: {to: 1, bytes: 8, when: rank == 2}\n  - receive: {from: 2, bytes: 9, when: rank == 1}\n",
        "rank 1 expects 9 bytes from rank 2, which sends 8",
    ),
}


@pytest.mark.parametrize(("program", "text"), UNEVEN.values(), ids=UNEVEN.keys())
def test_messages_that_do_not_match_are_refused(program: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        planned(program, 3)
    assert "sends and receives do not match" in str(caught.value)
    assert text in str(caught.value)
    assert "w.yaml:" in str(caught.value)


@pytest.mark.parametrize(
    ("step", "rank"),
    [
        ("send: {to: rank + 1, bytes: 1}", 2),
        ("send: {to: rank, bytes: 1}", 0),
        ("send: {to: rank - 1, bytes: 1}", 0),
        ("send: {to: 1.5, bytes: 1}", 0),
        ("receive: {from: 7, when: rank == 1}", 1),
    ],
)
def test_peers_that_do_not_exist_are_refused(step: str, rank: int) -> None:
    with pytest.raises(InputError, match=f"rank {rank}: .* is not another rank"):
        planned(f"  - {step}\n", 3)


BAD = {
    "part of a repetition": ("  - repeat: 5/2\n    do: [{compute: {seconds: 1}}]\n", "whole repetitions"),
    "negative time": ("  - compute: {seconds: 1 - rank}\n", "seconds = 1 - rank is negative"),
    "infinite time": ("  - compute: {seconds: 1 / rank}\n", "not finite"),
    "sizes that differ": ("  - allreduce: {bytes: rank}\n", "'rank' cannot be used in bytes"),
    "another grid": ("  - exchange: {pattern: halo2d, bytes: 1, grid: [3, 3]}\n", "does not hold P = 3 ranks"),
    "half a grid": ("  - exchange: {pattern: halo2d, bytes: 1, grid: [1.5, 2]}\n", "does not hold P = 3 ranks"),
    "no clock": ("  - compute: {instructions: 1}\n", "needs processor.clock"),
}


@pytest.mark.parametrize(("program", "text"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_simulated_is_refused(program: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        planned(program, 3)
    assert text in str(caught.value)


def test_a_plan_too_large_for_the_memory_is_refused_at_once() -> None:
    with pytest.raises(CapacityError, match=r"operations, about .* GB of memory"):
        planned("  - repeat: 1e12\n    do: [{compute: {seconds: 1}}]\n", 4)


def test_operations_in_loggops_take_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 exchanges of two ranks: 8,000 operations of 80 bytes each, or 360 in LogGOPS."""
    monkeypatch.setattr("simcodesign.core.memory_limit.memory_bytes", lambda: 2e6)
    program = workload("  - repeat: 2000\n    do: [{exchange: {pattern: halo1d, bytes: 1}}]\n")
    make_plan(bind(program, unit_machine(2)))
    with pytest.raises(CapacityError):
        make_plan(bind(program, unit_machine(2, model="loggop", startup_s=0.0, overhead_s=1.0)))


# ---------------------------------------------------------------------------------------------------------------------
# Parts used alone


def test_receives_of_a_pen_say_how_far_back_their_send_is() -> None:
    program_writer = Ranks(3)
    program_writer.send((program_writer.rank + 1) % 3, 8.0)
    program_writer.work(COMPUTE, 0.0, 1.0, np.array([1], np.int32))
    program_writer.receive((program_writer.rank - 1) % 3, 8.0, match=-2)
    segment = woven(program_writer.columns, 3, 0)
    found = matches(segment, np.repeat(np.arange(3, dtype=np.int32), segment.counts), Place())
    match, mailbox, boxes = found.match, found.mailbox, found.boxes
    # ranks 0 and 2: send, receive; rank 1: send, compute, receive
    assert match.tolist() == [4, 5, 6, NONE, 0, 1, 2]
    assert (mailbox, boxes) == (None, 0)


def test_kinds_are_named_in_order() -> None:
    known = (COMPUTE, SEND, RECEIVE, READ, WRITE, MEMORY, WAIT)
    assert [KINDS[kind] for kind in known] == ["compute", "send", "receive", "read", "write", "memory", "wait"]
    assert len(set(KINDS)) == len(KINDS)


# ---------------------------------------------------------------------------------------------------------------------
# Trains of messages


def exchange(messages: str, train: str, bytes_: str = "4") -> str:
    return f"  - exchange: {{pattern: halo1d, bytes: {bytes_}, messages: {messages}, train: {train}}}\n"


def test_a_train_written_out() -> None:
    """Seven messages of 4 bytes up and down a ring, three at a time: startup 1 each, 1 per byte."""
    plan = planned(exchange("7", "3"), 3)
    assert plan.kind[: plan.first[1]].tolist() == [SEND] * 6 + [RECEIVE] * 6
    assert plan.size_bytes[:12].tolist() == [12, 12, 4] * 4
    assert plan.duration_s[:12].tolist() == [15, 15, 5] * 2 + [0] * 6
    assert plan.train is not None
    assert plan.train[:6].tolist() == [3, 3, 1] * 2
    assert (plan.match[plan.match] == np.arange(len(plan))).all()
    result = simulate(workload(exchange("7", "3")), unit_machine(3))
    assert (result.messages, result.message_bytes) == (3 * 2 * 7, 3 * 2 * 7 * 4)


def test_a_train_on_its_way() -> None:
    """The head enters after one startup, a link is busy for all bytes."""
    plan = planned(exchange("3", "3"), 2, ("links",))
    assert plan.routes is not None
    assert (plan.routes.inject_s.tolist(), plan.routes.tail_s.tolist()) == ([1], [2 + 12])
    assert (plan.routes.link_s.tolist(), plan.routes.interface_s.tolist()) == ([12], [12])


def refused(program: str, **constants: object) -> str:
    with pytest.raises(InputError) as caught:
        make_plan(bind(workload(program), unit_machine(4, **constants)))  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize(
    ("messages", "train", "constants", "what"),
    [
        ("2.5", "1", {}, "a simulation needs whole messages, but messages = 2.5 = 2.5 here"),
        ("-1", "1", {}, "messages = -1 is negative"),
        ("1/0", "1", {}, "messages = 1/0 is not finite"),
        ("2", "0", {}, "train = 0 is no number of messages, got 0.0 (allowed: a whole number, 1 or above)"),
        ("2", "1.5", {}, "train = 1.5 is no number of messages"),
    ],
)
def test_messages_and_trains_that_cannot_be(messages: str, train: str, constants: dict[str, object], what: str) -> None:
    result = refused(exchange(messages, train), **constants)
    assert result.startswith("w.yaml:4: program[0].exchange.")
    assert what in result
    if "whole messages" not in what:
        with pytest.raises(InputError) as caught:
            forecast(workload(exchange(messages, train)), unit_machine(4, **constants))  # type: ignore[arg-type]
        assert str(caught.value) == result


@pytest.mark.parametrize(
    "constants",
    [
        {"receive_overhead_s": 1.0},
        {"model": "loggop", "startup_s": 0.0, "overhead_s": 1.0},
        {"switching": "store_and_forward", "sharing": "round_robin"},
    ],
    ids=["receives that take time", "overheads", "packets that are stored"],
)
def test_a_train_that_differs_from_its_messages_is_written_as_messages(constants: dict[str, object]) -> None:
    machine = unit_machine(3, **constants)  # type: ignore[arg-type]
    train, single = (make_plan(bind(workload(exchange("7", each)), machine)) for each in ("3", "1"))
    assert (train.kind == SEND).sum() == (single.kind == SEND).sum() == 3 * 2 * 7
    assert train.duration_s.tolist() == single.duration_s.tolist()


def test_a_train_is_written_as_messages_where_receives_inside_nodes_take_time() -> None:
    inside = unit_machine(2, receive_overhead_s=1.0).network
    machine = replace(unit_machine(2), processors_per_node=2, node_network=inside)
    assert len(make_plan(bind(workload(exchange("7", "3")), machine))) == 4 * 2 * 2 * 7


def test_a_great_many_messages_need_trains() -> None:
    with pytest.raises(CapacityError, match=r"up to 4e\+15 operations"):
        planned(exchange("1e15", "2"), 2)
    assert len(planned(exchange("1e15", "1e15"), 2)) == 8


def test_a_forecast_takes_any_number_of_messages() -> None:
    counts = np.array([0.0, 0.5, 1.0, 7.25])
    result = forecast(workload(exchange("n", "1"), "parameters: {n: 1}\n"), unit_machine(4), {"n": counts})
    assert result.makespan_s.tolist() == (2 * 5 * counts).tolist()  # both ways, startup 1 and 4 bytes
    assert result.messages.tolist() == (4 * 2 * counts).tolist()
