"""Quantities measured in replications: their names and formats."""

from __future__ import annotations

import math
from dataclasses import dataclass

from simcodesign.report.common.numbers import MAX_WRITTEN_OUT, Seconds, grouped, shared_unit
from simcodesign.studies.replication.observations import BLOCKED, MAKESPAN, RESPONSE, Key
from simcodesign.studies.replication.output_analysis import Interval

#: Names of quantities, and their unit; the rest have their own names, as counts.
QUANTITIES: dict[Key, tuple[str, str]] = {
    MAKESPAN: ("makespan", "s"),
    RESPONSE: ("response time", "s"),
    BLOCKED: ("blocked", "%"),
    ("messages",): ("messages", ""),
    ("message_bytes",): ("bytes sent", "B"),
    ("disk_bytes",): ("bytes read and written", "B"),
    ("footprint_bytes",): ("memory of a rank", "B"),
    ("energy_j",): ("energy", "J"),
    ("peak_power_w",): ("power at most", "W"),
    ("static_power_w",): ("of it static", "W"),
    ("events",): ("events", ""),
}


#: Digits of a mean, however narrow its interval is.
_DIGITS = 5


@dataclass(frozen=True)
class QuantityFormat:
    """How values in an SI unit are written; ``fixed``: times ``factor``, the unit standing in a heading."""

    unit: str = ""
    fixed: bool = False
    factor: float = 1.0

    @classmethod
    def of(cls, show: Seconds) -> QuantityFormat:
        """For times in the unit of a table."""
        return cls("", True, 1 / show.factor)

    def scaled(self, value: float) -> tuple[float, str]:
        """Factor for values like this one, and their suffix."""
        if self.fixed:
            return self.factor, ""
        if self.unit == "%":
            return 100.0, "%"
        factor, name = shared_unit([value], self.unit)
        return factor, f" {name}" if name else ""

    def __call__(self, value: float) -> str:
        """Return a value alone."""
        factor, unit = self.scaled(value)
        number = value * factor
        if not unit and not self.fixed and number.is_integer():
            return grouped(number)
        if abs(number) >= MAX_WRITTEN_OUT:
            return f"{number:.4g}{unit}"
        return f"{number:,.{_decimals(number, _DIGITS)}f}{unit}" if number else f"0{unit}"

    def wide(self, interval: Interval) -> str:
        """``12.34 ± 0.05 ms``; the mean alone of a single run, and of what is the same in all."""
        if interval.same or not math.isfinite(interval.half_width):
            return self(interval.mean)
        factor, unit = self.scaled(max(abs(interval.mean), interval.half_width))
        mean, half = interval.mean * factor, interval.half_width * factor
        if abs(mean) >= MAX_WRITTEN_OUT:
            return f"{mean:.4g} ± {half:.1g}{unit}"
        places = min(_decimals(half, 2), _decimals(mean, _DIGITS) if abs(mean) > half else 99)
        narrow = half < 0.5 * 10.0**-places
        return f"{mean:,.{places}f} ± {half:.1g}{unit}" if narrow else f"{mean:,.{places}f} ± {half:,.{places}f}{unit}"


def _decimals(value: float, digits: int) -> int:
    """Places after the point that show ``digits`` digits."""
    return max(digits - 1 - math.floor(math.log10(abs(value))), 0) if value else 0


def named_quantity(key: Key) -> tuple[str, QuantityFormat]:
    """Name of a quantity, and the format of its values."""
    if key in QUANTITIES:
        name, unit = QUANTITIES[key]
        return name, QuantityFormat(unit)
    if key[0] == "used":
        return f"{key[1]} used", QuantityFormat()
    return " ".join(part.removesuffix("_s") for part in key[1:] or key), QuantityFormat(
        "s" if key[0].endswith("_s") else ""
    )
