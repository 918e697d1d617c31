"""Names and texts of measurements as a workload file can hold them."""

from __future__ import annotations

import json
import keyword
import re
from dataclasses import dataclass, replace

import numpy as np

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.expressions.expression import FUNCTIONS
from simcodesign.describe.workload import RESERVED
from simcodesign.fitting.measurements import FloatArray, Measurements
from simcodesign.fitting.normal_form import Model, Term

#: Names of the parameter that is the number of processes; case does not matter.
RANKS = ("p", "processes", "procs", "ranks", "nprocs", "cores")
#: Letters of each part of a name.
_LONGEST = 24
#: Maximum for a parameter: eight terms of four parameters stay within the length of an expression.
_LONGEST_PARAMETER = 12
#: Values of a parameter that are listed one by one.
_LISTED = 12
_HIGHEST = 1e300


def one_line(text: str) -> str:
    """Text on one line that any file may hold: what cannot be printed is spelt out."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def quoted(text: str) -> str:
    """Text as YAML takes it, in double quotes."""
    return json.dumps(one_line(text), ensure_ascii=False)


class Names:
    """Names that expressions can use, each given out once."""

    def __init__(self) -> None:
        self._taken: set[str] = {*RESERVED, *FUNCTIONS}
        self._tried: dict[str, int] = {}

    def new(self, *wanted: str, longest: int = _LONGEST) -> str:
        """Return a name made of up to ``longest`` letters of each of these parts, as like them as can be."""
        parts = [re.sub(r"[^A-Za-z0-9]+", "_", part)[:longest].strip("_") for part in wanted]
        stem = "_".join(part for part in parts if part) or "x"
        stem = stem if stem[0].isalpha() else f"x_{stem}"
        name, number = stem, self._tried.get(stem, 1)
        while name in self._taken or keyword.iskeyword(name):
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        self._tried[stem] = number
        return name


@dataclass(frozen=True)
class MeasuredParameter:
    """A parameter by its ``measured`` name and that in the file, and the values at which it was measured, ascending."""

    measured: str
    name: str
    values: FloatArray

    @property
    def line(self) -> str:
        """Its line in the file: by default it is the largest value; of ``P`` the machine has the default."""
        called = "" if self.measured == self.name else f"{self.measured}, "
        listed = ", ".join(map(number, self.values)) if len(self.values) <= _LISTED else ""
        ends = f"{len(self.values)} values from {number(self.values[0])} to {number(self.values[-1])}"
        about = f"origin: measured, about: {quoted(f'{called}measured at {listed or ends}')}"
        if self.name == "P":
            return f"  P: {{{about}}}"
        low = number(min(1.0, float(self.values[0])))
        return f"  {self.name}: {{default: {number(self.values[-1])}, range: [{low}, {_HIGHEST:g}], {about}}}"


def number(value: float) -> str:
    """In full, whole numbers without a point."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


@dataclass(frozen=True)
class MeasuredParameters:
    """All measured parameters, the processes (``P``) first if there are any, and the names in use."""

    every: tuple[MeasuredParameter, ...]
    names: Names

    def renamed(self, model: Model) -> Model:
        """Return the model in the names of the file."""
        new = {parameter.measured: parameter.name for parameter in self.every}
        terms = (
            Term(term.coefficient, tuple(replace(factor, parameter=new[factor.parameter]) for factor in term.factors))
            for term in model.terms
        )
        return Model(tuple(new[name] for name in model.parameters), model.constant, tuple(terms))


def measured_parameters(measurements: Measurements, ranks: str | None) -> MeasuredParameters:
    """Return the parameters of the measurements.

    ``ranks`` is the number of processes (None: a parameter named in ``RANKS``).

    Raises InputError for a name that there is not, and if several may be meant.
    """
    names, measured = Names(), measurements.parameters
    if ranks is not None and ranks not in measured:
        raise InputError("no such parameter", value=ranks, allowed=nearest(ranks, measured))
    rank_names = [name for name in measured if name.casefold() in RANKS] if ranks is None else [ranks]
    if len(rank_names) > 1:
        what = "several parameters may be the number of processes"
        raise InputError(what, value=", ".join(rank_names), allowed="one: say which")
    first = sorted(range(len(measured)), key=lambda place: measured[place] not in rank_names)
    return MeasuredParameters(
        tuple(
            MeasuredParameter(
                measured[place],
                "P" if measured[place] in rank_names else names.new(measured[place], longest=_LONGEST_PARAMETER),
                np.unique(measurements.points[:, place]),
            )
            for place in first
        ),
        names,
    )
