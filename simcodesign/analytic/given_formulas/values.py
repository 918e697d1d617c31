"""Values of formulas at a design point, or at many: seconds in total, of phases and of components."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.analytic.given_formulas.names import FormulaNames, NamedValue
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.expressions.unit_check import condition_units, seconds_of
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.formulas.formula import Formula, check_components, check_phases
from simcodesign.describe.measured.times import MeasuredTimes
from simcodesign.describe.yaml.formulas import load_formulas

#: Keys that a function in Python may return instead of a number or an array: with seconds or mappings of them.
_KEYS = ("total", "phases", "components")

#: Why there is no total where phases are left out.
PART_OF_PROGRAM = "its total is of the whole program, of which phases are left out here"

#: A formula as a user may give it: the path of a file, an expression, a function of arrays by name.
FormulaSource = Formula | Callable[..., Any] | str | Path
#: One formula, several, or several by name.
FormulaSources = FormulaSource | Iterable[FormulaSource] | Mapping[str, FormulaSource] | None


@dataclass(frozen=True)
class PythonFormula:
    """A function in Python whose arguments are names of a formula, numbers or arrays.

    It returns seconds: for the total, or a mapping with ``total``, ``phases`` and ``components``.
    """

    name: str
    function: Callable[..., Any]

    def json_fields(self) -> dict[str, object]:
        """Its name."""
        return {"name": self.name, "total": "a function in Python"}


@dataclass(frozen=True)
class GivenFormulas:
    """Formulas, each with a name of its own, and the measurements to compare with."""

    formulas: tuple[Formula | PythonFormula, ...]
    measured: tuple[MeasuredTimes, ...] = ()


NO_FORMULAS = GivenFormulas(())
#: No further names of times.
NO_SECONDS: Mapping[str, FloatOrArray] = {}


def given_formulas(given: FormulaSources) -> GivenFormulas:
    """Formulas of all that ``compare`` takes for one: one or several, or by name. InputError for anything else."""
    if given is None:
        return NO_FORMULAS
    if isinstance(given, Mapping):
        named: list[tuple[str, Any]] = [(str(name), source) for name, source in given.items()]
    else:
        is_one = isinstance(given, Formula | str | Path) or not isinstance(given, Iterable)
        named = [("", source) for source in ([given] if is_one else given)]  # type: ignore[union-attr]
    formulas: dict[str, Formula | PythonFormula] = {}
    measured: list[MeasuredTimes] = []
    for number, (name, source) in enumerate(named, start=1):
        default = name or ("formula" if len(named) == 1 else f"formula {number}")
        several, times = _formulas_of(source, default)
        measured += times
        for formula in several:
            if formula.name in formulas:
                raise InputError("two formulas have one name", value=formula.name, allowed="NAME = EXPRESSION")
            formulas[formula.name] = formula
    return GivenFormulas(tuple(formulas.values()), tuple(measured))


def _formulas_of(source: Any, name: str) -> tuple[tuple[Formula | PythonFormula, ...], tuple[MeasuredTimes, ...]]:
    if isinstance(source, str | Path):
        file = load_formulas(source, name)
        return file.formulas, file.measured
    if isinstance(source, Formula | PythonFormula):
        return (source,), ()
    if callable(source):
        own = getattr(source, "__name__", "")
        return (PythonFormula(own if name.startswith("formula") and own.isidentifier() else name, source),), ()
    allowed = "a Formula, an expression, the path of a .yaml file, or a function of arrays"
    raise InputError("not a formula", value=source, allowed=allowed)


@dataclass(frozen=True)
class FormulaValues:
    """Values of a formula: numbers, or arrays of the shape of the design points, nan outside ``valid``.

    ``total_s`` is None if it gives no total. ``reason``: why there are nans, empty if there are none. ``notes``: units
    that bare numbers took, and what names mean that have several meanings.
    """

    formula: Formula | PythonFormula
    total_s: FloatOrArray | None
    phases_s: Mapping[str, FloatOrArray] = field(default_factory=dict)
    components_s: Mapping[str, FloatOrArray] = field(default_factory=dict)
    valid: FloatOrArray = 1.0
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the formula."""
        return self.formula.name


def total_counts(formula: Formula | PythonFormula, is_given: bool, whole_program: bool) -> bool:
    """Whether the total of a formula covers what runs: a total of the whole program does.

    If phases are left out, so does one given for this run without phases.
    """
    return whole_program or (is_given and not (isinstance(formula, Formula) and formula.phases))


