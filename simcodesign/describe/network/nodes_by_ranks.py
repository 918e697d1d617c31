"""``nodes: P``: a machine that has as many nodes as the ranks need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.topology.base import MAX_HOSTS, TOPOLOGIES, Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.topology.grid import GridTopology

#: Its notation in a machine file.
AS_RANKS = "P"
#: Numbers of nodes that are tried on either side for the nearest one that a kind of network has.
_TRIED = 4096


@dataclass(frozen=True)
class NodesByRanks:
    """The ``kind`` and ``options`` (keywords of ``build_topology``) of a network of any number of nodes.

    ``shared_disk``: whether one disk is shared by all of these nodes. InputError for a graph, which
    has the nodes that it has, and for a grid whose shape is given.
    """

    kind: str
    options: Mapping[str, Any]
    shared_disk: bool = False
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        kind = TOPOLOGIES[self.kind]
        if "graph" in self.options:
            raise InputError("a graph has nodes of its own: nodes", self.place, value=AS_RANKS, allowed="a number")
        shape = self.options.get("shape")
        if shape is not None and issubclass(kind, GridTopology):
            what = f"the shape of a {self.kind} whose nodes are as many as the ranks need"
            allowed = f"dims: {len(shape)} in its place, for the most even shape of each number of nodes"
            raise InputError(what, self.place, value=list(shape), allowed=allowed)

    def topology(self, nodes: int) -> Topology:
        """Return the network of ``nodes`` nodes. InputError if there is none, with the nearest possible numbers."""
        try:
            return build_topology(self.kind, nodes, place=self.place, **self.options)
        except InputError as error:
            near = [self._first(range(nodes - 1, 0, -1)), self._first(range(nodes + 1, MAX_HOSTS))]
            counts = " or ".join(f"{count:,}" for count in near if count is not None)
            if not counts:
                raise
            what = f"no {self.kind} has the nodes that the ranks need ({error.what})"
            raise InputError(what, self.place, value=nodes, allowed=f"{counts} nodes") from None

    def smallest(self) -> Topology:
        """Return the smallest network of this kind, instead of the one whose size is not known yet.

        InputError if there is none of up to some thousands of nodes.
        """
        return build_topology(self.kind, self._first(range(1, MAX_HOSTS)) or 1, place=self.place, **self.options)

    def _first(self, counts: Iterable[int]) -> int | None:
        """Return the first of some of these numbers of nodes that such a network has."""
        return next((count for count in islice(counts, _TRIED) if self._exists(count)), None)

    def _exists(self, nodes: int) -> bool:
        try:
            build_topology(self.kind, nodes, **self.options)
        except InputError:
            return False
        return True
