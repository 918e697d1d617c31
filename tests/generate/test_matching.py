"""Sends and receives that find each other, by tag and in mailboxes, against queues; and what is refused."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.programs.program import Step
from simcodesign.engine.reference.run import run
from simcodesign.generate.columns import Ranks
from simcodesign.generate.lower import make_plan
from simcodesign.generate.messages.collectives.all_to_all import all_to_all_linear
from simcodesign.generate.messages.matching import matches
from simcodesign.generate.plan import ANY, DISK, LINK, MAILBOX, NONE
from simcodesign.generate.segment import Segment, woven
from tests import examples
from tests.builders import machine, network, workload_of_steps

PLACE = Place("w.yaml", 7)


@dataclass(frozen=True)
class End:
    """One end of a message, or a computation (no tag); ``peer`` is ANY for a receive from anyone."""

    rank: int
    kind: int
    peer: int = NONE
    tag: int | None = None
    size: float = np.nan


def segment_of(ranks: int, ends: list[End]) -> Segment:
    program_writer = Ranks(ranks)
    for end in ends:
        who, peer = np.array([end.rank], np.int32), np.array([end.peer], np.int32)
        if end.tag is None:
            program_writer.work(end.kind, end.size, 1.0, who)
        else:
            program_writer.message(end.kind, peer, end.size, end.tag, who)
    return woven(program_writer.columns, ranks, 0)


def matched(ranks: int, ends: list[End]) -> tuple[Segment, list[End], np.ndarray, np.ndarray | None, int]:
    """What ``matches`` says, and the ends in the order of operations."""
    segment = segment_of(ranks, ends)
    ordered = sorted(ends, key=lambda end: end.rank)  # stable: program order stays
    rank = np.array([end.rank for end in ordered], np.int32)
    found = matches(segment, rank, PLACE)
    return segment, ordered, found.match, found.mailbox, found.boxes


@st.composite
def conversations(draw: st.DrawFn) -> tuple[int, list[End]]:
    """Messages whose ends are shuffled; with some tags, some ranks receive from anyone."""
    ranks = draw(st.integers(2, 5))
    tags = st.sampled_from([0, 1, 2**31 - 2])
    open_to_all = draw(st.sets(st.tuples(st.integers(0, ranks - 1), tags), max_size=4))
    ends = []
    for source, away, tag in draw(
        st.lists(st.tuples(st.integers(0, ranks - 1), st.integers(1, ranks - 1), tags), max_size=20)
    ):
        target, size = (source + away) % ranks, float(len(ends))
        peer = ANY if (target, tag) in open_to_all else source
        ends += [End(source, SEND, target, tag, size), End(target, RECEIVE, peer, tag)]
    ends += [End(rank, COMPUTE) for rank in draw(st.lists(st.integers(0, ranks - 1), max_size=4))]
    return ranks, draw(st.permutations(ends))


def stated(ends: list[End], match: list[int]) -> list[End]:
    """The receives state the sizes of their messages themselves."""
    return [
        replace(end, size=ends[other].size) if end.kind == RECEIVE and other != NONE else end
        for end, other in zip(ends, match, strict=True)
    ]


@settings(max_examples=examples(300))
@given(conversations())
def test_pairs_and_mailboxes(case: tuple[int, list[End]]) -> None:
    segment, ends, match, mailbox, boxes = matched(*case)
    open_to_all = {(end.rank, end.tag) for end in ends if end.kind == RECEIVE and end.peer == ANY}
    sent: dict[tuple[int, int, int | None], deque[int]] = defaultdict(deque)
    box: list[tuple[int, int | None] | None] = [None] * len(ends)
    expected = [NONE] * len(ends)
    for op, end in enumerate(ends):
        at = (end.peer if end.kind == SEND else end.rank, end.tag)
        if end.tag is not None and at in open_to_all:
            box[op] = at
        elif end.kind == SEND:
            sent[end.rank, end.peer, end.tag].append(op)
    for op, end in enumerate(ends):
        if end.kind == RECEIVE and box[op] is None:
            expected[op] = sent[end.peer, end.rank, end.tag].popleft()
            expected[expected[op]] = op
    assert match.tolist() == expected
    assert match.dtype == np.int32
    assert boxes == len(open_to_all)
    numbers = {name: number for number, name in enumerate(sorted(open_to_all))}
    if mailbox is None:
        assert not open_to_all
    else:
        assert mailbox.tolist() == [NONE if name is None else numbers[name] for name in box]
    sizes = segment.fields["size_bytes"]
    assert all(
        sizes[op] == sizes[expected[op]] for op, end in enumerate(ends) if end.kind == RECEIVE and box[op] is None
    )
    for op, end in enumerate(ends):
        if end.kind == RECEIVE and box[op] is not None:
            put = {ends[other].size for other in range(len(ends)) if ends[other].kind == SEND and box[other] == box[op]}
            assert {sizes[op]} == put if len(put) == 1 else np.isnan(sizes[op])
    assert matched(case[0], stated(ends, expected))[2].tolist() == expected


@given(conversations(), st.data())
def test_one_end_too_few_is_refused(case: tuple[int, list[End]], data: st.DataObject) -> None:
    ranks, ends = case
    assume(any(end.tag is not None for end in ends))
    lost = data.draw(st.sampled_from([end for end in ends if end.tag is not None]))
    rest = list(ends)
    rest.remove(lost)
    with pytest.raises(InputError, match="sends and receives do not match") as caught:
        matched(ranks, rest)
    text = str(caught.value)
    assert "w.yaml:7" in text
    receiver = lost.peer if lost.kind == SEND else lost.rank
    assert f"tag {lost.tag}" in text
    assert f"to rank {receiver}, which receives" in text


def test_counts_of_a_mailbox() -> None:
    ends = [End(1, SEND, 0, 4, 8.0), End(2, SEND, 0, 4, 8.0), End(0, RECEIVE, ANY, 4)]
    with pytest.raises(InputError, match="2 messages with tag 4 are sent to rank 0, which receives 1 from anyone"):
        matched(3, ends)
    with pytest.raises(InputError, match="0 messages with tag 4 are sent to rank 0, which receives 1 from anyone"):
        matched(3, ends[2:])


def test_receives_from_anyone_beside_one_from_a_named_rank() -> None:
    """They share a mailbox, and tags and peers say which messages suit which of them; with another tag, or at another
    rank, they do not."""
    mixed = [End(1, SEND, 0, 4, 8.0), End(2, SEND, 0, 4, 8.0), End(0, RECEIVE, ANY, 4), End(0, RECEIVE, 2, 4)]
    found = matches(segment_of(3, mixed), np.array([0, 0, 1, 2], np.int32), PLACE)
    assert found.mailbox is not None
    assert found.tag is not None
    assert (found.boxes, found.mailbox.tolist(), found.tag.tolist()) == (1, [0] * 4, [4] * 4)
    assert found.match.tolist() == [NONE] * 4
    apart = [End(1, SEND, 0, 4, 8.0), End(2, SEND, 0, 5, 8.0), End(0, RECEIVE, ANY, 4), End(0, RECEIVE, 2, 5)]
    found = matches(segment_of(3, apart), np.array([0, 0, 1, 2], np.int32), PLACE)
    assert found.match.tolist() == [NONE, 3, NONE, 1]
    assert found.tag is None
    elsewhere = [End(1, SEND, 0, 4, 8.0), End(2, SEND, 1, 4, 8.0), End(0, RECEIVE, ANY, 4), End(1, RECEIVE, 2, 4)]
    assert matched(3, elsewhere)[2].tolist() == [NONE, NONE, 3, 2]


def test_more_receives_from_a_rank_than_it_sends() -> None:
    """Those from anyone do not count for it."""
    ends = [End(1, SEND, 0, 4, 8.0), End(2, SEND, 0, 4, 8.0), *[End(0, RECEIVE, 2, 4)] * 2, End(0, RECEIVE, ANY, 4)]
    with pytest.raises(InputError, match="rank 2 sends 1 message with tag 4 to rank 0, which receives 2 of them"):
        matched(3, ends)
    with pytest.raises(
        InputError, match="2 messages with tag 4 are sent to rank 0, which receives 3 from anyone or fr"
    ):
        matched(3, [*ends[:3], *[End(0, RECEIVE, ANY, 4)] * 2])


def test_a_stated_size_must_be_what_was_sent() -> None:
    with pytest.raises(InputError, match="rank 0 expects 9 bytes from rank 1, which sends 8"):
        matched(2, [End(1, SEND, 0, 4, 8.0), End(0, RECEIVE, 1, 4, 9.0)])


def test_collectives_do_not_mix_with_messages_by_tag() -> None:
    program_writer = Ranks(4)
    everyone = program_writer.rank
    program_writer.message(SEND, (everyone + 1) % 4, 3.0, 0, None)
    all_to_all_linear(program_writer, 9.0)
    program_writer.message(RECEIVE, (everyone - 1) % 4, 3.0, 0, None)
    segment = woven(program_writer.columns, 4, 0)
    match = matches(segment, np.repeat(everyone, segment.counts), PLACE).match
    first = segment.first
    assert match[first[1:] - 1].tolist() == np.roll(first[:-1], 1).tolist()
    assert np.array_equal(match[match], np.arange(len(match)))
    assert np.array_equal(segment.fields["size_bytes"][match], segment.fields["size_bytes"])


# ---------------------------------------------------------------------------------------------------------------------
# In a Plan


def program() -> tuple[Step, ...]:
    """Everybody but rank 0 sends to it, the later the higher its number; rank 1 sends again and receives from rank 0."""
    away, home, first = parse("rank > 0"), parse("rank == 0"), parse("rank == 1")
    return (
        DiskAccess(away, Place(), "read", parse("rank"), parse(1)),
        Send(away, Place(), parse(0), parse("rank"), 5),
        *[Receive(home, Place(), None, None, 5)] * 3,
        Send(home, Place(), parse(1), parse(1), 5),
        Receive(first, Place(), None, None, 5),
    )


@pytest.mark.parametrize("effects", [(), ("disks",), ("links",), ("links", "interfaces", "disks")])
def test_mailboxes_are_the_last_stations(effects: tuple[str, ...]) -> None:
    mesh = machine(network(4, "mesh", startup_s=1.0, per_byte_s=1.0), disk=Disk(1.0, 1.0, 100.0))
    plan = make_plan(bind(workload_of_steps(*program()), mesh), effects)
    kinds = plan.stations.kind.tolist()
    boxes = [number for number, kind in enumerate(kinds) if kind == MAILBOX]
    assert boxes == [len(kinds) - 2, len(kinds) - 1]
    assert (DISK in kinds, LINK in kinds) == ("disks" in effects, "links" in effects)
    assert plan.stations.unit[boxes].tolist() == [0, 1]
    receiver = np.where(plan.kind == SEND, plan.peer, plan.rank)
    inside = (plan.kind == SEND) | (plan.kind == RECEIVE)
    assert plan.mailbox.tolist() == np.where(inside, boxes[0] + receiver, NONE).tolist()
    assert set(plan.match.tolist()) == {NONE}
    log = run(plan)
    met = log.match[(plan.rank == 0) & (plan.kind == RECEIVE)]
    assert plan.rank[met].tolist() == [1, 2, 3]
    assert log.served[boxes].tolist() == [3, 1]
    assert np.array_equal(log.match[log.match[inside]], np.flatnonzero(inside))
