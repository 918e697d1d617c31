"""A design point: one workload on one machine with every name given its value. Both readings start from here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import CapacityError, InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import (
    CAPACITY,
    CONSTANTS,
    MODELS_OF,
    POWERS,
    cache_constants,
    check_not_former,
    dimension_at,
    is_of,
)
from simcodesign.describe.demands.point_to_point import Send
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_use import machine_use
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.placement import GridMapping
from simcodesign.describe.programs.program import MAIN_PHASE, Block, Step, phase_name, placed_demands, with_phase
from simcodesign.describe.randomness.node_failures import CheckpointTimes
from simcodesign.describe.resources import PREFIX
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.constants import OTHER_NAMES

Given = Mapping[str, object]
#: So many ranks are looked at one by one.
MOST_RANKS = 100_000_000


@dataclass(frozen=True)
class DesignPoint:
    """``values`` holds every parameter and equation, and ``P``; scalars or arrays that broadcast to ``shape``."""

    workload: Workload
    machine: Machine
    values: Mapping[str, FloatOrArray]
    given: Mapping[str, FloatOrArray]
    preset: str | None = None

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch of design points: () for a single one."""
        arrays = [*self.values.values(), *self.machine.varying().values()]
        return np.broadcast_shapes(*(np.shape(value) for value in arrays))

    @property
    def footprint_bytes(self) -> FloatOrArray | None:
        """Memory that every rank uses, at every design point; None where the workload does not say it.

        InputError if it is negative or not finite.
        """
        return self._whole("footprint", self.workload.footprint, positive=False)

    @property
    def accelerator_footprint_bytes(self) -> FloatOrArray | None:
        """Memory of its accelerator that every rank uses, at every design point.

        None where the workload does not say it. InputError if it is negative or not finite.
        """
        return self._whole("accelerator_footprint", self.workload.accelerator_footprint, positive=False)

    @property
    def size(self) -> FloatOrArray | None:
        """Size of the problem, at every design point; None where the workload does not say it.

        InputError unless it is finite and above 0.
        """
        return self._whole("size", self.workload.size, positive=True)

    @property
    def checkpoint_times(self) -> CheckpointTimes:
        """Seconds of its checkpoints, at every design point.

        InputError unless these are finite and not negative, and the interval above 0.
        """
        checkpoints = self.workload.checkpoints
        if checkpoints is None:
            return CheckpointTimes()
        interval_s = self._whole("checkpoints.interval", checkpoints.interval, positive=True)
        write_s = self._whole("checkpoints.write", checkpoints.write, positive=False)
        restart_s = self._whole("checkpoints.restart", checkpoints.restart, positive=False)
        assert interval_s is not None
        assert write_s is not None
        assert restart_s is not None
        return CheckpointTimes(interval_s, write_s, restart_s)

    @property
    def capacity_bytes(self) -> FloatOrArray | None:
        """Memory that every rank has, at every design point; None where the machine does not say it."""
        capacity = self.machine.rank_capacity_bytes
        return None if capacity is None else self._everywhere(capacity)

    @property
    def accelerator_capacity_bytes(self) -> FloatOrArray | None:
        """Memory of its accelerator that every rank has, at every design point.

        None where the machine does not say it.
        """
        capacity = self.machine.rank_accelerator_bytes
        return None if capacity is None else self._everywhere(capacity)

    @property
    def settings(self) -> tuple[str, ...]:
        """``KEY=VALUE`` of each parameter of the workload that is set and has one value at all design points."""
        known = self.workload.parameters
        return tuple(
            f"{name}={known[name].written(float(value))}"
            for name, value in self.given.items()
            if name in known and not np.ndim(value)
        )

    def result_fields(self) -> dict[str, Any]:
        """Return the fields of a ``Result`` of either reading that describe the design point."""
        own = {"workload": self.workload.name, "machine": self.machine.label, "values": dict(self.values)}
        names = (
            *("preset", "size", "footprint_bytes", "capacity_bytes"),
            *("accelerator_footprint_bytes", "accelerator_capacity_bytes", "settings"),
        )
        own |= {name: getattr(self, name) for name in names}
        ranks = self.values["P"]
        return own if np.ndim(ranks) else own | {"use": machine_use(self.machine, int(ranks))}

    @property
    def differs_by_rank(self) -> bool:
        """``differs_by_rank`` of its workload and machine, at its numbers of ranks."""
        return differs_by_rank(self.workload, self.machine, self.values["P"])

    @cached_property
    def has_power(self) -> bool:
        """Whether the machine, or a phase that replaces its constants, states any power."""
        blocks = (step for _, step in with_phase(self.workload.program) if isinstance(step, Block))
        return self.machine.has_power or any(path in POWERS for block in blocks for path, _ in block.constants)

    @cached_property
    def has_loggops(self) -> bool:
        """Return whether messages have the processor as they come, as in LogGOPS.

        On the machine or in a phase that replaces its constants.
        """
        blocks = (step for _, step in with_phase(self.workload.program) if isinstance(step, Block))
        own = self.machine.network.message_model
        others = {MODELS_OF[path][0] for block in blocks for path, _ in block.constants if not is_of(path, own)}
        in_order = (MESSAGE_MODELS[name].ranks_work_in_order for name in others)
        return not (own.ranks_work_in_order and all(in_order))

    def _whole(self, name: str, expression: Expression | None, positive: bool) -> FloatOrArray | None:
        """Evaluate a quantity of the workload as a whole: above 0, or 0 and above."""
        if expression is None:
            return None
        text = f"{name} = {expression.text}"
        value = finite(expression.evaluate(self.values), text, self.workload, expression)
        least = float(np.min(value))
        if least < 0 or (positive and least == 0):
            raise InputError(f"{text} is {'not above 0' if positive else 'negative'}", expression.place, value=least)
        return self._everywhere(value)

    def _everywhere(self, value: FloatOrArray) -> FloatOrArray:
        """Return the value at every design point.

        A plain number for one, otherwise an array of ``shape`` (a read-only view).
        """
        return np.broadcast_to(value, self.shape) if self.shape else float(value)

    @property
    def ranks(self) -> int:
        """Number of ranks of a single design point. InputError when P is an array."""
        if np.ndim(self.values["P"]):
            raise InputError("P must be one number here", self.workload.place, value=self.values["P"])
        return int(self.values["P"])

    def every_rank(self) -> NDArray[np.float64]:
        """Numbers of all ranks, (P,). CapacityError when even these are too many to hold."""
        return numbered_ranks(self.ranks, self.workload.place)

    def require_one_point(self, purpose: str) -> None:
        """InputError unless this is a single design point."""
        if self.shape:
            names = [name for name, value in self.given.items() if np.ndim(value)]
            raise InputError(f"{purpose} takes one design point, but these are arrays", value=names)


