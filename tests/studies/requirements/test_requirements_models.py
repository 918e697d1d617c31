"""The models that the validation computes by itself: what its claims about bases rest on."""

from __future__ import annotations

import random

import pytest

from validation.papers.requirements.models import APPS, RATIOS, UPGRADES, largest, model, ratios
from validation.papers.requirements.upgrades import BASE_M, BASE_P, BEST_BASES
from validation.published.tables import number


def agreeing(app: str, p: float, m: float) -> int:
    """Entries of Table V with which a base agrees, to half a unit of the first decimal."""
    return sum(
        abs(ratios(app, upgrade, p, m)[column] - number("requirements-table-5", column, upgrade=upgrade, app=app))
        <= 0.05 + 1e-9
        for upgrade in UPGRADES
        for column in RATIOS
    )


@pytest.mark.parametrize(
    ("app", "entries"), [("kripke", 14), ("lulesh", 8), ("milc", 15), ("relearn", 10), ("icofoam", 5)]
)
@pytest.mark.thorough
def test_no_other_base_agrees_with_more_entries(app: str, entries: int) -> None:
    p, m = (BASE_P, BASE_M)
    if app in BEST_BASES:
        p, n = BEST_BASES[app]
        m = model(app, "bytes_used", n, p)
    assert agreeing(app, p, m) == entries
    draw = random.Random(7)
    for _ in range(15):
        other = 2.0 ** draw.uniform(7, 32)
        assert agreeing(app, other, model(app, "bytes_used", 10 ** draw.uniform(0.3, 12), other)) <= entries


@pytest.mark.parametrize("app", APPS)
def test_what_fills_a_memory_fills_it(app: str) -> None:
    n = largest(app, 1024.0, 1e9)
    assert model(app, "bytes_used", n, 1024.0) == pytest.approx(1e9, rel=1e-12)
    assert largest("icofoam", 2e9, 5e6) == 0
