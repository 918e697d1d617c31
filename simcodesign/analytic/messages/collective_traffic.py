"""Traffic of collectives and exchanges, for link loads and bounds: rows (source, target, bytes, messages)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.ordered_steps import Burst, Ints, Joint, Step, Steps
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray


@dataclass(frozen=True)
class Traffic:
    """Messages: four arrays of equal length. ``messages`` of ``size_bytes`` each go from a source to a target."""

    source: Ints
    target: Ints
    size_bytes: NDArray[np.float64]
    messages: NDArray[np.float64]

    @property
    def load_bytes(self) -> NDArray[np.float64]:
        """Bytes of all messages of a row."""
        return self.size_bytes * self.messages

    def among(self, members: Ints) -> Traffic:
        """Return the messages in each of several groups, ``members`` (groups, n), for ranks 0 to n - 1."""
        if members.shape[0] == 1 and np.array_equal(members[0], np.arange(members.shape[1])):
            return self
        source, target = (members[:, side].ravel() for side in (self.source, self.target))
        size, messages = (np.tile(values, len(members)) for values in (self.size_bytes, self.messages))
        return Traffic(source, target, size, messages)

    @classmethod
    def together(cls, parts: Sequence[Traffic]) -> Traffic:
        """All these messages, which may be none."""
        if not parts:
            none = np.zeros(0, dtype=np.int64)
            return cls(none, none, np.zeros(0), np.zeros(0))
        if len(parts) == 1:
            return parts[0]
        columns = ("source", "target", "size_bytes", "messages")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))


def collective_traffic(steps: Steps, size_bytes: FloatOrArray) -> Traffic:
    """Collect the messages of one collective operation, of one size or (P,) by rank."""
    every = (one for step in steps for one in _messages(step) if not one.signals)
    return _together((one.source, one.target, one.size_bytes(size_bytes), 1.0) for one in every)


def _messages(step: Step | Burst | Joint) -> Iterable[Step]:
    if isinstance(step, Burst):
        return step.messages
    return step.parts if isinstance(step, Joint) else (step,)


def halo_traffic(
    grid: Sequence[int], sizes_bytes: Sequence[float], periodic: bool, messages: Sequence[float] | None = None
) -> Traffic:
    """Return the messages of a halo exchange on a process grid, ranks in row-major order.

    One to each neighbour, if None.
    """
    place = np.arange(int(np.prod(grid))).reshape(tuple(grid))
    several = [1.0] * len(sizes_bytes) if messages is None else messages
    return _together(_shifts(place, sizes_bytes, periodic, several))


def checked_peers(what: str, expression: Expression, values: Mapping[str, FloatOrArray], here: Ints) -> Ints:
    """Return the peer of each rank in ``here``. InputError for one that is not another rank."""
    ranks = int(values["P"])
    every = np.broadcast_to(np.asarray(expression.evaluate(values), dtype=np.float64), ranks)
    peer = every[here]
    bad = np.flatnonzero((peer != np.floor(peer)) | (peer < 0) | (peer >= ranks) | (peer == here))
    if len(bad):
        rank = here[bad[0]]
        raise InputError(
            f"rank {rank}: {what} = {expression.text} is not another rank",
            expression.place,
            value=float(every[rank]),
            allowed=f"0 to {ranks - 1}, not {rank} itself; % P wraps around",
        )
    return peer.astype(np.int64)


def _together(parts: Iterable[tuple[Ints, Ints, FloatOrArray, float]]) -> Traffic:
    rows = [
        (source, np.broadcast_to(target, source.shape), np.full(source.shape, size), np.full(source.shape, count))
        for source, target, size, count in parts
    ]
    if not rows:
        return Traffic(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    return Traffic(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def _shifts(
    place: Ints, sizes: Sequence[float], periodic: bool, messages: Sequence[float]
) -> Iterator[tuple[Ints, Ints, float, float]]:
    for axis, (size, count) in enumerate(zip(sizes, messages, strict=True)):
        if place.shape[axis] == 1 or not count:
            continue
        upper = np.roll(place, -1, axis)
        inner = place if periodic else np.take(place, range(place.shape[axis] - 1), axis)
        above = upper if periodic else np.take(upper, range(place.shape[axis] - 1), axis)
        yield inner.ravel(), above.ravel(), size, count
        yield above.ravel(), inner.ravel(), size, count
