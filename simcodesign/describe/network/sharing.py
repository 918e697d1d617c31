"""How links and interfaces are shared: a class for each rule, with its parameters.

``generate.messages.sharing`` defines how messages wait by each rule, found by its class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.registry import Registry
from simcodesign.core.units import format_quantity
from simcodesign.describe.keys.forms import Choice, Quantity
from simcodesign.describe.keys.key import Key
from simcodesign.describe.network.message_models.base import MessageModel

ENTRY_POINTS = "simcodesign.sharing_rules"
#: The shares of messages at a time: all equal, or in proportion to 1 / latency of the route.
EQUAL, BY_LATENCY = SHARES = ("equal", "by_latency")
#: Bytes of a packet, unless a machine gives another size.
PACKET_BYTES = 4096.0


@dataclass(frozen=True)
class Sharing(ABC):
    """A rule by which messages share links and interfaces."""

    #: Name in machine files.
    name: ClassVar[str]
    #: A message has a link to itself until all of it, or of a packet, has passed.
    has_whole_messages: ClassVar[bool] = False
    #: Its key in a mapping, ``sharing: {NAME: ...}``; None if there is nothing to choose.
    option: ClassVar[Key | None] = None

    @property
    def last(self) -> str | None:
        """Part of a message that has passed when its sender is released; None if no other message holds it."""
        return None

    @property
    def stored_bytes(self) -> float:
        """Maximum number of bytes of a message that a node stores before they continue.

        Infinite for a whole message.
        """
        return np.inf

    @property
    def has_equal_shares(self) -> bool:
        """Whether concurrent messages on a link have the same rate there."""
        return False

    @property
    def is_by_flows(self) -> bool:
        """Whether messages occupy all stations of their routes simultaneously."""
        return False

    @property
    @abstractmethod
    def words(self) -> str:
        """For a table of assumptions."""

    @property
    @abstractmethod
    def sheet_words(self) -> str:
        """For a data sheet."""

    def check(self, model: MessageModel, is_stored: bool, is_as_fast: bool, place: Place) -> None:  # noqa: B027
        """InputError for impossible parameters.

        ``is_stored``: whether links store messages; ``is_as_fast``: whether all of them pass bytes as fast as messages
        of ``model`` go.
        """


@dataclass(frozen=True)
class Fcfs(Sharing):
    """One message after another, in the order in which they come."""

    name = "fcfs"
    has_whole_messages = True

    @property
    def words(self) -> str:
        return "first come, first served"

    @property
    def sheet_words(self) -> str:
        return "first come, first served, by whole messages"


@dataclass(frozen=True)
class MaxMin(Sharing):
    """All concurrently, with max-min fair ``shares``: equal ones, or in proportion to 1 / latency of the route.

    A message that holds its sender while its bytes leave does so until its last byte has passed.
    """

    name = "max_min"
    option = Key(
        name, Choice(SHARES), "shares are equal, or in proportion to 1 / latency of the route", EQUAL, field="shares"
    )

    shares: str = EQUAL

    @property
    def last(self) -> str | None:
        return "byte"

    @property
    def has_equal_shares(self) -> bool:
        return self.shares == EQUAL

    @property
    def is_by_flows(self) -> bool:
        return True

    @property
    def words(self) -> str:
        return "fair shares" if self.has_equal_shares else "fair shares by latency"

    @property
    def sheet_words(self) -> str:
        shares = "max-min shares" if self.has_equal_shares else "shares in proportion to 1 / latency"
        return f"fairly, by all messages concurrently ({shares})"

    def check(self, model: MessageModel, is_stored: bool, is_as_fast: bool, place: Place) -> None:
        """InputError for unknown shares, and links that store whole messages."""
        if self.shares not in SHARES:
            raise InputError("shares of links, network.shares", place, value=self.shares, allowed=", ".join(SHARES))
        if is_stored:
            what = f"network.sharing: {self.name} is for messages that occupy all links of their route simultaneously"
            raise InputError(what, place, value="switching: store_and_forward", allowed="switching: cut_through")


@dataclass(frozen=True)
class RoundRobin(Sharing):
    """Packets of ``packet_bytes``, round robin among messages.

    A message that holds its sender while its bytes leave does so until its last packet has passed; links that store
    anything store packets.
    """

    name = "round_robin"
    option = Key(name, Quantity("size"), "bytes of a packet", "4096 B", "above 0", field="packet_bytes")

    packet_bytes: float = PACKET_BYTES

    @property
    def last(self) -> str | None:
        return "packet"

    @property
    def stored_bytes(self) -> float:
        return self.packet_bytes

    @property
    def words(self) -> str:
        return f"round robin by packets of {format_quantity(self.packet_bytes, 'size')}"

    @property
    def sheet_words(self) -> str:
        return f"round robin, by packets of {format_quantity(self.packet_bytes, 'size')}"

    def check(self, model: MessageModel, is_stored: bool, is_as_fast: bool, place: Place) -> None:
        """Raise InputError for packets that cannot be simulated.

        Messages that do not go in packets, packets of no size, and packets that are stored by links that are not all as
        fast as messages.
        """
        if not model.bytes_follow_startup:
            what = f"network.sharing: {self.name} is for messages of Hockney's model"
            allowed = f"model: hockney, or sharing: {Fcfs.name}"
            raise InputError(what, place, value=f"model: {model.name}", allowed=allowed)
        if not 1 <= self.packet_bytes < np.inf:
            what = f"the size of a packet, network.sharing.{self.name}"
            raise InputError(what, place, value=self.packet_bytes, allowed="1 B or more")
        if is_stored and not is_as_fast:
            what = "packets are stored only by links that are all as fast as messages"
            raise InputError(what, place, value="switching: store_and_forward", allowed="switching: cut_through")


#: The rules that there are, by name.
SHARINGS: Registry[str, type[Sharing]] = Registry("sharing rule", __name__, ENTRY_POINTS)
for _rule in (Fcfs, MaxMin, RoundRobin):
    SHARINGS.add(_rule.name, _rule)
