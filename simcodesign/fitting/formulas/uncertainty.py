"""How well the points determine coefficients: from how the form grows with each of them at the best fit.

The form is taken as linear around the best fit, as in every nonlinear regression (Bates and Watts, Nonlinear Regression
Analysis and Its Applications (1988), chapter 2). A direction that no point determines is a null vector of
the columns: the coefficients in it cannot be distinguished, and have no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from simcodesign.fitting.formulas.variable_projection import RANK_TOLERANCE
from simcodesign.fitting.selection.candidate_fits import Flags
from simcodesign.fitting.selection.term_basis import Array, Index

#: Shares of null vectors below this are rounding.
_SHARE = 1e-6


@dataclass(frozen=True)
class Uncertainty:
    """Uncertainty of Q coefficients at K points: ``columns`` (K, Q), by how much the weighted form grows with each.

    Weighted ``residuals`` (K,); ``free`` (Q,): not held at a bound.
    """

    columns: Array
    residuals: Array
    free: Flags

    @cached_property
    def _sizes(self) -> Array:
        sizes = np.linalg.norm(self.columns, axis=0)
        return np.where(sizes > 0, sizes, 1.0)

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        """Decompose the free columns, scaled to length one.

        Left vectors (K, R), singular values (R,) and right vectors (R, F) up to the rank, and a basis of the null space
        (F - R, F) behind them.
        """
        scaled = (self.columns / self._sizes)[:, self.free]
        left, singular, right = np.linalg.svd(scaled, full_matrices=True)
        rank = int((singular > RANK_TOLERANCE * max(1.0, singular.max(initial=0.0))).sum())
        return left[:, :rank], singular[:rank], right

    @property
    def rank(self) -> int:
        """How many numbers the points determine."""
        return len(self._parts[1])

    @property
    def freedom(self) -> int:
        """Points beyond those."""
        return len(self.residuals) - self.rank

    @property
    def variance(self) -> float:
        """The variance of a weighted residual; nan where no point is left to judge by."""
        return float(self.residuals @ self.residuals) / self.freedom if self.freedom > 0 else np.nan

    @property
    def leverages(self) -> Array:
        """How much each point determines the form's value at itself, (K,)."""
        return np.asarray((self._parts[0] ** 2).sum(1))

    @cached_property
    def _null_space(self) -> Array:
        """The projection on what no point determines, over all coefficients in units of their columns, (Q, Q)."""
        null = self._parts[2][self.rank :]
        whole = np.zeros((len(self.free), len(self.free)))
        places = np.flatnonzero(self.free)
        whole[np.ix_(places, places)] = null.T @ null
        return whole

    def groups(self) -> list[Index]:
        """Return the coefficients that cannot be distinguished, one array for each group.

        A coefficient without any effect at the points is a group of its own.
        """
        linked = np.abs(self._null_space) > _SHARE
        left = {*np.flatnonzero(linked.any(0)).tolist()}
        groups = []
        while left:
            group, new = set(), {min(left)}
            while new:
                group |= new
                new = {*np.flatnonzero(linked[[*new]].any(0)).tolist()} - group
            groups.append(np.array(sorted(group)))
            left -= group
        return groups

    def spread(self, gradient: Array) -> float:
        """Return the standard deviation of a quantity that grows by ``gradient`` (Q,) with each coefficient.

        As a fraction of the deviation of a weighted residual; nan for what the points do not determine.
        """
        scaled = np.where(self.free, gradient / self._sizes, 0.0)
        length = float(np.linalg.norm(scaled))
        if not np.isfinite(length) or float(np.linalg.norm(self._null_space @ scaled)) > _SHARE * length:
            return np.nan
        _, singular, right = self._parts
        return float(np.linalg.norm(right[: self.rank] @ scaled[self.free] / singular))

    def half_widths(self, level: float) -> Array:
        """Half widths of the intervals of the coefficients, by Student's t, (Q,).

        Nan for one that is held or undetermined.
        """
        quantile = student(self.freedom, level)
        spreads = np.array([self.spread(one) for one in np.eye(len(self.free))])
        return np.asarray(np.where(self.free, quantile * np.sqrt(self.variance) * spreads, np.nan))


def student(freedom: int, level: float) -> float:
    """How many standard deviations an interval reaches to each side; nan without a degree of freedom."""
    return float(special.stdtrit(freedom, (1 + level) / 2)) if freedom > 0 else np.nan


def listed(names: Sequence[str]) -> str:
    """Return ``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
