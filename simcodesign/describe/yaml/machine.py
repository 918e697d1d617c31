"""Machine files: from a YAML tree to a Machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.units import POSITIVE_RANGE, FloatOrArray, has_unit, is_positive
from simcodesign.describe.constants import (
    CAPACITY,
    CONSTANTS,
    HOCKNEY_KEYS,
    MODEL_OF,
    MOST_INTERFACES,
    POWERS,
    REQUIRED_CONSTANTS,
    check_constant,
    check_interfaces,
    check_not_former,
    check_occupancy,
    check_own_links,
    check_saturation,
    check_sharing,
    dimension_at,
)
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts import (
    ASSIGNMENTS,
    CHOICES,
    DUPLEXES,
    HITS,
    SHARES,
    SHARINGS,
    TRANSFERS,
    CacheLevel,
    Disk,
    Interfaces,
    LocalMessages,
    Memory,
    Network,
    Processor,
)
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.failures import Failures
from simcodesign.describe.topology.base import TOPOLOGIES, Topology
from simcodesign.describe.topology.build import build_topology, check_options
from simcodesign.describe.yaml.distribution import distribution_from
from simcodesign.describe.yaml.mapping import mapping_from
from simcodesign.describe.yaml.noise import noise_from
from simcodesign.describe.yaml.resources import CUSTOM_KEYS, custom_from
from simcodesign.describe.yaml.tree import Entry
from simcodesign.locality.cache import CacheGeometry

FORMAT = 1
MAX_SPINDLES = 10_000
#: Top-level keys of a machine file.
MACHINE_KEYS = (
    "simcodesign",
    "name",
    "about",
    "source",
    "nodes",
    "processors_per_node",
    "processor",
    "network",
    "disk",
    "caches",
    "memory",
    "mapping",
    "noise",
    "failures",
    *CUSTOM_KEYS,
)
_REQUIRED = ("simcodesign", "name", "nodes", "processor", "network")
#: A bandwidth may be written instead of the seconds per byte that the cost models use.
_BANDWIDTHS = {
    "network": {
        "bandwidth": "per_byte",
        "link_bandwidth": "link_per_byte",
        "reduction": "reduction_per_byte",
    },
    "disk": {"bandwidth": "per_byte"},
    "memory": {"bandwidth": "per_byte"},
    "processor": {},
}
#: Each of these two ways to say it, and the other.
OTHER_NAMES = {"G": "bandwidth"} | _BANDWIDTHS["network"] | {other: it for it, other in _BANDWIDTHS["network"].items()}


def machine_from(entry: Entry, folder: Path) -> Machine:
    """The machine of a file's tree; ``folder`` is where a GraphML file and a mapping that it names are looked for."""
    items = entry.mapping(MACHINE_KEYS, _REQUIRED)
    check_format(items["simcodesign"])
    nodes, processor = items["nodes"].whole(low=1), _processor(items["processor"])
    per_node = items["processors_per_node"].whole(low=1) if "processors_per_node" in items else 1
    return Machine(
        name=items["name"].name(),
        about=items["about"].text() if "about" in items else "",
        source=items["source"].text() if "source" in items else "",
        processor=processor,
        network=_network(items["network"], nodes, folder),
        disk=_disk(items["disk"], nodes) if "disk" in items else None,
        memory=_memory(items, processor),
        capacity_bytes=_capacity(items),
        processors_per_node=per_node,
        mapping=mapping_from(items["mapping"], nodes, per_node, folder) if "mapping" in items else "linear",
        noise=noise_from(items["noise"], nodes) if "noise" in items else 0.0,
        place=entry.place,
        custom=custom_from(items, entry.place),
        failures=_failures(items["failures"]) if "failures" in items else None,
    )


def _failures(entry: Entry) -> Failures:
    """``{mtbf: 5 year, distribution: exponential}``."""
    items = entry.mapping(("mtbf", "distribution"), ("mtbf",))
    law = distribution_from(items["distribution"]) if "distribution" in items else Distribution("exponential")
    return Failures(constant_value("failures.mtbf", items["mtbf"]), law, entry.place)


def check_format(entry: Entry) -> None:
    """InputError unless the file's format version is one that this program reads."""
    if entry.whole() != FORMAT:
        raise entry.error("unknown format version", str(FORMAT))


