"""Names and their values: parameters in any order, ranges, enumerations, arrays, sizes of data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.aspen.nodes import DRAWS, Table
from simcodesign.aspen.tree import Data, Enumeration, Global, Import, Numbers, Parameter
from simcodesign.core.errors import InputError, Place, nearest, shorten
from simcodesign.core.expressions.expression import Expression, Value

#: A value given for a parameter: a number, an array that broadcasts, or a member of an enumeration.
Given = float | str | NDArray[Any]


@dataclass(frozen=True)
class Definitions:
    """The checked definitions of one model: the meaning of each name."""

    parameters: Mapping[str, Parameter]
    data: Mapping[str, Data]
    enumerations: Mapping[str, Enumeration]
    constants: Mapping[str, Any]  # members of enumerations as numbers, arrays as tables

    def expression(self, name: str) -> Expression | None:
        """Return the expression that defines a parameter or the size of data."""
        if name in self.parameters:
            return self.parameters[name].value
        return self.data[name].size_bytes if name in self.data else None

    @property
    def names(self) -> list[str]:
        """Return the names of parameters, data and constants."""
        return [*self.parameters, *self.data, *self.constants]


class Scope:
    """The values of the names of one model, computed when first needed.

    ``given`` replaces definitions; ``inherited`` are the arguments of an import, which the importing scope
    evaluates; ``imported`` leads from the name of an import to its scope.
    """

    def __init__(
        self,
        definitions: Definitions,
        given: Mapping[str, Value],
        inherited: Mapping[str, tuple[Expression, Scope]] | None = None,
        imported: Callable[[str, Place | None], Scope] | None = None,
        draws: Callable[[], Any] | None = None,
    ) -> None:
        self.definitions = definitions
        self.inherited = inherited or {}
        self.imported = imported
        self.values: dict[str, Any] = {**definitions.constants, **given}
        self.draws = draws
        self._pending: set[str] = set()

    def evaluate(self, expression: Expression, local: Mapping[str, Any] | None = None) -> Value:
        """Return the value of an expression; ``local`` names hide names of the model."""
        used: dict[str, Any] = {} if self.draws is None else {DRAWS: self.draws}
        for name in expression.names:
            hidden = local is not None and name in local
            used[name] = local[name] if local is not None and hidden else self.value(name, expression.place)
        return _number(expression.tree.evaluate(used), expression)

    def value(self, name: str, place: Place | None) -> Any:
        """Return the value of one name. Raises InputError for an unknown one and for cycles through imports."""
        waiting = [(name, place)]  # a stack, because a chain of parameters may be longer than calls may nest
        while waiting:
            name, place = waiting[-1]
            if name not in self.values:
                missing = self._missing(name, place)
                if missing:
                    waiting += missing
                    continue
            waiting.pop()
        return self.values[name]

    def _missing(self, name: str, place: Place | None) -> list[tuple[str, Place | None]]:
        """Compute a name, or return the names which that takes first."""
        if name in self.inherited or "." in name:
            self.values[name] = self._from_elsewhere(name, place)
            return []
        expression = self.definitions.expression(name)
        if expression is None:
            raise InputError(f"unknown name {name!r}", place, allowed=nearest(name, self.definitions.names))
        missing = [(part, expression.place) for part in sorted(expression.names) if part not in self.values]
        if not missing:
            self.values[name] = self.evaluate(expression)
        return missing

    def _from_elsewhere(self, name: str, place: Place | None) -> Any:
        if name in self._pending:
            raise InputError(f"{name} depends on itself through an import", place)
        self._pending.add(name)
        try:
            if name in self.inherited:
                expression, importer = self.inherited[name]
                return importer.evaluate(expression)
            model, _, rest = name.partition(".")
            if self.imported is None:
                raise InputError(f"unknown name {name!r}", place, allowed=nearest(name, self.definitions.names))
            return self.imported(model, place).value(rest, place)
        finally:
            self._pending.discard(name)


def _number(value: Any, expression: Expression) -> Value:
    if isinstance(value, Table):
        raise InputError("this array needs an index", expression.place, value=expression.text, allowed="name[..]")
    result: Value = value
    return result


# --- checks -----------------------------------------------------------------------------------------------------


def define(items: Iterable[Global]) -> Definitions:
    """Return the definitions of one model.

    Raises InputError for a name defined twice with different values, cyclic parameters, unknown enumerations,
    and ranges of numbers whose lower end is above their upper end.
    """
    listed = [item for item in items if not isinstance(item, Import)]
    _check_twice(listed)
    enumerations = {item.name: item for item in listed if isinstance(item, Enumeration)}
    constants: dict[str, Any] = {}
    for enumeration in enumerations.values():
        constants |= {member: np.float64(number) for number, member in enumerate(enumeration.members)}
    constants |= {item.name: _table(item) for item in listed if isinstance(item, Numbers)}
    definitions = Definitions(
        {item.name: item for item in listed if isinstance(item, Parameter)},
        {item.name: item for item in listed if isinstance(item, Data)},
        enumerations,
        constants,
    )
    _check_cycles(definitions)
    _check_ranges(definitions)
    return definitions


def _check_twice(items: list[Any]) -> None:
    """Allow a file that is included twice to define the same again."""
    first_of: dict[str, Any] = {}
    for item in items:
        members = item.members if isinstance(item, Enumeration) else ()
        for name in (item.name, *members):
            first = first_of.setdefault(name, item)
            if first != item:
                raise InputError(f"{name} is defined twice", item.place, allowed=f"one of this and {first.place}")


def _table(numbers: Numbers) -> Table:
    with np.errstate(all="ignore"):
        rows = [[float(number.evaluate({})) for number in row] for row in numbers.rows]
    return Table.of(rows, numbers.is_table)


def _check_cycles(definitions: Definitions) -> None:
    names = [*definitions.parameters, *definitions.data]
    graph = {}
    for name in names:
        expression = definitions.expression(name)
        graph[name] = sorted(expression.names) if expression else []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        expression = definitions.expression(cycle[0])
        chain = " -> ".join(cycle if len(cycle) <= 10 else [*cycle[:8], "...", cycle[-1]])
        place = expression.place if expression else None
        raise InputError(f"parameters depend on each other: {chain}", place) from error


def _check_ranges(definitions: Definitions) -> None:
    for parameter in definitions.parameters.values():
        if parameter.choices is not None and parameter.choices not in definitions.enumerations:
            allowed = nearest(parameter.choices, definitions.enumerations)
            raise InputError(f"unknown enum {parameter.choices!r}", parameter.place, allowed=allowed)
        if parameter.low is not None and not parameter.low.names | (parameter.high or parameter.low).names:
            range_of(parameter, Scope(definitions, {}))


def range_of(parameter: Parameter, scope: Scope) -> tuple[float, float] | None:
    """Return the two ends of a parameter's range, or None; for an enumeration its first and last number.

    Raises InputError if the lower end is above the upper one, or an end is not one finite number.
    """
    if parameter.choices is not None:
        return 0.0, len(scope.definitions.enumerations[parameter.choices].members) - 1.0
    if parameter.low is None or parameter.high is None:
        return None
    with np.errstate(all="ignore"):
        low, high = scope.evaluate(parameter.low), scope.evaluate(parameter.high)
    shown = f"{parameter.low.text} .. {parameter.high.text}"
    if np.ndim(low) or np.ndim(high) or not np.isfinite(low) or not np.isfinite(high):
        raise InputError(
            f"the range of {parameter.name} is not finite", parameter.place, value=shown, allowed="two finite numbers"
        )
    if low > high:
        allowed = "the lower end first"
        raise InputError(f"the range of {parameter.name} is empty", parameter.place, value=shown, allowed=allowed)
    return float(low), float(high)


def search_range(definitions: Definitions, name: str, given: Mapping[str, Value] | None = None) -> tuple[float, float]:
    """Return the range within which a parameter may be searched.

    Raises InputError for an unknown parameter and for one without a range: its search would have no bounds.
    """
    if name not in definitions.parameters:
        raise InputError(f"unknown parameter {name!r}", allowed=nearest(name, definitions.parameters))
    parameter = definitions.parameters[name]
    bounds = range_of(parameter, Scope(definitions, given or {}))
    if bounds is None:
        allowed = f"param {name} = {parameter.value.text} in low .. high"
        raise InputError(f"parameter {name} has no range to search", parameter.place, allowed=allowed)
    return bounds


# --- what a caller gives ----------------------------------------------------------------------------------------


def read_given(definitions: Definitions, name: str, value: Any) -> Value:
    """Return a caller's value as float64; a word is a member of the parameter's enumeration."""
    parameter = definitions.parameters.get(name)
    if isinstance(value, str):
        choices = parameter.choices if parameter else None
        members = definitions.enumerations[choices].members if choices else ()
        if value not in members:
            raise InputError(
                f"parameter {name} cannot have this value",
                value=value,
                allowed=nearest(value, members) if members else "numbers",
            )
        return np.float64(members.index(value))
    try:
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return array.astype(np.float64)[()]
    except ValueError:  # a ragged list
        pass
    raise InputError(
        f"parameter {name} is {shorten(value)}, which is not a real number", allowed="real numbers and arrays of them"
    )


def out_of_range(definitions: Definitions, given: Mapping[str, Value], scope: Scope) -> list[str]:
    """Warnings of given values outside the ranges of their parameters."""
    warnings = []
    for name, value in given.items():
        parameter = definitions.parameters.get(name)
        bounds = range_of(parameter, scope) if parameter else None
        if bounds and not np.all((value >= bounds[0]) & (value <= bounds[1])):
            worst = np.min(value) if np.min(value) < bounds[0] else np.max(value)
            warnings.append(f"{name} = {worst:g} is outside its range {bounds[0]:g} .. {bounds[1]:g}")
    return warnings
