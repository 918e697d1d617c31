"""Bandwidth of the servers of a storage from IOR, and its rate of metadata operations from mdtest.

With files of their own, P ranks use ``min(servers, P x stripe_count)`` servers (docs/storage.md): what all ranks
together reach, over these, is the bandwidth of a server, if servers are what limits it. Most ranks tell best.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcodesign.calibration.benchmarks.samples import MachineConstant, lines_of, samples
from simcodesign.describe.machine import Machine
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable

#: Operations of IOR -> the time per byte of a server that they tell.
PATHS = {"read": "storage.per_byte", "write": "storage.write_per_byte"}
#: The operation of mdtest that counts as a metadata operation.
CREATION = "file creation"


def storage_constants(
    tables: Sequence[BenchmarkTable], machine: Machine, level: float
) -> tuple[list[MachineConstant], list[str]]:
    """Constants of the storage, and notes on them; for a machine without one only the measurements."""
    storage = machine.storage
    constants: list[MachineConstant] = []
    notes: list[str] = []
    for operation, path in PATHS.items():
        taken = samples(tables, operation, "bandwidth", by=("P", "transfer_bytes"))
        if not taken:
            continue
        best = max(taken, key=lambda one: (one.parameters["P"], one.parameters["transfer_bytes"]))
        low, high = best.median_interval(level)
        ranks, reached = best.parameters["P"], f"{best.median / 1e9:.4g} GB/s"
        if storage is None:
            notes.append(f"{machine.name} states no storage: {reached} of {operation} have no place in it.")
            continue
        used = min(float(storage.servers), ranks * storage.stripe_count)
        how = f"IOR, {operation} by {ranks:g} ranks, {reached} over {used:g} servers; median"
        constants.append(MachineConstant(path, used / best.median, used / high, used / low, how, best.lines))
    rates = [(table.file, row) for table in tables for row in table.rows if row.operation == CREATION]
    if rates and storage is None:
        notes.append(f"{machine.name} states no storage: mdtest's rates have no place in it.")
    elif rates:
        file, row = max(rates, key=lambda item: item[1].parameters.get("P", 1.0))
        low, high = row.low or row.value, row.high or row.value
        how = "mdtest, creation of files; from the least to the most of its iterations"
        lines = lines_of([(file, row)])
        constants.append(MachineConstant("storage.metadata_rate", row.value, low, high, how, lines))
    return constants, notes
