"""The work of an Aspen application, statement by statement, at one set of parameters: a tree of blocks.

``map`` and ``par`` stay as they are written; ``schedule`` decides what shares which instances, and when.
The only part of the closed form used here is the time of one use on one instance, with its traits.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcodesign.aspen.application import Application, ApplicationScope
from simcodesign.aspen.machine import AspenMachine
from simcodesign.aspen.runtime import Run, mentions
from simcodesign.aspen.scope import Given
from simcodesign.aspen.timing import split_parameters
from simcodesign.aspen.tree import Call, Execute, Group, If, Iterate, Kernel, Local, Probability, Statement, Switch
from simcodesign.core.errors import InputError, Place

MAX_BLOCKS = 10_000  # of all iterations whose counter matters, and of all calls


@dataclass(frozen=True)
class Use:
    """A use of a resource: seconds of one item on one of ``instances``."""

    resource: str
    serial_s: float
    instances: float


@dataclass(frozen=True)
class Block:
    """So many items, each of which makes all uses."""

    label: str
    place: Place
    items: float
    uses: tuple[Use, ...]


@dataclass(frozen=True)
class Chain:
    """One after another."""

    parts: tuple[Work, ...]


@dataclass(frozen=True)
class Branches:
    """Side by side: ``par``."""

    parts: tuple[Work, ...]


@dataclass(frozen=True)
class Repeated:
    """``times`` repetitions, one after another; a fraction if it has a probability."""

    times: float
    body: Work


@dataclass(frozen=True)
class Iterations:
    """``count`` independent iterations of ``map``, all alike."""

    count: float
    body: Work


Work = Block | Chain | Branches | Repeated | Iterations
Names = dict[str, Any]
NOTHING = Chain(())


def work_of(
    application: Application,
    machine: AspenMachine,
    socket: str | None,
    parameters: Mapping[str, Given],
    kernel: str,
    random: np.random.Generator | None = None,
) -> Work:
    """Return the work of a kernel.

    With ``random``, samples and cases with a probability are drawn each time that they come up; without, samples are at
    their means and each case has its share.

    Raises InputError as ``run_time`` does, and for arrays of parameters, times that are no finite number of at least
    0, and more than ``MAX_BLOCKS`` blocks.
    """
    own, others = split_parameters(application, machine, parameters)
    for name, value in {**own, **others}.items():
        if np.ndim(value):
            raise InputError(f"parameter {name}: a simulation takes one point, not arrays", value=np.shape(value))
    draws = None if random is None else lambda: np.float64(random.random())
    names, machine_names = application.scope(own, draws), machine.scope(others)
    run = Run(application, machine, socket, names, machine_names, False, False, 0, 1)
    scope, first = names.kernel_without_arguments(kernel)
    with np.errstate(all="ignore"):
        return _Walk(run, _Count(), random).kernel(scope, first, ())


class _Count:
    def __init__(self) -> None:
        self.blocks = 0

    def one(self, statement: Execute) -> None:
        self.blocks += 1
        if self.blocks > MAX_BLOCKS:
            raise InputError(
                "the model has too many blocks for a simulation", statement.place, allowed=f"up to {MAX_BLOCKS} blocks"
            )


@dataclass(frozen=True)
class _Walk:
    run: Run
    count: _Count
    random: np.random.Generator | None

    def kernel(self, scope: ApplicationScope, kernel: Kernel, values: tuple[Any, ...]) -> Work:
        local = {argument.name: value for argument, value in zip(kernel.arguments, values, strict=True)}
        return chain(self.statements(scope, kernel.body, local))

    def statements(self, scope: ApplicationScope, body: tuple[Statement, ...], local: Names) -> list[Work]:
        parts: list[Work] = []
        for statement in body:
            if isinstance(statement, Local):
                local = {**local, statement.name: scope.evaluate(statement.value, local)}
            else:
                parts.append(self.statement(scope, statement, local))
        return [work for work in parts if work != NOTHING]

    def statement(self, scope: ApplicationScope, statement: Statement, local: Names) -> Work:
        match statement:
            case Execute():
                return self.execute(scope, statement, local)
            case Call():
                return self.call(scope, statement, local)
            case Iterate():
                return self.iterate(scope, statement, local)
            case Group(is_parallel=True):
                parts = self.statements(scope, statement.body, local)
                return Branches(tuple(parts)) if len(parts) > 1 else chain(parts)
            case Group():
                return chain(self.statements(scope, statement.body, local))
            case If(condition, then, otherwise):
                body = then if scope.evaluate(condition, local) != 0 else otherwise
                return chain(self.statements(scope, body, local))
            case Switch(subject, cases, otherwise):
                chosen = scope.evaluate(subject, local)
                matching = next((body for value, body in cases if scope.evaluate(value, local) == chosen), otherwise)
                return chain(self.statements(scope, matching, local))
            case Probability():
                return self.probability(scope, statement, local)
        raise AssertionError(statement)

    def execute(self, scope: ApplicationScope, statement: Execute, local: Names) -> Work:
        self.count.one(statement)
        items = 1.0 if statement.parallelism is None else float(scope.evaluate(statement.parallelism, local))
        uses = []
        for use in statement.uses:
            located = self.run.find(use)
            amount = scope.evaluate(use.amount, local)
            seconds = float(self.run.serial_s(use, located, amount, scope, local))
            instances = float(self.run.instances(located))
            _check(seconds, f"seconds of {use.resource}", use.place)
            if not (instances > 0 and math.isfinite(instances)):
                what = f"the number of instances of {use.resource} is out of range"
                raise InputError(what, use.place, value=f"{instances:g}", allowed="finite, above 0")
            uses.append(Use(use.resource, seconds, instances))
        _check(items, "parallelism", statement.place)
        return Block(statement.label, statement.place, items, tuple(uses)) if uses and items > 0 else NOTHING

    def call(self, scope: ApplicationScope, statement: Call, local: Names) -> Work:
        values = tuple(scope.evaluate(argument, local) for argument in statement.arguments)
        *aliases, last = statement.name.split(".")
        inner = functools.reduce(lambda outer, alias: outer.import_scope(alias, statement.place), aliases, scope)
        return self.kernel(inner, inner.application.kernels[last], values)

    def iterate(self, scope: ApplicationScope, statement: Iterate, local: Names) -> Work:
        count = float(scope.evaluate(statement.count, local))
        if not (count >= 0 and math.isfinite(count)):
            shown = f"{count:g} = {statement.count.text}"
            what = "the number of iterations must be finite"
            raise InputError(what, statement.count.place, value=shown, allowed="0 or more")
        if count == 0:
            return NOTHING
        before = self.random and self.random.bit_generator.state
        body = self.iteration(scope, statement, local, 0)
        is_random = self.random is not None and self.random.bit_generator.state != before
        if not is_random and (statement.counter is None or not mentions(statement.body, statement.counter)):
            return _repeated(statement.is_map, [(count, body)])
        if count > MAX_BLOCKS:
            what = "the simulation has too many iterations that differ"
            allowed = f"up to {MAX_BLOCKS}" + (", or effects without chance" if is_random else "")
            raise InputError(what, statement.count.place, value=f"{count:g}", allowed=allowed)
        bodies = [body, *(self.iteration(scope, statement, local, at) for at in range(1, math.ceil(count)))]
        return _repeated(statement.is_map, [(len(list(same)), one) for one, same in itertools.groupby(bodies)])

    def iteration(self, scope: ApplicationScope, statement: Iterate, local: Names, number: int) -> Work:
        named = local if statement.counter is None else {**local, statement.counter: np.float64(number)}
        return chain(self.statements(scope, statement.body, named))

    def probability(self, scope: ApplicationScope, statement: Probability, local: Names) -> Work:
        bodies = [*statement.cases, (None, statement.otherwise)]
        left, draw = 1.0, None if self.random is None else self.random.random()
        parts: list[Work] = []
        for chance, body in bodies:
            share = left if chance is None else float(scope.evaluate(chance, local))
            if not (share >= 0 and (chance is None or left - share >= -1e-9)):
                place, text = (chance.place, chance.text) if chance else (statement.place, "rest")
                what = "a probability is out of range"
                raise InputError(what, place, value=f"{share:g} = {text}", allowed="0 or more, up to 1 in all")
            left = max(left - share, 0.0)
            if draw is None and share > 0:
                inner = chain(self.statements(scope, body, local))
                parts += [Repeated(share, inner)] if inner != NOTHING else []
            elif draw is not None and 0 <= draw < share:
                return chain(self.statements(scope, body, local))
            draw = None if draw is None else draw - share
        return chain(parts)


def chain(parts: list[Work]) -> Work:
    """Return work that consists of ``parts`` one after another: the part itself if it is the only one."""
    return parts[0] if len(parts) == 1 else Chain(tuple(parts))


def _repeated(is_map: bool, runs: list[tuple[float, Work]]) -> Work:
    """Return iterations, those that follow each other and are alike together."""
    kind = Iterations if is_map else Repeated
    parts = [body if times == 1 else kind(times, body) for times, body in runs if body != NOTHING]
    return Branches(tuple(parts)) if is_map and len(parts) > 1 else chain(parts)


def _check(value: float, what: str, place: Place) -> None:
    if not (value >= 0 and math.isfinite(value)):
        raise InputError(f"{what} must be a finite number", place, value=f"{value:g}", allowed="0 or more")
