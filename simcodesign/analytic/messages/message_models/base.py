"""Interface of a model of messages for closed forms, and the registry of models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.core.registry import Registry
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.message_models.base import MessageModel
from simcodesign.describe.network.network import Network

ENTRY_POINTS = "simcodesign.forecast_messages"


@dataclass(frozen=True)
class Passage:
    """How messages pass the network, whatever their model: over ``hops`` links, whose latencies are ``way_s``.

    Each byte takes ``again_s_per_byte`` where links after the first one store it, and ``longer_s_per_byte`` beyond its
    time where the slowest link is slower than the message. ``startup_s`` and ``sent_s_per_byte``: what it takes
    before any link, which may be that within a node.
    """

    hops: FloatOrArray
    way_s: FloatOrArray
    again_s_per_byte: FloatOrArray
    longer_s_per_byte: FloatOrArray
    startup_s: FloatOrArray
    sent_s_per_byte: FloatOrArray


class EvenRounds(ABC):
    """Rounds of messages with evenly shared links: of doubling distances, each over some hops of one dimension."""

    @abstractmethod
    def round_s(self, way_s: float, hops: int, slowest_s_per_byte: FloatOrArray, size_bytes: float) -> float:
        """Time of a round, whose bytes take ``slowest_s_per_byte`` at least; ``way_s``: latency of the hops."""

    @abstractmethod
    def receivers_are_late(self, way_s: float, hops: int) -> bool:
        """Whether receivers continue later than senders do."""

    @property
    @abstractmethod
    def senders_run_ahead(self) -> bool:
        """Whether senders begin a round before the messages of the previous one have arrived."""


class ForecastMessages(ABC):
    """Costs of messages of a model, vectorised over sizes, constants and ranks."""

    @abstractmethod
    def price(self, network: Network, passage: Passage) -> Callable[[FloatOrArray], Message]:
        """Return the price of a message by its size, over these links; the network has no segments."""

    @abstractmethod
    def head_and_tail_s(
        self, network: Network, size_bytes: NDArray[np.float64], hops: FloatOrArray
    ) -> tuple[FloatOrArray, FloatOrArray]:
        """Seconds before the head of a message sets out, and by which its tail follows at first."""

    def even_rounds(self, model: MessageModel) -> EvenRounds | None:
        """Costs of rounds whose messages share links evenly; None if that has no closed form."""
        return None


#: Class of the description -> what its messages cost.
FORECAST: Registry[Any, ForecastMessages] = Registry("forecast of messages", __name__, ENTRY_POINTS)


def forecast_messages(network: Network) -> ForecastMessages:
    """Costs of the messages of a network."""
    return FORECAST.of(network.message_model)


def hold_receivers(networks: Iterable[Network]) -> bool:
    """Whether a message over any of these networks holds its receiver as long as its sender."""
    return any(one.message_model.holds_both_ends for one in networks)


def waits(size: FloatOrArray, limit_bytes: FloatOrArray | None) -> bool | NDArray[np.bool_]:
    """Whether a sender waits for its receiver, which it does beyond S bytes."""
    return False if limit_bytes is None else np.asarray(size > limit_bytes)