def numbered_ranks(ranks: int, place: Place) -> NDArray[np.float64]:
    """Numbers of ``ranks`` ranks, (P,). CapacityError when even these are too many to hold."""
    if ranks > MOST_RANKS:
        what = f"{ranks:.3g} ranks, one by one, take {8 * ranks / 1e9:.3g} GB of memory for every number"
        raise CapacityError(what, place, allowed=f"up to {MOST_RANKS:.3g} where ranks differ")
    return np.arange(ranks, dtype=np.float64)


def bind(
    workload: Workload,
    machine: Machine,
    parameters: Given | None = None,
    *,
    preset: str | None = None,
    phases: Collection[str] | None = None,
) -> DesignPoint:
    """Give every name its value.

    ``parameters``: values of workload parameters, ``P``, machine constants by path (``network.startup``, SI units),
    machine parameters (``machine.NAME``) and ``memory.capacity``; numbers or arrays that broadcast, or the name of a
    choice. ``phases`` keeps only these phases of the program.

    Raises InputError for unknown names, values that are not finite or out of range, P beyond the machine's processors.
    """
    if not isinstance(parameters or {}, Mapping):
        raise InputError("parameters must map names to values", value=parameters)
    named = {str(name): _chosen(str(name), value, workload, machine) for name, value in (parameters or {}).items()}
    given = {name: _number(name, value) for name, value in named.items()}
    constants = {name: value for name, value in given.items() if is_of_machine(name) and name != CAPACITY}
    machine = machine.with_constants(constants)
    if CAPACITY in given:
        machine = replace(machine, capacity_bytes=given[CAPACITY])
    workload = workload if phases is None else select_phases(workload, phases)
    set_here = {name: value for name, value in given.items() if not is_of_machine(name)}
    values = _values(workload, machine, set_here, preset)
    machine = machine.for_ranks(values["P"]).with_ranks(values["P"])
    design_point = DesignPoint(workload, machine, values, given, preset)
    _check_batch(design_point)
    return design_point


