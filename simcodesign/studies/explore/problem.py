"""A design problem: variables, a model that computes metrics, and objectives and constraints on them.

The optimisation problem behind the four planners (Spafford and Vetter, Scientific Programming 2015): optimise f(x) for
x between limits, with h_i(x) = 0 and g_j(x) <= 0. Whole variables stay whole here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.machine_metrics import HARDWARE
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.core.expressions.interval import Interval, bounds_of
from simcodesign.core.to_json import attributes_of
from simcodesign.core.units import DIMENSIONS, FloatOrArray
from simcodesign.describe.equations import ordered
from simcodesign.studies.explore.space import FloatArray, Space

#: A violation of less than this fraction of the bound is rounding.
ROUNDING = 4 * 2.0**-52
#: How far, as a fraction of the bound, both sides of an equality may be apart.
EQUAL = 1e-6
RELATIONS = ("<=", ">=", "==")
_DOTTED = re.compile(r"(?<![\w.])[A-Za-z]\w*(?:\.[A-Za-z]\w*)+")


class RefusedPointsError(InputError):
    """A model cannot evaluate some of n points: mask ``refused`` (n,). The others are evaluated again."""

    def __init__(self, error: InputError, refused: NDArray[np.bool_]) -> None:
        super().__init__(error.what, error.place, value=error.value, allowed=error.allowed)
        self.refused = refused


class Model(Protocol):
    """Computes metrics of design points: a workload on a machine, a machine alone, formulas, or anything else.

    ``dimensions``: every metric and its dimension of ``units.DIMENSIONS``, or "" if nothing is known.
    """

    @property
    def name(self) -> str:
        """For titles."""

    @property
    def dimensions(self) -> Mapping[str, str]:
        """Names of the metrics and their dimensions."""

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        """Values that stay constant while these variables are varied; expressions may use them."""

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatOrArray]:
        """Every metric at n points; ``values``: (n,) for each variable. Arrays (n,), or one number for all points.

        Raises InputError if it cannot evaluate one of the points, RefusedPointsError if it can name them.
        """


@dataclass(frozen=True)
class FormulaModel:
    """Metrics by formula, over the variables and each other, in any order.

    ``names`` are the variables that they may use. Raises InputError for unknown names and cycles.
    """

    name: str
    formulas: Mapping[str, Expression]
    names: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", tuple(ordered(self.formulas, set(self.names))))

    @property
    def dimensions(self) -> Mapping[str, str]:
        """Dimensions in ``units``; the others are unknown."""
        return {name: self.units.get(name, "") for name in self.formulas}

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        """Nothing: a formula has its numbers in it."""
        return {}

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatOrArray]:
        """Values of all formulas, including values that are not finite."""
        values_by_name: dict[str, FloatOrArray] = dict(values)
        for name in self.order:
            values_by_name[name] = self.formulas[name].evaluate(values_by_name)
        return {name: values_by_name[name] for name in self.formulas}

    def bounds(self, names: Mapping[str, Interval]) -> Mapping[str, Interval]:
        """Bounds of all formulas over a box."""
        return bounds_of(self.formulas, self.order, names)


def formula_model(
    name: str, formulas: Mapping[str, str], names: Sequence[str], units: Mapping[str, str] | None = None
) -> FormulaModel:
    """Return a model of formulas in text, e.g. ``{"flops": "2*n**3", "time": "flops / 1e9"}``."""
    parsed = {metric: parse(text) for metric, text in formulas.items()}
    return FormulaModel(name, parsed, tuple(names), dict(units or {}))


def plain_name(name: str) -> str:
    """Return the name of a dotted one, such as ``network.startup``, in an expression."""
    return name.replace(".", "__")


def formula(text: str, place: Place | None = None) -> Expression:
    """Return an expression that may use dotted names."""
    parsed = parse(_DOTTED.sub(lambda match: plain_name(match.group()), text), place)
    return replace(parsed, text=text.strip())


@dataclass(frozen=True)
class Objective:
    """An expression over metrics and variables that is minimized, or maximized with ``maximize``.

    If there are several, each is divided by the absolute value of its own best (1 if that is 0), times its weight:
    with equal weights one per cent of one counts as much as one per cent of another. ``unit``: in SI, of one that is
    of no ``dimension``.
    """

    expression: Expression
    maximize: bool = False
    weight: float = 1.0
    dimension: str = ""
    unit: str = ""

    @property
    def text(self) -> str:
        """As the user wrote it."""
        return self.expression.text

    @property
    def sign(self) -> float:
        """-1 where the largest is wanted: solvers minimize."""
        return -1.0 if self.maximize else 1.0

    def json_fields(self) -> dict[str, Any]:
        """In words."""
        return attributes_of(self, "text", "maximize", "weight")


@dataclass(frozen=True)
class Constraint:
    """``left relation right``; ``<=``, ``>=``, or ``==`` within ``tolerance``.

    Violations are relative to the absolute value of the right side (to 1 if that is 0). ``slack``: relative
    relaxation of the right side (of an equality: upward shift).
    """

    left: Expression
    relation: str
    right: Expression
    dimension: str = ""
    tolerance: float = EQUAL
    slack: float = 0.0
    text: str = ""

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise InputError(
                "unknown relation of a constraint", self.left.place, value=self.relation, allowed=", ".join(RELATIONS)
            )
        if not self.text:
            object.__setattr__(self, "text", f"{self.left.text} {self.relation} {self.right.text}")

    @property
    def bound(self) -> float | None:
        """The right side if it is a number; slack counts."""
        if self.right.names:
            return None
        number = float(self.right.evaluate({}))
        scale = abs(number) or 1.0
        return number + self.slack * scale * (-1 if self.relation == ">=" else 1)

    def gap(self, names: Mapping[str, FloatOrArray]) -> FloatOrArray:
        """How far the left side is beyond the right one, relative; signed also for an equality. Without slack."""
        left, right = self.left.evaluate(names), self.right.evaluate(names)
        scale = np.where(np.asarray(right) == 0, 1.0, np.abs(right))
        gap: FloatOrArray = (np.asarray(left) - right) / scale
        return -gap if self.relation == ">=" else gap

    def excess(self, gap: FloatArray) -> FloatArray:
        """Return the part of a gap beyond slack and tolerance: above 0 where the constraint is violated."""
        if self.relation == "==":
            return np.abs(gap - self.slack) - self.tolerance
        return gap - self.slack

    def with_slack(self, slack: float) -> Constraint:
        """Return the constraint with its right side relaxed by this fraction of itself.

        An equality is shifted up.
        """
        return replace(self, slack=slack)

    def json_fields(self) -> str:
        """In words."""
        return self.text


@dataclass(frozen=True)
class Evaluated:
    """A model at n points.

    ``points`` (n, variables), ``objectives`` (n, objectives), ``gaps`` (n, constraints), and every metric (n,); NaN
    where the model refused the point. ``usable`` (n,): points that were not refused.
    """

    points: FloatArray
    objectives: FloatArray
    gaps: FloatArray
    metrics: Mapping[str, FloatArray]
    usable: NDArray[np.bool_]


@dataclass(frozen=True)
class Problem:
    """Variables, model, objectives and constraints.

    Raises InputError for names that neither the variables nor the model have, and for a variable that has the name of a
    metric.
    """

    model: Model
    space: Space
    objectives: tuple[Objective, ...] = ()
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        for variable in self.space.variables:
            if variable.name in self.model.dimensions:
                what = f"{variable.name} is a metric of {self.model.name}"
                raise InputError(what, variable.place, allowed="to vary what a metric depends on")
        dimensions = expression_names(self.model, self.space)
        sides = [side for item in self.constraints for side in (item.left, item.right)]
        for expression in [*(item.expression for item in self.objectives), *sides]:
            self._check_names(expression, dimensions)

    def _check_names(self, expression: Expression, dimensions: Mapping[str, str]) -> None:
        """InputError for a name that is neither metric nor variable."""
        further: Iterable[str] = getattr(self.model, "of_server", ())  # there if an expression names one
        plain = {plain_name(name): name for name in dimensions}
        for name in sorted(expression.names - plain.keys()):
            shown = name.replace("__", ".")
            allowed = nearest(shown, {*dimensions, *further})
            what = f"neither a metric nor a variable in {expression.text!r}"
            if shown in HARDWARE and hasattr(self.model, "machine"):
                what = f"{self.model.machine.label} does not state what {shown} is computed from"
                allowed = f"a machine with {HARDWARE[shown]}; or {allowed}"
            raise InputError(what, expression.place, value=shown, allowed=allowed)

    @property
    def takes_sums(self) -> bool:
        """Whether its times are sums of closed forms without waiting between ranks."""
        return bool(getattr(self.model, "takes_sums", False))

    @property
    def has_bubbles(self) -> bool:
        """Whether its workload states the bubble of a pipeline, which these sums have."""
        workload = getattr(self.model, "workload", None)
        return bool(workload is not None and workload.bubbles)

    def headline_s(self, values: Mapping[str, float]) -> float | None:
        """Return the forecast of one point where others are sums of closed forms; otherwise None."""
        found = getattr(self.model, "headline_s", None)
        return None if found is None or not self.takes_sums else float(found(values))

    def with_objectives(self, *objectives: Objective) -> Problem:
        """Return the problem with these objectives alone."""
        return replace(self, objectives=objectives)

    def with_constraints(self, constraints: Sequence[Constraint]) -> Problem:
        """Return the problem with these constraints alone."""
        return replace(self, constraints=tuple(constraints))

    def evaluate(self, points: FloatArray) -> Evaluated:
        """Everything at n points (n, variables). Raises InputError if the model does."""
        count = len(points)
        metrics = {
            name: np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (count,)))
            for name, value in self.model.evaluate(self.space.columns(points)).items()
        }
        return self.assess(points, metrics, np.ones(count, dtype=np.bool_))

    def assess(self, points: FloatArray, metrics: Mapping[str, FloatArray], usable: NDArray[np.bool_]) -> Evaluated:
        """Objectives and gaps of n points with these metrics."""
        values: dict[str, FloatOrArray] = {
            **self.model.fixed(self.space.names),
            **metrics,
            **self.space.columns(points),
        }
        names = {plain_name(name): value for name, value in values.items()}
        with np.errstate(all="ignore"):
            objectives = _stacked([item.expression.evaluate(names) for item in self.objectives], len(points))
            gaps = _stacked([item.gap(names) for item in self.constraints], len(points))
        usable = usable & np.isfinite(objectives).all(axis=1) & ~np.isnan(gaps).any(axis=1)
        return Evaluated(points, objectives, gaps, metrics, usable)

    def excess(self, gaps: FloatArray) -> FloatArray:
        """``Constraint.excess`` of every constraint: (n, constraints)."""
        columns = [constraint.excess(gaps[:, at]) for at, constraint in enumerate(self.constraints)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(gaps), 0))

    def violation(self, gaps: FloatArray) -> FloatArray:
        """Return the sum of all relative violations at every point, 0 if all constraints hold: (n,)."""
        excess = self.excess(gaps)
        # A point without a number is no better than any other.
        counted = np.where(np.isnan(excess), np.inf, np.where(excess > ROUNDING, excess, 0.0))
        return np.asarray(counted.sum(axis=1))

    def total(self, objectives: FloatArray, scales: Sequence[float] | None = None) -> FloatArray:
        """Return the one number to be minimized at every point, 0 if there is no objective: (n,)."""
        if len(self.objectives) == 1:
            return self.objectives[0].sign * objectives[:, 0]
        weights = [objective.sign * objective.weight for objective in self.objectives]
        return np.asarray(objectives @ (np.array(weights) / np.array(scales or [1.0] * len(weights))))


def expression_names(model: Model, space: Space) -> dict[str, str]:
    """Names that an expression may use, and their dimensions."""
    return {**dict.fromkeys([*model.fixed(space.names), *space.names], ""), **model.dimensions}


def _stacked(columns: Sequence[FloatOrArray], count: int) -> FloatArray:
    rows = [np.broadcast_to(np.asarray(column, dtype=np.float64), (count,)) for column in columns]
    return np.stack(rows, axis=1) if rows else np.zeros((count, 0))


def check_dimension(dimension: str, place: Place | None = None) -> str:
    """Return the dimension, "" if it is unknown. Raises InputError for a name that is no dimension."""
    if dimension and dimension not in DIMENSIONS:
        raise InputError("unknown dimension", place, value=dimension, allowed=nearest(dimension, DIMENSIONS))
    return dimension
