"""The memory that a simulation may take, and an error or a warning before it takes more."""

from __future__ import annotations

import ctypes
import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from simcodesign.core.errors import CapacityError, Place

#: Where Linux shows control groups and the processes that are in them.
ROOT = Path("/")
#: Version 1 has the largest whole number of pages below 2**63 if there is no limit.
NO_LIMIT = 2.0**62
#: The memory that a simulation may take, in bytes, for this process and those that it starts (``allow_memory``).
ALLOWED = "SIMCODESIGN_MEMORY"
#: Memory in bytes below which it is not looked up how much is available: that takes as long as a small simulation.
MIN_COMPARED = 100e6


def memory_bytes() -> float:
    """Return the memory that a simulation may take: 70 % of the smallest limit, unless ``allow_memory`` sets it.

    Infinite if no limit is known.
    """
    allowed = _allowed_bytes()
    return 0.7 * smallest_limit()[0] if allowed is None else allowed


def _allowed_bytes() -> float | None:
    try:
        return float(os.environ[ALLOWED])
    except (KeyError, ValueError):
        return None


@contextmanager
def allow_memory(size_bytes: float) -> Iterator[None]:
    """Let a simulation take ``size_bytes`` of memory while this lasts, whatever the limits of the system are.

    This applies to the whole process and to the processes that it starts.
    """
    before = os.environ.get(ALLOWED)
    os.environ[ALLOWED] = repr(float(size_bytes))
    try:
        yield
    finally:
        if before is None:
            del os.environ[ALLOWED]
        else:
            os.environ[ALLOWED] = before


def available_bytes(root: Path = ROOT) -> float:
    """Return the memory that is available now, without what other programs use; infinite if that is not known.

    Source: ``MemAvailable`` of proc_meminfo(5); for control groups their limit less what they use, without pages of
    files that are not in use (``inactive_file``), which the system takes back first.
    """
    lines = (line.split() for line in _read(root / "proc/meminfo").splitlines())
    free = [float(words[1]) * 1024 for words in lines if words[:1] == ["MemAvailable:"]]
    for folder, limit_bytes in _cgroup_limits(root):
        used = next(filter(str.isdigit, (_read(folder / name).strip() for name in _USED)), "0")
        files = dict(line.split()[:2] for line in _read(folder / "memory.stat").splitlines() if line.count(" ") == 1)
        reusable = float(files.get("total_inactive_file", files.get("inactive_file", 0)))
        free.append(max(limit_bytes - max(float(used) - reusable, 0.0), 0.0))
    return min(free, default=math.inf)


#: Memory used by a control group, in versions 2 and 1.
_USED = ("memory.current", "memory.usage_in_bytes")


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
    return min((limit_bytes for _, limit_bytes in _cgroup_limits(root)), default=math.inf)


def _cgroup_limits(root: Path) -> Iterator[tuple[Path, float]]:
    """Yield the memory limits of the control groups of this process and of the groups around them, with their folders.

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
                    yield mount / group, float(text)


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


def give_back_memory() -> None:
    """Return the memory that has been freed to the system, if the C library can (glibc).

    Without this call, glibc keeps what many small arrays took, and the process grows by as much when large arrays come
    after them. Source: malloc_trim(3).
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library, or Windows
        return None


def check_memory(what: str, needed_bytes: float, place: Place, allowed: str | None = None) -> None:
    """Raise CapacityError if ``what`` (with its verb: "a table takes") needs more than ``memory_bytes``.

    Warn if it needs more than is available now.
    """
    limit_bytes = memory_bytes()
    if needed_bytes > limit_bytes:
        needs, has = _told_apart(needed_bytes, limit_bytes)
        of = "the limit of --memory" if _allowed_bytes() is not None else f"70 % of the {smallest_limit()[1]}"
        what = f"{what}, about {needs} GB of memory; a simulation may take {has} GB, {of}"
        other = "--memory SIZE before the command, to continue in any case"
        raise CapacityError(what, place, allowed=f"{allowed}; {other}" if allowed else other)
    if needed_bytes > MIN_COMPARED and needed_bytes > (free_bytes := available_bytes()):
        needs, has = _told_apart(needed_bytes, free_bytes)
        what = f"{what}, about {needs} GB of memory, and {has} GB are available now: the system may end the simulation"
        warnings.warn(f"{what}; end other programs, or choose {allowed or 'a smaller one'}", stacklevel=3)


def _told_apart(more_bytes: float, less_bytes: float) -> tuple[str, str]:
    """Two amounts in GB, with as many digits as it takes to see that they differ."""
    pairs = ((f"{more_bytes / 1e9:.{n}g}", f"{less_bytes / 1e9:.{n}g}") for n in range(3, 18))
    return next(pair for pair in pairs if pair[0] != pair[1])
