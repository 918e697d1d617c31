"""Chakra execution traces as JSON, as ``chakra_jsonizer`` writes them: one object after another, or an array of them.

Each rank has a file, ``NAME.RANK.json``. The first object may be the global metadata; names of keys are those of
``et_def.proto``, in snake case or in camel case; numbers may be texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import read_text
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.chakra_nodes import KINDS, Node, recording_of_nodes
from simcodesign.describe.recordings.readers.registry import READERS, RecordingReader

_BETWEEN = re.compile(r"[\s,\[\]]*")
_VALUE = re.compile(r"(double|float|[su]?int(32|64)|s?fixed(32|64)|bool|string|bytes)(Val|List|_val|_list)")


def read_chakra_json(path: Path) -> Recording:
    """Return the recording of the traces of all ranks. InputError with file and line."""
    return recording_of_nodes(path, _nodes)


def _nodes(path: Path) -> list[Node]:
    nodes = []
    for line, item in _objects(path):
        keys = dict(zip(_plain(tuple(item)), item.values(), strict=True))
        if "id" not in keys and "type" not in keys:
            continue  # metadata
        try:
            nodes.append(_node(keys, line))
        except (TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
            place = Place(str(path), line)
            raise InputError(
                "no node of a Chakra trace", place, value=str(error), allowed="id, type, attr ..."
            ) from None
    return nodes


@lru_cache(maxsize=1000)
def _plain(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Keys in small letters without underscores."""
    return tuple(key.replace("_", "").lower() for key in keys)


@lru_cache(maxsize=1000)
def _value_key(keys: tuple[str, ...]) -> str:
    """Return the key of a value, which is the name of its type; empty if there is none."""
    return next(filter(_VALUE.fullmatch, keys), "")


def _node(keys: dict[str, Any], line: int) -> Node:
    kind = keys.get("type", 0)
    kind = KINDS[kind] if isinstance(kind, int) else str(kind)
    if kind not in KINDS:
        raise ValueError(f"type {kind}")
    needs = dict.fromkeys(map(int, (*keys.get("ctrldeps", ()), *keys.get("datadeps", ()))))
    attributes = {one["name"]: one.get(_value_key(tuple(one))) for one in keys.get("attr", ())}
    duration_us = float(keys.get("durationmicros", 0))
    return Node(int(keys.get("id", 0)), kind, tuple(needs), duration_us, attributes, line)


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file with the lines in which they begin."""
    text, decoder = read_text(path), json.JSONDecoder()
    place = line_at = 0
    line = 1
    while True:
        between = _BETWEEN.match(text, place)
        assert between is not None
        place = between.end()
        line, line_at = line + text.count("\n", line_at, place), place
        if place == len(text):
            return
        try:
            item, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {error}", Place(str(path), line)) from None
        if not isinstance(item, dict):
            raise InputError("no object of JSON", Place(str(path), line), value=item, allowed="nodes")
        yield line, item


def _sniff(start: FileStart) -> Match:
    is_one = start.text.startswith(("{", "[")) and re.search(
        r'"(COMP|COMM_COLL|COMM_SEND|COMM_RECV|MEM_LOAD|MEM_STORE|METADATA)_NODE"|"(ctrl|data)_?[dD]eps"', start.text
    )
    return Match.CERTAIN if is_one else Match.NONE


READERS.add_reader(RecordingReader("chakra-json", read_chakra_json, (), _sniff))
