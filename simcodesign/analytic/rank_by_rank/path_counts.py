"""Find the longest paths to the end of a course, as counts of its terms, for many design points together.

The time of a course is the length of the longest path to its end. A path is a sum of terms, each a number of times, so
the time is a convex function of the terms, with one linear piece for each path that is the longest somewhere. Most
courses have few pieces: the time at every design point is then the largest of few sums, whatever the number of moments.

The pieces are found by cutting planes. Design points lie in a box of few dimensions: a sweep over a size is a line.
Follow the course at some points of the box, which gives their longest paths. The maximum of the lengths of the paths so
far is linear between its corners, and the time is convex, so the time can exceed this maximum only if it does so at a
corner. Follow the course at the corners, add the longer paths, and repeat until there is no longer path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: Moments max(m[own] + x[term], m[other] + x[other_term]) + x[last] + x[reduced], by these six columns; x[0] is 0.
Row = tuple[Ints, Ints, Ints, Ints, Ints, Ints]
#: Limits: different terms, dimensions of the box, paths times dimensions, corners.
MOST_TERMS, MOST_DIMENSIONS, MOST_PATHS, MOST_CORNERS = 64, 7, 512, 2**14
#: Limit of sets of terms that are minus infinity at some design points.
MOST_KINDS = 16
#: Number of times, and lengths of paths, in memory together.
AT_ONCE = 2**20
#: Number of design points whose terms are in memory together.
SOME_POINTS = 2**13
#: Design points at which the course is followed first.
FIRST_POINTS = 32
#: A path is longer than another one if the difference exceeds this fraction of its terms: sums are rounded.
ROUNDING = 1e-13
#: Design points do not differ in a dimension in which terms change by less than this fraction of their sum.
SAME = 1e-14


class Lengths(NamedTuple):
    """The length of the longest path and the part of it that is ``operated``, in seconds at n design points."""

    time_s: Floats
    operated_s: Floats


def by_paths(rows: Sequence[Row], ends: Ints, seconds: Sequence[Floats], operators: Sequence[Floats]) -> Lengths | None:
    """Return the longest path to the ``ends``; None if there are too many paths.

    The columns of ``rows`` are places in ``seconds`` (n,), and ``reduced`` in ``operators`` (n,). An ``other_term`` can
    be minus infinity at some points.
    """
    term_of, kept = distinct_terms(seconds)
    operator_of, worked = distinct_terms(operators)
    operator_of = np.where(operator_of > 0, operator_of + len(kept) - 1, 0)
    terms = [*kept, *worked[1:]]
    if len(terms) > MOST_TERMS:
        return None
    numbered = [
        (own, term_of[term], other, term_of[other_term], term_of[last], operator_of[reduced])
        for own, term, other, other_term, last, reduced in rows
    ]
    found = Lengths(np.empty(len(kept[0])), np.empty(len(kept[0])))
    kinds = list(_finite_alike(terms))
    if len(kinds) > MOST_KINDS:
        return None
    for infinite, here in kinds:
        whole = len(kinds) == 1
        table = np.array([term if whole else term[here] for term in terms])
        table[infinite] = 0.0
        paths = _all_paths(_Followed([_without(row, infinite) for row in numbered], ends), table)
        if paths is None:
            return None
        found.time_s[here], found.operated_s[here] = _longest(paths, table, len(kept))
    return found


def distinct_terms(seconds: Sequence[Floats]) -> tuple[Ints, list[Floats]]:
    """Return for each term the number of the first one that is equal at all points, from 1 on; 0 for one that is 0."""
    kept: list[Floats] = [np.zeros_like(seconds[0])]
    number = []
    for term in seconds:
        equal = (place for place, one in enumerate(kept) if one[0] == term[0] and np.array_equal(one, term))
        found = next(equal, len(kept))
        if found == len(kept):
            kept.append(term)
        number.append(found)
    return np.array(number), kept


def _finite_alike(terms: Sequence[Floats]) -> Iterator[tuple[Bools, Bools]]:
    """Yield the terms (K,) that are infinite together, and the design points (n,) at which they are."""
    infinite = [np.isinf(term) for term in terms]
    some = [number for number, where in enumerate(infinite) if where.any()]
    code = np.zeros(len(terms[0]), np.int64)
    for place, number in enumerate(some):
        code += infinite[number].astype(np.int64) << place
    for kind in np.unique(code).tolist():
        there = [number for place, number in enumerate(some) if kind >> place & 1]
        yield np.isin(np.arange(len(terms)), there), code == kind


def _without(row: Row, infinite: Bools) -> Row:
    """Remove the paths through terms that are minus infinity."""
    own, term, other, other_term, last, reduced = row
    never = infinite[other_term]
    return own, term, np.where(never, own, other), np.where(never, term, other_term), last, reduced


def _longest(paths: Ints, table: Floats, first_operator: int) -> tuple[Floats, Floats]:
    """Return the length of the longest path (n,), and of its operators, for terms ``table`` (K, n)."""
    counts = paths.astype(np.float64)
    time_s, operated_s = np.empty(table.shape[1]), np.zeros(table.shape[1])
    at_once = max(1, AT_ONCE // len(paths))
    for low in range(0, table.shape[1], at_once):
        some = slice(low, low + at_once)
        lengths = counts @ table[:, some]
        time_s[some] = lengths.max(axis=0)
        if counts[:, first_operator:].any():
            operated = counts[:, first_operator:] @ table[first_operator:, some]
            operated_s[some] = np.take_along_axis(operated, lengths.argmax(axis=0)[None], axis=0)[0]
    return time_s, operated_s


class _Followed:
    """A course that is followed moment by moment, with the path to its end."""

    def __init__(self, rows: Sequence[Row], ends: Ints) -> None:
        self._rows, self._ends = rows, ends
        first = np.zeros(1, np.int64)
        self._columns = [np.concatenate([first, *(row[column] for row in rows)]) for column in range(6)]

    def paths(self, terms: Floats) -> tuple[Floats, Ints]:
        """Return the lengths (n,) of the longest paths and their counts (n, K), for ``terms`` (K, n)."""
        at_once = max(16, AT_ONCE // len(self._columns[0]))
        parts = [self._some(terms[:, low : low + at_once]) for low in range(0, terms.shape[1], at_once)]
        return np.concatenate([length for length, _ in parts]), np.concatenate([counts for _, counts in parts])

    def _some(self, terms: Floats) -> tuple[Floats, Ints]:
        moments, points = len(self._columns[0]), np.arange(terms.shape[1])
        at, by_other = np.zeros((moments, len(points))), np.zeros((moments, len(points)), np.bool_)
        begin = 1
        for own, term, other, other_term, last, reduced in self._rows:
            here = slice(begin, begin + len(own))
            begin += len(own)
            by_own_s, by_other_s = at[own] + terms[term], at[other] + terms[other_term]
            by_other[here] = by_other_s > by_own_s
            at[here] = np.maximum(by_own_s, by_other_s) + terms[last] + terms[reduced]
        done = at[self._ends]
        end = done.argmax(axis=0)
        return done[end, points], self._counts(by_other, self._ends[end], len(terms))

    def _counts(self, by_other: Bools, moment: Ints, terms: int) -> Ints:
        """Count the terms from the ends back to the first moment."""
        own, term, other, other_term, last, reduced = self._columns
        points = np.arange(len(moment))
        counts = np.zeros((len(moment), terms), np.int64)
        while moment.any():
            before = by_other[moment, points]
            for one in (np.where(before, other_term[moment], term[moment]), last[moment], reduced[moment]):
                counts[points, one] += 1
            moment = np.where(before, other[moment], own[moment])
        counts[:, 0] = 0
        return counts


class _Box(NamedTuple):
    """All design points, whose terms (K,) are ``origin`` + ``axes`` (K, d) times numbers from 0 to 1, scaled."""

    origin: Floats
    axes: Floats

    def terms(self, places: Floats) -> Floats:
        """Return terms (K, m) of places (d, m)."""
        return self.origin[:, None] + self.axes @ places


def _box(table: Floats) -> _Box:
    """Return the box along the principal axes of terms (K, n), each point divided by the sum of its terms."""
    origin = next(_scaled(table, 1))[:, 0]
    triangle: Floats = np.zeros((0, len(table)))
    for some in _scaled(table, SOME_POINTS):
        triangle = np.asarray(np.linalg.qr(np.concatenate([triangle, some.T - origin]), mode="r"))
    axes: Floats = np.linalg.svd(triangle)[2]
    low, high = np.full((2, len(table)), np.inf) * [[1.0], [-1.0]]
    for some in _scaled(table, SOME_POINTS):
        places = axes @ (some - origin[:, None])
        low, high = np.minimum(low, places.min(axis=1)), np.maximum(high, places.max(axis=1))
    differ = high - low > SAME
    return _Box(origin + axes[differ].T @ low[differ], axes[differ].T * (high - low)[differ])


def _scaled(table: Floats, at_once: int) -> Iterator[Floats]:
    """Yield the terms (K, m) of some design points after others, divided by their sums."""
    for low in range(0, table.shape[1], at_once):
        some = table[:, low : low + at_once]
        total = some.sum(axis=0)
        yield some / np.where(total > 0, total, 1.0)


def _all_paths(course: _Followed, table: Floats) -> Ints | None:
    """Return the counts (paths, K) of all paths that are the longest somewhere in the box of ``table`` (K, n)."""
    box = _box(table)
    dimensions = box.axes.shape[1]
    if dimensions > MOST_DIMENSIONS:
        return None
    some = np.linspace(0, table.shape[1] - 1, min(FIRST_POINTS, table.shape[1])).astype(np.int64)
    ends = np.indices((2,) * dimensions, dtype=np.float64).reshape(dimensions, 2**dimensions)
    paths = np.unique(course.paths(np.concatenate([table[:, some], box.terms(ends)], axis=1))[1], axis=0)
    while dimensions and len(paths) * dimensions <= MOST_PATHS:
        corners = _corners(paths, box)
        if corners is None:
            return None
        terms = box.terms(corners)
        length, counts = course.paths(terms)
        exceeds = length > (paths @ terms).max(axis=0) + ROUNDING * (paths @ np.abs(terms)).max(axis=0)
        longer = np.unique(np.concatenate([paths, counts[exceeds]]), axis=0)
        if len(longer) == len(paths):
            return paths
        paths = longer
    return None if dimensions else paths


def _corners(paths: Ints, box: _Box) -> Floats | None:
    """Return the places (d, m) between which the largest length of some paths is linear; None if there are too many.

    They are the corners of the polytope of places and lengths that are at least the length of every path."""
    from scipy.spatial import HalfspaceIntersection, QhullError

    dimensions = box.axes.shape[1]
    slope, constant = paths @ box.axes, paths @ box.origin
    most = np.max(constant + np.maximum(slope, 0).sum(axis=1)) or 1.0
    unit, nothing = np.eye(dimensions), np.zeros((dimensions, 1))
    above = np.column_stack([slope / most, np.full(len(paths), -1.0), constant / most])
    inside = [np.hstack([-unit, nothing, nothing]), np.hstack([unit, nothing, nothing - 1])]
    below = np.array([[0.0] * dimensions + [1.0, -2.0]])
    inner = np.array([0.5] * dimensions + [1.5])
    try:
        corners = HalfspaceIntersection(np.concatenate([above, *inside, below]), inner).intersections
    except QhullError:
        return None
    corners = corners[np.isfinite(corners).all(axis=1) & (corners[:, -1] < 1.75)]
    return np.clip(corners[:, :-1], 0.0, 1.0).T if len(corners) <= MOST_CORNERS else None
