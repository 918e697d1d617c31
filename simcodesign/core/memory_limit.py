"""The memory that a simulation may take, and an error before it takes more."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from simcodesign.core.errors import CapacityError, Place

#: Where Linux shows control groups and the processes that are in them.
ROOT = Path("/")
#: Version 1 has the largest whole number of pages below 2**63 if there is no limit.
NO_LIMIT = 2.0**62


def memory_bytes() -> float:
    """Return the memory that a simulation may take: 70 % of the smallest limit; infinite if no limit is known."""
    return 0.7 * smallest_limit()[0]


def smallest_limit(root: Path = ROOT) -> tuple[float, str]:
    """Return the smallest of physical memory, the limits of control groups and RLIMIT_AS, in bytes, and its name."""
    limits = [
        (_physical_bytes(), "physical memory"),
        (_cgroup_bytes(root), "control group"),
        (_address_space_bytes(), "RLIMIT_AS (ulimit -v)"),
    ]
    return min(limits, key=lambda limit: limit[0])


def _address_space_bytes() -> float:
    try:
        import resource  # POSIX only
    except ImportError:
        return math.inf
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if soft == resource.RLIM_INFINITY else float(soft)


@cache
def _cgroup_bytes(root: Path) -> float:
    """Return the smallest limit of a control group; read once, as reading takes a fifth of a small simulation."""
    return min(_cgroup_limits(root), default=math.inf)


def _cgroup_limits(root: Path) -> Iterator[float]:
    """Yield the memory limits of the control groups of this process and of the groups around them.

    Version 2 has one hierarchy, ``0::/path``; version 1 has one for memory, ``7:memory:/path``. Within a container the
    path may be the host's, so the root of the hierarchy always counts.
    Source: the Linux kernel's admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst, and cgroups(7).
    """
    base = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        mounts: tuple[Path, ...]
        if number == "0" and not controllers:
            mounts, file = (base, base / "unified"), "memory.max"
        elif "memory" in controllers.split(","):
            mounts, file = (base / "memory",), "memory.limit_in_bytes"
        else:
            continue
        own = Path(path.strip().lstrip("/"))
        for mount in mounts:
            for group in (own, *own.parents):
                text = _read(mount / group / file).strip()
                if text.isdigit() and float(text) < NO_LIMIT:  # "max" if there is none
                    yield float(text)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


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
        pairs = ((f"{needed_bytes / 1e9:.{n}g}", f"{limit_bytes / 1e9:.{n}g}") for n in range(3, 18))
        needs, has = next(pair for pair in pairs if pair[0] != pair[1])
        what = f"{what}, about {needs} GB of memory; a simulation may take {has} GB, 70 % of the {smallest_limit()[1]}"
        raise CapacityError(what, place, allowed=allowed)