def _constants(
    entry: Entry, part: str, others: tuple[str, ...] = (), bandwidths: Mapping[str, str] = MappingProxyType({})
) -> dict[str, float]:
    """The constants of one part of the machine, by field name."""
    bandwidths = {**_BANDWIDTHS[part], **bandwidths}
    known = CONSTANTS | POWERS
    paths = {path.split(".", 1)[1]: path for path, (where, _, _) in known.items() if where == part}
    items = entry.mapping({*paths, *bandwidths, *others})
    values: dict[str, float] = {}
    for key, item in items.items():
        if key in others:
            continue
        path = paths[bandwidths.get(key, key)]
        name = known[path][1]
        if name in values:
            raise item.error(f"{path} is given twice: as a bandwidth and as time per byte")
        values[name] = constant_value(path, item) if key in paths else _time_per_byte(path, item)
    return values


def constant_value(path: str, item: Entry) -> float:
    """The constant of this path, in SI units, if it can be used."""
    dimension = dimension_at(path)
    assert dimension is not None, path
    value = item.quantity(dimension)
    check_constant(path, value, item.place)
    return value


def _time_per_byte(path: str, item: Entry) -> float:
    """Seconds per byte of a bandwidth."""
    bandwidth = item.quantity("bandwidth")
    if not is_positive(bandwidth):
        raise item.error("cannot be used", POSITIVE_RANGE)
    return 1 / bandwidth


def _processor(entry: Entry) -> Processor:
    values = _constants(entry, "processor")
    if "rate_flop_per_s" not in values:
        raise InputError("'rate' is missing", entry.place)
    return Processor(**values)


def _network(entry: Entry, nodes: int, folder: Path) -> Network:
    items = entry.mapping()
    model = items["model"].text(CHOICES["model"]) if "model" in items else Network.model
    *required, per_byte = REQUIRED_CONSTANTS[model]
    _check_keys_of(model, items)
    others = ("topology", "hops_hold_sender", "interfaces", "node", "socket", "saturation", *CHOICES)
    for key, item in items.items():
        check_not_former(f"network.{key}", item.place)
    values = _constants(entry, "network", others, {"bandwidth": per_byte})
    entry.mapping(required=("topology", *required))
    if "per_byte_s" not in values:
        raise InputError(f"'bandwidth' (or {per_byte!r}) is missing", entry.place)
    texts = {key: items[key].text(allowed) for key, allowed in CHOICES.items() if key in items and key != "sharing"}
    holds = items["hops_hold_sender"].flag() if "hops_hold_sender" in items else True
    topology = _topology(items["topology"], nodes, folder)
    interfaces = _interfaces(items["interfaces"]) if "interfaces" in items else Interfaces()
    own: dict[str, Any] = {**values, **texts, **_sharing(items), **_local(items)}
    if "saturation" in items:
        own["saturation"] = items["saturation"].number()
    network = Network(topology, hops_hold_sender=holds, interfaces=interfaces, **own)
    stated = items.get("link_per_byte", items.get("link_bandwidth", entry))
    check_occupancy(network, "link", stated.place)
    stated = items.get("interfaces", entry)
    check_occupancy(network, "interface", stated.place)
    check_interfaces(network, stated.place)
    check_saturation(network, items.get("saturation", entry).place)
    stated = items.get("hop_latency", items.get("link_per_byte", items.get("link_bandwidth", entry)))
    check_own_links(network, stated.place)
    check_sharing(network, items.get("sharing", entry).place)
    return network


def _interfaces(entry: Entry) -> Interfaces:
    """The network interfaces of a node."""
    items = entry.mapping(("count", "duplex", "assignment", "bandwidth", "per_byte"))
    if {"bandwidth", "per_byte"} <= items.keys():
        raise items["per_byte"].error("network.interfaces.per_byte is given twice: as a bandwidth and as time per byte")
    per_byte_s = None
    if "per_byte" in items:
        per_byte_s = constant_value("network.interfaces.per_byte", items["per_byte"])
    elif "bandwidth" in items:
        per_byte_s = _time_per_byte("network.interfaces.bandwidth", items["bandwidth"])
    return Interfaces(
        count=items["count"].whole(1, MOST_INTERFACES) if "count" in items else Interfaces.count,
        duplex=items["duplex"].text(DUPLEXES) if "duplex" in items else Interfaces.duplex,
        per_byte_s=per_byte_s,
        assignment=items["assignment"].text(ASSIGNMENTS) if "assignment" in items else None,
    )


