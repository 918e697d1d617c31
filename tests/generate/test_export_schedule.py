"""Plans as schedules: replayed, they take the same time; tags tell apart what might be confused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import DeadlockError, InputError, Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.operation_kinds import COMPUTE, READ, RECEIVE, SEND
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.design_point import bind
from simcodesign.describe.goal.format import read_goal, write_goal
from simcodesign.describe.goal.schedule import ANY, NONE, Schedule
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.programs.program import Block, Step, walk
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine, load_workload, workload_of
from simcodesign.engine.selection import run
from simcodesign.engine.simulate import simulate
from simcodesign.generate.export_schedule import schedule_of
from simcodesign.generate.lower import make_plan
from simcodesign.generate.messages.collectives.algorithm_messages import MESSAGES
from simcodesign.generate.plan import DISK, MAILBOX, PROCESSOR, Plan
from tests import examples
from tests.builders import network_of
from tests.oracles.event_contract import TIED, Op, crowded_plans, message, plan_of, posted
from tests.shipped_pairs import needs_memory, plain_workloads, ranks_of

NS = 1e-9
HERE = Place()
DISK_OF_ALL = Disk(1e-3, 2e-3, 1e-8)
FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def loggop(S: float | None = None, nodes: int = 16, **letters: float) -> Machine:
    values = {"L": 20e-6, "o": 10e-6, "g": 8e-6, "G": 8e-9, "O": 9e-9} | letters
    names = {"L": "latency_s", "o": "overhead_s", "g": "gap_s", "G": "per_byte_s", "O": "overhead_per_byte_s"}
    network = network_of(
        build_topology("crossbar", nodes),
        model="loggop",
        rendezvous_above_bytes=S,
        **{names[key]: value for key, value in values.items()},
    )
    return Machine("loggop", Processor(1e9), network, DISK_OF_ALL)


def hockney(startup: float = 5e-6, per_byte: float = 1e-9, overhead: float = 1e-6) -> Machine:
    network = network_of(
        build_topology("crossbar", 16),
        startup_s=startup,
        per_byte_s=per_byte,
        receive_overhead_s=overhead,
        sends="blocking",
    )
    return Machine("hockney", Processor(1e9), network, DISK_OF_ALL)


#: GOAL counts nanoseconds, 278 hours of them at most.
SHORT = {"checkpointed": {"work": 3600.0}}


def planned(workload: Workload, machine: Machine, ranks: int) -> Plan:
    return make_plan(bind(workload, machine, {"P": ranks, **SHORT.get(workload.name, {})}))


def replayed_s(schedule: Schedule, machine: Machine) -> np.ndarray:
    """When the operations of a schedule are done."""
    return run(make_plan(bind(workload_of(schedule), machine)), "simpy").finish_s


def through_file(schedule: Schedule, folder: Path) -> Schedule:
    write_goal(schedule, folder / "a.goal")
    return read_goal(folder / "a.goal")


# The same simulation. Before it is written, a schedule is exact; GOAL rounds it to whole bytes and nanoseconds.


WRITTEN_FOR = {
    "fat-tree-cluster": load_machine("fat-tree-cluster"),
    "mesh-256": load_machine("mesh-256"),
    "receive overhead": hockney(),
}


def prices_messages(name: str) -> bool:
    """Whether some phase of a shipped workload has network constants of its own. A schedule cannot say them: see
    ``test_phases_with_constants_of_their_own``."""
    blocks = [step for step in walk(load_workload(name).program) if isinstance(step, Block)]
    return any(path.startswith("network.") for block in blocks for path, _ in block.constants)


def sends_beside(name: str) -> bool:
    """Whether a shipped workload starts messages and goes on: in a schedule they hold the processor meanwhile."""
    return any(isinstance(step, Send) and step.started_as for step in walk(load_workload(name).program))


SHIPPED = [
    (name, machine)
    for name in plain_workloads()
    if not prices_messages(name) and not sends_beside(name)
    for machine in WRITTEN_FOR
    if WRITTEN_FOR[machine].memory is not None or not needs_memory(name)
]


@pytest.mark.parametrize(("name", "on"), SHIPPED)
@pytest.mark.thorough
def test_shipped_workloads(tmp_path: Path, name: str, on: str) -> None:
    """To the last bit before rounding. Then, along no path are there more operations than in the Plan, each of which is
    rounded by half a nanosecond, or by the time of half a byte for each end and flight of a message."""
    machine = WRITTEN_FOR[on]
    model = machine.network.message_model
    most = 0.5 * NS + 4 * (model.per_byte_s + getattr(model, "overhead_per_byte_s", 0.0))
    for ranks in ranks_of(name, (1, 2, 3, 4, 5, 8)):
        plan = planned(load_workload(name), machine, ranks)
        schedule = schedule_of(plan, name)
        finish = run(plan, "simpy").finish_s
        assert np.array_equal(replayed_s(schedule, machine), finish)
        result = simulate(workload_of(through_file(schedule, tmp_path)), machine, effects="none", timeline=True)
        assert result.timeline is not None
        assert np.all(np.abs(result.timeline.finish_s - finish) <= len(plan) * most + 1e-12 * finish)
        assert result.messages == np.count_nonzero(plan.kind == SEND)


def test_phases_with_constants_of_their_own(tmp_path: Path) -> None:
    """Messages are priced by the machine of the replay, work is not."""
    plan = planned(load_workload("seismic"), hockney(), 1)
    assert replayed_s(through_file(schedule_of(plan, "seismic"), tmp_path), hockney()).max() == pytest.approx(
        run(plan, "simpy").finish_s.max(), abs=len(plan) * NS
    )


WHOLE = st.integers(0, 5).map(lambda n: f"{n}e-9")
SIZES = st.sampled_from(["0", "1", "2", "9", "8 + rank", "9 - rank"])


@st.composite
def steps(draw: st.DrawFn, depth: int = 1) -> list[Step]:
    """Some steps of a program of 1 to 6 ranks, whose times and sizes are whole numbers."""
    kind = draw(st.sampled_from(["work", "work", "shift", "early", "anyone", "collective", "halo", "block"]))
    tag, size = draw(st.integers(0, 2)), draw(SIZES)
    here = parse("P > 1")
    if kind == "work":
        when = draw(st.sampled_from([None, "rank == 0", "rank % 2"]))
        return [Compute(None if when is None else parse(when), HERE, "seconds", parse(draw(WHOLE)))]
    if kind in ("shift", "early"):  # a receive before the send, but for rank 0
        send = Send(here, HERE, parse("(rank + 1) % max(P, 2)"), parse(size), tag)
        receive = Receive(here, HERE, parse("(rank - 1) % max(P, 2)"), None, tag)
        if kind == "shift":
            return [send, receive]
        first = replace(send, when=parse("(P > 1) * (rank == 0)"))
        return [first, receive, replace(send, when=parse("rank > 0"))]
    if kind == "anyone":
        send = Send(parse("rank > 0"), HERE, parse("0"), parse(size if size.isdigit() else "3"), 7 + tag)
        receive = Receive(parse("(P > 1) * (rank == 0)"), HERE, None, send.bytes, 7 + tag)
        return [send, Block(parse("max(P - 1, 0)"), (receive,))]
    if kind == "halo":
        return [Exchange(None, HERE, 1, (parse(draw(st.sampled_from(["1", "9"]))),), None, draw(st.booleans()))]
    if kind == "block" and depth:
        inside = draw(st.lists(steps(depth=depth - 1), min_size=1, max_size=3))
        return [Block(parse(str(draw(st.integers(1, 2)))), tuple(step for part in inside for step in part))]
    key = draw(st.sampled_from([key for key in sorted(MESSAGES) if key != ("allreduce", "ring")]))
    # Whole blocks, for up to 6 ranks and halves of them: GOAL has whole bytes.
    return [Collective(None, HERE, *key, parse(draw(st.sampled_from(["0", "240", "2160"]))))]


MACHINES = st.builds(
    hockney, *(st.sampled_from([1 * NS, 2 * NS]), st.sampled_from([0.0, NS]), st.sampled_from([0.0, NS]))
)


def outcome(plan: Plan) -> list[float] | str:
    try:
        return run(plan, "simpy").finish_s.tolist()
    except DeadlockError:
        return "deadlock"


@settings(FILES, max_examples=examples(200))
@given(st.lists(steps(), min_size=1, max_size=5), st.integers(1, 6), MACHINES)
def test_random_programs(tmp_path: Path, program: list[list[Step]], ranks: int, machine: Machine) -> None:
    """Whole times and sizes, so that every finish is the same to the last bit, even if it is a deadlock."""
    plan = planned(Workload("random", {}, {}, tuple(step for part in program for step in part)), machine, ranks)
    again = through_file(schedule_of(plan, "random"), tmp_path)
    assert outcome(make_plan(bind(workload_of(again), machine))) == outcome(plan)


def rows(schedule: Schedule) -> list[tuple[int, int, bool]]:
    source = np.repeat(np.arange(len(schedule)), np.diff(schedule.edge_start))
    return sorted(zip(source.tolist(), schedule.edge_target.tolist(), schedule.edge_early.tolist(), strict=True))


GOAL = """
num_ranks 3
rank 0 {
  a: calc 5
  b: recv 8b from 1 tag 4 cpu 2
  c: recv 8b from 1 tag 4
  d: send 1b to 2 tag 3
  c requires a
  d irequires c
  d requires b
}
rank 1 { a: send 8b to 0 tag 4; b: send 8b to 0 tag 4; b irequires a }
rank 2 { r: recv 1b from -1 tag 3; c: calc 1; d: calc 2 cpu 1; c irequires r; d requires r }
"""


@pytest.mark.parametrize("machine", [hockney(), loggop(), loggop(S=0.0)], ids=["hockney", "loggop", "rendezvous"])
def test_a_schedule_comes_back_as_it_was(tmp_path: Path, machine: Machine) -> None:
    """But for tags, which number the messages of ranks 1 and 0 (in LogGOPS, the messages that may meet a receive), and
    processors, which are numbered without gaps."""
    (tmp_path / "b.goal").write_text(GOAL)
    there = read_goal(tmp_path / "b.goal")
    back = schedule_of(make_plan(bind(workload_of(there), machine)), "back")
    assert rows(back) == rows(there)
    for name in ("first", "kind", "peer", "size_bytes", "calc_s"):
        assert np.array_equal(getattr(back, name), getattr(there, name))
    numbered = [0, 0, 1, 2, 0, 1, 2, 0, 0] if machine.network.message_model.name == "hockney" else [0] * 9
    assert back.tag.tolist() == numbered
    assert back.cpu.tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 1]
    assert back.name == "back"


def test_trains_are_not_exported() -> None:
    step = Exchange(None, HERE, 1, (parse("8"),), messages=(parse("3"),), train=parse("2"))
    with pytest.raises(InputError, match="trains of messages of x cannot be exported, got 2"):
        schedule_of(planned(Workload("x", {}, {}, (step,)), hockney(overhead=0.0), 4), "x")
    single = planned(Workload("x", {}, {}, (replace(step, train=parse("1")),)), hockney(overhead=0.0), 4)
    assert np.count_nonzero(schedule_of(single, "x").kind == SEND) == 4 * 2 * 3


# Single operations, as the Plans of tests have them.


def test_work_and_disks_become_calcs() -> None:
    """As long as in the Plan. Disks are no processors."""
    ops = [Op(0, COMPUTE, 1.5e-6), Op(0, READ, 3e-6, station=0), *message(0, 1, 1e-6, 2e-6)]
    plan = replace(plan_of(ops, 2, (DISK,), (1,)), size_bytes=np.array([0.0, 100.0, 8.0, 8.0]))
    schedule = schedule_of(plan, "work")
    assert schedule.kind.tolist() == [COMPUTE, COMPUTE, SEND, RECEIVE]
    assert schedule.calc_s.tolist() == [1.5e-6, 3e-6, 0, 0]
    assert schedule.size_bytes.tolist() == [0, 0, 8, 8]
    assert schedule.peer.tolist() == [NONE, NONE, 1, 0]
    assert rows(schedule) == [(0, 1, False), (1, 2, False)]


def test_imbalance_and_noise_are_kept() -> None:
    machine = replace(hockney(), noise=0.3)
    workload = Workload("uneven", {}, {}, (Compute(None, HERE, "seconds", parse("1e-3")),), imbalance=0.2)
    plan = make_plan(bind(workload, machine, {"P": 8}), {"imbalance", "noise"}, seed=3)
    assert len({*plan.duration_s}) == 8
    assert schedule_of(plan, "uneven").calc_s.tolist() == plan.duration_s.tolist()


def test_processors_are_numbered_in_their_rank() -> None:
    ops = [
        Op(rank, COMPUTE, 1e-6, station=station, follows_previous=False)
        for rank, station in ((0, 1), (0, 0), (1, 3), (1, 2), (1, 3))
    ]
    schedule = schedule_of(plan_of(ops, 2, (PROCESSOR,) * 4, (1,) * 4), "processors")
    assert schedule.cpu.tolist() == [1, 0, 1, 0, 1]
    assert rows(schedule) == []


def test_dependencies_inside_a_rank() -> None:
    one = Op(0, COMPUTE, 1e-6)
    two = Op(0, COMPUTE, 1e-6, follows_previous=False)
    three = Op(0, COMPUTE, 1e-6, follows_previous=False, after=[one], early=[two])
    assert rows(schedule_of(plan_of([one, two, three], 1), "edges")) == [(0, 2, False), (1, 2, True)]


def test_what_is_posted_together_requires_what_was_posted_before() -> None:
    """Send and receive of each round of a barrier; a calc of no time waits for the six messages of an all-to-all."""
    barrier = Collective(None, HERE, "barrier", "dissemination", parse("0"))
    plan = planned(Workload("x", {}, {}, (barrier,)), loggop(), 4)
    assert rows(schedule_of(plan, "x"))[:4] == [(0, 2, False), (0, 3, False), (1, 2, False), (1, 3, False)]
    program = (Collective(None, HERE, "all_to_all", "linear", parse("9")), barrier)
    schedule = schedule_of(planned(Workload("x", {}, {}, program), loggop(), 4), "x")
    assert (schedule.kind[6], schedule.calc_s[6]) == (COMPUTE, 0.0)
    assert rows(schedule)[:8] == [*((op, 6, False) for op in range(6)), (6, 7, False), (6, 8, False)]


@given(crowded_plans(TIED))
def test_any_plan(plan: Plan) -> None:
    """Who waits for whom inside the ranks."""
    schedule = schedule_of(plan, "any")
    if len(schedule) < len(plan):  # without the operations that only say when a receive is posted
        return
    waits = {(op - 1, op) for op in range(len(plan)) if plan.follows_previous[op]}
    for op in range(len(plan)) if plan.edges is not None else ():
        for target in plan.edges.target[plan.edges.start[op] : plan.edges.start[op + 1]].tolist():
            inside = plan.rank[op] == plan.rank[target]
            waits |= {(op, target)} if inside else set()
    values = {(source, target) for source, target, _ in rows(schedule)}
    assert values == waits
    sends = np.flatnonzero((plan.kind == SEND) & (plan.match != NONE))
    assert np.array_equal(schedule.tag[sends], schedule.tag[plan.match[sends]])


# Tags


def sent(count: int, order: list[int], follows_previous: bool = True) -> Schedule:
    """Messages from rank 0 to 1, received in some order; one back."""
    pairs = [message(0, 1, 1e-6, follows_previous=follows_previous) for _ in range(count)]
    back = message(1, 0, 1e-6)
    ops = [pair[0] for pair in pairs] + [pairs[place][1] for place in order] + [*back]
    return schedule_of(plan_of(ops, 2), "sent")


def test_tags_of_messages_in_order() -> None:
    assert sent(3, [0, 1, 2]).tag.tolist() == [0] * 8


def test_tags_of_messages_that_cross() -> None:
    """The one that goes back is of another pair."""
    assert sent(3, [2, 0, 1]).tag.tolist() == [0, 1, 2, 0, 2, 0, 1, 0]


def test_tags_of_messages_of_ranks_that_do_not_work_in_order() -> None:
    """Which of them comes first is known only when it runs. One message alone needs no number."""
    assert sent(2, [0, 1], follows_previous=False).tag.tolist() == [0, 1, 0, 0, 1, 0]


def test_mailboxes_have_tags_of_their_own() -> None:
    """Above those of other messages; numbered in each rank; the size of a receive is that of the largest message."""
    anyone = [posted(0, 1, box, 1e-6) for box in (0, 1, 1)] + [posted(1, 0, 2, 1e-6)]
    pairs = [message(0, 1, 1e-6) for _ in range(2)]
    sends, receives = [pair[0] for pair in anyone + pairs], [pair[1] for pair in [*anyone, pairs[1], pairs[0]]]
    plan = plan_of(sends + receives, 2, (MAILBOX,) * 3, (1,) * 3)
    size = np.where(plan.kind == SEND, np.arange(12.0), np.nan)
    plan = replace(plan, size_bytes=np.where(plan.match != NONE, 1.0, size))
    schedule = schedule_of(plan, "boxes")
    expected = [
        (SEND, 1, 2, 0),
        (SEND, 1, 3, 1),
        (SEND, 1, 3, 2),
        (SEND, 1, 0, 1),
        (SEND, 1, 1, 1),
        (RECEIVE, ANY, 2, 6),
    ]
    expected += [(SEND, 0, 2, 6), (RECEIVE, ANY, 2, 0), (RECEIVE, ANY, 3, 2), (RECEIVE, ANY, 3, 2)]
    expected += [(RECEIVE, 0, 1, 1), (RECEIVE, 0, 0, 1)]
    result = zip(schedule.kind, schedule.peer, schedule.tag, schedule.size_bytes, strict=True)
    assert [tuple(int(part) for part in row) for row in result] == expected


def test_a_plan_without_operations() -> None:
    schedule = schedule_of(plan_of([], 3), "nothing")
    assert (len(schedule), schedule.ranks, len(schedule.edge_target)) == (0, 3, 0)
