"""Forms of single values: how each is read, and its description in JSON Schema and in the reference."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.core.errors import CHANGES, InputError, Place
from simcodesign.core.files.input_files import check_confined
from simcodesign.core.units import (
    DIMENSIONS,
    LEAST,
    MOST,
    NOT_NEGATIVE_RANGE,
    POSITIVE_RANGE,
    FloatOrArray,
    has_unit,
    is_positive,
)
from simcodesign.describe.keys.key import Form, Key, Schema
from simcodesign.describe.yaml.tree import MAX_WHOLE, Entry

#: Ranges of constants, as the reference states them.
ABOVE_0, FROM_0, FROM_1 = "above 0", "0 or above", "1 or above"
#: By dimension of a constant: values beyond which a number without a unit is reported, and a unit to write. All
#: constants of bundled machines are a factor of 50 or more inside.
_USUAL = {
    "time": (0.0, 1.0, "us"),
    "per_byte": (0.0, 1e-3, "ns/B"),
    "bandwidth": (1e3, math.inf, "GB/s"),
    "rate": (1e3, math.inf, "GFLOP/s"),
    "frequency": (1e3, math.inf, "GHz"),
}
_ANY_TEXT: Schema = {"type": ["number", "string"]}


class Text(Form):
    """Any text."""

    def read(self, entry: Entry) -> str:
        return entry.text()

    def schemas(self) -> list[Schema]:
        return [_ANY_TEXT]

    def words(self) -> list[str]:
        return ["text"]


class Value(Text):
    """A number, a word, or a quantity, by what else the file states."""

    def words(self) -> list[str]:
        return ["number", "text"]


class Name(Text):
    """Text on one line that is not empty."""

    def read(self, entry: Entry) -> str:
        return entry.name()


class FileName(Text):
    """Name of a file with one of these suffixes."""

    def __init__(self, suffixes: Collection[str]) -> None:
        self.suffixes = suffixes

    def schemas(self) -> list[Schema]:
        return [{"type": "string", "pattern": "|".join(rf"\{suffix}$" for suffix in self.suffixes)}]

    def words(self) -> list[str]:
        return ["name of a file"]


class FileIn(Text):
    """File that is read into the description. ``load``: reads it, by its path and the place that names it."""

    def __init__(self, load: Callable[[Path, Place], Any]) -> None:
        self.load = load

    def read_in(self, entry: Entry, folder: Path) -> Any:
        """Read the file, whose path is relative to the folder."""
        return self.load(check_confined(folder / entry.text(), entry.place), entry.place)


class Choice(Form):
    """One of some words.

    ``choices``: the words, a mapping from the words to the values, or a function that returns either when it is needed.
    """

    def __init__(self, choices: Collection[str] | Callable[[], Collection[str]]) -> None:
        self._choices = choices

    @property
    def choices(self) -> Collection[str]:
        """Return the allowed words."""
        return self._choices() if callable(self._choices) else self._choices

    def has(self, content: object) -> bool:
        """Whether this is one of the words."""
        return isinstance(content, str) and content in self.choices

    def read(self, entry: Entry) -> Any:
        choices = self.choices
        word = entry.text(choices)
        return choices[word] if isinstance(choices, Mapping) else word

    def schemas(self) -> list[Schema]:
        return [{"enum": sorted(self.choices)}]

    def words(self) -> list[str]:
        return [f"`{word}`" for word in sorted(self.choices)]


class Flag(Form):
    """``true`` or ``false``."""

    def read(self, entry: Entry) -> bool:
        return entry.flag()

    def schemas(self) -> list[Schema]:
        return [{"type": "boolean"}]

    def words(self) -> list[str]:
        return ["`true`", "`false`"]


class Number(Form):
    """A number without a unit."""

    def read(self, entry: Entry) -> float:
        return entry.number()

    def schemas(self) -> list[Schema]:
        return [{"type": "number"}]

    def words(self) -> list[str]:
        return ["number"]


class Whole(Form):
    """A whole number of at least ``low`` and at most ``high``."""

    def __init__(self, low: int = 0, high: int | None = None) -> None:
        self.low, self.high = low, high
        self.range = f"{low} or above" if high is None else f"{low} to {high}"

    def read(self, entry: Entry) -> int:
        return entry.whole(self.low, MAX_WHOLE if self.high is None else self.high)

    def schemas(self) -> list[Schema]:
        limits = {"minimum": self.low} | ({} if self.high is None else {"maximum": self.high})
        return [{"type": "integer", **limits}]

    def words(self) -> list[str]:
        return ["whole number"]


class Quantity(Form):
    """A number in a unit of this dimension."""

    def __init__(self, dimension: str) -> None:
        self.dimension = dimension

    def read(self, entry: Entry) -> float:
        return entry.quantity(self.dimension)

    def schemas(self) -> list[Schema]:
        return [_ANY_TEXT]

    def words(self) -> list[str]:
        unit = DIMENSIONS[self.dimension]
        return [f"{self.dimension.replace('_', ' ')} ({unit})" if unit else "number"]

    def notes(self) -> list[str]:
        unit = DIMENSIONS[self.dimension]
        return [f"{self.dimension.replace('_', ' ')}: a number" + (f" in {unit}, or with a unit" if unit else "")]


class Amount(Quantity):
    """A quantity in one of the three ranges."""

    def __init__(self, dimension: str, range: str = FROM_0) -> None:
        super().__init__(dimension)
        self.range = range

    def read(self, entry: Entry) -> float:
        value = entry.quantity(self.dimension)
        check_range(entry.place.path, value, entry.place, self.range, entry.text())
        return value


class Constant(Amount):
    """A constant of a cost model; ``is_long`` for a time that may be hours."""

    def __init__(self, dimension: str, range: str = FROM_0, *, is_long: bool = False) -> None:
        super().__init__(dimension, range)
        self.is_long = is_long

    def read(self, entry: Entry) -> float:
        value = super().read(entry)
        if not self.is_long:
            _warn_of_unit(entry, value, self.dimension)
        return value


class Bandwidth(Quantity):
    """A bandwidth, read as seconds per byte."""

    range = ABOVE_0

    def __init__(self) -> None:
        super().__init__("bandwidth")

    def read(self, entry: Entry) -> float:
        value = entry.quantity("bandwidth")
        if not is_positive(value):
            raise entry.error("out of range", POSITIVE_RANGE)
        _warn_of_unit(entry, value, "bandwidth")
        return 1 / value


def _warn_of_unit(entry: Entry, value: float, dimension: str) -> None:
    """Warn of a changed constant (``--set``) without a unit whose value in the SI unit is unusual; 0 is usual."""
    low, high, unit = _USUAL.get(dimension, (0.0, math.inf, ""))
    if entry.place.file == CHANGES and value and not low <= value < high and not has_unit(entry.text(), dimension):
        warnings.warn(
            f"{entry.place.path}={entry.text()} is {value:g} {DIMENSIONS[dimension]}, because a number without a unit "
            f"is in the SI unit; write the unit, for example '{entry.text()} {unit}'",
            stacklevel=2,
        )


class Bytes(Quantity):
    """A size of at least one byte, or of a power of two."""

    def __init__(self, of_power: str = "") -> None:
        super().__init__("size")
        self.of_power = of_power
        self.range = "a power of two" if of_power else ""

    def read(self, entry: Entry) -> int:
        value = entry.quantity("size")
        is_whole = value >= 1 and value == int(value)
        if self.of_power and (not is_whole or int(value) & (int(value) - 1)):
            raise entry.error(self.of_power, "a power of two")
        if not is_whole:
            raise entry.error("a size", "a whole number of bytes, 1 or more")
        return int(value)


class Expr(Form):
    """An expression."""

    def read(self, entry: Entry) -> Any:
        return entry.expression()

    def schemas(self) -> list[Schema]:
        return [_ANY_TEXT]

    def words(self) -> list[str]:
        return ["expression"]

    def notes(self) -> list[str]:
        return ["an expression"]


class OneOf(Form):
    """One of some forms: the first that fits the content of an entry; of single values, a word before all others."""

    def __init__(self, *forms: Form) -> None:
        self.forms = forms
        self.range = next((form.range for form in forms if form.range), "")

    def read(self, entry: Entry) -> Any:
        same = [form for form in self.forms if isinstance(entry.content, form.content)] or [*self.forms]
        words = (form for form in same[:-1] if isinstance(form, Choice) and form.has(entry.content))
        return next(words, same[-1]).read(entry)

    def schemas(self) -> list[Schema]:
        every = [schema for form in self.forms for schema in form.schemas()]
        return [schema for number, schema in enumerate(every) if schema not in every[:number]]

    def words(self) -> list[str]:
        return [*dict.fromkeys(word for form in self.forms for word in form.words())]

    def notes(self) -> list[str]:
        return [note for form in self.forms for note in form.notes()]

    def inner(self) -> Iterator[tuple[str, Key]]:
        for form in self.forms:
            yield from ((path, key) for path, key in form.inner() if key.form not in self.forms)


class Later(Form):
    """A mapping whose form ``make`` returns when it is needed, because it lists what is registered."""

    content = dict

    def __init__(self, make: Callable[[], Form]) -> None:
        self.make = make

    def read(self, entry: Entry) -> Any:
        return self.make().read(entry)

    def schemas(self) -> list[Schema]:
        return self.make().schemas()

    def words(self) -> list[str]:
        return self.make().words()

    def inner(self) -> Iterator[tuple[str, Key]]:
        return self.make().inner()


def check_range(path: str, value: FloatOrArray, place: Place, range: str, given: str | None = None) -> None:
    """Raise InputError unless the value of the constant at ``path`` is in the range, everywhere.

    ``given``: the value as the user wrote it, for the message.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{path} must be a number or an array of numbers", place, value=value)
    good = (array >= LEAST) & (array <= MOST)
    if range == FROM_1:
        good &= array >= 1
    elif range == FROM_0:
        good |= array == 0
    if not np.all(good):
        allowed = {ABOVE_0: POSITIVE_RANGE, FROM_0: NOT_NEGATIVE_RANGE, FROM_1: "1 or more"}[range]
        what = "out of range" if place.path == path else f"{path} is out of range"
        raise InputError(what, place, value=given or float(array[~good].flat[0]), allowed=allowed)
