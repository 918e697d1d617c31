"""How many replications there are: a number that is given, or as many as a precision takes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.to_json import fields_of
from simcodesign.studies.replication.observations import MAKESPAN, RESPONSE, Floats, Key, Sample, check_warm_up
from simcodesign.studies.replication.output_analysis import LOOKS, ROUND, check_confidence, interval, known_to

#: Most replications for a precision.
MOST = 1000


@dataclass(frozen=True)
class Rules:
    """How many replications, and what is done with them. ``pairs``: the difference of two systems is to be known;
    ``random``: whether there is any chance, without which one run is enough."""

    replications: int | None
    precision: float | None
    precision_of: str | None
    confidence: float
    most: int
    warm_up: str | int
    seed: int
    pairs: bool = False
    random: bool = True

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        check_warm_up(self.warm_up)
        least_of = (("replications", self.replications, 1), ("replications at most", self.most, LOOKS * ROUND))
        for name, value, least in least_of:
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise InputError(name, value=value, allowed=f"a whole number, {least} or above")
        if self.precision is None:
            return
        if not 0 < self.precision < 1:
            raise InputError("precision", value=self.precision, allowed="a share above 0 and below 1, e.g. 0.01")
        if self.replications == 1:
            raise InputError("a precision takes more than one replication", value=1, allowed="2 or more")
        if self.replications is not None and self.replications > self.most:
            raise InputError(
                "replications before a precision is asked for",
                value=self.replications,
                allowed=f"up to the {self.most} that there may be at most",
            )

    def with_chance(self, random: bool) -> Rules:
        """The same for what is random, or not."""
        return replace(self, random=random)

    @property
    def last(self) -> int:
        """The most replications that there may be."""
        if self.precision is None:
            return ROUND if self.replications is None else self.replications
        return -(-self.most // ROUND) * ROUND

    def key(self, keys: Collection[Key]) -> Key:
        """What is to be known precisely. InputError for an unknown name."""
        if self.precision_of is None:
            return RESPONSE if RESPONSE in keys else MAKESPAN
        by_name = {".".join(key): key for key in keys} | {key[0].removesuffix("_s"): key for key in keys if not key[1:]}
        if self.precision_of not in by_name:
            raise no_such_quantity(self.precision_of, keys)
        return by_name[self.precision_of]

    def over(self, samples: Sequence[Sample], key: Key) -> bool:
        """Whether there are enough replications."""
        done = len(samples[0])
        if not self.random:
            return True
        if self.precision is None or done < (self.replications or 0):
            return done >= self.last
        return self._precise(samples, key) or done >= self.last

    def reached(self, samples: Sequence[Sample], key: Key) -> bool:
        """Whether they are as precise as was asked for."""
        return not self.random or self.precision is None or self._precise(samples, key)

    def width(self, samples: Sequence[Sample], key: Key) -> float:
        """The relative half-width so far, of that which the precision is asked of."""
        values, scale = self._judged(samples, key)
        found = interval(values, self.confidence)
        scaled = abs(float(scale.mean()))
        return 0.0 if found.same else found.half_width / scaled if scaled else math.inf

    def check_alone(self, samples: Sequence[Sample]) -> None:
        """InputError where a single replication was asked for that says nothing of how certain it is."""
        if self.replications != 1 or not self.random:
            return
        if RESPONSE not in samples[0].keys or len(samples) > 1:
            raise InputError("one replication has no interval", value=1, allowed="2 or more; 1 of an open stream alone")
        if samples[0].alone is None or samples[0].alone.batches is None:
            raise InputError("the stream is too short for batch means", value="1 replication", allowed="2 or more")

    def _precise(self, samples: Sequence[Sample], key: Key) -> bool:
        assert self.precision is not None
        if len(samples[0]) % ROUND:
            return False
        values, scale = self._judged(samples, key)
        return known_to(values, self.precision, self.confidence, scale)

    def _judged(self, samples: Sequence[Sample], key: Key) -> tuple[Floats, Floats]:
        """The values, or the differences of pairs, and those to whose mean their width is relative."""
        values = samples[0].values(key)
        return (samples[1].values(key) - values if self.pairs else values), values


@dataclass(frozen=True)
class Stopping:
    """How long replications went on. Without a ``precision`` their number was given; else they went on until the
    half-width of ``of`` was within it, or up to ``most``: ``reached`` says whether it is."""

    of: Key
    precision: float | None
    most: int
    reached: bool = True

    def json_fields(self) -> dict[str, Any]:
        """With the quantity as one text."""
        return fields_of(self) | {"of": ".".join(self.of)}


def no_such_quantity(name: str, keys: Collection[Key]) -> InputError:
    """The error for a name that no quantity has."""
    return InputError("no such quantity", value=name, allowed=nearest(name, [".".join(key) for key in keys]))
