"""Costs of messages that are piecewise by their size: protocols change, from eager to rendezvous, say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import LEAST, MOST, FloatOrArray


@dataclass(frozen=True)
class SizeSegment:
    """The constants of messages above the segment before it, up to and including ``up_to_bytes``.

    In Hockney's model ``startup_s``, ``per_byte_s`` and ``receive_overhead_s`` (None: that of the network); in LogGOPS
    ``latency_s``, ``overhead_s``, ``gap_s``, ``per_byte_s`` and ``overhead_per_byte_s``. They are for all bytes of a
    message, not for those beyond the segment before. With ``rendezvous`` what comes after a send waits until the
    receiver takes the message up, as above S.
    """

    up_to_bytes: FloatOrArray = np.inf
    startup_s: FloatOrArray = 0.0
    per_byte_s: FloatOrArray = 0.0
    receive_overhead_s: FloatOrArray | None = None
    latency_s: FloatOrArray = 0.0
    overhead_s: FloatOrArray = 0.0
    gap_s: FloatOrArray = 0.0
    overhead_per_byte_s: FloatOrArray = 0.0
    rendezvous: bool = False


#: The end of a segment, as a file names it.
UP_TO = "up_to"
#: Network model -> key of a segment -> its field, which is that of a network too, and its dimension; those that are
#: required come first.
KEYS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "hockney": {
        "startup": ("startup_s", "time"),
        "per_byte": ("per_byte_s", "per_byte"),
        "receive_overhead": ("receive_overhead_s", "time"),
    },
    "loggop": {
        "L": ("latency_s", "time"),
        "o": ("overhead_s", "time"),
        "g": ("gap_s", "time"),
        "G": ("per_byte_s", "per_byte"),
        "O": ("overhead_per_byte_s", "per_byte"),
    },
}
#: Those of a segment that may be left out; the first one then is that of the network.
OPTIONAL = ("receive_overhead", "O")
#: Network model -> what a network with segments does not state itself.
IN_SEGMENTS = {model: tuple(key for key in keys if key != OPTIONAL[0]) for model, keys in KEYS.items()}
#: Where segments of the network stand, which are counted from 1 on, and what a path of one looks like.
PATH = "network.segments"
_PATH = re.compile(r"network\.segments\.([1-9][0-9]{0,3})\.(\w+)")
#: The same, for a reader.
SEGMENT_PATHS = f"{PATH}.NUMBER.startup"


def segment_at(path: str) -> tuple[int, str] | None:
    """The number of a segment, from 1 on, and the key of the constant at this path; None for any other path."""
    match = _PATH.fullmatch(path)
    known = {UP_TO, *KEYS["hockney"], *KEYS["loggop"]}
    return (int(match.group(1)), match.group(2)) if match and match.group(2) in known else None


def segment_dimension(key: str) -> str:
    """The dimension of the constant of a segment with this key, as the unit table names it."""
    return "size" if key == UP_TO else next(keys[key][1] for keys in KEYS.values() if key in keys)


def segment_constants(segments: Sequence[SizeSegment], model: str, path: str = PATH) -> dict[str, FloatOrArray]:
    """All that the segments of a network of this model state, by its path."""
    keys = {key: name for key, (name, _) in KEYS[model].items()}
    values = {
        f"{path}.{number}.{key}": getattr(segment, name)
        for number, segment in enumerate(segments, start=1)
        for key, name in {**keys, UP_TO: "up_to_bytes"}.items()
        if key != UP_TO or number < len(segments)
    }
    return {where: value for where, value in values.items() if value is not None}


def with_segment_constants(
    segments: Sequence[SizeSegment], model: str, values: Mapping[str, FloatOrArray], place: Place
) -> tuple[SizeSegment, ...]:
    """The segments of a network of this model with other constants, by their paths. InputError for one that they have
    not."""
    changed = list(segments)
    for path, value in values.items():
        found = segment_at(path)
        assert found is not None, path
        number, key = found
        has_it = key in KEYS[model] if key != UP_TO else number < len(segments)
        if number > len(segments) or not has_it:
            what = "the network has no segment with this constant" if segments else "the network has no segments"
            allowed = nearest(path, segment_constants(segments, model)) if segments else "a machine with segments"
            raise InputError(what, place, value=path, allowed=allowed)
        new: dict[str, Any] = {"up_to_bytes" if key == UP_TO else KEYS[model][key][0]: value}
        changed[number - 1] = replace(changed[number - 1], **new)
    return tuple(changed)


def check_segments(segments: Sequence[SizeSegment], path: str, place: Place) -> None:
    """InputError unless every segment ends above the one before it, the last one nowhere."""
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
            what = f"{where}: each segment ends above the one before it"
            allowed = f"more than {float(np.max(below)):g} bytes"
            raise InputError(what, place, value=float(np.min(upper)), allowed=allowed)
        below = upper
