"""Sums of bytes by link: one number per link of the network, or of the used links only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]

PENDING_LINKS = 2**22  # entries that the sparse load counter holds before it merges them


class DenseLoads:
    """One load per link: fast, for networks whose links can all be listed."""

    def __init__(self, link_count: int) -> None:
        self._load = np.zeros(link_count)

    def add(self, link: IntArray, size_bytes: FloatArray) -> None:
        """Add bytes to links, both shape (n,); a link may occur several times."""
        np.add.at(self._load, link, size_bytes)

    def total(self) -> tuple[IntArray, FloatArray]:
        """Return the links with a load, ascending, and their bytes."""
        link = np.flatnonzero(self._load)
        return link, self._load[link]


class SparseLoads:
    """Loads of the used links only: for networks with far more links than traffic."""

    def __init__(self) -> None:
        self._links: list[IntArray] = []
        self._sizes: list[FloatArray] = []
        self._pending, self._limit = 0, PENDING_LINKS

    def add(self, link: IntArray, size_bytes: FloatArray) -> None:
        """Add bytes to links, both shape (n,); a link may occur several times."""
        self._links.append(link)
        self._sizes.append(size_bytes)
        self._pending += link.size
        if self._pending > self._limit:
            link, size_bytes = self.total()
            self._links, self._sizes, self._pending = [link], [size_bytes], link.size
            self._limit = max(PENDING_LINKS, 2 * link.size)

    def total(self) -> tuple[IntArray, FloatArray]:
        """Return the links with a load, ascending, and their bytes."""
        if not self._links:
            return np.empty(0, dtype=np.int64), np.empty(0)
        links, sizes = np.concatenate(self._links), np.concatenate(self._sizes)
        used, position = np.unique(links, return_inverse=True)
        load: FloatArray = np.bincount(position, weights=sizes, minlength=used.size).astype(np.float64)
        return used, load
