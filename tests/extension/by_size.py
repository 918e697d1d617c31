"""A sharing rule of another package: messages share a link in proportion to their bytes, so that those that begin
together on one link end together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.base import MessageModel
from simcodesign.describe.network.sharing import SHARINGS, Sharing
from simcodesign.generate.messages.sharing.base import SHARED
from simcodesign.generate.messages.sharing.max_min import WEIGHT_BITS, with_weighted_sharing
from simcodesign.generate.plan import Plan

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BySize(Sharing):
    """Max-min fair shares in proportion to the bytes of messages."""

    name = "by_size"

    @property
    def last(self) -> str:
        return "byte"

    @property
    def words(self) -> str:
        return "shares by size"

    @property
    def sheet_words(self) -> str:
        return "by all messages at once, in proportion to their bytes"

    def check(self, model: MessageModel, is_stored: bool, is_as_fast: bool, place: Place) -> None:
        """Raise InputError for links that store whole messages."""
        if is_stored:
            what = f"network.sharing: {self.name} is for messages that are on all links of their route at once"
            raise InputError(what, place, value="switching: store_and_forward", allowed="switching: cut_through")


def weights(machine: Machine, flight_s: Floats, size_bytes: Floats) -> NDArray[np.int32]:
    """Return whole numbers in proportion to the bytes of messages."""
    largest = max(float(size_bytes.max(initial=0.0)), 1.0)
    return np.maximum(np.rint(2.0**WEIGHT_BITS * size_bytes / largest), 1).astype(np.int32)


def by_size(plan: Plan, machine: Machine, rule: BySize) -> Plan:
    """Return the Plan whose messages share their links so."""
    return with_weighted_sharing(plan, machine, weights)


def register() -> None:
    """Add it to the registries, as its package does when it is imported."""
    SHARINGS.add(BySize.name, BySize)
    SHARED.add(BySize, by_size)


def take_back() -> None:
    """Remove it from them."""
    SHARINGS.remove(BySize.name)
    SHARED.remove(BySize)
