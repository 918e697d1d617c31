"""How the groups of a dragonfly are joined: which port of a group leads to which other group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.keys.forms import Choice
from simcodesign.describe.keys.key import Key
from simcodesign.describe.topology.link_loads import IntArray

CONSECUTIVE, PALMTREE = "consecutive", "palmtree"
ARRANGEMENTS = (CONSECUTIVE, PALMTREE)
ARRANGEMENT = Key("arrangement", Choice(ARRANGEMENTS), "which port of a group leads where", CONSECUTIVE)
#: Ports of a group for links to other groups, at most: cables between two groups are looked at one by one.
MOST_PORTS = 2**14


@dataclass(frozen=True)
class GlobalLinks:
    """Cables between ``groups`` groups, each with ``ports`` ports for them.

    ``per_router`` on its first router, as many on the next one, and so on.

    Every two groups are joined by ports // (groups - 1) cables; ports that are left over stay empty. The first
    groups - 1 ports of a group lead to one other group each, so do the next ones, and so on. In each of these rounds:

    * consecutive: port k of group i leads to group k, or to group k + 1 from k = i on (called absolute by E. Hastings
      et al., "Comparing global link arrangements for Dragonfly networks", CLUSTER 2015);
    * palmtree: port k of group i leads to group (i - k - 1) mod groups (C. Camarero, E. Vallejo, R. Beivide,
      "Topological characterization of Hamming and Dragonfly networks and its implications on routing", ACM TACO 11,
      2014).
    """

    groups: int
    ports: int
    per_router: int
    arrangement: str = CONSECUTIVE

    @property
    def cables_per_pair(self) -> int:
        """Cables that join two groups."""
        return self.ports // (self.groups - 1) if self.groups > 1 else 0

    @property
    def link_count(self) -> int:
        """Directed links."""
        return self.groups * (self.groups - 1) * self.cables_per_pair

    def place(self, group: IntArray, other: IntArray) -> IntArray:
        """Which port of a round, 0 to groups - 2, leads from a group to another one."""
        if self.arrangement == PALMTREE:
            return (group - other - 1) % self.groups
        return other - (other > group)

    def router(self, group: IntArray, other: IntArray, cable: IntArray | int) -> IntArray:
        """Return the router, within its group, to which that cable to another group is plugged."""
        return (cable * (self.groups - 1) + self.place(group, other)) // self.per_router

    def link(self, group: IntArray, other: IntArray, cable: IntArray) -> IntArray:
        """Return the number of the link that leads from a group to another one over a cable of theirs."""
        return (group * (self.groups - 1) + self.place(group, other)) * self.cables_per_pair + cable

    def ends(self, link: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the group at the begin of a link, the group at its end, and which of their cables it is."""
        rest, cable = np.divmod(link, max(1, self.cables_per_pair))
        group, place = np.divmod(rest, max(1, self.groups - 1))
        if self.arrangement == PALMTREE:
            return group, (group - place - 1) % self.groups, cable
        return group, place + (place >= group), cable


def check_global_links(groups: int, ports: int, arrangement: object, place: Place | None) -> None:
    """InputError if ``ports`` ports of a group do not reach all others, and for an unknown arrangement."""
    if ports > MOST_PORTS:
        what = "ports of a group for links to other groups"
        raise InputError(what, place, value=ports, allowed=f"up to {MOST_PORTS:,}")
    if arrangement not in ARRANGEMENTS:
        raise InputError("arrangement of global links", place, value=arrangement, allowed=" or ".join(ARRANGEMENTS))
    if groups > ports + 1:
        what = f"{groups} groups, each with {ports} global links"
        raise InputError(what, place, value=groups, allowed=f"at most {ports + 1} groups")
