"""The animation of a cache: its accesses are those of a cache that is gone through by hand, and of the compiled one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.lessons.figures.cache_steps import NONE, cache_cases, cache_steps
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.simulate import simulate_hierarchy
from tests.lessons.small import VIEWS, small_lesson

OPTIONS = {"elements": 64, "strides": [1, 2, 4, 8], "sizes": [128, 256, 512]}


def by_hand(address: list[int], sets: int, ways: int) -> list[tuple[bool, int]]:
    """Whether each access hits, and the line that it evicts: the line of its set that was used longest ago."""
    used: dict[int, int] = {}
    found = []
    for now, one in enumerate(address):
        line = one // 64
        mine = [other for other in used if other % sets == line % sets]
        evicted = NONE
        if line not in used and len(mine) == ways:
            evicted = min(mine, key=used.__getitem__)
        found.append((line in used, evicted))
        used.pop(evicted, None)
        used[line] = now
    return found


@given(
    st.lists(st.integers(0, 1200), min_size=1, max_size=80), st.sampled_from([(1, 1), (1, 4), (2, 2), (4, 1), (3, 2)])
)
def test_accesses_are_those_of_a_cache_by_hand(address: list[int], shape: tuple[int, int]) -> None:
    sets, ways = shape
    cache = CacheGeometry(64 * sets * ways, 64, ways)
    steps = cache_steps(np.array(address), cache)
    assert [(bool(hit), evicted) for _, hit, evicted in steps] == by_hand(address, sets, ways)
    counts = simulate_hierarchy(np.array(address), [cache])
    assert sum(hit for _, hit, _ in steps) == counts.levels[0].hits
    held: dict[int, int] = {}  # what each slot has, as the page draws it
    for one, (slot, hit, evicted) in zip(address, steps, strict=True):
        line = one // 64
        assert slot // ways == line % sets
        assert held.get(slot, NONE) == (line if hit else evicted)
        held[slot] = line


@pytest.mark.parametrize(
    ("stride", "size", "hits"),
    [
        (1, 256, 2 * 8 * 7),  # 7 of 8 accesses to each line; both sweeps load all lines
        (1, 512, 8 * 7 + 64),  # the second sweep finds all of them
        (2, 256, 48),
        (8, 256, 0),
        (8, 512, 8),
    ],
)
def test_hits_of_a_loop_are_counted(stride: int, size: int, hits: int) -> None:
    (case,) = (one for one in cache_cases(OPTIONS) if (one["stride"], one["size"]) == (stride, size))
    assert sum(hit for _, _, hit, _ in case["accesses"]) == hits
    assert len(case["accesses"]) == 2 * 64 // stride


def test_cases_are_in_the_order_of_the_sliders() -> None:
    """The page finds a case by the numbers of stride and size."""
    cases = cache_cases(OPTIONS)
    assert [(one["stride"], one["size"]) for one in cases] == [(a, b) for a in (1, 2, 4, 8) for b in (128, 256, 512)]


def test_the_answer_of_the_lesson_is_what_it_shows() -> None:
    lesson = read_lesson(lesson_folder("caches"))
    (view,) = (one for step in lesson.steps for one in step.views if one.kind == "cache")
    (question,) = (one for step in lesson.steps for one in step.questions if one.name == "walk")
    (case,) = (one for one in cache_cases(view.options) if (one["stride"], one["size"]) == (2, 256))
    found: Any = question
    assert found.answer.evaluate({}) == sum(hit for _, _, hit, _ in case["accesses"])


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("strides: [1], sizes: [64 B]", "'elements' is missing"),
        ("elements: 64, strides: [0], sizes: [64 B]", "whole number out of range"),
        ("elements: 64, strides: [1], sizes: [100 B]", "a multiple of a line"),
        ("elements: 64, strides: [1], sizes: [192 B], ways: 2", "sets of this many ways"),
        ("elements: 64, strides: [1], sizes: [1 GiB]", "too large to be drawn"),
        ("elements: 1000, strides: [1], sizes: [64 B]", "whole number out of range"),
        ("elements: 64, strides: [1, 1, 1, 1, 1, 1, 1, 1, 1], sizes: [64 B]", "9 values"),
        ("elements: 64, strides: [1], sizes: [64 B], run: near", "shows no run"),
    ],
)
def test_a_cache_that_cannot_be_is_named(options: str, word: str, tmp_path: Path) -> None:
    change = (VIEWS[0], VIEWS[0] + f"      - {{kind: cache, {options}}}\n")
    with pytest.raises(InputError, match=word) as caught:
        read_lesson(small_lesson(tmp_path / "small", change))
    assert caught.value.place is not None
    assert caught.value.place.line
