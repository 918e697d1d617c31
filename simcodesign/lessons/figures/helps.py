"""Elasticities of a run: the table of ``--why`` at some of its stops."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.describe.effects import effect_named
from simcodesign.lessons.description import Run, Stops
from simcodesign.lessons.scenarios import scenario_at, within
from simcodesign.studies.elasticities.elasticities import Improvement, elasticities

#: Changes that a figure shows, those that help most; and other algorithms.
MOST_SHOWN, MOST_ALGORITHMS = 12, 6
#: Shares of the time that are too small to be shown.
_LEAST = 5e-4
_INSTEAD = ", instead by "
#: Texts for students instead of paths in a machine file.
PLAIN_WORDS = {
    "processor.rate": "rate of the processors",
    "processor.clock": "clock of the processors",
    "network.startup": "startup of messages",
    "network.per_byte": "bandwidth of messages",
    "network.receive_overhead": "overhead of a receive",
    "network.hop_latency": "latency of a hop",
    "disk.read_startup": "startup of reads",
    "disk.write_startup": "startup of writes",
    "disk.per_byte": "bandwidth of a disk",
    "memory.latency": "latency of the memory",
    "memory.per_byte": "bandwidth of the memory",
}


def helps_at(run: Run, stops: Stops) -> dict[str, Any]:
    """Return the fractions by which both readings get longer when one thing gets better.

    Forecast and simulation, with the effects before the first random one (negative: shorter). ``rows`` of what (and in
    plain ``words``), forecast and simulated, what helps most first; ``algorithms``: the best others, with what each is
    ``instead_of``; ``improvement``: by what fraction; ``little``: how many changes move neither reading by 0.05 %;
    ``bottleneck``: sentences.
    """
    try:
        found = elasticities(scenario_at(run, stops), effects=calm_effects(run), seed=0)
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
    path, _, more = what.partition(" ")
    words = f"{PLAIN_WORDS[path]} {more}".strip() if path in PLAIN_WORDS else what
    shares = {"forecast": one.forecast, "simulated": one.simulated}
    return {"what": what, "words": words, "instead_of": before, **shares}


def calm_effects(run: Run) -> tuple[str, ...]:
    """Return the effects of a run before the first that can be random: texts, clock and predictions are of these."""
    return tuple(takewhile(lambda name: effect_named(name).random_on is None, run.effects))
