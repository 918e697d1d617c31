"""Constants as far as times determine them: estimates, determined sums, and groups that are fitted together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcodesign.core.to_json import attributes_of
from simcodesign.fitting.measurements import FloatArray, IntArray


@dataclass(frozen=True)
class Estimate:
    """One constant.

    ``value``: nan where the times do not determine it; then ``least`` to ``most`` are the values that fit equally well.
    ``low`` to ``high``: the interval, nan if there is nothing to make one of. ``rows``: how many times it has a
    part in. ``at_bound``: the fit would be better below 0.
    """

    name: str
    value: float
    standard_error: float
    low: float
    high: float
    least: float
    most: float
    rows: int
    at_bound: bool

    @property
    def determined(self) -> bool:
        """Whether the times determine it."""
        return bool(np.isfinite(self.value))

    @property
    def interval(self) -> tuple[float, float]:
        """From ``low`` to ``high``."""
        return self.low, self.high


@dataclass(frozen=True)
class Combination:
    """A determined sum of ``weights[name] * constant``; the first weight is 1.

    Interval of Student's t, cut to what constants of 0 and above can give.
    """

    weights: Mapping[str, float]
    value: float
    low: float
    high: float

    @property
    def interval(self) -> tuple[float, float]:
        """From ``low`` to ``high``."""
        return self.low, self.high

    def json_fields(self) -> dict[str, Any]:
        """Return the ends of the interval together."""
        return attributes_of(self, "weights", "value", "interval")


@dataclass(frozen=True)
class Group:
    """Constants that are fitted together.

    ``undetermined``: those that cannot be separated, of which ``missing`` independent combinations are not determined
    and ``combinations`` are. ``hidden``: sets of constants that only the noise keeps from being separated.
    ``error``: standard error of a time (relative or in s) by the residuals or as given, nan if nothing determines
    it; if no row is left over, by what the bound at 0 leaves; ``null``: (K, missing), orthonormal, in constants
    times ``norms``.
    """

    names: tuple[str, ...]
    rows: IntArray
    freedom: int
    error: float
    undetermined: tuple[str, ...]
    missing: int
    combinations: tuple[Combination, ...]
    hidden: tuple[tuple[str, ...], ...]
    null: FloatArray
    norms: FloatArray