def _sharing(items: Mapping[str, Entry]) -> dict[str, Any]:
    """How links are shared: a word, or a mapping of that word to how it is done."""
    if "sharing" not in items:
        return {}
    entry = items["sharing"]
    if not isinstance(entry.content, dict):
        return {"sharing": entry.text(SHARINGS)}
    given = entry.mapping(("fair", "packets"))
    if len(given) != 1:
        raise entry.error("one way of sharing links", "{fair: by_latency} or {packets: SIZE}")
    if "fair" in given:
        return {"sharing": "fair", "shares": given["fair"].text(SHARES)}
    return {"sharing": "packets", "packet_bytes": given["packets"].quantity("size")}


def _local(items: Mapping[str, Entry]) -> dict[str, Any]:
    """What messages within a node cost: within a socket, and between sockets."""
    found: dict[str, Any] = {}
    for key, more in (("node", ()), ("socket", ("per_node",))):
        if key not in items:
            continue
        given = items[key].mapping(("startup", "bandwidth", *more), ("startup", "bandwidth", *more))
        startup_s = given["startup"].quantity("time")
        check_constant(f"network.{key}.startup", startup_s, given["startup"].place)
        found[key] = LocalMessages(startup_s, _time_per_byte(f"network.{key}.bandwidth", given["bandwidth"]))
        if more:
            found["sockets_per_node"] = given["per_node"].whole(low=1)
    return found


def _check_keys_of(model: str, items: Mapping[str, Entry]) -> None:
    """InputError for a key that only another network model has."""
    for key, item in items.items():
        owner = "hockney" if key in HOCKNEY_KEYS else MODEL_OF.get(f"network.{key}", model)
        if owner != model:
            own = ", ".join(path.removeprefix("network.") for path, it in MODEL_OF.items() if it == model)
            what = f"{key!r} belongs to the network model {owner}, not to {model}"
            raise InputError(what, item.place, allowed=f"{own}; or 'model: {owner}'")


def _topology(entry: Entry, nodes: int, folder: Path) -> Topology:
    known = {option.key for topology in TOPOLOGIES.values() for option in topology.options}
    items = entry.mapping({"kind", *known}, ("kind",))
    kind = items["kind"].text(TOPOLOGIES)
    options = {option.key: option for option in TOPOLOGIES[kind].options}
    given = {key: item for key, item in items.items() if key != "kind"}
    check_options(kind, given, [*options], entry.place)
    values = {options[key].name: options[key].read(item, folder) for key, item in given.items()}
    return build_topology(kind, nodes, place=entry.place, **values)


def _disk(entry: Entry, nodes: int) -> Disk:
    values = _constants(entry, "disk", ("shared_by", "spindles"))
    items = entry.mapping()
    for name in ("read_startup_s", "write_startup_s"):
        if name not in values:
            raise InputError(f"{name.removesuffix('_s')!r} is missing", entry.place)
    if "per_byte_s" not in values:
        raise InputError("'bandwidth' (or 'per_byte') is missing", entry.place)
    shared_by = nodes if "shared_by" in items and items["shared_by"].content == "all" else None
    if shared_by is None:
        shared_by = items["shared_by"].whole(low=1) if "shared_by" in items else 1
    spindles = items["spindles"].whole(1, MAX_SPINDLES) if "spindles" in items else 1
    return Disk(**values, shared_by=shared_by, spindles=spindles)


def _memory(items: Mapping[str, Entry], processor: Processor) -> Memory | None:
    """The memory, and the caches before it."""
    if "memory" not in items:
        if "caches" in items:
            raise InputError("caches without a memory behind them", items["caches"].place, allowed="memory")
        return None
    entry = items["memory"]
    if "caches" not in items and {*entry.mapping()} == {"capacity"}:
        return None
    values = _constants(entry, "memory", ("line", "hits", "capacity", "transfers", "writebacks"))
    for name, keys in (("latency_s", "'latency'"), ("per_byte_s", "'bandwidth' (or 'per_byte')")):
        if name not in values:
            raise InputError(f"{keys} is missing", entry.place)
    given = entry.mapping()
    line = _whole_bytes(given["line"]) if "line" in given else Memory.line_bytes
    levels = items["caches"].mapping() if "caches" in items else {}
    caches = tuple(_cache(name, item, line, processor) for name, item in levels.items())
    hits = given["hits"].text(HITS) if "hits" in given else Memory.hits
    transfers = given["transfers"].text(TRANSFERS) if "transfers" in given else Memory.transfers
    writebacks = given["writebacks"].flag() if "writebacks" in given else Memory.writebacks
    return Memory(**values, caches=caches, line_bytes=line, hits=hits, transfers=transfers, writebacks=writebacks)


