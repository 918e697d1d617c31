"""The fields of what commands print with ``--json``, read from ``json_fields.yaml``: their types, units and meanings.

tests/system/documentation/test_json_fields.py holds the file to what commands print.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name("json_fields.yaml")
#: A type as a tree: a word, or ("or", types), ("list", type), ("tree", type), ("by", type, what names the fields).
Type = Any
WORDS = ("number", "integer", "text", "boolean", "null", "description")


@dataclass(frozen=True)
class Field:
    """One field. ``owner``: the object that states it; ``always``: it is in every answer."""

    owner: str
    name: str
    type_text: str
    unit: str
    meaning: str
    always: bool

    @property
    def type(self) -> Type:
        return parsed(self.type_text)


@dataclass(frozen=True)
class JsonObject:
    """An object with a name of its own, its fields by name, those that it takes over first.

    ``is_printed``: not only what others take over.
    """

    name: str
    about: str
    fields: dict[str, Field]
    is_printed: bool


def read_objects(path: Path = FILE) -> tuple[dict[str, JsonObject], dict[str, str]]:
    """All objects by name, and the type that each command prints. ValueError for a type that is not there."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    objects: dict[str, JsonObject] = {}
    for name, one in content["objects"].items():
        taken = objects[one["extends"]].fields if "extends" in one else {}
        own = [_field(name, key, text) for key, text in one["fields"].items()]
        fields = taken | {field.name: field for field in own}
        objects[name] = JsonObject(name, one["about"], fields, not one.get("base", False))
    texts = [field.type_text for one in objects.values() for field in one.fields.values()]
    for text in [*texts, *content["commands"].values()]:
        unknown = {*names_in(parsed(text))} - {*WORDS, *objects}
        if unknown:
            raise ValueError(f"{text}: no type of this name: {', '.join(sorted(unknown))}")
    return objects, content["commands"]


def _field(owner: str, key: str, text: str) -> Field:
    kind, unit, meaning = (part.strip() for part in text.split(";", 2))
    return Field(owner, key.removesuffix("?"), kind, unit, meaning, not key.endswith("?"))


def parsed(text: str) -> Type:
    """Parse ``(number or null) by reading`` into a tree.

    ``or`` binds least, then ``by``, then ``list of`` and ``tree of``.
    """
    tokens = re.findall(r"\(|\)|\w+", text)
    tree = _alternatives(tokens)
    if tokens:
        raise ValueError(f"{text}: not understood from {tokens[0]!r} on")
    return tree


def _alternatives(tokens: list[str]) -> Type:
    types = [_mapped(tokens)]
    while tokens[:1] == ["or"]:
        del tokens[0]
        types.append(_mapped(tokens))
    return types[0] if len(types) == 1 else ("or", types)


def _mapped(tokens: list[str]) -> Type:
    tree = _listed(tokens)
    while tokens[:1] == ["by"]:
        tree = ("by", tree, tokens[1])
        del tokens[:2]
    return tree


def _listed(tokens: list[str]) -> Type:
    first = tokens.pop(0)
    if first == "(":
        tree = _alternatives(tokens)
        assert tokens.pop(0) == ")"
        return tree
    if first in ("list", "tree"):
        assert tokens.pop(0) == "of"
        return first, _listed(tokens)
    return first


def names_in(tree: Type) -> Iterator[str]:
    """All words of a type."""
    if isinstance(tree, str):
        yield tree
    else:
        for part in tree[1] if tree[0] == "or" else [tree[1]]:
            yield from names_in(part)
