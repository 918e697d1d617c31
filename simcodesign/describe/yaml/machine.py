"""Machine files: from a YAML tree to a Machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.background import MAPPINGS, MOST_JOBS, NODES, PATTERNS, Background
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor, check_speeds
from simcodesign.describe.network.nodes_by_ranks import AS_RANKS, NodesByRanks
from simcodesign.describe.partitions import Partition, check_partitions
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.node_failures import Failures
from simcodesign.describe.topology.options import MAX_HOSTS
from simcodesign.describe.yaml.accelerators_and_storage import accelerator_from, storage_from
from simcodesign.describe.yaml.constants import constant_value, constants_from, with_formulas_evaluated
from simcodesign.describe.yaml.distribution import distribution_from
from simcodesign.describe.yaml.mapping import check_folded_size, mapping_from, names_nodes
from simcodesign.describe.yaml.memory import capacity_from, memory_from, message_memory_from
from simcodesign.describe.yaml.network import network_from, networks_inside, nodes_by_ranks
from simcodesign.describe.yaml.noise import noise_from
from simcodesign.describe.yaml.partitions import PartitionReader, constants_of_parts, with_most_interfaces
from simcodesign.describe.yaml.resources import CUSTOM_KEYS, custom_from
from simcodesign.describe.yaml.tree import Entry

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
    "node",
    "socket",
    "disk",
    "accelerator",
    "storage",
    "caches",
    "memory",
    "partitions",
    "mapping",
    "noise",
    "failures",
    "background",
    *CUSTOM_KEYS,
)
_REQUIRED = ("simcodesign", "name", "nodes", "processor", "network")


def machine_from(entry: Entry, folder: Path) -> Machine:
    """Read the machine of a tree of YAML; files that it names (a graph, a mapping) are relative to ``folder``."""
    items = entry.mapping(MACHINE_KEYS, _REQUIRED)
    check_format(items["simcodesign"])
    follows = _nodes_by_ranks(items, folder)
    nodes = MAX_HOSTS if follows else items["nodes"].whole(1, MAX_HOSTS)
    per_node = items["processors_per_node"].whole(low=1) if "processors_per_node" in items else 1
    custom = custom_from(items, entry.place)
    counts: dict[str, FloatOrArray] = {"processors_per_node": float(per_node)}
    if not follows:
        counts |= {"nodes": float(nodes), "processors": float(_processors(items, nodes, per_node))}
    items, custom = with_formulas_evaluated(items, custom, counts)
    processor = _processor(items["processor"], None if follows else nodes, per_node)
    memory = memory_from(items, processor)
    accelerator = accelerator_from(items["accelerator"]) if "accelerator" in items else None
    disk = _disk(items["disk"], nodes) if "disk" in items else None
    check_folded_size(items)
    network = network_from(items["network"], follows or nodes, folder)
    partitions: tuple[Partition, ...] = ()
    if "partitions" in items:
        if follows:
            raise items["partitions"].error(
                "partitions, where nodes are as many as the ranks need", "a number of nodes"
            )
        reader = PartitionReader(items, processor, per_node, memory, network, folder)
        partitions, accelerator = reader.partitions(items["partitions"], accelerator)
        network, partitions = with_most_interfaces(network, partitions, items["partitions"].place)
        common = constants_of_parts(processor, memory, accelerator, disk)
        check_partitions(partitions, nodes, common, items["partitions"].place, disk)
    inside = networks_inside(items, network, per_node, folder)
    return Machine(
        name=items["name"].name(),
        about=items["about"].text() if "about" in items else "",
        source=items["source"].text() if "source" in items else "",
        processor=processor,
        network=network,
        node_network=inside.get("node_network"),
        socket_network=inside.get("socket_network"),
        node_memory=message_memory_from(items, memory),
        disk=disk,
        accelerator=accelerator,
        storage=storage_from(items["storage"]) if "storage" in items else None,
        memory=memory,
        capacity_bytes=capacity_from(items),
        processors_per_node=per_node,
        mapping=mapping_from(items["mapping"], network.topology, per_node, folder, partitions)
        if "mapping" in items
        else "linear",
        noise=noise_from(items["noise"], nodes) if "noise" in items else 0.0,
        place=entry.place,
        custom=custom,
        failures=_failures(items["failures"]) if "failures" in items else None,
        nodes_by_ranks=follows,
        partitions=partitions,
        background=_background(items["background"]) if "background" in items else None,
    )


def _processors(items: Mapping[str, Entry], nodes: int, per_node: int) -> int:
    """Processors of all nodes, which partitions may state; what is wrong with these is said where they are read."""
    if "partitions" not in items or not isinstance(items["partitions"].content, list):
        return nodes * per_node
    total = 0
    for one in items["partitions"].content:
        given = one.content if isinstance(one.content, dict) else {}
        own = given.get("processors_per_node")
        total += given["nodes"].whole(1) * (per_node if own is None else own.whole(1)) if "nodes" in given else 0
    return total


def _nodes_by_ranks(items: Mapping[str, Entry], folder: Path) -> NodesByRanks | None:
    """What ``nodes: P`` says; None where nodes are a number."""
    if not items["nodes"].says(AS_RANKS):
        return None
    mapping = items.get("mapping")
    if mapping is not None and names_nodes(mapping):
        raise mapping.error(
            "a mapping onto certain nodes, where nodes are as many as the ranks need", "a mapping by name"
        )
    disk = items.get("disk")
    shared = disk.mapping().get("shared_by") if disk is not None else None
    return nodes_by_ranks(items["network"], shared is not None and shared.says("all"), folder)


def _failures(entry: Entry) -> Failures:
    """``{mtbf: 5 year, distribution: exponential}``."""
    items = entry.mapping(("mtbf", "distribution"), ("mtbf",))
    law = distribution_from(items["distribution"]) if "distribution" in items else Distribution("exponential")
    return Failures(constant_value("failures.mtbf", items["mtbf"]), law, entry.place)


def _background(entry: Entry) -> Background:
    """``{load: 0.3, size: 64 KiB, pattern: uniform, nodes: others, jobs: 4, mapping: linear}``."""
    items = entry.mapping(("load", "size", "pattern", "nodes", "jobs", "mapping"), ("load",))
    words = {"pattern": PATTERNS, "nodes": NODES, "mapping": MAPPINGS}
    own: dict[str, Any] = {key: items[key].text(allowed) for key, allowed in words.items() if key in items}
    if "size" in items:
        own["size_bytes"] = items["size"].quantity("size")
    if "jobs" in items:
        own["jobs"] = items["jobs"].whole(1, MOST_JOBS)
    return Background(items["load"].number(), place=entry.place, **own)


def check_format(entry: Entry) -> None:
    """InputError unless the file's format version is one that this program reads."""
    if entry.whole() != FORMAT:
        raise entry.error("unknown format version", str(FORMAT))


