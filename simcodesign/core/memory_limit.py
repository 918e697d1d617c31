"""The memory that a simulation may take, and an error before it takes more."""

from __future__ import annotations

import os

from simcodesign.core.errors import CapacityError, Place


def memory_bytes() -> float:
    """The memory that a simulation may take: 70 % of the physical memory."""
    return 0.7 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(what: str, needed_bytes: float, place: Place, allowed: str | None = None) -> None:
    """Raises CapacityError if ``what`` (with its verb: "a table takes") needs more than ``memory_bytes``."""
    limit_bytes = memory_bytes()
    if needed_bytes > limit_bytes:
        needs = (
            f"{what}, about {needed_bytes / 1e9:.3g} GB of memory; this machine has {limit_bytes / 1e9:.3g} GB to spare"
        )
        raise CapacityError(needs, place, allowed=allowed)
