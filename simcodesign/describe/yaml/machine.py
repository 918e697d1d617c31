"""Machine files: from a YAML tree to a Machine."""

from __future__ import annotations

from pathlib import Path

from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.failures import Failures
from simcodesign.describe.yaml.constants import constant_value, constants_from
from simcodesign.describe.yaml.distribution import distribution_from
from simcodesign.describe.yaml.mapping import mapping_from
from simcodesign.describe.yaml.memory import capacity_from, memory_from
from simcodesign.describe.yaml.network import network_from
from simcodesign.describe.yaml.noise import noise_from
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
    "disk",
    "caches",
    "memory",
    "mapping",
    "noise",
    "failures",
    *CUSTOM_KEYS,
)
_REQUIRED = ("simcodesign", "name", "nodes", "processor", "network")


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
        network=network_from(items["network"], nodes, folder),
        disk=_disk(items["disk"], nodes) if "disk" in items else None,
        memory=memory_from(items, processor),
        capacity_bytes=capacity_from(items),
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


def _processor(entry: Entry) -> Processor:
    values = constants_from(entry, "processor")
    if "rate_flop_per_s" not in values:
        raise InputError("'rate' is missing", entry.place)
    return Processor(**values)


def _disk(entry: Entry, nodes: int) -> Disk:
    values = constants_from(entry, "disk", ("shared_by", "spindles"))
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
