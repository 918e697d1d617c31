"""Cost of ownership and carbon, by hand: 5 years of 365.25 days, a kWh of 3.6 MJ."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.studies.explore.models.machine_model import MachineModel
from simcodesign.studies.explore.models.native_model import NativeModel
from simcodesign.studies.sweep.evaluate import SweepEvaluator, forecast_frame, result_columns
from simcodesign.studies.sweep.sweep import sweep_of

HOURS = 5 * 365.25 * 24
PAIR: dict[str, Any] = {
    "name": "pair",
    "nodes": 2,
    "processor": {"rate": "1 GFLOP/s", "dynamic_power": "50 W"},
    "network": {"topology": {"kind": "crossbar"}, "startup": "1 us", "bandwidth": "1 GB/s"},
    "components": {"node": {"count": "nodes", "price": 4000, "static_power": "150 W", "embodied_carbon": 1000}},
    "ownership": {"years": 5, "energy_price": 0.25, "pue": 1.2, "carbon_intensity": 400},
}
WORK = {"name": "work", "program": [{"compute": {"flops": "3600e9"}}]}  # an hour on each of two processors


def metrics(**changes: object) -> dict[str, float]:
    machine, workload = sc.Machine.load(PAIR, changes), sc.Workload.load(WORK)
    model = NativeModel(sc.Scenario.of(workload, machine, {"P": 2}))
    found = model.evaluate({"P": np.array([2.0])})
    simulated = model.simulate({"P": 2.0})
    names = ("price", "energy", "ownership_cost", "run_cost", "carbon", "embodied_carbon")
    own = {name: float(np.ravel(found[name])[0]) for name in names if name in found}
    assert own == pytest.approx({name: float(np.asarray(simulated[name])) for name in own}, rel=1e-12)
    return own


def test_an_hour_at_full_power() -> None:
    """2 x 200 W for an hour are 0.4 kWh; the building takes 0.48 kWh, which cost 0.12 and emit 192 g."""
    found = metrics()
    assert found["energy"] == pytest.approx(0.4 * 3.6e6)
    assert found["run_cost"] == pytest.approx(0.12 + 8000 / HOURS)
    assert found["carbon"] == pytest.approx(0.192 + 2000 / HOURS)
    assert found["ownership_cost"] == pytest.approx(8000 + 0.48 * HOURS * 0.25)
    assert found["ownership_cost"] == pytest.approx(found["run_cost"] * HOURS)


def test_a_machine_alone_is_at_full_power() -> None:
    found = MachineModel(sc.Machine.load(PAIR)).evaluate({"nodes": np.array([1.0, 2.0])})
    assert found["ownership_cost"] == pytest.approx([4000 + 0.24 * HOURS * 0.25, 8000 + 0.48 * HOURS * 0.25])
    assert {"run_cost", "carbon", "energy"}.isdisjoint(found)


def test_what_is_not_stated_is_no_metric() -> None:
    ownership = {key: value for key, value in PAIR["ownership"].items() if key in ("years", "pue", "energy_price")}
    found = NativeModel(sc.Scenario.of(sc.Workload.load(WORK), sc.Machine.load({**PAIR, "ownership": ownership})))
    assert "carbon" not in found.dimensions
    assert "run_cost" in found.dimensions
    assert {"price", "embodied_carbon"} <= metrics().keys()


@pytest.mark.parametrize(("key", "value"), [("years", 0), ("pue", 0.9), ("energy_price", -1)])
def test_values_that_cannot_be(key: str, value: float) -> None:
    with pytest.raises(InputError, match=f"ownership.{key}"):
        sc.Machine.load(PAIR, {f"ownership.{key}": value})


@pytest.mark.parametrize("simulate", [False, True])
def test_columns_of_a_sweep(simulate: bool, tmp_path: Path) -> None:
    """By both readings, also where the price of energy itself is varied: 1 or 2 of two processors, at 350 or 400 W."""
    (tmp_path / "pair.yaml").write_text(yaml.safe_dump({"simcodesign": 1, **PAIR}))
    sweep = sweep_of(
        sc.Workload.load(WORK),
        tmp_path / "pair.yaml",
        ["ownership.energy_price=0.1,0.5", "P=1,2"],
        simulate=simulate,
    )
    rows = [SweepEvaluator(sweep).results(point) for point in sweep.points()]
    table = forecast_frame(sweep)
    for at, (price, watts) in enumerate([(0.1, 350), (0.1, 400), (0.5, 350), (0.5, 400)]):
        expected = {
            "price": 8000.0,
            "embodied_carbon_kg": 2000.0,
            "static_power_w": 300.0,
            "forecast_run_cost": 1.2e-3 * watts * price + 8000 / HOURS,
            "forecast_carbon_kg": 1.2e-3 * watts * 0.4 + 2000 / HOURS,
            "forecast_ownership_cost": 8000 + 1.2e-3 * watts * HOURS * price,
        }
        if not simulate:
            assert {name: table[name][at] for name in expected} == pytest.approx(expected)
        simulated = {name.replace("forecast", "simulated"): value for name, value in expected.items()}
        expected |= simulated if simulate else {}
        assert {name: rows[at][name] for name in expected} == pytest.approx(expected)
    assert rows[0].keys() <= {*result_columns(simulate)}
