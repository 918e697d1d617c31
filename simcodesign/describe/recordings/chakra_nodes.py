"""Chakra execution traces: a graph of nodes for each rank, which becomes a program of starts and waits.

A rank computes one node after another; messages and collective operations are started when all that they depend on is
done, and waited for when nothing else is left to do. Among several nodes, the lowest number comes first.
Meaning of nodes and attributes: Chakra's ``et_def.proto``; of sizes of collective operations: ASTRA-sim.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.describe.demands.collective import ROOTED
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.builder import RecordingBuilder
from simcodesign.describe.recordings.communicators import WORLD
from simcodesign.describe.recordings.rank_files import files_of_ranks
from simcodesign.describe.recordings.rank_log import RankLog

#: Types of nodes by their numbers.
KINDS = (
    "INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE", "COMM_RECV_NODE",
    "COMM_COLL_NODE",
)  # fmt: skip
_COMPUTE, _SEND, _RECEIVE, _COLLECTIVE = KINDS[4:]
_MEMORY = KINDS[2:4]
#: Collective operations by their numbers: the name in Chakra and in the product.
COLLECTIVES = {
    "ALL_REDUCE": "allreduce",
    "REDUCE": "reduce",
    "ALL_GATHER": "allgather",
    "GATHER": "gather",
    "SCATTER": "scatter",
    "BROADCAST": "broadcast",
    "ALL_TO_ALL": "all_to_all",
    "REDUCE_SCATTER": "reduce_scatter",
    "REDUCE_SCATTER_BLOCK": "reduce_scatter",
    "BARRIER": "barrier",
}


class Node(NamedTuple):
    """A node of one rank. ``line``: its line in the file."""

    number: int
    kind: str
    needs: tuple[int, ...]
    duration_us: float
    attributes: Mapping[str, Any]
    line: int


def recording_of_nodes(path: Path, read: Callable[[Path], Sequence[Node]]) -> Recording:
    """Return the recording of the traces of all ranks. InputError with file and line."""
    files = files_of_ranks(path)
    builder = RecordingBuilder(len(files), str(path), [str(file) for file in files])
    graphs = [read(file) for file in files]
    if not any(graphs):
        raise InputError("no nodes in the traces of any rank", Place(str(path)))
    groups = _groups(builder, graphs)
    for log, nodes in zip(builder.logs, graphs, strict=True):
        _Rank(log, nodes, groups).run()
    return builder.recording()


def _groups(builder: RecordingBuilder, graphs: Sequence[Sequence[Node]]) -> dict[str, tuple[int, int]]:
    """Return the communicator and the number of ranks of each process group: all ranks that use its name."""
    members: dict[str, set[int]] = defaultdict(set)
    for rank, nodes in enumerate(graphs):
        for node in nodes:
            if node.kind == _COLLECTIVE and (name := node.attributes.get("pg_name")):
                members[str(name)].add(rank)
    groups = {"": (WORLD, builder.ranks)}
    for name, ranks in members.items():
        every = sorted(ranks)
        groups[name] = builder.communicators.listed(every, builder.logs[every[0]].place), len(every)
    return groups


class _Rank:
    """The graph of one rank, and how far it is done."""

    def __init__(self, log: RankLog, nodes: Sequence[Node], groups: Mapping[str, tuple[int, int]]) -> None:
        self._log, self._groups = log, groups
        self._nodes: dict[int, Node] = {}
        for node in nodes:
            if node.number in self._nodes:
                raise self._error(node, "two nodes have the same number", node.number)
            self._nodes[node.number] = node
        self._left = {node.number: len(node.needs) for node in nodes}
        self._followers: dict[int, list[int]] = defaultdict(list)
        for node in nodes:
            for one in node.needs:
                if one not in self._nodes:
                    raise self._error(node, f"node {node.number} depends on one that is not there", one)
                self._followers[one].append(node.number)
        on_device = any(node.kind == _COMPUTE and not node.attributes.get("is_cpu_op") for node in nodes)
        self._without_host = on_device  # what the host does meanwhile takes no time
        self._messages, self._work = list[int](), list[int]()
        self._open = list[tuple[bool, int, int]]()  # whether nothing depends on it, its number, its handle

    def _error(self, node: Node, what: str, value: object, allowed: str | None = None) -> InputError:
        self._log.line = node.line
        return InputError(f"rank {self._log.rank}: {what}", self._log.place, value=value, allowed=allowed)

    def run(self) -> None:
        """Do all nodes. InputError for nodes that wait for each other."""
        for number, left in self._left.items():
            if not left:
                self._is_ready(number)
        done = 0
        while self._messages or self._work or self._open:
            if self._messages:
                number = heapq.heappop(self._messages)
                handle = self._start(self._nodes[number])
                heapq.heappush(self._open, (not self._followers[number], number, handle))
                continue
            done += 1
            if self._work:
                number = heapq.heappop(self._work)
                self._do(self._nodes[number])
            else:
                _, number, handle = heapq.heappop(self._open)
                self._log.line = self._nodes[number].line
                self._log.wait(handle)
            for follower in self._followers[number]:
                self._left[follower] -= 1
                if not self._left[follower]:
                    self._is_ready(follower)
        if done < len(self._nodes):
            stuck = min(number for number, left in self._left.items() if left)
            raise self._error(self._nodes[stuck], "nodes depend on each other in a circle", stuck)

    def _is_ready(self, number: int) -> None:
        talks = self._nodes[number].kind in (_SEND, _RECEIVE, _COLLECTIVE)
        heapq.heappush(self._messages if talks else self._work, number)

    def _do(self, node: Node) -> None:
        """Compute; memory nodes take their duration."""
        self._log.line = node.line
        if node.kind in _MEMORY and not node.duration_us:
            raise self._error(node, f"{node.kind} without a duration", node.number, "duration_micros")
        if node.kind == _COMPUTE and self._without_host and node.attributes.get("is_cpu_op"):
            return
        if node.kind in _MEMORY or node.kind == _COMPUTE:
            operations = self._number(node, "num_ops", 0)
            if node.duration_us:
                self._log.compute(node.duration_us * 1e-6)
            elif operations:
                self._log.compute(operations, "flops")

    def _start(self, node: Node) -> int:
        """Start a message or a collective operation."""
        self._log.line = node.line
        size_bytes = self._number(node, "comm_size", 0)
        if node.kind == _COLLECTIVE:
            name = self._collective(node)
            group = str(node.attributes.get("pg_name") or "")
            communicator, ranks = self._groups[group]
            if name == "all_to_all":
                size_bytes /= ranks
            root = int(self._number(node, "root_rank", 0)) if name in ROOTED else None
            size_bytes = 0.0 if name == "barrier" else size_bytes
            return self._log.start_collective(name, size_bytes, root, communicator)
        tag = int(self._number(node, "comm_tag", 0))
        if node.kind == _SEND:
            return self._log.start_send(int(self._number(node, "comm_dst")), size_bytes, tag)
        return self._log.start_receive(int(self._number(node, "comm_src")), None, tag)

    def _collective(self, node: Node) -> str:
        kind = node.attributes.get("comm_type")
        text = str(kind)
        names = list(COLLECTIVES)
        if text.isdecimal() and len(text) < 3 and int(text) < len(names):
            text = names[int(text)]
        if text not in COLLECTIVES:
            raise self._error(node, "comm_type of a collective operation", kind, nearest(text, names))
        return COLLECTIVES[text]

    def _number(self, node: Node, name: str, default: float | None = None) -> float:
        value = node.attributes.get(name, default)
        try:
            number = float(value)
            int(number)
        except (TypeError, ValueError, OverflowError):
            raise self._error(node, f"attribute {name} of {node.kind}", value, "a number") from None
        return number
