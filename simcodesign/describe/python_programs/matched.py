"""Joint operations of ranks in a recording: collective calls, and messages. InputErrors name the lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.forecast_parts import ChosenAlgorithm
from simcodesign.describe.demands.base import ONE
from simcodesign.describe.demands.collective import SEGMENT_ROUNDING, Collective
from simcodesign.describe.network.algorithm_choice import Decisions
from simcodesign.describe.python_programs.recorded_operations import COLLECTIVE, RECEIVE, SEND
from simcodesign.describe.python_programs.recording import Int64s, Recording, places_in_groups


@dataclass(frozen=True)
class CollectiveCalls:
    """M calls of collective operations by ranks, in entry order; the J operations that they make together.

    The ``size[c]`` calls of one operation are ``entry_of[begin[c]]`` and so on, by rank in the group.
    """

    entry: Int64s  # (M,)
    begin: Int64s  # (M,) place in ``entry_of`` of the first call of the same operation
    place: Int64s  # (M,) rank in the group
    size: Int64s  # (M,) ranks of the group
    entry_of: Int64s  # (M,)


def collective_calls(recording: Recording) -> CollectiveCalls:
    """Return the calls, each matched with the calls of the other members: the n-th of each is the n-th of all.

    InputError where members of a group call different operations, or not equally many.
    """
    entry = recording.entries_of(recording.of_kind(COLLECTIVE))
    op, rank = recording.op[entry], recording.rank_of(entry)
    number = np.nan_to_num(recording.column(6, (COLLECTIVE,))).astype(np.int64)[op]
    colours = np.array(recording.colours)
    places, sizes = (np.array(part) for part in zip(*(places_in_groups(one) for one in colours), strict=True))
    place, size = places[number, rank], sizes[number, rank]
    group = number * np.int64(recording.ranks) + colours[number, rank]
    turn = _turns(group * np.int64(recording.ranks) + rank)
    order = np.lexsort((place, turn, group))
    begin = np.arange(len(entry)) - place[order]
    whole = begin >= 0
    head = order[np.maximum(begin, 0)]
    whole &= (group[head] == group[order]) & (turn[head] == turn[order])
    last = order[np.minimum(begin + size[order], len(order)) - 1] if len(order) else order
    whole &= (group[last] == group[order]) & (turn[last] == turn[order]) & (begin + size[order] <= len(order))
    _check(recording, entry, order, head, whole, size, place)
    begins = np.empty_like(order)
    begins[order] = begin
    return CollectiveCalls(entry, begins, place, size, entry[order])


def _turns(key: Int64s) -> Int64s:
    """How many entries with the same key precede each."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    turn = np.empty_like(order)
    turn[order] = np.arange(len(key)) - np.searchsorted(ordered, ordered, side="left")
    return turn


def _check(
    recording: Recording,
    entry: Int64s,
    order: Int64s,
    head: Int64s,
    whole: NDArray[np.bool_],
    size: Int64s,
    place: Int64s,
) -> None:
    """InputError for the first call whose operation others do not call, or call otherwise."""
    alone = np.flatnonzero(~whole)
    if len(alone):
        one = int(entry[order[alone[0]]])
        what = f"rank {recording.rank_of(one)} calls {_words(recording, one)} here"
        called = f"not all {size[order[alone[0]]]} ranks of its group do"
        raise InputError(f"{what}, but {called} as often", recording.place_of(one))
    op = recording.op[entry]
    differs = np.flatnonzero(op[head] != op[order])
    if len(differs):
        one, other = int(entry[head[differs[0]]]), int(entry[order[differs[0]]])
        what = f"rank {recording.rank_of(other)} calls {_words(recording, other)} here"
        first = f"rank {recording.rank_of(one)} of its group {_words(recording, one)} ({recording.place_of(one)})"
        raise InputError(f"{what}, where {first}", recording.place_of(other))
    roots = recording.column(4, (COLLECTIVE,))[op]
    outside = np.flatnonzero(roots >= size)
    if len(outside):
        one = int(entry[outside[0]])
        members = size[outside[0]]
        what = f"rank {recording.rank_of(one)}: the root in a group of {members} rank{'s' if members > 1 else ''}"
        allowed = f"0 to {members - 1}"
        raise InputError(what, recording.place_of(one), value=int(roots[outside[0]]), allowed=allowed)


def _words(recording: Recording, entry: int) -> str:
    _, name, size_bytes, algorithm, root, *_ = recording.operations[recording.op[entry]]
    return f"{name} ({algorithm}, {size_bytes:g} bytes, root {root})"


