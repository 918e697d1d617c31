"""Evidence of a machine: measured times that determined none of its constants, and the errors of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.keys.forms import FROM_0, Amount, Choice, Name, Text, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Section

FORECAST, SIMULATION = READINGS = ("forecast", "simulation")
_SAME = 1e-9


@dataclass(frozen=True)
class Evidence:
    """Measured times of one operation that determined no constant of the machine.

    - ``operation``: a collective operation, or a workload by its name; ``ranks``: the measured numbers of ranks.
    - ``bytes``: the smallest and the largest size; empty if none is stated.
    - ``rows``: how many times; ``median_error``: of |predicted / measured - 1| over them, by ``reading``.
    - ``source``: who measured them.

    >>> from simcodesign.describe.machine_parts.evidence import Evidence
    >>> one = Evidence("broadcast", (8, 64), 20, 0.05, (4.0, 1e6))
    >>> one.holds("broadcast", 64, 1024.0), one.holds("broadcast", 512, 1024.0)
    (True, False)
    """

    operation: str
    ranks: tuple[int, ...]
    rows: int
    median_error: float
    bytes: tuple[float, ...] = ()
    reading: str = SIMULATION
    source: str = ""

    @property
    def low_bytes(self) -> float:
        """The smallest size."""
        return min(self.bytes, default=0.0)

    @property
    def high_bytes(self) -> float:
        """The largest size."""
        return max(self.bytes, default=float("inf"))

    def holds(self, operation: str, ranks: float, size_bytes: float | None = None) -> bool:
        """Return whether this operation was measured on as many ranks, and this size is between those measured."""
        if operation != self.operation or not any(abs(ranks - one) <= _SAME * one for one in self.ranks):
            return False
        low, high = self.low_bytes * (1 - _SAME), self.high_bytes * (1 + _SAME)
        return not self.bytes if size_bytes is None else low <= size_bytes <= high


EVIDENCE = Section(
    Key("operation", Name(), "a collective operation (`broadcast`), or the name of a workload", required=True),
    Key("ranks", Items(Whole(1), "one of them"), "the numbers of ranks that were measured", required=True),
    Key("bytes", Items(Amount("size", FROM_0), "one of them"), "the smallest and the largest size", "not stated"),
    Key("rows", Whole(1), "how many measured times", required=True),
    Key("median_error", Amount("count", FROM_0), "median of |predicted / measured - 1|, a fraction", required=True),
    Key("reading", Choice(READINGS), "by which reading", SIMULATION),
    Key("source", Text(), "who measured"),
    make=Evidence,
)


def check_evidence(every: Sequence[Evidence], place: Place) -> None:
    """Raise InputError for evidence without ranks, or with sizes other than the smallest and the largest."""
    for one in every:
        if not one.ranks:
            raise InputError("evidence.ranks", place, value=[], allowed="one number or more")
        if one.bytes and (len(one.bytes) > 2 or one.low_bytes != one.bytes[0]):
            what = f"evidence.bytes of {one.operation}"
            raise InputError(what, place, value=[*one.bytes], allowed="the smallest and the largest size")
