"""Shared parts of the JSON readers: the standard library's parser with our errors, and errors inside a value."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from math import isfinite

from simcodesign.core.errors import InputError, Place

Pairs = list[tuple[str, object]]
FINITE = "finite numbers"


class JsonError(Exception):
    """An error inside a JSON value, and its place: ``path`` grows at its front while it is carried outward."""

    def __init__(self, what: str, value: object = None, allowed: str | None = None, path: str = "") -> None:
        super().__init__(what)
        self.what, self.value, self.allowed, self.path = what, value, allowed, path

    def under(self, step: str) -> JsonError:
        """Return the error, seen from one level further out."""
        return JsonError(self.what, self.value, self.allowed, step + self.path)

    def error(self, file: str, line: int | None = None) -> InputError:
        """Return the error for the user."""
        return InputError(self.what, Place(file, line, self.path.lstrip(".")), value=self.value, allowed=self.allowed)


def step(key: str) -> str:
    """One key as a step of a path: ``.key``, or ``["main->foo"]`` if it is no identifier."""
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key, ensure_ascii=False)}]"


def decoder(fold: Callable[[Pairs], object] | None = None) -> json.JSONDecoder:
    """Return a parser that makes every number a float; ``fold`` may put something else instead of each object.

    NaN and Infinity, which Python takes and JSON does not know, come out as text, and so as something not a number.
    """
    return json.JSONDecoder(object_pairs_hook=fold, parse_int=float, parse_constant=str)


def decoded(parser: json.JSONDecoder, text: str, file: str, line: int | None = None) -> object:
    """Decode a JSON text. Raises InputError naming line and column; ``line`` is the number of a text of one line."""
    try:
        return parser.decode(text)
    except json.JSONDecodeError as error:
        at = error.pos + len(text[error.pos :]) - len(text[error.pos :].lstrip())
        given = text[at : at + 20] if at < len(text) else "the end of the text"
        place = Place(file, line or error.lineno, f"column {error.colno}")
        cut = "; is the file cut off?" if at >= len(text) or error.msg.startswith("Unterminated") else ""
        raise InputError(f"not JSON: {error.msg}{cut}", place, value=given) from None
    except RecursionError:
        raise InputError("JSON nested too deeply", Place(file, line), allowed="the formats of Extra-P") from None


def finite(value: object, path: str, what: str = "not a number") -> float:
    """Return a number of a JSON text. Raises JsonError for anything else."""
    if type(value) is not float or not isfinite(value):
        raise JsonError(what, shown(value), FINITE, path)
    return value


def text_of(value: object, path: str) -> str:
    """Return a name of a JSON text. Raises JsonError for anything else."""
    if type(value) is not str:
        raise JsonError("not a name", shown(value), "text in quotes", path)
    return value


def shown(value: object) -> object:
    """Return a value as a message shows it: None would be taken for no value given."""
    return "null" if value is None else value


def checked_object(pairs: Pairs) -> dict[str, object]:
    """Return an object without anything bad inside and without a key twice. Raises JsonError."""
    content = dict(pairs)
    if len(content) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise JsonError("a key appears twice", twice, "each key once")
    for key, value in pairs:
        if type(value) is JsonError:
            raise value.under(step(key))
        if type(value) is list and (inner := bad_inside(value)):
            raise inner.under(step(key))
    return content


def bad_inside(values: list[object]) -> JsonError | None:
    """Return the first thing wrong in a list, and in lists inside it."""
    if values and values.count(values[0]) == len(values) and type(values[0]) not in (JsonError, list):
        return None  # the long lists of rows, all the same
    for index, value in enumerate(values):
        inner = bad_inside(value) if type(value) is list else value
        if type(inner) is JsonError:
            return inner.under(f"[{index}]")
    return None
