"""Interface of all models of messages for the pricing of operations, and their registry.

The hops of a message are either given by the machine's distance law (none, one, log2 P, sqrt P) or, with the effect
``hops``, counted on its own route; ``way`` holds these links. Links that are slower than messages (only links
of their own can be) hold a sender as long as the bytes pass them if hops hold the sender, and delay the arrival alone
if they do not.

A train of k messages is one transfer whose sender pays for each of them; ``size_bytes``: of one message. Its
first byte enters the network after one startup, its last byte follows as the sender hands the messages over. Trains are
for models that ``goes_in_trains`` (``take_trains``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from simcodesign.core.registry import Registry
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.network import Network
from simcodesign.generate.messages.way import Way

ENTRY_POINTS = "simcodesign.simulated_messages"


class SimulatedMessages(ABC):
    """The seconds that messages of a model cost their senders, their receivers and the stations they pass.

    Sizes, trains and routes are for one message or for many together (arrays); a network is the network of the phase.
    """

    @abstractmethod
    def send_s(self, network: Network, way: Way, size_bytes: FloatOrArray, train: FloatOrArray = 1) -> FloatOrArray:
        """Time for which messages occupy their sender."""

    @abstractmethod
    def receive_s(self, network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
        """Time for which a message occupies its receiver."""

    @abstractmethod
    def arrival_s(self, network: Network, way: Way, size_bytes: FloatOrArray, train: FloatOrArray = 1) -> FloatOrArray:
        """From the beginning of a send to the arrival, alone on the network."""

    @abstractmethod
    def inject_s(self, network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
        """Before the first byte enters the network."""

    @abstractmethod
    def tail_s(
        self,
        network: Network,
        way: Way,
        size_bytes: FloatOrArray,
        train: FloatOrArray = 1,
        again_s: FloatOrArray = 0.0,
    ) -> FloatOrArray:
        """Delay of the last byte behind the first one at first; ``again_s`` is between the messages of a train."""

    def between_s(self, network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
        """From the beginning of a send (receive) to the earliest next one."""
        return 0.0

    def spread_s(self, network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
        """From the first byte of a message to its last; zero if a message arrives with its last byte."""
        return 0.0

    def again_s(self, network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
        """Time for which the sender is held before the bytes of each message of a train."""
        return 0.0

    def flight_s(self, network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
        """Over the hops, and for bytes that a slow link takes longer for than their sender."""
        flight = hops_s(network, way, size_bytes)
        if network.has_own_links and not network.message_model.flight_holds_sender:
            flight = flight + size_bytes * (way.per_byte_s - way.sent_s_per_byte)
        return flight


#: Class of the description -> what its messages do.
SIMULATED: Registry[Any, SimulatedMessages] = Registry("simulation of messages", __name__, ENTRY_POINTS)


def simulated(network: Network) -> SimulatedMessages:
    """Return the behaviour of the messages of a network."""
    return SIMULATED.of(network.message_model)


def hops_s(network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
    """Seconds that the first byte needs over the hops; store-and-forward repeats the message, or a packet, at each."""
    if not network.is_stored:
        return way.latency_s
    stored_bytes = np.minimum(size_bytes, network.sharing.stored_bytes)
    return way.latency_s + np.maximum(way.hops - 1.0, 0.0) * stored_bytes * way.stored_s_per_byte


def modelled_hops(network: Network, ranks: int) -> float:
    """Hops that the distance law of a network gives every message among this many ranks."""
    match network.distance:
        case "none":
            return 0.0
        case "log2":
            return math.log2(ranks)
        case "sqrt":
            return math.sqrt(ranks)
        case "mean":
            return network.mean_hops
        case _:
            return 1.0
