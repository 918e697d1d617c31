"""Reads and writes of a disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simcodesign.core.expressions.expression import Expression
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.randomness.distribution import Distribution


@dataclass(frozen=True)
class DiskAccess(Demand):
    """``times`` reads or writes of ``bytes`` each, served by the disk as one batch; ``times`` may be a fraction."""

    kind: str
    bytes: Expression
    times: Expression
    varies: Distribution | None = None
    works_on = "disk"

    @property
    def label(self) -> str:
        return self.kind

    def amounts(self) -> Iterator[Expression]:
        yield from (self.bytes, self.times)
