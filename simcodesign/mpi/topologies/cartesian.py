"""Cartesian grids of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from simcodesign.mpi.communicators.topology_creation import CART, kind
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import mpi_call
from simcodesign.mpi.topologies.neighbours import Topocomm
from simcodesign.mpi.values.constants import PROC_NULL
from simcodesign.mpi.values.errors import MpiError


@kind
class Cartcomm(Topocomm):
    """A grid of ranks."""

    copied_with = "_dims"

    def __init__(self, world: Any, number: int, members: tuple[int, ...], dims: tuple[int, ...], periods: Any) -> None:
        super().__init__(world, number, members)
        self._dims, self._periods = dims, periods

    def Get_topology(self) -> int:
        """Return MPI.CART."""
        return CART

    @property
    def inoutedges(self) -> tuple[list[int], list[int]]:
        """The ranks before and after this one along each dimension; PROC_NULL outside of the grid."""
        both = [rank for direction in range(self.ndim) for rank in self.Shift(direction, 1)]
        return both, list(both)

    def _tags(self) -> tuple[list[int], list[int]]:
        """Return tags by which what is sent to the rank before is received from the rank after (MPI 4.1, 8.6)."""
        edges = range(2 * self.ndim)
        return [edge ^ 1 for edge in edges], list(edges)

    @property
    def dims(self) -> list[int]:
        """Ranks along each dimension."""
        return list(self._dims)

    @property
    def periods(self) -> list[int]:
        """Which dimensions are closed to a ring."""
        return [int(one) for one in self._periods]

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self._dims)

    @property
    def coords(self) -> list[int]:
        """The place of the rank whose turn it is."""
        return self.Get_coords(self.rank)

    @property
    def topo(self) -> tuple[list[int], list[int], list[int]]:
        """Dimensions, which of them are rings, and the place of the rank whose turn it is."""
        return self.dims, self.periods, self.coords

    dim = property(lambda self: self.ndim)

    def Get_dim(self) -> int:
        """Return how many dimensions there are."""
        return self.ndim

    def Get_topo(self) -> tuple[list[int], list[int], list[int]]:
        """Return ``topo``."""
        return self.topo

    def Get_coords(self, rank: int) -> list[int]:
        """Return the place of a rank."""
        return [int(one) for one in np.unravel_index(rank, self._dims)]

    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """Return the rank at a place; rings go around. Raises MpiError for a place outside."""
        rank = 0
        for at, length, ring in zip(coords, self._dims, self._periods, strict=True):
            if not ring and not 0 <= at < length:
                what = "these coordinates are outside the grid"
                raise MpiError(what, place_of_call(), value=list(coords), allowed=f"within {self.dims}")
            rank = rank * length + at % length
        return int(rank)

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """Return the ranks ``disp`` before and after this one along a dimension; PROC_NULL outside of the grid."""

        def at(step: int) -> int:
            place = self.coords
            place[direction] += step
            if not self._periods[direction] and not 0 <= place[direction] < self._dims[direction]:
                return PROC_NULL
            return self.Get_cart_rank(place)

        return at(-disp), at(disp)

    @mpi_call
    def Sub(self, remain_dims: Sequence[bool]) -> Cartcomm:
        """Return the grid of the ranks that differ from this one only along the dimensions that remain."""
        kept = [bool(one) for one in remain_dims]
        others = [at for at, keep in zip(self.coords, kept, strict=True) if not keep]
        lengths = [length for length, keep in zip(self._dims, kept, strict=True) if not keep]
        found = self._split(int(np.ravel_multi_index(others, lengths)) if others else 0, self.rank)
        assert found is not None
        dims = tuple(length for length, keep in zip(self._dims, kept, strict=True) if keep)
        periods = tuple(ring for ring, keep in zip(self._periods, kept, strict=True) if keep)
        made: Cartcomm = self._made(Cartcomm, found, dims, periods)
        return made


def compute_dims(nnodes: int, dims: int | Sequence[int]) -> list[int]:
    """Return a grid of ``nnodes`` ranks as square as its prime factors allow, longest first; dimensions given stay.

    MPI_Dims_create. Raises MpiError if those given do not divide the ranks.
    """
    given = [0] * dims if isinstance(dims, int) else [int(one) for one in dims]
    fixed = prod(one for one in given if one)
    if nnodes % fixed:
        what = "the given dimensions do not divide the number of nodes"
        raise MpiError(what, place_of_call(), value=given, allowed=f"divisors of {nnodes}")
    left, free = nnodes // fixed, [1] * given.count(0)
    factors, divisor = [], 2
    while left > 1:
        while left % divisor == 0:
            factors.append(divisor)
            left //= divisor
        divisor += 1
    for factor in reversed(factors):
        free[free.index(min(free))] *= factor
    ordered = iter(sorted(free, reverse=True))
    return [one or next(ordered) for one in given]
