"""The operations of a program as sequences, cut at global synchronisations, and the time of each sequence.

The sequence of a program is put together like the program: one after another, and repeated. Own work of the ranks has
no part in it (see ``succession``). ``pipelined`` gives every sequence its closed form if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from simcodesign.analytic.pipelining.succession import Operation
from simcodesign.core.forecast_parts import Pipelined, SequenceTime


@dataclass(frozen=True)
class Repeated:
    """``times`` times some operations one after another."""

    times: float
    body: tuple[Operation | Repeated, ...]

    @property
    def operations(self) -> Iterator[Operation]:
        """Each operation in it, once."""
        for part in self.body:
            yield from part.operations if isinstance(part, Repeated) else (part,)

    @property
    def single(self) -> Operation | None:
        """The operation if it is one alone."""
        (first, *more) = self.body
        return first if isinstance(first, Operation) and not more else None

    @property
    def time_s(self) -> float:
        """The sum of the closed forms."""
        return self.times * sum(part.time_s for part in self.body)

    @property
    def pipelined_s(self) -> float | None:
        """The time of a row of one operation if that has a closed form."""
        one = self.single
        return one.repeated_s(self.times) if one and one.repeated_s and self.times > 1 else None

    @property
    def words(self) -> str:
        """Describe the operations and their numbers."""
        inner = ", ".join(part.words if isinstance(part, Repeated) else part.label for part in self.body)
        if self.times == 1:
            return inner
        return f"{inner} x {self.times:g}" if self.single else f"({inner}) x {self.times:g}"


Parts = tuple[Repeated, ...]


@dataclass(frozen=True)
class Chain:
    """Operations of a piece of a program, divided by cuts.

    Before the first cut (``head``), between cuts (``inner``, how often each), and after the last (``tail``). Without a
    cut ``tail`` is None and everything is in ``head``.
    """

    head: Parts = ()
    inner: tuple[tuple[Parts, float], ...] = ()
    tail: Parts | None = None

    @classmethod
    def of(cls, operation: Operation) -> Chain:
        """One operation."""
        return cls((), (), ()) if operation.waits_for_all else cls((Repeated(1.0, (operation,)),))

    def __add__(self, other: Chain) -> Chain:
        if self.tail is None:
            return Chain(_joined(self.head, other.head), other.inner, other.tail)
        between = _joined(self.tail, other.head)
        if other.tail is None:
            return Chain(self.head, self.inner, between)
        return Chain(self.head, (*self.inner, (between, 1.0), *other.inner), other.tail)

    def repeated(self, times: float) -> Chain:
        """Return the piece ``times`` times."""
        if times == 0 or (not self.head and self.tail is None):
            return Chain()
        if self.tail is None:
            if len(self.head) == 1:
                return Chain((Repeated(self.head[0].times * times, self.head[0].body),))
            return Chain((Repeated(times, self.head),))
        inner = tuple((parts, count * times) for parts, count in self.inner)
        again = (_joined(self.tail, self.head), max(times - 1.0, 0.0))
        return Chain(self.head, (*inner, again), self.tail)

    @property
    def sequences(self) -> Iterator[tuple[Parts, float]]:
        """Operations that all ranks begin together, and how often."""
        every = [(self.head, 1.0), *self.inner, (self.tail or (), 1.0)]
        return ((parts, count) for parts, count in every if parts and count)


def _joined(before: Parts, after: Parts) -> Parts:
    """One after the other; the same operation again counts more often."""
    if not before or not after:
        return before or after
    last, first = before[-1], after[0]
    if last.single and first.single and last.single.key == first.single.key:
        return (*before[:-1], Repeated(last.times + first.times, last.body), *after[1:])
    return before + after


def pipelined(chain: Chain, sum_s: float) -> Pipelined:
    """Return the time of a program whose sum of closed forms is ``sum_s``, by the sequences of its operations."""
    found = [time for parts, count in chain.sequences for time in _times(parts, count)]
    saved_s = sum(time.sum_s - time.pipelined_s for time in found if time.pipelined_s is not None)
    return Pipelined(sum_s - saved_s, _summed(found))


def _times(parts: Parts, count: float) -> Iterator[SequenceTime]:
    """Where the sum of closed forms is not exact: rows of one operation that have a closed form.

    And, unless that is all, the whole, with the sum except for what its rows save.
    """
    rest = _inexact(parts)
    for part in rest:
        if part.pipelined_s is not None:
            phase = next(part.operations).phase
            yield SequenceTime(phase, part.words, count, count * part.time_s, count * part.pipelined_s)
    if len(rest) > 1 or any(part.pipelined_s is None for part in rest):
        words, sum_s = ", ".join(part.words for part in rest), sum(part.time_s for part in rest)
        yield SequenceTime(next(rest[0].operations).phase, words, count, count * sum_s, None)


def _inexact(parts: Parts) -> Parts:
    """Return the part of a sequence whose time is not known to be the sum.

    Exact are: what ends together as it began; what takes its whole time on every rank, at the end; a single operation;
    and operations that take their whole time on the same rank.
    """
    left = list(parts)
    while left and all(operation.ends_together for operation in left[0].operations):
        left.pop(0)
    while left and all(operation.whole_time().all() for operation in left[-1].operations):
        left.pop()
    if not left or (len(left) == 1 and left[0].single and left[0].times <= 1):
        return ()
    operations = [operation for part in left for operation in part.operations]
    stays = reduce(np.logical_and, (operation.whole_time() for operation in operations))
    return () if stays.any() else tuple(left)


def _summed(found: Sequence[SequenceTime]) -> tuple[SequenceTime, ...]:
    """Equal sequences together, the largest saving first, then those with the plain sum."""
    every: dict[tuple[str, str, bool], SequenceTime] = {}
    for time in found:
        key = (time.phase, time.operations, time.pipelined_s is None)
        every[key] = time if key not in every else every[key].plus(time)
    return tuple(sorted(every.values(), key=lambda time: -time.saved_s))
