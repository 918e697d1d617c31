"""Objectives and constraints of a search for which no objective is given.

Spafford and Vetter (Scientific Programming 2015, Table 1) have four planners. Which one is meant follows from what is
varied:

| varied | found | planner of the paper |
| --- | --- | --- |
| a machine without a workload | the largest peak rate | machine architect |
| the size of the problem, or nothing | the largest size | problem-size planner |
| constants of the machine alone, with a bound on the time or the rate | the least machine | machine planner |
| anything else | the shortest time | parameter tuner |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from simcodesign.core.errors import InputError, Place
from simcodesign.studies.explore.dimensions import measured
from simcodesign.studies.explore.models.aspen_model import AspenModel
from simcodesign.studies.explore.models.model_interfaces import Explorable, Ranged, apply_model_limits
from simcodesign.studies.explore.models.native_model import (
    ACCELERATOR_CAPACITY,
    ACCELERATOR_FOOTPRINT,
    CAPACITY_METRIC,
    FOOTPRINT,
    NativeModel,
)
from simcodesign.studies.explore.models.system_model import SystemModel
from simcodesign.studies.explore.problem import Constraint, FormulaModel, Model, Objective, Problem, formula, plain_name
from simcodesign.studies.explore.problem_parser import constraint
from simcodesign.studies.explore.space import Space, Variable

#: The parameter that is the size of a problem, unless the workload or the user names another.
SIZE = "n"


def plan(
    model: Model,
    variables: Sequence[Variable],
    objectives: Sequence[Objective] = (),
    constraints: Sequence[Constraint] = (),
    size: str = "",
) -> Problem:
    """Return the problem; objectives that are not given follow the table above.

    Without variables, or if it is named, the ``size`` is varied over its whole range. If the workload has a footprint
    and the machine a capacity, the footprint must fit the capacity, unless another constraint uses the footprint.
    Raises InputError if nothing can be varied or a search would be unbounded.
    """
    varied = _with_model_limits(model, variables)
    if size not in ("", *(one.name for one in varied)):
        varied = [_size(model, size), *varied]
    elif not varied:
        varied = [_default_size(model)]
    space = Space(tuple(varied))
    chosen = tuple(objectives) or (_default(model, space, constraints, size_of(model, size)),)
    return Problem(model, space, chosen, (*constraints, *capacity_constraints(model, constraints)))


def size_of(model: Model, size: str = "") -> str:
    """Return the parameter that is the size of the problem: as named, or as the workload states."""
    return size or (model.workload.size_parameter if runs_workloads(model) else SIZE)


def _with_model_limits(model: Model, variables: Sequence[Variable]) -> list[Variable]:
    if isinstance(model, FormulaModel):
        return list(variables)
    explorable: Explorable = model  # type: ignore[assignment] # every other model lists its variables
    return [apply_model_limits(explorable, variable) for variable in variables]


def _size(model: Model, name: str) -> Variable:
    """Return the size as a variable over the whole range that the workload allows.

    A whole number, as problems are counted.
    """
    if isinstance(model, Ranged):
        return model.variable(name)
    if not runs_workloads(model):
        raise InputError(f"{model.name} has no sizes", Place("--size"), value=name, allowed=f"--vary {name}=LOW:HIGH")
    parameter, _ = model.parameter(name)
    variable = Variable(name, parameter.low, parameter.high, whole=True, place=parameter.place)
    return apply_model_limits(model, variable)


def _default_size(model: Model) -> Variable:
    """Return the size as the workload states it. InputError if it has none."""
    try:
        return _size(model, size_of(model))
    except InputError:
        allowed = f"--vary NAME=LOW:HIGH, or --size NAME: {model.name} has no size that could be varied by default"
        raise InputError("nothing is varied", Place("--vary"), allowed=allowed) from None


def _default(model: Model, space: Space, constraints: Sequence[Constraint], size: str) -> Objective:
    """Return the objective if none is given."""
    bounded = {name for one in constraints for name in one.left.names | one.right.names} & {"time", "rate"}
    if size in space.names:
        return Objective(formula(size), maximize=True)
    if bounded and all(_is_of_machine(model, name) for name in space.names):
        return least_machine(model, space)
    metric, maximize = ("peak_rate", True) if "peak_rate" in model.dimensions else ("time", False)
    if metric not in model.dimensions:
        raise InputError(f"{model.name} has no {metric}", allowed="--minimize or --maximize")
    return Objective(formula(metric), maximize=maximize, dimension=model.dimensions[metric])


def _is_of_machine(model: Model, name: str) -> bool:
    """Whether a variable is a constant or a parameter of the machine on which a workload runs."""
    if isinstance(model, AspenModel):
        return model.is_of_machine(name)
    if isinstance(model, SystemModel):
        return bool(model.runs) and not model.is_structural(name) and not _is_of_workload(model, name)
    return isinstance(model, NativeModel) and not _is_of_workload(model, name)


def _is_of_workload(model: NativeModel | SystemModel, name: str) -> bool:
    """Whether a variable is P or a parameter of a workload."""
    workloads = model.workloads if isinstance(model, SystemModel) else [model.workload]
    return name == "P" or any(name in one.parameters for one in workloads)


def runs_workloads(model: Model) -> TypeGuard[NativeModel | SystemModel]:
    """Whether it is a workload, or several, on a machine."""
    return isinstance(model, NativeModel) or (isinstance(model, SystemModel) and bool(model.runs))


def least_machine(model: Model, space: Space) -> Objective:
    """Capability of a machine: the product of the varied rates and of the inverse of the varied times.

    A product has no weights: one per cent of one constant counts as much as one per cent of another.
    """
    dimensions = {variable.name: _dimension(model, variable.name) for variable in space.variables}
    text = "".join(f"{'/' if variable in ('time', 'per_byte') else '*'}{name}" for name, variable in dimensions.items())
    expression = formula(text[1:] if text.startswith("*") else f"1{text}")
    measure, _ = measured(expression, {plain_name(name): variable for name, variable in dimensions.items()})
    return Objective(expression, dimension=measure.dimension, unit="" if measure.dimension else measure.unit)


def _dimension(model: Model, name: str) -> str:
    explorable: Explorable = model  # type: ignore[assignment] # a workload on a machine lists its variables
    return explorable.parameter(name)[1]


def capacity_constraints(model: Model, constraints: Sequence[Constraint] = ()) -> tuple[Constraint, ...]:
    """Return the constraints that footprints fit their capacities, of nodes and of accelerators.

    If both are known and no other constraint uses the footprint.
    """
    dimensions = model.dimensions
    used = frozenset[str]().union(*(one.left.names | one.right.names for one in constraints))
    return tuple(
        replace(constraint(f"{footprint} <= {capacity}", dimensions), dimension="size")
        for footprint, capacity in ((FOOTPRINT, CAPACITY_METRIC), (ACCELERATOR_FOOTPRINT, ACCELERATOR_CAPACITY))
        if footprint not in used and {footprint, capacity} <= dimensions.keys()
    )
