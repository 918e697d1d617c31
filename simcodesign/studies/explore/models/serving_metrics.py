"""Metrics of a server of language models for searches: ``serving.first_token_p99``, ``serving.tokens_per_s``, ...

They are the quantities of ``ServingResult``, of one server at one point: by formulas of queues if a search forecasts,
by a simulation of the queue if it simulates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.serving.forecast import SaturatedError, forecast_server
from simcodesign.core.errors import InputError
from simcodesign.core.serving_result import QUANTITIES, TIMES, ServingResult
from simcodesign.describe.evaluated.server import Server
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.serving.simulate import ServerSimulation
from simcodesign.studies.explore.problem import RefusedPointsError

#: Why a point has no forecast.
SATURATED = "the server saturates: more requests arrive in a second than it completes"
#: How the names of the metrics begin.
PREFIX = "serving."
#: Names of the metrics, each with the quantity that it is.
_QUANTITY_OF = {f"{PREFIX}{name.removesuffix('_s') if name in TIMES else name}": name for name in QUANTITIES}
#: Dimensions of the metrics.
SERVING_METRICS = {metric: "time" if name in TIMES else "count" for metric, name in _QUANTITY_OF.items()}


def forecast_serving(
    scenarios: list[Scenario], kept: dict[object, ServingResult | InputError]
) -> dict[str, NDArray[np.float64]]:
    """Return the metrics of each scenario by formulas of queues, (scenarios,) each.

    ``kept``: results so far, which this function reads and adds to. Raises RefusedPointsError, with the first error,
    for the scenarios without an answer: servers that saturate, requests that do not fit the memory.
    """
    answers = [_kept(scenario, kept) for scenario in scenarios]
    errors = [one for one in answers if isinstance(one, InputError)]
    if errors:
        alike = [isinstance(one, InputError) and one.what == errors[0].what for one in answers]
        raise RefusedPointsError(errors[0], np.array(alike))
    found = [one.quantities for one in answers if isinstance(one, ServingResult)]
    return {metric: np.array([one[name] for one in found]) for metric, name in _QUANTITY_OF.items()}


def _kept(scenario: Scenario, kept: dict[object, ServingResult | InputError]) -> ServingResult | InputError:
    """Return the forecast of a server, or why there is none, made once."""
    key = tuple(sorted(scenario.parameters.items()))
    if key not in kept:
        try:
            kept[key] = forecast_server(Server.of(scenario))
        except SaturatedError as error:  # in words that are the same at all points
            kept[key] = InputError(SATURATED, error.place, value=error.value, allowed=error.allowed)
        except InputError as error:
            kept[key] = error
    return kept[key]


def simulated_serving(scenario: Scenario, **options: Any) -> Mapping[str, float]:
    """Return the metrics of one simulation of the queue, with the ``effects``, ``engine`` and ``seed`` of ``options``.

    Raises InputError for a server that cannot be simulated.
    """
    experiment = Experiment.of(scenario, **options)
    quantities = ServerSimulation(Server.of(scenario), experiment).run(experiment.seed).quantities
    return {metric: quantities[name] for metric, name in _QUANTITY_OF.items()}
