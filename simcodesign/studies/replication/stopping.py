"""Number of replications: a given number, or as many as a precision requires."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.to_json import fields_of
from simcodesign.studies.replication.observations import MAKESPAN, RESPONSE, Floats, Key, Sample, check_warm_up
from simcodesign.studies.replication.output_analysis import LOOKS, ROUND, check_level, interval, known_to

#: Most replications for a precision, by default.
MOST = 1000
#: Most replications of all: the mean is then known to a thousandth of the standard deviation of one run.
LIMIT = 1_000_000


@dataclass(frozen=True)
class StoppingRules:
    """When to stop replicating.

    ``replications``: how many at least, or exactly without a ``precision``, which is a relative half-width of the
    interval of ``precision_of``; ``at_most``: how many at most for a precision. ``random``: without randomness one
    run is enough. With multiple samples, the precision is of the differences from the first one, as a fraction of
    its mean.
    """

    replications: int | None
    precision: float | None
    precision_of: str | None
    level: float
    at_most: int
    warm_up: str | int
    random: bool = True

    def __post_init__(self) -> None:
        check_level(self.level)
        check_warm_up(self.warm_up)
        least_of = (("replications", self.replications, 1), ("replications at most", self.at_most, LOOKS * ROUND))
        for name, value, least in least_of:
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LIMIT
            ):
                raise InputError(name, value=value, allowed=f"a whole number from {least} to {LIMIT}")
        if self.precision is None:
            return
        if not 0 < self.precision < 1:
            raise InputError(
                "not a precision", value=self.precision, allowed="a fraction above 0 and below 1, e.g. 0.01"
            )
        if self.replications == 1:
            raise InputError("a precision takes more than one replication", value=1, allowed="2 or more")
        if self.replications is not None and self.replications > self.at_most:
            raise InputError(
                "replications before the precision is checked",
                value=self.replications,
                allowed=f"up to the {self.at_most} that there may be at most",
            )

    def for_random(self, random: bool) -> StoppingRules:
        """Return these rules for random runs, or for runs that are all the same."""
        return replace(self, random=random)

    @property
    def last(self) -> int:
        """The most replications that there may be."""
        if self.precision is None:
            return ROUND if self.replications is None else self.replications
        return -(-self.at_most // ROUND) * ROUND

    def key(self, keys: Collection[Key]) -> Key:
        """Return the quantity that the precision is of. InputError for an unknown name."""
        if self.precision_of is None:
            return RESPONSE if RESPONSE in keys else MAKESPAN
        by_name = {".".join(key): key for key in keys} | {key[0].removesuffix("_s"): key for key in keys if not key[1:]}
        if self.precision_of not in by_name:
            raise no_such_quantity(self.precision_of, keys)
        return by_name[self.precision_of]

    def enough(self, samples: Sequence[Sample], key: Key) -> bool:
        """Whether there are enough replications."""
        done = len(samples[0])
        if not self.random:
            return True
        if self.precision is None or done < (self.replications or 0):
            return done >= self.last
        return self._precise(samples, key) or done >= self.last

    def reached(self, samples: Sequence[Sample], key: Key) -> bool:
        """Whether the precision is reached."""
        return not self.random or self.precision is None or self._precise(samples, key)

    def width(self, samples: Sequence[Sample], key: Key) -> float:
        """Return the relative half-width so far, of the quantity that the precision is of."""
        several, mean = _judged(samples, key), abs(float(samples[0].values(key).mean()))
        intervals = [interval(values, self.level) for values in several]
        return max(0.0 if one.same else one.half_width / mean if mean else math.inf for one in intervals)

    def check_single(self, samples: Sequence[Sample]) -> None:
        """InputError where the single replication that is wanted has no interval."""
        if self.replications != 1 or not self.random:
            return
        if RESPONSE not in samples[0].keys or len(samples) > 1:
            raise InputError("one replication has no interval", value=1, allowed="2 or more; 1 of an open stream alone")
        if samples[0].single is None or samples[0].single.batches is None:
            raise InputError("the stream is too short for batch means", value="1 replication", allowed="2 or more")

    def _precise(self, samples: Sequence[Sample], key: Key) -> bool:
        assert self.precision is not None
        if len(samples[0]) % ROUND:
            return False
        scale = samples[0].values(key)
        return all(known_to(values, self.precision, self.level, scale) for values in _judged(samples, key))


def _judged(samples: Sequence[Sample], key: Key) -> list[Floats]:
    """Return the values of a single sample, or the differences of the other samples from the first one."""
    first, *others = (sample.values(key) for sample in samples)
    return [values - first for values in others] or [first]


@dataclass(frozen=True)
class Stopping:
    """Why replications ended. Without a ``precision`` their number was given.

    Otherwise they continued until the relative half-width of the quantity ``of`` was within it (``reached``), or up to
    ``at_most``.
    """

    of: Key
    precision: float | None
    at_most: int
    reached: bool = True

    def json_fields(self) -> dict[str, Any]:
        """With the quantity as one text."""
        return fields_of(self) | {"of": ".".join(self.of)}


def no_such_quantity(name: str, keys: Collection[Key]) -> InputError:
    """Return the error for a name that no quantity has."""
    return InputError("no such quantity", value=name, allowed=nearest(name, [".".join(key) for key in keys]))