def _processor(entry: Entry, nodes: int | None, per_node: int) -> Processor:
    values = constants_from(entry, "processor", ("speeds",))
    if "rate_flop_per_s" not in values:
        raise InputError("'rate' is missing", entry.place)
    listed = entry.mapping().get("speeds")
    speeds = None if listed is None else tuple(item.quantity("count") for item in listed.sequence())
    if listed is not None and nodes is None:
        raise listed.error("speeds of nodes, where nodes are as many as the ranks need", "a number of nodes")
    if listed is not None and nodes is not None:
        check_speeds(Processor(values["rate_flop_per_s"], speeds=speeds), nodes, per_node, listed.place)
    return Processor(**values, speeds=speeds)


def _disk(entry: Entry, nodes: int) -> Disk:
    values = constants_from(entry, "disk", ("shared_by", "spindles"))
    items = entry.mapping()
    for name in ("read_startup_s", "write_startup_s"):
        if name not in values:
            raise InputError(f"{name.removesuffix('_s')!r} is missing", entry.place)
    if "per_byte_s" not in values:
        raise InputError("'bandwidth' (or 'per_byte') is missing", entry.place)
    shared_by = nodes if "shared_by" in items and items["shared_by"].says("all") else None
    if shared_by is None:
        shared_by = items["shared_by"].whole(low=1) if "shared_by" in items else 1
    spindles = items["spindles"].whole(1, MAX_SPINDLES) if "spindles" in items else 1
    return Disk(**values, shared_by=shared_by, spindles=spindles)
