"""The run time of an application on a machine, for one set of parameters or for arrays of them.

A block ``execute [p]`` uses resources: of a resource with I instances it takes ceil(p/I) times the resource's
expression of the quantity, changed by one trait after another. Times of one resource add, times of resources that
exclude each other, directly or through others, add, the rest overlap (Spafford & Vetter, SC 2012; Sci. Prog. 2015,
article 157305; ``machine.linked_by_conflicts``).

This reading differs from the original, which adds up both, in ``map [n]`` and ``par``:

- ``map [n]`` are n independent iterations. Its blocks have n times their parallelism: ceil(n p/I) instead of
  n ceil(p/I), so that idle instances take part, and full ones gain nothing.
- ``par`` runs its statements concurrently: as long as the longest of them, and no shorter than the work of any resource
  for all of them, spread over its instances.

Neither is ever slower than the sum. ``probability`` weights its cases (the expected time). A counter of ``iterate``
or ``map`` counts from 0; of iterations that differ, a map takes the mean over the counter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simcodesign.aspen.application import Application, ApplicationScope, bodies
from simcodesign.aspen.cost import ZERO, Cost, Entry, UseTotal, in_turn, over_counter, side_by_side, weighted
from simcodesign.aspen.machine import AspenMachine, LocatedResource, linked_by_conflicts
from simcodesign.aspen.nodes import Distribution, Normal, Uniform
from simcodesign.aspen.scope import Scope
from simcodesign.aspen.tree import Call, Execute, Group, If, Iterate, Kernel, Local, Probability, Statement, Switch, Use
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression, Value

MAX_STATEMENTS = 20_000  # evaluated in one call; kernels with equal arguments are evaluated once
MAX_COUNTED = 20_000_000  # counts of a counter times points

Names = dict[str, Any]
Block = tuple[Statement, ...]


@dataclass(frozen=True)
class EvaluatedBlock:
    """A block that was run, and the resource behind each of its uses."""

    kernel: str
    statement: Execute
    located: tuple[LocatedResource, ...]


@dataclass(frozen=True)
class EvaluatedKernel:
    """A kernel that was run."""

    name: str


@dataclass
class Run:
    """One evaluation: the names of application and machine, how to read ``map`` and ``par``, and what was evaluated."""

    application: Application
    machine: AspenMachine
    socket: str | None
    names: ApplicationScope
    machine_names: Scope
    compatible: bool
    detailed: bool
    dimensions: int
    points: int
    warnings: dict[str, None] = field(default_factory=dict)
    ignored: dict[tuple[str, str, str], dict[Place, None]] = field(default_factory=dict)  # traits
    blocks: dict[Hashable, EvaluatedBlock | EvaluatedKernel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.conflicts = self.machine.conflicts(self.socket)
        self._located: dict[str, LocatedResource | None] = {}
        self._instances: dict[str, Value] = {}
        self._costs: dict[Hashable, Cost] = {}
        self._key_arrays: list[Any] = []  # arrays whose identity is part of a key
        self._statements = 0

    def kernel(self, name: str) -> Cost:
        """Return the cost of one kernel without arguments."""
        names, kernel = self.names.kernel_without_arguments(name)
        return _Frame(self, names, name.rpartition(".")[0], name).kernel(kernel, ())

    def step(self, statement: Statement) -> None:
        """Count a statement. Raises InputError above the largest number of statements."""
        self._statements += 1
        if self._statements > MAX_STATEMENTS:
            allowed = f"up to {MAX_STATEMENTS} statements in all"
            raise InputError(
                "kernels call each other too often, with other arguments", statement.place, allowed=allowed
            )

    def once(self, key: tuple[Hashable, ...], values: tuple[Any, ...], compute: Callable[[], Cost]) -> Cost:
        """Return the cost for these values, computed once and cached."""
        full_key = (*key, self.dimensions, *[id(value) if np.ndim(value) else float(value) for value in values])
        if full_key not in self._costs:
            self._key_arrays.append(values)
            self._costs[full_key] = compute()
        return self._costs[full_key]

    def find(self, use: Use) -> LocatedResource:
        """Return the resource that a use names, where the machine has it."""
        if use.resource not in self._located:
            self._located[use.resource] = self.machine.find(use.resource, self.socket)
        located = self._located[use.resource]
        if located is None:
            place = f"{self.machine.name} ({self.socket})" if self.socket else self.machine.name
            allowed = nearest(use.resource, self.machine.resources(self.socket))
            raise InputError(f"{place} has no resource {use.resource!r}", use.place, allowed=allowed)
        return located

    def instances(self, located: LocatedResource) -> Value:
        """Return the number of instances of a resource."""
        name = located.resource.name
        if name not in self._instances:
            self._instances[name] = located.instances(self.machine_names)
        return self._instances[name]

    def serial_s(self, use: Use, located: LocatedResource, amount: Value, names: Scope, local: Names) -> Value:
        """Seconds of one use on one instance, with its traits."""
        resource = located.resource
        bound: Names = {resource.argument: amount}
        time = self.machine_names.evaluate(resource.time_s, bound)
        definitions = {trait.name: trait for trait in resource.traits}
        for trait in use.traits:
            definition = definitions.get(trait.name)
            if definition is None:
                self.ignored.setdefault((resource.name, located.element.name, trait.name), {})[use.place] = None
                continue
            values = {**bound, "base": time}
            if definition.argument is not None:
                if trait.argument is None:
                    allowed = f"{trait.name}({definition.argument})"
                    raise InputError(f"trait {trait.name} lacks its argument", use.place, allowed=allowed)
                values[definition.argument] = names.evaluate(trait.argument, local)
            time = self.machine_names.evaluate(definition.time_s, values)
        return time

    @property
    def all_warnings(self) -> list[str]:
        """One line for each trait that is not defined, and ``warnings``."""
        lines = []
        for (resource, element, trait), places in self.ignored.items():
            others = f" and {len(places) - 1} more" if len(places) > 1 else ""
            lines.append(f"{next(iter(places))}{others}: {resource} of {element} has no trait {trait!r}, it is ignored")
        return [*lines, *self.warnings]


@dataclass(frozen=True)
class _Frame:
    """Evaluates the statements of the kernels of one model."""

    run: Run
    names: ApplicationScope
    prefix: str  # the imports that lead to the model
    called: str

    def kernel(self, kernel: Kernel, values: tuple[Any, ...], spread: Value | None = None) -> Cost:
        """Return the cost of one run; ``spread`` multiplies the parallelism of its blocks."""
        name = f"{self.prefix}.{kernel.name}" if self.prefix else kernel.name
        frame = _Frame(self.run, self.names, self.prefix, name)
        local = {argument.name: value for argument, value in zip(kernel.arguments, values, strict=True)}
        key, spreads = ("kernel", name, spread is None), () if spread is None else (spread,)
        cost = self.run.once(key, (*spreads, *values), lambda: frame.block(kernel.body, local, spread))
        if not self.run.detailed:
            return cost
        self.run.blocks[name] = EvaluatedKernel(name)
        kernel_entry = Cost(ZERO, {}, {name: Entry(np.float64(1.0) if spread is None else spread, cost.seconds)})
        return Cost(cost.seconds, cost.work, in_turn([cost, kernel_entry]).entries)

    def block(self, block: Block, local: Names, spread: Value | None) -> Cost:
        return in_turn(self.costs(block, local, spread))

    def costs(self, block: Block, local: Names, spread: Value | None) -> list[Cost]:
        costs = []
        for statement in block:
            if isinstance(statement, Local):
                local = {**local, statement.name: self.local(statement, local)}
            else:
                costs.append(self.statement(statement, local, spread))
        return costs

    def statement(self, statement: Statement, local: Names, spread: Value | None) -> Cost:
        self.run.step(statement)
        match statement:
            case Execute():
                return self.execute(statement, local, spread)
            case Call():
                return self.call(statement, local, spread)
            case Iterate():
                return self.iterate(statement, local, spread)
            case Group(is_parallel=True) if not self.run.compatible:
                return side_by_side(self.costs(statement.body, local, spread), self.run.conflicts)
            case Group():
                return self.block(statement.body, local, spread)
            case If(condition, then, otherwise):
                return self.choose([(self.names.evaluate(condition, local), then)], otherwise, local, spread)
            case Switch():
                return self.switch(statement, local, spread)
            case Probability():
                return self.probability(statement, local, spread)
        raise AssertionError(statement)

    def local(self, statement: Local, local: Names) -> Value:
        if self.names.draws is None and isinstance(statement.value.tree, Uniform | Normal | Distribution):
            self.run.warnings[f"{statement.place}: {statement.name} is taken at its mean"] = None
        return self.names.evaluate(statement.value, local)

    def execute(self, statement: Execute, local: Names, spread: Value | None) -> Cost:
        parallelism = self.evaluate(statement.parallelism, local)
        items = parallelism if spread is None else parallelism * spread
        uses, located = [], []
        times: dict[str, Value] = {}
        seconds: Value
        work: dict[str, Value] = {}
        for use in statement.uses:
            amount = self.names.evaluate(use.amount, local)
            located_use = self.run.find(use)
            instances = self.run.instances(located_use)
            serial = self.run.serial_s(use, located_use, amount, self.names, local)
            seconds = np.ceil(items / instances) * serial
            times[use.resource] = times[use.resource] + seconds if use.resource in times else seconds
            if not self.run.compatible or self.run.detailed:
                busy = items * serial
                share = busy / instances
                work[use.resource] = work[use.resource] + share if use.resource in work else share
                uses.append(UseTotal(items, amount * items, seconds, busy))
                located.append(located_use)
        seconds = self.longest_group_s(times)
        if not self.run.detailed:
            return Cost(seconds, work)
        key = (self.called, id(statement))
        self.run.blocks[key] = EvaluatedBlock(self.called, statement, tuple(located))
        entry = Entry(np.float64(1.0) if spread is None else spread, seconds, tuple(uses))
        return Cost(seconds, work, {key: entry})

    def longest_group_s(self, times: dict[str, Value]) -> Value:
        """Seconds of the longest group of resources linked by conflicts: times within a group add, groups overlap.

        This is the rule of the original Aspen.
        """
        groups = linked_by_conflicts(times, self.run.conflicts)
        sums = [functools.reduce(lambda a, b: a + b, [times[name] for name in group]) for group in groups]
        return functools.reduce(np.maximum, sums) if sums else ZERO

    def evaluate(self, expression: Expression | None, local: Names) -> Value:
        return np.float64(1.0) if expression is None else self.names.evaluate(expression, local)

    def call(self, statement: Call, local: Names, spread: Value | None) -> Cost:
        values = tuple(self.names.evaluate(argument, local) for argument in statement.arguments)
        *aliases, last = statement.name.split(".")
        names, prefix = self.names, [self.prefix] if self.prefix else []
        for alias in aliases:
            names = names.import_scope(alias, statement.place)
        frame = _Frame(self.run, names, ".".join([*prefix, *aliases]), self.called)
        return frame.kernel(names.application.kernels[last], values, spread)

    # --- repetition -------------------------------------------------------------------------------------------

    def iterate(self, statement: Iterate, local: Names, spread: Value | None) -> Cost:
        count = self.names.evaluate(statement.count, local)
        if np.any(count < 0):
            shown = f"{np.min(count):g} = {statement.count.text}"
            raise InputError(
                "the number of iterations is negative", statement.count.place, value=shown, allowed="0 or more"
            )
        is_map = statement.is_map and not self.run.compatible
        if is_map:
            spread = count if spread is None else spread * count
        if statement.counter is not None and mentions(statement.body, statement.counter):
            return self.counted(statement, count, local, spread, is_map)
        cost = self.block(statement.body, {**local, statement.counter: ZERO} if statement.counter else local, spread)
        return weighted(cost, np.float64(1.0) * (count > 0)) if is_map else weighted(cost, count)

    def counted(self, statement: Iterate, count: Value, local: Names, spread: Value | None, is_map: bool) -> Cost:
        """Evaluate all counts together, along an additional leading axis."""
        largest = np.ceil(np.max(count, initial=0.0))
        if not largest * self.run.points <= MAX_COUNTED:
            allowed = f"up to {MAX_COUNTED} counts times points"
            raise InputError(
                f"counter {statement.counter} counts to {largest:g}, which is too far",
                statement.count.place,
                allowed=allowed,
            )
        numbers = np.arange(largest).reshape(-1, *[1] * self.run.dimensions)
        holds = numbers < count
        self.run.dimensions += 1
        self.run.points *= max(int(largest), 1)
        cost = self.block(statement.body, {**local, str(statement.counter): numbers}, spread)
        self.run.dimensions -= 1
        self.run.points //= max(int(largest), 1)
        return over_counter(cost, holds, mean=is_map)

    # --- choices ----------------------------------------------------------------------------------------------

    def switch(self, statement: Switch, local: Names, spread: Value | None) -> Cost:
        subject = self.names.evaluate(statement.subject, local)
        cases = [(self.names.evaluate(value, local) == subject, body) for value, body in statement.cases]
        return self.choose(cases, statement.otherwise, local, spread)

    def choose(self, cases: list[tuple[Any, Block]], otherwise: Block, local: Names, spread: Value | None) -> Cost:
        """Return the first case that holds, point by point; a case that holds at no point is not evaluated."""
        costs: list[Cost] = []
        remaining: Value = np.float64(1.0)
        for holds, body in [*cases, (np.float64(1.0), otherwise)]:
            weight = remaining * (holds != 0)
            if np.any(weight):
                costs.append(weighted(self.block(body, local, spread), weight))
            remaining = remaining - weight
        return in_turn(costs)

    def probability(self, statement: Probability, local: Names, spread: Value | None) -> Cost:
        costs: list[Cost] = []
        remaining: Value = np.float64(1.0)
        for probability, body in statement.cases:
            weight = self.names.evaluate(probability, local)
            remaining = remaining - weight
            if np.any(weight < 0) or np.any(remaining < -1e-9):
                shown = f"{np.max(weight):g} = {probability.text}"
                what = "a probability is out of range"
                raise InputError(what, probability.place, value=shown, allowed="0 or more, up to 1 in all")
            costs.append(weighted(self.block(body, local, spread), weight))
        otherwise_weight = np.maximum(remaining, 0.0)
        return in_turn([*costs, weighted(self.block(statement.otherwise, local, spread), otherwise_weight)])


def mentions(block: Block, name: str) -> bool:
    """Whether an expression anywhere in a block uses the name."""
    return any(name in expression.names for statement in block for expression in _expressions(statement)) or any(
        mentions(body, name) for statement in block for body in bodies(statement)
    )


def _expressions(statement: Statement) -> list[Expression]:
    match statement:
        case Execute(parallelism=parallelism, uses=uses):
            traits = [trait.argument for use in uses for trait in use.traits if trait.argument]
            return [*([parallelism] if parallelism else []), *[use.amount for use in uses], *traits]
        case Call(arguments=arguments):
            return list(arguments)
        case Iterate(count=count):
            return [count]
        case If(condition=condition):
            return [condition]
        case Switch(subject=subject, cases=cases):
            return [subject, *[value for value, _ in cases]]
        case Probability(cases=cases):
            return [value for value, _ in cases]
        case Local(value=value):
            return [value]
    return []
