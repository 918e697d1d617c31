"""Independent recursion for a binomial reduction in segments: every rank does its receives and its send, again and again."""

from __future__ import annotations


def segmented_reduce_s(ranks: int, segments: int, send_s: float, arrival_s: float, receive_s: float) -> float:
    """Return when rank 0 has taken up the last segment: of the children r + 1, r + 2, r + 4, ... of each rank r, up to
    its lowest bit that is set, the nearest one first."""
    children = [
        [rank + 2**bit for bit in range(ranks.bit_length()) if rank % 2 ** (bit + 1) == 0 and rank + 2**bit < ranks]
        for rank in range(ranks)
    ]
    free_s = [0.0] * ranks
    for _ in range(segments):
        sent_s = [0.0] * ranks
        for rank in reversed(range(ranks)):
            for child in children[rank]:
                free_s[rank] = max(free_s[rank], sent_s[child] + arrival_s) + receive_s
            if rank > 0:
                sent_s[rank] = free_s[rank]
                free_s[rank] += send_s
    return free_s[0]
