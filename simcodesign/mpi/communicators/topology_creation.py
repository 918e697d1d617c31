"""How a program makes communicators whose ranks have neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from math import prod
from typing import Any, TypeVar

from simcodesign.mpi.communicators.splitting import Splitting
from simcodesign.mpi.objects.info import INFO_NULL, Info
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import mpi_call
from simcodesign.mpi.values.constants import UNDEFINED
from simcodesign.mpi.values.errors import MpiError

Kind = TypeVar("Kind", bound=type[Any])
#: Values of Get_topology, as in Open MPI.
CART, GRAPH, DIST_GRAPH = 1, 2, 3
#: In place of weights.
UNWEIGHTED, WEIGHTS_EMPTY = 2, 3
#: The classes of communicators with neighbours, which are communicators themselves, by name.
_KINDS: dict[str, type[Any]] = {}


def kind(made: Kind) -> Kind:
    """Make a class of communicators known to those that it is made from."""
    _KINDS[made.__name__] = made
    return made


class TopologyCreation(Splitting):
    """The part of communicators that makes others, whose ranks have neighbours."""

    def Get_topology(self) -> int:
        """Return MPI.CART, MPI.GRAPH, MPI.DIST_GRAPH or MPI.UNDEFINED."""
        self.check()
        return UNDEFINED

    topology = property(lambda self: self.Get_topology())
    is_topo = property(lambda self: self.Get_topology() != UNDEFINED)

    def _with_neighbours(self, name: str, is_member: bool, *more: Any) -> Any:
        found = self._split(0 if is_member else UNDEFINED, self.rank)
        return self._made(_KINDS[name], found, *more)

    @mpi_call
    def Create_cart(
        self, dims: Sequence[int], periods: Sequence[bool] | bool | None = None, reorder: bool = False
    ) -> Any:
        """Return the communicator of a grid of ranks, the last dimension the fastest; COMM_NULL for ranks outside."""
        shape, around = self._grid(dims, periods)
        return self._with_neighbours("Cartcomm", self.rank < prod(shape), shape, around)

    def _grid(
        self, dims: Sequence[int], periods: Sequence[bool] | bool | None
    ) -> tuple[tuple[int, ...], tuple[bool, ...]]:
        """Return dimensions, and which of them are rings. Raises MpiError for more ranks than there are."""
        shape = tuple(int(one) for one in dims)
        is_one = periods is None or isinstance(periods, bool)
        around = (bool(periods),) * len(shape) if is_one else tuple(map(bool, periods))  # type: ignore[arg-type]
        if prod(shape) > self.size or min(shape, default=1) < 1 or len(around) != len(shape):
            allowed = f"1 or more each, up to {self.size} ranks in all, and one period for each dimension"
            raise MpiError("a grid cannot have these dimensions", place_of_call(), value=list(dims), allowed=allowed)
        return shape, around

    def Cart_map(self, dims: Sequence[int], periods: Sequence[bool] | bool | None = None) -> int:
        """Return the rank that this rank would have in a grid; UNDEFINED outside of it."""
        rank = int(self.rank)
        return rank if rank < prod(self._grid(dims, periods)[0]) else UNDEFINED

    @mpi_call
    def Create_graph(self, index: Sequence[int], edges: Sequence[int], reorder: bool = False) -> Any:
        """Return the communicator of a graph: rank r's neighbours are ``edges[index[r - 1] : index[r]]``.

        ``index`` may begin with a 0, as in mpi4py.
        """
        ends, neighbours = self._graph(index, edges)
        return self._with_neighbours("Graphcomm", self.rank < len(ends), ends, neighbours)

    def _graph(self, index: Sequence[int], edges: Sequence[int]) -> tuple[list[int], list[int]]:
        ends, neighbours = [int(one) for one in index], [int(one) for one in edges]
        if ends and ends[0] == 0 and ends[-1] == len(neighbours):
            del ends[0]
        if len(ends) > self.size or any(end < begin for begin, end in pairwise([0, *ends])):
            allowed = f"rising numbers of up to {self.size} ranks"
            raise MpiError(
                "the index of a graph does not rise from rank to rank", place_of_call(), value=ends, allowed=allowed
            )
        if ends and len(neighbours) < ends[-1]:
            what = "a graph has fewer edges than its index states"
            raise MpiError(what, place_of_call(), value=len(neighbours), allowed=f"{ends[-1]}")
        _check_neighbours(neighbours, len(ends))
        return ends, neighbours[: ends[-1] if ends else 0]

    def Graph_map(self, index: Sequence[int], edges: Sequence[int]) -> int:
        """Return the rank that this rank would have in a graph; UNDEFINED outside of it."""
        rank = int(self.rank)
        return rank if rank < len(self._graph(index, edges)[0]) else UNDEFINED

    @mpi_call
    def Create_dist_graph_adjacent(
        self,
        sources: Sequence[int],
        destinations: Sequence[int],
        sourceweights: Any = None,
        destweights: Any = None,
        info: Info = INFO_NULL,
        reorder: bool = False,
    ) -> Any:
        """Return the communicator of a graph of which each rank gives its own neighbours."""
        incoming, outgoing = [int(one) for one in sources or ()], [int(one) for one in destinations or ()]
        _check_neighbours(incoming + outgoing, self.size)
        weights = _weights(sourceweights, len(incoming)), _weights(destweights, len(outgoing))
        made = self._with_neighbours("Distgraphcomm", True)
        made.set_neighbours(incoming, outgoing, None if None in weights else weights)
        return made

    @mpi_call
    def Create_dist_graph(
        self,
        sources: Sequence[int],
        degrees: Sequence[int],
        destinations: Sequence[int],
        weights: Any = None,
        info: Info = INFO_NULL,
        reorder: bool = False,
    ) -> Any:
        """Return the communicator of a graph of which each rank gives any edges: ``degrees[i]`` from ``sources[i]``."""
        starts = [int(source) for source, count in zip(sources, degrees, strict=True) for _ in range(count)]
        ends = [int(one) for one in destinations]
        if len(starts) != len(ends):
            what = "the number of destinations differs from the sum of the degrees"
            raise MpiError(what, place_of_call(), value=len(ends), allowed=f"{len(starts)}")
        _check_neighbours(starts + ends, self.size)
        own = _weights(weights, len(ends))
        given = [(*edge, 1 if own is None else own[n]) for n, edge in enumerate(zip(starts, ends, strict=True))]
        edges = self._together("dist_graph", given, 0, lambda all_: [[*chain(*all_)]] * len(all_), record=False)
        incoming = [(start, weight) for start, end, weight in edges if end == self.rank]
        outgoing = [(end, weight) for start, end, weight in edges if start == self.rank]
        both = [weight for _, weight in incoming], [weight for _, weight in outgoing]
        made = self._with_neighbours("Distgraphcomm", True)
        made.set_neighbours([one for one, _ in incoming], [one for one, _ in outgoing], None if own is None else both)
        return made


def _check_neighbours(ranks: Sequence[int], size: int) -> None:
    wrong = [rank for rank in ranks if not 0 <= rank < size]
    if wrong:
        raise MpiError(
            "a neighbour in a graph is not a rank of it", place_of_call(), value=wrong[0], allowed=f"0 to {size - 1}"
        )


def _weights(given: Any, count: int) -> list[int] | None:
    """Return a weight of each edge; None if there are none."""
    if given is None or (isinstance(given, int) and given == UNWEIGHTED):
        return None
    weights = [] if isinstance(given, int) else [int(one) for one in given]
    if len(weights) != count:
        what = "a graph needs one weight for each edge"
        raise MpiError(what, place_of_call(), value=len(weights), allowed=f"{count}")
    return weights
