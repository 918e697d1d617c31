"""The disks of a machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray


@dataclass(frozen=True)
class Disk:
    """A disk: an access of m bytes takes ``startup + m per_byte_s``; ``shared_by`` consecutive nodes use one disk,
    which serves ``spindles`` accesses at a time in the order of their arrival. Each draws ``dynamic_power_w``."""

    read_startup_s: FloatOrArray
    write_startup_s: FloatOrArray
    per_byte_s: FloatOrArray
    shared_by: int = 1
    spindles: int = 1
    dynamic_power_w: FloatOrArray | None = None

    def of_ranks(self, rank: NDArray[np.int64]) -> Disk:
        """The disks of these ranks (n,), if its constants are those of all ranks (P,); otherwise itself."""
        names = ("read_startup_s", "write_startup_s", "per_byte_s")
        values = {name: np.asarray(getattr(self, name)) for name in names}
        own: dict[str, Any] = {name: value[rank] for name, value in values.items() if value.ndim}
        return replace(self, **own)
