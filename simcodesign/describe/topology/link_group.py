"""Links of a network that differ from others: by dimension of a grid, level of a tree, or edge of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import LEAST, MOST, NOT_NEGATIVE_RANGE, POSITIVE_RANGE, parse_quantity
from simcodesign.describe.keys.forms import Quantity
from simcodesign.describe.keys.section import Items
from simcodesign.describe.yaml.tree import Entry

MOST_TAPER = 1e6
#: The attributes of a link, and what each is.
DIMENSION_OF = {"bandwidth": "bandwidth", "latency": "time"}
_TAPER_RANGE = f"a number from 1 to {MOST_TAPER:g}"


@dataclass(frozen=True)
class LinkGroup:
    """``links`` links that are alike.

    None: as the constants of the machine's network have it for all links; ``taper``: their bandwidth is the network's
    divided by this factor.
    """

    name: str
    links: int
    per_byte_s: float | None = None
    latency_s: float | None = None
    taper: float = 1.0

    @property
    def is_own(self) -> bool:
        """Whether its links have any property that differs from the network's."""
        return self.per_byte_s is not None or self.latency_s is not None or self.taper != 1.0


def link_groups(
    names: Iterable[str],
    links: Sequence[int],
    bandwidth: Sequence[float] | None,
    latency: Sequence[float] | None,
    taper: Sequence[float] | None = None,
) -> tuple[LinkGroup, ...]:
    """Return a group for each name: numbers of links, bandwidths (B/s), latencies (s) and tapers.

    All of the same length.
    """
    return tuple(
        LinkGroup(
            name,
            links[place],
            None if bandwidth is None else 1 / bandwidth[place],
            None if latency is None else latency[place],
            1.0 if taper is None else taper[place],
        )
        for place, name in enumerate(names)
    )


def checked_value(value: object, name: str, what: str, place: Place | None) -> float:
    """Return the bandwidth, latency or taper of links, a number in SI units or a text with a unit, if it can be used.

    ``what``: whose it is, for the InputError.
    """
    dimension = DIMENSION_OF.get(name, "count")
    allowed = {"bandwidth": POSITIVE_RANGE, "latency": NOT_NEGATIVE_RANGE}.get(name, _TAPER_RANGE)
    number: Any = parse_quantity(value, dimension, place) if isinstance(value, str) else value
    try:
        size = float("nan") if isinstance(number, bool) else float(number)
    except (TypeError, ValueError, OverflowError):
        size = float("nan")
    good = 1 <= size <= MOST_TAPER if name == "taper" else LEAST <= size <= MOST
    if not good and not (name == "latency" and size == 0):
        raise InputError(f"{name} of {what} is out of range", place, value=value, allowed=allowed)
    return size + 0.0


def checked_values(
    values: object, name: str, count: int, of: str, place: Place | None = None
) -> tuple[float, ...] | None:
    """Return a list of bandwidths (B/s), latencies (s) or tapers, or None.

    One for each of the ``count`` things that ``of`` names. InputError for another number of them and for values that
    cannot be used.
    """
    if values is None:
        return None
    if isinstance(values, str) or not hasattr(values, "__len__") or not hasattr(values, "__iter__"):
        raise InputError(f"{name} of links", place, value=values, allowed=f"a list, one for each {of}")
    if len(values) != count:
        given = [*values]
        raise InputError(f"{name} of links: one for each {of}", place, value=given, allowed=f"a list of {count}")
    return tuple(checked_value(value, name, f"{of} {number}", place) for number, value in enumerate(values))


class LinkValue(Quantity):
    """A bandwidth, latency or taper of links."""

    def __init__(self, name: str) -> None:
        super().__init__(DIMENSION_OF.get(name, "count"))
        self.name = name

    def read(self, entry: Entry) -> float:
        return checked_value(entry.text(), self.name, "links", entry.place)


def values_of_links(name: str) -> Items:
    """Return the form of a list of bandwidths, latencies or tapers of links."""
    return Items(LinkValue(name), "of one dimension, level or kind of links", make=list)
