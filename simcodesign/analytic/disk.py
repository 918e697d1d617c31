"""Closed form of disk input and output: startup and per-byte time, nobody waiting for anybody.

Armstrong and Eigenmann, SPECseis96, equation 4, per iteration: X (C_start + C_mem Sz) for reads and for writes.
"""

from __future__ import annotations

from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.machine_parts import Disk


def access_s(demand: DiskAccess, disk: Disk | None, size_bytes: FloatOrArray, times: FloatOrArray) -> FloatOrArray:
    """Seconds of ``times`` accesses of ``size_bytes``. InputError when the machine has no disk."""
    if disk is None:
        raise InputError(f"a {demand.kind} needs a disk, which this machine has not", demand.place)
    startup = disk.read_startup_s if demand.kind == "read" else disk.write_startup_s
    return times * (startup + disk.per_byte_s * size_bytes)
