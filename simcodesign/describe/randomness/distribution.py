"""Distributions by name: random factors of mean 1, with which a time or a size that the description gives is varied.

Only the shape is described; the mean is the demand's, so that a forecast in means needs no other number.
Draws are made in ``generate/``, moments are closed forms in ``analytic/``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from simcodesign.core.errors import InputError, Place, nearest

#: Largest coefficient of variation that is allowed.
MOST_VARIATION = 10.0
#: Largest number of stages, and of values of a discrete distribution.
MOST_STAGES, MOST_VALUES = 1_000, 10_000
#: The parameters of each distribution, with the values that are allowed: least, most.
PARAMETERS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "deterministic": {},
    "exponential": {},
    "erlang": {"stages": (1, MOST_STAGES)},  # a sum of equal exponential stages
    "gamma": {"variation": (0, MOST_VARIATION)},
    "lognormal": {"variation": (0, MOST_VARIATION)},
    "weibull": {"shape": (0.2, 100)},  # 1 is the exponential; below 0.2 a few huge values determine the mean
    "uniform": {"spread": (0, 1)},  # from 1 - spread to 1 + spread
    "empirical": {},  # one of ``values``, each as likely, over their mean
}


@dataclass(frozen=True)
class Distribution:
    """A factor of mean 1: its ``name``, ``parameters`` as in ``PARAMETERS``, and the ``values`` of an empirical one.

    Raises InputError for unknown names and parameters, and for values out of range.
    """

    name: str
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    values: tuple[float, ...] = ()
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if self.name not in PARAMETERS:
            allowed = nearest(self.name, PARAMETERS)
            raise InputError("no such distribution", self.place, value=self.name, allowed=allowed)
        for parameter, value in self.parameters.items():
            check_parameter(self.name, parameter, value, self.place)
        for parameter in PARAMETERS[self.name].keys() - self.parameters.keys():
            allowed = f"{{distribution: {self.name}, {parameter}: {_allowed(self.name, parameter)}}}"
            raise InputError(f"{self.name} needs its {parameter}", self.place, allowed=allowed)
        if self.name == "empirical" and not self.values:
            raise InputError(
                "empirical needs its values", self.place, allowed="{distribution: empirical, values: [...]}"
            )
        if self.values and self.name != "empirical":
            raise InputError(f"the distribution {self.name} has no values", self.place, allowed="values of empirical")
        if self.values and not _usable(self.values):
            what = f"1 to {MOST_VALUES} finite numbers, none negative, not all 0"
            raise InputError("values of empirical", self.place, value=len(self.values), allowed=what)

    @property
    def constant(self) -> bool:
        """Whether the factor is always 1."""
        alike = len(set(self.values)) == 1
        still = any(self.parameters.get(name) == 0 for name in ("variation", "spread"))
        return self.name == "deterministic" or still or alike

    @property
    def text(self) -> str:
        """Text for a table: ``erlang (stages 3)``."""
        inside = [f"{name} {value:g}" for name, value in self.parameters.items()]
        inside += [f"{len(self.values)} values"] if self.values else []
        return f"{self.name} ({', '.join(inside)})" if inside else self.name


def check_parameter(name: str, parameter: str, value: float, place: Place) -> None:
    """InputError unless the distribution has this parameter, and the value is in its range."""
    ranges = PARAMETERS[name]
    if parameter not in ranges:
        what = f"the distribution {name} has no parameter {parameter!r}"
        raise InputError(what, place, allowed=", ".join(ranges) or "none")
    least, most = ranges[parameter]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= most or (parameter == "stages" and value != int(value)):
        raise InputError(f"{parameter} of {name}", place, value=value, allowed=_allowed(name, parameter))


def _allowed(name: str, parameter: str) -> str:
    least, most = PARAMETERS[name][parameter]
    return f"{'a whole number, ' if parameter == 'stages' else ''}{least:g} to {most:g}"


def _usable(values: tuple[float, ...]) -> bool:
    total = sum(values)
    return len(values) <= MOST_VALUES and min(values) >= 0 and 0 < total < math.inf
