"""Messages from one rank to another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import MESSAGES, Demand, Evaluate
from simcodesign.describe.demands.footprint import MessageDemand


@dataclass(frozen=True)
class Send(MessageDemand):
    """An eager message to rank ``to``, of the own ``group`` if it names one."""

    to: Expression
    bytes: Expression
    tag: int = 0
    group: str | None = None
    can_be_started = True
    uses_parts = MESSAGES

    def touched_bytes(self, ranks: FloatOrArray, evaluate: Evaluate) -> FloatOrArray:
        return evaluate(self.bytes, "bytes")

    def amounts(self) -> Iterator[Expression]:
        yield self.bytes
        yield from super().amounts()

    def peers(self) -> Iterator[Expression]:
        yield self.to


@dataclass(frozen=True)
class Receive(Demand):
    """Wait for the next message with this tag from rank ``source``; ``bytes``, if given, must be what was sent.

    Without a source it is the message that comes first, from any rank (not checked against ``bytes``).
    """

    source: Expression | None
    bytes: Expression | None
    tag: int = 0
    group: str | None = None
    can_be_started = True
    uses_parts = MESSAGES

    def amounts(self) -> Iterator[Expression]:
        yield from (() if self.bytes is None else (self.bytes,))

    def peers(self) -> Iterator[Expression]:
        yield from (() if self.source is None else (self.source,))
