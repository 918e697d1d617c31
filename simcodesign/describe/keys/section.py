"""Keys of mappings: a section is a mapping with keys that are declared, each with its form, meaning and default."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.describe.keys.forms import Bandwidth, Constant
from simcodesign.describe.keys.key import Form, Key, Schema
from simcodesign.describe.yaml.tree import Entry

#: The name in paths for a key of any name.
NAME = "NAME"


class Items(Form):
    """A sequence of values of one form. ``make``: builds the value from the values of the items."""

    content = list

    def __init__(
        self, form: Form, about: str = "", range: str = "", make: Callable[[Iterator[Any]], Any] = tuple
    ) -> None:
        self.item, self.make, self.dimension = Key("[]", form, about, range=range), make, form.dimension

    def read(self, entry: Entry) -> Any:
        return self.make(self.item.form.read(item) for item in entry.sequence())

    def schemas(self) -> list[Schema]:
        return [{"type": "array", "items": self.item.schema()}]

    def words(self) -> list[str]:
        return ["list"]

    def inner(self) -> Iterator[tuple[str, Key]]:
        yield "[]", self.item


class Named(Form):
    """A mapping with keys of any names, and values of one form."""

    content = dict

    def __init__(self, form: Form, about: str = "", default: str = "", range: str = "") -> None:
        self.item = Key(NAME, form, about, default, range)

    def read(self, entry: Entry) -> dict[str, Any]:
        return {name: self.item.form.read(item) for name, item in entry.mapping().items()}

    def schemas(self) -> list[Schema]:
        return [{"type": "object", "additionalProperties": self.item.schema()}]

    def words(self) -> list[str]:
        return ["mapping"]

    def inner(self) -> Iterator[tuple[str, Key]]:
        yield f".{NAME}", self.item


class Section(Form):
    """A mapping with declared keys. ``make``: builds the value from the arguments that the keys state."""

    content = dict

    def __init__(self, *keys: Key, make: Callable[..., Any] = dict) -> None:
        self.keys, self.make = keys, make

    @cached_property
    def by_name(self) -> dict[str, Key]:
        """The keys by their names."""
        return {key.name: key for key in self.keys}

    @cached_property
    def pairs(self) -> dict[str, list[str]]:
        """Names of the keys that state the same argument, a bandwidth before its time per byte."""
        counts = Counter(key.target for key in self.keys if key.target)
        return {one: [key.name for key in self.keys if key.target == one] for one, n in counts.items() if n > 1}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Names of the keys that must be there."""
        return tuple(key.name for key in self.keys if key.required and key.target not in self.pairs)

    def items(self, entry: Entry) -> dict[str, Entry]:
        """Return the entries by their keys. Raises InputError for unknown, missing and contradictory keys."""
        items = entry.mapping(self.by_name, self.required)
        for one, names in self.pairs.items():
            given = [name for name in names if name in items]
            if len(given) > 1:
                what = f"{entry.place.path}.{names[-1]} is given twice: as a bandwidth and as time per byte"
                raise items[[name for name in items if name in given][-1]].error(what)
            if not given and any(key.required for key in self.keys if key.target == one):
                raise InputError(f"{names[0]!r} (or {names[-1]!r}) is missing", entry.place)
        return items

    def read(self, entry: Entry) -> Any:
        return self.make(**self.values(self.items(entry)))

    def values(self, items: dict[str, Entry]) -> dict[str, Any]:
        """Return the arguments that these entries state."""
        values: dict[str, Any] = {}
        for name, item in items.items():
            key = self.by_name[name]
            value = key.form.read(item)
            values |= {key.target: value} if key.target else value
        return values

    def only(self, *names: str) -> Section:
        """Return some of the keys, none of them required, as a section that is read as their arguments."""
        return Section(*(replace(self.by_name[name], required=False) for name in names))

    def schemas(self) -> list[Schema]:
        inner = {key.name: key.schema() for key in sorted(self.keys, key=lambda key: key.name)}
        schema: Schema = {"type": "object", "properties": inner, "additionalProperties": False}
        return [schema | ({"required": sorted(self.required)} if self.required else {})]

    def words(self) -> list[str]:
        return ["mapping"]

    def inner(self) -> Iterator[tuple[str, Key]]:
        yield from ((f".{key.name}", key) for key in sorted(self.keys, key=lambda key: key.name))

    def constants(self, path: str) -> Iterator[tuple[str, str, Constant]]:
        """Yield the path, field and form of each constant of the section at ``path``, and of those within it."""
        for key in self.keys:
            if isinstance(key.form, Constant):
                yield f"{path}.{key.name}", key.target, key.form
            elif isinstance(key.form, Section):
                prefix = f"{key.target}." if key.target else ""
                inner = key.form.constants(f"{path}.{key.name}")
                yield from ((where, f"{prefix}{name}", form) for where, name, form in inner)


def bandwidth(
    name: str, per_byte: str, field: str, about: str, default: str = "", required: bool = False
) -> tuple[Key, Key]:
    """Declare a bandwidth, and the key that states its inverse in its place."""
    instead = f"time per byte, instead of `{name}`"
    inverse = default.replace("bandwidth", "per_byte") if default.startswith("as ") else default
    return (
        Key(name, Bandwidth(), about, default, required=required, field=field),
        Key(per_byte, Constant("per_byte"), instead, inverse, field=field),
    )
