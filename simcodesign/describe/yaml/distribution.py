"""Distributions in YAML: ``exponential``, ``{distribution: erlang, stages: 3}``, or a fraction such as ``5 %``.

A fraction is the coefficient of variation of a lognormal one; ``empirical`` lists its ``values``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simcodesign.describe.keys.forms import Choice, Number, OneOf, Quantity, Text
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Section
from simcodesign.describe.randomness.distribution import MOST_VARIATION, PARAMETERS, Distribution, check_parameter
from simcodesign.describe.yaml.tree import Entry

_NUMBERS = tuple(dict.fromkeys(name for names in PARAMETERS.values() for name in names))
#: Keys of a distribution: its name, the values of an empirical one, and parameters.
DISTRIBUTION_KEYS = (
    Key("distribution", Choice(tuple(PARAMETERS)), required=True),
    Key("values", Items(Number())),
    *(Key(name, Quantity("count")) for name in _NUMBERS),
)
_SECTION = Section(*DISTRIBUTION_KEYS)


class DistributionForm(OneOf):
    """A distribution, as ``distribution_from`` reads it. The reference explains its keys once, for all."""

    def read(self, entry: Entry) -> Distribution:
        return distribution_from(entry)

    def words(self) -> list[str]:
        return ["distribution"]

    def notes(self) -> list[str]:
        return []

    def inner(self) -> Iterator[tuple[str, Key]]:
        yield from ((path, key) for path, key in super().inner() if key not in DISTRIBUTION_KEYS)


DISTRIBUTION = DistributionForm(Text(), _SECTION)
#: Key of a demand whose times vary.
VARIES = Key("varies", DISTRIBUTION, "how its time varies; a distribution", "it does not")


def distribution_from(entry: Entry) -> Distribution:
    """Return the distribution that an entry names. InputError for anything else, with its place."""
    if isinstance(entry.content, str):
        if entry.content[:1].isdigit() or entry.content[:1] in "+-.":
            return Distribution("lognormal", {"variation": coefficient_of_variation(entry)}, place=entry.place)
        return Distribution(entry.text(), place=entry.place)
    return distribution_of(_SECTION.items(entry), entry)


def distribution_of(items: Mapping[str, Entry], entry: Entry) -> Distribution:
    """Return the distribution of the keys of a mapping that are its own; ``entry`` is that mapping."""
    name = items["distribution"].text(PARAMETERS)
    numbers = {key: items[key].quantity("count") for key in _NUMBERS if key in items}
    for key, value in numbers.items():  # here, because each of them has its line
        check_parameter(name, key, value, items[key].place)
    values = tuple(value.number() for value in items["values"].sequence()) if "values" in items else ()
    return Distribution(name, numbers, values, entry.place)


def coefficient_of_variation(entry: Entry) -> float:
    """Return a fraction such as ``3 %``: standard deviation over mean."""
    value = entry.quantity("count")
    if not 0 <= value <= MOST_VARIATION or (value > 1 and "%" not in entry.text()):
        raise entry.error("a coefficient of variation", "0 to 1, or 0 % to 1000 %")
    return value


def varies(items: Mapping[str, Entry]) -> Distribution | None:
    """How the times of a demand vary, if they do."""
    return distribution_from(items["varies"]) if "varies" in items else None
