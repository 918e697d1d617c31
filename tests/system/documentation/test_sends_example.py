"""The example of docs/collectives.md about how messages are sent takes the times that the page works out, and its table
has the algorithms that send in a way of their own."""

from __future__ import annotations

import re

import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.describe.demands.collective import ALGORITHM_SENDS
from simcodesign.describe.network.message_models.hockney import NONBLOCKING
from simcodesign.engine.simulate import simulate
from tests import ROOT, builders

TEXT = (ROOT / "docs" / "collectives.md").read_text(encoding="utf-8")
SECTION = TEXT.split("## How messages are sent")[1].split("\n## ")[0]


@pytest.mark.parametrize("phase", ["own", "stated"])
def test_the_example_takes_what_the_page_says(phase: str) -> None:
    file = re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL)[0]
    said = re.search(rf"`{phase}` takes [^=]* = (\d+) us", SECTION)
    assert said is not None
    step = next(line for line in file.splitlines() if f"phase: {phase}," in line)
    work = builders.workload(step.strip())
    on = builders.machine(builders.network(8, startup_s=4e-6, per_byte_s=1e-9, sends=NONBLOCKING))
    expected = pytest.approx(int(said[1]) * 1e-6, rel=1e-12)
    assert forecast(work, on, {"P": 8}).makespan_s == expected
    assert simulate(work, on, {"P": 8}, effects="none").makespan_s == expected


def test_the_table_has_every_algorithm_with_sends_of_its_own() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)`([^|]*)\| `(\w+)` \|", SECTION, re.MULTILINE)
    named = {(operation, algorithm): sends for operation, algorithm, _, sends in rows}
    both = {(operation, f"{name}_near") for operation, name, orders, _ in rows if "both orders" in orders}
    assert named | {(operation, name): named[operation, name.removesuffix("_near")] for operation, name in both} == (
        ALGORITHM_SENDS
    )
