"""How the time ratios of upgrades depend on numbers that are only assumed, of the machine and of workloads.

A number is multiplied by a factor on the machine as it is and on the upgraded one alike; the problem of a process is
fitted again, for a parameter may change the footprint.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError, nearest
from simcodesign.core.to_json import attributes_of
from simcodesign.core.units import POSITIVE_RANGE, is_positive
from simcodesign.describe.machine import Machine
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from simcodesign.studies.replication.observations import nested
from simcodesign.studies.requirements.memory_capacity import SIZE, fit_memory
from simcodesign.studies.requirements.scaled_machine import VARIED, upgraded_machine, varied_machine
from simcodesign.studies.requirements.simulated_systems import OnProgress
from simcodesign.studies.requirements.simulated_upgrade import SimulatedCell
from simcodesign.studies.requirements.upgrade import share_of
from simcodesign.studies.requirements.upgrade_ranking import AS_GOOD

#: Factors by which numbers are varied by default.
FACTORS = (0.5, 2.0)
#: Origins of unpublished parameters.
UNSURE = ("assumed", "reconstructed")
#: How a varied cell is timed.
READINGS = ("forecast", "simulation")
#: Ratios, by (workload, upgrade).
Ratios = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Change:
    """The relative change of a ratio, and of which one."""

    relative: float
    workload: str
    upgrade: str


@dataclass(frozen=True)
class Varied:
    """One number at one factor.

    ``ratios`` of time by (workload, upgrade), not a number if nothing fits, and the upgrades that are ``picked`` for
    each workload by time for a unit of the overall problem; ``as_it_is`` at factor 1 by the same reading.
    """

    name: str
    factor: float
    ratios: Mapping[tuple[str, str], float]
    picked: Mapping[str, tuple[str, ...]]
    as_it_is: Mapping[tuple[str, str], float]
    picked_as_it_is: Mapping[str, tuple[str, ...]]

    @property
    def largest_change(self) -> Change:
        """The largest relative change of a ratio, and where."""
        changes = {
            cell: self.ratios[cell] / before - 1
            for cell, before in self.as_it_is.items()
            if math.isfinite(before) and math.isfinite(self.ratios[cell])
        }
        where = max(changes, key=lambda cell: abs(changes[cell]), default=("", ""))
        return Change(changes.get(where, 0.0), *where)

    @property
    def other_picks(self) -> dict[str, tuple[str, ...]]:
        """Workloads for which another upgrade is picked than with the number as it is."""
        return {name: picked for name, picked in self.picked.items() if picked != self.picked_as_it_is[name]}

    def json_fields(self) -> dict[str, Any]:
        """Return the changes caused by the factor."""
        shown = attributes_of(self, "name", "factor", "other_picks", "largest_change", picks="picked")
        return shown | {"ratios": nested(self.ratios)}


def assumed_numbers(cells: Sequence[SimulatedCell]) -> list[str]:
    """Return what can be varied.

    Rates and latencies of the machine (of disks if a workload uses them), and parameters that are assumed or
    reconstructed.
    """
    machine = cells[0].old.machine
    disks = any(cell.study.uses_disks for cell in cells)
    rates = [name for name in VARIED if varied_machine(machine, name, 2.0) != machine]
    rates = [name for name in rates if disks or not name.startswith("disk.")]
    workloads = {cell.workload: cell.study.workload for cell in cells}.values()
    names = [name for one in workloads for name, it in one.parameters.items() if it.origin in UNSURE and _scales(it)]
    return [*rates, *dict.fromkeys(names)]


def sensitivity(
    cells: Sequence[SimulatedCell],
    varied: Mapping[str, Sequence[float]] | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    reading: str = "forecast",
    preset: str | None = None,
    size: str = SIZE,
    effects: str | Collection[str] = "all",
    seed: int = 0,
    engine: str = "auto",
    on_progress: OnProgress | None = None,
) -> list[Varied]:
    """Vary every number by every factor.

    Default: all of ``assumed_numbers`` at ``FACTORS``; by the forecast or simulated with all ``effects`` together.
    InputError for a name that neither the machine nor a workload has, and for factors that leave the range of a
    parameter.
    """
    if reading not in READINGS:
        raise InputError("reading of a sensitivity", value=reading, allowed=", ".join(READINGS))
    wanted = dict(varied) if varied else dict.fromkeys(assumed_numbers(cells), FACTORS)
    check_varied(wanted, [cell.study.workload for cell in cells], size)

    def seconds(workload: Workload, machine: Machine, given: Mapping[str, object]) -> float:
        if reading == "forecast":
            return float(forecast(workload, machine, given, preset=preset).makespan_s)
        result = simulate(workload, machine, given, preset=preset, effects=effects, seed=seed, engine=engine)
        return float(result.makespan_s)

    timer = _Timer(parameters or {}, preset, size, seconds)
    before = timer.ratios(cells, "", 1.0)
    every = [(name, factor) for name, factors in wanted.items() for factor in factors if factor != 1]
    rows = []
    for done, (name, factor) in enumerate(every):
        if on_progress is not None:
            on_progress("sensitivity", f"{name} x {factor:g}", done, len(every))
        # A parameter of some workloads leaves the others as they are.
        touched = [cell for cell in cells if name in VARIED or name in cell.study.workload.parameters]
        times, scores = timer.ratios(touched, name, factor)
        chosen = picked({**before[1], **scores})
        rows.append(Varied(name, factor, {**before[0], **times}, chosen, before[0], picked(before[1])))
    return rows


def check_varied(varied: Mapping[str, Sequence[float]], workloads: Sequence[Workload], size: str = SIZE) -> None:
    """InputError for names that nothing has, for the size, and for factors that are no numbers above 0."""
    if size in varied:
        raise InputError(f"{size} cannot be varied: it follows from the memory")
    known = {*VARIED, *(name for one in workloads for name in one.parameters)}
    for name, factors in varied.items():
        if name not in known:
            what = "neither a rate of a machine nor a parameter of a workload"
            raise InputError(what, value=name, allowed=nearest(name, known))
        for factor in factors:
            if not is_positive(factor):
                raise InputError(f"factor of {name}", value=factor, allowed=POSITIVE_RANGE)


def picked(scores: Mapping[tuple[str, str], float]) -> dict[str, tuple[str, ...]]:
    """For every workload the upgrades of the least score, in the order of the upgrades."""
    picks = {}
    for workload in dict.fromkeys(workload for workload, _ in scores):
        mine = {upgrade: it for (name, upgrade), it in scores.items() if name == workload and math.isfinite(it)}
        best = min(mine.values(), default=math.nan)
        picks[workload] = tuple(upgrade for upgrade, it in mine.items() if it <= best * (1 + AS_GOOD))
    return picks


@dataclass(frozen=True)
class _Timer:
    """Times cells with one number changed. ``seconds`` reads one system."""

    given: Mapping[str, object]
    preset: str | None
    size: str
    seconds: Callable[[Workload, Machine, Mapping[str, object]], float]

    def ratios(self, cells: Sequence[SimulatedCell], name: str, factor: float) -> tuple[Ratios, Ratios]:
        """Time ratios, and those for a unit of the overall problem."""
        times, scores = {}, {}
        bases: dict[str, tuple[float, float]] = {}
        for cell in cells:
            base, given = self._changed(cell, name, factor)
            workload = cell.study.workload
            if cell.workload not in bases:
                bases[cell.workload] = self._filled(workload, base, given)
            old_s, old_problem = bases[cell.workload]
            new_s, problem = self._filled(workload, upgraded_machine(base, cell.study.upgrade), given)
            key = (cell.workload, cell.upgrade)
            times[key] = new_s / old_s if old_s else math.nan
            scores[key] = times[key] * old_problem / problem if problem else math.nan
        return times, scores

    def _changed(self, cell: SimulatedCell, name: str, factor: float) -> tuple[Machine, dict[str, object]]:
        """Return the base and the parameters of a cell."""
        workload = cell.study.workload
        given = {key: value for key, value in self.given.items() if key in workload.parameters}
        if name in workload.parameters:
            given[name] = float(cell.old.comparison.forecast.values[name]) * factor
        machine = cell.old.machine
        return (varied_machine(machine, name, factor) if name in VARIED else machine), given

    def _filled(self, workload: Workload, machine: Machine, given: Mapping[str, object]) -> tuple[float, float]:
        """Seconds of the largest problem on the machine, and that problem; no number of seconds if nothing fits."""
        ranks, memory_bytes = share_of(machine)
        fit = fit_memory(workload, ranks, memory_bytes, given, preset=self.preset, size=self.size)
        if not fit.fits:
            return math.nan, 0.0
        return self.seconds(workload, machine, {**given, "P": machine.most_ranks, self.size: fit.size}), fit.overall


def _scales(parameter: Parameter) -> bool:
    """Whether the default may be varied by ``FACTORS``, and that changes it."""
    value = parameter.default
    return (
        value is not None
        and value != 0
        and all(parameter.low <= value * factor <= parameter.high for factor in FACTORS)
    )
