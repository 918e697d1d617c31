"""Wavefronts: pipelined sweeps over a process grid, as of discrete ordinates (KBA) or SSOR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import MESSAGES, Evaluate, grid_error
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.demands.footprint import MessageDemand

#: A corner of the process grid: 0 for the lower, 1 for the upper end of x and of y.
Corner = tuple[int, int]
#: The corners from which sweeps begin, one after another, by their number.
CORNERS: dict[int, tuple[Corner, ...]] = {
    1: ((0, 0),),
    2: ((0, 0), (1, 1)),
    4: ((0, 0), (1, 0), (1, 1), (0, 1)),
}


@dataclass(frozen=True)
class Wavefront(MessageDemand):
    """Sweeps of ``planes`` blocks over a process grid of px x py ranks, one from each of ``corners`` after another.

    The rank of (x, y) is x * py + y. For every block, a rank receives from its neighbour before it in x and from that
    in y, computes, and sends ``bytes`` (in x, in y) to those behind it. ``compute``: the work of a rank on one block;
    None for none. The grid covers each ``group``, if it names one.
    """

    grid: tuple[Expression, Expression]
    planes: Expression
    bytes: tuple[Expression, Expression]
    compute: Compute | None = None
    corners: tuple[Corner, ...] = CORNERS[1]
    group: str | None = None
    alike_on_all_ranks = True
    can_be_started = True

    @property
    def parts(self) -> frozenset[str]:
        return MESSAGES if self.compute is None else MESSAGES | {self.compute.works_on}

    @property
    def label(self) -> str:
        return "wavefront" + ("" if self.group is None else f" in {self.group}")

    @property
    def title(self) -> str:
        bytes_text = " / ".join(dict.fromkeys(size.text for size in self.bytes))
        work = "" if self.compute is None else f", {self.compute.title} each"
        sweeps = "" if len(self.corners) == 1 else f"{len(self.corners)} sweeps of "
        grid = " x ".join(extent.text for extent in self.grid)
        return f"wavefront, {sweeps}{self.planes.text} planes{work}, {bytes_text} bytes, grid {grid}"

    def amounts(self) -> Iterator[Expression]:
        yield from (*self.grid, self.planes, *self.bytes)
        yield from () if self.compute is None else self.compute.amounts()
        yield from super().amounts()

    def touched_bytes(self, ranks: FloatOrArray, evaluate: Evaluate) -> FloatOrArray:
        """Footprint of one block: what comes from two neighbours, and what goes to two."""
        in_x, in_y = self.sizes_bytes(evaluate)
        return 2.0 * (in_x + in_y)

    def checked_grid(self, ranks: FloatOrArray, evaluate: Evaluate) -> tuple[FloatOrArray, FloatOrArray]:
        """px and py. InputError unless these are whole and their product is ``ranks`` wherever that is above 0."""
        px, py = (evaluate(extent, "grid") for extent in self.grid)
        whole = np.all(px == np.floor(px)) and np.all(py == np.floor(py))
        if not (whole and np.all((px * py == ranks) | (np.asarray(ranks) == 0))):
            raise grid_error(ranks, self.grid, [px, py], self.place)
        return px, py

    def checked_planes(self, evaluate: Evaluate) -> FloatOrArray:
        """Return the blocks of a rank in one sweep. InputError unless they are whole."""
        planes = np.asarray(evaluate(self.planes, "planes"))
        odd = planes[planes != np.floor(planes)]
        if odd.size:
            what = f"planes = {self.planes.text} is no number of blocks"
            raise InputError(what, self.planes.place or self.place, value=float(odd.flat[0]), allowed="a whole number")
        return planes

    def sizes_bytes(self, evaluate: Evaluate) -> tuple[FloatOrArray, FloatOrArray]:
        """Bytes of a message in x and in y."""
        in_x, in_y = (evaluate(size, "bytes") for size in self.bytes)
        return in_x, in_y
