"""YAML as a tree of entries that know their file, line and path; strict, and safe on any input.

The parser's events are read one by one, so nothing is expanded or recursed into: aliases, anchors, tags, duplicate
keys, deep nesting and several documents are refused. Scalars follow the YAML 1.2 core schema: ``1e9`` is a number,
``no`` is a text, ``010`` is ten.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from simcodesign.errors import InputError, Place, nearest, shorten
from simcodesign.expression import Expression, parse
from simcodesign.units import parse_quantity

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 40
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Entry:
    """A scalar (text), a sequence (list) or a mapping (dict) of a YAML file."""

    content: str | list[Entry] | dict[str, Entry]
    place: Place
    plain: bool = True

    def mapping(self, allowed: Collection[str] | None = None, required: Collection[str] = ()) -> dict[str, Entry]:
        """The items of a mapping; only ``allowed`` keys (any when None), all ``required`` ones there."""
        if not isinstance(self.content, dict):
            raise self.error("must be a mapping of keys to values")
        for key, entry in self.content.items():
            if allowed is not None and key not in allowed:
                raise InputError("unknown key", entry.place, value=key, allowed=nearest(key, allowed))
        for key in required:
            if key not in self.content:
                raise InputError(f"{key!r} is missing", self.place)
        return self.content

    def sequence(self) -> list[Entry]:
        """The items of a sequence."""
        if not isinstance(self.content, list):
            raise self.error("must be a sequence")
        return self.content

    def text(self, allowed: Collection[str] | None = None) -> str:
        """The text of a scalar, one of ``allowed`` when given."""
        if not isinstance(self.content, str):
            raise self.error("must be a single value")
        if allowed is not None and self.content not in allowed:
            raise self.error("not one of the choices", nearest(self.content, allowed))
        return self.content

    def quantity(self, dimension: str) -> float:
        """A number with a unit of this dimension, in SI units; without a unit it is in SI units already."""
        return parse_quantity(self.text(), dimension, self.place)

    def number(self) -> float:
        """A plain number."""
        if not isinstance(self.content, str) or not self.plain or not _NUMBER.fullmatch(self.content):
            raise self.error("must be a number")
        return float(self.content)

    def whole(self, low: int = 0, high: int = 2**31) -> int:
        """A whole number within the limits."""
        value = self.number()
        if not low <= value <= high or value != int(value):
            raise self.error("must be a whole number", f"{low} to {high}")
        return int(value)

    def flag(self) -> bool:
        """``true`` or ``false``."""
        return self.text(("true", "false")) == "true"

    def expression(self) -> Expression:
        """An expression over names."""
        return parse(self.text(), self.place)

    def error(self, what: str, allowed: str | None = None) -> InputError:
        """An InputError about this entry."""
        return InputError(
            what,
            self.place,
            value=self.content if isinstance(self.content, str) else _kind(self),
            allowed=allowed,
        )


def read_yaml(path: Path) -> Entry:
    """The tree of a YAML file. InputError when it cannot be read, is not UTF-8 or not in the accepted subset."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"the file is larger than {MAX_BYTES} bytes", Place(str(path)))
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start})", Place(str(path))) from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}", Place(shorten(str(path), 200))
        ) from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, file: str, path: str = "") -> Entry:
    """The tree of a YAML text; ``file`` and ``path`` are what errors call it."""
    try:
        root = _build(yaml.parse(text, Loader=_Loader), file, path)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not a YAML text"
        raise InputError(f"not YAML: {problem}", Place(file, line, path)) from None
    if root is None:
        raise InputError("the file is empty", Place(file, None, path))
    return root


class _Open:
    """A mapping or sequence whose end has not been read yet."""

    def __init__(self, place: Place, is_mapping: bool) -> None:
        self.place, self.is_mapping = place, is_mapping
        self.items: dict[str, Entry] = {}
        self.list: list[Entry] = []
        self.key: str | None = None

    def path_of_next(self) -> str:
        if not self.is_mapping:
            return f"{self.place.path}[{len(self.list)}]"
        return f"{self.place.path}.{self.key}".lstrip(".") if self.key is not None else self.place.path

    def add(self, entry: Entry) -> None:
        if not self.is_mapping:
            self.list.append(entry)
        elif self.key is None:
            self._open_key(entry)
        else:
            self.items[self.key] = entry
            self.key = None

    def _open_key(self, entry: Entry) -> None:
        if not isinstance(entry.content, str):
            raise InputError("a key must be a single name", entry.place)
        if entry.content in self.items:
            raise InputError("duplicate key", entry.place, value=entry.content)
        self.key = entry.content

    def close(self) -> Entry:
        return Entry(self.items if self.is_mapping else self.list, self.place)


def _build(events: Iterator[yaml.Event], file: str, path: str) -> Entry | None:
    stack: list[_Open] = []
    root: Entry | None = None
    for event in events:
        place = Place(file, event.start_mark.line + 1, stack[-1].path_of_next() if stack else path)
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            _refuse(event, place)
            if len(stack) >= MAX_DEPTH:
                raise InputError(f"nested more than {MAX_DEPTH} deep", place)
            stack.append(_Open(place, isinstance(event, yaml.MappingStartEvent)))
            continue
        if isinstance(event, yaml.ScalarEvent):
            _refuse(event, place)
            done = Entry(event.value, place, plain=not event.style)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            done = stack.pop().close()
        elif isinstance(event, yaml.AliasEvent):
            raise InputError("aliases are not allowed: write the value out", place, value=f"*{event.anchor}")
        elif isinstance(event, yaml.DocumentStartEvent) and root is not None:
            raise InputError("only one document is allowed in a file", place)
        else:
            continue
        if stack:
            stack[-1].add(done)
        else:
            root = done
    return root


def _refuse(event: yaml.NodeEvent, place: Place) -> None:
    if event.anchor is not None:
        raise InputError("anchors are not allowed", place, value=f"&{event.anchor}")
    tag = getattr(event, "tag", None)
    if tag is not None:
        raise InputError("tags are not allowed", place, value=tag)


def _kind(entry: Entry) -> str:
    return "a mapping" if isinstance(entry.content, dict) else "a sequence"


def merged(base: Entry, change: Entry) -> Entry:
    """``base`` with what ``change`` says differently: mappings merge key by key, anything else is replaced.

    A mapping whose ``kind`` changes is replaced whole, since its other keys belong to the old kind.
    """
    if not isinstance(base.content, dict) or not isinstance(change.content, dict):
        return change
    old, new = base.content, change.content
    if "kind" in new and "kind" in old and new["kind"].content != old["kind"].content:
        return change
    items = {key: merged(old[key], entry) if key in old else entry for key, entry in new.items()}
    return Entry({**old, **items}, change.place)


def nested(values: Mapping[str, object], file: str) -> Entry:
    """Entries for dotted paths, e.g. ``{"network.topology.shape": [4, 4]}``, as if they stood in a file."""
    root: dict[str, Entry] = {}
    for path, value in values.items():
        *outer, last = path.split(".")
        here = root
        for name in outer:
            entry = here.setdefault(name, Entry({}, Place(file, None, path)))
            if not isinstance(entry.content, dict):
                raise InputError("set twice, once whole and once in part", Place(file, None, path))
            here = entry.content
        here[last] = parse_yaml(str(value), file, path)
    return Entry(root, Place(file))
