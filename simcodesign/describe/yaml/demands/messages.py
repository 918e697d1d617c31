"""Messages of a workload file: single ones, exchanges, wavefronts, and requests that arrive at random."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.describe.demands.arrivals import KINDS as ARRIVAL_KINDS
from simcodesign.describe.demands.arrivals import TARGETS, Arrivals
from simcodesign.describe.demands.exchange import Exchange
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.demands.wait import Poll, Wait
from simcodesign.describe.demands.wavefront import CORNERS, Corner, Wavefront
from simcodesign.describe.keys.forms import Choice, Expr, Flag, Name, OneOf, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items
from simcodesign.describe.yaml.demands.base import (
    GROUP,
    READERS,
    WHEN,
    DemandReader,
    demand,
    each,
    footprint,
    per_dimension,
)
from simcodesign.describe.yaml.demands.computation import WORK, work_from
from simcodesign.describe.yaml.distribution import DISTRIBUTION, VARIES
from simcodesign.describe.yaml.resources import QuantityOrFormula
from simcodesign.describe.yaml.tree import Entry

#: ``destination`` of messages to any other rank.
UNIFORM = "uniform"
MOST_TAG = 2**31 - 3
#: ``from`` of a receive that takes the message that comes first.
ANYONE = "anyone"
_TAG = Key("tag", Whole(0, MOST_TAG), "tag of the message", "0")
_IN_GROUP = replace(GROUP, about="the communicator in which ranks count")


@demand(
    "arrivals",
    "requests that arrive at random at a disk or the network (an open stream)",
    Key("to", Choice(TARGETS), "their target", required=True),
    Key("rate", Expr(), "requests per second of each rank", required=True),
    Key("requests", Expr(), "how many arrive at each rank", required=True),
    Key("between", DISTRIBUTION, "law of the times between two; a distribution", "exponential"),
    Key("bytes", QuantityOrFormula("size"), "bytes of a request", required=True),
    Key("kind", Choice(ARRIVAL_KINDS), "whether a disk reads or writes", ARRIVAL_KINDS[0]),
    replace(VARIES, about="how times of service vary; a distribution", default="they do not"),
    Key("capacity", Expr(), "requests that a disk holds, those in service too; others are blocked", "no limit"),
    Key(
        "next",
        Items(Items(Expr(), "one probability"), "the row of one disk"),
        "probabilities with which a request continues from one disk to another; a row for each disk",
        "none",
    ),
    Key("destination", OneOf(Choice({UNIFORM: None}), Expr()), "to which rank, or `uniform` for any other", UNIFORM),
    WHEN,
)
def _arrivals(name: str, entry: Entry, values: dict[str, Any]) -> Arrivals:
    for key in ("kind", "capacity", "next", "destination"):
        owner = "network" if key == "destination" else "disk"
        if key in values and values["to"] != owner:
            raise InputError(f"{key} belongs to arrivals to the {owner}", entry.mapping()[key].place)
    return Arrivals(**values, place=entry.place)


@demand(
    "send",
    "the sending of a message",
    Key("to", Expr(), "the rank that receives it", required=True),
    Key("bytes", Expr(), "bytes of the message", required=True),
    _TAG,
    WHEN,
    _IN_GROUP,
    footprint("as `bytes`"),
)
def _send(name: str, entry: Entry, values: dict[str, Any]) -> Send:
    return Send(**values, place=entry.place)


@demand(
    "receive",
    "the receipt of a message",
    Key(
        "from",
        OneOf(Choice({ANYONE: None}), Expr()),
        f"the rank that sent it, or `{ANYONE}`",
        required=True,
        field="source",
    ),
    Key("bytes", Expr(), "what must have been sent", "anything"),
    _TAG,
    WHEN,
    _IN_GROUP,
)
def _receive(name: str, entry: Entry, values: dict[str, Any]) -> Receive:
    return Receive(**{"bytes": None} | values, place=entry.place)


_PATTERNS = {f"halo{dims}d": dims for dims in range(1, 5)}


@demand(
    "exchange",
    "messages with all neighbours on a grid of ranks",
    Key("pattern", Choice(_PATTERNS), "number of dimensions", required=True, field="dims"),
    Key("bytes", per_dimension(), "bytes of a message; one expression, or one for each dimension", required=True),
    Key("grid", per_dimension(), "ranks in each dimension", "the balanced grid"),
    Key("periodic", Flag(), "whether the grid is closed to rings", "true"),
    Key("messages", per_dimension(), "messages to each neighbour; one expression, or one for each dimension", "1"),
    Key("train", Expr(), "messages that a simulation takes as one transfer", "1"),
    GROUP,
    footprint("twice the bytes of all neighbours"),
)
def _exchange(name: str, entry: Entry, values: dict[str, Any]) -> Exchange:
    for key in ("bytes", "grid", "messages"):
        if key in values:
            values[key] = each(values[key], values["dims"], entry.mapping()[key])
    return Exchange(**values, place=entry.place)


class _Corners(OneOf):
    """How many sweeps, or the corner from which each begins: [x, y], 0 for the lower and 1 for the upper end."""

    def read(self, entry: Entry) -> tuple[Corner, ...]:
        return _corners(entry)


@demand(
    "wavefront",
    "sweeps through a grid of ranks, from corner to corner",
    Key("grid", per_dimension(), "ranks in both dimensions", required=True),
    Key("planes", Expr(), "planes of a sweep", required=True),
    Key("bytes", per_dimension(), "bytes of a message; one expression, or one for each dimension", required=True),
    Key("compute", WORK, "the work of a plane", "none"),
    Key(
        "corners",
        _Corners(
            Whole(1, max(CORNERS)),
            Items(
                Items(Whole(0, 1), "0: the lower end of a dimension, 1: the upper", "0 or 1"), "the corner of one sweep"
            ),
        ),
        "number of sweeps (1, 2 or 4), or the corner at which each begins",
        "1",
    ),
    GROUP,
    footprint("of a block: twice the bytes of x and y"),
)
def _wavefront(name: str, entry: Entry, values: dict[str, Any]) -> Wavefront:
    items = entry.mapping()
    for key in ("grid", "bytes"):
        values[key] = each(values[key], 2, items[key])
    if "compute" in items:
        values["compute"] = work_from(items["compute"])
    return Wavefront(**values, place=entry.place)


def _corners(entry: Entry) -> tuple[Corner, ...]:
    """How many sweeps, or the corner from which each begins: [x, y], 0 for the lower and 1 for the upper end."""
    if isinstance(entry.content, str):
        number = entry.whole(1, max(CORNERS))
        if number not in CORNERS:
            raise entry.error("corners of a wavefront", "1, 2, 4, or a list as [[0, 0], [1, 1]]")
        return CORNERS[number]
    corners = [[end.whole(0, 1) for end in corner.sequence()] for corner in entry.sequence()]
    if not corners or any(len(corner) != 2 for corner in corners):
        raise InputError("corners of a wavefront", entry.place, value=corners, allowed="e.g. [[0, 0], [1, 1]]")
    return tuple((x, y) for x, y in corners)


_STARTED = OneOf(Name(), Items(Name(), "one name"))


def _wait(name: str, entry: Entry) -> Wait:
    return Wait(None, entry.place, _names(entry, "nothing is waited for"))


def _poll(name: str, entry: Entry) -> Poll:
    return Poll(None, entry.place, _names(entry, "nothing is polled"))


def _names(entry: Entry, nothing: str) -> tuple[str, ...]:
    names = [entry] if isinstance(entry.content, str) else entry.sequence()
    if not names:
        raise InputError(nothing, entry.place)
    return tuple(item.name() for item in names)


READERS.add("wait", DemandReader("the names of what was started, one or a list", _STARTED, _wait))
READERS.add("poll", DemandReader("the names of what was started with `polled`, one or a list", _STARTED, _poll))
