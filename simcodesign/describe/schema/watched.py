"""Entries of a YAML tree that note what their readers ask of them: which keys, which words, which quantities."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import Expression
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.yaml.tree import MAX_WHOLE, Entry

#: Keys whose sequence consists of steps of a program, or whose value is one: the steps of all of them are one node.
STEPS, STEP = ("program", "do", "overlap"), "start"


@dataclass(eq=False)
class Node:
    """What readers have asked of the values at one place of a file.

    ``keys``: that were allowed; None as long as every mapping there could have any. ``always``: that were required by
    all who asked for a mapping. ``asked``: kinds of single values: ``text``, ``quantity time``, ``whole`` and others.
    """

    keys: set[str] | None = None
    always: set[str] | None = None
    is_mapping: bool = False
    is_sequence: bool = False
    asked: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    low: int = MAX_WHOLE
    highs: set[int] = field(default_factory=set)
    children: dict[str, Node] = field(default_factory=dict)
    any_key: Node | None = None  # what all keys of a mapping of any names have
    item: Node | None = None

    def child(self, key: str) -> Node:
        """The node of a key."""
        if self.any_key is not None and key not in (self.keys or ()):
            return self.any_key
        return self.children.setdefault(key, Node())

    @property
    def high(self) -> int | None:
        """The largest whole number; None where it depends on what else the file says, as on the number of nodes."""
        (high,) = self.highs if len(self.highs) == 1 else (MAX_WHOLE,)
        return None if high >= MAX_WHOLE else high

    @property
    def is_seen(self) -> bool:
        """Whether any reader has asked for anything."""
        return bool(self.asked or self.words or self.is_mapping or self.is_sequence)

    def join(self, other: Node) -> None:
        """Take over what was asked of another one."""
        if other.keys is not None:
            self.keys = (self.keys or set()) | other.keys
        if other.always is not None:
            self.always = other.always if self.always is None else self.always & other.always
        self.is_mapping, self.is_sequence = self.is_mapping or other.is_mapping, self.is_sequence or other.is_sequence
        self.asked |= other.asked
        self.words |= other.words
        self.low, self.highs = min(self.low, other.low), self.highs | other.highs
        for key, node in other.children.items():
            if node is not self.children.setdefault(key, node):
                self.children[key].join(node)
        for name in ("any_key", "item"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine is None:
                setattr(self, name, theirs)
            elif theirs is not None and theirs is not mine:
                mine.join(theirs)

    def collapse(self, seen: set[int] | None = None) -> None:
        """Where any key is allowed, what is asked of one is asked of all."""
        seen = set() if seen is None else seen
        if id(self) in seen:
            return
        seen.add(id(self))
        if self.is_mapping and self.keys is None and self.children:
            self.any_key = self.any_key or Node()
            for node in self.children.values():
                self.any_key.join(node)
            self.children = {}
        for below in (*self.children.values(), self.any_key, self.item):
            if below is not None:
                below.collapse(seen)


@dataclass(frozen=True)
class WatchedEntry(Entry):
    """An entry that notes in its node what it is asked."""

    node: Node = field(default_factory=Node)

    def mapping(self, allowed: Collection[str] | None = None, required: Collection[str] = ()) -> dict[str, Entry]:
        node = self.node
        node.is_mapping = True
        named_in_file = isinstance(allowed, Mapping) and any(isinstance(one, Parameter) for one in allowed.values())
        if allowed is not None and not named_in_file:
            node.keys = (node.keys or set()) | set(allowed)
            node.always = set(required) if node.always is None else node.always & set(required)
        return super().mapping(allowed, required)

    def sequence(self) -> list[Entry]:
        self.node.is_sequence = True
        return super().sequence()

    def text(self, allowed: Collection[str] | None = None) -> str:
        if allowed is None:
            self.node.asked.add("text")
        else:
            self.node.words |= set(allowed)
        return super().text(allowed)

    def says(self, word: str) -> bool:
        self.node.words.add(word)
        return super().says(word)

    def quantity(self, dimension: str) -> float:
        self.node.asked.add(f"quantity {dimension}")
        return self._plain().quantity(dimension)

    def number(self) -> float:
        self.node.asked.add("number")
        return self._plain().number()

    def whole(self, low: int = 0, high: int = MAX_WHOLE) -> int:
        self.node.asked.add("whole")
        self.node.low = min(self.node.low, low)
        self.node.highs.add(high)
        return self._plain().whole(low, high)

    def flag(self) -> bool:
        self.node.asked.add("flag")
        return self._plain().flag()

    def expression(self) -> Expression:
        self.node.asked.add("expression")
        return self._plain().expression()

    def _plain(self) -> Entry:
        """Unwatched, for what asks several things of one value."""
        return Entry(self.content, self.place, self.plain)


def watched(content: Any, node: Node, steps: Node | None, place: Place) -> WatchedEntry:
    """The tree of some content, dictionaries, lists and texts, that notes in ``node`` and below what it is asked; the
    steps of a program note it in ``steps``, if it has any."""
    if isinstance(content, Mapping):
        inner = {key: _child(key, value, node, steps, place) for key, value in content.items()}
        return WatchedEntry(inner, place, True, node)
    if isinstance(content, list):
        node.item = node.item or Node()
        items = [watched(one, node.item, steps, place) for one in content]
        return WatchedEntry([*items], place, True, node)
    return WatchedEntry(str(content), place, True, node)


def _child(key: str, value: Any, node: Node, steps: Node | None, place: Place) -> Entry:
    child = node.child(key)
    if steps is not None and key in STEPS:
        child.item = steps
    elif steps is not None and key == STEP:
        node.children[key] = child = steps
    return watched(value, child, steps, Place(place.file, place.line, f"{place.path}.{key}"))


def content_of(entry: Entry) -> Any:
    """A tree as dictionaries, lists and texts."""
    if isinstance(entry.content, dict):
        return {key: content_of(item) for key, item in entry.content.items()}
    return [content_of(item) for item in entry.content] if isinstance(entry.content, list) else entry.content
