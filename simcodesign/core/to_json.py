"""Any result as what JSON has: objects, lists, texts, numbers. Light: imported at every start.

A dataclass becomes an object of its fields, by name. A class that shows more, less or other names has a method
``json_fields``, mostly a line that calls ``fields_of``; its values need no conversion. A description (a workload, a
machine, a constraint) is its name or text there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from operator import attrgetter
from pathlib import PurePath
from typing import Any

from simcodesign.core.shown_answers import ShownInNotebooks


class PlainResult(ShownInNotebooks):
    """Base of results that the user of the library gets."""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, as for JSON; numbers that are not finite stay."""
        plain: dict[str, Any] = to_plain(self)
        return plain


def to_plain(value: Any) -> Any:
    """``value`` in dictionaries, lists, texts and numbers; numbers that are not finite stay."""
    if isinstance(value, Enum):
        return to_plain(value.value)
    if hasattr(value, "json_fields"):
        return to_plain(value.json_fields())
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | Set):
        return [to_plain(item) for item in value]
    if is_dataclass(value):
        return {each.name: to_plain(getattr(value, each.name)) for each in fields(value)}
    if hasattr(value, "tolist"):  # an array or number of NumPy, which is not imported here
        return value.tolist()
    return str(value) if isinstance(value, PurePath | Fraction) else value


def to_json(value: Any) -> Any:
    """Convert to the types of strict JSON: numbers that are not finite become null."""
    return _with_null(to_plain(value))


def _with_null(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {key: _with_null(item) for key, item in plain.items()}
    if isinstance(plain, list):
        return [_with_null(item) for item in plain]
    if isinstance(plain, float):
        return plain + 0.0 if math.isfinite(plain) else None  # -0.0 becomes 0.0: the sign of nothing is rounding
    return plain


def fields_of(instance: Any, *properties: str, without: Collection[str] = (), **renamed: str) -> dict[str, Any]:
    """Return the fields of a dataclass, then ``properties`` by their names, then attributes under other names.

    Except the fields ``without``. ``renamed`` gives the attribute (a path with dots reaches into it) of each; a field
    among them is left out under its own name.
    """
    names = [each.name for each in fields(instance) if each.name not in without and each.name not in renamed.values()]
    return attributes_of(instance, *names, *properties, **renamed)


def attributes_of(instance: Any, *names: str, **renamed: str) -> dict[str, Any]:
    """Only these attributes: for a report that shows a selection."""
    chosen = {name: getattr(instance, name) for name in names}
    return chosen | {key: attrgetter(path)(instance) for key, path in renamed.items()}
