"""Changes that bring uneven times nearer to their mean: imbalance of the workload, noise and slow nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.noise import Noise
from simcodesign.describe.scenario import Scenario
from simcodesign.studies.elasticities.changes import Change

#: The parameters of a distribution that its standard deviation is proportional to.
_WIDTHS = ("variation", "spread")


def spread_changes(scenario: Scenario, factor: float) -> Iterator[Change]:
    """Each source of uneven times with deviations from the mean that are divided by ``factor``."""
    if scenario.workload.imbalance_model:
        yield Change("imbalance", "workload", partial(_less_imbalance, factor), effects=("imbalance",))
    noise = scenario.machine.noise_model
    for part in noise.parts:
        yield Change(f"noise.{part}", "noise", partial(_less_noise, part, factor), effects=("noise",))
    if noise.slow_nodes:
        slow = replace(noise.slow_nodes, factor=1 + (noise.slow_nodes.factor - 1) / factor)
        less = partial(_with_noise, replace(noise, slow_nodes=slow))
        yield Change("noise.slow_nodes", "noise", less, effects=("imbalance",))
    if scenario.machine.processor.speeds_differ:
        yield Change("processor.speeds", "processor", partial(_nearer_speeds, factor), effects=("imbalance",))
    if noise.bursts:
        bursts = replace(noise.bursts, length_s=noise.bursts.length_s / factor)
        yield Change("noise.bursts", "noise", partial(_with_noise, replace(noise, bursts=bursts)), effects=("noise",))


def _less_imbalance(factor: float, scenario: Scenario) -> Scenario:
    imbalance = scenario.workload.imbalance_model
    less = replace(imbalance, distribution=narrower(imbalance.distribution, factor))
    return replace(scenario, workload=replace(scenario.workload, imbalance=less))


def _less_noise(part: str, factor: float, scenario: Scenario) -> Scenario:
    noise = scenario.machine.noise_model
    less: dict[str, Any] = {part: narrower(noise.parts[part], factor)}
    return _with_noise(replace(noise, **less), scenario)


def _nearer_speeds(factor: float, scenario: Scenario) -> Scenario:
    """Speeds that differ less from their mean, which is the same: of the times of the same work, not of the speeds."""
    machine = scenario.machine
    slowness = 1 / np.asarray(machine.processor.speeds)
    nearer = 1 / (slowness.mean() + (slowness - slowness.mean()) / factor)
    processor = replace(machine.processor, speeds=tuple(nearer.tolist()))
    return replace(scenario, machine=replace(machine, processor=processor))


def _with_noise(noise: Noise, scenario: Scenario) -> Scenario:
    return replace(scenario, machine=replace(scenario.machine, noise=noise))


def narrower(law: Distribution, factor: float) -> Distribution:
    """Return the distribution with a standard deviation divided by ``factor``.

    InputError where the mean fixes it, as that of the exponential distribution.
    """
    if law.values:
        mean = sum(law.values) / len(law.values)
        return replace(law, values=tuple(mean + (value - mean) / factor for value in law.values))
    widths = {name: value / factor for name, value in law.parameters.items() if name in _WIDTHS}
    if not widths:
        allowed = "a distribution with a width of its own: lognormal, gamma, uniform, empirical"
        raise InputError(f"the mean fixes the width of {law.text}", law.place, allowed=allowed)
    return replace(law, parameters={**law.parameters, **widths})
