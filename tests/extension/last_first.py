"""A routing of another package: on a mesh or torus of two dimensions, the last dimension first (YX routing, where the
package routes XY)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.network.routing import ROUTINGS, Routing
from simcodesign.describe.topology.base import Routes, Topology
from simcodesign.describe.topology.grid import GridTopology
from simcodesign.describe.topology.routing import routes_through
from simcodesign.generate.messages.routing.route_choice import ROUTE_CHOICES, RouteChoice

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class LastFirst(Routing):
    """Along the last dimension, then along the first."""

    name = "last_first"
    words = ", the last dimension first"

    def is_on(self, topology: Topology) -> bool:
        return isinstance(topology, GridTopology) and len(topology.shape) == 2


class LastFirstChoice(RouteChoice):
    """Routes by way of the corner in the row of the source and the column of the target: they have as many links."""

    def routes(self, source: Int64s, target: Int64s, through: Int64s | None = None) -> Routes:
        topology = self._network.topology
        assert isinstance(topology, GridTopology)
        columns = topology.shape[1]
        return routes_through(topology, source, target, source // columns * columns + target % columns)


def register() -> None:
    """Add it to the registries, as its package does when it is imported."""
    ROUTINGS.add(LastFirst.name, LastFirst)
    ROUTE_CHOICES.add(LastFirst, LastFirstChoice)


def take_back() -> None:
    """Remove it from them."""
    ROUTINGS.remove(LastFirst.name)
    ROUTE_CHOICES.remove(LastFirst)
