"""Points that a model meets within 5 % and 20 %, counted by hand."""

from __future__ import annotations

import math

import numpy as np

import simcodesign as sc
from simcodesign.fitting.batch_predictions import batch_predictions
from simcodesign.fitting.fit import fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.point_errors import PointErrors, point_errors, points_below, together


def test_classes_by_hand() -> None:
    measured = [100.0, 100.0, 100.0, 100.0, -100.0, 100.0]
    fitted = [100.0, 104.9, 95.0, 119.0, -115.0, 120.0]  # 0, 4.9, 5, 19, 15 and 20 %
    errors = point_errors(measured, fitted)
    assert errors == PointErrors(6, 2, 5)
    assert (errors.below_5_percent, errors.below_20_percent) == (2 / 6, 5 / 6)


def test_a_value_of_zero_is_met_or_missed() -> None:
    assert point_errors([0.0, 0.0, 1.0], [0.0, 1e-3, 1.0]) == PointErrors(3, 2, 2)
    assert point_errors([0.0, 1.0], [1e-16, 1.0]) == PointErrors(2, 2, 2)  # rounding
    assert point_errors([0.0, 0.0], [0.0, 0.0]) == PointErrors(2, 2, 2)


def test_no_points() -> None:
    assert math.isnan(point_errors([], []).below_5_percent)
    assert together([]) == PointErrors(0, 0, 0)


def test_points_that_are_missing_are_in_no_class() -> None:
    small, moderate = points_below(np.array([[1.0, np.nan], [1.0, 2.0]]), np.array([[0.1, 0.0], [0.0, 0.3]]))
    assert (small.tolist(), moderate.tolist()) == ([0, 1], [1, 2])


def test_fits_count_their_own_points() -> None:
    """A constant is the model of least relative error of values around 1: the errors follow by hand from its value."""
    points = np.array([[1.0], [2.0], [4.0], [8.0], [16.0]])
    values = np.array([[[1.0], [1.02], [0.98], [1.01], [0.78]], [[2.0], [4.0], [8.0], [16.0], [32.0]]])
    measurements = Measurements(("p",), points, ("noise", "line"), ("time", "time"), values)
    fits = fit(measurements, terms=0)
    for row, one in enumerate(fits):
        constant = one.model.constant
        errors = [abs(constant / value - 1) for value in values[row, :, 0].tolist()]
        expected = PointErrors(5, sum(e < 0.05 for e in errors), sum(e < 0.2 for e in errors))
        assert one.point_errors == expected
        assert batch_predictions(fits).point_errors(np.array([row])) == expected
    assert fits[0].point_errors.small > 0
    assert fits[0].point_errors.moderate < 5


def test_a_formula_counts_its_points() -> None:
    points = np.array([[1.0], [2.0], [4.0]])
    values = np.array([[[10.0], [20.0], [55.0]]])
    measurements = Measurements(("p",), points, ("",), ("time",), values)
    fitted = sc.fit_formula(measurements, "a*p", weighting="absolute")[0]
    slope = (10 + 40 + 220) / 21  # least squares
    errors = [abs(slope * p / y - 1) for p, y in ((1, 10), (2, 20), (4, 55))]
    assert [e < 0.05 for e in errors] == [False, False, False]
    assert fitted.point_errors == PointErrors(3, 0, sum(e < 0.2 for e in errors))


def test_series_add_up() -> None:
    """25 points of one series and 75 of another, as fractions of 100."""
    errors = together([PointErrors(25, 20, 24), PointErrors(75, 68, 72)])
    assert (errors.below_5_percent, errors.below_20_percent) == (0.88, 0.96)
