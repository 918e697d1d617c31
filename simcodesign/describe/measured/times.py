"""Measured values with their spread, and measured times of a workload at a design point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.to_json import fields_of
from simcodesign.core.units import NOT_NEGATIVE_RANGE, is_positive
from simcodesign.describe.formulas.formula import check_components

#: Purposes of a measurement.
ROLES = ("evidence", "calibration")


@dataclass(frozen=True)
class MeasuredValue:
    """A measured number.

    ``low`` and ``high``: the ends of its spread, both or neither; ``interval`` describes them (``95 % t``, ``min-max``,
    ``quartiles``); ``n``: the number of measurements behind it. InputError for a value that is no finite number, an
    end without the other, and a value that is not between them.
    """

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    interval: str = ""
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        for name, number in (("value", self.value), ("low", self.low), ("high", self.high)):
            if number is not None and not math.isfinite(number):
                raise InputError(f"{name} of a measured value", self.place, value=number, allowed="finite numbers")
        if (self.low is None) != (self.high is None):
            raise InputError("a spread with one end", self.place, allowed="both low and high, or neither")
        if self.ends is not None and not self.ends[0] <= self.value <= self.ends[1]:
            given = f"{self.value:g} with {self.low:g} to {self.high:g}"
            raise InputError("a value outside its spread", self.place, value=given, allowed="low <= value <= high")
        if self.n is not None and self.n < 1:
            raise InputError("not a number of measurements", self.place, value=self.n, allowed="1 or more")

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of its spread; None if that is not known."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __float__(self) -> float:
        return float(self.value)

    def json_fields(self) -> dict[str, Any]:
        """Return the known fields."""
        shown = fields_of(self, without=("place",))
        return {name: value for name, value in shown.items() if value not in (None, "")}


@dataclass(frozen=True)
class MeasuredTimes:
    """Measured times, in seconds.

    Times of the whole, of phases, of components and of components of a phase (``parts``), as far as known. ``at``: the
    values of parameters, ``P`` among them (of a machine file words too), and ``machine`` the name of the machine, at
    which: a design point must have all of these; any has an empty name. ``role``: ``calibration`` for what constants of
    the machine or workload were made of, which is no evidence.
    """

    total: MeasuredValue | None = None
    phases: Mapping[str, MeasuredValue] = field(default_factory=dict)
    components: Mapping[str, MeasuredValue] = field(default_factory=dict)
    parts: Mapping[tuple[str, str], MeasuredValue] = field(default_factory=dict)
    at: Mapping[str, float | str] = field(default_factory=dict)
    machine: str = ""
    role: str = ""
    source: str = ""
    about: str = ""
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if not any(True for _ in self.values()):
            raise InputError("no time was measured", self.place, allowed="total, phases or components")
        check_components([*self.components, *(component for _, component in self.parts)], self.place)
        for _, one in self.values():
            for time_s in (one.value, *(one.ends or ())):
                if time_s != 0 and not is_positive(time_s):
                    raise InputError(
                        "a measured time is out of range", one.place, value=time_s, allowed=NOT_NEGATIVE_RANGE
                    )

    def values(self) -> Iterator[tuple[str, MeasuredValue]]:
        """Yield the measured values, by subject: ``total``, a phase, a component."""
        if self.total is not None:
            yield "total", self.total
        yield from ((f"phase {name}", one) for name, one in self.phases.items())
        yield from self.components.items()
        yield from ((f"phase {phase}: {component}", one) for (phase, component), one in self.parts.items())

    @property
    def total_s(self) -> float | None:
        """Seconds of the whole; None if they were not measured."""
        return None if self.total is None else float(self.total)

    @property
    def phases_s(self) -> dict[str, float]:
        """Seconds of phases."""
        return {name: float(one) for name, one in self.phases.items()}

    @property
    def components_s(self) -> dict[str, float]:
        """Seconds of components."""
        return {name: float(one) for name, one in self.components.items()}

    def json_fields(self) -> dict[str, Any]:
        """Return seconds by subject; each with its spread; and the design point of the measurement."""
        shown = fields_of(self, "total_s", "phases_s", "components_s", without=("place", "parts"))
        parts: dict[str, dict[str, MeasuredValue]] = {}
        for (phase, component), one in self.parts.items():
            parts.setdefault(phase, {})[component] = one
        return shown | ({"parts": parts} if parts else {})
