"""Fitting block by block: the same models whoever fits them, several files as one, and all series at a glance."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, SimcodesignError
from simcodesign.fitting import parallel_fit
from simcodesign.fitting.batch_predictions import batch_predictions, default_target, rows_of
from simcodesign.fitting.fit import Fits, fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.parallel_fit import BLOCK, FEWEST, block_size, fitted, joined
from simcodesign.fitting.readers.merge import merge

P = np.array([4.0, 8.0, 16.0, 32.0, 64.0])


def made_up(series: int, repetitions: int = 1) -> Measurements:
    """Noisy c (5 + p^e), three exponents in turn."""
    rng = np.random.default_rng(7)
    exponents = np.array([0.5, 1.0, 2.0])[np.arange(series) % 3]
    values = rng.uniform(1, 10, (series, 1)) * (5 + P ** exponents[:, None])
    noisy = values[:, :, None] * (1 + 0.02 * rng.standard_normal((series, len(P), repetitions)))
    names = tuple(f"r{number}" for number in range(series))
    return Measurements(("p",), P[:, None], names, ("time",) * series, noisy)


def assert_equal_bits(one: Sequence[Fits], other: Sequence[Fits]) -> None:
    """What is known of all series, however it is cut into blocks."""
    for name in ("scores", "constant", "free", "best.exponents", "best.logs", "best.collectives"):
        assert whole(one, name) == whole(other, name)


def whole(parts: Sequence[Fits], name: str) -> bytes:
    return b"".join(attrgetter(name)(ranked).tobytes() for fits in parts for _, ranked in fits.blocks)


# --- Processes -----------------------------------------------------------------------------------------------


def itself(fits: Fits) -> Fits:
    return fits


def all_of_it(fits: Fits) -> tuple[int, str | None, Fits]:
    return os.getpid(), os.environ.get("OPENBLAS_NUM_THREADS"), fits


@pytest.mark.thorough
def test_the_models_are_the_same_whoever_fits_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also: blocks come in order, processes use one thread each, and the environment is as before."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    measurements = made_up(3 * BLOCK + 50)
    recorded: list[int] = []
    values = list(fitted(measurements, all_of_it, jobs=2, min_saving_s=0.0, on_progress=recorded.append))
    parts = [fits for _, _, fits in values]
    assert [region for fits in parts for region in fits.measurements.regions] == list(measurements.regions)
    assert sum(recorded) == 3 * BLOCK + 50
    home, *others = [process for process, _, _ in values]
    assert home == os.getpid() not in others
    assert [threads for _, threads, _ in values] == ["7", "1", "1", "1"]
    assert os.environ["OPENBLAS_NUM_THREADS"] == "7"
    assert_equal_bits(parts, [fit(measurements)])
    assert_equal_bits(parts, [joined(measurements, list(fitted(measurements, itself)))])


def test_all_fits_together() -> None:
    measurements = made_up(BLOCK + 7)
    together, expected = joined(measurements, list(fitted(measurements, itself))), fit(measurements)
    assert len(together) == BLOCK + 7
    for row in (0, BLOCK - 1, BLOCK, BLOCK + 6):
        assert together[row] == expected[row]


def test_little_work_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_fit, "_pooled", None)  # calling it would fail
    blocks = fitted(made_up(3 * BLOCK), len, jobs=8, min_saving_s=1e9)
    assert list(blocks) == [BLOCK, BLOCK, BLOCK]
    assert list(fitted(made_up(BLOCK + 1), len, jobs=8, min_saving_s=0.0)) == [BLOCK, 1]  # one block is left


def died(home: int, fits: Fits) -> None:
    if os.getpid() != home:
        os._exit(3)


def failed(home: int, fits: Fits) -> None:
    if os.getpid() != home:
        raise InputError("something in another process", value=5)


@pytest.mark.thorough
def test_a_process_that_dies_is_said() -> None:
    with pytest.raises(SimcodesignError, match="ended before it was done"):
        list(fitted(made_up(3 * BLOCK), partial(died, os.getpid()), jobs=2, min_saving_s=0.0))
    assert multiprocessing.active_children() == []


@pytest.mark.thorough
def test_an_error_in_a_process_arrives() -> None:
    with pytest.raises(InputError, match="something in another process"):
        list(fitted(made_up(3 * BLOCK), partial(failed, os.getpid()), jobs=2, min_saving_s=0.0))
    assert multiprocessing.active_children() == []


@pytest.mark.thorough
def test_no_process_is_left_when_nobody_wants_the_rest() -> None:
    fits = fitted(made_up(6 * BLOCK), all_of_it, jobs=2, min_saving_s=0.0)
    next(fits), next(fits)
    fits.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("parameters", "options", "size"),
    [
        (1, {}, BLOCK),
        (2, {"exponents": "paper"}, parallel_fit.FEW),
        (4, {}, FEWEST),
        (2, {"exponents": [(1, 0)], "negative_exponents": True}, BLOCK),
    ],
)
def test_blocks_are_smaller_where_a_series_takes_longer(parameters: int, options: dict[str, Any], size: int) -> None:
    names = ("p", "n", "k", "q")[:parameters]
    measurements = Measurements(names, np.full((1, parameters), 2.0), ("r",), ("t",), np.ones((1, 1, 1)))
    assert block_size(measurements, options) == size


# --- BatchPredictions ------------------------------------------------------------------------------------------------


def test_the_overview_says_what_the_fits_say() -> None:
    values = made_up(9, 2).values.copy()
    values[2, 1] = np.nan
    values[3] = 4.5
    values[4] = 0.0
    base = made_up(9, 2)
    fits = fit(Measurements(base.parameters, base.points, base.regions, base.metrics, values))
    result = batch_predictions(fits)
    assert fits.target.tolist() == default_target(fits.measurements).tolist() == [256.0]
    for row, one in enumerate(fits):
        assert result.prediction[row] == pytest.approx(float(one.model.evaluate(fits.target)), rel=1e-9, abs=1e-12)
        assert result.smape[row] == pytest.approx(one.smape, rel=1e-6, abs=1e-9)
        assert (result.terms[row], result.rivals[row]) == (len(one.model.terms), len(one.rivals))


@pytest.mark.thorough
def test_one_series_alone_is_the_same_fit() -> None:
    fits = fit(made_up(5))
    for row, one in enumerate(fits):
        alone = fits.alone(row)
        assert len(alone) == 1
        assert alone[0] == one
        assert alone[0].predict([300.0]) == one.predict([300.0])


# --- Several files -------------------------------------------------------------------------------------------


def measured(points: dict[float, list[float]], *names: str) -> Measurements:
    """The same values for all regions."""
    values = np.array([[*points.values()]] * len(names))
    at = np.array([*points], dtype=float)[:, None]
    return Measurements(("p",), at, names, ("time",) * len(names), values)


def test_points_are_united_and_the_same_point_again_is_a_repetition() -> None:
    merged = merge([measured({4: [1.0, 2.0], 8: [3.0, 4.0]}, "a"), measured({8: [5.0], 2: [6.0]}, "a")], ["x", "y"])
    assert merged.points.tolist() == [[4.0], [8.0], [2.0]]
    assert merged.counts.tolist() == [[2, 3, 1]]
    assert merged.means.tolist() == [[1.5, 4.0, 6.0]]


def test_one_file_is_as_it_was() -> None:
    one = made_up(3)
    assert merge([one], ["x"]) is one


def test_parameters_may_stand_in_another_order() -> None:
    parts = [
        Measurements(("p", "n"), np.array([[2.0, 10.0]]), ("a",), ("t",), np.ones((1, 1, 1))),
        Measurements(("n", "p"), np.array([[20.0, 2.0]]), ("a",), ("t",), np.full((1, 1, 1), 3.0)),
    ]
    merged = merge(parts, ["x", "y"])
    assert (merged.parameters, merged.points.tolist()) == (("p", "n"), [[2.0, 10.0], [2.0, 20.0]])


def test_other_parameters_are_refused() -> None:
    other = Measurements(("q",), np.array([[2.0]]), ("a",), ("time",), np.ones((1, 1, 1)))
    with pytest.raises(InputError, match=r"y\.csv: files of other parameters .* got 'q' \(allowed: p, as in x\.csv"):
        merge([measured({4: [1.0]}, "a"), other], ["x.csv", "y.csv"])


def test_a_series_that_lacks_a_point_is_refused_unless_it_may() -> None:
    parts = [measured({4: [1.0]}, "a", "b"), measured({8: [1.0]}, "a")]
    with pytest.raises(InputError, match=r"region 'b', metric 'time': a series lacks a point of y: .* at p=8"):
        merge(parts, ["x", "y"])
    assert merge(parts, ["x", "y"], partial=True).counts.tolist() == [[1, 1], [1, 0]]


@given(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=4, max_size=24), st.integers(1, 4))
def test_a_table_cut_into_files_is_the_table(places: list[int], files: int) -> None:
    """Each value goes to some file; together they are there as often as before."""
    rng = np.random.default_rng(len(places))
    values = rng.uniform(1, 2, len(places))
    parts = []
    for file in range(files):
        chosen = [k for k in range(len(places)) if k % files == file]
        points: dict[float, list[float]] = {}
        for k in chosen:
            points.setdefault(float(2 ** places[k]), []).append(float(values[k]))
        if points:
            longest = max(map(len, points.values()))
            padded = {x: [*some, *[np.nan] * (longest - len(some))] for x, some in points.items()}
            parts.append(measured(padded, "a"))
    merged = merge(parts, [f"file {number}" for number in range(len(parts))])
    for point, result in zip(merged.points[:, 0], merged.values[0], strict=True):
        expected = sorted(values[k] for k in range(len(places)) if 2.0 ** places[k] == point)
        assert sorted(result[np.isfinite(result)]) == expected


def test_some_rows() -> None:
    part = rows_of(made_up(5, 2), slice(1, 3))
    assert (part.regions, part.values.shape) == (("r1", "r2"), (2, 5, 2))
