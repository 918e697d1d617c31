"""The messages of an operation of several ranks in the order in which every rank sends and receives them.

``ordered_steps`` has the steps of collective algorithms. Here they become columns of messages, each with the turns of
its send and its receive among everything that these ranks do; so do halo exchanges and wavefronts. The longest path
follows these columns (``longest_path``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import FREE, Message
from simcodesign.analytic.messages.message_costs import combined_later_s, price
from simcodesign.analytic.messages.ordered_steps import Burst, Ints, Joint, Step, Steps
from simcodesign.analytic.messages.route_links import RouteLinks
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.network import Network

Floats = NDArray[np.float64]
TURNS_OF_MESSAGE = ("sent", "taken", "freed")
COLUMNS = ("source", "target", "size_bytes", *TURNS_OF_MESSAGE, "reduced_s", "dim", "later_s", "signals")
#: Turns of a step: copies, the send, the receive, the sender's wait, the reduction, copies.
PACKED, SENT, TAKEN, FREED, REDUCED, UNPACKED, OF_STEP = range(7)
#: Turns of a block of a wavefront: receives along both axes, work, sends along both, each with the sender's wait.
RECEIVED, COMPUTED, PASSED_ON, OF_BLOCK = 0, 2, 3, 7


class Work(NamedTuple):
    """Own work of ranks, an entry each: ``time_s`` at turn ``at``."""

    rank: Ints
    at: Ints
    time_s: Floats


@dataclass(frozen=True)
class Ordered:
    """M messages from ``source`` to ``target``, (M,) each, and the ``work`` of ranks between them.

    A rank does first what has the lower turn: it sends at turn ``sent``, receives at turn ``taken``, waits at turn
    ``freed`` for the receiver of a message beyond S bytes, and then combines for ``reduced_s`` what it has received.
    ``dim``: the dimension of the process grid along which a message goes. ``later_s``: how much later it arrives than
    alone, because switches combine it; ``signals``: whether it takes no time at all, and is no message.
    ``is_posted``: all sends are posted together.
    ``message``: what each message costs.
    """

    source: Ints
    target: Ints
    size_bytes: Floats
    sent: Ints
    taken: Ints
    freed: Ints
    reduced_s: Floats
    dim: Ints
    later_s: Floats
    signals: NDArray[np.bool_]
    work: Work
    is_posted: bool = False
    message: Message = FREE

    def priced(self, network: Network, ranks: int, links: RouteLinks | None) -> Ordered:
        """Price every message by the distance law, over these links (the slowest ones of the network if None)."""
        message = price(network, float(ranks), links=links).message(self.size_bytes)
        if np.any(self.later_s):
            message = replace(message, arrival_s=message.arrival_s + self.later_s)
        return replace(self, message=message.free_where(self.signals) if self.signals.any() else message)

    def along(self, network: Network, ranks: int, links: Sequence[RouteLinks]) -> Ordered:
        """Return the messages with the links along each dimension."""
        every = np.zeros((len(fields(Message)), len(self.source)))
        for dim, row in enumerate(links):
            here = self.dim == dim
            one = price(network, float(ranks), links=row).message(self.size_bytes[here])
            every[:, here] = [np.broadcast_to(getattr(one, each.name), here.sum()) for each in fields(Message)]
        values: dict[str, Any] = {each.name: row for each, row in zip(fields(Message), every, strict=True)}
        in_order = price(network, float(ranks)).message(0.0).in_order
        return replace(self, message=Message(**values | {"waits": values["waits"] > 0, "in_order": in_order}))

    def among(self, members: Ints) -> Ordered:
        """Return the messages in each of several groups, ``members`` (groups, n), for ranks 0 to n - 1."""
        count = len(members)
        rank, at, time_s = self.work
        work = Work(members[:, rank].ravel(), np.tile(at, count), np.tile(time_s, count))
        rest = {name: np.tile(getattr(self, name), count) for name in COLUMNS[2:]}
        source, target = members[:, self.source].ravel(), members[:, self.target].ravel()
        return self._with(rest | {"source": source, "target": target}, work)

    def repeated(self, times: int, turns: int) -> Ordered:
        """Return the messages ``times`` times, which takes ``turns`` turns each time."""
        later, later_work = (np.repeat(np.arange(times) * turns, len(one)) for one in (self.source, self.work.at))
        rank, at, time_s = self.work
        work = Work(np.tile(rank, times), np.tile(at, times) + later_work, np.tile(time_s, times))
        every = {name: np.tile(getattr(self, name), times) for name in COLUMNS}
        return self._with(every | {name: every[name] + later for name in TURNS_OF_MESSAGE}, work)

    def within(self, who: Ints) -> Ordered:
        """Messages among these ranks, which ascend, as places 0, 1, 2, ... in ``who``."""
        here = np.isin(self.source, who) & np.isin(self.target, who)
        works = np.isin(self.work.rank, who)
        source, target, rank = (np.searchsorted(who, side) for side in (self.source, self.target, self.work.rank))
        work = Work(rank[works], self.work.at[works], self.work.time_s[works])
        rest = {name: getattr(self, name)[here] for name in COLUMNS[2:]}
        message = self.message.of(np.flatnonzero(here))
        return replace(self._with(rest | {"source": source[here], "target": target[here]}, work), message=message)

    @classmethod
    def together(cls, parts: Sequence[Ordered]) -> Ordered:
        """All these messages, which may be none.

        Messages of several parts have no rank in common, or turns that follow one another.
        """
        if not parts:
            return _none()
        if len(parts) == 1:
            return parts[0]
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
        work = Work(*(np.concatenate(column) for column in zip(*(part.work for part in parts), strict=True)))
        return replace(parts[0]._with(columns, work), is_posted=any(part.is_posted for part in parts))

    def _with(self, columns: Mapping[str, NDArray[Any]], work: Work) -> Ordered:
        """Other columns, by their names."""
        every: Any = columns
        return replace(self, **every, work=work)


def in_steps(steps: Steps, size_bytes: FloatOrArray, segments: int, members: Ints, network: Network) -> Ordered:
    """Return the messages of a collective algorithm in each of several groups ``members`` (groups, n).

    Its bytes, or the bytes of each rank (n,), are passed on in ``segments`` equal parts.
    """
    parts, turn = [_none()], 0
    for step in steps:
        if isinstance(step, Burst):
            parts.append(_of_burst(step, size_bytes, turn))
            turn += 2 * len(step.target) + 1
        elif isinstance(step, Joint):
            parts.append(_of_joint(step, np.asarray(size_bytes) / segments, network, turn))
            turn += 3 * len(step.parts) + 2
        else:
            parts.append(_of_step(step, np.asarray(size_bytes) / segments, network, members.shape[1], turn))
            turn += OF_STEP
    return Ordered.together(parts).repeated(segments, turn).among(members)


def in_halo(grid: Sequence[int], sizes_bytes: Sequence[float], periodic: bool, messages: Sequence[float]) -> Ordered:
    """Return the messages of a halo exchange on a process grid.

    All sends, upwards and downwards in every dimension, and then all receives, from above and from below.
    """
    place, links = np.arange(int(np.prod(grid))).reshape(tuple(grid)), list[tuple[Ints, Ints, int]]()
    for dim, extent in enumerate(grid):
        if extent > 1:
            kept = range(extent if periodic else extent - 1)
            low, high = (np.take(part, kept, dim).ravel() for part in (place, np.roll(place, -1, dim)))
            links += [(low, high, dim), (high, low, dim)]
    counts = [int(messages[dim]) for *_, dim in links]
    before = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    parts, total = [_none()], int(before[-1])
    for number, (source, target, dim) in enumerate(links):
        sent = before[number] + np.arange(counts[number])
        taken = sent - before[number] + before[number ^ 1] + total
        turns = [np.repeat(turn, len(source)) for turn in (sent, taken, np.full(len(sent), 2 * total))]
        low, high = (np.tile(side, counts[number]) for side in (source, target))
        parts.append(_rows(low, high, sizes_bytes[dim], turns, 0.0, dim))
    return replace(Ordered.together(parts), is_posted=True)


def in_sweeps(
    grid: tuple[int, int],
    planes: int,
    sizes_bytes: Sequence[float],
    compute_s: float,
    corners: Sequence[tuple[int, int]],
) -> Ordered:
    """Return the messages of sweeps over a process grid from one corner after another.

    For every block a rank receives along both axes, computes, and sends along both.
    """
    place, parts = np.arange(int(np.prod(grid))).reshape(grid), [_none()]
    rank = place.ravel()
    computed = Work(rank, np.full(len(rank), COMPUTED), np.full(len(rank), compute_s))
    for number, corner in enumerate(corners):
        block = [replace(_none(), work=computed)]
        for axis in (0, 1):
            lower, upper = np.delete(place, -1, axis).ravel(), np.delete(place, 0, axis).ravel()
            ends = (upper, lower) if corner[axis] else (lower, upper)
            turns = (PASSED_ON + 2 * axis, RECEIVED + axis, PASSED_ON + 2 * axis + 1)
            block.append(_rows(*ends, sizes_bytes[axis], turns, 0.0, axis))
        sweep = Ordered.together(block).repeated(planes, OF_BLOCK)
        first = number * planes * OF_BLOCK
        moved = {name: getattr(sweep, name) + first for name in TURNS_OF_MESSAGE}
        parts.append(sweep._with(moved, sweep.work._replace(at=sweep.work.at + first)))
    return Ordered.together(parts)


def _of_step(step: Step, size_bytes: FloatOrArray, network: Network, ranks: int, turn: int) -> Ordered:
    turns = (turn + SENT, turn + TAKEN, turn + FREED)
    reduced_s = size_bytes * step.reduced / step.parts * network.reduction_s_per_byte if np.any(step.reduced) else 0.0
    size = step.size_bytes(size_bytes)
    later_s = 0.0 if step.combined_by is None else combined_later_s(step.combined_by, size)
    rows = _rows(step.source, step.target, size, turns, reduced_s, 0, later_s, step.signals)
    copies = [(turn + PACKED, step.packed), (turn + UNPACKED, step.unpacked)]
    copy_s = network.packing_s_per_block + np.asarray(size_bytes) / step.parts * network.packing_s_per_byte
    works = [
        Work(np.arange(ranks), np.full(ranks, at), np.broadcast_to(blocks * copy_s, ranks).astype(np.float64))
        for at, blocks in copies
        if blocks
    ]
    if not works:
        return rows
    return replace(rows, work=Work(*(np.concatenate(column) for column in zip(*works, strict=True))))


def _of_joint(joint: Joint, size_bytes: FloatOrArray, network: Network, turn: int) -> Ordered:
    """All sends, then receives and what each reduces, the waits of senders, and the last reduction."""
    count, several, works = len(joint.parts), list[Ordered](), [_none().work]

    def reduces(who: Ints, at: int, blocks: FloatOrArray, parts: int) -> None:
        seconds = size_bytes * blocks / parts * network.reduction_s_per_byte
        works.append(Work(who, np.full(len(who), at), np.broadcast_to(seconds, len(who)).astype(np.float64)))

    freed = turn + 3 * count
    for number, part in enumerate(joint.parts):
        taken = turn + count + 2 * number
        several.append(_rows(part.source, part.target, part.size_bytes(size_bytes), (turn + number, taken, freed)))
        if np.any(part.reduced):
            reduces(part.target, taken + 1, part.reduced, part.parts)
    if joint.reduced:
        who = np.unique(np.concatenate([part.target for part in joint.parts]))
        reduces(who, freed + 1, joint.reduced, joint.parts_of_bytes)
    work = Work(*(np.concatenate(column) for column in zip(*works, strict=True)))
    return replace(Ordered.together(several), is_posted=True, work=work)


def _of_burst(burst: Burst, size_bytes: FloatOrArray, turn: int) -> Ordered:
    """All sends one after another, then all receives."""
    count, rank = burst.target.shape[0], np.arange(burst.target.shape[1])
    taken = np.zeros((len(rank), len(rank)), np.int64)  # of a source at a target
    for place, source in enumerate(burst.source):
        taken[source, rank] = turn + count + place
    source, target = np.tile(rank, count), burst.target.ravel()
    sent = turn + np.repeat(np.arange(count), len(rank))
    size = np.asarray(size_bytes)[source] if np.ndim(size_bytes) else size_bytes
    turns = (sent, taken[source, target], turn + 2 * count)
    return replace(_rows(source, target, size, turns), is_posted=True)


def _rows(
    source: Ints,
    target: Ints,
    size_bytes: FloatOrArray,
    turns: Sequence[int | Ints],
    reduced_s: FloatOrArray = 0.0,
    dim: int = 0,
    later_s: FloatOrArray = 0.0,
    signals: bool = False,
) -> Ordered:
    """Messages whose other columns are numbers, or as long as ``source``."""
    every: Any = np.broadcast_arrays(source, target, size_bytes, *turns, reduced_s, dim, later_s, signals)
    size, reduced, later = (np.asarray(every[column], dtype=np.float64) for column in (2, 6, 8))
    sent, taken, freed = every[3:6]
    return Ordered(every[0], every[1], size, sent, taken, freed, reduced, every[7], later, every[9], _no_work())


def _none() -> Ordered:
    nothing = np.zeros(0, np.int64)
    return _rows(nothing, nothing, 0.0, (0, 0, 0))


def _no_work() -> Work:
    return Work(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
