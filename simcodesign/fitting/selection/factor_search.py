"""Sums of products in many parameters, searched factor by factor instead of product by product.

With 42 factors for each of four parameters there are three million products, and far more sums of them. A model is a
choice of one factor, or of none, for each term and parameter. All factors possible at one place of a model are
compared together: with the other terms projected out, what a factor needs of the points are sums over those with the
same value of its parameter, a few numbers for each value. Which parameters a term depends on changes along the way.

Models grow term by term. To each of the best so far a term is added, begun in every set of parameters with a product of
coarse factors; then the factors of all terms are exchanged, one after another, for the best ones until none is better
(coordinate descent). A sum of terms in one parameter each looks like a product as long as it has only one of them;
begun in all sets of parameters it is found all the same. Exchanges of one factor at a time end in valleys; two moves
leave them:
- the exponents are fitted as real numbers, all together, and the factors nearest to them are taken (``_snapped``);
- each term of the best models is taken out and another begun in its place, in every set of parameters (``_replaced``;
  sequential replacement in the selection of variables: A. J. Miller, "Subset Selection in Regression", 2002, ch. 3).
The search is no proof: a better sum may exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.fitting.selection.candidate_fits import (
    Block,
    Flags,
    Pool,
    constants,
    join,
    orthonormal,
    smallest,
    solve,
)
from simcodesign.fitting.selection.candidates import COEFFICIENT, FACTOR, ROUNDING, Limits
from simcodesign.fitting.selection.factor_tables import FactorTables
from simcodesign.fitting.selection.free_exponents import Powers, fit_free_exponents
from simcodesign.fitting.selection.term_basis import Array, Basis, Index, unfiltered_basis_of

#: Models to which a term is added, and how many of those continue in each round of exchanges.
_BEAM, _ROUNDS = 12, (48, 24, 12, 12, 12)
#: How often, at most, and for how many models exponents are fitted as real numbers, and terms are replaced.
_SNAPS, _SNAPPED = 3, 8
_REPLACEMENTS, _REPLACED = 3, 3
#: Number of models that are handed over; number of them with all exchanges of one factor.
_HANDED_OVER, _VARIED = 48, 3
#: Nats that a change must gain.
_GAIN = 1e-6
#: A column of which less than this fraction is left after projecting out the others contributes nothing of its own.
_SMALLEST = 1e-10


@dataclass(frozen=True)
class Models:
    """N models by their choices (N, T, m), ``constant`` (N,), and description lengths in nats (N,)."""

    choices: Index
    constant: Flags
    nats: Array

    def __len__(self) -> int:
        return len(self.nats)

    def rows(self, index: Index) -> Models:
        """Return these models."""
        return Models(self.choices[index], self.constant[index], self.nats[index])

    def best(self, count: int) -> Models:
        """Return the best ``count`` models, best first; only possible ones."""
        return self.rows(smallest(self.nats[None], count)[0]).possible

    @property
    def possible(self) -> Models:
        """Return the models with a finite description length."""
        return self.rows(np.flatnonzero(np.isfinite(self.nats)))

    @property
    def distinct(self) -> Models:
        """Each model once, whatever the order of its terms."""
        keys = np.zeros(self.choices.shape[:2], dtype=np.int64)
        for axis in range(self.choices.shape[2]):
            keys = keys * 4096 + self.choices[..., axis]
        keys = np.column_stack([np.sort(keys, axis=1), self.constant])
        return self.rows(np.sort(np.unique(keys, axis=0, return_index=True)[1]))

    def without(self, term: int) -> Models:
        """Return the models without this term."""
        return Models(np.delete(self.choices, term, 1), self.constant, self.nats)


def _together(parts: list[Models]) -> Models:
    """All models, with room for as many terms as the longest has."""
    terms = max(part.choices.shape[1] for part in parts)
    return Models(
        np.concatenate([np.pad(p.choices, ((0, 0), (0, terms - p.choices.shape[1]), (0, 0))) for p in parts]),
        np.concatenate([part.constant for part in parts]),
        np.concatenate([part.nats for part in parts]),
    )


@dataclass(frozen=True)
class _Projection:
    """Columns of N models to which others are compared.

    ``vectors`` (N, 1 + q, K) are the residuals of the values, and the columns as unit vectors; ``inverse`` (N, q, q)
    turns coefficients of these into coefficients of the columns; ``along`` (N, q): the values along them; ``rss`` (N,).
    """

    vectors: Array
    inverse: Array
    along: Array
    rss: Array

    def with_one_more(self, products: Array, squares: Array, free: bool) -> Array:
        """Residual sums (N, C) with each of C columns added; infinite where a coefficient is negative and may not be.

        For the columns: their products with the vectors (N, 1 + q, C), and their squares (N, C) or (C,).
        """
        moments, parts = products[:, 0], products[:, 1:]
        left = squares - (parts**2).sum(1)
        usable = left > _SMALLEST * squares
        step = moments / np.where(usable, left, 1.0)
        if not free:
            usable &= moments > 0
            usable &= (self.inverse @ (self.along[:, :, None] - parts * step[:, None, :]) >= 0).all(1)
        return np.where(usable, np.maximum(self.rss[:, None] - moments * step, 0.0), np.inf)


class FactorSearch:
    """The search for one series, a block of one row."""

    def __init__(self, block: Block, tables: FactorTables, limits: Limits) -> None:
        self.tables, self.free = tables, block.free
        self.root, self.scaled = block.root[0], block.scaled[0]
        self.total = float((self.scaled**2).sum())
        self.points = int((self.root > 0).sum())
        self.coefficients = int(limits.coefficients[0])
        self.terms = min(limits.terms, self.coefficients) if len(tables.starts[0]) else 0

    def run(self) -> Models:
        """Return the best models of at least one term, best first; none if there is none of positive coefficients."""
        every = [self._scored(np.zeros((2, 0, self.tables.parameters), dtype=np.int64), np.array([True, False]))]
        for terms in range(1, self.terms + 1):
            made = self._grown(every[-1].best(_BEAM))
            if not len(made):
                break
            every.append(made)
            if self._is_met(made) or (terms > 1 and made.nats[0] > every[-2].nats[0]):
                break
        if len(every) == 1:
            return every[0].rows(np.arange(0))
        best = 1 + int(np.argmin([models.nats[0] for models in every[1:]]))
        every[best] = self._replaced(every[best])
        return self._varied(_together(every[1:]))

    def _grown(self, models: Models) -> Models:
        """Models with one more term, begun in every set of parameters and improved factor by factor."""
        made = self._with_one_more(models)
        return made if made.choices.shape[1] < 2 or self._is_met(made) else self._snapped(made)

    def _replaced(self, models: Models) -> Models:
        """With models in which one term of the best is replaced, as long as that finds better ones."""
        for _ in range(_REPLACEMENTS if models.choices.shape[1] > 1 else 0):
            if self._is_met(models):
                break
            best, before = models.best(_REPLACED), models.nats[0]
            fewer = _together([best.without(term) for term in range(best.choices.shape[1])])
            models = _merged(models, self._snapped(self._with_one_more(fewer.distinct)))
            if models.nats[0] > before - _GAIN:
                break
        return models

    def _with_one_more(self, models: Models) -> Models:
        made = self._begun(models)
        if not len(made):
            return made
        last = made.choices.shape[1] - 1
        return self._settled(self._improved(made, self._columns(made.choices), last))

    def _begun(self, models: Models) -> Models:
        """Each model with one more term: the best of the coarse products in each set of parameters."""
        starts, columns, parameter_sets = self.tables.starts
        base = self._projection(self._columns(models.choices), models.constant)
        weighted = columns * self.root
        rss = base.with_one_more(base.vectors @ weighted.T, (weighted**2).sum(1), self.free)
        made = []
        for number in np.unique(parameter_sets):
            own = np.flatnonzero(parameter_sets == number)
            best = own[rss[:, own].argmin(1)]
            choices = np.concatenate([models.choices, starts[best][:, None]], 1)
            made.append(self._judged(choices, models.constant, rss[np.arange(len(best)), best]))
        return _together(made).possible

    def _snapped(self, models: Models) -> Models:
        """With models of factors near the best real exponents of the best models, as long as that finds better ones."""
        for _ in range(_SNAPS):
            best = models.best(_SNAPPED)
            if not len(best) or self._is_met(models):
                break
            before = models.nats[0]
            block = Block(self._repeated(self.root, len(best)), self._repeated(self.scaled, len(best)), self.free)
            start = Powers(self.tables.slopes(best.choices), best.choices > 0, best.constant)
            fitted = fit_free_exponents(block, self.tables.points, start).powers.exponents
            near = self._scored(self.tables.nearest(fitted, best.choices), best.constant)
            if not len(near):
                break
            models = _merged(models, self._settled(near))
            if models.nats[0] > before - _GAIN:
                break
        return models

    def _settled(self, models: Models) -> Models:
        """Exchange all factors of the models one after another until none is better.

        Best first, the worse are dropped.
        """
        for count in _ROUNDS:
            models = models.distinct.best(count)
            before, columns = models.choices, self._columns(models.choices)
            for term in range(before.shape[1]):
                models = self._improved(models, columns, term)
            if np.array_equal(before, models.choices):
                break
        models = models.distinct
        return self._scored(models.choices, models.constant)

    def _improved(self, models: Models, columns: Array, term: int) -> Models:
        """Exchange the factors of one term of each model, one after another.

        For the factors with the shortest description.

        ``columns``: the columns of the models (N, T, K), which follow.
        """
        base = self._projection(np.delete(columns, term, 1), models.constant)
        choices, nats = models.choices.copy(), models.nats.copy()
        own, rows = choices[:, term], np.arange(len(nats))
        values = self._values(own)
        for axis in range(self.tables.parameters):
            rss = self._exchanges(base, own, values, axis)
            others = FACTOR * ((choices > 0).sum((1, 2)) - (own[:, axis] > 0))
            others = others + COEFFICIENT * (choices.shape[1] + models.constant)
            lengths = self._length(rss) + FACTOR * (np.arange(rss.shape[1]) > 0) + others[:, None]
            best = lengths.argmin(1)
            better = np.flatnonzero(lengths[rows, best] < nats - _GAIN)
            own[better, axis], nats[better] = best[better], lengths[better, best[better]]
            values[axis][better] = self.tables.values(best[better], axis)
        columns[:, term] = np.multiply.reduce(values) * self.root
        return Models(choices, models.constant, nats)

    def _exchanges(self, base: _Projection, term: Index, values: list[Array], axis: int) -> Array:
        """Residual sums (N, C) with each factor of a parameter in a term (N, m), whose factors have these values."""
        own = self._repeated(self.root, len(term))
        for other, value in enumerate(values):
            own = own if other == axis else own * value
        members, table = self.tables.members[axis], self.tables.tables[axis]
        products = ((base.vectors * own[:, None]) @ members) @ table.T
        rss = base.with_one_more(products, ((own * own) @ members) @ (table**2).T, self.free)
        rss[(np.delete(term, axis, 1) == 0).all(1), 0] = np.inf
        return rss

    def _values(self, term: Index) -> list[Array]:
        return [self.tables.values(term[:, axis], axis) for axis in range(self.tables.parameters)]

    def _varied(self, models: Models) -> Models:
        """Return the best models, and those with one factor of the very best exchanged."""
        made = [models]
        for one in (models.best(_VARIED).rows(np.array([place])) for place in range(min(_VARIED, len(models)))):
            columns = self._columns(one.choices)
            for term in np.flatnonzero((one.choices[0] > 0).any(1)):
                base, own = self._projection(np.delete(columns, term, 1), one.constant), one.choices[:, term]
                for axis in range(self.tables.parameters):
                    rss = self._exchanges(base, own, self._values(own), axis)[0]
                    choices = np.repeat(one.choices, len(rss), 0)
                    choices[:, term, axis] = np.arange(len(rss))
                    made.append(self._judged(choices, np.repeat(one.constant, len(rss)), rss))
        best = _together(made).distinct.best(_HANDED_OVER)
        return self._scored(best.choices, best.constant)

    def _projection(self, columns: Array, constant: Flags) -> _Projection:
        """Project out the constant and columns (N, T, K)."""
        units, inverse = orthonormal(np.concatenate([constant[:, None, None] * self.root, columns], 1))
        along = units @ self.scaled
        rest = self.scaled - (along[:, None] @ units)[:, 0]
        return _Projection(np.concatenate([rest[:, None], units], 1), inverse, along, (rest**2).sum(1))

    def _columns(self, choices: Index) -> Array:
        """Weighted columns of the terms, (N, T, K)."""
        flat = self.tables.columns(choices.reshape(-1, choices.shape[2])) * self.root
        return np.asarray(flat.reshape(*choices.shape[:2], len(self.root)))

    def _repeated(self, row: Array, count: int) -> Array:
        return np.broadcast_to(row, (count, len(row)))

    def _scored(self, choices: Index, constant: Flags) -> Models:
        """Return the models with residual sums right to rounding, best first.

        Without models with wrong coefficients.
        """
        made = self._judged(choices, constant, self.residual_sums(choices, constant))
        return made.best(len(made))

    def residual_sums(self, choices: Index, constant: Flags) -> Array:
        """Residual sums of models by least squares, (N,); infinite if a coefficient is negative and may not be."""
        columns = np.concatenate([constant[:, None, None] * self.root, self._columns(choices)], 1)
        solution = solve(columns, self._repeated(self.scaled, len(choices)))
        good = self.free | (solution.coefficients >= 0).all(1)
        return np.where(good, (solution.residuals**2).sum(1), np.inf)

    def _judged(self, choices: Index, constant: Flags, rss: Array) -> Models:
        coefficients = (choices > 0).any(2).sum(1) + constant
        nats = self._length(rss) + FACTOR * (choices > 0).sum((1, 2)) + COEFFICIENT * coefficients
        return Models(choices, constant, np.where(coefficients <= self.coefficients, nats, np.inf))

    def _length(self, rss: Array) -> Array:
        return np.asarray(self.points / 2 * np.log(rss / max(self.total, 1e-300) + ROUNDING**2))

    def _is_met(self, models: Models) -> bool:
        """Whether the best model leaves no more than rounding."""
        if not len(models):
            return False
        rss = self.residual_sums(models.choices[:1], models.constant[:1])
        return bool(rss[0] <= (2 * ROUNDING) ** 2 * self.total)


def _merged(some: Models, more: Models) -> Models:
    """Both, each model once, best first."""
    every = _together([some, more]).distinct
    return every.best(len(every))


def search_factors(block: Block, tables: FactorTables, limits: Limits) -> tuple[Basis, Pool]:
    """Return the best models of one series (a block of one row), and their terms; among these are all factors alone."""
    search = FactorSearch(block, tables, limits)
    models = search.run()
    alone = tables.alone
    flat = models.choices.reshape(-1, tables.parameters)
    present = (flat > 0).any(1)
    distinct, places = np.unique(np.concatenate([alone, flat[present]]), axis=0, return_inverse=True)
    terms = np.full(len(flat), -1, dtype=np.int64)
    terms[present] = places.reshape(-1)[len(alone) :]
    rss = search.residual_sums(models.choices, models.constant)
    pool = Pool(terms.reshape(1, *models.choices.shape[:2]), models.constant[None], rss[None])
    return unfiltered_basis_of(tables.points, tables.shapes_of(distinct)), join([constants(block), pool])
