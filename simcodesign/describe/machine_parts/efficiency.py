"""Efficiency of kernels by their shapes: the fraction of its rate that an accelerator reaches, a formula or a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import ABOVE_0, Amount, Constant, Expr
from simcodesign.describe.keys.key import Key, Schema
from simcodesign.describe.keys.section import Items, Section
from simcodesign.describe.yaml.tree import Entry


@dataclass(frozen=True)
class Efficiency:
    """A ``formula`` of the ``flops``, ``bytes`` and amounts of a kernel's shape.

    It is the efficiency itself, or, with ``points``, what these are over: pairs (value of the formula, efficiency),
    increasing. Between two points the efficiency is linear in the logarithm of the value; beyond the ends it is the
    efficiency at the end.
    """

    formula: Expression
    points: tuple[tuple[float, float], ...] = ()

    def at(self, names: Mapping[str, FloatOrArray], key: str, place: Place) -> FloatOrArray:
        """Return the efficiency, stated at ``key``, of the kernel at ``place`` with these amounts.

        InputError for a name that the kernel does not have.
        """
        unknown = sorted(self.formula.names - names.keys())
        if unknown:
            what = f"{key} uses {unknown[0]}, which this kernel does not have"
            raise InputError(what, place, allowed=nearest(unknown[0], names))
        value = self.formula.evaluate(names)
        if not self.points:
            return value
        values, efficiencies = np.array(self.points).T
        with np.errstate(divide="ignore", invalid="ignore"):
            found: FloatOrArray = np.interp(np.log(value), np.log(values), efficiencies)
        return found


class _Pair(Items):
    """A value and the efficiency there."""

    def read(self, entry: Entry) -> tuple[float, float]:
        pair: tuple[float, ...] = super().read(entry)
        if len(pair) != 2:
            raise InputError("a point of the efficiency", entry.place, value=len(pair), allowed="[value, efficiency]")
        return pair[0], pair[1]


class _Points(Items):
    """Pairs with increasing values."""

    def read(self, entry: Entry) -> tuple[tuple[float, float], ...]:
        points: tuple[tuple[float, float], ...] = super().read(entry)
        values = [value for value, _ in points]
        if len(points) < 2 or any(after <= before for before, after in pairwise(values)):
            raise InputError("points of the efficiency", entry.place, value=values, allowed="two or more, increasing")
        return points


_NUMBER = Amount("count", ABOVE_0)
_BY_SHAPE = Section(
    Key("formula", Expr(), "over `flops`, `bytes` and amounts of a shape: the efficiency, or what `points` are over"),
    Key("points", _Points(_Pair(_NUMBER, "one number"), "[value of the formula, efficiency]"), "a table"),
)


class EfficiencyForm(Constant):
    """A number, or a mapping with a formula, perhaps with points."""

    def __init__(self) -> None:
        super().__init__("count", ABOVE_0)

    def read(self, entry: Entry) -> Any:
        if not isinstance(entry.content, dict):
            return super().read(entry)
        values = _BY_SHAPE.read(entry)
        if "formula" not in values:
            raise InputError("the efficiency has no formula", entry.place, allowed="formula, perhaps with points")
        return Efficiency(**values)

    def schemas(self) -> list[Schema]:
        return [*super().schemas(), *_BY_SHAPE.schemas()]

    def words(self) -> list[str]:
        return [*super().words(), *_BY_SHAPE.words()]

    def inner(self) -> Iterator[tuple[str, Key]]:
        yield from _BY_SHAPE.inner()
