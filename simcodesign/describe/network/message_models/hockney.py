"""Hockney's model: a startup, and a time per byte."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import Choice, Constant, Flag
from simcodesign.describe.keys.key import Key
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel, SizeSegment

#: How a rank sends: each message holds it until its last byte has left; or its startup alone does, and the bytes of all
#: of its messages then flow side by side.
BLOCKING, NONBLOCKING = SENDS = ("blocking", "nonblocking")
#: Events that a startup is charged for.
MESSAGE, HOP = STARTUPS = ("message", "hop")


@dataclass(frozen=True)
class HockneySegment(SizeSegment):
    """The constants of Hockney's messages of some sizes, over the network or within a node."""

    startup_s: FloatOrArray = 0.0
    per_byte_s: FloatOrArray = 0.0
    receive_overhead_s: FloatOrArray | None = None


@dataclass(frozen=True)
class Hockney(MessageModel):
    """Hockney's cost model of messages, with a receive overhead and hops.

    The sender is charged ``startup_s + h hop_latency_s + m per_byte_s`` for m bytes over h hops, the receiver
    ``receive_overhead_s``. With ``startup_per = "hop"`` every hop repeats the startup (software relays).

    Unless ``hops_hold_sender``, the sender is charged ``startup_s + m per_byte_s``, and what the hops add (latency,
    repeated startups, bytes stored again) delays the arrival alone. With ``sends = "nonblocking"``, the sender is
    charged ``startup_s`` alone, and the bytes delay the arrival as well: bytes of several messages flow in parallel.
    Beyond S, what waits is what comes after the send, and after the messages posted together with it.

    With ``holds_receiver``, in networks inside nodes, processors copy the bytes: a message holds its sender for
    ``startup_s + h hop_latency_s + m per_byte_s``, however it is sent, and its receiver for as long, from when the
    receive has its turn. It is taken up when it has arrived and its receiver's hold is over.

    Source: R. Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994).
    """

    name = "hockney"
    title = "Hockney's model"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("startup", Constant("time"), "time of a message without its bytes", required=True, field="startup_s"),
        Key(
            "per_byte",
            Constant("per_byte"),
            "time per byte, instead of `bandwidth`",
            required=True,
            field="per_byte_s",
        ),
        Key(
            "receive_overhead", Constant("time"), "time of the receiver's processor", "0 s", field="receive_overhead_s"
        ),
        Key("startup_per", Choice(STARTUPS), "whether every hop repeats the startup", MESSAGE),
        Key(
            "sends",
            Choice(SENDS),
            "whether messages of a rank flow side by side, or each holds it until its bytes have left",
            NONBLOCKING,
        ),
        Key(
            "hops_hold_sender",
            Flag(),
            "whether what hops add holds the sender as well; counts with `sends: blocking`",
            "true",
        ),
        Key(
            "holds_receiver",
            Flag(),
            "in networks inside nodes: whether a message holds its receiver as long as its sender, because processors"
            " copy it (docs/levels.md)",
            "false",
        ),
    )
    beside_segments = ("receive_overhead",)
    segment = HockneySegment
    flags_of_level = ("holds_receiver",)
    symbols: ClassVar = {"ts": "network.startup", "tw": "network.per_byte"}
    has_local_costs = bytes_follow_startup = goes_in_trains = has_symbolic_prices = True

    startup_s: FloatOrArray = 0.0
    per_byte_s: FloatOrArray = 0.0
    receive_overhead_s: FloatOrArray = 0.0
    startup_per: str = MESSAGE
    hops_hold_sender: bool = True
    sends: str = NONBLOCKING
    holds_receiver: bool = False

    @property
    def price_is_convex(self) -> bool:
        """Without rendezvous and segments."""
        return self.rendezvous_above_bytes is None and not self.segments

    @property
    def has_receive_overhead(self) -> bool:
        """Whether some message keeps its receiver busy."""
        overheads = [self.receive_overhead_s, *(one.receive_overhead_s for one in self.own_segments)]
        return any(value is not None and np.any(np.asarray(value) != 0) for value in overheads)

    @property
    def receives_by_size(self) -> bool:
        """Whether some segment has an overhead of its own."""
        return any(one.receive_overhead_s is not None for one in self.own_segments)

    @property
    def own_segments(self) -> tuple[HockneySegment, ...]:
        """The segments, all of this model."""
        return tuple(one for one in self.segments if isinstance(one, HockneySegment))

    def sending(self, sends: str | None) -> Self:
        if sends is None or sends == self.sends:
            return self
        return replace(self, sends=sends, hops_hold_sender=self.hops_hold_sender or sends == NONBLOCKING)

    @property
    def bytes_hold_sender(self) -> bool:
        """Whether a message holds its sender beyond the startup."""
        return self.sends == BLOCKING or self.holds_receiver

    @property
    def flight_holds_sender(self) -> bool:
        """Whether what the hops add holds the sender, too."""
        return self.holds_receiver or (self.hops_hold_sender and self.bytes_hold_sender)

    @property
    def holds_both_ends(self) -> bool:
        """Whether a message holds its receiver for as long as its sender."""
        return self.holds_receiver

    @property
    def bytes_flow_together(self) -> bool:
        """Whether the bytes of concurrent messages flow in parallel."""
        return not self.bytes_hold_sender

    @property
    def starts_at_every_hop(self) -> bool:
        """Whether every hop repeats the startup."""
        return self.startup_per == HOP

    @property
    def half_performance_bytes(self) -> FloatOrArray | None:
        """Startup over time per byte (n_1/2)."""
        return self.startup_s / self.per_byte_s if np.any(np.asarray(self.per_byte_s)) else None

    def sender_words(self, last: str | None) -> str:
        if not self.bytes_hold_sender:
            return "held for startup, bytes flow together"
        if last is not None:
            return f"held until the last {last} has passed"
        return f"held for startup{', hops' if self.flight_holds_sender else ''} and bytes, as if alone"

    def receiver_words(self) -> str:
        if self.holds_receiver:
            return "held as long as the sender" + (", and for receive_overhead" if self.has_receive_overhead else "")
        return "held for receive_overhead" if self.has_receive_overhead else "not held"

    def check(self, place: Place) -> None:
        """InputError for hops that hold no sender where bytes hold none either, and for unknown words."""
        super().check(place)
        if not self.hops_hold_sender and not self.bytes_hold_sender:
            what = "network.hops_hold_sender is for messages whose bytes hold their sender"
            raise InputError(what, place, value=f"sends: {self.sends}", allowed=f"sends: {BLOCKING}")


MESSAGE_MODELS.add(Hockney.name, Hockney)
