"""Metrics that a machine file defines, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.machine_metrics import HardwareMetrics
from simcodesign.describe.yaml.files import load_machine
from simcodesign.studies.explore.models.machine_model import MachineModel
from simcodesign.studies.explore.models.model_interfaces import Extra
from tests.describe.test_resources import machine, using


def test_all_at_once_without_a_workload() -> None:
    # flops: 4 x 3 W of each of 8 processors; loads only takes energy by the byte.
    assert HardwareMetrics(machine(), run=False).evaluate(machine(), None)["full_power"] == 4 * 100 + 8 * 2.0 + 8 * 12
    # GPUs at 250 W: flops, loads and stores are never at work at the same time.
    keeneland = load_machine("keeneland")
    assert MachineModel(keeneland).evaluate({"nodes": np.array([1.0, 60.0])})["full_power"] == pytest.approx(
        np.array([1.0, 60.0]) * (3 * 250 + 20)
    )


def test_metrics() -> None:
    own = machine()
    metrics = HardwareMetrics(own)
    block = using("{flops: 2e9}")
    result = forecast(block, own)
    values = metrics.evaluate(own, None, result)
    assert values.keys() == metrics.dimensions.keys()
    assert values == {
        "peak": 4 * 4e9 * 8,
        "doubled": 4e9,
        "rack_units": 8,
        "die_area": 8 * 500e-6,
        "price": 4000,
        "static_power": 416,
        "full_power": 416 + 96,
        "energy": result.energy_j,
        "peak_power": result.peak_power_w,
    }
    assert {"energy", "peak_power"}.isdisjoint(HardwareMetrics(own, run=False).dimensions)
    assert HardwareMetrics(machine("")).dimensions == {}


def test_it_extends_an_exploration() -> None:
    extra: Extra = HardwareMetrics(machine(), run=False)
    values = MachineModel(machine(), (extra,)).evaluate({"nodes": np.array([1.0, 2.0])})
    assert values["rack_units"] == pytest.approx([2, 4])
    assert values["static_power"] == pytest.approx([100 + 2 * 2, 2 * (100 + 2 * 2)])
