"""Weights of the points: by what a value's error is proportional to, and by how often it was measured.

Performance measurements vary in proportion to their size (a run that takes ten times as long varies by ten times as
many seconds), metrics differ by many orders of magnitude and so do the points of one series. The default is therefore
the relative error: a root of weight of 1 / |value|, times the root of the number of repetitions. With absolute weights
the largest points alone would decide, and the small ones, which tell the slow terms, would be lost.
A value of zero has no relative error: it weighs as the smallest value that is not zero.
"""

from __future__ import annotations

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.fitting.selection.candidate_fits import Block, Flags
from simcodesign.fitting.selection.term_basis import Array, Index

WEIGHTINGS = ("relative", "absolute")
#: A value this much smaller than the largest of its series gets the weight of that fraction.
_SMALLEST = 1e-12


def block_of(means: Array, counts: Index, weighting: str, free: bool, exact: Flags | None = None) -> Block:
    """Series (S, K), NaN if nothing was measured, as a weighted problem. Raises InputError for a weighting."""
    if weighting not in WEIGHTINGS:
        raise InputError("an unknown weighting", value=weighting, allowed=", ".join(WEIGHTINGS))
    there = (counts > 0) & np.isfinite(means)
    values = np.where(there, means, 0.0)
    repeated = np.where(there, counts, 0) / np.maximum(counts.max(1, keepdims=True), 1)
    root = np.sqrt(repeated) / _sizes(values, weighting)
    return Block(root, root * values, free, np.zeros(len(root), dtype=np.bool_) if exact is None else exact)


def _sizes(values: Array, weighting: str) -> Array:
    """Scale of the error of each value, (S, K)."""
    size = np.abs(values)
    largest = size.max(1, keepdims=True)
    if weighting == "absolute":
        return np.broadcast_to(np.where(largest > 0, largest, 1.0), size.shape)
    lowest = np.where(size > 0, size, np.inf).min(1, keepdims=True)
    lowest = np.where(np.isfinite(lowest), np.maximum(lowest, _SMALLEST * largest), 1.0)
    return np.maximum(size, lowest)
