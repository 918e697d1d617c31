"""The points of a sweep and their keys.

A key is made from content alone (what is read, under which parameters, changes and seed), never from the place of a
point in its sweep or the path of a file: the same question has the same key everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from simcodesign.studies.sweep.content_digest import DIGEST_BYTES, canonical

#: A value of a parameter, or of a key of a machine file.
Value = float | str


@dataclass(frozen=True)
class SweepPoint:
    """One point of a sweep, from 0.

    ``parameters``: workload parameters, ``P``, machine constants by path and machine parameters (``machine.NAME``), SI
    units, as ``forecast`` and ``simulate`` take them; the fixed ones too. ``changes``: what is different in the machine
    file, by path, as ``load_machine`` takes it. ``key``: 32 hexadecimal digits. ``axes``:
    its values by the names of the axes, as a table shows them.
    """

    number: int
    parameters: Mapping[str, float]
    changes: Mapping[str, Value]
    seed: int
    key: str
    axes: Mapping[str, Value]


@dataclass(frozen=True)
class PointKeys:
    """Makes keys: ``fixed`` is the canonical text of all that the points share, which is hashed once."""

    fixed: str

    @classmethod
    def of(cls, content: object) -> PointKeys:
        """Return the keys for points with this common content."""
        return cls(canonical(content))

    @cached_property
    def _fixed_hash(self) -> blake2b:
        return blake2b(self.fixed.encode(), digest_size=DIGEST_BYTES)

    def key(self, items: bytes) -> str:
        """Return the key of a point; ``items``: its own items, joined."""
        digest = self._fixed_hash.copy()
        digest.update(items)
        return digest.hexdigest()


_encode = json.JSONEncoder(separators=(",", ":")).encode


def item(kind: str, path: str, value: Value) -> bytes:
    """One setting of a point, encoded for its key; the items of a key are in the order of kind and path."""
    return _encode([kind, path, value if isinstance(value, str) else float(value) + 0.0]).encode()


@dataclass(frozen=True)
class PointResult:
    """The result of a point.

    ``axes``: its values by name, SI units or words; ``results``: numbers by name, as ``evaluate.NAMES`` describes them;
    ``reason``: why there are none, empty if it went well.
    """

    number: int
    key: str
    axes: Mapping[str, Value]
    results: Mapping[str, float]
    reason: str = ""

    @property
    def failed(self) -> bool:
        """Whether there is a reason instead of results."""
        return bool(self.reason)
