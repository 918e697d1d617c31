"""The SimPy engine against an independent, plain and slow reading of the event contract, and its errors."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import DeadlockError
from simcodesign.core.operation_kinds import COMPUTE, READ
from simcodesign.engine.event_contract import Log, count_events
from simcodesign.engine.reference import engine
from simcodesign.engine.reference.run import run
from simcodesign.generate.plan import DISK, LINK, MAILBOX, NONE, PROCESSOR, Plan
from tests import examples
from tests.oracles.event_contract import (
    ROUNDED,
    TIED,
    TIMES,
    Op,
    Oracle,
    Writer,
    check,
    crowded_plans,
    message,
    moved_edges,
    numbers,
    plan_of,
    plans,
    posted,
    shuffled,
)

# ---------------------------------------------------------------------------------------------------------------------
# Engine and oracle


@settings(max_examples=examples(400))
@given(st.one_of(plans(TIED), crowded_plans(TIED)))
@pytest.mark.thorough
def test_ties_at_every_step(plan: Plan) -> None:
    check(plan, run)


@settings(max_examples=examples(200))
@given(st.one_of(plans(ROUNDED), crowded_plans(ROUNDED)))
def test_sums_that_round(plan: Plan) -> None:
    check(plan, run)


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(st.integers(0, 3), TIMES, TIMES), min_size=2, max_size=24), st.integers(1, 3))
def test_crowds_at_one_disk(jobs: list[tuple[int, float, float]], servers: int) -> None:
    ops = []
    for rank, think, service in jobs:
        ops += [Op(rank, COMPUTE, think), Op(rank, READ, service, station=0)]
    check(plan_of(ops, 4, (DISK,), (servers,)), run)


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(st.integers(1, 4), st.permutations([0, 1, 2]), st.tuples(*[TIMES] * 6)), max_size=16))
def test_crowds_on_three_links(sent: list[tuple[int, list[int], tuple[float, ...]]]) -> None:
    ops = []
    for source, way, delays in sent:
        ops += message(source, 0, 0.0, way=tuple(way[: 1 + source % 3]), delays=delays)
    check(plan_of(ops, 5, (LINK,) * 3, (1, 1, 1)), run)


def with_idle_steps(plan: Plan, before: list[int]) -> tuple[Plan, np.ndarray]:
    """The Plan with computations of no time put before operations; and where the old operations now are."""
    extra = np.array(before)
    where = np.arange(len(plan)) + np.cumsum(extra)
    old = np.full(len(plan) + int(extra.sum()), NONE)
    old[where] = np.arange(len(plan))
    owner = where.searchsorted(np.arange(len(old)))  # the operation that an idle step stands before
    new = np.append(where, NONE).astype(np.int32)  # NONE stays NONE

    def spread(values: np.ndarray | None, idle: float) -> np.ndarray | None:
        return None if values is None else np.where(old == NONE, np.array(idle, values.dtype), values[old])

    first = np.concatenate([[0], np.cumsum(np.bincount(plan.rank[owner], minlength=plan.ranks))]).astype(np.int64)
    follows_previous = np.append(plan.follows_previous[owner], False)
    follows_previous[:-1] |= np.append(False, owner[1:] == owner[:-1])  # the operation waits for its idle steps
    routes = plan.routes
    if routes is not None:
        routes = replace(routes, route=spread(routes.route, NONE), cost=spread(routes.cost, 0))
    idle = replace(
        plan,
        first=first,
        kind=spread(plan.kind, COMPUTE),
        phase=plan.phase[owner],
        rank=plan.rank[owner],
        peer=spread(plan.peer, NONE),
        size_bytes=spread(plan.size_bytes, 0),
        duration_s=spread(plan.duration_s, 0),
        match=new[spread(plan.match, NONE)],
        station=spread(plan.station, NONE),
        follows_previous=follows_previous,
        routes=routes,
        mailbox=spread(plan.mailbox, NONE),
        flight_s=spread(plan.flight_s, 0),
        edges=moved_edges(plan.edges, where, len(old)),
    )
    return idle, where


@settings(max_examples=examples(150))
@given(st.integers(0, 2**64), st.one_of(plans(TIED, hoarding=False), crowded_plans(TIED, hoarding=False)))
def test_ties_do_not_depend_on_how_many_events_came_before(seed: int, plan: Plan) -> None:
    """Steps of no time add events to an instant, and change nothing."""
    random = Random(seed)
    counts = [random.choice([0, 0, 1, 3]) for _ in range(len(plan))]
    idle, where = with_idle_steps(plan, counts) if len(plan) else (plan, np.zeros(0, int))
    plain, more = run(plan), run(idle)
    assert numbers(more.finish_s[where]) == numbers(plain.finish_s)
    assert numbers(more.arrival_s[where]) == numbers(plain.arrival_s)
    assert more.match[where].tolist() == np.append(where, NONE)[plain.match].tolist()
    for name in ("served", "busy_s", "wait_s", "longest_queue"):
        assert getattr(more, name).tolist() == getattr(plain, name).tolist()


@settings(max_examples=examples(150))
@given(st.integers(0, 2**64), st.one_of(plans(TIED), crowded_plans(TIED)))
def test_what_cannot_end_is_what_the_oracle_cannot_end(seed: int, plan: Plan) -> None:
    """Programs with their steps shuffled: many of them wait in a circle."""
    check(shuffled(plan, Random(seed)), run)


@pytest.mark.thorough
def test_a_good_share_of_shuffled_plans_cannot_end() -> None:
    """So that the test above sees both."""
    random = Random(1)
    written = [Writer(random, TIED, random.randint(5, 40), hoarding=False).plan() for _ in range(200)]
    assert all(Oracle(plan).run().ended for plan in written)
    stuck = sum(not Oracle(shuffled(plan, random)).run().ended for plan in written)
    assert 40 <= stuck <= 160


@settings(max_examples=examples(150))
@given(st.one_of(plans(TIED), crowded_plans(ROUNDED)))
def test_events_are_counted_one_by_one_as_by_the_formula(plan: Plan) -> None:
    """The other engine counts them from the Plan and what the stations served."""
    try:
        log = run(plan)
    except DeadlockError:
        return
    assert log.events == count_events(plan, log.served)


# ---------------------------------------------------------------------------------------------------------------------
# The contract in small cases


def reads(*jobs: tuple[int, float, float], servers: int = 1) -> Log:
    """Computations followed by reads of one disk: (rank, think time, service time)."""
    ops = [op for rank, think, time in jobs for op in (Op(rank, COMPUTE, think), Op(rank, READ, time, station=0))]
    return run(plan_of(ops, 1 + max(rank for rank, *_ in jobs), (DISK,), (servers,)))


def test_the_lower_rank_wins_a_tie_though_it_arrives_by_more_events() -> None:
    ops = [Op(0, COMPUTE, 0.0) for _ in range(5)] + [Op(0, READ, 2.0, station=0), Op(1, READ, 3.0, station=0)]
    log = run(plan_of(ops, 2, (DISK,), (1,)))
    assert log.finish_s.tolist() == [0.0] * 5 + [2.0, 5.0]


def test_who_came_first_wins_whatever_its_rank() -> None:
    log = reads((0, 2.0, 1.0), (1, 1.0, 5.0), (2, 0.0, 4.0))
    assert log.finish_s[1::2].tolist() == [10.0, 9.0, 4.0]
    assert (log.wait_s.tolist(), log.longest_queue.tolist()) == ([3.0 + 7.0], [2])


def test_a_completion_and_an_arrival_of_one_instant_are_seen_together() -> None:
    """At 4 the disk falls free, ranks 0 and 1 arrive, rank 2 has waited since 3: it is first."""
    log = reads((0, 4.0, 1.0), (1, 4.0, 1.0), (2, 3.0, 1.0), (3, 0.0, 4.0))
    assert log.finish_s[1::2].tolist() == [6.0, 7.0, 5.0, 4.0]


def test_several_servers_serve_as_many_at_a_time() -> None:
    log = reads(*((rank, 0.0, 3.0) for rank in range(5)), servers=2)
    assert log.finish_s[1::2].tolist() == [3.0, 3.0, 6.0, 6.0, 9.0]
    assert (log.served.tolist(), log.busy_s.tolist(), log.wait_s.tolist()) == ([5], [15.0], [12.0])
    assert log.longest_queue.tolist() == [5]


def test_a_message_with_nothing_to_share_arrives_when_its_sender_is_done() -> None:
    ops = [Op(0, COMPUTE, 1.0), *message(0, 1, 2.0, 0.5)]
    log = run(plan_of(ops, 2))
    assert numbers(log.finish_s) == [1.0, 3.0, 3.5]
    assert numbers(log.arrival_s) == ["never", 3.0, "never"]


def test_a_receive_that_comes_late_takes_only_its_overhead() -> None:
    log = run(plan_of([Op(1, COMPUTE, 9.0), *message(0, 1, 2.0, 0.5)], 2))
    assert log.finish_s.tolist() == [2.0, 9.0, 9.5]


def test_an_empty_plan_ends_at_once() -> None:
    for ranks in (1, 3):
        log = run(plan_of([], ranks))
        assert len(log.finish_s) == len(log.arrival_s) == len(log.served) == log.events == 0


def test_one_rank_does_one_thing_after_the_other() -> None:
    times = [0.1, 0.2, 0.3, 0.0, 0.7]
    log = run(plan_of([Op(0, COMPUTE, time) for time in times], 1))
    assert log.finish_s.tolist() == np.cumsum(times).tolist()


def test_ranks_without_operations_are_passed_over() -> None:
    log = run(plan_of([Op(2, COMPUTE, 1.0), Op(4, COMPUTE, 2.0)], 6))
    assert log.finish_s.tolist() == [1.0, 2.0]


def test_only_operations_of_no_time() -> None:
    ops = [Op(rank, READ, 0.0, station=0) for rank in (0, 1, 2) for _ in range(4)]
    for _ in range(4):
        ops += message(0, 1, 0.0, way=(1,))
    log = run(plan_of(ops, 3, (DISK, LINK), (1, 1)))
    assert set(log.finish_s) == {0.0}
    assert log.served.tolist() == [12, 4]


def test_unchained_operations_start_at_once() -> None:
    ops = [Op(0, COMPUTE, 5.0), Op(0, COMPUTE, 1.0, follows_previous=False), Op(0, COMPUTE, 1.0)]
    assert run(plan_of(ops, 1)).finish_s.tolist() == [5.0, 1.0, 2.0]


def test_extra_dependencies_hold_an_operation_back() -> None:
    long, short = Op(0, COMPUTE, 5.0), Op(1, COMPUTE, 1.0)
    last = Op(2, COMPUTE, 1.0, after=[long, short])
    assert run(plan_of([long, short, last], 3)).finish_s.tolist() == [5.0, 1.0, 6.0]


# --- processors


def test_a_processor_serves_what_overlaps_one_after_another() -> None:
    ops = [Op(0, COMPUTE, time, station=0, follows_previous=False) for time in (3.0, 1.0, 2.0)]
    log = run(plan_of(ops, 1, (PROCESSOR,), (1,)))
    assert log.finish_s.tolist() == [3.0, 4.0, 6.0]
    assert (log.busy_s.tolist(), log.wait_s.tolist(), log.longest_queue.tolist()) == ([6.0], [3.0 + 4.0], [3])


def test_a_receive_asks_for_its_processor_when_its_message_is_there() -> None:
    send, receive = message(0, 1, 2.0, 1.0)
    receive.station, receive.follows_previous = 0, False
    ops = [send, Op(1, COMPUTE, 1.5, station=0), receive, Op(1, COMPUTE, 1.0, station=0, follows_previous=False)]
    log = run(plan_of(ops, 2, (PROCESSOR,), (1,)))
    assert log.finish_s.tolist() == [2.0, 1.5, 3.5, 2.5]


# --- flights


def test_a_message_flies_on_when_its_sender_is_done() -> None:
    send, receive = message(0, 1, 1.0, 0.25, flight=4.0)
    log = run(plan_of([send, Op(0, COMPUTE, 1.0), receive], 2))
    assert numbers(log.finish_s) == [1.0, 2.0, 4.25]
    assert numbers(log.arrival_s) == [4.0, "never", "never"]


def test_a_flight_may_be_shorter_than_the_send() -> None:
    send, receive = message(0, 1, 3.0, flight=1.0)
    assert run(plan_of([send, receive], 2)).finish_s.tolist() == [3.0, 1.0]


# --- beginnings


def test_early_edges_wait_for_a_beginning_only() -> None:
    held = Op(0, COMPUTE, 5.0)
    ops = [Op(0, COMPUTE, 2.0), held, Op(1, COMPUTE, 1.0, early=[held])]
    assert run(plan_of(ops, 2)).finish_s.tolist() == [2.0, 7.0, 3.0]


# --- mailboxes


def test_the_first_message_meets_the_first_receive() -> None:
    """Rank 2 sends first though rank 1 is listed first; both receives of rank 0 wait, then one message waits."""
    one, two = posted(1, 0, 0, 5.0), posted(2, 0, 0, 1.0, 0.5)
    log = run(plan_of([two[1], one[1], one[0], two[0]], 3, (MAILBOX,), (1,)))
    assert log.match.tolist() == [3, 2, 1, 0]
    assert log.finish_s.tolist() == [1.5, 5.0, 5.0, 1.0]
    assert (log.served.tolist(), log.busy_s.tolist()) == ([2], [0.0])
    assert (log.wait_s.tolist(), log.longest_queue.tolist()) == ([1.0 + 3.5], [1])


def test_messages_of_one_instant_are_taken_by_number() -> None:
    ends = [posted(rank, 0, 0, 1.0) for rank in (3, 1, 2)]
    log = run(plan_of([*(receive for _, receive in ends), *(send for send, _ in ends)], 4, (MAILBOX,), (1,)))
    assert log.match.tolist() == [3, 4, 5, 0, 1, 2]


def test_receives_that_wait_together_are_served_by_the_time_of_their_posting() -> None:
    ends = [posted(1, 0, 0, 3.0) for _ in range(2)]
    late, early = (receive for _, receive in ends)
    work = Op(0, COMPUTE, 1.0)
    late.follows_previous, early.follows_previous = True, False
    log = run(plan_of([work, late, early, *(send for send, _ in ends)], 2, (MAILBOX,), (1,)))
    assert log.match.tolist() == [NONE, 4, 3, 2, 1]
    assert (log.wait_s.tolist(), log.longest_queue.tolist()) == ([3.0 + 5.0], [2])


def test_a_receive_without_a_message_is_named() -> None:
    send, receive = posted(1, 0, 0, 1.0)
    one, other = message(0, 1, 1.0)
    plan = plan_of([receive, one, other, send], 2, (MAILBOX,), (1,))
    with pytest.raises(DeadlockError, match=r"rank 0 waits in receive from anyone \(operation 0, phase 'main'\)"):
        run(plan)


MANY = 5000


@pytest.mark.thorough
def test_many_receives_in_a_row_that_are_all_there() -> None:
    late = Op(1, COMPUTE, 1e6)
    pairs = [message(0, 1, 1.0) for _ in range(MANY)]
    log = run(plan_of([late, *(op for pair in pairs for op in pair)], 2))
    assert log.finish_s.tolist() == [float(k) for k in range(1, MANY + 1)] + [1e6] * (MANY + 1)


def test_many_receives_that_release_one_another() -> None:
    """Not chained but in the same order by extra dependencies, as schedules from elsewhere are written."""
    pairs = [message(0, 1, 0.0) for _ in range(MANY)]
    hold = Op(1, COMPUTE, 1.0)
    for before, (_, receive) in zip([hold, *(pair[1] for pair in pairs)], pairs, strict=False):
        receive.follows_previous, receive.after = False, [before]
    log = run(plan_of([hold, *(op for pair in pairs for op in pair)], 2))
    assert set(log.finish_s[MANY:]) == {1.0}


@pytest.mark.thorough
def test_progress_is_told_in_simulated_seconds() -> None:
    recorded: list[tuple[float, int]] = []
    count = 50_000
    log = run(plan_of([Op(0, COMPUTE, 1.0) for _ in range(count)], 1), lambda now, done: recorded.append((now, done)))
    assert log.events == count
    assert recorded
    assert all(now == done <= count for now, done in recorded)


def test_an_interrupt_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it comes, also in a process, whose exceptions SimPy keeps for those who wait for it."""
    end = engine.Simulation.end

    def interrupted(simulation: engine.Simulation, op: int) -> None:
        if op == 3:
            raise KeyboardInterrupt
        end(simulation, op)

    monkeypatch.setattr(engine.Simulation, "end", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(plan_of([Op(rank, COMPUTE, 1.0) for rank in (0, 1) for _ in range(4)], 2))


# ---------------------------------------------------------------------------------------------------------------------
# Runs that cannot end


def all_receive_first(ranks: int) -> Plan:
    """Every rank waits for its left neighbour before it sends to the right."""
    pairs = [message(rank, (rank + 1) % ranks, 1.0) for rank in range(ranks)]
    ops = [op for rank in range(ranks) for op in (pairs[rank - 1][1], pairs[rank][0])]
    return plan_of(ops, ranks)


def test_two_ranks_that_both_receive_first() -> None:
    with pytest.raises(DeadlockError) as caught:
        run(all_receive_first(2))
    text = str(caught.value)
    assert "rank 0 waits in receive from rank 1 (operation 0, phase 'main')" in text
    assert "rank 1 waits in receive from rank 0 (operation 0, phase 'main')" in text


def test_a_cycle_of_three_behind_other_work() -> None:
    ring = [message(rank, (rank + 1) % 3, 1.0) for rank in range(3)]
    ops = [Op(rank, COMPUTE, 1.0) for rank in range(4)]
    ops += [op for rank in range(3) for op in (ring[rank - 1][1], ring[rank][0])]
    with pytest.raises(DeadlockError) as caught:
        run(plan_of(ops, 4))
    for rank in range(3):
        assert f"rank {rank} waits in receive from rank {(rank - 1) % 3} (operation 1" in str(caught.value)
    assert "send to rank 1 (operation 2" in str(caught.value)  # what rank 1 waits for
    assert "rank 3" not in str(caught.value)


def test_many_ranks_are_not_all_listed() -> None:
    with pytest.raises(DeadlockError, match="and 95 more ranks") as caught:
        run(all_receive_first(100))
    assert str(caught.value).count(" waits in ") == 5


def test_a_circle_of_extra_dependencies() -> None:
    one, other = Op(0, COMPUTE, 1.0), Op(1, COMPUTE, 1.0)
    one.after, other.after = [other], [one]
    with pytest.raises(DeadlockError, match="rank 0 waits in compute"):
        run(plan_of([one, other], 2))


@settings(max_examples=examples(20))
@given(st.integers(2, 8))
@example(33)
def test_rings_that_all_receive_first_never_end(ranks: int) -> None:
    with pytest.raises(DeadlockError):
        run(all_receive_first(ranks))
