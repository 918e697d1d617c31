"""The four planners (Spafford and Vetter, Scientific Programming 2015, Table 1): which of application and machine is
fixed, what is varied, and the default objective.

| planner | application | machine | default objective |
| --- | --- | --- | --- |
| ``tune`` | its parameters are varied | fixed | the least time |
| ``size`` | its size is varied | fixed | the largest size |
| ``machine`` | fixed | its constants are varied | the cheapest feasible machine |
| ``architect`` | none | its constants are varied | the largest machine |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simcodesign.core.errors import InputError, Place
from simcodesign.studies.explore.dimensions import measured
from simcodesign.studies.explore.model_interfaces import Explorable, Ranged, apply_model_limits
from simcodesign.studies.explore.native_model import CAPACITY_METRIC, FOOTPRINT, NativeModel
from simcodesign.studies.explore.problem import Constraint, FormulaModel, Model, Objective, Problem, formula, plain_name
from simcodesign.studies.explore.problem_parser import constraint
from simcodesign.studies.explore.space import Space, Variable

PLANNERS = ("tune", "size", "machine", "architect")
#: The parameter that is the size of a problem, unless another is named.
SIZE = "n"


def plan(
    planner: str,
    model: Model,
    variables: Sequence[Variable],
    objectives: Sequence[Objective] = (),
    constraints: Sequence[Constraint] = (),
    size: str = SIZE,
    keep_size: bool = False,
) -> Problem:
    """The problem of a planner; objectives and variables that are not given have the defaults of the table above.

    If the workload has a footprint and the machine a capacity, the footprint must fit the capacity, unless another
    constraint uses the footprint. ``keep_size``: the size planner does not vary the size. Raises InputError where
    nothing is varied or a search would be unbounded.
    """
    varied = _with_model_limits(model, variables)
    if planner == "size" and not keep_size and size not in [one.name for one in varied]:
        varied = [_size(model, size), *varied]
    space = Space(tuple(varied))
    chosen = tuple(objectives) or (_default(planner, model, space, size),)
    if planner == "machine" and not objectives and not constraints:
        allowed = "--subject-to, e.g. 'time <= 10 s'"
        raise InputError("no constraint bounds the machine from below", allowed=allowed)
    return Problem(model, space, chosen, (*constraints, *_capacity_constraints(model, constraints)))


def _with_model_limits(model: Model, variables: Sequence[Variable]) -> list[Variable]:
    if isinstance(model, FormulaModel):
        return list(variables)
    explorable: Explorable = model  # type: ignore[assignment] # every other model knows what may be varied
    return [apply_model_limits(explorable, variable) for variable in variables]


def _size(model: Model, name: str) -> Variable:
    """The size as a variable over the whole range that the workload allows."""
    if isinstance(model, Ranged):
        return model.variable(name)
    if not isinstance(model, NativeModel):
        raise InputError("the size is not varied", Place("--vary"), value=name, allowed=f"{name}=LOW:HIGH")
    parameter, _ = model.parameter(name)
    variable = Variable(name, parameter.low, parameter.high, parameter.whole, place=parameter.place)
    return apply_model_limits(model, variable)


def _default(planner: str, model: Model, space: Space, size: str) -> Objective:
    """The default objective of a planner."""
    if planner == "size":
        return Objective(formula(size), maximise=True)
    if planner == "machine":
        return cheapest_machine(model, space)
    metric, maximise = ("peak_rate", True) if planner == "architect" else ("time", False)
    if metric not in model.dimensions:
        raise InputError(f"{model.name} has no {metric}", allowed="--minimise or --maximise")
    return Objective(formula(metric), maximise=maximise, dimension=model.dimensions[metric])


def cheapest_machine(model: Model, space: Space) -> Objective:
    """Capability of a machine: the product of the rates that are varied and of the inverse of the times.

    A product has no weights: one per cent of one constant counts as much as one per cent of another.
    """
    dimensions = {variable.name: _dimension(model, variable.name) for variable in space.variables}
    text = "".join(f"{'/' if variable in ('time', 'per_byte') else '*'}{name}" for name, variable in dimensions.items())
    expression = formula(text[1:] if text.startswith("*") else f"1{text}")
    measure, _ = measured(expression, {plain_name(name): variable for name, variable in dimensions.items()})
    return Objective(expression, dimension=measure.dimension, unit="" if measure.dimension else measure.unit)


def _dimension(model: Model, name: str) -> str:
    if isinstance(model, FormulaModel):
        return ""
    explorable: Explorable = model  # type: ignore[assignment] # every other model knows what may be varied
    return explorable.parameter(name)[1]


def _capacity_constraints(model: Model, constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """The constraint that the footprint fits the capacity, where both are known and no other uses the footprint."""
    dimensions = model.dimensions
    is_constrained = any(FOOTPRINT in constraint_.left.names | constraint_.right.names for constraint_ in constraints)
    if is_constrained or not {FOOTPRINT, CAPACITY_METRIC} <= dimensions.keys():
        return ()
    return (replace(constraint(f"{FOOTPRINT} <= {CAPACITY_METRIC}", dimensions), dimension="size"),)
