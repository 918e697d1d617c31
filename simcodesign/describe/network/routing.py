"""Routes of messages: a class for each routing, with its parameters.

``generate.messages.routing.route_choice`` draws the routes, by the class; ``topology.routing`` has their links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simcodesign.core.errors import InputError, Place
from simcodesign.core.registry import Registry
from simcodesign.describe.keys.forms import Choice, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.network.interfaces import DIRECTION, ROUND_ROBIN
from simcodesign.describe.network.message_models.base import MessageModel
from simcodesign.describe.network.sharing import Fcfs, Sharing
from simcodesign.describe.topology.base import ECMP, MINIMAL, TOPOLOGIES, UGAL, VALIANT, Topology
from simcodesign.describe.topology.routing import mean_hops_through

ENTRY_POINTS = "simcodesign.routings"
#: The queues by which ``ugal`` chooses: those at the next link of both routes, or all along them.
NEXT_LINK, ALONG_ROUTE = QUEUES = ("next_link", "along_route")
#: Messages times links by which the queue of a minimal route may be the longer one.
MOST_THRESHOLD = 1_000_000


@dataclass(frozen=True)
class Routing:
    """A rule by which messages take their routes."""

    #: Name in machine files.
    name: ClassVar[str]
    #: For a data sheet; nothing of the one route of each pair.
    words: ClassVar[str] = ""
    #: A pair of nodes always has the links of ``topology.routes``, which closed forms may count.
    has_fixed_links: ClassVar[bool] = False
    #: Routes may go through a random node, and be as long as two minimal ones.
    goes_through_nodes: ClassVar[bool] = False
    #: Its keys in a mapping, ``routing: {NAME: {...}}``.
    options: ClassVar[tuple[Key, ...]] = ()

    def is_on(self, topology: Topology) -> bool:
        """Whether the topology has such routes."""
        return self.name in topology.routings

    def mean_hops(self, topology: Topology) -> float:
        """Mean hops between different nodes if nothing waits."""
        return topology.mean_hops()

    @property
    def longest(self) -> int:
        """The most links of a route, in diameters of the topology."""
        return 2 if self.goes_through_nodes else 1

    def check(self, model: MessageModel, sharing: Sharing, by_direction: bool, place: Place) -> None:
        """InputError for impossible parameters, and for messages that cannot be routed so.

        ``by_direction``: whether their first link determines the interface by which they leave.
        """
        if self.goes_through_nodes and model.starts_at_every_hop:
            what = f"network.routing: {self.name} does not apply to messages sent again at every hop"
            raise InputError(what, place, value="startup_per: hop", allowed="startup_per: message")


@dataclass(frozen=True)
class Minimal(Routing):
    """The one route of a pair of nodes that the topology gives."""

    name = MINIMAL
    has_fixed_links = True


@dataclass(frozen=True)
class Ecmp(Routing):
    """One of all minimal routes, the same for all messages of a pair of nodes."""

    name = ECMP
    words = ", by any minimal route"


@dataclass(frozen=True)
class Valiant(Routing):
    """Minimally to a random node, and from there to the target."""

    name = VALIANT
    words = ", through random nodes"
    goes_through_nodes = True

    def mean_hops(self, topology: Topology) -> float:
        """Over both ways."""
        return mean_hops_through(topology)


@dataclass(frozen=True)
class Ugal(Routing):
    """The minimal route, unless its queues exceed those of a route through a random node by a ``threshold``.

    The queue at its next link, times the links of the route, or all ``queues`` along it together.
    """

    name = UGAL
    words = ", or through random nodes if busy"
    goes_through_nodes = True
    options = (
        Key("threshold", Whole(0, MOST_THRESHOLD), "how much longer the minimal way's queue must be", "0"),
        Key("queues", Choice(QUEUES), "by which queues: at the next link, or along the whole route", NEXT_LINK),
    )

    threshold: int = 0
    queues: str = NEXT_LINK

    def check(self, model: MessageModel, sharing: Sharing, by_direction: bool, place: Place) -> None:
        """Raise InputError unless messages queue for links one after another.

        The interface must not depend on the route.
        """
        super().check(model, sharing, by_direction, place)
        if self.queues not in QUEUES:
            what = "the queues by which ugal chooses, network.routing.ugal.queues"
            raise InputError(what, place, value=self.queues, allowed=", ".join(QUEUES))
        if not 0 <= self.threshold <= MOST_THRESHOLD:
            what = "network.routing.ugal.threshold"
            raise InputError(what, place, value=self.threshold, allowed=f"0 to {MOST_THRESHOLD:,}")
        if not (sharing.has_whole_messages and model.bytes_follow_startup):
            what = "network.routing: ugal is for messages of Hockney's model that queue for links one after another"
            given = f"model: {model.name}, sharing: {sharing.name}"
            allowed = f"valiant or ecmp; or model: hockney, sharing: {Fcfs.name}"
            raise InputError(what, place, value=given, allowed=allowed)
        if by_direction:
            what = "network.routing: ugal chooses among routes by one and the same interface"
            raise InputError(what, place, value=f"assignment: {DIRECTION}", allowed=f"assignment: {ROUND_ROBIN}")


#: The routings that there are, by name.
ROUTINGS: Registry[str, type[Routing]] = Registry("routing", __name__, ENTRY_POINTS)
for _routing in (Minimal, Ecmp, Valiant, Ugal):
    ROUTINGS.add(_routing.name, _routing)


def check_is_on(routing: Routing, topology: Topology, place: Place) -> None:
    """InputError for a routing that the topology has not."""
    if not routing.is_on(topology):
        kinds = ", ".join(name for name, kind in TOPOLOGIES.items() if routing.name in kind.routings)
        others = ", ".join(name for name, other in ROUTINGS.items() if other().is_on(topology))
        what = f"network.routing: {routing.name} has no routes on a {topology.kind}"
        raise InputError(what, place, allowed=f"{others}; or one of {kinds}" if kinds else others)
