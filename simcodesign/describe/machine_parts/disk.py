"""The disks of a machine."""

from __future__ import annotations

from dataclasses import dataclass

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
