"""``--why``: what would help, after a simulation or a comparison."""

from __future__ import annotations

from rich.console import RenderableType

from simcodesign.cli.options.shared import SimulationOptions
from simcodesign.cli.run.scenario import repeated_keywords
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.core.to_json import PlainResult
from simcodesign.core.units import format_quantity
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.experiment import Experiment
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import complain
from simcodesign.report.results.elasticity_tables import elasticity_tables
from simcodesign.studies.elasticities.elasticities import Elasticities, elasticities_of


def check_why(why: bool) -> None:
    """InputError: ``--why`` is given, and there is not one single run."""
    if why:
        raise InputError(
            "--why needs a single simulation",
            allowed="one workload on one machine, without --replications or --precision",
        )


def what_helps(scenario: Scenario, options: SimulationOptions, simulation: Result, took_s: float) -> Elasticities:
    """Elasticities about a simulation that took ``took_s``; their cost is printed first."""

    def say_cost(simulations: int) -> None:
        each, whole = (format_quantity(time_s, "time") for time_s in (took_s, simulations * took_s))
        complain(f"note: --why takes {simulations} more simulations, some {whole} in all; the first one took {each}")

    experiment = Experiment.of(scenario, **repeated_keywords(options))
    with ProgressBar("simulating", note="preparing") as on_progress:
        return elasticities_of(experiment, simulation=simulation, on_cost=say_cost, on_progress=on_progress)


def with_why(answer: PlainResult, helps: Elasticities | None) -> object:
    """Return the answer for JSON, with what would help under ``why`` if that was requested."""
    return answer if helps is None else answer.to_dict() | {"why": helps}


def why_tables(helps: Elasticities | None) -> list[RenderableType]:
    """Elasticities for a terminal; nothing if they were not requested."""
    return [] if helps is None else elasticity_tables(helps)
