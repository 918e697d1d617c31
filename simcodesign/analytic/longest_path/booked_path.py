"""Follow the longest path back from its end, and book its seconds by phase and component.

The path goes from the rank that is done last back through whatever each step waited for: the step before it, or a
message that came later, from the beginning of its send on. Seconds are booked where the rank that holds up the others
spends them, as along the critical path of a simulation (docs/messages.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: No edge, and no node.
START = -1


@dataclass
class Labels:
    """Phases and components by number."""

    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def number(self, phase: str, component: str) -> int:
        """Return the number of the label, a new one for a new pair."""
        return self._numbers.setdefault((phase, component), len(self._numbers))

    def pairs(self) -> list[tuple[str, str]]:
        """All of them."""
        return [*self._numbers]


class Edges(NamedTuple):
    """Edges between nodes, ``weight_s`` long, and how these seconds are booked (``EventGraph.edges``)."""

    source: Ints
    weight_s: Floats
    target: Ints
    since_s: Floats | None
    label: Ints | int
    computed_s: Floats | None

    @classmethod
    def together(cls, parts: Sequence[Edges]) -> Edges:
        """All of them."""
        nothing = np.zeros(0, np.int64)
        parts = parts or [cls(nothing, np.zeros(0), nothing, None, 0, None)]
        since_s = [part.weight_s if part.since_s is None else part.since_s for part in parts]
        label = [np.broadcast_to(part.label, part.source.shape) for part in parts]
        computed_s = [
            np.broadcast_to(0.0 if part.computed_s is None else part.computed_s, part.source.shape) for part in parts
        ]
        columns = zip(*(part[:3] for part in parts), strict=True)
        return cls(*(np.concatenate(one) for one in (*columns, since_s, label, computed_s)))


class Begun(NamedTuple):
    """Steps that ranks have begun, each ``offset_s`` after a node, in the order of each rank."""

    node: Ints
    offset_s: Floats
    label: Ints

    @classmethod
    def together(cls, parts: Sequence[Begun]) -> Begun:
        """All of them."""
        if not parts:
            return cls(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@dataclass(frozen=True)
class Times:
    """Seconds of the longest path, and by phase and component, which add up to them."""

    end_s: float
    parts_s: Mapping[tuple[str, str], float]


def booked(
    times_s: Floats,
    end: tuple[int, float, float],
    edges: Edges,
    begun: Begun,
    label_of_nodes: Ints,
    owner: Ints,
    labels: Labels,
) -> Times:
    """Book the path that ends at ``end[2]``.

    ``end[1]`` after the node ``end[0]``, and later if its rank has more work to do by then.
    """
    node, offset_s, end_s = end
    way = _way_back(times_s, node, edges, owner)
    own = _Own(begun, label_of_nodes, [node, *(source for _, source, _ in way)])
    for target, source, edge in way:
        if edge == START:  # the processor of the rank had more to do than its messages needed
            own.book(source, float(times_s[target] - times_s[source]), int(label_of_nodes[target]))
            continue
        assert edges.since_s is not None
        assert edges.computed_s is not None
        since_s, label = float(edges.since_s[edge]), int(np.asarray(edges.label)[edge])
        own.book(source, since_s)
        own.add(label, float(edges.weight_s[edge]) - since_s, float(edges.computed_s[edge]))
    own.book(node, offset_s)
    own.add(own.last_label(node), end_s - float(times_s[node]) - offset_s)
    return Times(end_s, own.parts_s(labels))


def _way_back(times_s: Floats, node: int, edges: Edges, owner: Ints) -> list[tuple[int, int, int]]:
    """Return targets, sources and edges of the path, the last first.

    START is the edge if the source is the node before of the same rank. Among several edges that bind, the rank's own
    edge counts first.
    """
    bind = np.flatnonzero(times_s[edges.source] + edges.weight_s == times_s[edges.target])[::-1]
    before = np.full(len(times_s), START)
    before[edges.target[bind]] = bind
    of_same_rank: Ints | None = None
    way = list[tuple[int, int, int]]()
    while True:
        edge = int(before[node])
        if edge == START and of_same_rank is None:
            of_same_rank = _before_of_same_rank(owner)
        source = int(edges.source[edge] if of_same_rank is None or edge != START else of_same_rank[node])
        if source == START:
            return way
        way.append((node, source, edge))
        node = source


def _before_of_same_rank(owner: Ints) -> Ints:
    """(nodes,) the node before of the same rank, or START."""
    order = np.argsort(owner, kind="stable")
    before, same = np.full(len(owner), START), owner[order[1:]] == owner[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    return before


class _Own:
    """Seconds by label, and the steps that ranks began after nodes of the path."""

    def __init__(self, begun: Begun, label_of_nodes: Ints, nodes: Sequence[int]) -> None:
        on_path = np.zeros(len(label_of_nodes), bool)
        on_path[nodes] = True
        here = np.flatnonzero(on_path[begun.node])
        here = here[np.argsort(begun.node[here], kind="stable")]
        self._node, self._offset_s, self._label = (column[here] for column in begun)
        self._label_of_nodes = label_of_nodes
        self._seconds: dict[int, float] = {}
        self._computed: dict[int, float] = {}

    def _range(self, node: int) -> slice:
        return slice(*np.searchsorted(self._node, (node, node + 1)).tolist())

    def last_label(self, node: int) -> int:
        """Return the label of the last step that began after a node."""
        labels = self._label[self._range(node)]
        return int(labels[-1] if len(labels) else self._label_of_nodes[node])

    def book(self, node: int, until_s: float, rest: int | None = None) -> None:
        """Book the steps of a rank up to ``until_s`` after its node, the last one under ``rest`` if given."""
        here = self._range(node)
        label, begun_s = int(self._label_of_nodes[node]), 0.0
        for following, offset_s in zip(self._label[here].tolist(), self._offset_s[here].tolist(), strict=True):
            if offset_s > until_s:
                break
            self.add(label, offset_s - begun_s)
            label, begun_s = following, offset_s
        self.add(label if rest is None else rest, until_s - begun_s)

    def add(self, label: int, time_s: float, computed_s: float = 0.0) -> None:
        """Book seconds under a label, ``computed_s`` of them as computation in its phase."""
        if time_s:
            self._seconds[label] = self._seconds.get(label, 0.0) + time_s
            self._computed[label] = self._computed.get(label, 0.0) + computed_s

    def parts_s(self, labels: Labels) -> dict[tuple[str, str], float]:
        """Return the seconds by phase and component."""
        pairs, parts = labels.pairs(), dict[tuple[str, str], float]()
        for label, time_s in self._seconds.items():
            phase, computed_s = pairs[label][0], self._computed[label]
            for pair, each_s in ((pairs[label], time_s - computed_s), ((phase, "computation"), computed_s)):
                parts[pair] = parts.get(pair, 0.0) + each_s
        return parts
