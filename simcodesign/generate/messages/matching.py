"""Sends and receives paired before the simulation starts, so that no engine ever searches for a message.

Only receives from anyone are paired while it runs: their messages meet them in a mailbox for each rank and tag.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.generate.plan import ANY, NONE
from simcodesign.generate.programs.segment import BY_TAG, Segment

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
#: Operations whose messages are paired together, so that they stay in the processor's cache.
AT_ONCE = 2**15


def matches(segment: Segment, rank: Int32s, place: Place) -> tuple[Int32s, Int32s | None, int]:
    """For every operation the other end of its message or NONE; its mailbox (None if there are none), and how many.

    Raises InputError when sends and receives do not match in number or size; the sizes of receives are filled in.
    """
    match = segment.fields["match"]
    tagged = np.flatnonzero(match <= BY_TAG)
    tag = BY_TAG - match[tagged]
    match[tagged] = NONE
    _match_by_place(segment, match)
    if not len(tagged):
        return match, None, 0
    ends = _Ends(segment, rank, tagged, tag)
    mailbox, count = _mailboxes(ends, len(match), segment.fields["size_bytes"], place)
    _match_by_order(ends, match, place)
    _fill_sizes(segment, rank, match, tagged, place)
    return match, mailbox, count


def _match_by_place(segment: Segment, match: Int32s) -> None:
    """Sends and receives that know which operation of their peer is the other end of their message."""
    first, peer = segment.first.astype(np.int32), segment.fields["peer"]
    for low in range(0, len(match), AT_ONCE):
        part = match[low : low + AT_ONCE]
        np.add(part, first[peer[low : low + AT_ONCE]], out=part, where=part >= 0)


class _Ends:
    """Sends and receives that are paired by tag: operation, source, target and tag of each, in operation order."""

    def __init__(self, segment: Segment, rank: Int32s, tagged: Int64s, tag: Int32s) -> None:
        sends = segment.fields["kind"][tagged] == SEND
        here, there = rank[tagged], segment.fields["peer"][tagged]
        self.op, self.tag, self.sends = tagged, tag, sends
        self.source, self.target = np.where(sends, here, there), np.where(sends, there, here)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Keep only these."""
        for name in ("op", "tag", "sends", "source", "target"):
            setattr(self, name, getattr(self, name)[chosen])

    def rows(self, kind: int) -> Int64s:
        """Rows (source, target, tag, operation) of the sends or the receives, sorted."""
        mine = self.sends == (kind == SEND)
        rows: Int64s = np.stack([part[mine].astype(np.int64) for part in (self.source, self.target, self.tag, self.op)])
        return rows[:, np.lexsort(rows[::-1])].T


def _mailboxes(ends: _Ends, count: int, size: NDArray[np.float64], place: Place) -> tuple[Int32s | None, int]:
    """Numbers the mailboxes, one for each rank and tag with a receive from anyone; their messages leave ``ends``."""
    anyone = ends.source == ANY
    if not anyone.any():
        return None, 0
    box = ends.target.astype(np.int64) << 32 | ends.tag.astype(np.int64)
    boxes = np.unique(box[anyone])
    number = np.minimum(np.searchsorted(boxes, box), len(boxes) - 1)
    inside = boxes[number] == box
    _check_mailboxes(ends, number, inside, anyone, place)
    mailbox = np.full(count, NONE, np.int32)
    mailbox[ends.op[inside]] = number[inside]
    _fill_sizes_of_mailboxes(ends, number, inside, size)
    ends.keep(~inside)
    return mailbox, len(boxes)


def _check_mailboxes(
    ends: _Ends, number: Int64s, inside: NDArray[np.bool_], anyone: NDArray[np.bool_], place: Place
) -> None:
    mixed = np.flatnonzero(inside & ~ends.sends & ~anyone)
    if len(mixed):
        rank, tag, source = ends.target[mixed[0]], ends.tag[mixed[0]], ends.source[mixed[0]]
        what = f"rank {rank} receives with tag {tag} both from anyone and from rank {source}"
        raise InputError(what, place, allowed="one or the other; give them different tags")
    put, taken = (np.bincount(number[inside & which], minlength=1) for which in (ends.sends, ~ends.sends))
    width = max(len(put), len(taken))
    put, taken = (np.pad(counts, (0, width - len(counts))) for counts in (put, taken))
    wrong = np.flatnonzero(put != taken)
    if len(wrong):
        first = int(np.flatnonzero(inside & (number == wrong[0]))[0])
        what = (
            f"{put[wrong[0]]} messages with tag {ends.tag[first]} are sent to rank {ends.target[first]}, "
            f"which receives {taken[wrong[0]]} from anyone"
        )
        raise InputError(f"sends and receives do not match: {what}", place)


def _fill_sizes_of_mailboxes(ends: _Ends, number: Int64s, inside: NDArray[np.bool_], size: NDArray[np.float64]) -> None:
    """A receive from anyone that states no size has that of the messages, if they have one size."""
    sends, receives = inside & ends.sends, inside & ~ends.sends
    receives[receives] = np.isnan(size[ends.op[receives]])
    least, most = np.full(number.max() + 1, np.inf), np.full(number.max() + 1, -np.inf)
    np.minimum.at(least, number[sends], size[ends.op[sends]])
    np.maximum.at(most, number[sends], size[ends.op[sends]])
    one = least == most
    size[ends.op[receives]] = np.where(one, least, np.nan)[number[receives]]


def _match_by_order(ends: _Ends, match: Int32s, place: Place) -> None:
    """Pair the n-th send from a to b with tag t with the n-th receive of b from a with tag t."""
    sends, receives = ends.rows(SEND), ends.rows(RECEIVE)
    shared = min(len(sends), len(receives))
    differ = np.flatnonzero((sends[:shared, :3] != receives[:shared, :3]).any(axis=1))
    if len(differ) or len(sends) != len(receives):
        _refuse(sends, receives, int(differ[0]) if len(differ) else shared, place)
    match[sends[:, 3]], match[receives[:, 3]] = receives[:, 3], sends[:, 3]


def _refuse(sends: Int64s, receives: Int64s, row: int, place: Place) -> None:
    rows = [tuple(int(x) for x in part[row, :3]) for part in (sends, receives) if row < len(part)]
    source, target, tag = min(rows)
    counts = [int(np.count_nonzero((part[:, :3] == (source, target, tag)).all(axis=1))) for part in (sends, receives)]
    sent = f"rank {source} sends {counts[0]} message{'s' * (counts[0] != 1)} with tag {tag} to rank {target}"
    what = f"{sent}, which receives {counts[1]} of them"
    raise InputError(f"sends and receives do not match: {what}", place)


def _fill_sizes(segment: Segment, rank: Int32s, match: Int32s, tagged: Int64s, place: Place) -> None:
    """A receive has the size of its message; a size that it states itself must be the same."""
    size = segment.fields["size_bytes"]
    receives = tagged[(segment.fields["kind"][tagged] == RECEIVE) & (match[tagged] != NONE)]
    sent = size[match[receives]]
    wrong = receives[~np.isnan(size[receives]) & (size[receives] != sent)]
    if len(wrong):
        op = wrong[0]
        what = (
            f"rank {rank[op]} expects {size[op]:g} bytes from rank {rank[match[op]]}, which sends {size[match[op]]:g}"
        )
        raise InputError(f"sends and receives do not match: {what}", place)
    size[receives] = sent
