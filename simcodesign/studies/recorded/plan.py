"""Plan of recordings: numbers of ranks, values of parameters, and the arguments of the program."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.fitting.as_workload.names import number
from simcodesign.fitting.measurements import FloatArray

#: Fewest numbers of ranks: of which the largest is only compared with the models.
FEWEST = 4
#: Numbers of ranks taken from a range, in addition to the largest.
FROM_RANGE = 5
_RANGE = re.compile(r"\s*(\d+)\s*-\s*(\d+)\s*")
RANK_FORMS = "9,16,25,36,64 or a range 2-64, whose squares are taken"


@dataclass(frozen=True)
class Plan:
    """K points in m parameters, P first, that are fitted, and one with more ranks that is compared with the models."""

    parameters: tuple[str, ...]
    points: FloatArray  # (K, m)
    held_out: FloatArray  # (m,)
    arguments: tuple[str, ...]

    def arguments_at(self, point: FloatArray) -> list[str]:
        """Return the program's arguments, with the values of the parameters instead of their names in braces."""
        values = {"{" + name + "}": number(float(x)) for name, x in zip(self.parameters, point, strict=True)}
        return [_filled(text, values) for text in self.arguments]


def plan_of(ranks: Sequence[int], vary: Mapping[str, Sequence[float]], arguments: Sequence[str]) -> Plan:
    """Return all combinations of ranks and values, except for the most ranks, which get the largest values.

    Raises InputError for fewer than four numbers of ranks, and for a parameter that no argument contains.
    """
    counts = sorted(set(ranks))
    if len(counts) < FEWEST or counts[0] < 1:
        raise InputError(
            "not numbers of ranks", value=", ".join(map(str, ranks)), allowed=f"{FEWEST} or more of 1 or above"
        )
    for name, values in vary.items():
        if name == "P":
            raise InputError("P is varied by the numbers of ranks", value="P", allowed="-n 9,16,25,36,64")
        if not any("{" + name + "}" in text for text in arguments):
            what = f"no argument of the program contains {{{name}}}, the place of the varied {name}"
            raise InputError(
                what, value=" ".join(arguments), allowed="for example -- --size {N}, with --vary N=100,200"
            )
        if not values or not all(math.isfinite(x) and x > 0 for x in values):
            raise InputError(f"values of {name}", value=list(values), allowed="numbers above 0")
    points = np.array(list(product(counts[:-1], *vary.values())), float)
    held_out = np.array([counts[-1], *(max(values) for values in vary.values())], float)
    return Plan(("P", *vary), points, held_out, tuple(arguments))


def parsed_ranks(text: str) -> list[int]:
    """Return the numbers of ranks of ``9,16,25,36,64``, or five squares and a larger one from the range ``2-64``.

    Squares, because a process grid of powers of two changes its shape with every other one. Sides below 3 are taken
    only if there are no others: their two neighbours in a dimension are one rank. Raises InputError for anything else.
    """
    found = _RANGE.fullmatch(text)
    if found is None:
        try:
            return [int(part) for part in text.split(",")]
        except ValueError:
            raise InputError("not numbers of ranks", value=text, allowed=RANK_FORMS) from None
    low, high = math.isqrt(max(int(found[1]) - 1, 0)) + 1, math.isqrt(int(found[2]))
    first = max(low, 3) if high - max(low, 3) >= FROM_RANGE else low
    if high - first < FROM_RANGE:
        raise InputError("a range of ranks", value=text, allowed=f"one with {FROM_RANGE + 1} squares, such as 2-64")
    # The largest side is far from the others, where the range allows it.
    last = max(first + FROM_RANGE - 1, high // 2)
    sides = np.linspace(first, last, FROM_RANGE).round().astype(int)
    return [*(int(side) ** 2 for side in sides), high**2]


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text
