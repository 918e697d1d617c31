"""Partitions of a machine: nodes of different kinds, numbered one partition after another."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import check_constant

#: The constants that a partition may state: those that are of a node and its parts alone.
OF_NODES = (
    *("processor.rate", "processor.clock", "processor.cpi"),
    *("memory.latency", "memory.per_byte"),
    *("accelerator.rate", "accelerator.launch"),
    *(f"accelerator.{part}.{key}" for part in ("memory", "link") for key in ("latency", "per_byte")),
)
_NAME = re.compile(r"[A-Za-z_][\w-]*")


@dataclass(frozen=True)
class Partition:
    """``nodes`` nodes that are alike, with ``constants`` of their own, by their paths (``OF_NODES``), in SI units; all
    other constants are those of the machine. ``has_accelerator``: whether they have the accelerators of the machine."""

    name: str
    nodes: int
    constants: Mapping[str, FloatOrArray] = field(default_factory=dict)
    has_accelerator: bool = True

    def paths(self) -> dict[str, FloatOrArray]:
        """Its constants by the paths by which they are set: ``partitions.NAME.processor.rate``."""
        return {f"partitions.{self.name}.{path}": value for path, value in self.constants.items()}


def partitions_of(partitions: Sequence[Partition], node: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the partition of every node, (n,)."""
    return np.searchsorted(np.cumsum([one.nodes for one in partitions]), node, side="right")


def constants_of_ranks(
    partitions: Sequence[Partition], common: Mapping[str, FloatOrArray], node: NDArray[np.int64]
) -> dict[str, FloatOrArray]:
    """The constants that differ between partitions, of every rank by its ``node`` (P,): arrays (..., P). ``common``:
    those of the machine."""
    number = partitions_of(partitions, node)
    values: dict[str, FloatOrArray] = {}
    for path in dict.fromkeys(path for one in partitions for path in one.constants):
        each = np.broadcast_arrays(*(one.constants.get(path, common[path]) for one in partitions))
        values[path] = np.stack(each, axis=-1)[..., number]
    return values


def check_partitions(
    partitions: Sequence[Partition], nodes: int, common: Mapping[str, FloatOrArray], place: Place
) -> None:
    """InputError unless partitions have names of their own, all nodes, and constants that the machine has as well."""
    names = [one.name for one in partitions]
    for one in partitions:
        if not _NAME.fullmatch(one.name) or names.count(one.name) > 1:
            allowed = "letters, digits, _ and -, each name once"
            raise InputError("the name of a partition", place, value=one.name, allowed=allowed)
        for path, value in one.constants.items():
            if path not in OF_NODES:
                raise InputError("a constant of a partition", place, value=path, allowed=nearest(path, OF_NODES))
            if path not in common:
                what = f"partition {one.name} states {path}, which the machine does not: other nodes would have none"
                raise InputError(what, place, allowed=f"{path} of the machine as well")
            check_constant(path, value, place)
    total = sum(one.nodes for one in partitions)
    if total != nodes or min(one.nodes for one in partitions) < 1:
        what = f"nodes of the partitions {', '.join(f'{one.name} ({one.nodes})' for one in partitions)}"
        raise InputError(what, place, value=total, allowed=f"{nodes} in all, as the machine has")


def with_partition_constants(
    partitions: Sequence[Partition], values: Mapping[str, FloatOrArray], machine: str, place: Place
) -> tuple[Partition, ...]:
    """The partitions with other constants, by ``partitions.NAME.PATH``. InputError for a partition that there is not,
    and for a constant that it has not."""
    changed = {one.name: one for one in partitions}
    for path, value in values.items():
        _, name, own = path.split(".", 2)
        if name not in changed:
            allowed = nearest(name, changed) if changed else "a machine with partitions"
            raise InputError(f"{machine} has no partition of this name", place, value=name, allowed=allowed)
        changed[name] = replace(changed[name], constants={**changed[name].constants, own: value})
    return tuple(changed.values())
