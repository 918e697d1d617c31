"""The bytes of memory that a rank touches in an operation, counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Evaluate
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.demands.footprint import FORMS, MessageDemand, collective_footprint_bytes


def evaluating(**names: FloatOrArray) -> Evaluate:
    def evaluate(expression: Expression, what: str) -> FloatOrArray:
        return expression.evaluate(names)

    return evaluate


def demand(step: dict[str, Any]) -> MessageDemand:
    found = sc.Workload.load({"name": "one", "program": [step]}).program[0]
    assert isinstance(found, MessageDemand)
    return found


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        # Eight ranks, 100 bytes each.
        ({"all_to_all": {"bytes": 100}}, 1600),  # 800 go, 800 come
        ({"allgather": {"bytes": 100}}, 900),  # its own 100, and 800
        ({"all_broadcast": {"bytes": 100}}, 800),
        ({"allreduce": {"bytes": 100}}, 200),
        ({"reduce": {"bytes": 100}}, 200),
        ({"reduce_scatter": {"bytes": 100}}, 200),
        ({"scan": {"bytes": 100}}, 200),
        ({"broadcast": {"bytes": 100}}, 100),
        ({"scatter": {"bytes": 100}}, 800),
        ({"gather": {"bytes": 100}}, 800),
        ({"barrier": {}}, 0),
        ({"send": {"to": 1, "bytes": 100}}, 100),
        ({"exchange": {"pattern": "halo1d", "bytes": 100}}, 400),  # two neighbours, there and back
        ({"exchange": {"pattern": "halo2d", "bytes": [100, 10], "grid": [4, 2]}}, 440),
        ({"exchange": {"pattern": "halo2d", "bytes": [100, 10], "grid": [8, 1]}}, 400),  # nobody in the second one
        ({"exchange": {"pattern": "halo2d", "bytes": [100, 10], "grid": [4, 2], "periodic": "false"}}, 420),
        ({"exchange": {"pattern": "halo1d", "bytes": 100, "messages": 3}}, 1200),
        ({"wavefront": {"grid": [4, 2], "planes": 5, "bytes": [100, 10]}}, 220),
        ({"all_to_all": {"bytes": 100, "footprint": "3*P"}}, 24),
        ({"send": {"to": 1, "bytes": 100, "footprint": 7}}, 7),
        ({"exchange": {"pattern": "halo1d", "bytes": 100, "footprint": 9}}, 9),
        ({"wavefront": {"grid": [4, 2], "planes": 5, "bytes": 1, "footprint": 8}}, 8),
    ],
)
def test_footprint(step: dict[str, Any], wanted: float) -> None:
    assert float(np.asarray(demand(step).footprint_bytes(8.0, evaluating(P=8.0)))) == wanted


def test_every_collective_operation_has_one() -> None:
    assert FORMS.keys() == ALGORITHMS.keys()


def test_sizes_by_rank() -> None:
    """Ranks 0 to 3 send 10, 20, 30, 40 bytes to each: rank 1 sends 80 bytes, and gets 100."""
    step = {"all_to_all": {"bytes": "10*(rank + 1)"}}
    found = demand(step).footprint_bytes(4.0, evaluating(P=4.0, rank=np.arange(4.0)))
    assert np.asarray(found).tolist() == [140, 180, 220, 260]


def test_many_numbers_of_ranks_at_once() -> None:
    ranks = np.array([2.0, 4.0, 8.0])
    assert np.asarray(collective_footprint_bytes("allgather", ranks, 10.0)).tolist() == [30, 50, 90]


def test_an_operation_of_another_package() -> None:
    assert collective_footprint_bytes("shift", 8.0, 10.0) == 20
