"""Open streams of requests: they arrive at disks, or are messages, whether those before them are served or not.

A program of such streams has no other steps. It is a station studied alone: Poisson arrivals at a disk make it an
M/G/c queue, ``capacity`` one with losses, ``next`` a Jackson network; messages to everywhere load the links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import Expression
from simcodesign.describe.demands.base import NETWORK, Demand, kind_in_words
from simcodesign.describe.randomness.distribution import Distribution

DISK = "disk"
#: Where requests may go, and what they may do at a disk.
TARGETS, KINDS = (DISK, NETWORK), ("read", "write")
#: Phases in which the time between the arrivals, and the time of the requests, is booked.
BETWEEN, REQUESTS = "between arrivals", "requests"
POISSON = Distribution("exponential")
#: Remainder of the chances to continue below which it is rounding.
NO_SHARE = 1e-12
#: Keys that belong to one target alone.
_OF = {"kind": DISK, "capacity": DISK, "next": DISK, "destination": NETWORK}


@dataclass(frozen=True)
class Arrivals(Demand):
    """Requests that every rank sends, ``requests`` of ``bytes``, ``rate`` of them per second.

    To the disk of its node or, as messages, to other ranks.

    ``between``: the distribution of the times between arrivals, from time 0 on. ``varies``: of a request at a disk, the
    factor of its service; of a message, the factor of its size. ``capacity``: most requests at a disk, those in service
    included; it blocks the others. ``next``: a request that is served at the disk of rank i continues to the disk of
    rank j with the probability in row i, column j (and is then one of rank j's), or else leaves. ``destination``: the
    rank of a message, by the rank of its source; None for any other rank, each as likely.

    Raises InputError for what does not go together.
    """

    to: str
    rate: Expression
    requests: Expression
    bytes: Expression
    between: Distribution = POISSON
    varies: Distribution | None = None
    kind: str = KINDS[0]
    capacity: Expression | None = None
    next: tuple[tuple[Expression, ...], ...] = ()
    destination: Expression | None = None

    def __post_init__(self) -> None:
        if self.to not in TARGETS:
            raise InputError("arrivals to", self.place, value=self.to, allowed=", ".join(TARGETS))
        if self.kind not in KINDS:
            raise InputError("kind of arrivals", self.place, value=self.kind, allowed=", ".join(KINDS))
        for name, target in _OF.items():
            default = getattr(type(self), name)
            if target != self.to and getattr(self, name) != default:
                raise InputError(f"{name} belongs to arrivals to the {target}", self.place)
        if any(len(row) != len(self.next) for row in self.next):
            allowed, widths = "as many columns as rows, one for each rank", [len(row) for row in self.next]
            raise InputError("next must be a square table", self.place, value=widths, allowed=allowed)
        if self.next and self.capacity is not None:
            what = "requests that continue to a next disk cannot be blocked there"
            raise InputError(what, self.place, allowed="capacity or next")
        for same in (
            *([] if self.capacity is None else [self.capacity]),
            *(share for row in self.next for share in row),
        ):
            if "rank" in same.names:
                raise InputError("this is the same for every rank: 'rank' cannot be used", same.place or self.place)

    @property
    def parts(self) -> frozenset[str]:
        return frozenset({self.to})

    @property
    def chance(self) -> bool:
        """Whether anything of it is random, noise apart."""
        uniform = self.to == NETWORK and self.destination is None
        return not self.between.constant or uniform or bool(self.next)

    def check_next(self, shares: NDArray[np.float64], ranks: int) -> None:
        """Raise InputError unless ``shares``, the values (..., P, P) of ``next``, are chances.

        With a row for every rank; every request must leave some time.
        """
        rows = shares.shape[-1]
        if rows != ranks:
            raise InputError("rows of next", self.place, value=rows, allowed=f"P = {ranks} of them")
        total = shares.sum(axis=-1)
        if np.any(total > 1 + NO_SHARE):
            row = int(np.argmax(total.reshape(-1, rows).max(axis=0)))
            raise InputError(f"row {row} of next adds up to more than 1", self.place, value=float(total.max()))
        leaves = total < 1 - NO_SHARE
        for _ in range(rows):  # a request that can reach a disk from which requests leave can leave
            leaves = leaves | np.any((shares > 0) & leaves[..., None, :], axis=-1)
        if not leaves.all():
            row = int(np.argmin(leaves.reshape(-1, rows).all(axis=0)))
            what = f"requests never leave the disk of rank {row}"
            raise InputError(what, self.place, allowed="a way out of next: rows that add up to less than 1")

    def amounts(self) -> Iterator[Expression]:
        yield from (self.rate, self.requests, self.bytes)
        yield from (part for part in (self.capacity, self.destination) if part is not None)
        for row in self.next:
            yield from row


def check_alone(program: Iterable[object], imbalance: bool, place: Place) -> bool:
    """Whether a program is of arrivals. InputError if it is of something else, too."""
    steps = list(program)
    streams = [step for step in steps if isinstance(step, Arrivals)]
    if not streams:
        return False
    others = [step for step in steps if not isinstance(step, Arrivals)]
    if others:
        where = getattr(others[0], "place", place)
        what = "a program of arrivals has no other steps"
        raise InputError(what, where, value=kind_in_words(type(others[0])), allowed="arrivals alone, in no block")
    if imbalance:
        raise InputError("imbalance is of computations, which a program of arrivals has not", place)
    return True
