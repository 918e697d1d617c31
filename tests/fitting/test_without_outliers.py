"""Planted outliers are taken out of measurements before models are fitted."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.fitting.fit import fit
from simcodesign.fitting.measurements import FloatArray, Measurements
from simcodesign.fitting.without_outliers import without_outliers

P = 2.0 ** np.arange(1, 13)


def measured(values: FloatArray) -> Measurements:
    return Measurements(("p",), P[:, None], ("r",), ("time",), values[None])


def noisy(repetitions: int) -> FloatArray:
    """1 ms + 20 us p, with 1 % of noise."""
    draw = np.random.default_rng(2)
    return np.asarray((1e-3 + 2e-5 * P)[:, None] * (1 + 0.01 * draw.standard_normal((len(P), repetitions))))


@pytest.mark.parametrize("factor", [1.5, 3.0, 10.0])
def test_a_point_is_left_out(factor: float) -> None:
    """What is left is what the other points alone give."""
    values = noisy(1)
    values[6] *= factor
    kept, said = without_outliers(measured(values))
    assert np.flatnonzero(np.isnan(kept.values[0, :, 0])).tolist() == [6]
    assert len(said) == 1
    assert said[0].startswith("r time at p=128: measured ")
    alone = Measurements(("p",), np.delete(P, 6)[:, None], ("r",), ("time",), np.delete(values, 6, axis=0)[None])
    at = {"p": 16384.0}
    assert fit(kept)[0].predict(at).value == pytest.approx(fit(alone)[0].predict(at).value, rel=1e-9)


def test_a_repetition_is_left_out_and_its_point_kept() -> None:
    values = noisy(5)
    values[3, 2] *= 3
    kept, said = without_outliers(measured(values))
    assert np.argwhere(np.isnan(kept.values[0])).tolist() == [[3, 2]]
    assert said[0].startswith("repetition 3 of r time at p=16: measured ")


def test_noise_alone_is_kept() -> None:
    kept, said = without_outliers(measured(noisy(5)))
    assert not said
    np.testing.assert_array_equal(kept.values[0], noisy(5))
