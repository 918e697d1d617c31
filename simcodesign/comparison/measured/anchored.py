"""A prediction anchored at measurements: multiplied by what was measured over what is predicted at a smaller scale.

The ratio at the largest measured scale is carried to more ranks. N. Barnes et al., "A regression-based
approach to scalability prediction", ICS 2008, extrapolate from few ranks; K. Ibeid et al., "Learning with analytical
models", IPDPSW 2019, correct a model by measurements; M. Kennedy and A. O'Hagan, "Bayesian calibration of computer
models", J. R. Stat. Soc. B 63, 2001, have the discrepancy of a model. The interval takes
the logarithm of the ratio for a random walk over doublings of P, whose steps between measured scales are known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simcodesign.core.to_json import PlainResult, attributes_of, fields_of

#: A change of the logarithm of the ratio between the last two scales above which the ratio is not steady.
STEADY = 0.2
#: Doublings of P over which the ratio of a single scale may be carried without a warning.
DOUBLINGS_OF_ONE_SCALE = 2.0


@dataclass(frozen=True)
class Scale:
    """A measured time and what a reading predicts there: seconds, on ``ranks``, ``at`` other values."""

    ranks: float
    measured_s: float
    predicted_s: float
    at: Mapping[str, float | str]

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured_s / self.predicted_s

    def json_fields(self) -> dict[str, Any]:
        """All fields, and the ratio."""
        return fields_of(self, "ratio")


@dataclass(frozen=True)
class Step:
    """How the logarithm of the ratio of a ``phase`` (empty for all that runs) changes between two numbers of ranks."""

    change: float
    from_ranks: float
    to_ranks: float
    phase: str = ""

    @property
    def doublings(self) -> float:
        """Number of doublings of P."""
        return math.log2(self.to_ranks / self.from_ranks)


@dataclass(frozen=True)
class Anchored(PlainResult):
    """A prediction for ``ranks`` of one ``reading`` (``forecast`` or ``simulation``), anchored at a measurement.

    - ``predicted_s``: what the reading predicts as it is; ``frozen_s``: with the algorithms taken at the anchor.
    - ``scales``: measured times nearby, by ranks; the last one is the anchor. ``steps``: of the ratio between scales,
      of all sizes and phases measured. ``frozen``: in words, the operations that take another algorithm than otherwise.
    - ``refused``: why there is no anchor, empty if there is one; then nothing else is known.

    >>> from simcodesign.comparison.measured.anchored import Anchored, Scale, Step
    >>> one = Anchored("forecast", 16, 1.0, 1.0, (Scale(4, 0.3, 0.2, {}), Scale(8, 0.6, 0.4, {})), (Step(0.0, 4, 8),))
    >>> round(one.anchored_s, 6), one.interval_s == (one.anchored_s, one.anchored_s)
    (1.5, True)
    """

    reading: str
    ranks: float
    predicted_s: float
    frozen_s: float = float("nan")
    scales: tuple[Scale, ...] = ()
    steps: tuple[Step, ...] = ()
    frozen: tuple[str, ...] = ()
    refused: str = ""
    level: float = 0.9

    @property
    def anchor(self) -> Scale:
        """The largest scale."""
        return self.scales[-1]

    @property
    def doublings(self) -> float:
        """From the anchor to this prediction."""
        return math.log2(self.ranks / self.anchor.ranks)

    @property
    def anchored_s(self) -> float:
        """The prediction times the ratio at the anchor; nan if there is none."""
        return float("nan") if self.refused else self.frozen_s * self.anchor.ratio

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The ends of the interval of probability ``level``; None where no step is known.

        The mean square of the steps grows in proportion to doublings; Student's t has a degree of freedom for each
        phase and pair of scales, since sizes of one phase change together.
        """
        if self.refused or not self.steps:
            return None
        from scipy.stats import t

        spread = math.sqrt(sum(step.change**2 / step.doublings for step in self.steps) / len(self.steps))
        independent = {(step.phase, step.from_ranks, step.to_ranks) for step in self.steps}
        half = float(t.ppf((1 + self.level) / 2, len(independent))) * spread * math.sqrt(self.doublings)
        return self.anchored_s * math.exp(-half), self.anchored_s * math.exp(half)

    @property
    def last_change(self) -> float | None:
        """Change of the logarithm of the ratio between the last two scales; None for one scale."""
        return None if len(self.scales) < 2 else math.log(self.scales[-1].ratio / self.scales[-2].ratio)

    @property
    def warning(self) -> str:
        """Why the anchored prediction may be off; empty without a reason."""
        change = self.last_change
        if self.refused:
            return ""
        if change is not None and abs(change) > STEADY:
            ranks = f"P = {self.scales[-2].ranks:,.12g} to {self.anchor.ranks:,.12g}"
            return f"the ratio is not steady: it changes by a factor of {math.exp(change):.3g} from {ranks}"
        if change is None and self.doublings > DOUBLINGS_OF_ONE_SCALE:
            return f"one scale was measured, and the ratio is carried over {self.doublings:.3g} doublings of P"
        return ""

    def json_fields(self) -> dict[str, Any]:
        """Return the known fields: without an anchor only the prediction and the reason."""
        if self.refused:
            return attributes_of(self, "reading", "ranks", "predicted_s", "refused")
        names = ("reading", "ranks", "predicted_s", "frozen_s", "anchored_s", "interval_s", "level", "warning")
        return attributes_of(self, *names, "scales", "steps", "frozen", ratio="anchor.ratio")
