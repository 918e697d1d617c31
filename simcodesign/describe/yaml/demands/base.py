"""Registry of the readers of demands, and the keys that several of them have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.registry import Registry
from simcodesign.describe.demands.base import ENTRY_POINTS, Demand
from simcodesign.describe.keys.forms import Expr, OneOf, Text
from simcodesign.describe.keys.key import Form, Key
from simcodesign.describe.keys.section import Items, Section
from simcodesign.describe.yaml.tree import Entry

WHEN = Key("when", Expr(), "a condition for ranks", "all")
GROUP = Key("group", Text(), "the communicator", "all ranks")


@dataclass(frozen=True)
class DemandReader:
    """Reader of one kind of demand: its keys, and the function that builds it from its key and the value of the key.

    ``about``: what the demand is.
    """

    about: str
    keys: Form
    read: Callable[[str, Entry], Demand]


#: Readers by key.
READERS: Registry[str, DemandReader] = Registry("demand", __name__, ENTRY_POINTS)
Build = Callable[[str, Entry, dict[str, Any]], Demand]


def demand(name: str, about: str, *keys: Key) -> Callable[[Build], Build]:
    """Register a demand with these keys.

    The function that is decorated builds it from its name, its entry and the values of its keys, among them ``when``.
    """
    section = Section(*keys)

    def decorate(build: Build) -> Build:
        def read(name: str, entry: Entry) -> Demand:
            return build(name, entry, {"when": None} | section.read(entry))

        READERS.add(name, DemandReader(about, section, read))
        return build

    return decorate


def times(about: str) -> Key:
    """Declare how often a demand is done."""
    return Key("times", Expr(), about, "1")


def footprint(default: str) -> Key:
    """Declare the memory that messages touch."""
    return Key("footprint", Expr(), "bytes of memory that a rank touches in the operation (docs/levels.md)", default)


def per_dimension() -> OneOf:
    """Return the form of one expression for all dimensions, or of one for each."""
    return OneOf(Expr(), Items(Expr(), "of one dimension"))


def each(value: Expression | tuple[Expression, ...], dims: int, entry: Entry) -> tuple[Expression, ...]:
    """Return one expression per dimension; a single one holds for all."""
    if isinstance(value, Expression):
        return (value,) * dims
    if len(value) != dims:
        raise InputError(f"{len(value)} values for {dims} dimensions", entry.place)
    return value
