"""A program: a tree whose leaves are demands, and whose blocks repeat their body and may name a phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Demand

#: Phase of demands outside any phase.
MAIN_PHASE = "main"


@dataclass(frozen=True)
class Block:
    """``repeat`` times the ``body``; ``phase`` names where its time is booked; ``constants`` replace the machine's.

    ``useful_flops``: what one repetition adds to the operations, of all ranks, of which a rate is made.
    ``overlaps``: its body are concurrent parts (``describe/programs/overlap.py``). ``index``: the name that
    counts the iterations, from 0, in everything within the block except its ``repeat``.
    """

    repeat: Expression
    body: tuple[Step, ...]
    phase: str | None = None
    constants: tuple[tuple[str, Expression], ...] = ()
    about: str = ""
    place: Place = field(default=Place(), compare=False)
    useful_flops: Expression | None = None
    overlaps: bool = False
    index: str | None = None

    def expressions(self) -> Iterator[Expression]:
        """Every expression of the block itself."""
        yield self.repeat
        yield from (value for _, value in self.constants)
        yield from (() if self.useful_flops is None else (self.useful_flops,))


Step = Block | Demand


def walk(program: tuple[Step, ...]) -> Iterator[Step]:
    """Every step of a program, blocks before their bodies."""
    for step in program:
        yield step
        if isinstance(step, Block):
            yield from walk(step.body)


def with_indices(
    program: tuple[Step, ...], outer: frozenset[str] = frozenset()
) -> Iterator[tuple[Step, frozenset[str]]]:
    """Every step of a program with the indices of the loops around it, blocks before their bodies."""
    for step in program:
        yield step, outer
        if isinstance(step, Block):
            yield from with_indices(step.body, outer if step.index is None else outer | {step.index})


def indices_of(program: tuple[Step, ...]) -> frozenset[str]:
    """Return the indices of all loops whose iterations differ by one."""
    return frozenset(step.index for step in walk(program) if isinstance(step, Block) and step.index is not None)


def names_in(step: Step) -> frozenset[str]:
    """Return the names in all expressions of a step, and of those in it."""
    return frozenset().union(*(one.names for part in walk((step,)) for one in part.expressions()))


def with_phase(program: tuple[Step, ...], phase: str = MAIN_PHASE) -> Iterator[tuple[str, Step]]:
    """Every step of a program with the phase in which its time is booked."""
    for step in program:
        inner = phase_name(phase, step.phase) if isinstance(step, Block) else phase
        yield inner, step
        if isinstance(step, Block):
            yield from with_phase(step.body, inner)


@dataclass(frozen=True)
class PlacedDemand:
    """A demand at its place in a program, nothing evaluated; ``blocks``: the blocks around it, the outermost first."""

    demand: Demand
    phase: str = MAIN_PHASE
    blocks: tuple[Block, ...] = ()

    @property
    def repeats(self) -> tuple[Expression, ...]:
        """Factors of how often it is done."""
        return tuple(block.repeat for block in self.blocks)

    @property
    def constants(self) -> dict[str, Expression]:
        """The constants of the machine that are replaced here."""
        return {path: value for block in self.blocks for path, value in block.constants}

    def runs_at(self, values: Mapping[str, FloatOrArray]) -> bool:
        """Return whether it may be done where parameters and equations have these values.

        No block around it is repeated 0 times, and its condition may hold. What depends on other names, such as
        ``rank``, may.
        """
        factors = (*self.repeats, *([] if self.demand.when is None else [self.demand.when]))
        known = (factor for factor in factors if factor.names <= values.keys())
        return all(np.any(np.asarray(factor.evaluate(values)) != 0) for factor in known)


def placed_demands(
    program: tuple[Step, ...], phase: str = MAIN_PHASE, blocks: tuple[Block, ...] = ()
) -> Iterator[PlacedDemand]:
    """All demands of a program in their order, with the blocks around them."""
    for step in program:
        if isinstance(step, Block):
            yield from placed_demands(step.body, phase_name(phase, step.phase), (*blocks, step))
        else:
            yield PlacedDemand(step, phase, blocks)


def phase_name(outer: str, inner: str | None) -> str:
    """Name of a phase inside another: ``outer/inner``."""
    if inner is None:
        return outer
    return inner if outer == MAIN_PHASE else f"{outer}/{inner}"
