"""Declaration of a key of a file: its name, the form of its values, its meaning and its default."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.yaml.tree import Entry

Schema = dict[str, Any]


class Form(ABC):
    """A form that a value may have.

    ``content``: the type of the content of its entries; ``range``: the numbers that it accepts, in words;
    ``dimension``: of its numbers, if they have units.
    """

    content: type = str
    range: str = ""
    dimension: str = ""

    @abstractmethod
    def read(self, entry: Entry) -> Any:
        """Return the value. Raises InputError for a value of another form or outside of the range."""

    @abstractmethod
    def schemas(self) -> list[Schema]:
        """Return the alternatives in JSON Schema."""

    @abstractmethod
    def words(self) -> list[str]:
        """Return the alternatives in the words of the reference."""

    def notes(self) -> list[str]:
        """Return what the description in JSON Schema adds to the meaning of the key."""
        return []

    def inner(self) -> Iterator[tuple[str, Key]]:
        """Yield the keys within the value, each with its path from there."""
        yield from ()

    def schema(self) -> Schema:
        """Return the JSON Schema."""
        forms = self.schemas()
        return dict(forms[0]) if len(forms) == 1 else {"anyOf": forms}


@dataclass(frozen=True)
class Key:
    """Declaration of a key of a file.

    ``about``: its meaning; ``default``: the value without it, in words; ``range``: the values that it accepts, in words
    (default: the range of the form); ``field``: the argument of the object that is built (default: the name). A section
    with the field "" adds its own fields to the section around it.
    """

    name: str
    form: Form
    about: str = ""
    default: str = ""
    range: str = ""
    required: bool = False
    field: str | None = None

    @property
    def target(self) -> str:
        """The name of the argument of the object that is built."""
        return self.name if self.field is None else self.field

    def schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        words = [one for one in (self.about, *self.form.notes()) if one]
        return self.form.schema() | ({"description": "; ".join(words)} if words else {}) | self._default()

    def _default(self) -> Schema:
        """Return the default, if it is a value and not a description of one."""
        form = self.form.schemas()[0]
        if form == {"type": "boolean"} and self.default:
            return {"default": self.default == "true"}
        if "enum" in form:
            return {"default": self.default} if self.default in form["enum"] else {}
        try:
            value = self.form.read(Entry(self.default, Place())) if self.default else None
        except InputError:
            return {}
        return {"default": value} if isinstance(value, int | float) else {}
