"""Demands of programs in Python that are given by keyword: memory, kernels and copies, read as in a workload file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from json import dumps
from json import loads as read_json
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.demands.computation import Copy, Kernel
from simcodesign.describe.demands.memory_accesses import MemoryAccesses
from simcodesign.describe.machine_parts.rates import FORMAT_NUMBERS
from simcodesign.describe.yaml.demands.base import READERS
from simcodesign.describe.yaml.tree import Entry

#: Keys of a workload file that a program in Python replaces by its own statements, and the reason.
_OF_FILES = {"when": "use `if` of Python", "varies": "random draws belong to the simulation"}


def by_keyword(keywords: Mapping[str, Any]) -> str:
    """Return keywords as a JSON text, equal for equal ones."""
    return dumps(keywords, sort_keys=True, default=float)


def memory_demand(text: str, place: Place) -> MemoryAccesses:
    """Return the demand of the keywords in a JSON text. Raises InputError for keywords that no file may have."""
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


def accelerator_demand(kind: str, text: str, place: Place) -> Kernel | Copy:
    """Return the ``kernel`` or ``copy`` of the keywords in a JSON text.

    Raises InputError for keywords that no file may have, for ``when`` and ``varies``, and for amounts that are not
    numbers from 0 on.
    """
    try:
        keywords = read_json(text)
        entry = _entry(keywords, place)
    except (ValueError, RecursionError):  # of a damaged file
        raise InputError(f"the keywords of a {kind}", place, value=text, allowed="JSON") from None
    for key in entry.mapping().keys() & _OF_FILES.keys():
        raise InputError(f"{kind} has no {key} in a program in Python", place, allowed=_OF_FILES[key])
    demand = READERS[kind].read(kind, entry)
    assert isinstance(demand, Kernel | Copy)
    _check_amounts(demand)
    return demand


def _check_amounts(demand: Demand) -> None:
    if isinstance(demand, Kernel) and not isinstance(demand.type, str) and demand.type.names:
        where = demand.type.place or demand.place
        raise InputError("unknown number format", where, value=demand.type.text, allowed=", ".join(FORMAT_NUMBERS))
    for amount in demand.amounts():
        value = float("nan") if amount.names else float(np.asarray(amount.evaluate({})))
        if not 0 <= value < float("inf"):
            where = amount.place or demand.place
            raise InputError("an amount of a program in Python", where, value=amount.text, allowed="a number from 0 on")


def _entry(value: object, place: Place) -> Entry:
    """Return a value as the entry of a file, with the names of what is within it."""
    if isinstance(value, dict):
        inner = ((name, replace(place, path=f"{place.path}.{name}" if place.path else name)) for name in value)
        return Entry({name: _entry(value[name], where) for name, where in inner}, place)
    if isinstance(value, list):
        return Entry([_entry(one, place) for one in value], place)
    return Entry(value if isinstance(value, str) else repr(value), place)
