"""The four planners (Spafford and Vetter, Scientific Programming 2015, Table 1): which of application and machine is
fixed, what is varied, and what is made small or large unless something else is asked for.

| planner | application | machine | by default |
| --- | --- | --- | --- |
| ``tune`` | its parameters are varied | fixed | the least time |
| ``size`` | its size is varied | fixed | the largest size |
| ``machine`` | fixed | its constants are varied | the least machine |
| ``architect`` | none | its constants are varied | the largest machine |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simcodesign.core.errors import InputError, Place
from simcodesign.studies.explore.dimensions import measured
from simcodesign.studies.explore.models import (
    CAPACITY_METRIC,
    FOOTPRINT,
    Explorable,
    MachineModel,
    NativeModel,
    Ranged,
    adopted,
)
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
    """The problem that a planner makes of it; what is not given is as in the table above.

    Wherever the workload has a footprint and the machine a capacity, the one must fit the other, unless a constraint
    says something of the footprint. ``keep_size``: the size planner leaves the size as it is. Raises InputError where
    nothing is varied or a search would have no end.
    """
    varied = _adopted(model, variables)
    if planner == "size" and not keep_size and size not in [one.name for one in varied]:
        varied = [_size(model, size), *varied]
    space = Space(tuple(varied))
    chosen = tuple(objectives) or (_default(planner, model, space, size),)
    if planner == "machine" and not objectives and not constraints:
        allowed = "--subject-to, e.g. 'time <= 10 s'"
        raise InputError("nothing keeps the machine from being the least there is", allowed=allowed)
    return Problem(model, space, chosen, (*constraints, *_fits(model, constraints)))


def _adopted(model: Model, variables: Sequence[Variable]) -> list[Variable]:
    if isinstance(model, FormulaModel):
        return list(variables)
    explorable: Explorable = model  # type: ignore[assignment] # every other model knows what may be varied
    return [adopted(explorable, variable) for variable in variables]


def _size(model: Model, name: str) -> Variable:
    """The size over all that the workload allows."""
    if isinstance(model, Ranged):
        return model.variable(name)
    if not isinstance(model, NativeModel):
        raise InputError("the size is not varied", Place("--vary"), value=name, allowed=f"{name}=LOW:HIGH")
    known, _ = model.parameter(name)
    variable = Variable(name, known.low, known.high, known.whole, place=known.place)
    return adopted(model, variable)


def _default(planner: str, model: Model, space: Space, size: str) -> Objective:
    """What a planner optimises."""
    if planner == "size":
        return Objective(formula(size), maximise=True)
    if planner == "machine":
        return least_machine(model, space)
    metric, maximise = ("peak_rate", True) if planner == "architect" else ("time", False)
    if metric not in model.dimensions:
        raise InputError(f"{model.name} has no {metric}", allowed="--minimise or --maximise")
    return Objective(formula(metric), maximise=maximise, dimension=model.dimensions[metric])


def least_machine(model: Model, space: Space) -> Objective:
    """Capability of a machine: the product of the rates that are varied and of the inverse of the times.

    A product has no weights: one per cent of one constant counts as much as one per cent of another.
    """
    dimensions = {one.name: _dimension(model, one.name) for one in space.variables}
    text = "".join(f"{'/' if one in ('time', 'per_byte') else '*'}{name}" for name, one in dimensions.items())
    expression = formula(text[1:] if text.startswith("*") else f"1{text}")
    measure, _ = measured(expression, {plain_name(name): one for name, one in dimensions.items()})
    return Objective(expression, dimension=measure.dimension, unit="" if measure.dimension else measure.unit)


def _dimension(model: Model, name: str) -> str:
    if isinstance(model, FormulaModel):
        return ""
    explorable: Explorable = model  # type: ignore[assignment] # every other model knows what may be varied
    return explorable.parameter(name)[1]


def _fits(model: Model, constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """That the footprint fits the capacity, where both are known and nothing is said of them."""
    known = model.dimensions
    said = any(FOOTPRINT in one.left.names | one.right.names for one in constraints)
    if said or not {FOOTPRINT, CAPACITY_METRIC} <= known.keys():
        return ()
    return (replace(constraint(f"{FOOTPRINT} <= {CAPACITY_METRIC}", known), dimension="size"),)


def checked_planner(name: str, model: Model) -> None:
    """InputError for a planner that asks for what the model is not."""
    if name == "architect" and isinstance(model, NativeModel):
        raise InputError(
            "the architect plans a machine without a workload", value=model.name, allowed="a machine alone"
        )
    if name != "architect" and isinstance(model, MachineModel):
        raise InputError(f"the planner {name} needs a workload", value=model.name, allowed="a workload and a machine")
