"""Address streams of loop nests in which every access moves on by the same number of bytes in each turn of a loop.

The accesses of the inner loops are written out once, as a template; an outer turn is the template, moved by some
bytes for each array. That is two passes over an array, however deep the nest is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simcodesign.locality.traces.trace import LOAD, STORE, Accesses, Addresses, Kinds

#: Bytes by which the accesses to each array are moved.
Moves = NDArray[np.uint64]
#: Group of the first array: 0 means in other traces that nothing is known.
FIRST_GROUP = 1
#: Accesses of a template: few enough to stay in a cache of the second level, many enough to be worth a call.
LONGEST = 1 << 16


@dataclass(frozen=True)
class Access:
    """An access to an array (a number from 0), at ``address`` in the first turn of every loop around it."""

    array: int
    address: int
    kind: int = LOAD

    @property
    def count(self) -> int:
        """Accesses in it."""
        return 1

    @property
    def stores(self) -> int:
        """Accesses in it that only store."""
        return int(self.kind == STORE)


@dataclass(frozen=True)
class Loop:
    """``turns`` times the body; with every turn accesses to an array move on by its number in ``steps`` (bytes)."""

    turns: int
    steps: tuple[int, ...]
    body: tuple[Node, ...]

    @cached_property
    def in_turn(self) -> int:
        """Accesses of one turn."""
        return sum(part.count for part in self.body)

    @cached_property
    def count(self) -> int:
        """Accesses in it."""
        return self.turns * self.in_turn

    @cached_property
    def stores(self) -> int:
        """Accesses in it that only store."""
        return self.turns * sum(part.stores for part in self.body)

    @cached_property
    def moves(self) -> Moves:
        """The steps as an array."""
        return np.array(self.steps, np.uint64)

    def blocks(self, most: int) -> Iterator[Accesses]:
        """All accesses in order, some at a time and at most ``most``."""
        yield from self.turns_from(0, self.turns, most)

    def turns_from(self, first: int, turns: int, most: int = LONGEST) -> Iterator[Accesses]:
        """Yield the accesses of ``turns`` turns from ``first`` on, in order."""
        some = replace(self, turns=turns)
        yield from _blocks(some, min(most, LONGEST), np.uint64(first) * self.moves, {}) if turns else ()


#: Parts of a loop.
Node: TypeAlias = Access | Loop


class Template(NamedTuple):
    """Consecutive accesses, each (n,)."""

    address: Addresses
    array: NDArray[np.intp]
    kind: Kinds
    group: Addresses

    def moved(self, moves: Moves) -> Accesses:
        """Return these accesses with every array moved. Kinds and groups are shared: do not write to them."""
        address = moves.take(self.array)
        address += self.address
        return Accesses(address, self.kind, self.group)

    def first(self, count: int) -> Template:
        """Its first accesses, as views."""
        if count == len(self.address):
            return self
        return Template(self.address[:count], self.array[:count], self.kind[:count], self.group[:count])


def _blocks(node: Node, most: int, moves: Moves, known: dict[int, Template]) -> Iterator[Accesses]:
    """``known``: templates by the identity of their node, for each is needed again in every turn of the outer loops."""
    if isinstance(node, Access):
        yield _known(node, 1, known).moved(moves)
        return
    if together := most // node.in_turn:
        template = _known(node, min(together, node.turns), known)
        for turn in range(0, node.turns, together):
            count = min(together, node.turns - turn) * node.in_turn
            yield template.first(count).moved(moves + np.uint64(turn) * node.moves)
        return
    for turn in range(node.turns):
        for part in node.body:
            yield from _blocks(part, most, moves + np.uint64(turn) * node.moves, known)


def _known(node: Node, turns: int, known: dict[int, Template]) -> Template:
    if id(node) not in known:
        known[id(node)] = _written_out(node, turns)
    return known[id(node)]


def _written_out(node: Node, turns: int) -> Template:
    """Return the first ``turns`` turns of a loop, or an access."""
    if isinstance(node, Access):
        return template(np.array([node.address], np.uint64), np.array([node.array]), np.array([node.kind], np.uint8))
    body = _joined([_written_out(part, part.turns if isinstance(part, Loop) else 1) for part in node.body])
    moves = np.arange(turns, dtype=np.uint64)[:, None] * node.moves.take(body.array)
    moves += body.address
    return template(moves.ravel(), np.tile(body.array, turns), np.tile(body.kind, turns))


def template(address: Addresses, array: NDArray[np.intp], kind: Kinds) -> Template:
    """Return a template with the groups that go with its arrays."""
    return Template(address, array, kind, (array + FIRST_GROUP).astype(np.uint64))


def _joined(parts: Sequence[Template]) -> Template:
    if len(parts) == 1:
        return parts[0]
    address, array, kind = (np.concatenate([part[column] for part in parts]) for column in range(3))
    return template(address, array, kind)
