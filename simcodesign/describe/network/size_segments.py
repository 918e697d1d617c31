"""Costs of messages that are piecewise by their size: protocols change, from eager to rendezvous, say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import LEAST, MOST, FloatOrArray
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel, SizeSegment

#: The end of a segment, as a file names it.
UP_TO = "up_to"
#: Path of the network's segments, which are counted from 1 on, and the pattern of a path in one.
PATH = "network.segments"
_PATH = re.compile(r"network\.segments\.([1-9][0-9]{0,3})\.(\w+)")
#: Such a path, for a reader.
SEGMENT_PATHS = f"{PATH}.NUMBER.startup"
#: Paths of constants of caches and segments, whose names and numbers the machine file gives.
NUMBERED_PATHS = rf"^(caches\.[^.]+\.per_byte|{_PATH.pattern})$"


def segment_at(path: str) -> tuple[int, str] | None:
    """Return the number of a segment, from 1 on, and the key of the constant at this path; None for any other path."""
    match = _PATH.fullmatch(path)
    known = {UP_TO, *(key for model in MESSAGE_MODELS.values() for key in model.constants())}
    return (int(match.group(1)), match.group(2)) if match and match.group(2) in known else None


def segment_dimension(key: str) -> str:
    """Return the dimension of the constant of a segment with this key, as the unit table names it."""
    every = (model.constants() for model in MESSAGE_MODELS.values())
    return "size" if key == UP_TO else next(constants[key][1] for constants in every if key in constants)


def segment_constants(model: MessageModel) -> dict[str, FloatOrArray]:
    """All that the segments of a model of messages over the network state, by its path."""
    keys = {key: name for key, (name, _) in model.constants_by_size().items()}
    values = {
        f"{PATH}.{number}.{key}": getattr(segment, name, None)
        for number, segment in enumerate(model.segments, start=1)
        for key, name in {**keys, UP_TO: "up_to_bytes"}.items()
        if key != UP_TO or number < len(model.segments)
    }
    return {where: value for where, value in values.items() if value is not None}


def with_segment_constants(
    model: MessageModel, values: Mapping[str, FloatOrArray], place: Place
) -> tuple[SizeSegment, ...]:
    """Return the segments of a model of messages with other constants, by their paths.

    InputError for one that they have not.
    """
    changed, constants = list(model.segments), model.constants_by_size()
    for path, value in values.items():
        found = segment_at(path)
        assert found is not None, path
        number, key = found
        has_it = key in constants if key != UP_TO else number < len(changed)
        if number > len(changed) or not has_it:
            what = "the network has no segment with this constant" if changed else "the network has no segments"
            allowed = nearest(path, segment_constants(model)) if changed else "a machine with segments"
            raise InputError(what, place, value=path, allowed=allowed)
        new: dict[str, Any] = {"up_to_bytes" if key == UP_TO else constants[key][0]: value}
        changed[number - 1] = replace(changed[number - 1], **new)
    return tuple(changed)


def check_segments(segments: Sequence[SizeSegment], path: str, place: Place) -> None:
    """InputError unless every segment ends above the previous one, and the last one has no end."""
    below: FloatOrArray = 0.0
    for number, segment in enumerate(segments, start=1):
        upper, where = np.asarray(segment.up_to_bytes, dtype=np.float64), f"{path}.{number}.{UP_TO}"
        if number == len(segments):
            if not np.all(np.isinf(upper)):
                what = f"{where}: the last segment has no end"
                raise InputError(what, place, value=float(upper.flat[0]), allowed=f"no {UP_TO}, or one more segment")
            return
        if np.any(np.isinf(upper)):
            raise InputError(f"{where} is missing: only the last segment has no end", place)
        if not np.all((upper >= LEAST) & (upper <= MOST) & (upper > below)):
            what = f"{where}: each segment ends above the previous one"
            allowed = f"more than {float(np.max(below)):g} bytes"
            raise InputError(what, place, value=float(np.min(upper)), allowed=allowed)
        below = upper
