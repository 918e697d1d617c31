"""``run_time``: the run time of an application on a machine by block and kernel, also by the rules of the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from simcodesign.aspen.application import Application
from simcodesign.aspen.cost import Cost
from simcodesign.aspen.machine import AspenMachine, LocatedResource
from simcodesign.aspen.runtime import EvaluatedBlock, EvaluatedKernel, Run
from simcodesign.aspen.scope import Given, Scope, out_of_range, read_given
from simcodesign.core.errors import InputError, nearest, whole_seed
from simcodesign.core.expressions.expression import Value
from simcodesign.core.units import FloatOrArray


@dataclass(frozen=True)
class UseTime:
    """One use of a resource by a block, over the whole run.

    ``amount`` is in the resource's own unit (flops, bytes ..), of all ``uses`` of it together; ``seconds`` is the
    time they take, ``busy_s`` the seconds of all its instances together, ``instances`` how many there are.
    """

    resource: str
    component: str
    traits: tuple[str, ...]
    amount: FloatOrArray
    uses: FloatOrArray
    seconds: FloatOrArray
    busy_s: FloatOrArray
    instances: FloatOrArray


@dataclass(frozen=True)
class BlockTime:
    """One execute block over the whole run: how often it ran, its seconds in all, and its uses of resources."""

    kernel: str
    label: str
    location: str
    times: FloatOrArray
    seconds: FloatOrArray
    uses: tuple[UseTime, ...]


@dataclass(frozen=True)
class KernelTime:
    """One kernel over the whole run, with all that it calls."""

    name: str
    times: FloatOrArray
    seconds: FloatOrArray


@dataclass(frozen=True)
class Timing:
    """The result of ``run_time``; ``seconds`` has the broadcast shape of the parameters."""

    application: Application
    machine: AspenMachine
    socket: str | None
    kernel: str
    parameters: Mapping[str, Given]
    compatible: bool
    seed: int | None
    seconds: FloatOrArray
    warnings: tuple[str, ...]

    @cached_property
    def blocks(self) -> tuple[BlockTime, ...]:
        """Time of each block, in the order of first evaluation."""
        return tuple(
            self._block(evaluated, key)
            for key, evaluated in self._run.blocks.items()
            if isinstance(evaluated, EvaluatedBlock)
        )

    @cached_property
    def kernels(self) -> tuple[KernelTime, ...]:
        """The kernels that were run, the innermost first; seconds include the kernels that they call."""
        entries = self._cost.entries
        names = [evaluated.name for evaluated in self._run.blocks.values() if isinstance(evaluated, EvaluatedKernel)]
        return tuple(
            KernelTime(name, float_or_array(entries[name].times), float_or_array(entries[name].seconds))
            for name in names
            if name in entries
        )

    @cached_property
    def compatible_seconds(self) -> FloatOrArray:
        """Seconds by the rules of the original: ``map`` and ``par`` added up."""
        return self.seconds if self.compatible else self._other(True)

    @cached_property
    def overlapped_seconds(self) -> FloatOrArray:
        """Seconds if ``map`` and ``par`` overlap."""
        return self._other(False) if self.compatible else self.seconds

    @property
    def overlap_s(self) -> FloatOrArray:
        """The seconds that ``map`` and ``par`` save over the original's sum; 0 without them."""
        return self.compatible_seconds - self.overlapped_seconds

    def _other(self, compatible: bool) -> FloatOrArray:
        run = _make_run(self.application, self.machine, self.socket, self.parameters, compatible, False, self.seed)[0]
        return _seconds(run, self.kernel)

    @cached_property
    def _evaluated(self) -> tuple[Run, Cost]:
        made = _make_run(self.application, self.machine, self.socket, self.parameters, self.compatible, True, self.seed)
        run = made[0]
        with np.errstate(all="ignore"):
            return run, run.kernel(self.kernel)

    @property
    def machine_names(self) -> Scope:
        """The values of the machine's names."""
        return self._run.machine_names

    def find(self, resource: str) -> LocatedResource:
        """Return the used resource of that name."""
        located = self.machine.find(resource, self.socket)
        if located is None:
            allowed = nearest(resource, self.machine.resources(self.socket))
            raise InputError(f"unknown resource {resource!r}", allowed=allowed)
        return located

    @property
    def _run(self) -> Run:
        return self._evaluated[0]

    @property
    def _cost(self) -> Cost:
        return self._evaluated[1]

    def _block(self, evaluated: EvaluatedBlock, key: Any) -> BlockTime:
        entry = self._cost.entries[key]
        statement = evaluated.statement
        uses = tuple(
            UseTime(
                use.resource,
                located.element.name,
                tuple(trait.name for trait in use.traits),
                float_or_array(total.amount),
                float_or_array(total.items),
                float_or_array(total.seconds),
                float_or_array(total.busy_s),
                float_or_array(self._run.instances(located)),
            )
            for use, located, total in zip(statement.uses, evaluated.located, entry.uses, strict=True)
        )
        location = str(statement.place)
        return BlockTime(
            evaluated.kernel,
            statement.label,
            location,
            float_or_array(entry.times),
            float_or_array(entry.seconds),
            uses,
        )


