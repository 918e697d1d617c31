"""Costs of messages that are piecewise by their size, from a YAML tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from inspect import isabstract
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.describe.constants import check_constant
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel, SizeSegment
from simcodesign.describe.network.message_models.hockney import Hockney
from simcodesign.describe.network.size_segments import UP_TO, check_segments
from simcodesign.describe.yaml.constants import time_per_byte
from simcodesign.describe.yaml.tree import Entry

#: What segments of messages within a node, or between its sockets, have: who waits is said for all messages.
LOCAL_KEYS = (*Hockney.in_segments(), "bandwidth", UP_TO)


def said_by_segments() -> tuple[str, ...]:
    """Keys of a network, of any model, that segments replace."""
    keys = dict.fromkeys(key for model in MESSAGE_MODELS.values() for key in model.in_segments())
    return *keys, "bandwidth"


def segments_from(
    entry: Entry, model: type[MessageModel], keys: Collection[str] | None = None
) -> tuple[SizeSegment, ...]:
    """The segments of messages of this network model; with all of its keys, or some."""
    if isabstract(model.segment):
        raise entry.error(f"the network model {model.name} has no segments", "its constants, for messages of all sizes")
    every = entry.sequence()
    if not every:
        raise entry.error("no segments", "one or more, the last one without up_to")
    segments = tuple(_segment(item, model, keys, is_last=item is every[-1]) for item in every)
    check_segments(segments, entry.place.path, entry.place)
    return segments


def _segment(entry: Entry, model: type[MessageModel], keys: Collection[str] | None, is_last: bool) -> SizeSegment:
    per_byte, constants = model.per_byte_key(), model.constants_by_size()
    items = entry.mapping(keys or (*constants, "bandwidth", "rendezvous", UP_TO))
    required = [key for key in model.required if key != per_byte]
    entry.mapping(required=(*required, *(() if is_last else (UP_TO,))))
    if is_last and UP_TO in items:
        raise items[UP_TO].error("the last segment has no end", f"no {UP_TO}, or one more segment after it")
    if ("bandwidth" in items) == (per_byte in items):
        many = "given twice: as a bandwidth and as time per byte" if "bandwidth" in items else "missing"
        raise InputError(f"'bandwidth' (or {per_byte!r}) is {many}", entry.place)
    values: dict[str, Any] = {}
    for key, (name, dimension) in constants.items():
        if key in items:
            values[name] = items[key].quantity(dimension)
            check_constant(f"{entry.place.path}.{key}", values[name], items[key].place)
    if "bandwidth" in items:
        values["per_byte_s"] = time_per_byte(f"{entry.place.path}.bandwidth", items["bandwidth"])
    if UP_TO in items:
        values["up_to_bytes"] = items[UP_TO].quantity("size")
    if "rendezvous" in items:
        values["rendezvous"] = items["rendezvous"].flag()
    return model.segment(**values)


def check_not_beside(items: Mapping[str, Entry], model: type[MessageModel]) -> None:
    """InputError for a constant of the network that its segments state."""
    for key in (*model.in_segments(), "bandwidth"):
        if key in items:
            raise items[key].error(f"network.{key} is said by network.segments", "one of them")
