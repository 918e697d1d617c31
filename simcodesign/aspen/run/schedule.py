"""The work of an Aspen application as a schedule: operations on instances of resources, few for any number of items.

All of it is one rank. The instances of a resource, and of those that exclude it, are a *pool*; a processor of the rank
is a fraction of a pool. A block that has its resources for itself takes one operation for each use, of as many waves of
items as its instances need. If blocks may run at the same time (``par``), the items of each block are dealt to the
instances round robin, starting after the last instance of the previous block. Instances between two such starts get
the same items, and so are one processor together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simcodesign.aspen.machine import linked_by_conflicts
from simcodesign.aspen.run.work import Block, Branches, Chain, Iterations, Repeated, Use, Work
from simcodesign.core.errors import InputError, Place
from simcodesign.core.operation_kinds import COMPUTE
from simcodesign.describe.goal.schedule import NONE, Schedule

MAX_OPERATIONS = 300_000
BATCHES = 16  # of a loop that runs concurrently with another block, and of a map with independent iterations
SHARES = 64  # of a pool, where more would be needed
_SAME = 1e-9  # places in a pool that are apart by no more than rounding

Conflicts = frozenset[frozenset[str]]
Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class PlacedBlock:
    """A block to be written: ``times`` one after another, each time with ``spread`` times its items."""

    block: Block
    times: float
    spread: float

    def waves(self, use: Use) -> float:
        """Return rounds of items on the instances. InputError for more than a float can count."""
        rounds = self.block.items * self.spread / use.instances
        if not math.isfinite(rounds):
            what = f"each instance of {use.resource} has too many items in all iterations"
            raise InputError(what, self.block.place, value=f"{rounds:g}", allowed="up to 1.8e308")
        return float(math.ceil(rounds))

    def rest(self, use: Use) -> float:
        """Return the fraction of the instances that the last round keeps busy, above 0 and up to 1."""
        return self.block.items * self.spread / use.instances - (self.waves(use) - 1)


@dataclass(frozen=True)
class Series:
    """Parts one after another; the same object standing there several times is dealt to the instances once."""

    parts: tuple[Placed, ...]


@dataclass(frozen=True)
class Parallel:
    """Parts that may run at the same time."""

    parts: tuple[Placed, ...]


Placed = PlacedBlock | Series | Parallel


@dataclass(frozen=True)
class Rules:
    """Rules by which resources that conflict take turns.

    ``exclusive``: only resources that exclude each other take turns; otherwise all that conflicts link, also
    indirectly. ``flowing``: an iteration of a map continues when its own block is done; otherwise when those of all
    iterations are.
    """

    conflicts: Conflicts
    exclusive: bool = False
    flowing: bool = False


def schedule_of_work(work: Work, name: str, place: Place, rules: Rules) -> Schedule:
    """Return the schedule. InputError for more than ``MAX_OPERATIONS`` operations."""
    operations = _Operations(place)
    _Writer(operations, rules).write(_placed(work, 1.0, 1.0, rules, False, False), [])
    return operations.schedule(name)


# --- from work to parts -------------------------------------------------------------------------------------------


def _placed(work: Work, times: float, spread: float, rules: Rules, beside: bool, batched: bool) -> Placed:
    """``beside``: other blocks may run at the same time; ``batched``: a part of a loop that was split."""
    match work:
        case Block():
            return PlacedBlock(work, times, spread)
        case Chain(parts):
            return Series(tuple(_placed(one, times, spread, rules, beside, batched) for one in parts))
        case Branches(parts):
            return Parallel(tuple(_placed(one, times, spread, rules, True, batched) for one in parts))
        case Repeated(count, body):
            pieces = min(int(count), BATCHES) if beside and not batched else 1
            if pieces <= 1:
                return _placed(body, times * count, spread, rules, beside, batched)
            piece = _placed(body, times * count / pieces, spread, rules, beside, True)
            return Series((piece,) * pieces)
        case Iterations(count, body):
            whole = _placed(body, times, spread * count, rules, beside, batched)
            pieces = (
                _pieces(whole, count, rules) if rules.flowing and not batched and not isinstance(body, Block) else 1
            )
            if pieces <= 1:
                return whole
            sizes = np.diff(np.floor(np.linspace(0, count, pieces + 1))) if count == int(count) else [count / pieces]
            each = np.broadcast_to(sizes, (pieces,))
            return Parallel(tuple(_placed(body, times, spread * float(one), rules, True, True) for one in each))
    raise AssertionError(work)


def _pieces(whole: Placed, count: float, rules: Rules) -> int:
    """Into how many batches the iterations of a map are taken: rounds of items, or iterations, but not too many.

    Only one if two resources may run at the same time that a third one excludes: in a region all would alternate.
    """
    uses = [(part, use) for part in _parts(whole) for use in part.block.uses]
    groups = linked_by_conflicts(dict.fromkeys(use.resource for _, use in uses), rules.conflicts)
    pairs = (frozenset(pair) for group in groups for pair in itertools.combinations(group, 2))
    if rules.exclusive and any(pair not in rules.conflicts for pair in pairs):
        return 1
    return int(min(max((part.waves(use) for part, use in uses), default=1.0), math.ceil(count), BATCHES))


def _parts(placed: Placed) -> Iterator[PlacedBlock]:
    """Every part, in the order of the statements."""
    if isinstance(placed, PlacedBlock):
        yield placed
    else:
        for one in placed.parts:
            yield from _parts(one)


# --- instances ----------------------------------------------------------------------------------------------------


class _Region:
    """Blocks that may run at the same time: which instances each of their uses takes."""

    def __init__(self, fork: Parallel, conflicts: Conflicts) -> None:
        parts = list({id(part): part for part in _parts(fork)}.values())
        resources = dict.fromkeys(use.resource for part in parts for use in part.block.uses)
        groups = linked_by_conflicts(resources, conflicts)
        self.pool_of = {name: number for number, group in enumerate(groups) for name in group}
        self.spans: dict[int, tuple[Spans, ...]] = {}
        reached = dict.fromkeys(range(len(groups)), 0.0)
        own: dict[tuple[int, int], float] = {}  # position at which each block continues
        for part in parts:
            self._deal(part, reached, own)
        self.shares = {pool: self._shares(pool, parts) for pool in reached}

    def _deal(self, part: PlacedBlock, reached: dict[int, float], own: dict[tuple[int, int], float]) -> None:
        """Deal the last round of items to the instances that come next; the others keep all instances busy.

        Batches of one block start where the previous batch ended, so that they are spread like the whole.
        """
        spans, moved = [], dict.fromkeys(reached, 0.0)
        for use in part.block.uses:
            pool, share = self.pool_of[use.resource], part.rest(use)
            spans.append(_around(own.get((id(part.block), pool), reached[pool]), share))
            moved[pool] = max(moved[pool], share)
        for pool, share in moved.items():
            if share > 0:
                key = id(part.block), pool
                reached[pool] = own[key] = (own.get(key, reached[pool]) + share) % 1.0
        self.spans[id(part)] = tuple(spans)

    def _shares(self, pool: int, parts: Sequence[PlacedBlock]) -> list[tuple[float, float]]:
        """Return the pool cut wherever a span of it begins or ends."""
        cuts = {0.0, 1.0}
        for part in parts:
            for use, spans in zip(part.block.uses, self.spans[id(part)], strict=True):
                if self.pool_of[use.resource] == pool:
                    cuts |= {cut for span in spans for cut in span}
        ordered = sorted(cuts)
        if len(ordered) > SHARES:
            ordered = np.linspace(0, 1, SHARES + 1).tolist()
        kept = [at for at, after in itertools.pairwise([*ordered, 2.0]) if after - at > _SAME]
        return list(itertools.pairwise(kept))

    def taken(self, part: PlacedBlock) -> Iterator[tuple[Use, int, tuple[float, float], float]]:
        """Each use of a part, with its pool, a fraction of that, and the rounds of items there.

        A fraction is represented by its middle, which matters only if a pool has no more than ``SHARES`` of them.
        """
        for use, spans in zip(part.block.uses, self.spans[id(part)], strict=True):
            pool, waves = self.pool_of[use.resource], part.waves(use)
            middles = [sum(share) / 2 for share in self.shares[pool]]
            busy = {at for at, place in enumerate(middles) if any(begin < place < end for begin, end in spans)}
            first = busy or {int(np.abs(np.array(middles) - spans[0][0]).argmin())}  # less than a fraction: the nearest
            for at, share in enumerate(self.shares[pool]):
                yield use, pool, share, waves if at in first else waves - 1


def _around(begin: float, share: float) -> Spans:
    """From a place in a pool that has no end."""
    end = begin + min(share, 1.0)
    return ((begin, end),) if end <= 1.0 else ((begin, 1.0), (0.0, end - 1.0))


# --- operations ---------------------------------------------------------------------------------------------------


class _Operations:
    """Operations as they come."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.seconds: list[float] = []
        self.cpus: list[int] = []
        self.sources: list[int] = []
        self.targets: list[int] = []
        self._processors: dict[object, int] = {}

    def processor(self, key: object) -> int:
        return self._processors.setdefault(key, len(self._processors) + 1)  # 0 joins

    def add(self, seconds: float, cpu: int, after: Sequence[int]) -> int:
        number = len(self.seconds)
        if number >= MAX_OPERATIONS or len(self.sources) > 10 * MAX_OPERATIONS:
            allowed = f"up to {MAX_OPERATIONS} operations"
            raise InputError("the model has too much work for a simulation", self.place, allowed=allowed)
        self.seconds.append(seconds)
        self.cpus.append(cpu)
        self.sources += after
        self.targets += [number] * len(after)
        return number

    def schedule(self, name: str) -> Schedule:
        count = max(len(self.seconds), 1)  # a rank with nothing to do has one operation of no time
        source = np.array(self.sources, dtype=np.int64)
        order = np.argsort(source, kind="stable")
        starts = np.searchsorted(source[order], np.arange(count + 1))
        none = np.zeros(count, np.int32)
        return Schedule(
            name,
            np.array([0, count]),
            np.full(count, COMPUTE, np.int8),
            none + NONE,
            np.zeros(count),
            np.array(self.seconds or [0.0]),
            none,
            np.array(self.cpus or [0], np.int32),
            starts.astype(np.int64),
            np.array(self.targets, np.int32)[order],
            np.zeros(len(order), np.bool_),
            self.place,
        )


