"""The table of docs/placement.md: a burst on a part of a mesh, placed in three ways."""

from __future__ import annotations

import re

import pytest

from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from tests import ROOT

ROWS = re.findall(r"^\| `(\w+)` \| (\d+) \| ([0-9.]+) \|$", (ROOT / "docs" / "placement.md").read_text(), re.MULTILINE)


def test_all_rows_are_found() -> None:
    assert [row[0] for row in ROWS] == ["linear", "grid", "random"]


@pytest.mark.parametrize(("mapping", "links", "time_ms"), ROWS)
def test_table(mapping: str, links: str, time_ms: str) -> None:
    result = simulate("burst", load_machine("mesh-256", {"mapping": mapping}), {"P": 16})
    assert result.use is not None
    assert result.use.links == int(links)
    assert f"{1e3 * float(result.makespan_s):.3f}" == time_ms
