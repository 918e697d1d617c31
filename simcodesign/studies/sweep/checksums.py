"""Records of a store: rows and the description of the sweep, each with a checksum over its whole content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b

from simcodesign.studies.sweep.points import PointResult

#: States of a point.
DONE, FAILED = 0, 1
CHECKSUM_BYTES = 8


def record(row: PointResult) -> tuple[int, bytes, int, str, bytes]:
    """The row as a record of the table: number, key, state, JSON text and checksum."""
    key, state = bytes.fromhex(row.key), FAILED if row.failed else DONE
    text = json.dumps([dict(row.axes), dict(row.results), row.reason], separators=(",", ":"), ensure_ascii=True)
    return row.number, key, state, text, checksum(row.number, key, state, text)


def checksum(number: int, key: bytes, state: int, text: str) -> bytes:
    """The checksum over the whole content of a row."""
    content = b"%d %d %s %s" % (number, state, key.hex().encode(), text.encode())
    return blake2b(content, digest_size=CHECKSUM_BYTES).digest()


def row_of(record: tuple[object, ...]) -> PointResult | None:
    """The row of a record, None if its checksum does not match."""
    number, key, state, text, stored_checksum = record
    if not (isinstance(number, int) and isinstance(key, bytes) and isinstance(state, int) and isinstance(text, str)):
        return None
    try:
        if checksum(number, key, state, text) != stored_checksum:
            return None
    except UnicodeEncodeError:
        return None
    axes, results, reason = json.loads(text)
    return PointResult(number, key.hex(), axes, results, reason)


def meta_row(meta: Mapping[str, object]) -> tuple[str, bytes]:
    text = json.dumps(meta, separators=(",", ":"))
    return text, meta_checksum("sweep", text)


def meta_checksum(name: str, text: str) -> bytes:
    return blake2b(f"{name} {text}".encode(errors="replace"), digest_size=CHECKSUM_BYTES).digest()


def meta_of(name: str, text: object, stored_checksum: object) -> dict[str, object] | None:
    """The description of a sweep from its record, None if its checksum does not match."""
    if not isinstance(text, str) or meta_checksum(name, text) != stored_checksum:
        return None
    meta: dict[str, object] = json.loads(text)
    return meta