@dataclass(frozen=True)
class _Writer:
    operations: _Operations
    rules: Rules

    def write(self, placed: Placed, after: list[int], region: _Region | None = None) -> list[int]:
        """Write ``placed`` to begin after these operations; return those that the next part waits for."""
        match placed:
            case PlacedBlock():
                return self.alone(placed, after) if region is None else self.beside(placed, after, region)
            case Series(parts):
                for one in parts:
                    after = self.write(one, self.joined(after), region)
                return after
            case Parallel(parts):
                inside = region or _Region(placed, self.rules.conflicts)
                begin = self.joined(after)
                return [end for one in parts for end in self.write(one, begin, inside)]
        raise AssertionError(placed)

    def joined(self, after: list[int]) -> list[int]:
        return [self.operations.add(0.0, 0, after)] if len(after) > 1 else after

    def alone(self, part: PlacedBlock, after: list[int]) -> list[int]:
        """Write a block that runs alone."""
        uses = part.block.uses
        groups = linked_by_conflicts(dict.fromkeys(use.resource for use in uses), self.rules.conflicts)
        pool_of = {name: group[0] for group in groups for name in group}
        written: list[tuple[str, int]] = []
        for use in uses:
            seconds = part.times * (part.waves(use) * use.serial_s)
            pool, before = pool_of[use.resource], after
            if self.rules.exclusive:
                pool = use.resource
                excluded = [one for name, one in written if frozenset((name, pool)) in self.rules.conflicts]
                before = [*after, *excluded]
            written.append((use.resource, self.operations.add(seconds, self.operations.processor(pool), before)))
        return [one for _, one in written]

    def beside(self, part: PlacedBlock, after: list[int], region: _Region) -> list[int]:
        """Write a block whose items share the instances with the items of other blocks."""
        return [
            self.operations.add(
                part.times * (waves * use.serial_s), self.operations.processor((id(region), pool, share)), after
            )
            for use, pool, share, waves in region.taken(part)
            if waves > 0
        ]
