"""Noise and imbalance in YAML: a fraction such as ``5 %``, or a mapping that lists what varies, and how."""

from __future__ import annotations

from simcodesign.core.errors import InputError
from simcodesign.describe.keys.forms import ABOVE_0, FROM_0, FROM_1, Choice, Flag, Quantity, Text, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Section
from simcodesign.describe.randomness.distribution import PARAMETERS
from simcodesign.describe.randomness.noise import OWNERS, PARTS, WHICH_NODES, Bursts, Imbalance, Noise, SlowNodes
from simcodesign.describe.yaml.distribution import (
    DISTRIBUTION,
    DISTRIBUTION_KEYS,
    DistributionForm,
    coefficient_of_variation,
    distribution_from,
    distribution_of,
)
from simcodesign.describe.yaml.tree import Entry

_NODES = ("nodes", "count", "fraction")
_SLOW_NODES = Section(
    Key("nodes", Items(Whole(0), "the number of a node"), "their numbers, instead of `count`"),
    Key("count", Whole(0), "how many, at random; or `fraction` or `nodes`"),
    Key("fraction", Quantity("count"), "fraction of the nodes, instead of `count`", range="0 to 100 %"),
    Key("factor", Quantity("count"), "by what their times are multiplied", range=FROM_1, required=True),
)
_BURSTS = Section(
    Key("period", Quantity("time"), "time between two", range=ABOVE_0, required=True, field="period_s"),
    Key("length", Quantity("time"), "time of each", range=FROM_0, required=True, field="length_s"),
    Key("together", Flag(), "whether they occur on all nodes simultaneously", "false"),
)
_DISTRIBUTIONS = tuple(Key(part, DISTRIBUTION, f"variation of {PARTS[part]}; a distribution") for part in PARTS)
#: Noise of the nodes of a partition, and of a machine: a mapping of these keys, or a fraction.
NOISE_OF_PARTITION = Section(*_DISTRIBUTIONS)
NOISE = Section(
    *_DISTRIBUTIONS,
    Key("slow_nodes", _SLOW_NODES, "nodes that compute more slowly"),
    Key("bursts", _BURSTS, "interruptions by the operating system"),
)


def noise_from(entry: Entry, nodes: int, section: Section = NOISE) -> float | Noise:
    """Noise of a machine of ``nodes`` nodes: a coefficient of variation of computations, or all that it may be.

    ``section``: the keys that it may have.

    ``{compute: DISTRIBUTION, disk: ..., memory: ..., network: ..., slow_nodes: {...}, bursts: {...}}``.
    """
    if isinstance(entry.content, str):
        if entry.content in PARAMETERS:
            raise entry.error("of what part", f"{{PART: {entry.content}}}, with a part of {', '.join(PARTS)}")
        if entry.content.endswith("s"):  # as "2 ms"
            raise entry.error("variation is a fraction, no time", "3 %, or bursts: {period: 100 ms, length: 2 ms}")
        return coefficient_of_variation(entry)
    items = section.items(entry)
    factors = {part: distribution_from(items[part]) for part in PARTS if part in items}
    slow = _slow_nodes(items["slow_nodes"], nodes) if "slow_nodes" in items else None
    return Noise(**factors, slow_nodes=slow, bursts=_bursts(items["bursts"]) if "bursts" in items else None)


def _slow_nodes(entry: Entry, nodes: int) -> SlowNodes:
    """``{nodes: [3, 7], factor: 1.5}``, ``{count: 2, factor: 2}`` or ``{fraction: 5 %, factor: 2}``."""
    items = _SLOW_NODES.items(entry)
    given = [key for key in _NODES if key in items]
    if len(given) != 1:
        raise InputError("which nodes are slow", entry.place, value=given, allowed=WHICH_NODES)
    return SlowNodes(
        nodes=tuple(item.whole(0, nodes - 1) for item in items["nodes"].sequence()) if "nodes" in items else (),
        count=items["count"].whole(0, nodes) if "count" in items else 0,
        **_SLOW_NODES.values({key: item for key, item in items.items() if key not in ("nodes", "count")}),
        place=entry.place,
    )


def _bursts(entry: Entry) -> Bursts:
    """``{period: 10 ms, length: 100 us, together: false}``."""
    return Bursts(**_BURSTS.read(entry), place=entry.place)


_IMBALANCE = Section(
    *DISTRIBUTION_KEYS, Key("of", Choice(OWNERS), "whether each rank or each node has a factor", OWNERS[0])
)
IMBALANCE = DistributionForm(Text(), _IMBALANCE)


def imbalance_from(entry: Entry) -> float | Imbalance:
    """Imbalance of a workload: a coefficient of variation, or a distribution, perhaps with ``of: nodes``."""
    if isinstance(entry.content, str):
        one = distribution_from(entry)
        return one.parameters["variation"] if one.name == "lognormal" else Imbalance(one, place=entry.place)
    items = _IMBALANCE.items(entry)
    of = items["of"].text(OWNERS) if "of" in items else OWNERS[0]
    return Imbalance(distribution_of(items, entry), of, entry.place)
