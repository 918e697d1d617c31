"""Interfaces of models for design-space exploration, and the limits that a model sets for a variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.describe.machine import Machine
from simcodesign.describe.parameters import Parameter
from simcodesign.studies.explore.problem import Model
from simcodesign.studies.explore.space import Variable


class Extra(Protocol):
    """More metrics of a machine, and of a run on it: power, energy, costs."""

    @property
    def dimensions(self) -> Mapping[str, str]:
        """Names and dimensions of the metrics."""

    def evaluate(
        self, machine: Machine, counts: Mapping[str, FloatOrArray], result: Result | None
    ) -> Mapping[str, FloatOrArray]:
        """Return the metrics of a machine whose constants may be arrays.

        ``counts``: nodes and processors per node; ``result`` of the run, None for a machine alone.
        """


class Explorable(Model, Protocol):
    """A model that lists its possible variables."""

    def parameter(self, name: str) -> tuple[Parameter, str]:
        """Limits, integrality and default of a variable, and its dimension. Raises InputError for an unknown name."""


@runtime_checkable
class Ranged(Protocol):
    """A model whose parameters have ranges, and words for their values."""

    def variable(self, name: str, place: Place | None = None) -> Variable:
        """Return a parameter over all of its range. InputError for one without."""

    def word(self, name: str, text: str) -> float:
        """Return the value of a word. InputError for other words."""


def apply_model_limits(model: Explorable, variable: Variable) -> Variable:
    """Return the variable with integrality, default and value names from the model.

    Raises InputError for values beyond the limits of the model.
    """
    parameter, dimension = model.parameter(variable.name)
    outside = variable.low < parameter.low or variable.high > parameter.high
    if outside:
        allowed = f"within {_format_limit(parameter.low, dimension)} to {_format_limit(parameter.high, dimension)}"
        what = f"{'choices' if variable.choices else 'limits'} of {variable.name} beyond what {model.name} allows"
        value = f"{_format_limit(variable.low, dimension)}:{_format_limit(variable.high, dimension)}"
        value = ", ".join(_format_limit(choice, dimension) for choice in variable.choices) or value
        raise InputError(what, variable.place, value=value, allowed=allowed)
    if parameter.whole and variable.choices and any(value != np.floor(value) for value in variable.choices):
        raise InputError(f"choices of {variable.name}", variable.place, value=variable.choices, allowed="whole numbers")
    whole = (variable.whole or parameter.whole) and not variable.choices
    default = variable.default if variable.default is not None else parameter.default
    inside = default is not None and variable.low <= default <= variable.high
    words = {number: word for word, number in parameter.choices.items()}
    return replace(variable, whole=whole, default=default if inside else None, words=words)


def _format_limit(value: float, dimension: str) -> str:
    """Return a limit with its unit."""
    if dimension in ("", "count") or not np.isfinite(value):
        return f"{value:g}"
    return format_quantity(value, dimension)