def formula_values(
    formula: Formula | PythonFormula,
    point: DesignPoint,
    *,
    whole_program: bool = True,
    seconds: Mapping[str, FloatOrArray] = NO_SECONDS,
) -> FormulaValues:
    """Its values at a design point or at many, in one pass over arrays.

    Without a total of its own, the total is the sum over phases, if all have one.

    ``whole_program``: False where its total is not of what runs (see ``total_counts``), and counts no longer.
    ``seconds``: further names, which are times. Raises
    InputError for unknown names, phases that there are not, and terms that are not seconds.
    """
    if isinstance(formula, PythonFormula):
        return _of_function(formula, point, whole_program)
    if whole_program:
        check_phases(formula.phases, point.workload.phases(), formula.place)
    valid, notes, reason = _validity(formula, point)

    def value(expression: Expression, phase: str | None = None) -> FloatOrArray:
        names = FormulaNames(point, formula.symbols, formula.word, phase, seconds)
        known = names.of_expression(expression)
        units = seconds_of(expression, {name: one.dimension for name, one in known.items()})
        notes.extend(dict.fromkeys([*map(str, units), *names.notes(known)]))
        value_s = _everywhere(expression.evaluate({name: one.value for name, one in known.items()}), point)
        return _where_valid(value_s, valid)

    kept = {name: text for name, text in formula.phases.items() if name in point.workload.phases()}
    phases_s = {name: value(expression, name) for name, expression in kept.items()}
    components_s = {name: value(expression) for name, expression in formula.components.items() if whole_program}
    total_s = value(formula.total) if formula.total is not None and whole_program else _summed(phases_s, point)
    if not whole_program and total_s is None:
        reason = PART_OF_PROGRAM
    if not reason and not all(map(_is_finite, (total_s, *phases_s.values(), *components_s.values()))):
        reason = "not finite (division by zero, overflow or root of a negative)"
    if total_s is not None and np.any(np.asarray(total_s) < 0):
        notes.append("it is negative here, which no time is")
    return FormulaValues(formula, total_s, phases_s, components_s, valid, reason, tuple(dict.fromkeys(notes)))


def _is_finite(seconds: FloatOrArray | None) -> bool:
    return seconds is None or bool(np.all(np.isfinite(seconds)))


def _where_valid(seconds: FloatOrArray, valid: FloatOrArray) -> FloatOrArray:
    """Return the seconds if they hold, nan elsewhere and if they are not finite."""
    kept = np.where((np.asarray(valid) != 0) & np.isfinite(seconds), seconds, np.nan)
    return kept if np.ndim(kept) else float(kept)


def _validity(formula: Formula, point: DesignPoint) -> tuple[FloatOrArray, list[str], str]:
    """1 where the formula holds and 0 elsewhere; what is to be noted of its condition; why it does not hold."""
    if formula.valid is None:
        return 1.0, [], ""
    names = FormulaNames(point, formula.symbols, formula.word)
    known = names.of_expression(formula.valid)
    units = condition_units(formula.valid, {name: one.dimension for name, one in known.items()})
    holds = _everywhere(formula.valid.evaluate({name: one.value for name, one in known.items()}), point)
    valid: FloatOrArray = np.where(np.nan_to_num(holds) != 0, 1.0, 0.0)[()]
    reason = "" if np.all(np.asarray(valid) != 0) else f"outside its range: valid for {formula.valid.text}"
    return valid, [*map(str, units)], reason


def _summed(phases_s: Mapping[str, FloatOrArray], point: DesignPoint) -> FloatOrArray | None:
    """Return the sum over the phases of the program, if all of them are given."""
    phases = point.workload.phases()
    if not phases or not all(name in phases_s for name in phases):
        return None
    total: FloatOrArray = sum((phases_s[name] for name in phases), start=0.0)
    return total


def _everywhere(value: Any, point: DesignPoint) -> FloatOrArray:
    """Return a float at one design point, an array of its shape at many."""
    return np.broadcast_to(value, point.shape).astype(np.float64) if point.shape else float(value)


def _of_function(formula: PythonFormula, point: DesignPoint, whole_program: bool) -> FormulaValues:
    names = FormulaNames(point)
    known: dict[str, NamedValue] = {}
    for name, parameter in inspect.signature(formula.function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is not parameter.empty and name not in names.known():
            continue
        known[name] = names.one(name, Place(f"formula {formula.name!r}"), name)
    given = formula.function(**{name: one.value for name, one in known.items()})
    times = given if isinstance(given, Mapping) else {"total": given}
    for key in times:
        if key not in _KEYS:
            raise InputError(f"formula {formula.name!r} returns an unknown key", value=key, allowed=nearest(key, _KEYS))

    def each(key: str) -> dict[str, FloatOrArray]:
        return {str(name): _returned(seconds, formula, point) for name, seconds in times.get(key, {}).items()}

    phases_s, components_s = each("phases"), each("components") if whole_program else {}
    check_components(components_s, Place(f"formula {formula.name!r}"))
    total = times.get("total") if whole_program else None
    total_s = _summed(phases_s, point) if total is None else _returned(total, formula, point)
    finite = all(map(_is_finite, (total_s, *phases_s.values(), *components_s.values())))
    reason = "" if finite else "the function gives no finite value"
    if not whole_program and total_s is None:
        reason = PART_OF_PROGRAM
    return FormulaValues(formula, total_s, phases_s, components_s, 1.0, reason, tuple(names.notes(known)))


def _returned(seconds: Any, formula: PythonFormula, point: DesignPoint) -> FloatOrArray:
    """Convert the result of a function to seconds at every design point. InputError if it is no number."""
    try:
        return _where_valid(_everywhere(np.asarray(seconds, dtype=np.float64), point), 1.0)
    except (TypeError, ValueError):
        what = f"formula {formula.name!r} returns no seconds"
        shape = f"a number or an array of shape {point.shape}"
        raise InputError(what, value=seconds, allowed=shape) from None
