"""Comparisons, and tables of sweeps, with predictions anchored at measurements."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from simcodesign.comparison.compare import Comparison
from simcodesign.engine.experiment import Experiment
from simcodesign.studies.anchored.anchor import Anchors, forecast_s, simulated_s


def with_anchors(comparison: Comparison, experiment: Experiment, anchors: Anchors) -> Comparison:
    """Return the comparison with both readings anchored; ``experiment``: what was compared."""
    scenario = experiment.scenario
    readings = (
        ("forecast", forecast_s, comparison.forecast),
        ("simulation", partial(simulated_s, experiment), comparison.simulation),
    )
    return replace(
        comparison,
        anchored=tuple(
            anchors.anchored(name, predict, scenario, float(result.headline_s)) for name, predict, result in readings
        ),
    )
