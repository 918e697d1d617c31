"""Whether there is room in memory for what is about to be made."""

from __future__ import annotations

import os

from simcodesign.core.errors import CapacityError, Place


def memory_bytes() -> float:
    """What a simulation may take: 70 % of the physical memory."""
    return 0.7 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_room(what: str, needed_bytes: float, place: Place, allowed: str | None = None) -> None:
    """CapacityError unless ``what`` takes no more memory than there is."""
    have = memory_bytes()
    if needed_bytes > have:
        needs = f"{what}, about {needed_bytes / 1e9:.3g} GB of memory; this machine has {have / 1e9:.3g} GB to spare"
        raise CapacityError(needs, place, allowed=allowed)
