"""Reads and writes as operations: how long one occupies a disk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import READ, WRITE
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.disk_access import DiskAccess
from simcodesign.describe.machine import Machine
from simcodesign.generate.demands.base import LOWERINGS, Lowering
from simcodesign.generate.plan_builder import StepWriter

#: Kind of operation of every kind of access.
KINDS = {"read": READ, "write": WRITE}


class DiskAccessLowering(Lowering[DiskAccess]):
    """One operation of each rank."""

    def write(self, demand: DiskAccess, writer: StepWriter) -> None:
        size, times = writer.amount(demand.bytes, "bytes"), writer.amount(demand.times, "times")
        duration_s = duration_of_access_s(demand, demand.kind, writer.machine, size, times)
        writer.work(KINDS[demand.kind], np.multiply(size, times), duration_s, writer.varying())


def duration_of_access_s(
    demand: Demand,
    kind: str,
    machine: Machine,
    size_bytes: FloatOrArray,
    times: FloatOrArray,
    rank: NDArray[np.int64] | None = None,
) -> FloatOrArray:
    """Return the seconds of a batch of ``times`` accesses (``read`` or ``write``) of ``size_bytes``.

    On all ranks or on these (n,). InputError when the machine has no disk.
    """
    disk = machine.disk
    if disk is None:
        raise InputError(f"a {kind} needs a disk, which {machine.name} has not", demand.place)
    disk = disk if rank is None else disk.of_ranks(rank)
    startup = disk.read_startup_s if kind == "read" else disk.write_startup_s
    return times * (startup + size_bytes * disk.per_byte_s)


LOWERINGS.add(DiskAccess, DiskAccessLowering())
