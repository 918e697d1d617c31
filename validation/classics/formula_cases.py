"""Cases about a formula of a shipped workload: the simulation with all effects is as the formula says, or it is not, and
one step of the formula's ladder says why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

import simcodesign as sc
from simcodesign.analytic.given_formulas.values import formula_values
from simcodesign.comparison.formulas.ladder import FormulaComparison
from simcodesign.core.errors import InputError, nearest
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import Scenario
from simcodesign.studies.validation.case import Case, Label, Readings, Tolerance

from ..later import Later

#: A formula that is closer to the simulation with all effects than this is said to hold.
WITHIN = 0.05


@dataclass(frozen=True)
class FormulaRuns:
    """A formula of a workload at design points of one machine, by label. ``phase``: only this one of the program, for
    which the formula must say a time."""

    workload: str
    formula: str
    machine: str | Machine
    points: Mapping[Label, Mapping[str, object]]
    phase: str | None = None
    effects: str = "all"
    constants: Mapping[str, object] = field(default_factory=dict)

    def _scenario(self, label: Label) -> Scenario:
        phases = None if self.phase is None else [self.phase]
        return Scenario.of(self.workload, self.machine, {**self.constants, **self.points[label]}, phases=phases)

    def formula_s(self, label: Label) -> float:
        """What the formula says. InputError if it says nothing."""
        point = self._scenario(label).bind()
        formulas = point.workload.formulas
        if self.formula not in formulas:
            raise InputError(f"formula of {self.workload}", value=self.formula, allowed=nearest(self.formula, formulas))
        values = formula_values(formulas[self.formula], point, whole_program=self.phase is None)
        if values.total_s is None or not np.isfinite(values.total_s):
            raise InputError(f"formula {self.formula!r} says nothing at {label!r}", value=values.reason)
        return float(values.total_s)

    def compared(self, label: Label) -> FormulaComparison:
        """The formula compared with the simulation."""
        comparison = sc.compare(self._scenario(label), effects=self.effects)
        return next(compared for compared in comparison.formulas if compared.name == self.formula)

    @property
    def machine_name(self) -> str:
        """That of the machine."""
        return self.machine if isinstance(self.machine, str) else self.machine.name


def largest_step(compared: FormulaComparison) -> str:
    """The step of a formula's ladder that changes the time most."""
    return max(compared.rungs, key=lambda rung: abs(rung.change_s)).step


def formula_case(
    name: str,
    claim: str,
    runs: FormulaRuns,
    *,
    source: str,
    within: float = WITHIN,
    fails: str = "",
    largest: str = "",
    axis: str = "",
    quick: bool = True,
) -> Case:
    """A case ``classics/NAME``: the simulation is as the formula says, ``within`` a fraction of it, at every point.

    Where the formula fails, at one point at least, ``fails`` says why in words, and ``largest`` is the step of its
    ladder that must change the time most at every point that fails: ``left out of the formula``, ``dependencies and
    waiting``, or an effect. The case differs when it is another.
    """
    if bool(fails) != bool(largest):
        raise InputError(f"classics/{name}: a formula that fails needs both a reason and the step that explains it")

    @cache
    def readings() -> Readings:
        compared = {label: runs.compared(label) for label in runs.points}
        off = {label: one for label, one in compared.items() if abs(1 / (1 + one.error) - 1) > within}
        for label, one in off.items() if largest else ():
            if (step := largest_step(one)) != largest:
                raise ValueError(f"{label}: the largest step of the ladder is {step!r}, not {largest!r}")
        shown = off or dict([list(compared.items())[-1]])
        return Readings(
            simulation={label: one.simulated_s for label, one in compared.items()},
            ladders={f"{runs.formula}, {axis or 'point'} {label}": one for label, one in shown.items()},
        )

    return Case(
        name=f"classics/{name}",
        claim=claim,
        source=source,
        unit="s",
        expected=Later({label: partial(runs.formula_s, label) for label in runs.points}),
        tolerance=Tolerance("what is called to hold here: a share of what the formula says", relative=within),
        reading="simulation",
        measure=readings,
        workload=runs.workload,
        machine=runs.machine_name,
        parameters=runs.constants,
        axis=axis,
        because=fails,
        quick=quick,
    )
