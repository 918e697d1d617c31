"""Sends and receives paired before the simulation starts, so that no engine ever searches for a message.

Only receives from anyone are paired while it runs: their messages meet them in a mailbox for each rank and tag.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.generate.plan import ANY, ANY_TAG, NONE
from simcodesign.generate.segment import BY_TAG, Segment

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
#: Operations whose messages are paired together, so that they stay in the processor's cache.
AT_ONCE = 2**15


@dataclass(frozen=True)
class Matches:
    """For each operation: other end of its message, or NONE, and its mailbox (None if there are ``boxes`` = 0).

    There is also its tag (``Plan.tag``), if messages of a mailbox do not suit all receives there.
    """

    match: Int32s
    mailbox: Int32s | None = None
    boxes: int = 0
    tag: Int32s | None = None


def matches(segment: Segment, rank: Int32s, place: Place) -> Matches:
    """Return the messages of a segment, paired as far as they can be before the simulation starts.

    Raises InputError when sends and receives do not match in number or size; the sizes of receives are filled in.
    """
    match = segment.fields["match"]
    tagged = np.flatnonzero(match <= BY_TAG)
    tag = BY_TAG - match[tagged]
    match[tagged] = NONE
    _match_by_place(segment, match)
    if not len(tagged):
        return Matches(match)
    ends = _Ends(segment, rank, tagged, tag)
    boxed = _mailboxes(ends, match, segment.fields["size_bytes"], place)
    _match_by_order(ends, match, place)
    _fill_sizes(segment, rank, match, tagged, place)
    return boxed


def _match_by_place(segment: Segment, match: Int32s) -> None:
    """Match sends and receives that know which operation of their peer is the other end of their message."""
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
        any_tag = segment.fields.get("any_tag")
        self.any_tag = np.zeros(len(tagged), bool) if any_tag is None else any_tag[tagged]

    def boxes(self) -> tuple[Int64s, NDArray[np.bool_]]:
        """Return for each end the number of its mailbox, and whether it has one.

        One for each rank and tag with a receive from anyone, or for all messages to a rank that receives any tag.
        """
        any_tag = np.isin(self.target, self.target[self.any_tag])
        key = self.target.astype(np.int64) << 32 | np.where(any_tag, 0, self.tag).astype(np.int64)
        boxes = np.unique(key[(self.source == ANY) | self.any_tag])
        if not len(boxes):
            return np.zeros(len(key), np.int64), np.zeros(len(key), bool)
        number = np.minimum(np.searchsorted(boxes, key), len(boxes) - 1)
        return number, boxes[number] == key

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Keep only these."""
        for name in ("op", "tag", "sends", "source", "target", "any_tag"):
            setattr(self, name, getattr(self, name)[chosen])

    def rows(self, kind: int) -> Int64s:
        """Rows (source, target, tag, operation) of the sends or the receives, sorted."""
        mine = self.sends == (kind == SEND)
        rows: Int64s = np.stack([part[mine].astype(np.int64) for part in (self.source, self.target, self.tag, self.op)])
        return rows[:, np.lexsort(rows[::-1])].T


def _mailboxes(ends: _Ends, match: Int32s, size: NDArray[np.float64], place: Place) -> Matches:
    """Return the mailboxes; their messages leave ``ends``."""
    number, inside = ends.boxes()
    if not inside.any():
        return Matches(match)
    _check_mailboxes(ends, number, inside, place)
    mailbox, tag = np.full(len(match), NONE, np.int32), None
    mailbox[ends.op[inside]] = number[inside]
    receives = inside & ~ends.sends
    named = receives & (ends.source != ANY)
    if named.any() or (ends.any_tag.any() and (receives & ~ends.any_tag & np.isin(number, number[ends.any_tag])).any()):
        tag = np.zeros(len(match), np.int32)
        tag[ends.op[inside]] = np.where(ends.any_tag, ANY_TAG, ends.tag)[inside]
    _fill_sizes_of_mailboxes(ends, number, inside, size)
    ends.keep(~inside)
    return Matches(match, mailbox, int(number.max()) + 1, tag)


def _check_mailboxes(ends: _Ends, number: Int64s, inside: NDArray[np.bool_], place: Place) -> None:
    named = inside & ~ends.sends & (ends.source != ANY) & ~ends.any_tag
    _check_named(ends, inside & ends.sends, named, place)
    put, taken = (np.bincount(number[inside & which], minlength=1) for which in (ends.sends, ~ends.sends))
    width = max(len(put), len(taken))
    put, taken = (np.pad(counts, (0, width - len(counts))) for counts in (put, taken))
    wrong = np.flatnonzero(put != taken)
    if len(wrong):
        mine = inside & (number == wrong[0])
        first = int(np.flatnonzero(mine)[0])
        tagged = "" if ends.any_tag[mine].any() else f" with tag {ends.tag[first]}"
        whom = "anyone or from named ranks" if named[mine].any() else "anyone"
        what = (
            f"{put[wrong[0]]} messages{tagged} are sent to rank {ends.target[first]}, "
            f"which receives {taken[wrong[0]]} from {whom}"
        )
        raise InputError(f"sends and receives do not match: {what}", place)


def _check_named(ends: _Ends, sends: NDArray[np.bool_], receives: NDArray[np.bool_], place: Place) -> None:
    """InputError for a receive from a rank that sends too few messages with its tag."""
    rows = np.stack([ends.source, ends.target, ends.tag])
    keys, number = np.unique(rows, axis=1, return_inverse=True)
    sent, wanted = (np.bincount(number.ravel()[which], minlength=keys.shape[1]) for which in (sends, receives))
    wrong = np.flatnonzero(sent < wanted)
    if len(wrong):
        source, target, tag = keys[:, wrong[0]].tolist()
        _refuse_numbers(source, target, tag, (int(sent[wrong[0]]), int(wanted[wrong[0]])), place)


def _fill_sizes_of_mailboxes(ends: _Ends, number: Int64s, inside: NDArray[np.bool_], size: NDArray[np.float64]) -> None:
    """Give a receive from any source without a size the size of the messages, if they have one size."""
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
    _refuse_numbers(source, target, tag, (counts[0], counts[1]), place)


def _refuse_numbers(source: int, target: int, tag: int, counts: tuple[int, int], place: Place) -> None:
    sent = f"rank {source} sends {counts[0]} message{'s' * (counts[0] != 1)} with tag {tag} to rank {target}"
    what = f"{sent}, which receives {counts[1]} of them"
    raise InputError(f"sends and receives do not match: {what}", place)


def _fill_sizes(segment: Segment, rank: Int32s, match: Int32s, tagged: Int64s, place: Place) -> None:
    """Give a receive the size of its message; a size that it states itself must be the same."""
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
