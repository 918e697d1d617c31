"""Models of counts: each by as few terms as meet it exactly, otherwise by the best of the normal form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from simcodesign.fitting.fit import fit
from simcodesign.fitting.fits import Fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.normal_form import Model
from simcodesign.studies.recorded.counts import SECONDS
from simcodesign.studies.recorded.plan import Plan

Key = tuple[str, str]
#: SMAPE in percent below which a model meets its points: rounding.
EXACT_PERCENT = 1e-9
#: Terms of a model whose coefficients may be below 0: with more, any few points are met by chance.
_TERMS_OF_DIFFERENCES = 2
#: Share of the least value below which a constant is nothing.
_ROUNDING = 1e-11


def fits_of(plan: Plan, counts: Sequence[Mapping[Key, float]], keys: Sequence[Key]) -> dict[Key, Fit]:
    """Fit each of ``keys`` (region, metric) to its counts at the points of the plan; a missing count is 0.

    Exponents may be below 0, as of surfaces and volumes of a part. Coefficients may be so if two terms meet all
    points, as P - 1 does. Seconds are not taken as exact, and shrink or grow by positive terms.
    """
    values = {key: np.array([one.get(key, 0.0) for one in counts]) for key in keys}
    counted = [key for key in keys if key[1] != SECONDS and values[key].any()]
    found = _fitted(plan, values, counted, terms=_TERMS_OF_DIFFERENCES, negative_coefficients=True, exact=True)
    left = [key for key in counted if found[key].smape > EXACT_PERCENT]
    found |= _fitted(plan, values, left, exact=True)
    found |= _fitted(plan, values, [key for key in keys if key[1] == SECONDS and values[key].any()])
    return {key: found[key] for key in keys if key in found}


def model_of(fit: Fit) -> Model:
    """Return the model of a fit, without a constant that is only rounding."""
    model, values = fit.model, np.abs(fit.values)
    is_rounding = bool(model.terms) and abs(model.constant) <= _ROUNDING * values[values > 0].min()
    return replace(model, constant=0.0) if is_rounding else model


def _fitted(
    plan: Plan,
    values: Mapping[Key, np.ndarray],
    keys: Sequence[Key],
    *,
    terms: int = 3,
    negative_coefficients: bool = False,
    exact: bool = False,
) -> dict[Key, Fit]:
    if not keys:
        return {}
    rows = np.array([values[key] for key in keys])[:, :, None]
    regions, metrics = zip(*keys, strict=True)
    fits = fit(
        Measurements(plan.parameters, plan.points, regions, metrics, rows),
        terms=terms,
        negative_exponents=True,
        negative_coefficients=negative_coefficients,
        exact=exact,
        target=tuple(plan.held_out.tolist()),
    )
    return dict(zip(keys, fits, strict=True))
