"""Runs of the demonstration: three questions that a formula answers wrongly and the simulation explains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from simcodesign.comparison.compare import Comparison, compare
from simcodesign.describe.measured.times import MeasuredTimes, MeasuredValue
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_machine, shipped_path

MIB = 2**20
#: Nodes along each side of the jobs.
SIDES = {"2x2x2": 2, "4x4x4": 4, "8x8x8": 8}
BROADCAST_BYTES = 64 * MIB
#: Machines of one kind of node; the second has more links.
NETWORKS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "mesh 8x8": ("mesh-256", {"nodes": 64, "network.topology.shape": [8, 8]}),
    "hypercube": ("hypercube-256", {"nodes": 64}),
}
EXCHANGE = {"P": 64, "size": 64 * 65536}
#: So few operations are simulated by the engine that needs no compilation.
ENGINE = "simpy"


@dataclass(frozen=True)
class Run:
    """A scenario, and the comparison of its readings."""

    scenario: Scenario
    comparison: Comparison

    @staticmethod
    def of(scenario: Scenario, measured: MeasuredTimes | None = None) -> Run:
        """Forecast it and simulate it, with the effects one after another."""
        return Run(scenario, compare(scenario, measured=measured, engine=ENGINE))

    def change_s(self, effect: str) -> float:
        """Change by an effect."""
        return next(rung.change_s for rung in self.comparison.rungs if rung.effect == effect)


@dataclass(frozen=True)
class Runs:
    """All of them: broadcasts by shape, exchanges by network, and SPECseis96."""

    broadcasts: Mapping[str, Run]
    exchanges: Mapping[str, Run]
    seismic: Run


def run_all() -> Runs:
    """Simulate everything."""
    return Runs(
        {shape: broadcast(shape) for shape in SIDES},
        {name: exchange(name) for name in NETWORKS},
        Run.of(Scenario.of("seismic", "power-challenge", {"P": 16}, preset="test")),
    )


def broadcast(shape: str) -> Run:
    """Broadcast of 64 MiB down a binomial tree on a job of Fugaku, to all children concurrently, as it was measured."""
    side = SIDES[shape]
    values = {"P": side**3, "m": BROADCAST_BYTES, "order": "near"}
    machine = load_machine("fugaku", {"mapping.job": [side] * 3})
    return Run.of(Scenario.of("broadcast", machine, values), measured_broadcast(shape))


def measured_broadcast(shape: str) -> MeasuredTimes:
    """Return the median and the quartiles that PICO published."""
    table = pd.read_csv(shipped_path("validation", "published/fugaku-collectives.csv"), comment="#")
    here = table[(table.algorithm == "binomial") & (table["shape"] == shape) & (table.bytes == BROADCAST_BYTES)]
    (row,) = here.itertuples()
    found: Any = row  # whose fields pandas gives no types
    value, low, high = (float(time_us) / 1e6 for time_us in (found.median_us, found.lower_us, found.upper_us))
    return MeasuredTimes(total=MeasuredValue(value, low, high, int(found.n), "quartiles"))


def exchange(name: str) -> Run:
    """Return an all-to-all of 64 KiB to each partner among 64 nodes, whose interfaces send and receive concurrently."""
    machine, changes = NETWORKS[name]
    return Run.of(
        Scenario.of("collective-costs", load_machine(machine, changes), EXCHANGE, phases=["all-to-all-pairwise"])
    )


def acting(runs: Iterable[Run]) -> list[str]:
    """Return the rungs of the ladder that change a time of any of these."""
    several = list(runs)
    names = [rung.effect for rung in several[0].comparison.rungs]
    return [name for name in names if any(run.change_s(name) for run in several)]
