"""From which turn of a loop on all turns have the same stack distances, so that only the first ones need be counted.

Let the accesses to array ``a`` move on by ``s`` bytes with every turn, and be between ``low`` and ``high`` in the
first. Two turns touch a line of it in common only if they are at most (high - low + line - 1) / s turns apart; where s
is 0, every turn touches the same lines. So after the largest such number of turns, ``before``, each access is the first
one to its line, or the last one was at most ``before`` turns ago. After a further ``period`` of turns, in which every
array moves on by whole lines, the accesses of as many turns are the same except for the numbers of lines. If no line
belongs to two arrays, lines that are equal stay equal and others stay different; so all distances are the same.
"""

from __future__ import annotations

from itertools import pairwise
from math import gcd, lcm

from simcodesign.locality.streams.loop_nest import Access, Loop, Node
from simcodesign.locality.traces.trace import Repeated

#: The lowest and the highest address of each array that is accessed.
Spans = dict[int, tuple[int, int]]


def repeated(loop: Loop, line_bytes: int) -> Repeated | None:
    """Return the stream of a loop as turns of which most have the distances of others; None if none need have.

    ``line_bytes`` is a power of two. A loop with one turn is replaced by its body.
    """
    while loop.turns == 1 and len(loop.body) == 1 and isinstance(loop.body[0], Loop):
        loop = loop.body[0]
    spans = _spans(loop.body)
    if not spans or min(loop.steps) < 0 or not _apart(spans, loop, line_bytes):
        return None
    steps = {array: loop.steps[array] for array in spans}
    reach = ((high - low + line_bytes - 1) // steps[array] for array, (low, high) in spans.items() if steps[array])
    before = max(1, 1, *reach)
    period = lcm(*(line_bytes // gcd(line_bytes, step) for step in steps.values()))
    more, rest = divmod(loop.turns - before - period, period)
    if more < 1:
        return None
    return Repeated(
        loop.turns_from(0, before),
        loop.turns_from(before, period),
        loop.turns_from(before + period, rest),
        more,
    )


def _spans(nodes: tuple[Node, ...]) -> Spans:
    """Return the spans of all accesses of these nodes."""
    spans: Spans = {}
    for node in nodes:
        for array, (low, high) in _spans_of(node).items():
            known = spans.get(array, (low, high))
            spans[array] = min(low, known[0]), max(high, known[1])
    return spans


def _spans_of(node: Node) -> Spans:
    if isinstance(node, Access):
        return {node.array: (node.address, node.address)}
    further = node.turns - 1
    return {array: (low, high + further * node.steps[array]) for array, (low, high) in _spans(node.body).items()}


def _apart(spans: Spans, loop: Loop, line_bytes: int) -> bool:
    """Whether no line belongs to two arrays, in all turns."""
    lines = sorted(
        (low // line_bytes, (high + (loop.turns - 1) * loop.steps[array]) // line_bytes)
        for array, (low, high) in spans.items()
    )
    return all(one[1] < other[0] for one, other in pairwise(lines))
