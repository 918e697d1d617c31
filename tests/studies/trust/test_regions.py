"""Conditions in words, held against all boxes that there are, and against the points that they are about."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.units import parse_quantity
from simcodesign.studies.trust.regions import (
    MOST_SIDES,
    MOST_STEPS,
    Coordinate,
    Limit,
    box_condition,
    condition_of,
    staircase,
)
from tests import examples

NUMBERS = (1.0, 2.0, 4.0, 8.0)
WORDS = ("mesh", "torus", "tree")


def grid(*axes: tuple[Any, ...]) -> list[Coordinate]:
    """The points of a grid, named x, y, z."""
    points = list(product(*axes))
    columns = [[point[at] for point in points] for at in range(len(axes))]
    return [
        Coordinate(name, np.array(column, dtype=object if isinstance(column[0], str) else np.float64))
        for name, column in zip("xyz", columns, strict=False)
    ]


def boxes(coordinates: list[Coordinate]) -> Iterator[tuple[int, np.ndarray]]:
    """Every box on these points: its number of sides, and where it is true."""
    for choices in product(*(parts(one) for one in coordinates)):
        holds = np.ones(len(coordinates[0].values), dtype=bool)
        for _, part in choices:
            holds &= part
        yield sum(count for count, _ in choices), holds


def parts(one: Coordinate) -> list[tuple[int, np.ndarray]]:
    """What can be said of one coordinate: nothing, a limit, an interval, or a set of words."""
    values = sorted(set(one.values.tolist()))
    nothing = (0, np.ones(len(one.values), dtype=bool))
    if not one.is_numeric:
        subsets = chain.from_iterable(combinations(values, size) for size in range(1, len(values)))
        return [nothing, *((1, np.array([value in subset for value in one.values])) for subset in subsets)]
    above = [(1, one.values >= value) for value in values]
    below = [(1, one.values <= value) for value in values]
    return [nothing, *above, *below, *((2, low & high) for (_, low), (_, high) in product(above, below))]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Coordinate], np.ndarray]:
    """Points of a grid, all or some, and where something holds: in a box, in all but one, or anywhere."""
    axes = draw(st.sampled_from([(NUMBERS,), (NUMBERS, NUMBERS), (WORDS, NUMBERS), (NUMBERS[:3], WORDS, NUMBERS[:3])]))
    coordinates = grid(*axes)
    count = len(coordinates[0].values)
    kept = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count))) | draw(st.booleans())
    kept[draw(st.integers(0, count - 1))] = True
    coordinates = [Coordinate(one.name, one.values[kept]) for one in coordinates]
    kind = draw(st.sampled_from(["box", "rest", "any"]))
    if kind == "any":
        size = int(kept.sum())
        return coordinates, np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    _, holds = draw(st.sampled_from(list(boxes(coordinates))))
    return coordinates, holds if kind == "box" else ~holds


@given(cases())
@settings(max_examples=examples(200), deadline=None)
def test_a_condition_is_exact_and_none_has_fewer_sides(case: tuple[list[Coordinate], np.ndarray]) -> None:
    coordinates, holds = case
    found = box_condition(coordinates, holds)
    fitting = [
        (sides, is_rest)
        for sides, inside in boxes(coordinates)
        for is_rest in (False, True)
        if np.array_equal(~inside if is_rest else inside, holds) and 0 < sides <= MOST_SIDES
    ]
    if holds.all() or not holds.any() or not fitting:
        assert found is None
        return
    assert found is not None
    assert np.array_equal(found.holds(coordinates), holds)
    fewest = min(sides for sides, _ in fitting)
    assert len(found.sides) == fewest
    is_box = len(found.any_of) == 1
    assert is_box == ((fewest, False) in fitting or fewest == 1)


@given(st.data())
@settings(max_examples=examples(300), deadline=None)
def test_a_staircase_is_found_where_there_is_one_and_is_exact(data: st.DataObject) -> None:
    """Any set of points, or the union of some quadrants that open in one direction."""
    coordinates = grid(NUMBERS, (1.0, 3.0, 9.0, 27.0, 81.0))
    x, y = (one.values for one in coordinates)
    corners = data.draw(st.lists(st.tuples(st.sampled_from(x.tolist()), st.sampled_from(y.tolist())), max_size=3))
    signs = data.draw(st.tuples(*[st.sampled_from([-1, 1])] * 2))
    holds = np.zeros(len(x), dtype=bool)
    for across, up in corners:
        holds |= (signs[0] * (x - across) >= 0) & (signs[1] * (y - up) >= 0)
    flipped = data.draw(st.lists(st.integers(0, len(x) - 1), max_size=2))
    holds[flipped] ^= True
    found = staircase(coordinates, holds)
    if found is not None:
        assert np.array_equal(found.holds(coordinates), holds)
        assert len(found.any_of) <= MOST_STEPS
    if corners and not flipped and not holds.all():
        assert found is not None


def test_words_of_a_staircase() -> None:
    coordinates = grid(NUMBERS, NUMBERS)
    x, y = (one.values for one in coordinates)
    found = condition_of(coordinates, (x <= 1) | (y >= 8) | ((x <= 4) & (y >= 2)))
    assert found is not None
    assert found.text == "y >= 8, or x <= 4 and y >= 2, or x <= 1"


@pytest.mark.parametrize(
    ("holds", "text"),
    [
        (lambda x, y: (x <= 4) & (y <= 2), "x <= 4 and y <= 2"),
        (lambda x, y: (x > 4) | (y > 2), "x >= 8 or y >= 4"),
        (lambda x, y: (x >= 2) & (x <= 4), "2 <= x <= 4"),
        (lambda x, y: (x == 2) & (y >= 4), "x = 2 and y >= 4"),
        (lambda x, y: x * y <= 8, "x*y <= 8"),
        (lambda x, y: x / y > 1, "x/y >= 2"),
        (lambda x, y: (x + y) % 2 == 0, None),
    ],
)
def test_words(holds: Any, text: str | None) -> None:
    coordinates = grid(NUMBERS, NUMBERS)
    found = condition_of(coordinates, holds(coordinates[0].values, coordinates[1].values))
    assert (None if found is None else found.text) == text


def test_words_of_an_axis() -> None:
    coordinates = grid(WORDS, NUMBERS)
    kinds, numbers = (one.values for one in coordinates)
    found = box_condition(coordinates, np.isin(kinds.astype(str), ["mesh", "tree"]) & (numbers >= 2))
    assert found is not None
    assert found.text == "x is mesh or tree and y >= 2"


def test_products_with_units_stay_sizes_and_others_are_not_made() -> None:
    ranks, size = grid(NUMBERS, tuple(1024 * number for number in NUMBERS))
    in_bytes = Coordinate("m", size.values, "B")
    found = condition_of([ranks, in_bytes], ranks.values * size.values <= 8 * 1024)
    assert found is not None
    assert found.text == "m*x <= 8 KiB"
    seconds = Coordinate("t", ranks.values, "s")
    assert condition_of([seconds, in_bytes], ranks.values * size.values <= 8 * 1024) is None


@given(st.floats(1e-9, 1e15), st.floats(1e-15, 10.0), st.sampled_from(["", "B", "s", "B/s"]))
@settings(max_examples=examples(400), deadline=None)
def test_a_threshold_as_stated_is_true_of_the_values_on_both_sides(value: float, apart: float, unit: str) -> None:
    dimension = {"": "count", "B": "size", "s": "time", "B/s": "bandwidth"}[unit]
    for sign, beyond in (("<=", value * (1 + apart)), (">=", value / (1 + apart))):
        if beyond == value:
            continue
        stated = parse_quantity(Limit("m", sign, value, beyond, unit).amount, dimension)
        if apart > 1e-9:  # thresholds nearer than that are shown with all their digits
            assert value <= stated < beyond if sign == "<=" else beyond < stated <= value


def test_a_grid_of_ten_thousand_points_and_a_diagonal() -> None:
    """A staircase with a hundred steps has no simple condition in its axes: all boxes are refused at once."""
    axis = tuple(float(2**power) for power in range(100))
    x, y = grid(axis, axis)
    found = condition_of([x, y], x.values * y.values <= 2.0**50)
    assert found is not None
    assert found.text == "x*y <= 1.126e+15"
