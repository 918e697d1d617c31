"""The names of a formula: what each is worth at a design point, in which unit, and what it means there.

A name is, in this order: a symbol of the formula itself; a parameter or equation of the workload, or ``P``; what the
machine file defines (a parameter, property or count); a symbol of the literature (``describe.formulas.symbols``); ``p``
for ``P``. With dots it is a constant of the machine by its path (``network.startup``), or ``machine.NAME``; a
bandwidth instead of a time per byte (``caches.L2.bandwidth``); size and latency of a cache, and ``memory.line``;
``accelerator.rates.NAME`` with the number of a format in a parameter or equation NAME.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.dimension import PLAIN, Dimension, OnlyTime, dimension_named, dimension_of_unit
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.expressions.unit_check import dimension_of
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CONSTANTS, is_of
from simcodesign.describe.design_point import DesignPoint, phases_with_constants, replaced_constants
from simcodesign.describe.equations import ordered
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.formulas.symbols import PER_VALUE, SYMBOLS, VALUE, constant_dimension, hierarchy_values
from simcodesign.describe.machine_parts.accelerator import needed_accelerator, needed_rate
from simcodesign.describe.resources import COUNTS, PREFIX
from simcodesign.describe.yaml.constants import OTHER_NAMES

SIZE, TIME = dimension_named("size"), dimension_named("time")
#: Constants that take no time on a machine that does not state them.
_NONE_UNLESS_STATED = ("network.reduction_per_byte", "network.packing", "network.packing_per_byte")
_RATES = "accelerator.rates"


#: A number with a unit, by the base unit.
_EXAMPLES = {"s": "2 us", "s/B": "0.5 ns/B", "s/FLOP": "1e-9 s/FLOP"}


@dataclass(frozen=True)
class NamedValue:
    """A number or an array over the design points, in SI units.

    Its dimension, None if that is not known (see ``dimension_of``); what it means; the path of the constant of the
    machine behind it, if there is one.
    """

    value: FloatOrArray
    dimension: Dimension | OnlyTime | None
    meaning: str
    path: str = ""


@dataclass(frozen=True)
class FormulaNames:
    """The names at a design point.

    ``own`` symbols and ``word`` belong to the formula; in ``phase``, whose constants count, or in the whole program if
    that is None. ``seconds``: further names, which are times.
    """

    point: DesignPoint
    own: Mapping[str, Expression] = field(default_factory=dict)
    word: Expression | None = None
    phase: str | None = None
    seconds: Mapping[str, FloatOrArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        others = {name for expression in self.own.values() for name in expression.names} - self.own.keys()
        ordered(self.own, others)  # InputError for symbols that need each other

    def of(self, names: Iterable[str], place: Place | None, text: str) -> dict[str, NamedValue]:
        """Value of each name. InputError for an unknown one."""
        return {name: self.one(name, place, text) for name in sorted(names)}

    def of_expression(self, expression: Expression) -> dict[str, NamedValue]:
        """Value of each name of an expression."""
        return self.of(expression.names, expression.place, expression.text)

    def one(self, name: str, place: Place | None, text: str) -> NamedValue:
        """Value of a name. InputError for an unknown one."""
        if name in self.own:
            return self._own(name)
        if name in self.seconds:
            return NamedValue(self.seconds[name], TIME, f"seconds of {name}")
        if (found := self._of_workload(name) or self._of_machine(name) or self._of_path(name)) is not None:
            return found
        if name in SYMBOLS:
            return self._of_symbol(name, place, text)
        if name == "p":
            return NamedValue(self.point.values["P"], PLAIN, "number of ranks")
        known = (
            {*self.seconds, *self._constants, *self._hierarchy, *(f"{PREFIX}{one}" for one in self._machine_names)}
            if "." in name
            else self.known()
        )
        if name in CONSTANTS and name not in self.point.machine.constants():
            what = f"{self.point.machine.name} has no {name}"
            raise InputError(what, place, value=text, allowed=f"a machine with {name}")
        raise InputError(f"unknown name {name!r}", place, value=text, allowed=nearest(name, known))

    def known(self) -> set[str]:
        """All names that there are, except for constants by their paths."""
        return {*self.own, *self.point.values, *self._machine_names, *self._symbols_here, "p"}

    def notes(self, names: Mapping[str, NamedValue]) -> list[str]:
        """Return notes on names that a reader of the formula may not expect."""
        meanings = {**{name: symbol.meaning for name, symbol in SYMBOLS.items()}, "p": "number of ranks"}
        notes = [
            f"{name} is {one.meaning}, not {meanings[name]}"
            for name, one in names.items()
            if name in meanings and one.meaning != meanings[name] and one.meaning != PER_VALUE
        ]
        notes += [f"{name} is {one.meaning}" for name, one in names.items() if one.meaning == PER_VALUE]
        paths = {one.path for one in names.values() if one.path} if self.phase is None else set()
        for path, phases in replaced_constants(self.point.workload, paths).items():
            notes.append(f"{path} is the machine's; phases that replace it: {', '.join(dict.fromkeys(phases))}")
        return notes

    def _own(self, name: str) -> NamedValue:
        expression = self.own[name]
        names = self.of_expression(expression)
        value = expression.evaluate({key: one.value for key, one in names.items()})
        dimension = dimension_of(expression, {key: one.dimension for key, one in names.items()})
        return NamedValue(value, dimension, f"the formula's own {name} = {expression.text}")

    def _of_workload(self, name: str) -> NamedValue | None:
        workload, values = self.point.workload, self.point.values
        if name not in values:
            return None
        if name == "P":
            return NamedValue(values[name], PLAIN, "number of ranks")
        if name in workload.parameters:
            unit = workload.parameters[name].unit
            return NamedValue(values[name], dimension_of_unit(unit), f"the parameter {name} of the workload")
        return NamedValue(values[name], self._equation_dimensions[name], f"the equation {name} of the workload")

    @cached_property
    def _equation_dimensions(self) -> dict[str, Dimension | OnlyTime | None]:
        """Dimension of every equation, as far as the units of its names determine it."""
        workload = self.point.workload
        known: dict[str, Dimension | OnlyTime | None] = {
            **{name: dimension_of_unit(parameter.unit) for name, parameter in workload.parameters.items()},
            "P": PLAIN,
        }
        for name in workload.equation_order:
            known[name] = dimension_of(workload.equations[name], known)
        return known

    @cached_property
    def _machine_names(self) -> Mapping[str, FloatOrArray]:
        return self.point.machine.names()

    def _of_machine(self, name: str) -> NamedValue | None:
        """Return a value that the machine file defines, as ``NAME`` or ``machine.NAME``."""
        bare = name.removeprefix(PREFIX)
        if bare not in self._machine_names:
            return None
        parameter = self.point.machine.custom.parameters.get(bare)
        dimension = PLAIN if bare in COUNTS else dimension_of_unit(parameter.unit) if parameter else None
        return NamedValue(self._machine_names[bare], dimension, f"{bare} of the machine file")

    def _of_path(self, name: str) -> NamedValue | None:
        if (none := self._unless_stated(name)) is not None:
            return none
        if name in self._constants:
            return NamedValue(self._constants[name], constant_dimension(name), name, name)
        if name in self._hierarchy:
            return NamedValue(*self._hierarchy[name], name)
        part, _, key = name.rpartition(".")
        if part == _RATES and key in self.point.values:
            return self._rate_of(key)
        path = f"{part}.{OTHER_NAMES.get(key, key)}"
        if not key.endswith("bandwidth") or path not in self._constants:
            return None
        return NamedValue(1 / self._constants[path], dimension_named("bandwidth"), name, path)

    def _rate_of(self, format: str) -> NamedValue:
        """Return the rate in the number format that a parameter or equation is."""
        machine, place = self.point.machine, self.point.workload.place
        accelerator = needed_accelerator(machine.accelerator, machine.name, place)
        rate = needed_rate(accelerator, self.point.values[format], machine.name, place)
        return NamedValue(rate, dimension_named("rate"), f"the rate in the format {format}")

    def _unless_stated(self, path: str) -> NamedValue | None:
        """Nothing, of a constant that takes no time because the machine does not state it; None of any other."""
        if path not in _NONE_UNLESS_STATED or path in self.point.machine.constants():
            return None
        return NamedValue(0.0, constant_dimension(path), f"{path}, 0 as {self.point.machine.name} states none")

    @cached_property
    def _hierarchy(self) -> Mapping[str, tuple[FloatOrArray, Dimension]]:
        return hierarchy_values(self.point.machine)

    def _of_symbol(self, name: str, place: Place | None, text: str) -> NamedValue:
        symbol = SYMBOLS[name]
        if (none := self._unless_stated(symbol.path)) is not None:
            return none
        if symbol.path not in self._constants:
            machine = self.point.machine
            what = f"{name} is {symbol.meaning}, which {machine.name} has not"
            if not is_of(symbol.path, machine.network.message_model):
                what += f" (its network model is {machine.network.message_model.name}, not {symbol.model})"
            if symbol.path in machine.constants():
                what = f"{name} is {symbol.meaning}, which has several values in phase {self.phase}"
            own = f"{name} under 'symbols' of the formula, e.g. {{{name}: {_EXAMPLES.get(symbol.unit, 1)}}}"
            if machine.network.message_model.segments and symbol.path.startswith("network."):
                what = f"{machine.name} has no {name} ({symbol.meaning}), but a cost for each range of message sizes"
                own += "; or a machine with one cost for all sizes, as 'calibrate --segments 1' makes it"
                raise InputError(what, place, allowed=own)
            raise InputError(what, place, value=text, allowed=f"{own}; here: {', '.join(sorted(self._symbols_here))}")
        value = symbol.value(self._constants)
        if name == "t_w" and (word := self._word()) is not None:
            return NamedValue(
                word * value, TIME, PER_VALUE if self.word is None else f"{self.word.text} x {symbol.path}"
            )
        return NamedValue(value, symbol.dimension, symbol.meaning, symbol.path)

    def _word(self) -> FloatOrArray | None:
        """Bytes of a value, if they are stated."""
        if self.word is None:
            return self.point.values.get(VALUE) if VALUE in self.point.workload.parameters else None
        names = self.of_expression(self.word)
        if dimension_of(self.word, {name: one.dimension for name, one in names.items()}) not in (SIZE, None):
            raise InputError("word is no size", self.word.place, value=self.word.text, allowed="e.g. 8 B")
        return self.word.evaluate({name: one.value for name, one in names.items()})

    @property
    def _symbols_here(self) -> set[str]:
        return {name for name, symbol in SYMBOLS.items() if symbol.path in self._constants}

    @cached_property
    def _constants(self) -> Mapping[str, FloatOrArray]:
        """The constants of the machine, as they are in the phase: those that have one value there."""
        machine, shape = self.point.machine, self.point.shape
        if self.phase is None or not phases_with_constants(self.point.workload, ""):
            return machine.constants()
        steps = Evaluation.at_points(self.point, by_rank=False).program.demands()
        every = [step.machine.constants() for step in steps if step.phase == self.phase]
        first, *others = every or [machine.constants()]
        return {
            path: value
            for path, value in first.items()
            if np.ndim(value) <= len(shape) and all(np.array_equal(value, other.get(path, np.nan)) for other in others)
        }
