"""Reads and writes of a disk, and what ranks do with files on the storage that all nodes share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Demand, Evaluate
from simcodesign.describe.machine_parts.storage import Storage
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


#: Where reads come from and writes go to; and whose the files on storage are.
DISK, STORAGE = "disk", "storage"
OWN, SHARED = "own", "shared"


@dataclass(frozen=True)
class StorageAccess(Demand):
    """``times`` reads or writes of ``bytes`` each of a striped file.

    A file of its ``own`` for each rank, from its beginning; or a ``shared`` one, in which the parts of the ranks follow
    one another. ``stripe_count``: servers that a file is striped over, None for the storage's default.
    """

    kind: str
    bytes: Expression
    times: Expression
    file: str = OWN
    stripe_count: Expression | None = None
    works_on = STORAGE
    can_be_started = True

    @property
    def label(self) -> str:
        return f"{self.kind} of storage"

    def amounts(self) -> Iterator[Expression]:
        yield from (self.bytes, self.times)
        yield from (() if self.stripe_count is None else (self.stripe_count,))

    def servers_of_file(self, storage: Storage, evaluate: Evaluate) -> FloatOrArray:
        """Return the servers over which each file is striped.

        InputError unless they are whole numbers of those that there are, and one number for all of a shared file.
        """
        if self.stripe_count is None:
            return float(storage.servers if self.file == SHARED else storage.stripe_count)
        count = np.asarray(evaluate(self.stripe_count, "stripe_count"))
        good = (count >= 1) & (count <= storage.servers) & (count == np.floor(count))
        if not np.all(good):
            wrong, allowed = float(count[~good].flat[0]), f"a whole number, 1 to {storage.servers}"
            raise InputError("stripe_count", self.stripe_count.place or self.place, value=wrong, allowed=allowed)
        return count if count.ndim else float(count)


@dataclass(frozen=True)
class MetadataOperations(Demand):
    """So many ``operations`` of the metadata server of the storage, one after another.

    To open, create, look up or remove a file is one of them.
    """

    operations: Expression
    works_on = STORAGE
    can_be_started = True

    def amounts(self) -> Iterator[Expression]:
        yield self.operations
