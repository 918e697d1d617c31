"""Which upgrade each criterion picks: requirement ratios, or simulated times.

The score is always per unit of the overall problem, that is over the ratio of the problems N: an upgrade lets
a larger or a smaller problem run, and the time alone would favour an upgrade with a small problem. The least is best;
the price of an upgrade is left out, as in the study of requirements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simcodesign.core.to_json import fields_of
from simcodesign.studies.requirements.simulated_upgrade import RESOURCES, SimulatedCell, geometric_mean

#: Upgrades within this of the best are as good.
AS_GOOD = 0.01
#: Ways to rank. ``requirements``: the geometric mean of the requirement ratios, for without rates no resource
#: counts more than another; ``weighted``: by the times of the resources on the base; ``simulated``: the makespan.
#: For the whole machine ``full_requirements``, ``full_weighted`` and ``full_forecast``.
WAYS = (*RESOURCES, "requirements", "weighted", "simulated", "full_requirements", "full_weighted", "full_forecast")


@dataclass(frozen=True)
class Ranking:
    """One workload: the upgrades by every way to rank, as scores for a unit of the overall problem.

    Upgrades after which nothing fits have none. ``verdict`` compares the pick of the requirements with the pick of the
    simulated time.
    """

    workload: str
    scores: Mapping[str, Mapping[str, float]]

    def order(self, way: str) -> list[str]:
        """Upgrades, the best first."""
        usable = {name: score for name, score in self.scores[way].items() if math.isfinite(score)}
        return sorted(usable, key=lambda name: usable[name])

    def picks(self, way: str) -> list[str]:
        """Return the best one and those as good within ``AS_GOOD``, in the order of the study."""
        best = min((score for score in self.scores[way].values() if math.isfinite(score)), default=math.nan)
        return [name for name, score in self.scores[way].items() if score <= best * (1 + AS_GOOD)]

    def verdict(self, way: str = "requirements", against: str = "simulated") -> str:
        """Return ``same`` if both pick the same upgrade.

        ``narrower`` or ``wider`` if the time picks fewer or more of what is as good; ``other`` if it picks an upgrade
        that this way to rank does not.
        """
        picks, others = set(self.picks(way)), set(self.picks(against))
        if picks == others:
            return "same"
        return "narrower" if others < picks else "wider" if others > picks else "other"

    def json_fields(self) -> dict[str, Any]:
        """Return the scores of upgrades, and which of them each way of scoring picks."""
        return fields_of(self) | {
            "picks": {way: self.picks(way) for way in self.scores},
            "verdict": self.verdict(),
            "full_verdict": self.verdict("full_requirements", "full_forecast"),
        }


def rankings(cells: Sequence[SimulatedCell]) -> list[Ranking]:
    """One for every workload."""
    names = list(dict.fromkeys(cell.workload for cell in cells))
    return [_ranking(name, [cell for cell in cells if cell.workload == name]) for name in names]


def _ranking(workload: str, cells: Sequence[SimulatedCell]) -> Ranking:
    scores = {way: {cell.upgrade: score(cell, way) for cell in cells} for way in WAYS}
    return Ranking(workload, scores)


def score(cell: SimulatedCell, way: str) -> float:
    """Score of a cell: a ratio over the ratio of the overall problem; not a number if nothing fits."""
    if way.startswith("full"):
        ratios = cell.full.ratios
        if not cell.full.new.fit.fits:
            return math.nan
        of_full = {
            "full_requirements": geometric_mean([ratios[name] for name in RESOURCES]),
            "full_weighted": cell.full_implied_ratio,
            "full_forecast": cell.full_time_ratio,
        }
        return _over(of_full[way], ratios["overall"])
    if cell.new is None:
        return math.nan
    match way:
        case "requirements":
            ratio = cell.requirement_ratio
        case "weighted":
            ratio = cell.implied_ratio
        case "simulated":
            ratio = cell.time_ratio
        case _:
            ratio = cell.study.ratios[way]
    return _over(ratio, cell.overall_ratio)


def _over(ratio: float, overall: float) -> float:
    return ratio / overall if overall else math.nan
