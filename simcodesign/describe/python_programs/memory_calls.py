"""Loads and stores of programs in Python: what is given by keyword, read as what stands under ``memory`` in a file."""

from __future__ import annotations

from dataclasses import replace
from json import loads as read_json

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.yaml.demands.base import READERS
from simcodesign.describe.yaml.tree import Entry


def memory_demand(text: str, place: Place) -> MemoryAccesses:
    """Return the demand of the keywords in a JSON text. InputError for what YAML has not either."""
    keywords = read_json(text)
    if "profile" in keywords:
        what, allowed = (
            "a profile in another file, which a sweep's store would not know",
            "kernel, stack_distance or hits",
        )
        raise InputError(what, place, value=keywords["profile"], allowed=allowed)
    demand = READERS["memory"].read("memory", _entry(keywords, place))
    assert isinstance(demand, MemoryAccesses)
    return demand


def _entry(value: object, place: Place) -> Entry:
    """Return a value as the entry of a file, with the names of what is within it."""
    if isinstance(value, dict):
        inner = ((name, replace(place, path=f"{place.path}.{name}" if place.path else name)) for name in value)
        return Entry({name: _entry(value[name], where) for name, where in inner}, place)
    if isinstance(value, list):
        return Entry([_entry(one, place) for one in value], place)
    return Entry(value if isinstance(value, str) else repr(value), place)
