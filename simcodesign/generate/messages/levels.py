"""The routes of simulated messages on the levels of a machine.

Each uses the network of the innermost that has both ends.

Messages that are priced alike, where routes are not looked at, take as long as the slowest of their levels does, by
every time of a message for itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import Network
from simcodesign.generate.messages.message_models.base import modelled_hops
from simcodesign.generate.messages.routing.route_choice import RouteChoice, route_choice
from simcodesign.generate.messages.way import Way, by_law, counted, slowest_of_messages

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class LevelWay:
    """The way of messages over the network of one level, by its place among the levels.

    ``here``: which of the messages have it, (n,), or True for any that may.
    """

    number: int
    network: Network
    way: Way
    here: NDArray[np.bool_] | bool = True

    def of(self, which: NDArray[np.bool_]) -> Way:
        """Return the routes of some messages."""
        return Way(*(field if np.ndim(field) == 0 else np.asarray(field)[which] for field in self.way.fields))


def longest(ways: Sequence[LevelWay], time: Callable[[Network, Way], Any]) -> Any:
    """Return a time of a message (or whether anything holds for it), the longest of its ways."""
    if len(ways) == 1:
        return time(ways[0].network, ways[0].way)
    times = (np.asarray(time(one.network, one.way)) for one in ways)
    return functools.reduce(
        np.maximum, (np.where(one.here, value, value.dtype.type(0)) for one, value in zip(ways, times, strict=True))
    )


def slowest_of_levels(several: Iterable[Sequence[LevelWay]]) -> list[LevelWay]:
    """On each level that any message of several columns uses, the longest times among them."""
    by_level: dict[int, list[LevelWay]] = {}
    for ways in several:
        for one in ways:
            if np.any(one.here):
                by_level.setdefault(one.number, []).append(one)
    return [
        LevelWay(number, ways[0].network, slowest_of_messages([one.way for one in ways]))
        for number, ways in sorted(by_level.items())
    ]


class LevelWays:
    """The routes of messages between the ranks of a machine with several levels.

    Its constants may come from a phase.
    """

    def __init__(self, machine: Machine, ranks: int, choice: RouteChoice, seed: int) -> None:
        self.machine, self.ranks = machine, ranks
        self.levels = machine.numbered_levels
        self.hosts = [machine.hosts_on(level, ranks) for level in self.levels]
        self.choices = [choice, *(route_choice(level.network, seed) for level in self.levels[1:])]

    def level_of(self, source: Int64s, target: Int64s) -> NDArray[np.int8]:
        """Return the level of messages between ranks, (n,)."""
        return self.machine.level_of(self.ranks, source, target)

    def hosts_of(self, source: Int64s, target: Int64s) -> tuple[Int64s, Int64s]:
        """Return the hosts of messages between ranks on their levels, among the hosts of all levels; (n,) each."""
        place = self.level_of(source, target).astype(np.int64)
        hosts = np.stack(self.hosts)
        return hosts[place, source], hosts[place, target]

    def of_messages(
        self, machine: Machine, source: Int64s, target: Int64s, size_bytes: FloatOrArray, is_counted: bool
    ) -> list[LevelWay]:
        """Return routes of messages from ranks to ranks (n,), each on its level.

        Over its own route, or by the distance law over it.
        """
        of_message, found = self.level_of(source, target), list[LevelWay]()
        for level, hosts, choice, network in zip(self.levels, self.hosts, self.choices, machine.levels, strict=True):
            here = of_message == level.number
            if not here.any():
                continue
            size = size_bytes if np.ndim(size_bytes) == 0 else np.broadcast_to(size_bytes, here.shape)[here]
            (_, first), (_, last) = level.split(hosts[source[here]]), level.split(hosts[target[here]])
            way = counted(network, choice, first, last, size)
            if not is_counted:
                way = by_law(way, self._law(level.number, network))
            found.append(LevelWay(level.number, network, _spread(way, here), here))
        return found

    def of_pairs(self, machine: Machine, source: Int64s, target: Int64s, size_bytes: FloatOrArray) -> list[LevelWay]:
        """Return routes of messages from ranks to ranks (n,), and their slowest links.

        Each over as many hops of its level as the law gives.
        """
        of_message = self.level_of(source, target)
        every = ((number, network, of_message == number) for number, network in enumerate(machine.levels))
        return [
            LevelWay(number, network, Way.of_hops(network, self._law(number, network), size_bytes), here)
            for number, network, here in every
            if here.any() or (not of_message.size and number == 0)
        ]

    def by_law(self, machine: Machine, size_bytes: FloatOrArray) -> list[LevelWay]:
        """Routes of messages on any level, over as many hops as the law of each gives."""
        return [
            LevelWay(number, network, Way.of_hops(network, self._law(number, network), size_bytes))
            for number, network in enumerate(machine.levels)
        ]

    def _law(self, number: int, network: Network) -> float:
        return modelled_hops(network, int(self.levels[number].law_ranks(self.ranks)))


def _spread(way: Way, here: NDArray[np.bool_]) -> Way:
    """Return a way of some messages among all, 0 elsewhere."""
    fields = []
    for field in way.fields:
        every = np.zeros(here.shape)
        every[here] = field
        fields.append(every)
    return Way(*fields)
