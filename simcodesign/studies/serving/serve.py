"""``sc.serve``: a server of a language model, by queueing formulas and by simulation of its queue."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from simcodesign.analytic.serving.forecast import SaturatedError, forecast_server
from simcodesign.core.errors import InputError
from simcodesign.core.serving_result import QUANTITIES, ServingResult
from simcodesign.core.to_json import PlainResult, fields_of
from simcodesign.describe.evaluated.server import Server
from simcodesign.describe.scenario import MachineSource, Scenario, WorkloadSource
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.serving.simulate import ServerSimulation
from simcodesign.studies.replication.output_analysis import Interval, check_level, interval
from simcodesign.studies.replication.replicate import replication_seed

#: Simulations of a server, and the most of them.
REPLICATIONS, MAX_REPLICATIONS = 5, 1_000_000


@dataclass(frozen=True)
class ServingComparison(PlainResult):
    """A server by both readings.

    ``forecast``: the steady state; None at saturation, of which ``saturated`` has the message. ``runs``: simulations
    with independent random numbers of ``seeds``. ``level``: the probability of the intervals.
    """

    workload: str
    machine: str
    forecast: ServingResult | None
    saturated: str | None
    runs: tuple[ServingResult, ...]
    seeds: tuple[int, ...]
    effects: tuple[str, ...]
    level: float

    @property
    def means(self) -> dict[str, Interval]:
        """The mean of each quantity over the runs, with its interval."""
        return {name: interval([of(run) for run in self.runs], self.level) for name, of in QUANTITIES.items()}

    @property
    def forecasts(self) -> dict[str, float]:
        """The forecast of each quantity."""
        return {} if self.forecast is None else self.forecast.quantities

    def json_fields(self) -> dict[str, Any]:
        """With the means."""
        return {"reading": "serving"} | fields_of(self, "means")


def serve(
    workload: WorkloadSource | Scenario,
    machine: MachineSource | None = None,
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    effects: str | Collection[str] = "all",
    seed: int = 0,
    replications: int = REPLICATIONS,
    level: float = 0.95,
    on_progress: Callable[..., object] | None = None,
) -> ServingComparison:
    """Forecast and simulate a server of a language model: time to the first token, latency, tokens per second.

    ``workload``: one with a section ``serving``. ``machine``, ``parameters`` and ``preset`` are as for ``forecast``.
    The forecast prices steps in closed form and applies formulas of queues. The simulation simulates each step, with
    ``effects``, when it first comes up, and serves requests drawn from ``seed``. ``replications``: how many
    simulations, each with other requests; ``level``: the probability of the intervals of means. ``on_progress``:
    called with 1 after each.

    Raises InputError for a workload without ``serving``, and for anything that cannot be used.

    >>> import simcodesign as sc
    >>> served = sc.serve("inference", "selene", {"rate": 0.5, "requests": 200}, replications=2)
    >>> served.forecast.saturation_per_s > 0.5, len(served.runs)
    (True, 2)
    """
    if not isinstance(replications, int) or not 1 <= replications <= MAX_REPLICATIONS:
        raise InputError("not a number of replications", value=replications, allowed=f"1 to {MAX_REPLICATIONS}")
    scenario = Scenario.of(workload, machine, parameters, preset=preset)
    experiment = Experiment.of(scenario, effects=effects, seed=seed)
    check_level(level)
    server = Server.of(scenario)
    try:
        forecast, saturated = forecast_server(server), None
    except SaturatedError as error:
        forecast, saturated = None, str(error)
    simulation = ServerSimulation(server, experiment)
    seeds = tuple(replication_seed(experiment.seed, number) for number in range(replications))
    runs = []
    for own in seeds:
        runs.append(simulation.run(own))
        if on_progress is not None:
            on_progress(1)
    return ServingComparison(
        scenario.workload.name,
        scenario.machine.name,
        forecast,
        saturated,
        tuple(runs),
        seeds,
        experiment.effects,
        level,
    )
