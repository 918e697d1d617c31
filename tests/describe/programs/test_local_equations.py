"""Equations with the rank or the index of a loop: the same program as with their expressions written out."""

from __future__ import annotations

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.workload import Workload
from tests.builders import machine, network, read_workload

HEAD = "simcodesign: 1\nname: test\nparameters: {n: {default: 4}, width: {default: 2}}\n"
NAMED = f"""{HEAD}equations:
  is_owner: row == k % rows           # in any order, one using another
  row: rank // width
  rows: P / width
  amount: (n - k)*(1 + is_owner)
groups: {{row: "where(is_owner, row, -1)"}}
program:
  - repeat: n
    index: k
    do:
      - compute: {{seconds: amount, when: is_owner + (row == 0) > 0}}
      - allreduce: {{bytes: 8, group: row}}
"""
WRITTEN_OUT = f"""{HEAD}equations: {{rows: P / width}}
groups: {{row: "where(rank // width == k % rows, rank // width, -1)"}}
program:
  - repeat: n
    index: k
    do:
      - compute: {{seconds: "(n - k)*(1 + (rank // width == k % rows))", when: "(rank // width == k % rows) + (rank // width == 0) > 0"}}
      - allreduce: {{bytes: 8, group: row}}
"""


def test_both_readings_are_those_of_the_program_written_out() -> None:
    on = machine(network(8))
    for reading in (sc.forecast, sc.simulate):
        named, plain = (reading(read_workload(text), on, {"P": 8}).makespan_s for text in (NAMED, WRITTEN_OUT))
        assert named == plain > 0


def test_values_hold_only_equations_that_are_the_same_everywhere() -> None:
    workload = read_workload(NAMED)
    assert list(workload.equations) == ["rows"]
    assert list(workload.local_equations) == ["is_owner", "row", "amount"]
    assert "row" not in sc.forecast(workload, machine(network(8)), {"P": 8}).values


def outside_of_the_loop(step: str, equation: str = "late: k > 1") -> Workload:
    loop = "- {repeat: n, index: k, do: [compute: {seconds: 1}]}"
    return read_workload(f"{HEAD}equations: {{{equation}}}\nprogram:\n  {loop}\n  - {step}\n")


@pytest.mark.parametrize(
    ("step", "equation", "what"),
    [
        ("compute: {seconds: 1, when: late}", "late: k > 1", "unknown name, got 'k'"),
        ("allreduce: {bytes: own}", "own: rank + 1", "'rank' cannot be used in bytes of allreduce"),
        ("compute: {seconds: 1, when: late}", "late: kk + rank", "unknown name 'kk'"),
        ("compute: {seconds: 1, when: a}", "a: b + rank, b: a", "equations need each other: a -> b -> a"),
    ],
)
def test_what_is_wrong_is_an_error_with_its_place(step: str, equation: str, what: str) -> None:
    with pytest.raises(InputError, match=what.replace("'", ".")) as error:
        outside_of_the_loop(step, equation)
    assert "w.yaml:" in str(error.value)