def is_of_machine(name: str) -> bool:
    """Whether a name that is set is of the machine: a constant, a parameter of its own, its capacity."""
    return dimension_at(name) is not None or name.startswith(PREFIX) or name == CAPACITY


def differs_by_rank(workload: Workload, machine: Machine, ranks: FloatOrArray | None = None) -> bool:
    """Return whether the cost of some demand may differ from rank to rank.

    It may differ by itself, like a message whose cost depends on its source and target, like accesses to caches that
    some share with more ranks than others, or by its node. ``ranks``: how many there are; None: any number.
    """
    if workload.differs_by_rank or machine.partitions_differ:
        return True
    if workload.accesses_memory and machine.has_shared_caches and (ranks is None or machine.caches_differ(ranks)):
        return True
    return machine.paths_differ and any(isinstance(placed.demand, Send) for placed in placed_demands(workload.program))


def replaced_constants(workload: Workload, paths: Collection[str]) -> dict[str, list[str]]:
    """Which of these machine constants the workload replaces, and in which phases: there the machine's do not count.

    A bandwidth replaces the time per byte.
    """
    parts = [path.rpartition(".") for path in paths]
    paths = {*paths, *(f"{part}.{OTHER_NAMES[key]}" for part, _, key in parts if key in OTHER_NAMES)}
    phases_by_path: dict[str, list[str]] = {}
    for phase, step in with_phase(workload.program):
        for path, _ in step.constants if isinstance(step, Block) else ():
            if path in paths:
                phases_by_path.setdefault(path, []).append(phase)
    return phases_by_path


def phases_with_constants(workload: Workload, part: str) -> list[str]:
    """Return the phases that replace machine constants whose path begins like this."""
    phases = {
        phase: None
        for phase, step in with_phase(workload.program)
        for path, _ in (step.constants if isinstance(step, Block) else ())
        if path.startswith(part)
    }
    return list(phases)


def select_phases(workload: Workload, phases: Collection[str]) -> Workload:
    """Return the workload with only the named phases of its program, and those inside them.

    A single name may be given.

    ``main`` is the part outside any phase. Bubbles belong to the whole program, and are left out. InputError for a
    phase that the workload does not have.
    """
    chosen = [phases] if isinstance(phases, str) else [str(phase) for phase in phases]
    names = workload.phases()
    for phase in chosen or [""]:
        if not any(name == phase or name.startswith(f"{phase}/") for name in names):
            raise InputError(
                f"{workload.name} has no such phase",
                workload.place,
                value=phase,
                allowed=nearest(phase, names),
            )
    if workload.is_open:
        if {*chosen} != {*names}:
            raise InputError("a program of arrivals has its phases together", workload.place, allowed=", ".join(names))
        return workload
    return replace(workload, program=tuple(_kept(workload.program, MAIN_PHASE, chosen)), serving=None, bubbles={})


def _kept(program: Sequence[Step], outer: str, phases: Collection[str]) -> list[Step]:
    kept: list[Step] = []
    for step in program:
        inner = phase_name(outer, step.phase) if isinstance(step, Block) else outer
        whole = inner in phases and (inner != MAIN_PHASE or not isinstance(step, Block))
        if whole:
            kept.append(step)
        elif isinstance(step, Block):
            body = tuple(_kept(step.body, inner, phases))
            # The operations of a block count for all of it: a part of it has no share of them.
            useful = step.useful_flops if body == step.body else None
            kept += [replace(step, body=body, useful_flops=useful)] if body else []
    return kept


def _chosen(name: str, value: object, workload: Workload, machine: Machine) -> object:
    """Return the value of a text: the name of a choice, or a number with a unit; any other value as it is."""
    if not isinstance(value, str):
        return value
    parameter = workload.parameters.get(name)
    if name.startswith(PREFIX):
        parameter = machine.parameter(name)
    return value if parameter is None or not parameter.is_named else parameter.parsed(value, parameter.place)


def _number(name: object, value: object) -> FloatOrArray:
    try:
        array = np.asarray(value)
        is_real = array.dtype.kind in "iuf" or all(isinstance(x, Real) for x in array.flat)  # beyond 64 bits
        if not is_real or not array.size:
            raise TypeError
        number = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number or an array of numbers", value=value) from None
    return float(number) if number.ndim == 0 else number


