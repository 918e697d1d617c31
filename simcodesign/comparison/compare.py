"""One reading held against the other: how far apart they are, in which component, and which effect explains it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.core.result import COMPONENTS, Result
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.demands.resource_uses import Execute
from simcodesign.describe.effects import chosen_effects
from simcodesign.describe.machine import Machine
from simcodesign.describe.program import walk
from simcodesign.describe.randomness import has_imbalance, has_noise
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.engine.event_contract import OnProgress
from simcodesign.engine.simulate import simulate

#: First rung of the ladder: what remains of the gap with every effect off.
WAITING = "dependencies and waiting"
#: Effects that are drawn.
CHANCE = ("imbalance", "noise")
#: Effects that change the work itself: no bounds hold for them.
CHANGING = ("caches", *CHANCE)


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: the simulation with this effect and all before it."""

    effect: str
    simulation: Result
    change_s: float  # of ``Result.answer_s``, against the rung before (the forecast before the first)
    share: float  # of the whole gap, or (see ``Comparison``) of what effects add; nan when there is none


@dataclass(frozen=True)
class Comparison:
    """A forecast held against simulations with the effects switched on one after another.

    Where the forecast is a formula of queueing theory (``forecast.formulas``), the first rung takes away the waits that
    the formula has, for with no effect nobody queues; shares are then those of what the effects put back.
    """

    forecast: Result
    rungs: tuple[Rung, ...]

    @property
    def simulation(self) -> Result:
        """The simulation with every chosen effect on."""
        return self.rungs[-1].simulation

    @property
    def error(self) -> float:
        """Signed error of the forecast against the simulation: negative when the forecast is too low. Of the makespan,
        or of the response time of an open stream."""
        return relative_error(float(self.forecast.headline_s), float(self.simulation.headline_s))

    @property
    def gap_s(self) -> float:
        """Simulated minus forecast makespan, or response time of an open stream."""
        return float(self.simulation.headline_s) - float(self.forecast.headline_s)

    @property
    def energy_gap_j(self) -> float | None:
        """Simulated minus forecast energy; None where the machine says nothing of power."""
        if self.forecast.energy_j is None or self.simulation.energy_j is None:
            return None
        return float(self.simulation.energy_j) - float(self.forecast.energy_j)

    @property
    def energy_error(self) -> float | None:
        """Signed error of the forecast of energy; None where the machine says nothing of power."""
        if self.forecast.energy_j is None or self.simulation.energy_j is None:
            return None
        return relative_error(float(self.forecast.energy_j), float(self.simulation.energy_j))

    @property
    def deterministic(self) -> Result:
        """The simulation with every chosen effect but those for which no bounds hold."""
        return [rung.simulation for rung in self.rungs if rung.effect not in CHANGING][-1]

    @property
    def in_bracket(self) -> bool:
        """Whether the deterministic simulation lies within the bounds that hold for its effects (or has none)."""
        bracket = self.forecast.bracket
        if bracket is None:
            return True
        seen = self.deterministic
        least = bracket.least_s(seen.effects)
        return least * (1 - 1e-9) <= float(seen.makespan_s) <= bracket.upper_s * (1 + 1e-9)

    def table(self) -> pd.DataFrame:
        """Forecast, simulated seconds, difference and signed error per component and in total."""
        rows = {}
        sides = [result.components | {"total": result.makespan_s} for result in (self.forecast, self.simulation)]
        for name in (*COMPONENTS, "total"):
            said, seen = float(sides[0][name]), float(sides[1][name])
            rows[name] = {
                "forecast_s": said,
                "simulated_s": seen,
                "difference_s": said - seen,
                "error": relative_error(said, seen),
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    def phase_table(self) -> pd.DataFrame:
        """Forecast and simulated seconds and signed error per phase."""
        rows = {}
        for phase, times in self.forecast.phases.items():
            said, seen = (float(sum(side.values())) for side in (times, self.simulation.phases[phase]))
            rows[phase] = {"forecast_s": said, "simulated_s": seen, "error": relative_error(said, seen)}
        return pd.DataFrame.from_dict(rows, orient="index")

    def ladder(self) -> pd.DataFrame:
        """One row per effect: simulated seconds with it, what it adds, and its share of the gap."""
        rows = [(rung.effect, rung.simulation.headline_s, rung.change_s, rung.share) for rung in self.rungs]
        return pd.DataFrame(rows, columns=["effect", "simulated_s", "change_s", "share"])

    def to_dict(self) -> dict[str, object]:
        """Plain lists and numbers, as for JSON."""
        energy = (
            {} if self.energy_gap_j is None else {"energy_error": self.energy_error, "energy_gap_j": self.energy_gap_j}
        )
        return {
            "forecast": self.forecast.to_dict(),
            "simulation": self.simulation.to_dict(),
            "error": self.error,
            "gap_s": self.gap_s,
            **energy,
            "in_bracket": self.in_bracket,
            "components": self.table().to_dict(orient="index"),
            "ladder": self.ladder().to_dict(orient="records"),
        }

    def __str__(self) -> str:
        explained = ", ".join(f"{rung.effect} {rung.change_s:+.4g} s" for rung in self.rungs if rung.change_s)
        error = round(100 * self.error, 1) + 0.0  # no -0.0
        return (
            f"{self.forecast.workload} on {self.forecast.machine}: forecast {self.forecast.headline_s:.4g} s, "
            f"simulated {self.simulation.headline_s:.4g} s, error {error:+.1f}% ({explained or 'no gap'})"
        )


def compare(
    workload: Workload | str | Path,
    machine: Machine | str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    phases: Collection[str] | None = None,
    effects: str | Collection[str] = "all",
    seed: int = 0,
    engine: str = "auto",
    iterations: str = "all",
    timeline: bool = False,
    on_progress: OnProgress | None = None,
) -> Comparison:
    """Forecast, then simulate with no effect and with the effects switched on one after another.

    Arguments as for ``simulate``; ``timeline`` is kept for the last simulation. Effects are switched on in the order
    hops, links, interfaces, disks, memory, conflicts, caches, imbalance, noise; what one explains depends on those
    before it.

    Raises InputError, CapacityError and DeadlockError as ``forecast`` and ``simulate`` do.
    """
    chosen = chosen_effects(effects)
    if any(np.ndim(value) for value in (parameters or {}).values()):  # type: ignore[arg-type] # anything has a shape
        raise InputError("a comparison takes one design point, not arrays", value=dict(parameters or {}))
    workload = workload if isinstance(workload, Workload) else load_workload(workload)
    machine = machine if isinstance(machine, Machine) else load_machine(machine)
    said = forecast(workload, machine, parameters, preset=preset, phases=phases, bounds=True)

    def simulated(effects: tuple[str, ...]) -> Result:
        keep = timeline and effects == chosen
        return simulate(
            workload,
            machine,
            parameters,
            preset=preset,
            phases=phases,
            effects=effects,
            seed=seed,
            engine=engine,
            iterations=iterations,
            timeline=keep,
            on_progress=on_progress,
        )

    runs = [simulated(())]
    for count, effect in enumerate(chosen, start=1):
        last = effect == chosen[-1]
        changes = has_effect(effect, workload, machine) or (timeline and last)
        runs.append(simulated(chosen[:count]) if changes else replace(runs[-1], effects=chosen[:count]))
    return Comparison(said, _ladder(said, runs, chosen))


def has_effect(effect: str, workload: Workload, machine: Machine) -> bool:
    """Whether the description leaves anything for the effect to do; if not, the run before stands for it."""
    references = machine.memory is not None and any(isinstance(step, MemoryAccesses) for step in walk(workload.program))
    absent = {
        "disks": machine.disk is None,
        "memory": not references or machine.processors_per_node == 1 or machine.mapping == "one_per_node",
        "conflicts": not any(isinstance(step, Execute) for step in walk(workload.program)),
        "caches": not references,
        "imbalance": not has_imbalance(workload, machine),
        "noise": not has_noise(workload, machine),
    }
    return not absent.get(effect, False)


def _ladder(said: Result, runs: list[Result], effects: tuple[str, ...]) -> tuple[Rung, ...]:
    times_s = [float(run.headline_s) for run in runs]
    changes = changes_of([float(said.headline_s), *times_s])
    if said.formulas:
        changes = [(changes[0][0], float("nan")), *changes_of(times_s)]
    return tuple(
        Rung(effect, run, *change) for effect, run, change in zip((WAITING, *effects), runs, changes, strict=True)
    )


def changes_of(times_s: Sequence[float]) -> list[tuple[float, float]]:
    """What each time adds to the one before it, and its share of the whole gap (nan when there is none)."""
    # A difference of rounding only is no gap: each side adds some 10^5 numbers.
    rounding = 1e-10 * times_s[0]
    changes = [0.0 if abs(after - before) <= rounding else after - before for before, after in pairwise(times_s)]
    gap = sum(changes)
    return [(change, change / gap if gap else float("nan")) for change in changes]


def relative_error(said: float, seen: float) -> float:
    """(said - seen) / seen; 0 when both are 0, nan when only ``seen`` is."""
    if seen == 0:
        return 0.0 if said == 0 else float("nan")
    return (said - seen) / seen
