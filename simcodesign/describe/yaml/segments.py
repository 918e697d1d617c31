"""Costs of messages that are piecewise by their size, from a YAML tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from inspect import isabstract

from simcodesign.describe.keys.forms import ABOVE_0, Amount, Bandwidth, Flag
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Section
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel, SizeSegment
from simcodesign.describe.network.message_models.hockney import Hockney
from simcodesign.describe.network.size_segments import UP_TO, check_segments
from simcodesign.describe.yaml.tree import Entry


def said_by_segments() -> tuple[str, ...]:
    """Keys of a network, of any model, that segments replace."""
    keys = dict.fromkeys(key for model in MESSAGE_MODELS.values() for key in model.in_segments())
    return *keys, "bandwidth"


def segment_section(model: type[MessageModel]) -> Section:
    """Return the keys of a segment of this model of messages."""
    per_byte = model.per_byte_key()
    own = [_in_segment(key, model) for key in model.keys if key.name in model.constants_by_size()]
    about = "largest message of the range; the last range has none"
    return Section(
        Key("bandwidth", Bandwidth(), "bytes per second of these messages", required=True, field="per_byte_s"),
        *(replace(key, required=key.required and key.name != per_byte) for key in own),
        Key(UP_TO, Amount("size", ABOVE_0), about, "no end", field="up_to_bytes"),
        Key("rendezvous", Flag(), "whether senders wait for their receivers", "false"),
    )


def _in_segment(key: Key, model: type[MessageModel]) -> Key:
    return replace(key, default=f"as `network.{key.name}`") if key.name in model.beside_segments else key


def segments_key() -> Key:
    """Return the key with the segments of any model of messages."""
    models = [model for model in MESSAGE_MODELS.values() if not isabstract(model.segment)]
    keys = {key.name: replace(key, required=False) for model in models for key in segment_section(model).keys}
    about = "costs by the size of the message, instead of `startup` and `bandwidth` (docs/segments.md)"
    return Key("segments", Items(Section(*keys.values()), "one range of sizes"), about)


def segments_from(entry: Entry, model: type[MessageModel], section: Section | None = None) -> tuple[SizeSegment, ...]:
    """Return the segments of messages of this network model; with all of its keys, or with the keys of a section."""
    if isabstract(model.segment):
        raise entry.error(f"the network model {model.name} has no segments", "its constants, for messages of all sizes")
    every = entry.sequence()
    if not every:
        raise entry.error("no segments", "one or more, the last one without up_to")
    keys = section or segment_section(model)
    segments = tuple(_segment(item, model, keys, is_last=item is every[-1]) for item in every)
    check_segments(segments, entry.place.path, entry.place)
    return segments


def _segment(entry: Entry, model: type[MessageModel], section: Section, is_last: bool) -> SizeSegment:
    items = section.items(entry)
    if not is_last:
        entry.mapping(required=(UP_TO,))
    if is_last and UP_TO in items:
        raise items[UP_TO].error("the last segment has no end", f"no {UP_TO}, or one more segment after it")
    return model.segment(**section.values(items))


class LocalSegments(Items):
    """Segments of messages within a node, or between its sockets: who waits is stated for all messages."""

    def read(self, entry: Entry) -> tuple[SizeSegment, ...]:
        return segments_from(entry, Hockney, _LOCAL)


_LOCAL = Section(*(key for key in segment_section(Hockney).keys if key.name not in ("rendezvous", "receive_overhead")))
LOCAL_SEGMENTS = LocalSegments(_LOCAL, "one range of sizes")


def check_not_beside(items: Mapping[str, Entry], model: type[MessageModel]) -> None:
    """InputError for a constant of the network that its segments state."""
    for key in (*model.in_segments(), "bandwidth"):
        if key in items:
            raise items[key].error(f"network.{key} and network.segments exclude each other", "one of them")
