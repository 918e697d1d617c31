"""The longest paths to the moments of a course, as counts of its terms, for many design points at once.

A moment is the longest of all paths to it, and a path is a sum of terms: so many of each. Of a course, most paths have
the same counts, and none that is a mixture of two others can be longer than both. Where few are left, the time at every
design point is the largest of few sums, whatever the number of moments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Paths to a moment, and terms, up to which they are counted.
MOST_PATHS, MOST_TERMS = 24, 16


def counts_of_paths(rows: Sequence[Sequence[Ints]], ends: Ints, terms: int) -> Ints | None:
    """(paths, terms) the counts of the longest paths to the ``ends``; None if there are too many. ``rows``: of moments
    max(m[own] + x[term], m[other] + x[other_term]) + x[last] + x[reduced], in order after the first one, which is 0;
    x[0] is nothing."""
    if terms > MOST_TERMS:
        return None
    unit = np.eye(terms, dtype=np.int64)
    unit[0] = 0  # nothing
    paths: list[Ints] = [np.zeros((1, terms), np.int64)]
    for row in rows:
        for own, term, other, other_term, last, reduced in zip(*(column.tolist() for column in row), strict=True):
            both = [paths[own] + unit[term]]
            if (own, term) != (other, other_term):
                both.append(paths[other] + unit[other_term])
            longest = _longest(np.concatenate(both) + unit[last] + unit[reduced])
            if len(longest) > MOST_PATHS:
                return None
            paths.append(longest)
    several = _longest(np.concatenate([paths[end] for end in ends.tolist()]))
    return several if len(several) <= MOST_PATHS else None


def _longest(paths: Ints) -> Ints:
    """Without those that are mixtures of two others, as far as these differ in how often they have two terms, or that
    have no more of any term than another one."""
    paths = np.unique(paths, axis=0)
    if len(paths) > 2:
        paths = paths[~_mixtures(paths)]
    if len(paths) > 1:
        less: NDArray[np.bool_] = np.all(paths[:, None] <= paths[None, :], axis=2)
        np.fill_diagonal(less, False)
        paths = paths[~np.any(less, axis=1)]
    return paths


def _mixtures(paths: Ints) -> NDArray[np.bool_]:
    """Which paths lie between two others on a line along which two terms replace each other."""
    mixed = np.zeros(len(paths), bool)
    varied = np.flatnonzero((paths != paths[0]).any(axis=0))
    for place, one in enumerate(varied):
        for other in varied[place + 1 :]:
            fixed = paths.copy()
            fixed[:, one] += fixed[:, other]
            fixed[:, other] = 0
            _, line = np.unique(fixed, axis=0, return_inverse=True)
            line = line.ravel()
            low, high = np.full(line.max() + 1, np.iinfo(np.int64).max), np.full(line.max() + 1, -1)
            np.minimum.at(low, line, paths[:, one])
            np.maximum.at(high, line, paths[:, one])
            mixed |= (paths[:, one] > low[line]) & (paths[:, one] < high[line])
    return mixed


def distinct_terms(seconds: Sequence[Floats]) -> tuple[Ints, list[Floats]]:
    """For each term the number of the first one that is equal at all points, from 1 on; 0 for one that is nothing."""
    kept: list[Floats] = [np.zeros_like(seconds[0])]
    number = []
    for term in seconds:
        same = (place for place, one in enumerate(kept) if one[0] == term[0] and np.array_equal(one, term))
        found = next(same, len(kept))
        if found == len(kept):
            kept.append(term)
        number.append(found)
    return np.array(number), kept
