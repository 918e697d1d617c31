"""LogGOPS: latency, overheads of processors, gaps of interfaces, and the same for each byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import Constant
from simcodesign.describe.keys.key import Key
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel, SizeSegment


@dataclass(frozen=True)
class LogGOPSSegment(SizeSegment):
    """The constants of LogGOPS for messages of some sizes."""

    latency_s: FloatOrArray = 0.0
    overhead_s: FloatOrArray = 0.0
    gap_s: FloatOrArray = 0.0
    per_byte_s: FloatOrArray = 0.0
    overhead_per_byte_s: FloatOrArray = 0.0


@dataclass(frozen=True)
class LogGOPS(MessageModel):
    """With x = max(m - 1, 0) for m bytes, the sender is busy for ``overhead_s + x overhead_per_byte_s`` (o, O).

    The first byte arrives ``overhead_s + latency_s + h hop_latency_s`` (L) after the send began, and keeps the receiver
    busy for ``overhead_s + x max(overhead_per_byte_s, per_byte_s)``; the interface sends (receives) again ``gap_s +
    x per_byte_s`` (g, G) after this message at the earliest. Beyond S a sender continues only when its message is
    taken up. Who has the processor when is as in LogGOPSim (docs/messages.md).

    Sources: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", HPDC 2010; LogGP: A. Alexandrov et al., SPAA 1995.
    """

    name = "loggop"
    title = "LogGOPS"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("L", Constant("time"), "LogGOPS: latency of a message", required=True, field="latency_s"),
        Key(
            "o",
            Constant("time"),
            "LogGOPS: time of the processor to send, and to receive",
            required=True,
            field="overhead_s",
        ),
        Key("g", Constant("time"), "LogGOPS: gap between two messages of an interface", required=True, field="gap_s"),
        Key(
            "G",
            Constant("per_byte"),
            "LogGOPS: time per byte that a message occupies an interface",
            required=True,
            field="per_byte_s",
        ),
        Key("O", Constant("per_byte"), "LogGOPS: time of the processor per byte", "0 s/B", field="overhead_per_byte_s"),
    )
    segment = LogGOPSSegment
    symbols: ClassVar = {"tw": "network.G", **{letter: f"network.{letter}" for letter in ("L", "o", "g", "G", "O")}}
    ranks_work_in_order = False
    has_gaps = True

    latency_s: FloatOrArray = 0.0
    overhead_s: FloatOrArray = 0.0
    gap_s: FloatOrArray = 0.0
    per_byte_s: FloatOrArray = 0.0
    overhead_per_byte_s: FloatOrArray = 0.0

    def sender_words(self, last: str | None) -> str:
        return "held for o + xO, sends g + xG apart"

    def receiver_words(self) -> str:
        return "held for o + x max(O, G), messages g + xG apart"


MESSAGE_MODELS.add(LogGOPS.name, LogGOPS)
