"""How long an access occupies a disk, as the simulation sees it."""

from __future__ import annotations

from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.machine import Machine


def duration_of_access_s(
    step: DiskAccess, machine: Machine, size_bytes: FloatOrArray, times: FloatOrArray
) -> FloatOrArray:
    """Seconds of a batch of ``times`` accesses of ``size_bytes``. InputError when the machine has no disk."""
    disk = machine.disk
    if disk is None:
        raise InputError(f"a {step.kind} needs a disk, which {machine.name} has not", step.place)
    startup = disk.read_startup_s if step.kind == "read" else disk.write_startup_s
    return times * (startup + size_bytes * disk.per_byte_s)
