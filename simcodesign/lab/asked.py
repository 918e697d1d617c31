"""Request of a page: texts of a machine and a workload, values of parameters, an axis. All of it is checked here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import parse_quantity
from simcodesign.describe.constants import dimension_at
from simcodesign.describe.effects import chosen_effects, effect_names
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import machine_of_text, workload_of_text

MACHINE, WORKLOAD, PARAMETERS = "machine", "workload", "parameters"
KEYS = (MACHINE, WORKLOAD, PARAMETERS, "axis", "values", "effects", "seeds", "phases")
#: The largest text of a description, in characters; bundled ones have 6,000 at most.
TEXT_CHARACTERS = 65_536
#: Values along an axis: forecasts, and simulations.
MOST_VALUES, MOST_POINTS = 400, 40
MOST_PARAMETERS = 200
#: Maximum number of ranks of a machine, and of a workload on it.
MOST_RANKS = 65_536
MOST_SEEDS = 30


@dataclass(frozen=True)
class Asked:
    """A workload on a machine, over ``values`` of the parameter ``axis``, or at one point if there is no axis.

    ``phases``: only these of the workload's program; None: all.
    """

    machine: str
    workload: str
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    axis: str | None = None
    values: tuple[float, ...] = ()
    effects: tuple[str, ...] = ()
    seeds: int = 5
    phases: tuple[str, ...] | None = None

    @classmethod
    def of(cls, content: object, most_values: int = MOST_VALUES) -> Asked:
        """From the JSON of a request. InputError for anything that it may not be."""
        if not isinstance(content, dict):
            raise InputError("not a request", value=content, allowed="a JSON object")
        for key in content:
            if key not in KEYS:
                raise InputError("unknown key of a request", value=key, allowed=nearest(str(key), KEYS))
        axis, values = content.get("axis"), content.get("values", [])
        if axis is not None and (not isinstance(axis, str) or len(axis) > 100):
            raise InputError("axis of a request", value=axis, allowed="the name of a parameter")
        if not isinstance(values, list) or not all(_is_number(value) for value in values):
            raise InputError("values of a request", value=values, allowed="a list of finite numbers")
        if len(values) > most_values or (axis is not None and not values):
            raise InputError("values of a request", value=len(values), allowed=f"1 to {most_values}")
        return cls(
            machine=_text(content, MACHINE),
            workload=_text(content, WORKLOAD),
            parameters=_parameters(content.get(PARAMETERS, {})),
            axis=axis,
            values=tuple(float(value) for value in values) if axis is not None else (),
            effects=_effects(content.get("effects", "all")),
            seeds=_whole(content.get("seeds", 5)),
            phases=_phases(content.get("phases")),
        )

    def scenario(self, extra: Mapping[str, object] | None = None) -> Scenario:
        """Return the workload on the machine with its parameters and ``extra``.

        InputError with the place in its text.
        """
        machine, workload = machine_of(self.machine), workload_of(self.workload)
        values = {name: _parsed(name, value, workload) for name, value in self.parameters.items()}
        return Scenario(workload, machine, {**values, **(extra or {})}, phases=self.phases)


@lru_cache(maxsize=16)
def machine_of(text: str) -> Machine:
    """Return the machine of a text; the last ones are kept. InputError as ``machine_of_text``."""
    return machine_of_text(text, MACHINE)


@lru_cache(maxsize=16)
def workload_of(text: str) -> Workload:
    """Return the workload of a text; the last ones are kept. InputError as ``workload_of_text``."""
    return workload_of_text(text, WORKLOAD)


def _text(content: Mapping[str, Any], key: str) -> str:
    text = content.get(key)
    if not isinstance(text, str):
        raise InputError(f"{key!r} of a request", Place(key), value=text, allowed="the text of a description")
    if len(text) > TEXT_CHARACTERS:
        raise InputError("too long a text", Place(key), value=len(text), allowed=f"{TEXT_CHARACTERS} characters")
    return text


def _parameters(given: object) -> dict[str, float | str]:
    if not isinstance(given, dict) or len(given) > MOST_PARAMETERS:
        raise InputError("parameters of a request", Place(PARAMETERS), allowed=f"up to {MOST_PARAMETERS} of them")
    for name, value in given.items():
        short = isinstance(value, str) and len(value) <= 100
        if not (short or _is_number(value)):
            raise InputError("value of a parameter", Place(PARAMETERS, None, name), value=value, allowed="a number")
    return dict(given)


def _effects(given: object) -> tuple[str, ...]:
    names = given if isinstance(given, list) else [given]
    if not all(isinstance(name, str) for name in names) or len(names) > len(effect_names()):
        raise InputError("effects of a request", value=given, allowed="all, none, or a list of effects")
    return chosen_effects(given if isinstance(given, str) else [str(name) for name in names])


def _phases(given: object) -> tuple[str, ...] | None:
    if given is None:
        return None
    if not isinstance(given, list) or not given or len(given) > MOST_PARAMETERS:
        raise InputError("phases of a request", value=given, allowed="a list of names")
    if not all(isinstance(name, str) and len(name) <= 100 for name in given):
        raise InputError("phases of a request", value=given, allowed="a list of names")
    return tuple(given)


def _whole(given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= MOST_SEEDS:
        raise InputError("seeds of a request", value=given, allowed=f"1 to {MOST_SEEDS}")
    return given


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= 1e300 and math.isfinite(value)


def _parsed(name: str, value: float | str, workload: Workload) -> float:
    """Return a number, or the value of a text in the unit of its parameter."""
    place = Place(PARAMETERS, None, name)
    if not isinstance(value, str):
        return float(value)
    if name in workload.parameters:
        return workload.parameters[name].parsed(value, place)
    return parse_quantity(value, dimension_at(name) or "count", place)
