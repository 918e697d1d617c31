"""Graphs of ranks."""

from __future__ import annotations

from typing import Any

from simcodesign.mpi.communicators.topology_creation import DIST_GRAPH, GRAPH, kind
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.topologies.neighbours import Topocomm
from simcodesign.mpi.values.errors import MpiError

Weights = tuple[list[int], list[int]]


@kind
class Graphcomm(Topocomm):
    """A graph that all ranks know: rank r's neighbours are ``edges[index[r - 1] : index[r]]``."""

    copied_with = "index"

    def __init__(self, world: Any, number: int, members: tuple[int, ...], index: list[int], edges: list[int]) -> None:
        super().__init__(world, number, members)
        self.index, self.edges = index, edges

    def Get_topology(self) -> int:
        """Return MPI.GRAPH."""
        return GRAPH

    def Get_dims(self) -> tuple[int, int]:
        """Return how many ranks and edges there are."""
        return len(self.index), len(self.edges)

    def Get_topo(self) -> tuple[list[int], list[int]]:
        """Return the end of each rank's neighbours among all, and these."""
        return self.index, self.edges

    def Get_neighbors(self, rank: int) -> list[int]:
        """Return the neighbours of a rank."""
        if not 0 <= rank < self.size:
            raise MpiError(
                "this rank is not in the graph", place_of_call(), value=rank, allowed=f"0 to {self.size - 1}"
            )
        return self.edges[self.index[rank - 1] if rank else 0 : self.index[rank]]

    def Get_neighbors_count(self, rank: int) -> int:
        """Return how many neighbours a rank has."""
        return len(self.Get_neighbors(rank))

    dims, topo = property(Get_dims), property(Get_topo)
    nnodes = property(lambda self: len(self.index))
    nedges = property(lambda self: len(self.edges))
    neighbors = property(lambda self: self.Get_neighbors(self.rank))
    nneighbors = property(lambda self: self.Get_neighbors_count(self.rank))

    @property
    def inoutedges(self) -> tuple[list[int], list[int]]:
        """From which ranks this one receives, and to which it sends."""
        own = self.Get_neighbors(self.rank)
        return own, list(own)


@kind
class Distgraphcomm(Topocomm):
    """A graph of which each rank has its own neighbours."""

    copied_with = "_edges"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._edges: dict[int, tuple[list[int], list[int], Weights | None]] = {}

    def set_neighbours(self, sources: list[int], destinations: list[int], weights: Weights | None) -> None:
        """Keep the neighbours of the rank whose turn it is."""
        self._edges[self.rank] = sources, destinations, weights

    def Get_topology(self) -> int:
        """Return MPI.DIST_GRAPH."""
        return DIST_GRAPH

    def Get_dist_neighbors(self) -> tuple[list[int], list[int], Weights | None]:
        """Return sources, destinations and their weights; None without weights."""
        return self._edges[self.rank]

    def Get_dist_neighbors_count(self) -> tuple[int, int, bool]:
        """Return how many sources and destinations there are, and whether they have weights."""
        sources, destinations, weights = self._edges[self.rank]
        return len(sources), len(destinations), weights is not None

    @property
    def inoutedges(self) -> tuple[list[int], list[int]]:
        """From which ranks this one receives, and to which it sends."""
        return self._edges[self.rank][:2]
