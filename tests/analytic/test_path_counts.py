"""The longest paths of courses at many design points, compared with the moments one after another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.rank_by_rank import alike_ranks, path_counts
from simcodesign.analytic.rank_by_rank.path_counts import Row, by_paths
from simcodesign.describe.network.network import LocalMessages
from tests import builders, examples
from tests.builders import closed_forms

#: Some hundred sums follow one another, each rounded to 1.1e-16.
ROUNDING = 1e-12


def random_course(draws: np.random.Generator, terms: int) -> tuple[list[Row], np.ndarray]:
    """Rows of up to six moments from any two earlier ones, and the last row as ends."""
    rows, moments = [], 1
    for _ in range(int(draws.integers(2, 12))):
        count = int(draws.integers(1, 7))
        own, other = draws.integers(0, moments, (2, count))
        term, other_term, last = draws.integers(0, terms, (3, count))
        rows.append((own, term, other, other_term, last, draws.integers(0, 3, count)))
        moments += count
    return rows, np.arange(moments - count, moments)


def moment_by_moment(rows: list[Row], ends: np.ndarray, seconds: np.ndarray, operators: np.ndarray) -> np.ndarray:
    """The equations of all moments in plain Python, at all points."""
    at = [np.zeros(seconds.shape[1])]
    for row in rows:
        for own, term, other, other_term, last, reduced in zip(*(column.tolist() for column in row), strict=True):
            later = np.maximum(at[own] + seconds[term], at[other] + seconds[other_term])
            at.append(later + seconds[last] + operators[reduced])
    return np.max([at[end] for end in ends], axis=0)


@settings(max_examples=examples(40))
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(3, 7), st.sampled_from([1, 100, 2000]))
def test_random_courses_in_boxes_of_several_dimensions(seed: int, varied: int, terms: int, points: int) -> None:
    """Terms are affine in up to four variables; one of them is minus infinity at half of the points, or 0."""
    draws = np.random.default_rng(seed)
    rows, ends = random_course(draws, terms)
    values = draws.random((varied, points))
    seconds = 1e-6 * (draws.random((terms, 1)) + draws.lognormal(0, 2, (terms, varied)) @ values)
    seconds[0] = 0.0
    operators = np.array([0.0, 1e-7, 3e-6])[:, None] * values[0]
    held = terms  # one term more, of which only the other branch has some
    seconds = np.concatenate([seconds, np.where(values[:1] < 0.5, -np.inf, 0.0)])
    rows = [(*row[:3], np.where(draws.random(len(row[0])) < 0.2, held, row[3]), *row[4:]) for row in rows]
    found = by_paths(rows, ends, list(seconds), list(operators))
    assert found is not None
    expected_s = moment_by_moment(rows, ends, seconds, operators)
    np.testing.assert_allclose(found.time_s, expected_s, rtol=ROUNDING, atol=0)


def test_pieces_by_hand() -> None:
    """max(a + a, b) + c with one operator in the first branch: the pieces meet where 2 a + r = b."""
    one, nothing = np.array([1]), np.array([0])
    first = (nothing, one, nothing, one, nothing, one)  # m1 = a + r
    second = (one, one, nothing, np.array([2]), np.array([3]), nothing)  # m2 = max(m1 + a, b) + c
    a = np.linspace(0.0, 4.0, 4001)
    seconds = [0.0 * a, a, 5.0 + 0.0 * a, 0.5 + 0.0 * a]
    found = by_paths([first, second], np.array([2]), seconds, [0.0 * a, 1.0 + 0.0 * a])
    assert found is not None
    np.testing.assert_allclose(found.time_s, np.maximum(2 * a + 1, 5) + 0.5, rtol=1e-15)
    clear = np.abs(a - 2) > 1e-9
    assert (found.operated_s == (a > 2))[clear].all()


@pytest.mark.parametrize("rendezvous", [None, 2500.0])
@pytest.mark.parametrize("operation", ["allreduce", "allgather"])
def test_rings_in_groups_on_two_levels_have_few_paths(
    operation: str, rendezvous: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups that share nodes irregularly, where a path has up to seven kinds of terms; as single forecasts."""
    monkeypatch.setattr(alike_ranks, "_by_moments", None)
    local = LocalMessages(1e-6, 1e-10)
    more = {"receive_overhead_s": 4e-7, "reduction_per_byte_s": 3e-10, "rendezvous_above_bytes": rendezvous}
    on = builders.machine(builders.network(16, node=local, sends="nonblocking", **more), processors_per_node=4)
    head = "parameters: {n: {default: 1}}\ngroups: {g: 'floor(rank*rank/5) % 4'}\n"
    work = builders.workload(f"- {operation}: {{bytes: n, algorithm: ring, group: g}}", head)
    n = np.geomspace(1, 1e6, 2000)
    every = closed_forms(work, on, {"P": 24, "n": n}).makespan_s
    monkeypatch.undo()
    for point in (0, 400, 1000, 1999):
        one = closed_forms(work, on, {"P": 24, "n": float(n[point])}).makespan_s
        assert every[point] == pytest.approx(one, rel=ROUNDING)


def test_too_many_paths_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(1)
    rows, ends = random_course(draws, 5)
    seconds = [np.zeros(50), *draws.random((4, 50))]
    monkeypatch.setattr(path_counts, "MOST_DIMENSIONS", 2)
    assert by_paths(rows, ends, seconds, [np.zeros(50)] * 3) is None
