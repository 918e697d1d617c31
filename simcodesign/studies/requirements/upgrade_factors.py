"""Upgrades of a machine: factors on its processors, on the memory of a process, and on its rates.

A relative change is all that requirement ratios need (Calotoiu et al., CLUSTER 2018, Table III). To them it makes no
difference whether processors come as nodes or inside the nodes; to a simulation it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simcodesign.core.errors import InputError, nearest
from simcodesign.describe.variants import factor_of

#: Parts of a machine whose rate an upgrade may change.
RATES = ("processor", "network", "memory", "disk")
#: Keys of a machine of which a factor is an upgrade: counts, and rates by the part.
COUNT_KEYS = ("nodes", "processors_per_node", "memory.capacity")
RATE_KEYS = {"processor.rate": "processor", **{f"{part}.bandwidth": part for part in RATES[1:]}}
#: A factor is within these limits.
LEAST, MOST = 1e-9, 1e9


@dataclass(frozen=True)
class Upgrade:
    """Factors, 1 if nothing changes.

    On the number of ``nodes``, on the processors of a node, on the memory of a process, and on the ``rates`` of parts
    (``processor``, ``network``, ``memory``, ``disk``).
    """

    name: str
    nodes: float = 1.0
    processors_per_node: float = 1.0
    memory: float = 1.0
    rates: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in self.rates:
            if part not in RATES:
                raise InputError("rate of an upgrade", value=part, allowed=nearest(part, RATES))
        factors = {"nodes": self.nodes, "processors_per_node": self.processors_per_node, "memory": self.memory}
        for name, factor in (factors | {**self.rates}).items():
            if not LEAST <= factor <= MOST:
                raise InputError(f"factor of {name}", value=factor, allowed=f"{LEAST:g} to {MOST:g}")

    @property
    def processes(self) -> float:
        """The factor on the number of processes."""
        return self.nodes * self.processors_per_node

    def rate(self, part: str) -> float:
        """Return the factor on the rate of a part of the machine."""
        return self.rates.get(part, 1.0)


def upgrade_of(changes: Mapping[str, str], name: str = "") -> Upgrade:
    """Return the upgrade of a variant whose changes are factors.

    ``nodes=x2``, ``processors_per_node=x2``, ``memory.capacity=x2`` (of a node), ``network.bandwidth=x2``.

    Processors that are added to a node share its memory. Raises InputError for anything else.
    """
    factors = {key: float(factor_of(text) or 0) for key, text in changes.items()}
    nodes, per_node = factors.pop("nodes", 1.0), factors.pop("processors_per_node", 1.0)
    memory = factors.pop("memory.capacity", 1.0) / per_node
    rates = {}
    for key, factor in factors.items():
        if key not in RATE_KEYS:
            raise InputError("not an upgrade", value=key, allowed=nearest(key, [*COUNT_KEYS, *RATE_KEYS]))
        rates[RATE_KEYS[key]] = factor
    return Upgrade(name or ", ".join(f"{key}={text}" for key, text in changes.items()), nodes, per_node, memory, rates)
