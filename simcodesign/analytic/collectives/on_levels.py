"""The cost of a collective in groups whose messages are on several levels of the machine.

Where all pairs of a group are on one level, it is the closed form with that level's prices. Where they are on several,
ranks are followed through the algorithm in Hockney's model (``rank_by_rank.alike_ranks``), which is exact; likewise
where messages hold their receivers, which closed forms do not have. In LogGOPS, and beyond ``MOST_MESSAGES`` messages
of groups that differ, it is the closed form with the slowest prices of any pair of the group: an upper bound, if no
sender waits for a receiver that copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.collectives.algorithm_form import ALGORITHM_FORMS, algorithm_form_of
from simcodesign.analytic.collectives.pipelines.chain import chain_on_levels_s
from simcodesign.analytic.group_levels import LevelGroups, Pattern, patterns_of
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, price, selected
from simcodesign.analytic.messages.message_models.base import hold_receivers
from simcodesign.analytic.messages.node_levels import NodeLevels
from simcodesign.analytic.messages.ordered_steps import Burst, Steps
from simcodesign.analytic.messages.route_links import links_of_levels, modelled_hops
from simcodesign.analytic.power import all_busy_s
from simcodesign.analytic.rank_by_rank.alike_ranks import Course, Followed, Prices, course, follow, levels_of
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import ONE
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.machine import Machine

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FOLLOWED = "each message at the price of the level that its pair of ranks is on, rank by rank"
BOUND = "an upper bound: every message at the price of the slowest level of its group"
#: In LogGOPS, where not all closed forms are exact.
AT_SLOWEST = "every message at the price of the slowest level of its group: an upper bound if the closed form is exact"
#: Where messages hold their receivers.
COPIED = "each message holding its receiver as long as its sender, rank by rank"
COPIED_LATE = "an upper bound: every message at the price of the slowest level of its group, copied on arrival"
COPIED_ABOVE_S = "an estimate: every message at the price of the slowest level of its group, copied on arrival"


#: Numbers of segments for which ranks are followed at design points, and ranks times segments that are followed.
MOST_NUMBERS_OF_SEGMENTS, MOST_IN_SEGMENTS = 64, 2**17


@dataclass(frozen=True)
class OnLevels:
    """The prices of messages in groups on a machine, among ``ranks`` ranks in all."""

    machine: Machine
    ranks: FloatOrArray
    groups: LevelGroups

    def is_mixed(self, way: Collective) -> bool:
        """Return whether messages of one round may be on several levels.

        Messages of a group, or within nodes if the algorithm looks at these.
        """
        return len([level for level in self.groups.levels if level or not way.looks_at_nodes]) > 1

    @property
    def holds_receiver(self) -> bool:
        """Whether messages on some level hold their receivers."""
        levels = self.machine.levels
        return self.machine.has_levels and hold_receivers(levels[level] for level in self.groups.levels)

    def is_followed(self, way: Collective) -> bool:
        """Whether ranks are to be followed instead of the closed form."""
        return self.is_mixed(way) or self.holds_receiver or (way.looks_at_nodes and self._has_uneven_nodes)

    def basis_of_meetings(self, way: Collective) -> str:
        """Return what the sum of parts is, of an operation in switches: exact if the ranks of a part wait for all."""
        waits = self.machine.switches.between is not None or not self._has_uneven_nodes
        if waits and not self.is_mixed(way) and not self.holds_receiver:
            return ""
        return BOUND if can_be_followed(self.machine) else AT_SLOWEST

    @property
    def _has_uneven_nodes(self) -> bool:
        """Whether ranks can be followed, and some nodes have fewer than others."""
        return can_be_followed(self.machine) and len({*self._ranks_of_nodes().tolist()}) > 1

    def _ranks_of_nodes(self) -> Ints:
        """Count the ranks of every node, in the order of leaders, of groups that all share nodes in the same way."""
        counts: Ints = np.unique(self.groups.patterns[0].node[0], return_counts=True)[1]
        return counts

    def prices(self, levels: tuple[int, ...] | None = None, ranks: FloatOrArray | None = None) -> MessageCosts:
        """Upper bounds for messages on these levels, or on all levels of the groups if None; among as many ranks."""
        links = links_of_levels(self.machine, self.groups.levels if levels is None else levels, self.ranks)
        hops = modelled_hops(self.machine.network, self.ranks)
        return price(self.machine.network, self.groups.ranks if ranks is None else ranks, hops, links)

    def node_levels(self) -> NodeLevels:
        """Return the two levels of groups that all share nodes in the same way."""
        nodes = self._ranks_of_nodes()
        inner = tuple(level for level in self.groups.levels if level) or (0,)
        within = self.prices(inner, float(nodes.max())).copied_late
        between = self.prices((0,), float(len(nodes)))
        return NodeLevels.of(self.groups.ranks, within, between, self.machine.switches, nodes)


@dataclass(frozen=True)
class Refined:
    """A cost, the seconds for which the ranks of a group work on its messages, and its time.

    The time is None if it is that of the closed form alone.
    """

    cost: Cost
    busy_s: FloatOrArray
    basis: str


def refined(
    demand: Collective,
    size_bytes: FloatOrArray,
    on: OnLevels,
    bound: Cost,
    busy_s: FloatOrArray,
    parts: Callable[[Collective], FloatOrArray],
) -> Refined:
    """Return the cost of groups whose messages are on several levels, by its ``bound`` at the slowest prices.

    ``parts``: in how many segments an algorithm passes the bytes on.
    """
    shape = np.broadcast_shapes(np.shape(bound.time_s), *(one.shape for one in on.groups.patterns))
    time_s, reduction_s, busy = (
        np.array(np.broadcast_to(value, shape or (1,)), dtype=np.float64)
        for value in (bound.time_s, bound.reduction_s, busy_s)
    )
    is_bound = False
    for way, chosen in demand.choices(on.groups.ranks, size_bytes):
        for pattern in on.groups.patterns:
            here = chosen if pattern.where is None else chosen & pattern.where
            for where, segments in _by_segments(way, np.broadcast_to(here, shape or (1,)), parts(way)):
                followed = _followed(way, size_bytes, on, pattern, where, segments)
                if followed is None:
                    is_bound = True
                    continue
                time_s[where], busy[where] = followed.time_s, followed.busy_s / pattern.counts.sum()
                if followed.reduction_s is not None:
                    reduction_s[where] = followed.reduction_s
    if not shape:
        time_s, reduction_s, busy = time_s[0], reduction_s[0], busy[0]
    basis = _of_bound(on) if is_bound else COPIED if on.holds_receiver and not on.is_mixed(demand) else FOLLOWED
    return Refined(replace(bound, time_s=time_s, reduction_s=reduction_s), busy, basis)


def _by_segments(
    way: Collective, here: NDArray[np.bool_], parts: FloatOrArray
) -> Iterator[tuple[NDArray[np.bool_], FloatOrArray]]:
    """Split design points by the number of segments, for which ranks are followed; not needed for a chain."""
    if not here.any():
        return
    every = np.broadcast_to(np.asarray(parts, dtype=np.float64), here.shape)
    numbers = np.unique(every[here])
    if way.segment is None or way.algorithm == "chain" or len(numbers) > MOST_NUMBERS_OF_SEGMENTS:
        yield here, parts
        return
    for number in numbers.tolist():
        yield here & (every == number), number


def chosen_costs(parts: Sequence[tuple[NDArray[np.bool_], Refined]]) -> Refined:
    """Return the cost of the chosen algorithm at every point."""
    if len(parts) == 1:
        return parts[0][1]
    several = np.broadcast_arrays(*(where for where, _ in parts), *(np.asarray(one.busy_s) for _, one in parts))
    busy_s = np.select(several[: len(parts)], several[len(parts) :])
    basis = "; ".join(dict.fromkeys(one.basis for _, one in parts if one.basis))
    return Refined(selected([(where, one.cost) for where, one in parts]), busy_s, basis)


def _of_bound(on: OnLevels) -> str:
    if not can_be_followed(on.machine):
        return AT_SLOWEST
    if not on.holds_receiver:
        return BOUND
    return COPIED_ABOVE_S if has_rendezvous(on.machine) else COPIED_LATE


def has_rendezvous(machine: Machine) -> bool:
    """Return whether a sender may wait for its receiver."""
    return any(one.message_model.has_rendezvous for one in machine.levels)


def can_be_followed(machine: Machine) -> bool:
    """Return whether ranks do one thing after another, without gaps between their messages."""
    model = machine.network.message_model
    return model.ranks_work_in_order and not model.has_gaps


def cost_of_members(
    demand: Collective, size_bytes: float, machine: Machine, ranks: int, members: Ints, segments: float | None
) -> Refined:
    """Return the cost of one operation of members (n,), from its root on.

    The algorithm does not look at nodes.
    """
    ((levels, pattern),) = patterns_of(machine, ranks, members[None, :])
    on = OnLevels(machine, float(ranks), LevelGroups(float(len(members)), 1.0, levels, (pattern,)))
    form, prices = algorithm_form_of(demand), on.prices().copied_late
    if segments is None or form.segmented is None:
        cost = form.cost(size_bytes, prices)
    else:
        cost, demand = form.segmented(size_bytes, prices, segments), replace(demand, segment=ONE)
    busy_s = all_busy_s(cost, prices)
    if not on.is_followed(demand):
        return Refined(cost, busy_s, "")
    return refined(demand, size_bytes, on, cost, busy_s, lambda _: 1.0 if segments is None else segments)


def _followed(
    way: Collective,
    size_bytes: FloatOrArray,
    on: OnLevels,
    pattern: Pattern,
    where: NDArray[np.bool_],
    parts: FloatOrArray,
) -> Followed | None:
    """Return the groups of a pattern at some design points; None if they cannot be followed."""
    network = on.machine.network
    if not can_be_followed(on.machine):
        return None
    whole = bool(where.all())

    def pick(values: FloatOrArray) -> Floats:
        every = np.broadcast_to(np.asarray(values, dtype=np.float64), where.shape)
        return every.reshape(-1) if whole else every[where]

    waits = has_rendezvous(on.machine)
    if way.segment is not None and waits:
        return None
    if way.segment is not None and way.algorithm == "chain":
        time_s, busy_s = _in_segments(way, size_bytes, on, pattern, parts)
        return Followed(pick(time_s), None, pick(busy_s))
    if np.ndim(parts) and way.segment is not None:
        return None
    one = _course(way, pattern, waits, on.holds_receiver, 1 if way.segment is None else int(parts))
    if one is None:
        return None
    prices = Prices(one, lambda level: on.prices((level,)), size_bytes, way.is_sized_by_rank, pick)
    return follow(one, prices, network.reduction_s_per_byte)


def _course(way: Collective, pattern: Pattern, waits: bool, copies: bool, segments: int) -> Course | None:
    """Return the course of the groups; None if there are too many messages."""
    if way.segment is not None and segments * pattern.node.shape[1] > MOST_IN_SEGMENTS:
        return None
    arrays = ((one.tobytes(), one.shape) for one in (pattern.node, pattern.parts, pattern.counts))
    return _known_course(way.key, waits, way.is_sized_by_rank, copies, segments, *arrays)


@lru_cache(maxsize=32)
def _known_course(
    key: tuple[str, str],
    waits: bool,
    by_rank: bool,
    copies: bool,
    segments: int,
    *arrays: tuple[bytes, tuple[int, ...]],
) -> Course | None:
    node, parts, counts = (np.frombuffer(data, np.int64).reshape(shape) for data, shape in arrays)
    return course(_steps_in(key, node, segments), parts, counts, waits, by_rank, copies)


def _steps_in(key: tuple[str, str], node: Ints, segments: int) -> Steps:
    """Return the messages of groups (G, n) in ``segments`` segments."""
    if segments == 1:
        return steps_of(key, node)
    form, ranks = ALGORITHM_FORMS[key], node.shape[1]
    steps, times = form.steps_in(ranks, segments)
    if times == 1:
        return steps
    repeated = (step for _ in range(times) for step in form.steps(ranks))
    return (step if isinstance(step, Burst) else step.scaled(1.0 / times) for step in repeated)


def steps_of(key: tuple[str, str], node: Ints) -> Steps:
    """Return the messages of groups (G, n); all share nodes in the same way if that matters (``level_groups``)."""
    form = ALGORITHM_FORMS[key]
    if form.on_nodes is not None:
        return form.on_nodes.steps(node[0])
    return form.steps(node.shape[1])


def _in_segments(
    way: Collective, size_bytes: FloatOrArray, on: OnLevels, pattern: Pattern, parts: FloatOrArray
) -> tuple[FloatOrArray, FloatOrArray]:
    """Seconds of segments down a chain of ranks, or up, of the slowest group.

    And those for which ranks are at work on their messages in all groups.
    """
    reduces = way.name == "reduce"
    order = np.arange(pattern.node.shape[1])[:: -1 if reduces else 1]
    levels = levels_of(pattern.parts, order[:-1], order[1:])
    prices = {level: on.prices((level,)) for level in np.unique(levels).tolist()}
    each = size_bytes / parts
    messages = {level: (p.reduced(each) if reduces else p.message(each)) for level, p in prices.items()}
    time_s: FloatOrArray = 0.0
    busy_s: FloatOrArray = 0.0
    for row in np.unique(levels, axis=0).tolist():
        time_s = np.maximum(time_s, chain_on_levels_s([messages[level] for level in row], parts))
    for level in prices:
        plain, count = prices[level].message(each), float(((levels == level).sum(axis=1) * pattern.counts).sum())
        busy_s = busy_s + count * parts * (plain.send_s + plain.held_s)
    return time_s, busy_s
