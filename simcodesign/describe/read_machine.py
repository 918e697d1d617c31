"""Machine files: from a YAML tree to a Machine."""

from __future__ import annotations

from pathlib import Path

from simcodesign.describe.machine import (
    CONSTANTS,
    DISTANCES,
    MAPPINGS,
    SWITCHINGS,
    Disk,
    Machine,
    Network,
    Processor,
)
from simcodesign.describe.topology import Topology, build_topology, load_graphml
from simcodesign.describe.yaml_tree import Entry
from simcodesign.errors import InputError

FORMAT = 1
_KEYS = ("simcodesign", "name", "about", "source", "nodes", "processors_per_node", "processor", "network", "disk",
         "mapping", "noise")  # fmt: skip
_REQUIRED = ("simcodesign", "name", "nodes", "processor", "network")
#: A bandwidth may be written instead of the seconds per byte that the cost models use.
_BANDWIDTHS = {
    "network": {"bandwidth": "per_byte", "link_bandwidth": "link_per_byte", "interface_bandwidth": "interface_per_byte"},
    "disk": {"bandwidth": "per_byte"},
    "processor": {},
}  # fmt: skip


def machine_from(entry: Entry, folder: Path) -> Machine:
    """The machine of a file's tree; ``folder`` is where a GraphML file named in it is looked for."""
    items = entry.mapping(_KEYS, _REQUIRED)
    check_format(items["simcodesign"])
    nodes = items["nodes"].whole(low=1)
    per_node = items["processors_per_node"].whole(low=1) if "processors_per_node" in items else 1
    return Machine(
        name=items["name"].text(),
        about=items["about"].text() if "about" in items else "",
        source=items["source"].text() if "source" in items else "",
        processor=_processor(items["processor"]),
        network=_network(items["network"], nodes, folder),
        disk=_disk(items["disk"], nodes) if "disk" in items else None,
        processors_per_node=per_node,
        mapping=_mapping(items["mapping"], nodes, per_node) if "mapping" in items else "linear",
        noise=_noise(items["noise"]) if "noise" in items else 0.0,
        place=entry.place,
    )


def check_format(entry: Entry) -> None:
    """InputError unless the file's format version is one that this program reads."""
    if entry.whole() != FORMAT:
        raise entry.error("unknown format version", str(FORMAT))


def _constants(entry: Entry, part: str, others: tuple[str, ...] = ()) -> dict[str, float]:
    """The constants of one part of the machine, by field name."""
    dimension = {path.split(".")[1]: (name, unit) for path, (where, name, unit) in CONSTANTS.items() if where == part}
    items = entry.mapping({*dimension, *_BANDWIDTHS[part], *others})
    values: dict[str, float] = {}
    for key, item in items.items():
        if key in dimension:
            name, unit = dimension[key]
            values[name] = _once(values, name, item, _bounded(item, unit))
        elif key in _BANDWIDTHS[part]:
            name = dimension[_BANDWIDTHS[part][key]][0]
            values[name] = _once(values, name, item, 1.0 / _positive(item, "bandwidth"))
    return values


def _once(values: dict[str, float], name: str, item: Entry, value: float) -> float:
    if name in values:
        raise item.error(f"{name} is given twice: as a bandwidth and as time per byte")
    return value


def _bounded(item: Entry, dimension: str) -> float:
    return _positive(item, dimension) if dimension in ("rate", "frequency") else _not_negative(item, dimension)


def _positive(item: Entry, dimension: str) -> float:
    value = item.quantity(dimension)
    if not 0 < value < float("inf"):
        raise item.error("cannot be used", "a finite number above 0")
    return value


def _not_negative(item: Entry, dimension: str) -> float:
    value = item.quantity(dimension)
    if not 0 <= value < float("inf"):
        raise item.error("cannot be used", "a finite number, 0 or above")
    return value


def _processor(entry: Entry) -> Processor:
    values = _constants(entry, "processor")
    if "rate_flop_per_s" not in values:
        raise InputError("'rate' is missing", entry.place)
    return Processor(**values)


def _network(entry: Entry, nodes: int, folder: Path) -> Network:
    choices = {"startup_per": ("message", "hop"), "distance": DISTANCES, "switching": SWITCHINGS}
    values = _constants(entry, "network", ("topology", *choices))
    items = entry.mapping(required=("topology", "startup"))
    if "per_byte_s" not in values:
        raise InputError("'bandwidth' (or 'per_byte') is missing", entry.place)
    texts = {key: items[key].text(allowed) for key, allowed in choices.items() if key in items}
    return Network(topology=_topology(items["topology"], nodes, folder), **values, **texts)  # type: ignore[arg-type]


def _topology(entry: Entry, nodes: int, folder: Path) -> Topology:
    items = entry.mapping(("kind", "shape", "dims", "arity", "file"), ("kind",))
    kind = items["kind"].text()
    graph = None
    if "file" in items:
        graph = load_graphml(folder / items["file"].text(), items["file"].place)
    shape = [item.whole(low=1) for item in items["shape"].sequence()] if "shape" in items else None
    dims = items["dims"].whole(low=1) if "dims" in items else None
    arity = items["arity"].whole(low=2) if "arity" in items else None
    return build_topology(kind, nodes, shape, dims=dims, arity=arity, graph=graph, place=entry.place)


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
    spindles = items["spindles"].whole(low=1) if "spindles" in items else 1
    return Disk(**values, shared_by=shared_by, spindles=spindles)


def _mapping(entry: Entry, nodes: int, per_node: int) -> str | tuple[int, ...]:
    if isinstance(entry.content, str):
        return entry.text(MAPPINGS)
    placed = tuple(item.whole(0, nodes - 1) for item in entry.sequence())
    for node in set(placed):
        if placed.count(node) > per_node:
            raise InputError(f"{placed.count(node)} ranks on node {node}, which has {per_node} processors", entry.place)
    return placed


def _noise(entry: Entry) -> float:
    return coefficient_of_variation(entry)


def coefficient_of_variation(entry: Entry) -> float:
    """A share such as ``3 %``: standard deviation over mean."""
    value = entry.quantity("count")
    if not 0 <= value <= 10:
        raise entry.error("a coefficient of variation", "0 to 10 (1000 %)")
    return value
