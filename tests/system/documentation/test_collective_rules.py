"""The table docs/tables/collective-rules.csv selects the algorithms that ``auto`` and ``nccl`` select."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from simcodesign.core.units import parse_quantity
from simcodesign.describe.network.algorithm_choice import chosen_rules
from simcodesign.describe.network.open_mpi_rules import LIBRARIES
from tests.system.documentation import csv_rows

RANKS = (*range(1, 20), 24, 32, 59, 60, 61, 64, 127, 128, 129, 300, 1024)
BOUNDS = (8, 200, 256, 300, 512, 1024, 2048, 3000, 4096, 6000, 10_000, 12_288, 20_480, 32_768, 50_000, 81_920, 92_160)
SIZES = sorted(
    {bound + step for bound in (*BOUNDS, 262_144, 370_728, 524_288, 2**22, 2**27) for step in (-1, 0, 1)}
    | {131_072 * ranks + step for ranks in RANKS for step in (0, 1)}
    | {262_144 * ranks + step for ranks in RANKS for step in (0, 1)}
)
ROWS = {
    (row["rules"], row["operation"]): row["the first condition that is true selects"].split("; ")
    for row in csv_rows("collective-rules")
}


def choice(text: str) -> tuple[str, str]:
    """Return the algorithm, with its segment, and the condition of a part of a cell."""
    selected, _, condition = text.removeprefix("otherwise ").partition(" if ")
    return selected, condition or "otherwise"


def holds(condition: str, ranks: int, size_bytes: int) -> bool:
    """Evaluate a condition of the table."""
    if condition == "otherwise":
        return True
    python = condition.replace("P = 2^k", "P & (P - 1) == 0").replace("P even", "P % 2 == 0")
    python = re.sub(r"([\d.]+(?:e-\d+)?|\bP) ([nP])\b", r"\1 * \2", python)
    return bool(eval(python, {"__builtins__": {}}, {"P": ranks, "n": size_bytes}))


def test_it_has_every_operation_with_rules() -> None:
    libraries = ("mpich", "open_mpi", "nccl")
    assert {*ROWS} == {(name, operation) for name in libraries for operation in LIBRARIES[name]}


@pytest.mark.parametrize("key", ROWS, ids="-".join)
def test_its_first_true_condition_selects_the_algorithm(key: tuple[str, str]) -> None:
    library, operation = key
    points = np.array([*product(RANKS, SIZES)])
    choices = [choice(text) for text in ROWS[key]]
    for rule, is_chosen in chosen_rules(LIBRARIES[library][operation], *points.astype(float).T):
        for ranks, size in points[is_chosen].tolist():
            selected = next(selected for selected, condition in choices if holds(condition, ranks, size))
            name, _, segment = selected.replace(" (order: near)", "_near").partition(" in ")
            segment_bytes = parse_quantity(segment, "size") if segment else None
            assert (name, segment_bytes) == (rule.algorithm, rule.segment_bytes), (ranks, size)
