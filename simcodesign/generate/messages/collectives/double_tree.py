"""Messages of an allreduce by two binary trees, each of which has a half of the data, passed on in chunks.

The inner ranks of one tree are leaves of the other, so that each rank sends and receives about as much. A chunk goes up
to the root, which then has all of it, and down again, one level of the tree in each round; the next chunk follows one
round later. Sources: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction
and scan", Parallel Computing 35 (2009); the trees follow NVIDIA/nccl, ``src/graph/trees.cc`` (NCCL 2.4 and later).

On nodes with several ranks, the trees join the ranks of the same number on all nodes, one pair for each number,
and a reduce-scatter and an allgather within nodes replace the chains by which NCCL joins the ranks of a node to one.
"""

from __future__ import annotations

import math

import numpy as np

from simcodesign.generate.columns import Int32s, Ranks
from simcodesign.generate.messages.collectives.accelerators import Rails
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.allgather import allgather_ring
from simcodesign.generate.messages.collectives.reduce_scatter import reduce_scatter_ring
from simcodesign.generate.messages.collectives.two_level import Int64s

#: In how many chunks each tree passes its half on.
CHUNKS = 8


def tree_parents(count: int) -> tuple[Int32s, Int32s]:
    """Return the parent of every rank but 0 in the first tree, and whether it is the first child.

    The first child has a lower number than its parent, or is the only child of rank 0. A child differs from its parent
    in the lowest bit that either has.
    """
    rank = np.arange(1, count)
    bit = rank & -rank
    parent = (rank ^ bit) | (bit << 1)
    parent = np.where(parent < count, parent, rank ^ bit)
    return parent.astype(np.int32), ((rank < parent) | (parent == 0)).astype(np.int32)


def tree_edges(count: int) -> list[tuple[int, int, int, int, bool]]:
    """Tree, level of the child, child, parent, and whether it is the first child, of all edges of both trees."""
    parent, is_first = tree_parents(count)
    level = np.zeros(count, np.int64)
    for _ in range(count.bit_length() + 1):
        level[1:] = level[parent] + 1
    edges = []
    for tree in (0, 1):
        for child in range(1, count):
            ends = (child, int(parent[child - 1]))
            if tree:
                ends = tuple((count - 1 - one if count % 2 == 0 else (one + 1) % count) for one in ends)  # type: ignore[assignment]
            edges.append((tree, int(level[child]), *ends, bool(is_first[child - 1])))
    return edges


def allreduce_two_trees(ranks: Ranks, size_bytes: float) -> None:
    """Do rounds of both trees, upwards and downwards, all messages of a round posted together."""
    edges = tree_edges(ranks.count)
    height = max((level for _, level, *_ in edges), default=0)
    chunk_bytes = size_bytes / (2 * CHUNKS)
    for turn in range(CHUNKS + 2 * height - 1 if height else 0):
        parts = []
        for tree in (0, 1):
            for upwards in (True, False):
                for first in (True, False):
                    begins = {level: height - level if upwards else height + level - 1 for level in range(height + 1)}
                    here = [
                        (child, parent) if upwards else (parent, child)
                        for of_tree, level, child, parent, is_first in edges
                        if of_tree == tree and is_first == first and 0 <= turn - begins[level] < CHUNKS
                    ]
                    if here:
                        parts.append((np.array(here, np.int32), upwards))
        _post(ranks, parts, chunk_bytes)


def _post(ranks: Ranks, parts: list[tuple[Int32s, bool]], chunk_bytes: float) -> None:
    reduces = ranks.data_costs.reduction_s_per_byte > 0
    columns = 2 * len(parts) + (sum(upwards for _, upwards in parts) if reduces else 0)
    at = []
    for ends, _ in parts:
        source, target = ends[np.argsort(ends[:, 0])].T
        at.append(len(ranks.columns))
        ranks.send(target, chunk_bytes, source, until=columns - len(at) + 1)
    for number, (ends, upwards) in enumerate(parts):
        source, target = ends[np.argsort(ends[:, 1])].T
        ranks.receive(source, chunk_bytes, match=at[number] - len(ranks.columns), who=target)
        if upwards:
            ranks.reduce(chunk_bytes, target)


def most_messages(ranks: int) -> int:
    """Return the messages at most: of trees of all ranks, or on two or more nodes of equally many ranks."""
    on_node = ranks // next((one for one in range(2, math.isqrt(ranks) + 1) if ranks % one == 0), ranks)
    return max(4 * CHUNKS * (ranks - each) + 2 * ranks * (each - 1) for each in {1, max(on_node, 1)})


@register_messages("allreduce", "double_tree", most_messages)
def allreduce_double_tree(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Do a reduce-scatter within nodes, two trees between nodes, an allgather within nodes.

    The trees are between the ranks of the same number on all nodes; two trees of all ranks on one node, and where nodes
    have different numbers of ranks.
    """
    rails = Rails(ranks, node)
    if not rails.are_even or len(rails.members) == 1:
        return allreduce_two_trees(ranks, size_bytes)
    part_bytes = size_bytes / int(rails.sizes[0])
    rails.within(lambda local: reduce_scatter_ring(local, size_bytes))
    rails.across(lambda rail: allreduce_two_trees(rail, part_bytes))
    return rails.within(lambda local: allgather_ring(local, part_bytes))
