"""Closed form of pipelined sweeps over a process grid of px x py ranks.

A. Hoisie, O. Lubeck, H. Wasserman, "Performance and scalability analysis of teraflop-scale parallel architectures using
multidimensional wavefront applications", IJHPCA 14 (2000): a sweep takes its stages, times the time between two of
them: the stages of the pipeline's length and of its blocks. G. Mudalige, M. Vernon, S. Jarvis, "A plug-and-play model
for evaluating wavefront computations on parallel architectures", IPDPS 2008: sweeps that follow one another from
corners side by side overlap.

A rank receives a block in x and then in y, computes, and sends in x and then in y. With c, a and r of a message
(``message_costs``) and w for computing, all along the longest path:

    a block on in x      a_x + r_x (+ r_y if it has a neighbour before it in y) + w a block on in y      (c_x if it has
    a neighbour behind it in x +) a_y + r_y + w the next block       r_x + r_y + c_x + c_y, of those neighbours that the
    rank has, + w

A message that its receiver copies holds it for that as well: r_y with it in the first line, both r in the last.
In LogGOPS, u_x replaces c_x in y, and a next block is at least u_x + u_y, and v_x + v_y, after the previous one.

Within the grid all ranks are alike. So it is enough to look at paths by the first, second, last but one and last place
of each axis, between which their length is linear. Their maximum is exact in Hockney's model where no sender waits for
its receiver. In LogGOPS, where gaps count and messages are taken up as they come, and where senders wait, it is an
estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from simcodesign.analytic.messages.message import Message
from simcodesign.core.units import FloatOrArray

#: Numbers of the places on an axis that matter: the first, the second, the last but one and the last one.
PLACES = range(4)
#: Seconds at which a rank at (number in x, number in y) is ready.
Ready = dict[tuple[int, int], FloatOrArray]


@dataclass(frozen=True)
class Sweeps:
    """``planes`` blocks over a grid of ``px`` x ``py`` ranks, from one corner after another.

    With a message of its own in ``x`` and ``y``, and ``compute_s`` of work on a block. Numbers, or arrays that
    broadcast.
    """

    px: FloatOrArray
    py: FloatOrArray
    planes: FloatOrArray
    x: Message
    y: Message
    compute_s: FloatOrArray

    def time_s(self, corners: Sequence[tuple[int, int]]) -> FloatOrArray:
        """Until the last rank has done its last block."""
        ready: Ready = dict.fromkeys(product(PLACES, PLACES), 0.0)
        for corner in corners:
            from_corner = {_turned(place, corner): time_s for place, time_s in ready.items()}
            ready = {_turned(place, corner): time_s for place, time_s in self._swept(from_corner).items()}
        last: FloatOrArray = np.where(np.asarray(self.planes) > 0, _largest(ready.values()), 0.0)
        return last

    def _swept(self, ready: Ready) -> Ready:
        """When ranks are done with a sweep from (0, 0)."""
        begun = {place: time_s + self._received_s(*place) + self.compute_s for place, time_s in ready.items()}
        there = self._passed_on(begun)
        blocks_s = {place: time_s + (self.planes - 1) * self._apart_s(*place) for place, time_s in there.items()}
        done = self._passed_on(blocks_s)
        return {place: time_s + self._sent_s(*place) for place, time_s in done.items()}

    def _passed_on(self, begun: Ready) -> Ready:
        """Return the longest paths of one block to all places: first in y, in which most paths meet, then in x."""
        in_y = {}
        for x, y in begun:
            step_s = (
                self._behind(x, self.px) * self.x.next_send_s + self.y.arrival_s + self.y.receive_s + self.compute_s
            )
            ways = ((begun[x, from_y], _at(y, self.py) - _at(from_y, self.py)) for from_y in PLACES[: y + 1])
            in_y[x, y] = _largest(time_s + steps * step_s for time_s, steps in ways)
        in_x = {}
        for x, y in in_y:
            step_s = self.x.arrival_s + self.x.receive_s + self._before(y, self.py) * self.y.held_s + self.compute_s
            ways = ((in_y[from_x, y], _at(x, self.px) - _at(from_x, self.px)) for from_x in PLACES[: x + 1])
            in_x[x, y] = _largest(time_s + steps * step_s for time_s, steps in ways)
        return in_x

    def _apart_s(self, x: int, y: int) -> FloatOrArray:
        """From one block of a rank to the next: its work, or the gaps of its messages."""
        sends_s = self._behind(x, self.px) * self.x.next_send_s + self._behind(y, self.py) * self.y.next_send_s
        receives_s = self._before(x, self.px) * self.x.next_receive_s + self._before(y, self.py) * self.y.next_receive_s
        work_s = self._received_s(x, y) + self._sent_s(x, y) + self.compute_s
        return np.maximum(work_s, np.maximum(sends_s, receives_s))

    def _received_s(self, x: int, y: int) -> FloatOrArray:
        return self._before(x, self.px) * self.x.held_s + self._before(y, self.py) * self.y.held_s

    def _sent_s(self, x: int, y: int) -> FloatOrArray:
        return self._behind(x, self.px) * self.x.send_s + self._behind(y, self.py) * self.y.send_s

    @staticmethod
    def _before(number: int, extent: FloatOrArray) -> FloatOrArray:
        """1 where a rank has a neighbour before it, otherwise 0."""
        return np.where(_at(number, extent) > 0, 1.0, 0.0)

    @staticmethod
    def _behind(number: int, extent: FloatOrArray) -> FloatOrArray:
        return np.where(_at(number, extent) < np.asarray(extent) - 1, 1.0, 0.0)


def _at(number: int, extent: FloatOrArray) -> FloatOrArray:
    """Return the place on an axis; the inner ones are those at the ends if there are fewer than three."""
    second = np.where(np.asarray(extent) > 2, 1.0, 0.0)
    return (0.0, second, extent - 1.0 - second, extent - 1.0)[number]


def _turned(place: tuple[int, int], corner: tuple[int, int]) -> tuple[int, int]:
    """Return the numbers of a place, counted from a corner."""
    x, y = (3 - number if upper else number for number, upper in zip(place, corner, strict=True))
    return x, y


def _largest(values: Iterable[FloatOrArray]) -> FloatOrArray:
    largest: FloatOrArray = 0.0
    for value in values:
        largest = np.maximum(largest, value)
    return largest
