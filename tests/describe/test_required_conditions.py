"""Conditions that a workload file states under ``requires``: both readings and searches refuse values that break one."""

from __future__ import annotations

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from tests.builders import read_workload

FILE = """simcodesign: 1
name: blocks
parameters:
  n: {default: 12, whole: true}
  b: {default: 4, unit: B}
  order: {default: row, choices: {row: 0, column: 1}}
equations:
  rest: n % b
requires:
  n is a multiple of b: rest == 0
  order is row for more than 20: (n <= 20) + (order == 0) > 0
program:
  - compute: {flops: n}
"""


def test_values_that_break_a_condition_are_an_error_with_its_words_and_the_values() -> None:
    workload = read_workload(FILE)
    assert sc.forecast(workload, "crossbar-16", {"n": 16}).makespan_s > 0
    with pytest.raises(
        InputError, match=r"values that blocks does not allow, got 'rest=2' \(allowed: n is a multiple of b"
    ):
        sc.forecast(workload, "crossbar-16", {"n": 14})
    with pytest.raises(InputError, match=r"requires\.order is row.*got 'n=24, order=column'"):
        sc.simulate(workload, "crossbar-16", {"n": 24, "order": "column"})


def test_of_an_array_the_first_point_that_breaks_a_condition_is_shown() -> None:
    many = {"n": np.array([24.0, 16.0, 26.0, 27.0])}
    with pytest.raises(InputError, match=r"got 'rest=2'"):
        sc.forecast(read_workload(FILE), "crossbar-16", many)


def test_explore_counts_the_points() -> None:
    found = sc.explore(read_workload(FILE), "crossbar-16", vary={"n": [9, 10, 11, 12]}, minimize="time")
    assert found.point is not None
    assert found.point.values["n"] == 12
    assert [one.count for one in found.refusals] == [3]


@pytest.mark.parametrize("condition", ["rank == 0", "m > 0"])
def test_a_condition_is_over_parameters_equations_and_ranks(condition: str) -> None:
    with pytest.raises(InputError, match="allowed"):
        read_workload(FILE.replace("rest == 0", condition))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tensor": 3, "P": 3}, "heads is a multiple of tensor"),
        ({"tensor": 2, "P": 3}, "P is a multiple of tensor"),
        ({"heads": 30}, "hidden is a multiple of heads"),
        ({"kv_heads": 7}, "heads is a multiple of kv_heads"),
        ({"kv_heads": 5, "tensor": 8, "P": 8}, "one of kv_heads and tensor is a multiple of the other"),
    ],
)
def test_what_inference_refuses(change: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=f"allowed: {words}"):
        sc.forecast("inference", "selene", {"P": 1} | change)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tensor": 5, "P": 5}, "heads is a multiple of tensor"),
        ({"heads": 40}, "hidden is a multiple of heads"),
        ({"pipeline": 3, "tensor": 1, "P": 3, "layers": 40}, "layers is a multiple"),
        (
            {"pipeline": 4, "tensor": 1, "P": 4, "virtual_stages": 2, "global_batch": 6, "micro_batch": 1},
            "micro_batches % group is 0 or at least pipeline",
        ),
        (
            {"pipeline": 4, "tensor": 1, "P": 4, "virtual_stages": 2, "global_batch": 3, "micro_batch": 1},
            "group is at least pipeline and at most micro_batches",
        ),
    ],
)
def test_what_gpt_refuses(change: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=f"allowed: {words}"):
        sc.forecast("gpt", "selene", {"P": 8} | change)