def run_time(
    application: Application,
    machine: AspenMachine,
    socket: str | None = None,
    parameters: Mapping[str, Given] | None = None,
    *,
    kernel: str = "main",
    compatible: bool = False,
    seed: int | None = None,
) -> Timing:
    """Return the seconds of a kernel of an application on one kind of socket of a machine.

    ``parameters`` are parameters of the application and of the machine, numbers or arrays that broadcast together;
    ``import.name`` is one of an import; ``application.name`` and ``machine.name`` distinguish two of the same name.
    ``socket`` may be left out if there is only one. ``compatible`` adds up ``map`` and ``par`` as the original does.
    Draws (``sample x from normal(..)``) are taken at their means, or with a ``seed`` once for each point.

    Division by zero and the like give inf or nan, and are among the warnings. Raises InputError for unknown
    parameters, sockets, kernels, resources and names, indices beyond an array, shapes that do not broadcast, and,
    unless ``compatible``, for parameters outside their ranges, of which the original takes no notice.
    """
    given = dict(parameters or {})
    run, warnings = _make_run(application, machine, machine.check_socket(socket), given, compatible, False, seed)
    if warnings and not compatible:
        raise InputError(warnings[0], allowed="a value in it; with --aspen-compatible (compatible=True) any")
    seconds = _seconds(run, kernel)
    warnings += run.all_warnings
    wrong = np.size(seconds) - np.count_nonzero(np.isfinite(seconds))
    if wrong:
        warnings.append(f"no finite run time at {wrong} of {np.size(seconds)} points")
    return Timing(
        application, machine, run.socket, kernel, given, compatible, seed, seconds, (*application.warnings, *warnings)
    )


def _make_run(
    application: Application,
    machine: AspenMachine,
    socket: str | None,
    parameters: Mapping[str, Given],
    compatible: bool,
    detailed: bool,
    seed: int | None,
) -> tuple[Run, list[str]]:
    application_values, machine_values = split_parameters(application, machine, parameters)
    shape = _shape({**application_values, **machine_values})
    draws = None if seed is None else _drawing(seed, shape)
    names, machine_names = application.scope(application_values, draws), machine.scope(machine_values)
    warnings = out_of_range(application.definitions, application_values, names) + out_of_range(
        machine.definitions, machine_values, machine_names
    )
    points = int(np.prod(shape))
    run = Run(application, machine, socket, names, machine_names, compatible, detailed, len(shape), points)
    return run, warnings


def _drawing(seed: int, shape: tuple[int, ...]) -> Callable[[], Any]:
    generator = np.random.default_rng(whole_seed(seed))
    return lambda: generator.random(shape) if shape else np.float64(generator.random())


def _shape(given: Mapping[str, Value]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*[np.shape(value) for value in given.values()])
    except ValueError as error:
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in given.items() if np.ndim(value))
        raise InputError(
            f"arrays of these shapes do not broadcast: {shapes}", allowed="broadcastable shapes"
        ) from error


def _seconds(run: Run, kernel: str) -> FloatOrArray:
    try:
        with np.errstate(all="ignore"):
            return float_or_array(run.kernel(kernel).seconds)
    except RecursionError as error:
        place = run.application.kernels[kernel].place if kernel in run.application.kernels else None
        raise InputError("the model is nested too deeply", place, allowed="shorter expressions, fewer calls") from error


def float_or_array(value: Value) -> FloatOrArray:
    """Return an array as it is, a number (also as an array without dimensions) as a float."""
    return value if isinstance(value, np.ndarray) and value.ndim else float(value)


def split_parameters(
    application: Application, machine: AspenMachine, parameters: Mapping[str, Given]
) -> tuple[dict[str, Value], dict[str, Value]]:
    """Return the given values of the application and of the machine.

    Raises InputError for unknown and ambiguous names.
    """
    application_values: dict[str, Value] = {}
    machine_values: dict[str, Value] = {}
    for name, value in parameters.items():
        owner, _, rest = name.partition(".")
        key = rest if owner in ("application", "machine") and rest else name
        in_machine = owner != "application" and key in machine.definitions.parameters
        in_application = owner != "machine" and _has(application, key)
        if in_machine and in_application:
            raise InputError(f"both models have a parameter {key}", allowed=f"application.{key} or machine.{key}")
        if in_machine:
            machine_values[key] = read_given(machine.definitions, key, value)
        elif in_application:
            model, last = application.model_of(key)
            application_values[key] = read_given(model.definitions, last, value)
        else:
            known = (*application.parameters, *machine.definitions.parameters)
            raise InputError(f"unknown parameter {name!r}", allowed=nearest(name, known))
    return application_values, machine_values


def _has(application: Application, name: str) -> bool:
    try:
        model, last = application.model_of(name)
    except InputError:
        return False
    return model.definitions.expression(last) is not None


def read_machine_parameters(machine: AspenMachine, parameters: Mapping[str, Given]) -> dict[str, Value]:
    """Return the given values of a machine alone. Raises InputError for unknown names."""
    given = {}
    for name, value in parameters.items():
        key = name.removeprefix("machine.")
        if key not in machine.definitions.parameters:
            raise InputError(f"unknown parameter {name!r}", allowed=nearest(key, machine.definitions.parameters))
        given[key] = read_given(machine.definitions, key, value)
    return given
