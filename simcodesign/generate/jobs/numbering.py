"""The numbers that ranks, operations and stations of the Plans of several jobs have in the Plan of all.

Ranks are numbered by the places of the machine that they have, as a program that fills the machine has them. Stations
that several jobs use are one station: the same disk, storage server, interface or link of the machine. Processors and
mailboxes belong to one job each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from simcodesign.core.errors import InputError
from simcodesign.generate.plan import MAILBOX, NONE, PROCESSOR, Plan, Stations

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Numbering:
    """Numbers of each of J Plans in the joint Plan: ``rank`` (P_j,), ``operation`` (N_j,), ``station`` (S_j,).

    ``first``: (P + 1,) the first operation of each rank. ``waiting``: (P_j,) the operation in which a rank waits for
    the start of its job, or NONE.
    """

    rank: tuple[Int64s, ...]
    operation: tuple[Int64s, ...]
    station: tuple[Int64s, ...]
    waiting: tuple[Int64s, ...]
    first: Int64s
    stations: Stations

    @classmethod
    def of(cls, plans: Sequence[Plan], places: Sequence[Sequence[int]], starts_s: Sequence[float]) -> Numbering:
        """Return the numbers for these Plans, whose ranks have these ``places`` of the machine.

        InputError for a Plan whose disks hold a limited number of requests.
        """
        order = np.argsort(np.concatenate([np.asarray(one, np.int64) for one in places]), kind="stable")
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        rank = np.split(number, np.cumsum([plan.ranks for plan in plans])[:-1])
        waits = [(np.diff(plan.first) > 0) & (start_s > 0) for plan, start_s in zip(plans, starts_s, strict=True)]
        counts = np.zeros(len(order), np.int64)
        for plan, numbers, waiting in zip(plans, rank, waits, strict=True):
            counts[numbers] = np.diff(plan.first) + waiting
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        stations, station = _stations([plan.stations for plan in plans], rank)
        return cls(
            tuple(rank),
            tuple(
                np.repeat(first[numbers] + waiting - plan.first[:-1], np.diff(plan.first)) + np.arange(len(plan))
                for plan, numbers, waiting in zip(plans, rank, waits, strict=True)
            ),
            station,
            tuple(np.where(waiting, first[numbers], NONE) for numbers, waiting in zip(rank, waits, strict=True)),
            first,
            stations,
        )

    @property
    def operations(self) -> int:
        """N, of all Plans and of the waits for the starts of jobs."""
        return int(self.first[-1])

    def gathered(self, parts: Sequence[NDArray[Any]], default: Any, dtype: DTypeLike) -> NDArray[Any]:
        """(N,) the values of the operations of every Plan, ``default`` for waits for the starts of jobs."""
        every = np.full(self.operations, default, dtype)
        for numbers, values in zip(self.operation, parts, strict=True):
            every[numbers] = values[: len(numbers)]
        return every


def _stations(every: Sequence[Stations], rank: Sequence[Int64s]) -> tuple[Stations, tuple[Int64s, ...]]:
    """All stations by kind and unit, and of each Plan the numbers of its own among them."""
    if any(one.discipline is not None for one in every):
        what = "a job of arrivals whose disks hold a limited number of requests"
        raise InputError(what, allowed="disks of any number of requests if several jobs run")
    units, mailboxes, more = [], 0, sum(map(len, rank))
    for stations, numbers in zip(every, rank, strict=True):
        unit = stations.unit.copy()
        processors, boxes = np.flatnonzero(stations.kind == PROCESSOR), stations.kind == MAILBOX
        further = np.arange(max(len(processors) - len(numbers), 0))
        unit[processors] = np.concatenate([numbers[: len(processors)], more + further])
        unit[boxes] += mailboxes
        mailboxes, more = mailboxes + int(np.count_nonzero(boxes)), more + len(further)
        units.append(unit)
    keys = np.stack(
        [np.concatenate([one.kind.astype(np.int64) for one in every]), np.concatenate([*units, np.zeros(0, np.int64)])]
    )
    _, index, number = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    factors = None
    if any(one.service_factor is not None for one in every):
        own = [np.ones(len(one)) if one.service_factor is None else one.service_factor for one in every]
        factors = np.concatenate(own)[index]
    merged = Stations(
        keys[0][index].astype(np.int8),
        keys[1][index],
        np.concatenate([one.servers for one in every])[index],
        service_factor=factors,
    )
    ends = np.cumsum([len(one) for one in every])
    return merged, tuple(np.split(number.ravel().astype(np.int64), ends[:-1]))


def renumbered(values: NDArray[Any], numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers that these values have now; those below 0 (NONE, ANY) stay as they are."""
    if not len(numbers):
        return values
    here = values >= 0
    return np.where(here, numbers[np.where(here, values, 0)], values)
