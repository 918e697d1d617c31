"""Noise and imbalance in YAML: a share such as ``5 %``, or a mapping that says what varies, and how."""

from __future__ import annotations

from collections.abc import Mapping

from simcodesign.core.errors import InputError
from simcodesign.describe.randomness.distribution import PARAMETERS
from simcodesign.describe.randomness.noise import OWNERS, PARTS, WHICH_NODES, Bursts, Imbalance, Noise, SlowNodes
from simcodesign.describe.yaml.distribution import (
    DISTRIBUTION_KEYS,
    coefficient_of_variation,
    distribution_from,
    distribution_of,
)
from simcodesign.describe.yaml.tree import Entry

_NODES = ("nodes", "count", "fraction")


def noise_from(entry: Entry, nodes: int, others: tuple[str, ...] = ("slow_nodes", "bursts")) -> float | Noise:
    """Noise of a machine of so many nodes: a coefficient of variation of computations, or all that it may be.
    ``others``: its keys besides the distributions of parts.

    ``{compute: DISTRIBUTION, disk: ..., memory: ..., network: ..., slow_nodes: {...}, bursts: {...}}``.
    """
    if isinstance(entry.content, str):
        if entry.content in PARAMETERS:
            raise entry.error("of what part", f"{{PART: {entry.content}}}, with a part of {', '.join(PARTS)}")
        if entry.content.endswith("s"):  # as "2 ms"
            raise entry.error("a share is varied by, not a time", "3 %, or bursts: {period: 100 ms, length: 2 ms}")
        return coefficient_of_variation(entry)
    items = entry.mapping((*PARTS, *others))
    factors = {part: distribution_from(items[part]) for part in PARTS if part in items}
    slow = _slow_nodes(items["slow_nodes"], nodes) if "slow_nodes" in items else None
    return Noise(**factors, slow_nodes=slow, bursts=_bursts(items["bursts"]) if "bursts" in items else None)


def _slow_nodes(entry: Entry, nodes: int) -> SlowNodes:
    """``{nodes: [3, 7], factor: 1.5}``, ``{count: 2, factor: 2}`` or ``{fraction: 5 %, factor: 2}``."""
    items = entry.mapping((*_NODES, "factor"), ("factor",))
    given = [key for key in _NODES if key in items]
    if len(given) != 1:
        raise InputError("which nodes are slow", entry.place, value=given, allowed=WHICH_NODES)
    return SlowNodes(
        items["factor"].quantity("count"),
        nodes=tuple(item.whole(0, nodes - 1) for item in items["nodes"].sequence()) if "nodes" in items else (),
        count=items["count"].whole(0, nodes) if "count" in items else 0,
        fraction=items["fraction"].quantity("count") if "fraction" in items else 0.0,
        place=entry.place,
    )


def _bursts(entry: Entry) -> Bursts:
    """``{period: 10 ms, length: 100 us, together: false}``."""
    items = entry.mapping(("period", "length", "together"), ("period", "length"))
    together = items["together"].flag() if "together" in items else False
    return Bursts(items["period"].quantity("time"), items["length"].quantity("time"), together, entry.place)


def imbalance_from(entry: Entry) -> float | Imbalance:
    """Imbalance of a workload: a coefficient of variation, or a distribution, perhaps with ``of: nodes``."""
    if isinstance(entry.content, str):
        one = distribution_from(entry)
        return one.parameters["variation"] if one.name == "lognormal" else Imbalance(one, place=entry.place)
    items: Mapping[str, Entry] = entry.mapping((*DISTRIBUTION_KEYS, "of"), ("distribution",))
    of = items["of"].text(OWNERS) if "of" in items else OWNERS[0]
    return Imbalance(distribution_of(items, entry), of, entry.place)
