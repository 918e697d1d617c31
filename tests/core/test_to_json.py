"""The one serializer: dataclasses by their fields, everything else as strict JSON has it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum, StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcodesign.core.to_json import PlainResult, attributes_of, fields_of, to_json, to_plain


class Kind(StrEnum):
    GOOD = "good"


class Number(Enum):
    TWO = 2


@dataclass(frozen=True)
class Inner:
    name: str
    seconds: float

    @property
    def twice(self) -> float:
        return 2 * self.seconds


@dataclass(frozen=True)
class Outer(PlainResult):
    inner: Inner
    many: tuple[Inner, ...]
    hidden: object = None

    def json_fields(self) -> dict[str, Any]:
        return fields_of(self, without=("hidden",), first="inner.name")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (1.5, 1.5),
        (np.float64(1.5), 1.5),
        (np.int32(3), 3),
        (np.bool_(True), True),
        (np.array([[1.0, math.nan], [math.inf, 2.0]]), [[1.0, None], [None, 2.0]]),
        ((1, [2, (3,)]), [1, [2, [3]]]),
        ({1: math.nan, Kind.GOOD: -math.inf}, {"1": None, "good": None}),
        (Kind.GOOD, "good"),
        (Number.TWO, 2),
        (Path("a") / "b", "a/b"),
        (Fraction(1, 2), "1/2"),
        (Inner("x", math.nan), {"name": "x", "seconds": None}),
    ],
)
def test_values(value: object, expected: object) -> None:
    answer = to_json(value)
    assert answer == expected
    assert type(answer) is type(expected)
    json.dumps(answer, allow_nan=False)


def test_a_dataclass_says_what_it_shows() -> None:
    inner = Inner("a", 1.0)
    outer = Outer(inner, (inner, inner), hidden=object())
    plain = {"name": "a", "seconds": 1.0}
    assert to_plain(outer) == outer.to_dict() == {"inner": plain, "many": [plain, plain], "first": "a"}


def test_plain_numbers_stay_as_they_are() -> None:
    assert math.isnan(to_plain({"x": np.float64(math.nan)})["x"])
    assert to_plain([math.inf]) == [math.inf]


def test_fields_properties_and_other_names() -> None:
    inner = Inner("a", 1.0)
    assert fields_of(inner, "twice") == {"name": "a", "seconds": 1.0, "twice": 2.0}
    assert fields_of(inner, time_s="seconds") == {"name": "a", "time_s": 1.0}
    assert attributes_of(inner, "twice", label="name") == {"twice": 2.0, "label": "a"}
    assert fields_of(Outer(inner, ()), without=("many", "hidden"), seconds="inner.seconds") == {
        "inner": inner,
        "seconds": 1.0,
    }
