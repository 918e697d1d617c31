"""Chakra execution traces as they are written: messages of protobuf, one after another, each with its length.

Each rank has a file, ``NAME.RANK.et``: the global metadata, then the nodes. Numbers of fields: Chakra's
``et_def.proto``; how they are encoded: the wire format of protobuf. Only what a recording needs is decoded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import DATA_BYTES, read_bytes
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.chakra_nodes import KINDS, Node, recording_of_nodes
from simcodesign.describe.recordings.readers.registry import READERS, RecordingReader

#: Fields of Node and of AttributeProto.
_ID, _TYPE, _CTRL_DEPS, _DATA_DEPS, _DURATION, _ATTRIBUTE = 1, 3, 4, 5, 7, 10
_NAME, _DOUBLE, _FLOAT, _STRING = 1, 3, 5, 29
#: Fields of numbers in AttributeProto: signed by two's complement, and signed by zigzag.
_SIGNED, _ZIGZAG = (7, 9), (15, 17)
#: Kinds of fields on the wire: a number of variable length, 8 bytes, bytes with their length, 4 bytes.
_VARIABLE, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
#: Numbers of 8 and 4 bytes that are not signed whole ones.
_FIXED = {(_DOUBLE, _EIGHT): "<d", (_FLOAT, _FOUR): "<f", (19, _FOUR): "<I", (21, _EIGHT): "<Q"}


def read_chakra_et(path: Path) -> Recording:
    """Return the recording of the traces of all ranks. InputError with file and the number of the message as line."""
    return recording_of_nodes(path, _nodes)


def _nodes(path: Path) -> list[Node]:
    data, place, number = read_bytes(path, DATA_BYTES), 0, 0
    nodes = []
    while place < len(data):
        number += 1
        try:
            length, place = _number(data, place)
            if place + length > len(data):
                raise ValueError("a message is cut off")
            if number > 1:  # the first is the global metadata
                nodes.append(_node(data[place : place + length], number))
        except (ValueError, IndexError, struct.error, UnicodeDecodeError) as error:
            what = "no messages of a Chakra trace"
            raise InputError(what, Place(str(path), number), value=str(error), allowed="a .et of Chakra") from None
        place += length
    return nodes


def _node(message: bytes, number: int) -> Node:
    found: dict[int, int] = {_ID: 0, _TYPE: 0, _DURATION: 0}
    needs: dict[int, None] = {}
    attributes: dict[str, Any] = {}
    for field, value in _fields(message):
        if field in found and isinstance(value, int):
            found[field] = value
        elif field in (_CTRL_DEPS, _DATA_DEPS):
            needs.update(dict.fromkeys(_numbers(value) if isinstance(value, bytes) else [int(value)]))
        elif field == _ATTRIBUTE and isinstance(value, bytes):
            name, content = _attribute(value)
            attributes[name] = content
    return Node(found[_ID], KINDS[found[_TYPE]], tuple(needs), float(found[_DURATION]), attributes, number)


@lru_cache(maxsize=10_000)
def _attribute(message: bytes) -> tuple[str, Any]:
    name = ""
    content: Any = None
    for field, value in _fields(message):
        if field == _NAME and isinstance(value, bytes):
            name = value.decode()
        elif field == _STRING and isinstance(value, bytes):
            content = value.decode()
        elif isinstance(value, float | int) and field > 2:
            content = _signed(field, value)
    return name, content


def _signed(field: int, value: float) -> float:
    if field in _SIGNED and value >= 2**63:
        return value - 2**64
    return (int(value) >> 1) ^ -(int(value) & 1) if field in _ZIGZAG else value


def _fields(message: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Yield the fields of a message. ValueError for what is none. Numbers of one byte, which most are, take no call."""
    place, end = 0, len(message)
    while place < end:
        key, place = message[place], place + 1
        if key > 127:
            key, place = _number(message, place - 1)
        field, kind = key >> 3, key & 7
        value: int | float | bytes
        if kind == _VARIABLE:
            value, place = message[place], place + 1
            if value > 127:
                value, place = _number(message, place - 1)
        elif kind == _BYTES:
            length, place = message[place], place + 1
            if length > 127:
                length, place = _number(message, place - 1)
            if place + length > end:
                raise ValueError("a field is cut off")
            value, place = message[place : place + length], place + length
        elif kind in (_EIGHT, _FOUR):
            form = _FIXED.get((field, kind), "<q" if kind == _EIGHT else "<i")
            (value,), place = struct.unpack_from(form, message, place), place + struct.calcsize(form)
        else:
            raise ValueError(f"field {field} of kind {kind}")
        yield field, value


def _numbers(data: bytes) -> Iterator[int]:
    """Numbers of variable length, one after another."""
    place = 0
    while place < len(data):
        number, place = _number(data, place)
        yield number


def _number(data: bytes, place: int) -> tuple[int, int]:
    """Return a number of variable length: seven bits a byte, the lowest first. Also the place behind it."""
    byte = data[place]
    if byte < 128:
        return byte, place + 1
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


READERS.add_reader(RecordingReader("chakra", read_chakra_et, (".et",)))
