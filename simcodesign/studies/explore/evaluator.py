"""Evaluates points of a problem for the solvers: counts them, keeps a trace, remembers the best, and where a model
refuses points, finds out which."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.core.atomic_files import replacing
from simcodesign.core.errors import InputError, Place
from simcodesign.studies.explore.problem import Evaluated, Problem, RefusedPointsError
from simcodesign.studies.explore.space import FloatArray

#: Endings of traces.
TRACES = (".csv", ".parquet")
#: Points that a model is given at once.
BATCH = 4096
#: Called with the stage of a search and the number of points of a batch, when it is evaluated.
OnProgress = Callable[[str, int], None]


@dataclass(frozen=True)
class Refusal:
    """Points at which the model has no answer: its words, how many there were, and the first of them."""

    why: str
    count: int
    values: dict[str, float]


@dataclass(frozen=True)
class Point:
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
    """Points with what solvers compare: the sum of violations first, then the total to be minimised (both (n,))."""

    evaluated: Evaluated
    violation: FloatArray
    total: FloatArray

    def order(self) -> NDArray[np.int64]:
        """Best first: by violation, then by total (feasibility rules of Deb, 2000)."""
        return np.lexsort((self.total, self.violation))


class SpentError(Exception):
    """No more points may be evaluated: a search ends with what it has."""


@dataclass
class Evaluator:
    """What solvers call. ``scales``: by what the objectives are divided where there are several; ``limit``: so many
    points may be evaluated, None for any number; ``on_progress`` is called with every
    batch: the stage of the search and the number of points."""

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

    def __call__(self, points: FloatArray, stage: str) -> Scored:
        """Every point (n, variables). Beyond the limit the first that it allows, and then SpentError."""
        if len(points) > self.left:
            allowed = points[: int(self.left)]
            if len(allowed):
                self(allowed, stage)
            raise SpentError
        parts = [self._batch(points[start : start + BATCH]) for start in range(0, len(points), BATCH)]
        evaluated = parts[0] if len(parts) == 1 else _joined(parts)
        self.chunks.append((stage, evaluated))
        self.evaluations += len(points)
        if self.on_progress is not None:
            self.on_progress(stage, len(points))
        scored = self.score(evaluated)
        self._note(scored)
        return scored

    @property
    def left(self) -> float:
        """How many points may still be evaluated; infinite without a limit."""
        return np.inf if self.limit is None else max(self.limit - self.evaluations, 0)

    @contextmanager
    def beside(self, stage: str, problem: Problem | None = None) -> Iterator[Evaluator]:
        """An evaluator that has its own best point, of the same problem or one with other objectives and constraints;
        absorbed when it is done or at the limit."""
        limit = None if self.limit is None else int(self.left)
        one = Evaluator(problem or self.problem, () if problem else self.scales, limit, self.on_progress)
        try:
            yield one
        finally:
            self.absorb(one, stage)

    def _note(self, scored: Scored) -> None:
        """Remember the best point."""
        first = int(scored.order()[0])
        key = (float(scored.violation[first]), float(scored.total[first]))
        if key < self.best_key:
            self.best_key, self.best = key, scored.evaluated.points[first].copy()

    def absorb(self, other: Evaluator, stage: str) -> None:
        """Take over what was evaluated for other objectives and constraints on the same model and variables."""
        for _, part in other.chunks:
            same = other.problem is self.problem
            evaluated = part if same else self.problem.stated(part.points, part.metrics, part.usable)
            self.chunks.append((stage, evaluated))
            self._note(self.score(evaluated))
        self.evaluations += other.evaluations
        self.refused = {**other.refused, **self.refused}

    def score(self, evaluated: Evaluated) -> Scored:
        """What solvers compare; infinite where the model refused the point."""
        violation = self.problem.violation(evaluated.gaps)
        total = self.problem.total(evaluated.objectives, self.scales or None)
        good = evaluated.usable & ~np.isnan(total)
        return Scored(evaluated, np.where(good, violation, np.inf), np.where(good, total, np.inf))

    def _batch(self, points: FloatArray) -> Evaluated:
        """All points at once; where the model refuses, without those it names, or in halves down to those at fault."""
        try:
            return self.problem.evaluate(points)
        except RefusedPointsError as error:
            return self._without(points, error)
        except InputError as error:
            if len(points) == 1:
                return self._refuse(points, error)
        middle = len(points) // 2
        return _joined([self._batch(points[:middle]), self._batch(points[middle:])])

    def _without(self, points: FloatArray, error: RefusedPointsError) -> Evaluated:
        good = ~error.refused
        refused = self._refuse(points[error.refused], error)
        if not good.any():
            return refused
        order = np.argsort(np.concatenate([np.flatnonzero(good), np.flatnonzero(error.refused)]))
        return taken(_joined([self._batch(points[good]), refused]), order)

    def _refuse(self, points: FloatArray, error: InputError) -> Evaluated:
        known, count = self.refused.get(error.what), len(points)
        first = Refusal(str(error), count, self.problem.space.named(points[0]))
        self.refused[error.what] = first if known is None else replace(known, count=known.count + count)
        nothing = np.full((count, len(self.problem.objectives)), np.nan)
        gaps = np.full((count, len(self.problem.constraints)), np.nan)
        metrics = {name: np.full(count, np.nan) for name in self.problem.model.dimensions}
        return Evaluated(points, nothing, gaps, metrics, np.zeros(count, dtype=np.bool_))

    def all_evaluated(self) -> Evaluated:
        """All points so far, in their order."""
        return _joined([evaluated for _, evaluated in self.chunks])

    def point(self, values: FloatArray) -> Point:
        """One point in full; not counted."""
        return point_of(self.problem, self.problem.evaluate(values[None, :]), 0)

    def refusals(self) -> tuple[Refusal, ...]:
        """Where the model had no answer."""
        return tuple(self.refused.values())

    def trace(self) -> pd.DataFrame:
        """One row per evaluation, in their order: stage, variables, metrics, objectives, relative gaps of the
        constraints (above 0: violated), and whether all constraints hold."""
        if not self.chunks:
            return pd.DataFrame()
        stages = np.repeat(
            np.array([stage for stage, _ in self.chunks], dtype=object), [len(one.points) for _, one in self.chunks]
        )
        return trace_frame(self.problem, self.all_evaluated(), stages)


def trace_frame(problem: Problem, every: Evaluated, stages: NDArray[Any]) -> pd.DataFrame:
    """The trace of these evaluations."""
    columns: dict[str, Any] = {"evaluation": np.arange(1, len(stages) + 1), "stage": stages}
    columns |= {name: _worded(problem, name, values) for name, values in problem.space.columns(every.points).items()}
    columns |= dict(every.metrics)
    columns |= {f"objective: {one.text}": every.objectives[:, at] for at, one in enumerate(problem.objectives)}
    columns |= {f"gap: {one.text}": every.gaps[:, at] for at, one in enumerate(problem.constraints)}
    violation = np.where(every.usable, problem.violation(every.gaps), np.nan)
    columns |= {"violation": violation, "feasible": violation == 0}
    return pd.DataFrame(columns)


def _worded(problem: Problem, name: str, values: FloatArray) -> Any:
    """Values of a variable, by their names where they have any."""
    words = next(one.words for one in problem.space.variables if one.name == name)
    return [words.get(float(value), value) for value in values] if words else values


def point_of(problem: Problem, evaluated: Evaluated, at: int) -> Point:
    """One of the evaluated points."""
    return Point(
        problem.space.named(evaluated.points[at]),
        {name: float(value[at]) for name, value in evaluated.metrics.items()},
        tuple(float(value) for value in evaluated.objectives[at]),
        tuple(float(value) for value in evaluated.gaps[at]),
        float(problem.violation(evaluated.gaps[at : at + 1])[0]),
    )


def _joined(parts: Sequence[Evaluated]) -> Evaluated:
    together: Callable[[Sequence[Any]], Any] = np.concatenate
    return Evaluated(
        together([part.points for part in parts]),
        together([part.objectives for part in parts]),
        together([part.gaps for part in parts]),
        {name: together([part.metrics[name] for part in parts]) for name in parts[0].metrics},
        together([part.usable for part in parts]),
    )


def taken(every: Evaluated, order: NDArray[np.int64]) -> Evaluated:
    """The same points in another order, or some of them."""
    metrics = {name: value[order] for name, value in every.metrics.items()}
    return Evaluated(every.points[order], every.objectives[order], every.gaps[order], metrics, every.usable[order])


def write_trace(frame: pd.DataFrame, path: str | Path) -> None:
    """The trace as CSV or Parquet, by the ending of the file; Parquet needs pyarrow. InputError where it cannot be."""
    path = Path(path)
    check_trace(path)
    with replacing(path) as file:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(file, index=False)
        else:
            frame.to_csv(file, index=False)


def check_trace(path: Path) -> None:
    """InputError for an ending that is not known, and for Parquet without pyarrow."""
    if path.suffix.lower() not in TRACES:
        raise InputError("name of a trace", Place("--trace"), value=str(path), allowed=f"names in {', '.join(TRACES)}")
    if path.suffix.lower() == ".parquet":
        try:
            import pyarrow  # noqa: F401  # optional dependency
        except ImportError as error:
            raise InputError(
                "pyarrow is not installed", Place("--trace"), allowed="pip install pyarrow, or .csv"
            ) from error
