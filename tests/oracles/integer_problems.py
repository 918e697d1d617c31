"""Problems in three whole variables, of kinds that design spaces have, small enough that all their points can be
looked at: 60,000 to a million."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simcodesign.studies.explore.problem import Problem
from tests.oracles.design_problems import problem


@dataclass(frozen=True)
class IntegerProblem:
    """A problem in three whole variables."""

    vary: Sequence[str]
    formulas: Mapping[str, str]
    minimize: str
    subject_to: Sequence[str] = ()

    def stated(self) -> Problem:
        """For a solver."""
        return problem(self.vary, self.formulas, [self.minimize], self.subject_to)

    def least(self) -> float:
        """The least value of the objective at a point that meets all constraints, by looking at every point."""
        whole = self.stated()
        evaluated = whole.evaluate(whole.space.all_points())
        feasible = evaluated.usable & (whole.violation(evaluated.gaps) == 0)
        return float(np.min(evaluated.objectives[feasible, 0]))


INTEGER_PROBLEMS = {
    # Blocks of a matrix product in three loops: what is left over at the edges, traffic, and a cache that holds them.
    "tiles": IntegerProblem(
        ["a=1:100:whole", "b=1:100:whole", "c=1:100:whole"],
        {
            "time": "ceil(1009/a)*ceil(877/b)*ceil(1201/c)*(a*b*c*2 + 8*(a*b + b*c + a*c) + 900)",
            "held": "8*(a*b + b*c + a*c)",
        },
        "time",
        ["held <= 32768"],
    ),
    # A grid of processes: as many as possible of 1021, blocks as even as possible, faces as small as possible.
    "process grid": IntegerProblem(
        ["a=1:64:whole", "b=1:64:whole", "c=1:64:whole"],
        {
            "block": "ceil(300/a)*ceil(500/b)*ceil(700/c)",
            "faces": "ceil(300/a)*ceil(500/b)*2 + ceil(500/b)*ceil(700/c)*2 + ceil(300/a)*ceil(700/c)*2",
            "time": "block + 12*faces",
            "ranks": "a*b*c",
        },
        "time",
        ["ranks <= 1021"],
    ),
    # Cores, links and memory channels under a budget of watts and money.
    "budget": IntegerProblem(
        ["cores=1:128:whole", "links=1:64:whole", "channels=1:32:whole"],
        {
            "time": "1e3/cores + 9*cores**0.5/links + 700/min(cores, 9*channels) + 0.02*cores",
            "power": "3.1*cores + 7.3*links + 5.7*channels",
            "price": "41*cores + 97*links + 173*channels + 1000*ceil(cores/24)",
        },
        "time",
        ["power <= 377", "price <= 9973"],
    ),
    # A valley along a diagonal that steps of one or two variables leave.
    "diagonal valley": IntegerProblem(
        ["a=1:100:whole", "b=1:100:whole", "c=1:100:whole"],
        {"f": "40*(a - b)**2 + 40*(b - c)**2 + 40*(a - 2*b + c)**2 + (a - 71)**2/9 + abs(b - 64)/3 + abs(c - 77)/5"},
        "f",
    ),
    # Many valleys, of which one is a little deeper.
    "many valleys": IntegerProblem(
        ["a=1:90:whole", "b=1:90:whole", "c=1:90:whole"],
        {
            "ripple": "abs(a/7 - round(a/7)) + abs(b/11 - round(b/11)) + abs(c/13 - round(c/13))",
            "f": "((a - 43)/30)**2 + ((b - 37)/30)**2 + ((c - 58)/30)**2 + 3*ripple",
        },
        "f",
    ),
    # Gears: a ratio as near as possible, where no point is near another good one.
    "gears": IntegerProblem(
        ["a=12:60:whole", "b=12:60:whole", "c=12:60:whole"],
        {"error": "abs(1/6.931 - a*17/(b*c*3))", "size": "a + b + c"},
        "error",
        ["size <= 150"],
    ),
    # Ranks that must divide the work: only divisors are feasible.
    "divisors": IntegerProblem(
        ["p=1:64:whole", "q=1:64:whole", "b=1:240:whole"],
        {
            "rest": "5040 - b*floor(5040/b) + 48*(p*q - 2*floor(p*q/2))",
            "time": "5040**2/(p*q)/(1 + b/40) + 300*(5040/b)*log2(p + 1) + 90*b*q/p + 40*b",
            "ranks": "p*q",
        },
        "time",
        ["rest <= 0", "ranks <= 960"],
    ),
    # A hollow that a bent ridge encloses.
    "bent valley": IntegerProblem(
        ["a=1:100:whole", "b=1:100:whole", "c=1:100:whole"],
        {"f": "100*((b - a**2/90)**2 + (c - b**2/90)**2)/90 + (a - 77)**2/50 + (b - 60)**2/90"},
        "f",
    ),
}
