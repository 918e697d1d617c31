"""Evaluates points of a problem for the solvers.

Counts them, keeps a trace, remembers the best one, and isolates the points that the model refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.atomic_files import replacing
from simcodesign.core.files.formula_cells import escaped_frame
from simcodesign.studies.explore.problem import Evaluated, Problem, RefusedPointsError
from simcodesign.studies.explore.space import FloatArray

#: File name suffixes of traces.
TRACES = (".csv", ".parquet")
#: Points evaluated in one call of the model.
BATCH = 4096
#: Called with the stage of a search and the number of points of a batch, when it is evaluated.
OnProgress = Callable[[str, int], None]


@dataclass(frozen=True)
class Refusal:
    """Points that the model refuses: its error message, their number, and the variables at the first of them."""

    why: str
    count: int
    values: dict[str, float]


@dataclass(frozen=True)
class EvaluatedPoint:
    """One point: values of the variables, metrics, objectives, ``gaps`` of the constraints, sum of violations."""

    values: dict[str, float]
    metrics: dict[str, float]
    objectives: tuple[float, ...]
    gaps: tuple[float, ...]
    violation: float

    @property
    def feasible(self) -> bool:
        """Whether all constraints hold."""
        return self.violation == 0


@dataclass(frozen=True)
class Scored:
    """Points and the key by which solvers order them.

    The sum of violations first, then the total to be minimized (both (n,)).
    """

    evaluated: Evaluated
    violation: FloatArray
    total: FloatArray

    def order(self) -> NDArray[np.int64]:
        """Best first: by violation, then by total (feasibility rules of Deb, 2000)."""
        return np.lexsort((self.total, self.violation))


class EvaluationLimitError(Exception):
    """The limit on evaluations is reached: a search ends with the best point so far."""


@dataclass
class Evaluator:
    """Evaluates points for the solvers.

    ``scales``: divisors of the objectives if there are several; ``limit``: the number of points that may be evaluated,
    None for any number; ``on_progress`` is called for every batch with the stage of the search and the number of
    points.
    """

    problem: Problem
    scales: tuple[float, ...] = ()
    limit: int | None = None
    on_progress: OnProgress | None = field(default=None, repr=False)
    evaluations: int = 0
    best_key: tuple[float, float] = (np.inf, np.inf)
    best: FloatArray | None = None

    def __post_init__(self) -> None:
        self.chunks: list[tuple[str, Evaluated]] = []
        self.refused: dict[str, Refusal] = {}
        #: The values of each variable at the points of each refusal.
        self.refused_values: dict[str, list[set[float]]] = {}

    def __call__(self, points: FloatArray, stage: str) -> Scored:
        """Evaluate all points (n, variables); at the limit, only as many as it allows, then EvaluationLimitError."""
        if len(points) > self.remaining:
            allowed = points[: int(self.remaining)]
            if len(allowed):
                self(allowed, stage)
            raise EvaluationLimitError
        batches = [self._batch(points[start : start + BATCH]) for start in range(0, len(points), BATCH)]
        evaluated = batches[0] if len(batches) == 1 else _concatenated(batches)
        self.chunks.append((stage, evaluated))
        self.evaluations += len(points)
        if self.on_progress is not None:
            self.on_progress(stage, len(points))
        scored = self.score(evaluated)
        self._update_best(scored)
        return scored

    @property
    def remaining(self) -> float:
        """How many points may still be evaluated; infinite without a limit."""
        return np.inf if self.limit is None else max(self.limit - self.evaluations, 0)

    @contextmanager
    def nested(self, stage: str, problem: Problem | None = None) -> Iterator[Evaluator]:
        """Yield an evaluator with its own best point.

        For the same problem or one with other objectives and constraints.

        Its evaluations are absorbed at the end, also if the limit is reached.
        """
        limit = None if self.limit is None else int(self.remaining)
        nested = Evaluator(problem or self.problem, () if problem else self.scales, limit, self.on_progress)
        try:
            yield nested
        finally:
            self.absorb(nested, stage)

    def _update_best(self, scored: Scored) -> None:
        """Remember the best point."""
        first = int(scored.order()[0])
        key = (float(scored.violation[first]), float(scored.total[first]))
        if key < self.best_key:
            self.best_key, self.best = key, scored.evaluated.points[first].copy()

    def absorb(self, other: Evaluator, stage: str) -> None:
        """Add the evaluations of another evaluator: same model and variables, any objectives and constraints."""
        for _, batch in other.chunks:
            same = other.problem is self.problem
            evaluated = batch if same else self.problem.assess(batch.points, batch.metrics, batch.usable)
            self.chunks.append((stage, evaluated))
            self._update_best(self.score(evaluated))
        self.evaluations += other.evaluations
        self.refused = {**other.refused, **self.refused}
        self.refused_values = {**other.refused_values, **self.refused_values}

    def score(self, evaluated: Evaluated) -> Scored:
        """Violations and totals of the points; infinite where the model refused the point."""
        violation = self.problem.violation(evaluated.gaps)
        total = self.problem.total(evaluated.objectives, self.scales or None)
        valid = evaluated.usable & ~np.isnan(total)
        return Scored(evaluated, np.where(valid, violation, np.inf), np.where(valid, total, np.inf))

    def _batch(self, points: FloatArray) -> Evaluated:
        """Evaluate all points in one call.

        If the model refuses, without the points that it names, or by halving until the refused points are isolated.
        """
        try:
            return self.problem.evaluate(points)
        except RefusedPointsError as error:
            return self._evaluate_accepted(points, error)
        except InputError as error:
            if len(points) == 1:
                return self._refuse(points, error)
        middle = len(points) // 2
        return _concatenated([self._batch(points[:middle]), self._batch(points[middle:])])

    def _evaluate_accepted(self, points: FloatArray, error: RefusedPointsError) -> Evaluated:
        accepted = ~error.refused
        refused = self._refuse(points[error.refused], error)
        if not accepted.any():
            return refused
        order = np.argsort(np.concatenate([np.flatnonzero(accepted), np.flatnonzero(error.refused)]))
        return select_rows(_concatenated([self._batch(points[accepted]), refused]), order)

    def _refuse(self, points: FloatArray, error: InputError) -> Evaluated:
        previous, count = self.refused.get(error.what), len(points)
        first = Refusal(str(error), count, self.problem.space.named(points[0]))
        self.refused[error.what] = first if previous is None else replace(previous, count=previous.count + count)
        seen = self.refused_values.setdefault(error.what, [set() for _ in self.problem.space.names])
        for values, column in zip(seen, points.T, strict=True):
            values.update(column.tolist())
        objectives = np.full((count, len(self.problem.objectives)), np.nan)
        gaps = np.full((count, len(self.problem.constraints)), np.nan)
        metrics = {name: np.full(count, np.nan) for name in self.problem.model.dimensions}
        return Evaluated(points, objectives, gaps, metrics, np.zeros(count, dtype=np.bool_))

    def all_evaluated(self) -> Evaluated:
        """All points so far, in their order."""
        return _concatenated([evaluated for _, evaluated in self.chunks])

    def point(self, values: FloatArray) -> EvaluatedPoint:
        """One point in full; not counted."""
        return point_of(self.problem, self.problem.evaluate(values[None, :]), 0)

    def refusals(self) -> tuple[Refusal, ...]:
        """All refused points, by error message; of their values those that it may depend on."""
        return tuple(replace(one, values=self._to_blame(what, one)) for what, one in self.refused.items())

    def _to_blame(self, what: str, refusal: Refusal) -> dict[str, float]:
        """Return the values of the variables.

        A variable is omitted if every value that was looked at was refused for the same reason: it has no part in it.
        All are kept if otherwise none would be left.
        """
        every = self.all_evaluated().points.T if self.chunks else np.empty((len(refusal.values), 0))
        columns = zip(refusal.values.items(), every, self.refused_values[what], strict=True)
        part = {name: value for (name, value), column, seen in columns if not {*column.tolist()} <= seen}
        return part or refusal.values

    def trace(self) -> pd.DataFrame:
        """Return one row per evaluation, in order.

        Stage, variables, metrics, objectives, relative gaps of the constraints (above 0: violated), and whether all
        constraints hold.
        """
        if not self.chunks:
            return pd.DataFrame()
        stages = np.repeat(
            np.array([stage for stage, _ in self.chunks], dtype=object), [len(batch.points) for _, batch in self.chunks]
        )
        return trace_frame(self.problem, self.all_evaluated(), stages)


def trace_frame(problem: Problem, evaluated: Evaluated, stages: NDArray[Any]) -> pd.DataFrame:
    """Return the trace of these evaluations."""
    columns: dict[str, Any] = {"evaluation": np.arange(1, len(stages) + 1), "stage": stages}
    columns |= {
        name: _named_values(problem, name, values) for name, values in problem.space.columns(evaluated.points).items()
    }
    columns |= dict(evaluated.metrics)
    columns |= {f"objective: {one.text}": evaluated.objectives[:, at] for at, one in enumerate(problem.objectives)}
    columns |= {f"gap: {one.text}": evaluated.gaps[:, at] for at, one in enumerate(problem.constraints)}
    violation = np.where(evaluated.usable, problem.violation(evaluated.gaps), np.nan)
    columns |= {"violation": violation, "feasible": violation == 0}
    return pd.DataFrame(columns)


def _named_values(problem: Problem, name: str, values: FloatArray) -> Any:
    """Values of a variable, replaced by their names if they have any."""
    words = next(variable.words for variable in problem.space.variables if variable.name == name)
    return [words.get(float(value), value) for value in values] if words else values


def point_of(problem: Problem, evaluated: Evaluated, at: int) -> EvaluatedPoint:
    """One of the evaluated points."""
    return EvaluatedPoint(
        problem.space.named(evaluated.points[at]),
        {name: float(value[at]) for name, value in evaluated.metrics.items()},
        tuple(float(value) for value in evaluated.objectives[at]),
        tuple(float(value) for value in evaluated.gaps[at]),
        float(problem.violation(evaluated.gaps[at : at + 1])[0]),
    )


def _concatenated(batches: Sequence[Evaluated]) -> Evaluated:
    together: Callable[[Sequence[Any]], Any] = np.concatenate
    return Evaluated(
        together([batch.points for batch in batches]),
        together([batch.objectives for batch in batches]),
        together([batch.gaps for batch in batches]),
        {name: together([batch.metrics[name] for batch in batches]) for name in batches[0].metrics},
        together([batch.usable for batch in batches]),
    )


def select_rows(evaluated: Evaluated, order: NDArray[np.int64]) -> Evaluated:
    """Return the evaluated points with these indices, in this order."""
    metrics = {name: value[order] for name, value in evaluated.metrics.items()}
    return Evaluated(
        evaluated.points[order], evaluated.objectives[order], evaluated.gaps[order], metrics, evaluated.usable[order]
    )


def write_trace(frame: pd.DataFrame, path: str | Path) -> None:
    """Write the trace as CSV or Parquet, by the suffix of the file.

    Raises InputError for another suffix, and for Parquet without pyarrow.
    """
    path = Path(path)
    check_trace(path)
    with replacing(path) as file:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(file, index=False)
        else:
            escaped_frame(frame).to_csv(file, index=False)


def check_trace(path: Path) -> None:
    """Raise InputError for an unknown suffix, and for Parquet without pyarrow."""
    if path.suffix.lower() not in TRACES:
        raise InputError("name of a trace", Place("--write"), value=str(path), allowed=f"names in {', '.join(TRACES)}")
    if path.suffix.lower() == ".parquet":
        try:
            import pyarrow  # noqa: F401  # optional dependency
        except ImportError as error:
            raise InputError(
                "pyarrow is not installed", Place("--write"), allowed="pip install pyarrow, or .csv"
            ) from error
