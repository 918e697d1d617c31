"""The memory that a simulation may take, and an error before it takes more."""

from __future__ import annotations

import ctypes
import math
import os
from typing import Any

from simcodesign.core.errors import CapacityError, Place


def memory_bytes() -> float:
    """The memory that a simulation may take: 70 % of the physical memory; infinite where that is unknown."""
    return 0.7 * _physical_bytes()


def _physical_bytes() -> float:
    if hasattr(os, "sysconf"):
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    windows: Any = getattr(ctypes, "windll", None)
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    if windows is not None and windows.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return float(status.physical_bytes)
    return math.inf


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API (sysinfoapi.h): two 32-bit numbers, then seven of 64 bits."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("physical_bytes", ctypes.c_uint64),
        *((f"unused_{number}", ctypes.c_uint64) for number in range(6)),
    )


def check_memory(what: str, needed_bytes: float, place: Place, allowed: str | None = None) -> None:
    """Raises CapacityError if ``what`` (with its verb: "a table takes") needs more than ``memory_bytes``."""
    limit_bytes = memory_bytes()
    if needed_bytes > limit_bytes:
        needs = (
            f"{what}, about {needed_bytes / 1e9:.3g} GB of memory; this machine has {limit_bytes / 1e9:.3g} GB to spare"
        )
        raise CapacityError(needs, place, allowed=allowed)