def message_sizes(recording: Recording) -> NDArray[np.float64]:
    """Return the bytes of the message of each send and receive, (N,).

    NaN for other entries and for receives from anyone that state none. The n-th send from a to b with a tag is the n-th
    receive of b from a with it.

    InputError where sends and receives do not match in number or size, and for messages of a rank to itself.
    """
    of_op, sizes = recording.column(2, (SEND, RECEIVE)), np.full(len(recording.op), np.nan)
    rows = []
    for kind in (SEND, RECEIVE):
        entries = recording.entries_of(recording.of_kind(kind))
        sizes[entries] = of_op[recording.op[entries]]
        rows.append(_ends(recording, entries, kind == SEND))
    _without_boxes(rows)
    for table in rows:
        _sort(table)
    sent, received = rows
    _check_numbers(recording, sent, received)
    here, there = sent[:, 3].astype(np.int64), received[:, 3].astype(np.int64)
    differs = np.flatnonzero(~np.isnan(sizes[there]) & (sizes[there] != sizes[here]))
    if len(differs):
        one, other = int(there[differs[0]]), int(here[differs[0]])
        what = f"rank {recording.rank_of(one)} expects {sizes[one]:g} bytes here"
        sender = f"rank {recording.rank_of(other)} sends {sizes[other]:g} ({recording.place_of(other)})"
        raise InputError(f"{what}, but {sender}", recording.place_of(one))
    sizes[there] = sizes[here]
    return sizes


def _ends(recording: Recording, entries: Int64s, are_sends: bool) -> NDArray[np.float64]:
    """(M, 4) source, target, tag and entry of messages. InputError for a message of a rank to itself."""
    table = np.empty((4, len(entries)))  # column by column: half the memory of rows while they are sorted
    rank, peer = table[:2] if are_sends else table[1::-1]
    op = recording.op[entries]
    rank[:], peer[:] = recording.rank_of(entries), recording.column(3, (SEND, RECEIVE))[op]
    table[2], table[3] = recording.column(4, (SEND, RECEIVE))[op], entries
    own = np.flatnonzero(peer == rank)
    if len(own):
        one = int(entries[own[0]])
        what = f"rank {recording.rank_of(one)} {'sends to' if are_sends else 'receives from'} itself"
        raise InputError(what, recording.place_of(one), allowed="another rank")
    return table.T


def _sort(table: NDArray[np.float64]) -> None:
    """Sort messages (M, 4) in place by their ends, tags and entries."""
    order = np.lexsort(table.T[::-1])
    for column in table.T:
        column[:] = column[order]


def _without_boxes(rows: list[NDArray[np.float64]]) -> None:
    """Drop the messages to ranks that receive from anyone with their tag: these are paired while they run."""
    anyone = rows[1][np.isnan(rows[1][:, 0])]
    if not len(anyone):
        return
    boxes = {(target, tag) for target, tag in anyone[:, 1:3].tolist()}
    for place, table in enumerate(rows):
        keep = [(target, tag) not in boxes for target, tag in table[:, 1:3].tolist()]
        rows[place] = table[np.array(keep, dtype=bool)]


def _check_numbers(recording: Recording, sent: NDArray[np.float64], received: NDArray[np.float64]) -> None:
    shared = min(len(sent), len(received))
    differs = np.flatnonzero((sent[:shared, :3] != received[:shared, :3]).any(axis=1))
    if not len(differs) and len(sent) == len(received):
        return
    row = int(differs[0]) if len(differs) else shared
    ends = [(tuple(table[row, :3]), place) for place, table in enumerate((sent, received)) if row < len(table)]
    (source, target, tag), which = min(ends)
    entry = int((sent, received)[which][row, 3])
    if which == 0:
        what = f"rank {source:g} sends to rank {target:g} with tag {tag:g}, which does not receive it"
    else:
        what = f"rank {target:g} receives from rank {source:g} with tag {tag:g}, which does not send it"
    raise InputError(what, recording.place_of(entry))


def as_demand(recording: Recording, op: int, ranks: int, decisions: Decisions) -> Collective:
    """Return a collective operation of ``ranks`` ranks as a demand, under which both readings know its algorithm.

    The rules of the machine choose the algorithm if it is left to them.
    """
    entries = np.flatnonzero(recording.op == op)
    _, name, size_bytes, algorithm, *_ = recording.operations[op]
    demand = Collective(None, recording.place_of(int(entries[0])), name=name, algorithm=algorithm, bytes=ONE)
    return demand.by_rules_of(decisions).chosen(ranks, size_bytes)


def segments_of(recording: Recording, op: int, way: Collective) -> tuple[int, ...]:
    """Return in how many parts the bytes of a collective operation are passed on.

    As the program or the rule that chose its algorithm states it; nothing if neither does.
    """
    _, _, size_bytes, _, _, stated, _ = recording.operations[op]
    if stated or way.segment is None:
        return tuple(stated)
    return (max(ceil(size_bytes / float(way.segment.evaluate({})) - SEGMENT_ROUNDING), 1),)


def algorithms_recorded(recording: Recording, decisions: Decisions) -> Iterator[ChosenAlgorithm]:
    """Algorithms of operations with ``algorithm: auto``, for each phase, size and group size."""
    calls = collective_calls(recording)
    keys = np.stack([recording.phase[calls.entry], recording.op[calls.entry], calls.size], axis=1)
    for phase, op, ranks in np.unique(keys, axis=0).tolist():
        demand, size_bytes = as_demand(recording, op, ranks, decisions), recording.operations[op][2]
        if demand.chosen_by:
            row = (ranks, ranks, size_bytes, size_bytes)
            yield ChosenAlgorithm(recording.phases[phase], demand.label, demand.algorithm, *row)
