"""Variables, constraints and objectives as a user writes them.

``n=1:1e6:whole``, ``P=16,32,64``, ``network.startup=1 us:50 us``; ``time <= 10 s``, ``footprint <= capacity``;
``time``, ``flops/time * 2`` (with weight 2). Lists, ranges with a step and units are as in a sweep (``P=4:64:x4``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import Expression, Number, Operation, parse
from simcodesign.core.units import DIMENSIONS, parse_quantity
from simcodesign.studies.explore.dimensions import Measure, measured, powers_of
from simcodesign.studies.explore.problem import RELATIONS, Constraint, Objective, formula, plain_name
from simcodesign.studies.explore.space import Variable
from simcodesign.studies.sweep.design.grid import FORMS, Known, parse_axis
from simcodesign.studies.sweep.design.ranges import NUMBER

VARY_FORMS = f"NAME=LOW:HIGH, NAME=LOW:HIGH:whole, :log or :linear; {FORMS}"
CONSTRAINT_FORMS = "e.g. 'time <= 10 s', 'footprint <= capacity', 'P >= 4', 'flops == 1e12'"
OBJECTIVE_FORMS = "a metric or an expression, with a weight if there are several: 'time', 'time*P*2'"
_RELATION = re.compile(r"<=|>=|==|<|>|=")
_WEIGHT = re.compile(r"(.*\S)\s*\*\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*", re.DOTALL)
_QUANTITY = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*([A-Za-zµμ%][A-Za-z/µμ]*)?")

#: How the step of a range begins.
_STEPS = ("x", "+", "n=")
#: Ends in a unit, a prefix of one, or a percent sign.
_UNIT = re.compile(r"[A-Za-zµμ%/]$")


def variable(text: str, dimensions: Mapping[str, str], place: Place | None = None) -> Variable:
    """Return the variable of ``NAME=LOW:HIGH[:whole|:log|:linear]`` or ``NAME=A,B,...``, in units of its dimension."""
    source_place = place or Place()
    name, sign, rest = (part.strip() for part in text.partition("="))
    if not name or not sign or not rest:
        raise InputError("not something to vary", source_place, value=text, allowed=VARY_FORMS)
    return limits(name, rest, dimensions.get(name, ""), source_place)


def limits(name: str, text: str, dimension: str, place: Place, whole: bool = False) -> Variable:
    """Return the variable of this name for ``LOW:HIGH...``, or for ``A,B,...`` and ``LOW:HIGH:STEP``.

    The values of the latter are its choices. ``whole``: values of a range with a step are rounded, as in a sweep.
    """
    parts = [part.strip() for part in text.split(":")]
    if len(parts) == 1 or (parts[2:] and parts[2].startswith(_STEPS)):
        return Variable(name, choices=_listed(name, text, dimension, place, whole), place=place)
    words = [part.lower() for part in parts[2:]]
    if not set(words) <= {"whole", "log", "linear"} or len(set(words) & {"log", "linear"}) > 1:
        raise InputError(f"range of {name}", place, value=text, allowed=VARY_FORMS)
    end = NUMBER.fullmatch(parts[1])
    unit = (end.group(2) or "") if end else ""  # for both ends
    first = f"{parts[0]} {unit}" if not _UNIT.search(parts[0]) else parts[0]
    low, high = (number(part, dimension, name, place) for part in (first, parts[1]))
    if low > high:
        what = f"the limits of {name} are not in order: the lower one is above the upper one"
        raise InputError(what, place, value=":".join(parts[:2]), allowed=f"{name}={parts[1]}:{parts[0]}")
    log = True if "log" in words else False if "linear" in words else None
    return Variable(name, low, high, whole="whole" in words, log=log, place=place)


def _listed(name: str, text: str, dimension: str, place: Place, whole: bool) -> tuple[float, ...]:
    """Return the values of a list or of a range with a step, in SI units."""
    known = Known(name, dimension=dimension or "count", whole=whole and ":" in text)
    try:
        axis = parse_axis(f"{name}={text.replace('flop/s', 'FLOP/s')}", lambda _: known)
    except InputError as error:
        raise InputError(f"{name}: {error.what}", place, value=error.value, allowed=error.allowed) from None
    return tuple(float(value) for value in axis.values)


def number(text: str, dimension: str, name: str, place: Place) -> float:
    """Return a number in SI units, with a unit of this dimension or none; "inf" is read, so that it can be refused."""
    if text.strip().lower() in ("inf", "+inf", "-inf", "infinity"):
        return math.inf if not text.strip().startswith("-") else -math.inf
    try:
        return parse_quantity(text.replace("flop/s", "FLOP/s"), dimension or "count", place)
    except InputError as error:
        raise InputError(f"{name}: {error.what}", place, value=error.value, allowed=error.allowed) from None


def constraint(text: str, dimensions: Mapping[str, str], place: Place | None = None) -> Constraint:
    """Return the constraint of ``EXPRESSION <= BOUND``; the bound is a number, with a unit, or another expression.

    ``dimensions``: of every name. A unit must fit the left side as far as its dimension is known. Raises InputError
    also where quantities of different units are added or compared.
    """
    source_place = place or Place()
    relations = _RELATION.findall(text)
    sides = [side.strip() for side in _RELATION.split(text)]
    if len(relations) != 1 or not all(sides):
        raise InputError("not a constraint", source_place, value=text, allowed=CONSTRAINT_FORMS)
    if relations[0] not in RELATIONS:
        raise InputError(
            f"a constraint cannot have the relation {relations[0]}",
            source_place,
            value=text,
            allowed=", ".join(RELATIONS),
        )
    left_text, right_text = sides
    left = formula(left_text, source_place)
    known_dimensions = {plain_name(name): dimension for name, dimension in dimensions.items()}
    measure, _ = measured(left, known_dimensions)
    right, dimension = _bound(
        right_text, dimensions.get(left_text, "") or measure.dimension, measure, known_dimensions, source_place
    )
    _check_sides(measure, right, dimension, known_dimensions, text)
    if isinstance(right.tree, Number) and not _UNIT.search(right_text):  # what it was read as
        right_text = f"{right_text} {DIMENSIONS.get(dimension, '')}".rstrip()
    return Constraint(left, relations[0], right, dimension, text=f"{left_text} {relations[0]} {right_text}")


def _check_sides(
    left: Measure, right: Expression, dimension: str, known_dimensions: Mapping[str, str], text: str
) -> None:
    """Raise InputError if the two sides certainly have different units."""
    right_measure = (
        Measure(powers_of(dimension))
        if isinstance(right.tree, Number) and dimension
        else measured(right, known_dimensions)[0]
    )
    if (
        left.plain
        or right_measure.plain
        or left.powers == right_measure.powers
        or not (left.sure and right_measure.sure)
    ):
        return
    allowed = f"a bound in {left.unit}"
    raise InputError(f"{text!r} compares {left.unit} with {right_measure.unit}", right.place, allowed=allowed)


def _bound(
    text: str, dimension: str, measure: Measure, known_dimensions: Mapping[str, str], place: Place
) -> tuple[Expression, str]:
    """Return the right side, and the dimension of both."""
    text = text.replace("flop/s", "FLOP/s")
    match = _QUANTITY.fullmatch(text)
    if match:
        owner = dimension or _dimension_of(match.group(1) or "", measure)
        value = parse_quantity(text, owner or "count", place)
        return replace(parse(value, place), text=text), owner
    right = formula(text, place)
    return right, dimension or known_dimensions.get(plain_name(text), "") or measured(right, known_dimensions)[
        0
    ].dimension


def _dimension_of(unit: str, measure: Measure) -> str:
    """Return the dimension of a unit, preferably this measure's dimension if several have that unit; "" for none."""
    candidates = []
    for dimension in DIMENSIONS if unit else ():
        try:
            parse_quantity(f"1 {unit}", dimension)
        except InputError:
            continue
        candidates.append(dimension)
    return next(
        (candidate for candidate in candidates if powers_of(candidate) == measure.powers),
        candidates[0] if candidates else "",
    )


def objective(text: str, maximize: bool, dimensions: Mapping[str, str], place: Place | None = None) -> Objective:
    """Return the objective of an expression; a number by which all of it is multiplied at its end is its weight."""
    source_place = place or Place()
    if not text.strip():
        raise InputError("no objective", source_place, value=text, allowed=OBJECTIVE_FORMS)
    whole, match = formula(text, source_place), _WEIGHT.fullmatch(text)
    weight, expression = 1.0, whole
    # In a + b*2 the number belongs to b alone.
    if (
        match
        and isinstance(whole.tree, Operation)
        and whole.tree.symbol == "*"
        and isinstance(whole.tree.right, Number)
    ):
        weight, expression = float(whole.tree.right.value), formula(match.group(1), source_place)
    if not (math.isfinite(weight) and weight > 0):
        raise InputError("not a weight of an objective", source_place, value=text, allowed="numbers above 0")
    measure, _ = measured(expression, {plain_name(name): one for name, one in dimensions.items()})
    dimension = dimensions.get(expression.text, "") or measure.dimension
    unit = "" if dimension or not measure.has_units else measure.unit
    return Objective(expression, maximize, weight, dimension, unit)
