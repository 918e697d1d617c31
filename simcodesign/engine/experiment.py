"""A scenario and how it is simulated, as one object, which is what is passed on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Unpack

from simcodesign.core.errors import whole_seed
from simcodesign.core.shown_keywords import shows_keywords
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import chosen_effects
from simcodesign.describe.scenario import MachineSource, Scenario, ScenarioKeywords, WorkloadSource
from simcodesign.engine.selection import AUTO, check_engine


@dataclass(frozen=True)
class Experiment:
    """A scenario and how it is simulated; picklable. ``effects``: the names of those that are on."""

    scenario: Scenario
    effects: tuple[str, ...]
    seed: int
    engine: str

    @classmethod
    @shows_keywords(ScenarioKeywords, taken_by=Scenario.of)
    def of(
        cls,
        workload: WorkloadSource | Scenario,
        machine: MachineSource | None = None,
        parameters: Mapping[str, object] | None = None,
        *,
        effects: str | Collection[str] = "all",
        seed: int = 0,
        engine: str = AUTO,
        **options: Unpack[ScenarioKeywords],
    ) -> Experiment:
        """Return the experiment that ``simulate`` describes. Raises InputError for what cannot be used."""
        return cls(
            Scenario.of(workload, machine, parameters, **options),
            chosen_effects(effects),
            whole_seed(seed),
            check_engine(engine),
        )

    @cached_property
    def point(self) -> DesignPoint:
        """The scenario with every name given its value."""
        return self.scenario.bind()
