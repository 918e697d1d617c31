"""YAML as a tree of entries that know their file, line and path; strict, and safe on any input.

The parser's events are read one by one, so nothing is expanded or recursed into: aliases, anchors, tags, duplicate
keys, deep nesting and several documents are refused. Scalars follow the YAML 1.2 core schema: ``1e9`` is a number,
``no`` is a text, ``010`` is ten.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import yaml

from simcodesign.core.errors import InputError, Place, nearest, shorten
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.core.files.input_files import read_bytes
from simcodesign.core.units import DIMENSIONS, base_unit_of, is_subnormal, parse_quantity

MAX_BYTES = 4 * 1024 * 1024
MAX_ENTRIES = 50_000  # read in a quarter of a second
MAX_DEPTH = 40
MAX_NAME = 100  # characters of a key or a name: they appear in every message
MAX_WHOLE = 2**31 - 1
_ITEM = re.compile("[1-9][0-9]{0,8}")
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
#: What YAML does not take as text, and surrogates, which are no characters at all. Compiling the pattern takes 12 ms.
_UNUSABLE = yaml.reader.Reader.NON_PRINTABLE
#: Keys whose expressions are sizes or times, so that a number there may have a unit; the last key of a path.
_DIMENSION_OF_KEY = {"bytes": "size", "footprint": "size", "accelerator_footprint": "size"} | dict.fromkeys(
    ("seconds", "interval", "restart", "write"), "time"
)
_LAST_KEY = re.compile(r"(\w+)(?:\[[0-9]+\])?$")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Entry:
    """A scalar (text), a sequence (list) or a mapping (dict) of a YAML file.

    The line of a value is the line of its key.
    """

    content: str | list[Entry] | dict[str, Entry]
    place: Place
    plain: bool = True

    def mapping(self, allowed: Collection[str] | None = None, required: Collection[str] = ()) -> dict[str, Entry]:
        """Return the items of a mapping; only ``allowed`` keys (any when None), all ``required`` ones there."""
        if not isinstance(self.content, dict):
            first = [*required, *(allowed or ())][:1] if isinstance(self.content, str) else []
            instead = (
                f"{{{first[0]}: VALUE}}, e.g. {self.place.path}.{first[0]}; keys: {nearest('', allowed or ())}"
                if first
                else None
            )
            raise self.error("must be a mapping of keys to values", instead)
        for key, entry in self.content.items():
            if allowed is not None and key not in allowed:
                raise InputError("unknown key", entry.place, value=key, allowed=nearest(key, allowed))
        for key in required:
            if key not in self.content:
                allowed = f"'{key}: 1', the version of the format" if key == "simcodesign" else None
                raise InputError(f"the required key {key!r} is missing", self.place, allowed=allowed)
        return self.content

    def sequence(self) -> list[Entry]:
        """Return the items of a sequence."""
        if not isinstance(self.content, list):
            raise self.error("must be a sequence", "[A, B, ...], or lines that begin with '- '")
        return self.content

    def text(self, allowed: Collection[str] | None = None) -> str:
        """Return the text of a scalar, one of ``allowed`` when given."""
        if not isinstance(self.content, str):
            raise self.error("must be a single value")
        if allowed is not None and self.content not in allowed:
            raise self.error("not one of the choices", nearest(self.content, allowed))
        return self.content

    def says(self, word: str) -> bool:
        """Whether this is a word that replaces a value of another kind, as ``all`` instead of a number."""
        return self.content == word

    def name(self) -> str:
        """Return the text of a name: on one line and not empty."""
        text = self.text()
        if not text or len(text) > MAX_NAME or not text.isprintable():
            raise self.error("not a name", f"1 to {MAX_NAME} printable characters")
        return text

    def quantity(self, dimension: str) -> float:
        """Return a number with a unit of this dimension, in SI units; without a unit it is in SI units already."""
        return parse_quantity(self.text(), dimension, self.place)

    def number(self) -> float:
        """Return a plain number."""
        if not isinstance(self.content, str) or not self.plain or not _NUMBER.fullmatch(self.content):
            raise self.error("must be a number", "for example 16 or 0.5")
        value = float(self.content)
        if not math.isfinite(value):
            raise self.error("too large", "numbers up to 1.8e308")
        if is_subnormal(value):
            raise self.error("too small", "0, or numbers from 2.3e-308")
        return value

    def whole(self, low: int = 0, high: int = MAX_WHOLE) -> int:
        """Return a whole number within the limits."""
        value = self.number()
        if value != int(value):
            raise self.error("must be a whole number", f"{low} to {high}")
        if not low <= value <= high:
            raise self.error("whole number out of range", f"{low} to {high}")
        return int(value)

    def flag(self) -> bool:
        """Return ``true`` or ``false``."""
        return self.text(("true", "false")) == "true"

    def expression(self) -> Expression:
        """Return an expression over names; for a size or a time, also a number with a unit."""
        text = self.text()
        unit = base_unit_of(text)
        if not unit:
            return parse(text, self.place)
        last = _LAST_KEY.search(self.place.path)
        dimension = "size" if self.place.path.startswith("data.") else _DIMENSION_OF_KEY.get(last[1] if last else "")
        if dimension is not None:
            return parse(self.quantity(dimension), self.place)
        value_si = parse_quantity(text, next(name for name, base in DIMENSIONS.items() if base == unit))
        raise self.error("an expression here takes no unit", f"the number alone, in {unit}: {value_si:.15g}")

    def error(self, what: str, allowed: str | None = None) -> InputError:
        """Return an InputError about this entry."""
        return InputError(
            what, self.place, value=self.content if isinstance(self.content, str) else _kind(self), allowed=allowed
        )


def read_yaml(path: Path) -> Entry:
    """Return the tree of a YAML file. InputError when it cannot be read, is not UTF-8 or not in the accepted subset."""
    data, file = read_bytes(path, MAX_BYTES), str(path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"not UTF-8 text (byte {error.start})", Place(file, line)) from None
    return parse_yaml(text, file)


def _shown(text: str, limit: int) -> str:
    """Return a name from outside in a form suitable for a message."""
    return text if text.isprintable() and len(text) <= limit else shorten(text, limit)


def parse_yaml(text: str, file: str, path: str = "") -> Entry:
    """Return the tree of a YAML text; ``file`` is what errors call it.

    ``path`` is the path of a value without a file: its places have no lines.
    """
    unusable = _UNUSABLE.search(text)
    if unusable:
        place = Place(file, _line(text.count("\n", 0, unusable.start()), path), path)
        raise InputError("not YAML: a control character", place, value=unusable.group())
    try:
        root = _build(yaml.parse(text, Loader=_Loader), file, path)
    except yaml.YAMLError as error:
        raise _not_yaml(error, text, Place(file, None, path)) from None
    if root is None:
        raise InputError("there is nothing in it", Place(file, None, path))
    return root


def _not_yaml(error: yaml.YAMLError, text: str, place: Place) -> InputError:
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    if mark is None:
        return InputError(f"not YAML: {problem or error}", place)
    line = text.split("\n")[mark.line : mark.line + 1]
    if line and line[0][mark.column : mark.column + 1] == "\t":
        problem = "a tab, where only spaces are allowed"
    here = Place(place.file, _line(mark.line, place.path), place.path)
    # PyYAML from 6.0.4 on has a limit of its own, and reads so far ahead in flow style that it meets its own first.
    if "nesting depth" in str(problem):
        return _nested_too_deeply(here)
    return InputError(f"not YAML: {problem}", here)


def _nested_too_deeply(place: Place) -> InputError:
    return InputError(f"nested more than {MAX_DEPTH} deep", place)


def _line(index: int, path: str) -> int | None:
    """Line number by index; None in a value without a file."""
    return None if path else index + 1


class _Open:
    """A mapping or sequence whose end has not been read yet."""

    def __init__(self, place: Place, is_mapping: bool) -> None:
        self.place, self.is_mapping = place, is_mapping
        self.items: dict[str, Entry] = {}
        self.list: list[Entry] = []
        self.key: str | None = None
        self.key_line: int | None = None

    def place_of_next(self, line: int | None) -> Place:
        """Place of the item, value or key that starts on this line.

        A value is where its key is, so that both are found.
        """
        file, path = self.place.file, self.place.path
        if not self.is_mapping:
            return Place(file, line, f"{path}[{len(self.list)}]")
        if self.key is None:
            return Place(file, line, path)
        return Place(file, self.key_line, f"{path}.{self.key}" if path else self.key)

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
            raise InputError(
                "a key must be a single name", entry.place, allowed="NAME: VALUE; has it a bracket too many?"
            )
        if entry.content in self.items:
            raise InputError("duplicate key", entry.place, value=entry.content)
        self.key, self.key_line = entry.name(), entry.place.line

    def close(self) -> Entry:
        return Entry(self.items if self.is_mapping else self.list, self.place)


def _build(events: Iterator[yaml.Event], file: str, path: str) -> Entry | None:
    stack: list[_Open] = []
    root: Entry | None = None
    for count, event in enumerate(events):
        line = _line(event.start_mark.line if event.start_mark else 0, path)
        place = stack[-1].place_of_next(line) if stack else Place(file, line, path)
        if count > MAX_ENTRIES:
            raise InputError(f"more than {MAX_ENTRIES} keys and values", place)
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            _refuse(event, place)
            if len(stack) >= MAX_DEPTH:
                raise _nested_too_deeply(place)
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


def merged(
    base: Entry, change: Entry, other_names: Mapping[str, str | tuple[str, ...]] = MappingProxyType({})
) -> Entry:
    """Return ``base`` with the changes of ``change``.

    Mappings merge key by key, anything else is replaced.

    A mapping of whole numbers changes some items of a sequence, which it counts from 1 on, and a mapping of names those
    whose ``name`` these are. A mapping whose ``kind``
    changes is replaced whole, since its other keys belong to the old kind. ``other_names`` maps keys to the key, or
    keys, that say the same in another way: a change of one replaces the other.
    """
    if isinstance(base.content, list) and isinstance(change.content, dict) and _counts_items(change.content, base):
        return _with_items(base, change.content, other_names)
    if not isinstance(base.content, dict) or not isinstance(change.content, dict):
        return change
    old, new = base.content, change.content
    if "kind" in new and "kind" in old and new["kind"].content != old["kind"].content:
        return change
    others = (other_names.get(key, ()) for key in new)
    replaced = {name for one in others for name in ((one,) if isinstance(one, str) else one)} - new.keys()
    kept = {key: entry for key, entry in old.items() if key not in replaced}
    items = {key: merged(old[key], entry, other_names) if key in old else entry for key, entry in new.items()}
    return Entry({**kept, **items}, change.place)


def items_by_key(entry: Entry) -> dict[str, Entry]:
    """Return the items of a mapping or sequence, by the keys of a path.

    Items of a sequence by their number, from 1 on, or by their ``name``.
    """
    if isinstance(entry.content, str):
        return {}
    if isinstance(entry.content, dict):
        return entry.content
    return {str(number): item for number, item in enumerate(entry.content, start=1)} | _by_name(entry.content)


def _by_name(items: Sequence[Entry]) -> dict[str, Entry]:
    """Items of a sequence that are mappings with a ``name``."""
    named = ((item.content.get("name"), item) for item in items if isinstance(item.content, dict))
    return {name.content: item for name, item in named if name is not None and isinstance(name.content, str)}


def _counts_items(changes: Mapping[str, Entry], base: Entry) -> bool:
    """Whether all keys are numbers that a sequence could have, or its items have names."""
    assert isinstance(base.content, list)
    return bool(changes) and (bool(_by_name(base.content)) or all(_ITEM.fullmatch(key) for key in changes))


def _with_items(base: Entry, changes: Mapping[str, Entry], other_names: Mapping[str, str | tuple[str, ...]]) -> Entry:
    """Return a sequence with other items, by their numbers from 1 on, or by their names.

    InputError for an item that it has not.
    """
    assert isinstance(base.content, list)
    new, known, names = list(base.content), items_by_key(base), _by_name(base.content)
    for key, entry in changes.items():
        if key not in known:
            what = f"not the {'name' if names else 'number'} of an item of this sequence"
            allowed = nearest(key, names) if names else f"1 to {len(new)}"
            raise InputError(what, entry.place, value=key, allowed=allowed)
        number = next(number for number, item in enumerate(base.content) if item is known[key])
        new[number] = merged(new[number], entry, other_names)
    return Entry(new, base.place)


def nested(values: Mapping[str, object], file: str) -> Entry:
    """Entries for dotted paths, e.g. ``{"network.topology.shape": [4, 4]}``, as if they were in a file.

    A text is read as YAML; numbers, sequences, mappings and arrays are taken as they are.
    """
    root: dict[str, Entry] = {}
    for path, value in values.items():
        place = Place(file, None, _shown(str(path), MAX_NAME))
        *outer, last = str(path).split(".")
        if not all((*outer, last)):
            raise InputError("not the path of a key", Place(file), value=path, allowed="names joined by dots")
        if len(outer) >= MAX_DEPTH:
            raise _nested_too_deeply(place)
        here = root
        for name in outer:
            entry = here.setdefault(name, Entry({}, place))
            if not isinstance(entry.content, dict):
                raise InputError("set twice, once whole and once in part", place)
            here = entry.content
        if last in here:
            raise InputError("set twice, once whole and once in part", place)
        here[last] = parse_yaml(_as_yaml(value, place), file, place.path)
    return Entry(root, Place(file))


def _as_yaml(value: object, place: Place) -> str:
    """Return the value as YAML, of which JSON is a part."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, default=_plain, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise InputError("not possible in a file", place, value=value) from None


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError
