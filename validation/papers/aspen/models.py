"""Aspen models and the four planners: the scenarios of the paper, on models of our own in ``aspen/``.

Source: Spafford and Vetter, Scientific Programming 2015, article 157305. Its listings and figures are not in the text
that is at hand; their content is recovered from the public models as far as these go, and the claims say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from simcodesign.aspen.application import Application, load_application
from simcodesign.aspen.machine import AspenMachine, load_machine
from simcodesign.studies.explore.models.aspen_model import AspenMachineModel, AspenModel
from simcodesign.studies.explore.models.model_interfaces import Explorable
from simcodesign.studies.explore.planners import plan
from simcodesign.studies.explore.problem import Model
from simcodesign.studies.explore.problem_parser import constraint, objective, variable
from simcodesign.studies.explore.solvers.solve import Solution, solve
from simcodesign.studies.explore.space import Variable
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ...published.tables import half_unit, number

PAPER = "Spafford and Vetter, Automated design space exploration with Aspen (Scientific Programming 2015, art. 157305)"
FOLDER = Path(__file__).resolve().parent.parent.parent / "aspen"
WHOLE = "whole numbers, or a bound that holds or does not"
#: The applications and Keeneland, which the text does not give, are public as models in Aspen.
PUBLIC = {"application and machine, from the public Aspen models": "public"}
ROUNDING = Tolerance("rounding of double precision, over a few operations", relative=1e-12)
SEARCHED = Tolerance("a search of real variables: 0.1 % of the best value", relative=1e-3)


def stated(name: str) -> float:
    """A number of the paper, or one that follows from its models."""
    return number("aspen-statements", "value", statement=name)


def printed(name: str) -> Tolerance:
    """Half a unit of the last digit of it."""
    half = half_unit("aspen-statements", "value", statement=name)
    return Tolerance("half a unit of the last digit that is given", absolute=half)


@cache
def application(name: str) -> Application:
    """One of our models."""
    return load_application(FOLDER / f"{name}.aspen")


@cache
def machine(name: str) -> AspenMachine:
    """One of our machines."""
    return load_machine(FOLDER / f"{name}.aspen")


def case(
    name: str,
    claim: str,
    where: str,
    unit: str,
    expected: dict[Label, float],
    tolerance: Tolerance,
    measure: Callable[[], Readings] | None = None,
    own: dict[Label, float] | None = None,
    reading: str = "forecast",
    derivation: tuple[Derived, ...] = (),
    axis: str = "",
    pair: tuple[str, str] = ("", ""),
    missing: str = "",
    inputs: Mapping[str, str] | None = None,
) -> Case:
    """Return a case of this group. ``inputs``: their origins, where the paper prints what is expected."""
    return Case(
        name=f"aspen/{name}",
        claim=claim,
        source=f"{PAPER}, {where}",
        unit=unit,
        expected=expected,
        tolerance=tolerance,
        reading=reading,
        measure=measure,
        own=own or {},
        derivation=derivation,
        axis=axis,
        workload=pair[0],
        machine=pair[1],
        quick=True,
        needs={missing: None} if missing else {},
        printed=inputs is not None,
        inputs=inputs or {},
    )


def planned(model: Model, vary: list[str], to_be: str, subject_to: list[str], maximize: bool = False) -> Solution:
    """The best point; a variable without limits has those of its file."""
    dimensions = model.dimensions
    variables = [_variable(model, text) for text in vary]
    constraints = [constraint(text, dimensions) for text in subject_to]
    return solve(plan(model, variables, [objective(to_be, maximize, dimensions)], constraints))


def _variable(model: Model, text: str) -> Variable:
    ranged: Explorable = model  # type: ignore[assignment] # all models here know their parameters
    assert isinstance(ranged, AspenModel | AspenMachineModel)
    return variable(text, {}) if "=" in text else ranged.variable(text)
