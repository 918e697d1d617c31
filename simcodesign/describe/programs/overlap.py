"""Overlap: demands with a separate start and wait, and kinds of work of a rank that run concurrently.

A started demand (``Demand.started_as``) begins when the steps before it are done; the steps after it do
not wait for it, except for a ``Wait`` of its name. Both are in one block, so that what an iteration starts is done
when the iteration is. A block of parts that overlap is the same: all parts but one are started, and waited for at its
end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.describe.demands.base import ONE, Demand, kind_in_words
from simcodesign.describe.demands.wait import Poll, Wait
from simcodesign.describe.programs.program import Block, Step, walk


def started(demand: Demand, name: str, polled: Expression | None = None) -> Demand:
    """Return the demand, started under a name. InputError for what a rank does itself, and for polling no messages."""
    if not demand.can_be_started:
        what, allowed = (
            "this cannot be started",
            ("send, receive, exchange, a collective, or work of accelerators and storage; of other work: overlap"),
        )
        raise InputError(what, demand.place, value=kind_in_words(type(demand)), allowed=allowed)
    if polled is not None and demand.works_on:
        what, allowed = "only messages can be polled", "send, receive, exchange or a collective"
        raise InputError(what, polled.place or demand.place, value=kind_in_words(type(demand)), allowed=allowed)
    return replace(demand, started_as=name, polled=polled)


def overlapping(parts: Sequence[Demand], place: Place) -> Block:
    """Return a block of parts that begin together; it is done when the last of them is.

    InputError unless there are two, each at another part of the rank.
    """
    if len(parts) < 2:
        raise InputError("nothing to overlap", place, value=len(parts), allowed="two kinds of work or more")
    busy: set[str] = set()
    for part in parts:
        words = kind_in_words(type(part))
        if not part.works_on:
            allowed = "compute, execute, memory, read, write; of messages: start and wait"
            raise InputError(
                "this is no work of a rank that overlaps with other work", part.place, value=words, allowed=allowed
            )
        if part.works_on in busy:
            raise InputError(f"two concurrent parts for the {part.works_on} of a rank", part.place, value=words)
        busy.add(part.works_on)
    *others, last = sorted(parts, key=lambda part: part.works_on == "processor")
    names = tuple(f"{part.works_on} work" for part in others)
    begun = (replace(part, started_as=name) for part, name in zip(others, names, strict=True))
    return Block(ONE, (*begun, last, Wait(None, place, names)), place=place, overlaps=True)


def has_overlap(program: Sequence[Step]) -> bool:
    """Whether anything is started in a program."""
    return any(isinstance(step, Demand) and bool(step.started_as) for step in walk(tuple(program)))


def check_starts(body: Sequence[Step], polled: frozenset[str] = frozenset()) -> None:
    """Raise InputError unless all operations started in a block are waited for in it, and nothing else is.

    No two concurrent parts may have one name; likewise in its blocks. ``polled``: what is started to be polled around
    the block; only that and the like of the block may be polled.
    """
    under_way: dict[str, Demand] = {}
    for step in body:
        may_be_polled = polled.union(name for name, demand in under_way.items() if demand.polled is not None)
        if isinstance(step, Block):
            check_starts(step.body, may_be_polled)
        elif isinstance(step, Poll):
            for name in (name for name in step.names if name not in may_be_polled):
                what = "a poll of what was not started with `polled` before it, in its block or around it"
                raise InputError(what, step.place, value=name, allowed=nearest(name, may_be_polled))
        elif isinstance(step, Wait):
            for name in step.names:
                if under_way.pop(name, None) is None:
                    what = "a wait for what was not started before it in the same block"
                    raise InputError(what, step.place, value=name, allowed=nearest(name, under_way))
        elif step.started_as:
            if step.started_as in under_way:
                what = "two parts are started under one name, with no wait between them"
                raise InputError(what, step.place, value=step.started_as)
            under_way[step.started_as] = step
    for name, demand in under_way.items():
        what = "this is started and never waited for in its block"
        raise InputError(what, demand.place, value=name, allowed=f"wait: {name}, in the same block")
