"""The processors of a machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import ABOVE_0, Constant, Quantity
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Section

#: Speeds below and above which a processor cannot be, by the rate of the machine.
SPEED_RANGE = (1e-6, 1e6)


@dataclass(frozen=True)
class Processor:
    """``rate_flop_per_s`` prices operations; ``clock_hz`` and ``cycles_per_instruction`` price instructions.

    A rank that computes draws ``dynamic_power_w``.

    ``speeds``: how fast processors compute, relative to the rate and the clock given here: one number for each node,
    or for each of the equal parts that every node is divided into (sockets, processors), node after node. None: all
    alike. Forecasts look at the rate and the clock alone; the effect ``imbalance`` has the speeds.
    """

    rate_flop_per_s: FloatOrArray
    clock_hz: FloatOrArray | None = None  # only a demand in instructions needs it
    cycles_per_instruction: FloatOrArray = 1.0
    dynamic_power_w: FloatOrArray | None = None
    speeds: tuple[float, ...] | None = None

    def of_ranks(self, rank: NDArray[np.int64]) -> Processor:
        """Return the processors of these ranks (n,), if its constants are arrays over all ranks (P,).

        Otherwise itself.
        """
        names = ("rate_flop_per_s", "clock_hz", "cycles_per_instruction")
        values = {name: np.asarray(value) for name in names if (value := getattr(self, name)) is not None}
        own: dict[str, Any] = {name: value[rank] for name, value in values.items() if value.ndim}
        return replace(self, **own)

    def needs_one_kind(self, what: str, place: Place) -> None:
        """InputError if ranks have different processors, which ``what`` does not take into account."""
        values = (self.rate_flop_per_s, self.clock_hz, self.cycles_per_instruction)
        if any(value is not None and np.size(value) and np.ptp(value) for value in values):
            raise InputError(f"{what} needs processors that are all alike", place, allowed="ranks on one partition")

    @property
    def speeds_differ(self) -> bool:
        """Whether some processor is faster or slower than the rate."""
        return self.speeds is not None and any(speed != 1 for speed in self.speeds)

    def speed_of(self, number: NDArray[np.int64], processors: int) -> NDArray[np.float64]:
        """Return the speeds of processors by their numbers among all of the machine, node after node: shape (n,)."""
        speeds = np.asarray((1.0,) if self.speeds is None else self.speeds)
        of_each: NDArray[np.float64] = speeds[number * len(speeds) // processors]
        return of_each


def check_speeds(processor: Processor, nodes: int, per_node: int, place: Place) -> None:
    """InputError unless there is a speed for every node, or for every one of equal parts of all nodes, in range."""
    if processor.speeds is None:
        return
    low, high = SPEED_RANGE
    for speed in processor.speeds:
        if not low <= speed <= high:
            raise InputError(
                "a speed of processors is out of range",
                place,
                value=speed,
                allowed=f"{low:g} to {high:g} times the rate",
            )
    count = len(processor.speeds)
    if not count or count % nodes or (nodes * per_node) % count:
        parts = " or ".join(str(nodes * each) for each in range(1, per_node + 1) if per_node % each == 0)
        raise InputError("the number of speeds does not fit the processors", place, value=count, allowed=parts)


#: Keys of ``processor``.
PROCESSOR = Section(
    Key(
        "rate",
        Constant("rate", ABOVE_0),
        "operations per second of one processor",
        required=True,
        field="rate_flop_per_s",
    ),
    Key("clock", Constant("frequency", ABOVE_0), "cycles per second", "not stated", field="clock_hz"),
    Key("cpi", Constant("count", ABOVE_0), "cycles of an instruction", "1", field="cycles_per_instruction"),
    Key("dynamic_power", Constant("power"), "what one draws while it computes", field="dynamic_power_w"),
    Key(
        "speeds",
        Items(Quantity("count"), "speed of one", "1e-6 to 1e6"),
        "speed of each node, or of equal parts of the nodes, by `rate`",
        "all 1",
    ),
    make=Processor,
)
