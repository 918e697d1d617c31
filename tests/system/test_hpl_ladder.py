"""The ladder of Linpack on Dahu: days, segments of ping-pongs and their noise are those of the data, and its rungs add up."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests import ROOT
from validation.measured import hpl, hpl_ladder
from validation.published import tables


def test_days_are_ratios_to_the_mean_of_each_processor_the_fastest_first() -> None:
    ratios = hpl_ladder.days()
    assert ratios.shape == (64, 22)
    assert not {*ratios.columns} & {*hpl.HOT_DAYS}
    assert ratios.mean(axis=1).tolist() == pytest.approx([1.0] * 64, abs=2e-3)  # but for what was not measured
    means = ratios.mean().tolist()
    assert means == sorted(means)


def test_a_day_changes_each_processor_by_its_ratio() -> None:
    base, day = hpl.machine(hot=False), hpl_ladder.days().iloc[:, 0]
    here = hpl_ladder.of_day(base, day).processor
    assert here.speeds is not None
    seconds = 2 / (here.rate_flop_per_s * np.array(here.speeds))
    frame = tables.table("dahu-dgemm").sort_values(["node", "cpu"])[day.name]
    measured = frame.notna().to_numpy()
    assert seconds[measured] == pytest.approx(frame.to_numpy()[measured] * 1e-11, rel=1e-9)


def test_segments_meet_the_ping_pongs_between_those_that_they_were_fitted_to() -> None:
    """What the sizes for calibration differ from the segments by, as a standard deviation, is the tolerance."""
    frame = hpl_ladder.ping_pongs("evidence")
    predicted_s = hpl_ladder.predicted_s(frame.bytes.to_numpy(float))
    errors = predicted_s / (frame.one_way_us.to_numpy(float) / 1e6) - 1
    assert len(frame) == 100
    assert float(np.median(np.abs(errors))) < float(np.std(hpl_ladder.noise_ratios()))


@pytest.mark.thorough
def test_rungs_of_a_small_matrix() -> None:
    rungs = {one.name: one for one in hpl_ladder.rungs(2560, hot=False, seeds=(0,))}
    assert [*rungs] == [
        "forecast",
        "one speed",
        "each its own",
        "layout",
        "two rings",
        "drift",
        "segments",
        "network noise",
    ]
    drift = rungs["drift"]
    assert drift.low_s < drift.time_s < drift.high_s
    # A run in which every processor has its speed takes no less than at the mean speed of all.
    assert rungs["each its own"].time_s > rungs["one speed"].time_s
    assert rungs["network noise"].time_s != rungs["segments"].time_s


def test_the_ladders_of_the_documentation_end_at_what_was_measured() -> None:
    text = (ROOT / "docs" / "measured-machines.md").read_text(encoding="utf-8")
    (head,) = re.findall(r"^\| rung \| (.*) \|$", text, flags=re.MULTILINE)
    orders = [int(order.replace(",", "")) for order in re.findall(r"order ([\d,]+)", head)]
    rows = re.findall(r"^\| (?:measured) \| (.*) \|$", text, flags=re.MULTILINE)
    cells = [cell.strip() for row in rows for cell in row.split("|")]
    measured = [cell for cell in cells if cell]
    assert orders
    for order, cell in zip(orders, measured, strict=False):
        assert float(cell.split()[0]) == pytest.approx(float(hpl.measured("2019-03", order)), abs=0.05)