def _values(
    workload: Workload, machine: Machine, given: Mapping[str, FloatOrArray], preset: str | None
) -> dict[str, FloatOrArray]:
    chosen = _preset(workload, preset) | dict(given)
    known = {*workload.parameters, "P"}
    for name in given:
        if name not in known:
            check_not_former(name, workload.place)
            own = [f"{PREFIX}{parameter}" for parameter in machine.custom.parameters]
            paths = (*CONSTANTS, *POWERS, *cache_constants(machine.memory), *own, CAPACITY)
            allowed = nearest(name, {*known, *(paths if "." in name else ())})
            what = f"{workload.name} has no parameter {name!r}"
            if "." in name:
                what += "; load_machine(NAME, changes={...}) changes any key of a machine file"
            raise InputError(what, workload.place, allowed=allowed)
    every = {"P": Parameter("P", None, whole=True, low=1)} | dict(workload.parameters)
    if every["P"].default is None and machine.nodes_by_ranks is None:
        every["P"] = replace(every["P"], default=float(machine.most_ranks))
    values = {name: _checked(parameter, chosen.get(name, parameter.default)) for name, parameter in every.items()}
    check_ranks(values["P"], machine)
    for name in workload.equation_order:
        equation = workload.equations[name]
        values[name] = finite(equation.evaluate(values), f"equation {name!r} = {equation.text}", workload, equation)
    for words, condition in workload.requires.items():
        _check_required(words, condition, workload, values)
    return values


def _check_required(words: str, condition: Expression, workload: Workload, values: Mapping[str, FloatOrArray]) -> None:
    """Raise InputError, with the values of its names, if a condition of the workload does not hold at some point."""
    shown = f"condition {words!r} = {condition.text}"
    broken = ~(np.asarray(finite(condition.evaluate(values), shown, workload, condition)) > 0)
    if not np.any(broken):
        return
    shape = np.broadcast_shapes(broken.shape, *(np.shape(values[name]) for name in condition.names))
    first = int(np.argmax(np.broadcast_to(broken, shape)))
    here = {name: float(np.broadcast_to(values[name], shape).flat[first]) for name in sorted(condition.names)}
    known = workload.parameters
    written = (
        f"{name}={known[name].written(one) if name in known else format(one, 'g')}" for name, one in here.items()
    )
    raise InputError(
        f"values that {workload.name} does not allow", condition.place, value=", ".join(written), allowed=words
    )


def check_preset(workload: Workload, preset: str | None) -> None:
    """InputError for a preset that the workload has not."""
    if preset is not None and str(preset) not in workload.presets:
        allowed = nearest(str(preset), workload.presets)
        raise InputError(f"{workload.name} has no such preset", workload.place, value=preset, allowed=allowed)


def _preset(workload: Workload, preset: str | None) -> dict[str, FloatOrArray]:
    check_preset(workload, preset)
    return {} if preset is None else dict(workload.presets[preset])


def _checked(parameter: Parameter, value: FloatOrArray | None) -> FloatOrArray:
    if value is None:
        raise InputError(f"parameter {parameter.name!r} has no default and was not given", parameter.place)
    parameter.check(value, parameter.place)
    return value


def check_ranks(ranks: FloatOrArray, machine: Machine) -> None:
    """Raise InputError for more ranks than the machine has places."""
    most = machine.most_ranks
    if np.any(np.asarray(ranks) > most):
        one_each = "nodes (its mapping puts one on each)" if machine.mapping == "one_per_node" else "processors"
        what = "places in its mapping" if isinstance(machine.mapping, tuple | GridMapping) else one_each
        raise InputError(
            f"more ranks than {machine.name} has {what}",
            machine.place,
            value=int(np.max(ranks)),
            allowed=f"P from 1 to {most}",
        )


def finite(value: FloatOrArray, what: str, workload: Workload, expression: object) -> FloatOrArray:
    """Return the value, if finite everywhere.

    InputError otherwise: a division by zero or an overflow is never silent.
    """
    if not np.all(np.isfinite(value)):
        place = getattr(expression, "place", None) or workload.place
        raise InputError(f"{what} is not finite here (division by zero, overflow or root of a negative)", place)
    return value


def _check_batch(design_point: DesignPoint) -> None:
    try:
        _ = design_point.shape
    except ValueError:
        shapes = {name: np.shape(value) for name, value in design_point.given.items() if np.ndim(value)}
        raise InputError("arrays of parameters do not broadcast together", value=shapes) from None
