"""Agreements: values that ranks exchange when they set something up. They take no time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simcodesign.mpi.ranks.world import World


class _Agreement:
    def __init__(self) -> None:
        self.values: dict[int, Any] = {}
        self.found: Any = None
        self.is_found = False
        self.fetched = 0


def agree(
    world: World, what: str, key: Any, members: Sequence[int], value: Any, combine: Callable[[dict[int, Any]], Any]
) -> Any:
    """Wait until all of ``members`` have given a value for ``key``; return ``combine`` of the values by rank.

    ``members``: of all ranks of the program; ``what``: words for an error.
    """
    counted = (what, key, world.current)
    number = world.agreements[counted] = world.agreements.get(counted, -1) + 1
    here = world.agreements.setdefault((what, key, number, None), _Agreement())
    here.values[world.current] = value
    if len(here.values) == len(members):
        here.found, here.is_found = combine(here.values), True
        for member in members:
            world.scheduler.wake(member)
    world.scheduler.wait(lambda: what, lambda: here.is_found)
    here.fetched += 1
    if here.fetched == len(members):
        del world.agreements[(what, key, number, None)]
    return here.found


def new_number(world: World, members: Sequence[int]) -> int:
    """Return the number of a new communicator of these of all ranks."""
    return world.log.communicator(members)
