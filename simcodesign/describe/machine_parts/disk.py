"""The disks of a machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import Choice, Constant, OneOf, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section, bandwidth


@dataclass(frozen=True)
class Disk:
    """A disk: an access of m bytes takes ``startup + m per_byte_s``.

    ``shared_by`` consecutive nodes use one disk, which serves ``spindles`` accesses at a time in the order of their
    arrival. Each draws ``dynamic_power_w``.
    """

    read_startup_s: FloatOrArray
    write_startup_s: FloatOrArray
    per_byte_s: FloatOrArray
    shared_by: int = 1
    spindles: int = 1
    dynamic_power_w: FloatOrArray | None = None

    def of_ranks(self, rank: NDArray[np.int64]) -> Disk:
        """Return the disks of these ranks (n,), if its constants are arrays over all ranks (P,); otherwise itself."""
        names = ("read_startup_s", "write_startup_s", "per_byte_s")
        values = {name: np.asarray(getattr(self, name)) for name in names}
        own: dict[str, Any] = {name: value[rank] for name, value in values.items() if value.ndim}
        return replace(self, **own)


ALL = "all"
MAX_SPINDLES = 10_000
#: Keys of ``disk``.
DISK = Section(
    Key("read_startup", Constant("time"), "time of a read without its bytes", required=True, field="read_startup_s"),
    Key("write_startup", Constant("time"), "time of a write without its bytes", required=True, field="write_startup_s"),
    *bandwidth("bandwidth", "per_byte", "per_byte_s", "bytes per second of one spindle", required=True),
    Key("shared_by", OneOf(Choice((ALL,)), Whole(1)), "number of nodes with one common disk, or `all`", "1"),
    Key("spindles", Whole(1, MAX_SPINDLES), "accesses that a disk serves concurrently", "1"),
    Key("dynamic_power", Constant("power"), "what a disk draws while it works", field="dynamic_power_w"),
)
