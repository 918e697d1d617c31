"""Constants of one part of a machine, from a YAML tree."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from simcodesign.core.units import POSITIVE_RANGE, is_positive
from simcodesign.describe.constants import CONSTANTS, POWERS, check_constant, dimension_at
from simcodesign.describe.yaml.tree import Entry

#: A bandwidth may be written instead of the seconds per byte that the cost models use.
_BANDWIDTHS = {
    "network": {
        "bandwidth": "per_byte",
        "link_bandwidth": "link_per_byte",
        "reduction": "reduction_per_byte",
    },
    "disk": {"bandwidth": "per_byte"},
    "memory": {"bandwidth": "per_byte"},
    "storage": {"bandwidth": "per_byte", "write_bandwidth": "write_per_byte"},
    "processor": {},
}
#: Each of these two ways to say it, and the other.
OTHER_NAMES = {"G": "bandwidth"} | {
    one: other
    for part in ("network", "storage")
    for pair in _BANDWIDTHS[part].items()
    for one, other in (pair, pair[::-1])
}


def constants_from(
    entry: Entry, part: str, others: tuple[str, ...] = (), bandwidths: Mapping[str, str] = MappingProxyType({})
) -> dict[str, float]:
    """The constants of one part of the machine, by field name."""
    bandwidths = {**_BANDWIDTHS[part], **bandwidths}
    known = CONSTANTS | POWERS
    keys = {path: path.split(".", 1)[1] for path, (where, _, _) in known.items() if where == part}
    paths = {key: path for path, key in keys.items() if "." not in key}  # others are in a mapping of their own
    items = entry.mapping({*paths, *bandwidths, *others})
    values: dict[str, float] = {}
    for key, item in items.items():
        if key in others:
            continue
        path = paths[bandwidths.get(key, key)]
        name = known[path][1]
        if name in values:
            raise item.error(f"{path} is given twice: as a bandwidth and as time per byte")
        values[name] = constant_value(path, item) if key in paths else time_per_byte(path, item)
    return values


def constant_value(path: str, item: Entry) -> float:
    """The constant of this path, in SI units, if it can be used."""
    dimension = dimension_at(path)
    assert dimension is not None, path
    value = item.quantity(dimension)
    check_constant(path, value, item.place)
    return value


def time_per_byte(path: str, item: Entry) -> float:
    """Seconds per byte of a bandwidth."""
    bandwidth = item.quantity("bandwidth")
    if not is_positive(bandwidth):
        raise item.error("cannot be used", POSITIVE_RANGE)
    return 1 / bandwidth


def whole_bytes(entry: Entry) -> int:
    """A size of at least one byte."""
    value = entry.quantity("size")
    if value < 1 or value != int(value):
        raise entry.error("a size", "a whole number of bytes, 1 or more")
    return int(value)
