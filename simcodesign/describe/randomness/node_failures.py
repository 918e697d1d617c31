"""Failures of nodes, and coordinated checkpoints, from the last of which all ranks continue after a failure.

A program makes progress for ``interval`` seconds, then all ranks write a checkpoint; none is written after its end. A
failure of a node that the ranks run on costs all of them what they did since the last checkpoint, and the restart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.describe.keys.forms import ABOVE_0, Constant
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.yaml.distribution import DISTRIBUTION

#: Distributions of the time between two failures of a node.
LIFETIMES = ("exponential", "weibull")


@dataclass(frozen=True)
class Failures:
    """Failures of a machine: each node fails ``mtbf_s`` after it has been (re)started, on average.

    Raises InputError for a distribution that is not in ``LIFETIMES``.
    """

    mtbf_s: FloatOrArray
    distribution: Distribution
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if self.distribution.name not in LIFETIMES:
            what = "the distribution of times between failures"
            raise InputError(what, self.place, value=self.distribution.name, allowed=", ".join(LIFETIMES))

    @property
    def text(self) -> str:
        """Text for a table."""
        every = [format_quantity(float(value), "time") for value in np.unique(self.mtbf_s)]
        mtbf = " to ".join(dict.fromkeys((every[0], every[-1])))
        return f"each node after {mtbf} on average, {self.distribution.text}"


@dataclass(frozen=True)
class Checkpoints:
    """Checkpoints of a workload, in seconds: of progress between two, to write one, and to restart from it."""

    interval: Expression
    write: Expression
    restart: Expression

    def expressions(self) -> Iterator[Expression]:
        """Yield the expressions that they depend on."""
        yield from (self.interval, self.write, self.restart)


@dataclass(frozen=True)
class CheckpointTimes:
    """Checkpoints as numbers, or arrays over design points: seconds. Without checkpoints, the interval is infinite."""

    interval_s: FloatOrArray = np.inf
    write_s: FloatOrArray = 0.0
    restart_s: FloatOrArray = 0.0


#: Keys of ``failures``.
FAILURES = Section(
    Key(
        "mtbf",
        Constant("time", ABOVE_0, is_long=True),
        "mean time between failures of one node",
        required=True,
        field="mtbf_s",
    ),
    Key("distribution", DISTRIBUTION, "law of the times between failures of a node; a distribution", "exponential"),
)
