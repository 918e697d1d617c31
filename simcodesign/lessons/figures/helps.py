"""What would help a run: the table of ``--why`` at some of its stops."""

from __future__ import annotations

from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.lessons.description import Run, Stops
from simcodesign.lessons.scenarios import scenario_at, within
from simcodesign.studies.elasticities.elasticities import Improvement, elasticities

#: Changes that a figure shows, those that help most; and other algorithms.
MOST_SHOWN, MOST_ALGORITHMS = 12, 6
#: Shares of the time that are too small to be shown.
_LEAST = 5e-4
_INSTEAD = ", instead by "


def helps_at(run: Run, stops: Stops) -> dict[str, Any]:
    """By what share forecast and simulation, with all effects of the run, get longer (negative: shorter) when one thing
    gets better: ``rows`` of what, forecast and simulated, what helps most first; ``algorithms``: the best others, with
    what each is ``instead_of``; ``improvement``: by what share; ``little``: how many changes move neither reading by
    0.05 %; ``bottleneck``: sentences."""
    try:
        found = elasticities(scenario_at(run, stops), effects=run.effects, seed=0)
    except InputError as error:
        raise within(run, stops, error) from error
    large = [one for one in found.improvements if max(abs(one.forecast), abs(one.simulated)) >= _LEAST]
    rows = [_row(one) for one in large if not one.is_algorithm]
    return {
        "improvement": found.improvement,
        "rows": rows[:MOST_SHOWN],
        "algorithms": [_row(one) for one in large if one.is_algorithm][:MOST_ALGORITHMS],
        "little": len(found.improvements) - len(large),
        "bottleneck": list(found.bottleneck),
    }


def _row(one: Improvement) -> dict[str, Any]:
    before, _, what = one.what.rpartition(_INSTEAD)
    return {"what": what, "instead_of": before, "forecast": one.forecast, "simulated": one.simulated}
