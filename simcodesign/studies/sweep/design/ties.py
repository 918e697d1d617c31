"""What follows the axes of a sweep: ``nodes=P``, ``network.startup=2us*sqrt(P)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import parse
from simcodesign.core.units import DIMENSIONS
from simcodesign.studies.sweep.design.grid import CHANGE, PARAMETER, SEED, Design, Lookup, SweepAxis, Tie
from simcodesign.studies.sweep.design.ranges import MOST_VALUES

FORMS = "NAME=EXPRESSION of axes and parameters, e.g. nodes=P, 'n=1e6/sqrt(P)'"


def tied(design: Design, texts: Sequence[str], lookup: Lookup, fixed: Mapping[str, float]) -> Design:
    """The design with what the texts tie to its axes, in SI units; ``fixed``: values of further names.

    InputError for what is no tie, names that are unknown, tied or varied twice, and values that cannot be set.
    """
    return replace(design, ties=tuple(_tie(text, design, lookup, fixed) for text in texts))


def _tie(text: str, design: Design, lookup: Lookup, fixed: Mapping[str, float]) -> Tie:
    place = Place("--tie", None, text)
    name, sign, formula = (part.strip() for part in text.partition("="))
    if not (name and sign and formula):
        raise InputError("not a tie", place, value=text, allowed=FORMS)
    known = lookup(name)
    if known.kind == SEED or known.choices:
        raise InputError("cannot be tied", place, value=name, allowed="parameters, constants and keys that are numbers")
    expression = parse(formula, place, with_units=True)
    numeric = {axis.name: at for at, axis in enumerate(design.axes) if axis.numeric}
    if unknown := sorted(expression.names - numeric.keys() - fixed.keys()):
        names = {**numeric, **fixed}
        raise InputError("no number of the sweep", place, value=unknown[0], allowed=nearest(unknown[0], names))
    of = tuple(sorted(numeric[axis] for axis in expression.names & numeric.keys()))
    columns = [np.array(design.axes[at].values, dtype=np.float64) for at in of]
    if not design.zipped:
        if np.prod([len(column) for column in columns], dtype=float) > MOST_VALUES:
            raise InputError("follows too many values", place, value=name, allowed=f"up to {MOST_VALUES}")
        columns = [column.ravel() for column in np.meshgrid(*columns, indexing="ij")]
    values = expression.evaluate(
        {**fixed, **{design.axes[at].name: column for at, column in zip(of, columns, strict=True)}}
    )
    values = np.broadcast_to(np.asarray(values, dtype=np.float64), columns[0].shape if columns else (1,))
    least = 0.0 if known.inverse else -np.inf
    wrong = ~(np.isfinite(values) & (values > least))
    if known.whole:
        wrong |= values != np.rint(values)
    if wrong.any():
        allowed = "whole numbers" if known.whole else "numbers above 0" if known.inverse else "finite numbers"
        raise InputError(f"{name} = {formula}", place, value=float(values[wrong][0]), allowed=allowed)
    unit = DIMENSIONS.get(known.dimension, "") if known.kind == PARAMETER else ""
    given = [int(value) if known.kind == CHANGE and value.is_integer() else value for value in values.tolist()]
    return Tie(SweepAxis(name, tuple(given), unit, False, known), of)