def _capacity(items: Mapping[str, Entry]) -> float | None:
    """The memory of a node in bytes, None if it is not stated."""
    given = items["memory"].mapping() if "memory" in items else {}
    if "capacity" not in given:
        return None
    value = given["capacity"].quantity("size")
    check_constant(CAPACITY, value, given["capacity"].place)
    return value


def _cache(name: str, entry: Entry, line_bytes: int, processor: Processor) -> CacheLevel:
    items = entry.mapping(("size", "ways", "latency", "bandwidth", "per_byte"), ("size", "latency"))
    ways = None if "ways" not in items or items["ways"].content == "full" else items["ways"].whole(low=1)
    latency_s, clock_hz = _latency(name, items["latency"], processor)
    per_byte_s, bandwidth_clock_hz = _cache_bandwidth(name, items, processor)
    size_bytes = _whole_bytes(items["size"])
    level = CacheLevel(name, size_bytes, latency_s, ways, clock_hz, per_byte_s, bandwidth_clock_hz)
    try:
        CacheGeometry(level.size_bytes, line_bytes, ways)
    except InputError as error:
        raise InputError(str(error), entry.place) from None
    return level


def _latency(name: str, entry: Entry, processor: Processor) -> tuple[float, FloatOrArray | None]:
    """The latency of a cache, and the clock if it is in cycles (``4 cycles``), which then decides how long that is."""
    in_cycles = has_unit(entry.text(), "cycles")
    if not in_cycles and "cyc" in entry.text().lower():
        entry.quantity("cycles")  # a misspelt unit: the message names the right one
    if not in_cycles:
        latency_s = entry.quantity("time")
    elif processor.clock_hz is None:
        raise entry.error("a latency in cycles needs processor.clock", "a machine with a clock, or a time")
    else:
        latency_s = entry.quantity("cycles") / float(processor.clock_hz)
    check_constant(f"caches.{name}.latency", latency_s, entry.place)
    return latency_s, processor.clock_hz if in_cycles else None


def _cache_bandwidth(
    name: str, items: Mapping[str, Entry], processor: Processor
) -> tuple[float | None, FloatOrArray | None]:
    """The time per byte of a cache, None if it is not stated, and the clock if it is of bytes per cycle
    (``32 B/cycle``), which then decides how long that is."""
    if {"bandwidth", "per_byte"} <= items.keys():
        raise items["per_byte"].error(f"caches.{name}.per_byte is given twice: as a bandwidth and as time per byte")
    path = f"caches.{name}.per_byte"
    if "per_byte" in items:
        return constant_value(path, items["per_byte"]), None
    if "bandwidth" not in items:
        return None, None
    entry = items["bandwidth"]
    in_cycles = has_unit(entry.text(), "bytes_per_cycle")
    if not in_cycles and "cyc" in entry.text().lower():
        entry.quantity("bytes_per_cycle")  # a misspelt unit: the message names the right one
    if not in_cycles:
        return _time_per_byte(path, entry), None
    if processor.clock_hz is None:
        raise entry.error("a bandwidth in bytes per cycle needs processor.clock", "a machine with a clock, or B/s")
    bytes_per_cycle = entry.quantity("bytes_per_cycle")
    if not is_positive(bytes_per_cycle):
        raise entry.error("cannot be used", POSITIVE_RANGE)
    per_byte_s = 1 / (bytes_per_cycle * float(processor.clock_hz))
    check_constant(path, per_byte_s, entry.place)
    return per_byte_s, processor.clock_hz


def _whole_bytes(entry: Entry) -> int:
    """A size of at least one byte."""
    value = entry.quantity("size")
    if value < 1 or value != int(value):
        raise entry.error("a size", "a whole number of bytes, 1 or more")
    return int(value)
