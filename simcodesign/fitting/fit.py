"""Fitting: from measurements to one model per region and metric, with its rivals, errors and warnings.

``fit`` ranks models (``selection.model_ranking``) block by block of series; a ``Fit`` is made when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from simcodesign.core.errors import InputError, nearest
from simcodesign.fitting.batch_predictions import default_target
from simcodesign.fitting.diagnostics import Outlier
from simcodesign.fitting.fits import Fit, Fits
from simcodesign.fitting.measurements import Measurements, as_point
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable, as_measurements
from simcodesign.fitting.selection.candidates import Limits, coefficient_limit
from simcodesign.fitting.selection.exponent_sets import ExponentSet, exponent_set
from simcodesign.fitting.selection.factor_search import search_factors
from simcodesign.fitting.selection.factor_tables import factor_tables
from simcodesign.fitting.selection.model_ranking import Ranked, rank
from simcodesign.fitting.selection.term_basis import Choice, axis_choices, basis_of, is_listed, product_of
from simcodesign.fitting.weights import block_of

__all__ = ["Fit", "Fits", "Outlier", "fit"]

#: Numbers of a block of series that are in memory together.
_NUMBERS_IN_MEMORY = 500_000
_MAX_TERMS = 8
#: Sizes of values whose squares, and the squares of 1e12 times smaller ones, are floats of full precision.
_SIZES = (1e-140, 1e140)
#: The name of a set, one's own, or pairs of power and logarithm.
Exponents = str | ExponentSet | Sequence[tuple[Any, Any]]


class FitKeywords(TypedDict, total=False):
    """The keywords of ``fit`` that say what is fitted, which others pass on."""

    exponents: Exponents
    terms: int
    collectives: Sequence[tuple[str, str]]
    negative_exponents: bool
    negative_coefficients: bool
    refine: bool
    weighting: str
    exact: bool
    target: Mapping[str, float] | Sequence[float] | None


def fit(
    measurements: Measurements | BenchmarkTable | str | Path,
    *,
    exponents: Exponents = "extrap",
    terms: int = 3,
    collectives: Sequence[tuple[str, str]] = (),
    negative_exponents: bool = False,
    negative_coefficients: bool = False,
    refine: bool = True,
    weighting: str = "relative",
    exact: bool = False,
    target: Mapping[str, float] | Sequence[float] | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> Fits:
    """Fit each series of ``measurements`` with a model of the performance-model normal form.

    ``measurements``: the path of a file, or what ``read_table`` returns.
    ``exponents``: ``extrap``, ``paper`` or own pairs. ``terms``: maximum number of terms in addition to the constant.
    ``collectives``: operations that may be factors, with the parameter of processes, e.g. ``("Alltoall", "p")``.
    ``negative_exponents``, ``negative_coefficients``: whether these may be below 0. ``refine``: exponents between those
    of the set where the data ask for them. ``weighting``: see ``weights``.
    ``exact``: the values have no noise, as counts have none (repeated values that are all equal say so by themselves).
    ``target``: where rivals are compared (default: four times the largest value of each parameter that varies).
    ``on_progress``: called with the number of series that were finished.

    Raises InputError for unknown names, a bad target, a number of terms outside 0 to 8, and series whose largest value
    is not of a size from 1e-140 to 1e140 (or 0): their squares have no room in a float.

    >>> import simcodesign as sc
    >>> from pathlib import Path
    >>> file = Path("runs.csv")
    >>> _ = file.write_text("p,value\\n2,6\\n4,12\\n8,24\\n16,48\\n32,96\\n")
    >>> (one,) = sc.fit(file)
    >>> round(float(one.predict({"p": 64}).value))
    192
    """
    if not isinstance(terms, int) or not 0 <= terms <= _MAX_TERMS:
        raise InputError("the number of terms of a model", value=terms, allowed=f"0 to {_MAX_TERMS}")
    measurements = as_measurements(measurements)
    chosen = exponent_set(exponents).with_negative() if negative_exponents else exponent_set(exponents)
    at = default_target(measurements) if target is None else as_point(measurements.parameters, target)
    choices = _choices(measurements.parameters, chosen, collectives)
    check_sizes(measurements)
    for point in measurements.points:
        as_point(measurements.parameters, point)
    options = (terms, weighting, negative_coefficients, refine, negative_exponents, exact)
    blocks = tuple(_watched(_ranked(measurements, choices, *options), on_progress))
    again = partial(
        fit,
        exponents=exponents,
        terms=terms,
        collectives=tuple(collectives),
        negative_exponents=negative_exponents,
        negative_coefficients=negative_coefficients,
        refine=refine,
        weighting=weighting,
        exact=exact,
        target=tuple(at.tolist()),
    )
    return Fits(measurements, weighting, negative_coefficients, at, blocks, terms, exact, again, negative_exponents)


def _watched(
    blocks: Iterator[tuple[int, Ranked]], on_progress: Callable[[int], object] | None
) -> Iterator[tuple[int, Ranked]]:
    """Yield the blocks of series, reporting each when it is finished."""
    for start, ranked in blocks:
        if on_progress:
            on_progress(len(ranked.scores))
        yield start, ranked


def check_sizes(measurements: Measurements) -> None:
    """InputError for a series whose largest value is so large or small that squares have no room in a float."""
    low, high = _SIZES
    largest = np.nanmax(np.abs(measurements.means), axis=1)
    wrong = (largest > high) | (largest > 0) & (largest < low)
    if wrong.any():
        row = int(wrong.argmax())
        point = int(np.nanargmax(np.abs(measurements.means[row])))
        allowed = f"0, or a size from {low:g} to {high:g}: choose another unit"
        what = "the largest value of a series cannot be fitted"
        raise InputError(
            what, measurements.place(row, point), value=float(measurements.means[row, point]), allowed=allowed
        )


def _choices(
    parameters: tuple[str, ...], exponents: ExponentSet, collectives: Sequence[tuple[str, str]]
) -> list[list[Choice]]:
    for _, name in collectives:
        if name not in parameters:
            allowed = nearest(name, parameters)
            raise InputError("a collective operation of an unknown parameter", value=name, allowed=allowed)
    return [axis_choices(exponents, [name for name, of in collectives if of == parameter]) for parameter in parameters]


def _ranked(
    measurements: Measurements,
    choices: list[list[Choice]],
    terms: int,
    weighting: str,
    free: bool,
    refined: bool,
    negative: bool,
    exact: bool,
) -> Iterator[tuple[int, Ranked]]:
    points = np.asarray(measurements.points, dtype=np.float64)
    basis = basis_of(points, product_of(choices)) if is_listed([len(choice) for choice in choices]) else None
    tables = factor_tables(points, choices) if basis is None else None
    size = 1 if basis is None else max(1, min(256, _NUMBERS_IN_MEMORY // max(len(basis.columns), len(points), 1)))
    for start in range(0, len(measurements.regions), size):
        rows = slice(start, start + size)
        means, counts = measurements.means[rows], measurements.counts[rows]
        block = block_of(means, counts, weighting, free, measurements.exact[rows] | exact)
        limits = Limits(terms, coefficient_limit((block.root > 0).sum(1)))
        if tables is None:
            assert basis is not None
            yield start, rank(block, basis, limits, refined, negative)
        else:
            own, pool = search_factors(block, tables, limits)
            yield start, rank(block, own, limits, refined, negative, pool)
