"""Messages of a hierarchical allreduce in chunks, of which one is within nodes while another is between them.

The reduce-scatter within nodes, the allreduce between ranks of the same number, and the allgather within nodes of
``hierarchical``, by rings, each of a chunk; the next chunk begins as many rounds later as the longest of the three
takes. As the baseline of S. Rashidi et al., "Themis: A Network Bandwidth-Aware Collective Scheduling Policy for
Distributed Training of DL Models", ISCA 2022, in which chunks pass the levels of a network one behind another.
"""

from __future__ import annotations

import numpy as np

from simcodesign.generate.columns import Int32s, Ranks
from simcodesign.generate.messages.collectives.accelerators import Rails
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.allreduce import allreduce_ring
from simcodesign.generate.messages.collectives.two_level import Int64s

#: In how many chunks the data are passed on.
CHUNKS = 4


def neighbours(rings: Int32s) -> tuple[Int32s, Int32s]:
    """Return the next and the last rank of every rank in rings (rings, ranks)."""
    after, before = np.zeros((2, rings.size), np.int32)
    after[rings], before[rings] = np.roll(rings, -1, axis=1), np.roll(rings, 1, axis=1)
    return after, before


@register_messages("allreduce", "hierarchical_chunks", lambda p: 2 * CHUNKS * p * (p - 1))
def allreduce_hierarchical_chunks(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Do rounds, in which each rank posts its messages between nodes, then within nodes, together."""
    rails = Rails(ranks, node)
    if not rails.are_even:
        return allreduce_ring(ranks, size_bytes)
    inside = np.stack(rails.members).astype(np.int32)
    (nodes, each), chunk_bytes = inside.shape, size_bytes / CHUNKS
    near, far = neighbours(inside), neighbours(np.ascontiguousarray(inside.T))
    part_bytes = chunk_bytes / each
    lengths = each - 1, 2 * (nodes - 1), each - 1
    begins, later = np.cumsum((0, *lengths[:2])), max(lengths)
    for turn in range(sum(lengths) + (CHUNKS - 1) * later):
        at = {
            stage: turn - chunk * later - int(begins[stage])
            for stage in (1, 0, 2)
            for chunk in range(CHUNKS)
            if 0 <= turn - chunk * later - begins[stage] < lengths[stage]
        }
        parts = [
            (far, part_bytes / nodes, round_ < nodes - 1) if stage == 1 else (near, part_bytes, stage == 0)
            for stage, round_ in at.items()
        ]
        reduces = ranks.data_costs.reduction_s_per_byte > 0
        columns = 2 * len(parts) + (sum(one[2] for one in parts) if reduces else 0)
        first = len(ranks.columns)
        for place, ((after, _), sent_bytes, _) in enumerate(parts):
            ranks.send(after, sent_bytes, until=columns - place)
        for place, ((_, before), sent_bytes, is_reduced) in enumerate(parts):
            ranks.receive(before, sent_bytes, match=first + place - len(ranks.columns))
            if is_reduced:
                ranks.reduce(sent_bytes)
    return None
