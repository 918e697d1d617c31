"""Turns of the compiled engine: who tries when to get a processor, by the rules of LogGOPSim (``loggopsim.py``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcodesign.core.jit import called, inlined
from simcodesign.core.operation_kinds import SEND
from simcodesign.engine.compiled.state import Array
from simcodesign.generate.plan import NONE, Plan

#: Places of the numbers in ``Turns.counts``: turns to come, numbers given, operations that have become ready.
SIZE, NUMBERS, READY = range(3)


class Rules(NamedTuple):
    """``Plan.loggops``; empty arrays without it."""

    interface: Array
    receiver: Array
    receiver_interface: Array
    receive_s: Array
    spread_s: Array
    rendezvous: Array
    box: Array
    line: Array
    message_line: Array
    served_at: Array  # empty where no operation is served at a disk or a memory controller


class Turns(NamedTuple):
    """Turns to come, a heap by time and number, and where operations, messages, processors and interfaces stand."""

    time_s: Array
    number: Array
    item: Array  # an operation; N and more: the message of a send
    clock_s: Array  # (1,) now
    counts: Array
    ready: Array  # operations that have become ready
    entering: Array  # those of them that are sorted, with their keys, and room to sort them
    keys: Array
    ranges: Array
    missing: Array  # (N,) what an operation still waits for
    ready_s: Array  # (N,)
    begin_s: Array  # (N,)
    sent_s: Array  # (N,) when a processor has done its part of a send
    message_number: Array  # (N,)
    first_s: Array  # (N,) when the first byte of a message is there
    lag_s: Array  # (N,) how late that is seen to
    taken_s: Array  # (N,) when its receiver takes a message up,
    end_s: Array  # (N,) and is done with it
    tried: Array  # (2N,)
    first: Array  # by line: the item that tries, the root of a heap by number
    child: Array  # (2N,)
    sibling: Array  # (2N,)
    item_number: Array  # (2N,)
    next_try_s: Array  # (2N,)
    free_s: Array  # by processor
    waiting: Array  # by processor
    next_send_s: Array  # by interface
    next_message_s: Array
    first_posted: Array  # by box
    last_posted: Array
    first_unexpected: Array
    last_unexpected: Array
    following: Array  # (N,) of a receive or a send in a box


def rules_of(plan: Plan) -> Rules:
    """The rules as plain arrays."""
    if plan.loggops is None:
        whole, times, flags = np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.bool_)
        return Rules(whole, whole, whole, times, times, flags, whole, whole, whole, whole)
    every = (getattr(plan.loggops, name) for name in Rules._fields)
    return Rules(*(np.zeros(0, np.int32) if array is None else np.ascontiguousarray(array) for array in every))


def turns_for(plan: Plan) -> Turns:
    """No turns, and nobody waits."""
    count = len(plan) if plan.loggops else 0
    sends = int(np.count_nonzero(plan.kind == SEND)) if count else 0
    interfaces, boxes = (plan.loggops.interfaces, plan.loggops.boxes) if plan.loggops else (0, 0)
    stations = len(plan.stations) if count else 0
    missing = np.zeros(count, np.int32)
    if count and plan.edges is not None:
        missing += np.bincount(plan.edges.target, minlength=count).astype(np.int32)
    lines = plan.loggops.lines if plan.loggops else 0
    most = 3 * (count + sends)  # first tries, and those of who comes to the head of a line, by joining it or by leaving
    return Turns(
        time_s=np.empty(most),
        number=np.empty(most, np.int64),
        item=np.empty(most, np.int64),
        clock_s=np.zeros(1),
        counts=np.zeros(3, np.int64),
        ready=np.empty(count, np.int32),
        entering=np.empty(count, np.int32),
        keys=np.empty(count, np.int32),
        ranges=np.empty(count, np.int32),
        missing=missing,
        ready_s=np.zeros(count),
        begin_s=np.full(count, np.nan),
        sent_s=np.zeros(count),
        message_number=np.zeros(count, np.int64),
        first_s=np.zeros(count),
        lag_s=np.zeros(count),
        taken_s=np.full(count, np.nan),
        end_s=np.full(count, np.nan),
        tried=np.zeros(2 * count, np.bool_),
        first=np.full(lines, NONE, np.int32),
        child=np.empty(2 * count, np.int32),
        sibling=np.empty(2 * count, np.int32),
        item_number=np.empty(2 * count, np.int64),
        next_try_s=np.empty(2 * count),
        free_s=np.zeros(stations),
        waiting=np.zeros(stations, np.int32),
        next_send_s=np.zeros(interfaces),
        next_message_s=np.zeros(interfaces),
        first_posted=np.full(boxes, NONE, np.int32),
        last_posted=np.full(boxes, NONE, np.int32),
        first_unexpected=np.full(boxes, NONE, np.int32),
        last_unexpected=np.full(boxes, NONE, np.int32),
        following=np.full(count, NONE, np.int32),
    )


@inlined
def new_number(turns: Turns) -> int:
    """The next number."""
    number: int = turns.counts[NUMBERS]
    turns.counts[NUMBERS] += 1
    return number


@inlined
def add_turn(turns: Turns, time_s: float, number: int, item: int) -> None:
    """An operation or a message will try to begin."""
    place = turns.counts[SIZE]
    turns.counts[SIZE] += 1
    while place > 0:
        above = (place - 1) // 2
        if not _before(time_s, number, turns.time_s[above], turns.number[above]):
            break
        _copy(turns, above, place)
        place = above
    turns.time_s[place], turns.number[place], turns.item[place] = time_s, number, item


@inlined
def remove_first(turns: Turns) -> None:
    """The first turn has come."""
    turns.counts[SIZE] -= 1
    last, place = turns.counts[SIZE], 0
    time_s, number = turns.time_s[last], turns.number[last]
    while True:
        below = 2 * place + 1
        if below >= last:
            break
        if below + 1 < last and _before(
            turns.time_s[below + 1], turns.number[below + 1], turns.time_s[below], turns.number[below]
        ):
            below += 1
        if _before(time_s, number, turns.time_s[below], turns.number[below]):
            break
        _copy(turns, below, place)
        place = below
    _copy(turns, last, place)


@inlined
def _before(time_s: float, number: int, other_s: float, other: int) -> bool:
    return time_s < other_s or (time_s == other_s and number < other)


@inlined
def _copy(turns: Turns, source: int, target: int) -> None:
    turns.time_s[target], turns.number[target] = turns.time_s[source], turns.number[source]
    turns.item[target] = turns.item[source]


@inlined
def try_at(turns: Turns, item: int, time_s: float) -> None:
    """The first of a line tries then, or when that is known, if ``time_s`` is infinity."""
    turns.next_try_s[item] = time_s
    if time_s < np.inf:
        add_turn(turns, time_s, turns.item_number[item], item)


@inlined
def join_line(turns: Turns, line: int, item: int, number: int) -> None:
    """An item waits with others."""
    turns.item_number[item] = number
    turns.child[item] = turns.sibling[item] = NONE
    turns.first[line] = item if turns.first[line] == NONE else _melded(turns, turns.first[line], item)


@called
def leave_line(turns: Turns, line: int) -> None:
    """The first of a line leaves it: its children are melded in pairs, these from the last to the first."""
    rest, pairs, root = turns.child[turns.first[line]], NONE, NONE
    while rest != NONE:
        one, other = rest, turns.sibling[rest]
        rest = NONE if other == NONE else turns.sibling[other]
        pair = one if other == NONE else _melded(turns, one, other)
        turns.sibling[pair] = pairs
        pairs = pair
    while pairs != NONE:
        following = turns.sibling[pairs]
        root = pairs if root == NONE else _melded(turns, root, pairs)
        pairs = following
    turns.first[line] = root


@inlined
def _melded(turns: Turns, one: int, other: int) -> int:
    """Two heaps as one; its root has the smaller number."""
    if turns.item_number[other] < turns.item_number[one]:
        one, other = other, one
    turns.sibling[other] = turns.child[one]
    turns.child[one] = other
    return one


@inlined
def message_comes(turns: Turns, rules: Rules, send: int, last_byte_s: float) -> None:
    """The last byte of a message that has passed stations will be there at ``last_byte_s``."""
    first_s = last_byte_s - rules.spread_s[send]
    first_byte_comes(turns, send, max(turns.clock_s[0], first_s))
    turns.lag_s[send] = turns.first_s[send] - first_s


@inlined
def first_byte_comes(turns: Turns, send: int, first_s: float) -> None:
    """The first byte of a message will be there at ``first_s``."""
    turns.first_s[send] = first_s
    add_turn(turns, first_s, turns.message_number[send], len(turns.ready_s) + send)
