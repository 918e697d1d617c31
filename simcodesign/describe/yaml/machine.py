"""Machine files: from a YAML tree to a Machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import Choice, Name, OneOf, Quantity, Text, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Named, Section
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.accelerator import ACCELERATOR
from simcodesign.describe.machine_parts.background import BACKGROUND, Background
from simcodesign.describe.machine_parts.disk import ALL, DISK, Disk
from simcodesign.describe.machine_parts.evidence import EVIDENCE
from simcodesign.describe.machine_parts.memory import CACHE, MEMORY
from simcodesign.describe.machine_parts.message_memory import MESSAGE_MEMORY
from simcodesign.describe.machine_parts.processor import PROCESSOR, Processor, check_speeds
from simcodesign.describe.machine_parts.storage import STORAGE, Storage
from simcodesign.describe.network.nodes_by_ranks import AS_RANKS, NodesByRanks
from simcodesign.describe.partitions import Partition, check_partitions
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.node_failures import FAILURES, Failures
from simcodesign.describe.topology.base import MAX_HOSTS
from simcodesign.describe.yaml.constants import with_formulas_evaluated
from simcodesign.describe.yaml.mapping import MAPPING, check_folded_size, mapping_from, names_nodes
from simcodesign.describe.yaml.memory import capacity_from, memory_from, message_memory_from
from simcodesign.describe.yaml.network import (
    COLLECTIVES,
    INSIDE,
    OUTSIDE,
    decisions_from,
    network_from,
    networks_inside,
    nodes_by_ranks,
)
from simcodesign.describe.yaml.network_formulas import topology_formulas
from simcodesign.describe.yaml.noise import NOISE, noise_from
from simcodesign.describe.yaml.partitions import PARTITION, PartitionReader, constants_of_parts, with_most_interfaces
from simcodesign.describe.yaml.resources import CUSTOM, custom_from
from simcodesign.describe.yaml.tree import Entry

FORMAT = 1
_NODE = Section(
    Key(
        "network",
        INSIDE,
        "the network between the processors of a node, or its sockets",
        required=True,
    ),
    Key("memory", MESSAGE_MEMORY, "what messages within a node take of its memory (docs/levels.md)", "nothing"),
)
_OF_SOCKETS = "the network between the processors of a socket; its keys are the keys of `node.network`"
_SOCKET = Section(
    Key("per_node", Whole(1), "sockets of a node, the hosts of `node.network`", required=True),
    Key("network", INSIDE, _OF_SOCKETS, required=True),
)


def machine_section() -> Section:
    """Return all keys of a machine file."""
    return Section(
        Key("simcodesign", Whole(), "version of the format", range=str(FORMAT), required=True),
        Key("name", Name(), "name of the machine", required=True),
        Key("about", Text(), "one sentence about the machine"),
        Key("source", Text(), "where its numbers are from"),
        Key(
            "nodes",
            OneOf(Choice((AS_RANKS,)), Whole(1, MAX_HOSTS)),
            "number of nodes, or `P` for as many as the ranks need",
            required=True,
        ),
        Key("processors_per_node", Whole(1), "processors of a node", "1"),
        Key("processor", PROCESSOR, "the processors, all alike unless there are `partitions`", required=True),
        Key("network", OUTSIDE, "the network between the nodes", required=True),
        Key(
            "node",
            _NODE,
            "what every node has inside (docs/levels.md)",
            "messages within a node cost as those between nodes, without hops",
        ),
        Key(
            "socket",
            _SOCKET,
            "sockets of every node with a network of their own inside `node.network` (docs/levels.md)",
            "none",
        ),
        Key("disk", DISK, "the disks of the nodes"),
        Key("accelerator", ACCELERATOR, "the accelerators of every node (docs/accelerators.md)"),
        Key("storage", STORAGE, "the file system that all nodes share (docs/storage.md)"),
        Key(
            "caches",
            Named(CACHE, "one cache"),
            "the caches of each processor by name, the nearest first (docs/memory.md)",
        ),
        Key("memory", MEMORY, "the memory of a node (docs/memory.md)"),
        Key(
            "partitions",
            Items(PARTITION, "one kind"),
            "kinds of nodes, numbered one after another (docs/describe-machines.md)",
        ),
        Key(
            "mapping",
            MAPPING,
            "on which node each rank is: one of the words, a mapping with `kind`, a list of nodes, or a file of them"
            " (docs/placement.md)",
            "linear",
        ),
        Key(
            "noise",
            OneOf(Quantity("count"), NOISE),
            "how times vary; a fraction (lognormal) of computations, or a mapping (docs/describe-machines.md)",
            "0 %",
        ),
        Key(
            "collectives",
            COLLECTIVES,
            "rules by which operations with `algorithm: auto` take an algorithm: the rules of a library, or a table for"
            " each operation (docs/collectives.md)",
            "`mpich`",
        ),
        Key("failures", FAILURES, "when nodes fail (docs/failures.md)"),
        Key("background", BACKGROUND, "what other jobs send over the same links (docs/placement.md)"),
        Key(
            "evidence",
            Items(EVIDENCE, "one operation"),
            "measured times that chose nothing in this file, and how far predictions are from them (docs/measured.md)",
        ),
        *CUSTOM,
    )


def machine_file() -> Section:
    """Return the keys of a machine file, whether or not it extends another."""
    about = "a bundled machine, or a file next to this one; the extending file lists the differences"
    return Section(*machine_section().keys, Key("extends", Text(), about))


#: Top-level keys of a machine file.
MACHINE_KEYS = tuple(machine_section().by_name)


def machine_from(entry: Entry, folder: Path) -> Machine:
    """Read the machine of a tree of YAML; files that it names (a graph, a mapping) are relative to ``folder``."""
    items = machine_section().items(entry)
    check_format(items["simcodesign"])
    as_ranks = items["nodes"].says(AS_RANKS)
    nodes = MAX_HOSTS if as_ranks else items["nodes"].whole(1, MAX_HOSTS)
    per_node = items["processors_per_node"].whole(low=1) if "processors_per_node" in items else 1
    custom = custom_from(items, entry.place)
    counts: dict[str, FloatOrArray] = {"processors_per_node": float(per_node)}
    if not as_ranks:
        counts |= {"nodes": float(nodes), "processors": float(_processors(items, nodes, per_node))}
    items, custom = with_formulas_evaluated(items, custom, counts)
    formulas = topology_formulas(items["network"], custom, counts, folder)
    if formulas is not None:
        items["network"], custom = formulas.evaluated(custom, counts), replace(custom, network=formulas)
    follows = _nodes_by_ranks(items, folder)
    processor = _processor(items["processor"], None if follows else nodes, per_node)
    memory = memory_from(items, processor)
    accelerator = ACCELERATOR.read(items["accelerator"]) if "accelerator" in items else None
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
        storage=_storage(items["storage"]) if "storage" in items else None,
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
        collectives=decisions_from(items["collectives"]) if "collectives" in items else {},
        background=Background(**BACKGROUND.read(items["background"]), place=items["background"].place)
        if "background" in items
        else None,
        evidence=Items(EVIDENCE).read(items["evidence"]) if "evidence" in items else (),
    )


def _failures(entry: Entry) -> Failures:
    return Failures(**{"distribution": Distribution("exponential")} | FAILURES.read(entry), place=entry.place)


def _processors(items: Mapping[str, Entry], nodes: int, per_node: int) -> int:
    """Processors of all nodes, which partitions may state; errors in these are reported when they are read."""
    if "partitions" not in items or not isinstance(items["partitions"].content, list):
        return nodes * per_node
    total = 0
    for one in items["partitions"].content:
        given = one.content if isinstance(one.content, dict) else {}
        own = given.get("processors_per_node")
        total += given["nodes"].whole(1) * (per_node if own is None else own.whole(1)) if "nodes" in given else 0
    return total


def _nodes_by_ranks(items: Mapping[str, Entry], folder: Path) -> NodesByRanks | None:
    """Read ``nodes: P``; None if nodes are a number."""
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


def check_format(entry: Entry) -> None:
    """InputError unless the file's format version is one that this program reads."""
    if entry.whole() != FORMAT:
        raise entry.error("unknown format version", str(FORMAT))


def _processor(entry: Entry, nodes: int | None, per_node: int) -> Processor:
    processor: Processor = PROCESSOR.read(entry)
    listed = entry.mapping().get("speeds")
    if listed is not None and nodes is None:
        raise listed.error("speeds of nodes, where nodes are as many as the ranks need", "a number of nodes")
    if listed is not None and nodes is not None:
        check_speeds(processor, nodes, per_node, listed.place)
    return processor


def _disk(entry: Entry, nodes: int) -> Disk:
    values = DISK.values(DISK.items(entry))
    return Disk(**values | ({"shared_by": nodes} if values.get("shared_by") == ALL else {}))


def _storage(entry: Entry) -> Storage:
    items = STORAGE.items(entry)
    values = STORAGE.values(items)
    if "stripe_count" in items:
        every = values["stripe_count"] == ALL
        values["stripe_count"] = values["servers"] if every else items["stripe_count"].whole(1, values["servers"])
    return Storage(**values)
