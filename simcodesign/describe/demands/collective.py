"""Collective demands of a workload, and the names of the algorithms that there are for each operation.

An algorithm is added in three places, by three calls with the same names: ``register_algorithm`` makes it known to
workload files, ``register_messages`` (generate/messages/collectives/algorithm_messages.py) defines what each rank sends
and receives in a simulation, ``register_algorithm_form`` (analytic/collectives/algorithm_form.py) its closed form for
the forecast. Other packages put the three calls into a module and name it as an entry point::

    [project.entry-points."simcodesign.collectives"]
    chain = "chain_broadcast.algorithm"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.core.registry import Registry
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import MESSAGES, Evaluate
from simcodesign.describe.demands.footprint import MessageDemand, collective_footprint_bytes
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.algorithm_choice import ALL_RULES, AUTO, Bools, Decisions, Rule, chosen_rules
from simcodesign.describe.network.message_models.hockney import BLOCKING

#: Where other packages name the modules that register algorithms.
ENTRY_POINTS = "simcodesign.collectives"
#: Collective operations and their algorithms, the default first.
ALGORITHMS: Registry[str, list[str]] = Registry("collective operation", __name__, ENTRY_POINTS)
ALGORITHMS.add(
    "broadcast",
    [
        "binomial",
        "binary_tree",
        "interleaved_binary_tree",
        "chain",
        "three_chains",
        "four_chains",
        "scatter_allgather",
        "split_binary_tree",
        "bine",
        "linear",
        "two_level",
        "in_switch",
    ],
)
ALGORITHMS.add(
    "reduce",
    ["binomial", "binary_tree", "interleaved_binary_tree", "chain", "bine", "linear", "two_level", "in_switch"],
)
ALGORITHMS.add("scatter", ["binomial", "linear"])
ALGORITHMS.add("gather", ["binomial", "linear", "linear_synchronised"])
ALGORITHMS.add(
    "allreduce",
    [
        "recursive_doubling",
        "ring",
        "rabenseifner",
        "reduce_broadcast",
        "bine",
        "two_level",
        "ring_channels",
        "double_tree",
        "hierarchical",
        "hierarchical_chunks",
        "in_switch",
    ],
)
ALGORITHMS.add(
    "reduce_scatter", ["recursive_halving", "ring", "pairwise", "ring_channels", "hierarchical", "in_switch"]
)
ALGORITHMS.add("scan", ["recursive_doubling", "linear"])
ALGORITHMS.add(
    "allgather",
    [
        "ring",
        "recursive_doubling",
        "bruck",
        "neighbour_exchange",
        "linear",
        "two_level",
        "ring_channels",
        "hierarchical",
        "in_switch",
    ],
)
ALGORITHMS.add("all_to_all", ["pairwise", "linear", "bruck", "hierarchical"])
ALGORITHMS.add("all_broadcast", ["linear"])
ALGORITHMS.add("barrier", ["dissemination", "two_level", "in_switch"])
#: Algorithms in which the child to come first is the nearest or the farthest one; by default this one.
ORDERS = {
    ("broadcast", "binomial"): "far",
    ("scatter", "binomial"): "far",
    ("reduce", "binomial"): "near",
    ("gather", "binomial"): "near",
}
#: The bytes of an operation in the ``segment`` of a machine.
BYTES = r"\bn\b"
#: Algorithms that take a ``segment``: the size of the parts in which data are passed on.
SEGMENTED = frozenset(
    [("broadcast", name) for name in ("chain", "binomial", "binomial_near", "binary_tree", "interleaved_binary_tree")]
    + [("reduce", name) for name in ("chain", "binomial", "binary_tree", "interleaved_binary_tree")]
    + [("broadcast", "split_binary_tree"), ("gather", "linear_synchronised")]
)
#: A number of segments that differs from an integer by less than this fraction is that integer: m/(m/49) is 49 and a
#: little in floats.
SEGMENT_ROUNDING = 1e-9
#: Algorithms that look at which ranks share a node: within nodes, between their first ranks, within nodes again.
TWO_LEVEL = frozenset(
    (operation, "two_level") for operation in ("broadcast", "reduce", "allreduce", "allgather", "barrier")
)
#: Algorithms of libraries for accelerators: a ring in channels, each of which leaves nodes from another rank; two
#: trees; and steps within nodes, then between ranks of the same number on all nodes.
OF_ACCELERATORS = frozenset(
    [(operation, "ring_channels") for operation in ("allreduce", "reduce_scatter", "allgather")]
    + [("allreduce", "double_tree"), ("allreduce", "hierarchical_chunks")]
    + [(operation, "hierarchical") for operation in ("allreduce", "reduce_scatter", "allgather", "all_to_all")]
)
#: Algorithms in which switches combine messages, on every level of the machine whose switches can.
IN_SWITCH = frozenset(
    (operation, "in_switch")
    for operation in ("allreduce", "reduce_scatter", "allgather", "broadcast", "reduce", "barrier")
)
#: Algorithms whose messages depend on which ranks share a node.
ON_NODES = TWO_LEVEL | OF_ACCELERATORS | IN_SWITCH
#: Algorithms whose ``bytes`` may depend on ``rank``: those that a rank contributes, sends to each partner, or gets.
SIZED_BY_RANK = frozenset(
    {
        ("scatter", "linear"),
        ("gather", "linear"),
        ("allgather", "ring"),
        ("allgather", "linear"),
        ("all_to_all", "pairwise"),
        ("all_to_all", "linear"),
    }
)
#: How messages of an algorithm are sent, whatever the machine specifies for others: as MPI libraries implement them.
#: Open MPI
#: (coll/base, coll_base_scatter.c) and MPICH call the blocking send for one child after another.
ALGORITHM_SENDS: dict[tuple[str, str], str] = dict.fromkeys(
    [("scatter", "binomial"), ("scatter", "binomial_near"), ("scatter", "linear")], BLOCKING
)
#: Operations that only signal: no rank contributes any bytes.
SIGNALS = frozenset({"barrier"})
#: Operations with a root, rank 0 unless ``root`` gives another.
ROOTED = frozenset({"broadcast", "reduce", "scatter", "gather"})


def algorithm_names(operation: str) -> list[str]:
    """Return what ``algorithm`` of an operation may be."""
    return [*ALGORITHMS[operation], *(name for name, rules in ALL_RULES.items() if operation in rules)]


def register_algorithm(operation: str, algorithm: str, sends: str | None = None) -> None:
    """Make an algorithm known to workload files; the first one of a new operation is its default.

    ``sends``: how its messages are sent in Hockney's model, None as the machine specifies.
    """
    if operation not in ALGORITHMS:
        ALGORITHMS.add(operation, [])
    if algorithm not in ALGORITHMS[operation]:
        ALGORITHMS[operation].append(algorithm)
    if sends is not None:
        ALGORITHM_SENDS[operation, algorithm] = sends


def algorithm_in_order(operation: str, algorithm: str, order: str) -> str:
    """Return the name under which an algorithm of ``ORDERS`` is registered: a different order is appended to it."""
    return algorithm if ORDERS[operation, algorithm] == order else f"{algorithm}_{order}"


def every_algorithm() -> list[tuple[str, str]]:
    """Operations and algorithms that workload files may name, in both orders if there are two."""
    plain = [(operation, algorithm) for operation, names in ALGORITHMS.items() for algorithm in names]
    both = ((key, algorithm_in_order(*key, order)) for key in plain if key in ORDERS for order in ("near", "far"))
    return [*plain, *((operation, name) for (operation, algorithm), name in both if name != algorithm)]


@dataclass(frozen=True)
class Collective(MessageDemand):
    """A collective operation of all ranks, or of each ``group`` by itself.

    ``bytes`` is the size that each rank contributes (to each partner), or gets from the ``root``, a rank of the group
    (0 if it is None). ``algorithm``: as it is registered (``algorithm_in_order``), or a name of ``ALL_RULES``.
    ``segment``: the bytes are passed on in the fewest equal parts of at most this size. ``chosen_by``: the name of
    the rules that chose the algorithm, or nothing. ``sends``: how its messages are sent (``SENDS``), None as the
    algorithm or machine specifies.
    """

    name: str
    algorithm: str
    bytes: Expression
    group: str | None = None
    root: Expression | None = None
    segment: Expression | None = None
    chosen_by: str = ""
    machine_rules: tuple[Rule, ...] = ()
    sends: str | None = None
    alike_on_all_ranks = True
    can_be_started = True
    uses_parts = MESSAGES

    @property
    def key(self) -> tuple[str, str]:
        """Operation and algorithm, under which both readings know it."""
        return self.name, self.algorithm

    @property
    def collective_algorithm(self) -> tuple[str, str]:
        return self.key

    @property
    def label(self) -> str:
        where = "" if self.group is None else f" in {self.group}"
        way = self.chosen_by or self.algorithm
        return f"{self.name} ({way.replace('_', ' ')}){where}"

    @property
    def sends_as(self) -> str | None:
        """How its messages are sent, if that is not left to the machine."""
        of_algorithms = {ALGORITHM_SENDS.get((self.name, name)) for name in self.possible}
        return self.sends or (of_algorithms.pop() if len(of_algorithms) == 1 else None)

    @property
    def is_sized_by_rank(self) -> bool:
        """Whether its bytes depend on the rank that sends them, or gets them in a scatter."""
        return "rank" in self.bytes.names

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that choose its algorithm; none if it is stated."""
        if not self.is_open:
            return ()
        return self.machine_rules or ALL_RULES[self.algorithm][self.name]

    def by_rules_of(self, decisions: Decisions) -> Collective:
        """Return the operation, which takes its algorithm by the rules of a machine if it is left to it by ``auto``."""
        rules = decisions.get(self.name, ()) if self.algorithm == AUTO else ()
        return replace(self, machine_rules=rules) if rules else self

    @property
    def possible(self) -> list[str]:
        """The algorithms that it may take."""
        return [rule.algorithm for rule in self.rules] or [self.algorithm]

    @property
    def looks_at_nodes(self) -> bool:
        """Whether its messages may depend on which ranks share a node."""
        return any((self.name, algorithm) in ON_NODES for algorithm in self.possible)

    @property
    def meets(self) -> bool:
        """Whether switches may combine its messages, for which all ranks wait for one another."""
        return any((self.name, algorithm) in IN_SWITCH for algorithm in self.possible)

    def __post_init__(self) -> None:
        if self.is_sized_by_rank and (self.key not in SIZED_BY_RANK or self.group is not None):
            allowed = "; ".join(sorted(f"{algorithm} of {name}" for name, algorithm in SIZED_BY_RANK))
            what = f"'rank' cannot be used in bytes of {self.label}"
            raise InputError(
                what, self.bytes.place or self.place, value=self.bytes.text, allowed=f"of all ranks, by {allowed}"
            )

    @property
    def is_open(self) -> bool:
        """Whether it is left to the rules which algorithm it takes."""
        return self.algorithm in ALL_RULES

    def choices(self, ranks: FloatOrArray, size_bytes: FloatOrArray) -> list[tuple[Collective, Bools]]:
        """Return the demand with every algorithm that it takes for any of these ranks and bytes.

        With each comes a mask of the ranks and bytes for which it is taken.
        """
        if not self.is_open:
            return [(self, np.asarray(True))]
        return [(self._by(rule), where) for rule, where in chosen_rules(self.rules, ranks, size_bytes)]

    def _by(self, rule: Rule) -> Collective:
        """Return the operation with the algorithm and the segments of a rule."""
        segment = self.segment if rule.segment_bytes is None else parse(rule.segment_bytes)
        return replace(self, algorithm=rule.algorithm, chosen_by=self.algorithm, segment=segment)

    def chosen(self, ranks: int, size_bytes: FloatOrArray) -> Collective:
        """Return the demand with the algorithm that it takes."""
        return self.choices(float(ranks), size_bytes)[0][0]

    def at(self, names: Mapping[str, FloatOrArray], machine: Machine) -> Collective:
        """Return the operation with the algorithm that it takes, and in the segments that the machine states for it."""
        chosen = self.by_rules_of(machine.collectives)._chosen_at(names)
        if chosen.meets:
            machine.needs_switches(self.label, self.place)
        tuning = machine.network.tunings.get(chosen.key)
        if tuning is None or tuning.segment is None or chosen.segment is not None:
            return chosen
        size, text = f"({chosen.bytes.text})", tuning.segment.text
        return replace(chosen, segment=parse(f"max({re.sub(BYTES, lambda _: size, text)}, 1)", tuning.segment.place))

    def _chosen_at(self, names: Mapping[str, FloatOrArray]) -> Collective:
        """Return the demand of all ranks, with the algorithm that it takes if it is the same everywhere."""
        if not self.is_open or self.group is not None or not self.bytes.names <= names.keys():
            return self
        choices = self.choices(names["P"], self.bytes.evaluate(names))
        return choices[0][0] if len(choices) == 1 else self

    def touched_bytes(self, ranks: FloatOrArray, evaluate: Evaluate) -> FloatOrArray:
        own_bytes = evaluate(self.bytes, "bytes")
        total = np.sum(own_bytes, axis=-1, keepdims=True) if self.is_sized_by_rank else None
        return collective_footprint_bytes(self.name, ranks, own_bytes, total)

    def amounts(self) -> Iterator[Expression]:
        yield self.bytes
        if self.segment is not None:
            yield self.segment
        yield from super().amounts()

    def rank_expressions(self) -> Iterator[Expression]:
        yield from self.peers()
        if self.is_sized_by_rank:
            yield self.bytes

    def peers(self) -> Iterator[Expression]:
        yield from (() if self.root is None else (self.root,))
