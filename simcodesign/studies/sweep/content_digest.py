"""The content of descriptions as canonical text: equal for equal content, whatever file it came from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from hashlib import blake2b

import numpy as np

from simcodesign.core.errors import InputError

#: Length of a digest in bytes: a collision is expected only after about 2^64 contents.
DIGEST_BYTES = 16
#: Keys for readers only, and what was measured: they change no number.
REMARKS = frozenset({"about", "source", "origin", "measured"})


def digest(content: object) -> str:
    """Return the digest of a content, hexadecimal."""
    return blake2b(canonical(content).encode(), digest_size=DIGEST_BYTES).hexdigest()


def canonical(content: object) -> str:
    """One JSON text for a content: numbers as float64, keys sorted, remarks and places in files left out.

    ``content``: dataclasses, mappings, sequences, sets, arrays, numbers, texts, None. InputError for anything else.
    """
    return json.dumps(plain(content), sort_keys=True, separators=(",", ":"))


def plain(content: object) -> object:
    """Return the content as nested lists, mappings, texts and numbers."""
    if content is None or isinstance(content, bool | str):
        return content
    if isinstance(content, int | float | np.integer | np.floating):
        return _number(content)
    if isinstance(content, np.ndarray):
        return _array(content)
    if isinstance(content, Mapping):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(item) for item in content]
    if isinstance(content, Set):
        return sorted((plain(item) for item in content), key=repr)
    if is_dataclass(content) and not isinstance(content, type):
        return [type(content).__name__, _fields(content)]
    raise InputError("has no canonical content", value=type(content).__name__)


def _fields(content: object) -> dict[str, object]:
    """Return the fields that take part in comparison.

    Those that are None are left out, so that new fields change no key.
    """
    assert is_dataclass(content)
    values = {one.name: getattr(content, one.name) for one in fields(content) if one.compare}
    return {name: plain(value) for name, value in values.items() if value is not None and name not in REMARKS}


def _number(value: int | float | np.integer | np.floating) -> object:
    """Return a float64; whole numbers beyond what it holds exactly stay as they are."""
    if isinstance(value, int | np.integer) and abs(int(value)) > 2**53:
        return int(value)
    return float(value) + 0.0  # -0.0 is 0.0


def _array(values: np.ndarray) -> object:
    """Shape, type and digest of the bytes: arrays may be large."""
    if values.dtype.kind not in "biufSU":
        return ["array", [plain(item) for item in values.tolist()]]
    data = np.ascontiguousarray(values)
    return ["array", list(values.shape), data.dtype.str, blake2b(data.tobytes(), digest_size=DIGEST_BYTES).hexdigest()]
