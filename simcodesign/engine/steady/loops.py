"""The loops of a program that may be cut short, and where their operations stand in a Plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.expressions.expression import parse
from simcodesign.core.simulation_parts import IndexedLoop
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.programs.program import MAIN_PHASE, Block, Step, phase_name, placed_demands
from simcodesign.generate.plan import DemandOrder, Plan

#: Iterations above which the whole is not even extrapolated, since counts would not fit in 64 bits.
MOST = 10**9


@dataclass(frozen=True)
class Loop:
    """A block that is repeated more than a few times, in no other such block. ``path``: its place in the program and in
    the blocks around it; ``demands``: which of the demands of the program are in it, by their numbers."""

    path: tuple[int, ...]
    phase: str
    repeat: int
    demands: range


def program_with_loops(point: DesignPoint, few: int) -> tuple[tuple[Step, ...], list[Loop]]:
    """The program with every loop in one place only, and its outermost loops: blocks with more than ``few``
    iterations."""
    program = tuple(_unrolled(point.workload.program, point, few))
    return program, list(_loops(program, point, few))


def indexed_loops(program: Sequence[Step], phase: str = MAIN_PHASE) -> Iterator[IndexedLoop]:
    """The loops whose iterations differ by an index, without those in them: they are never cut short."""
    for step in program:
        if isinstance(step, Block):
            name = phase_name(phase, step.phase)
            if step.index is not None:
                yield IndexedLoop(name, step.index, str(step.place))
            else:
                yield from indexed_loops(step.body, name)


def with_counts(program: tuple[Step, ...], counts: Mapping[Loop, int]) -> tuple[Step, ...]:
    """The program with so many iterations of these loops."""
    for loop, count in counts.items():
        program = _repeated(program, loop.path, count)
    return program


def _repeated(program: tuple[Step, ...], path: tuple[int, ...], count: int) -> tuple[Step, ...]:
    block = program[path[0]]
    assert isinstance(block, Block)
    inner = (
        replace(block, repeat=parse(count))
        if len(path) == 1
        else replace(block, body=_repeated(block.body, path[1:], count))
    )
    return (*program[: path[0]], inner, *program[path[0] + 1 :])


def _repeat(block: Block, point: DesignPoint) -> float:
    return float(np.asarray(block.repeat.evaluate(point.values)))


def _is_loop(block: Block, point: DesignPoint, few: int) -> bool:
    times = _repeat(block, point)
    return times == np.floor(times) and few < times <= MOST


def _unrolled(program: Sequence[Step], point: DesignPoint, few: int) -> Iterator[Step]:
    """The program with blocks written out that are repeated a few times and have a loop in them."""
    for step in program:
        if not isinstance(step, Block) or step.index is not None or _is_loop(step, point, few):
            yield step  # iterations that differ are all simulated
            continue
        body, times = tuple(_unrolled(step.body, point, few)), _repeat(step, point)
        if 1 < times == np.floor(times) and any(_loops(body, point, few)):
            yield from [replace(step, repeat=parse(1), body=body)] * int(times)
        else:
            yield replace(step, body=body)


def _loops(
    program: Sequence[Step],
    point: DesignPoint,
    few: int,
    path: tuple[int, ...] = (),
    phase: str = MAIN_PHASE,
    demands: int = 0,
) -> Iterator[Loop]:
    """The outermost loops of steps that begin with the demand of this number."""
    for place, step in enumerate(program):
        inside = demands
        demands += sum(1 for _ in placed_demands((step,)))
        if isinstance(step, Block) and step.index is None:
            name = phase_name(phase, step.phase)
            if _is_loop(step, point, few):
                yield Loop((*path, place), name, int(_repeat(step, point)), range(inside, demands))
            elif _repeat(step, point) == 1:
                yield from _loops(step.body, point, few, (*path, place), name, inside)


@dataclass(frozen=True)
class LoopOperations:
    """Where the ``count`` iterations of a loop stand in a Plan: in each rank from operation ``begin`` on, each of
    ``width`` operations. Both (P,)."""

    begin: NDArray[np.int64]
    width: NDArray[np.int64]
    count: int

    @property
    def end(self) -> NDArray[np.int64]:
        """(P,) the first operation after the loop."""
        return self.begin + self.count * self.width

    def at(self, iteration: int) -> NDArray[np.int64]:
        """(P,) the first operation of an iteration."""
        return self.begin + iteration * self.width


def operations_of(plan: Plan, order: DemandOrder, loop: Loop, count: int) -> LoopOperations:
    """Where a loop that is done ``count`` times stands in the Plan."""
    demand = order.demand[order.turns]
    inside = (demand >= loop.demands.start) & (demand < loop.demands.stop)
    first = int(np.argmax(inside))
    before, within = order.turns[:first], order.turns[inside]
    width = _operations(order, within, plan.ranks) // count
    return LoopOperations(plan.first[:-1] + _operations(order, before, plan.ranks), width, count)


def _operations(order: DemandOrder, turns: NDArray[np.int32], ranks: int) -> NDArray[np.int64]:
    """(P,) operations of these demands."""
    times = np.bincount(turns, minlength=len(order.counts)).tolist()
    total = np.zeros(ranks, np.int64)
    for number, count in enumerate(times):
        total += count * np.asarray(order.counts[number])
    return total
