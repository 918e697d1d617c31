"""Maximum over the ranks in each phase of a recording: messages, bytes, collectives, computation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.describe.python_programs.recorded_operations import (
    COLLECTIVE,
    COMPUTE,
    COPY,
    KERNEL,
    SEND,
    Operation,
)
from simcodesign.describe.python_programs.recording import NONE, Recording

Int64s = NDArray[np.int64]
#: Metrics of messages between two ranks.
MESSAGES, BYTES = "messages", "bytes_sent"
#: Metrics of collective operations, followed by the operation: how often, bytes in all, ranks of the communicator.
CALLS, PAYLOAD, MEMBERS = "calls:", "bytes:", "ranks:"
#: Metrics of computation.
FLOPS, SECONDS = "flops", "seconds"
#: The region and metric of the memory of NumPy arrays.
PROGRAM, MEMORY = "program", "bytes_used"


@dataclass
class Counts:
    """``values[phase, metric]``, in order; ``partners[phase]``: fewest and most receivers of a rank's messages.

    ``strided[g]``: whether the ranks of a group of family g are P/size apart, otherwise they follow each other.
    """

    values: dict[tuple[str, str], float] = field(default_factory=dict)
    partners: dict[str, tuple[int, int]] = field(default_factory=dict)
    strided: dict[int, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class _Family:
    """Disjoint groups of one size, as the rows of a process grid. Number 0: all ranks."""

    number: int
    size: int
    strided: bool


def counts_of(recording: Recording) -> Counts:
    """Return the counts of a recording, each of the rank that has the most; seconds are the mean of all ranks.

    Operations on a communicator of one rank are left out. Families of communicators other than all ranks are
    numbered from 1, and the metrics of their operations end with ``@1``, ``@2`` ... Raises InputError for kernels and
    copies of accelerators.
    """
    kernels = recording.entries_of(recording.of_kind(KERNEL) | recording.of_kind(COPY))
    if len(kernels):
        what, allowed = "there are no models of what accelerators do", "a program without kernels and copies"
        raise InputError(what, recording.place_of(int(kernels[0])), allowed=allowed)
    counts = Counts()
    families = _families(recording)
    metrics = [_metrics(one, families) for one in recording.operations]
    names = {name: None for one in metrics for name in one}
    done = recording.op != NONE
    op, phase, rank = recording.op[done], recording.phase[done], recording.rank[done]
    first = {int(place): None for place in phase[np.sort(np.unique(phase, return_index=True)[1])]}
    for place in first:
        here = phase == place
        for name in names:
            amounts = np.array([one.get(name, 0.0) for one in metrics])[op[here]]
            if not amounts.any():
                continue
            of_rank = np.bincount(rank[here], amounts, minlength=recording.ranks)
            value = float(of_rank.mean() if name == SECONDS else of_rank.max())
            if name.startswith(MEMBERS):
                value = float(amounts.max())
            counts.values[recording.phases[place], name] = value
        targets = recording.column(3, (SEND,))[op[here]]
        sends = ~np.isnan(targets)
        if sends.any():
            pairs = np.unique(np.stack([rank[here][sends], targets[sends].astype(np.int64)]), axis=1)
            each = np.bincount(pairs[0], minlength=recording.ranks)
            counts.partners[recording.phases[place]] = int(each.min()), int(each.max())
    counts.strided = {family.number: family.strided for family in families if family is not None and family.number}
    return counts


def _metrics(operation: Operation, families: list[_Family | None]) -> dict[str, float]:
    """Contribution of one operation to the metrics of its rank."""
    if operation[0] == COMPUTE:
        return {str(operation[1]): float(operation[2])}
    if operation[0] == SEND:
        return {MESSAGES: 1.0, BYTES: float(operation[2])}
    if operation[0] != COLLECTIVE:
        return {}
    family = families[int(operation[6])]
    if family is None:
        return {}
    name = f"{operation[1]}@{family.number}" if family.number else str(operation[1])
    whole = {CALLS + name: 1.0, PAYLOAD + name: float(operation[2])}
    return whole | ({MEMBERS + name: float(family.size)} if family.number else {})


def _families(recording: Recording) -> list[_Family | None]:
    """Return the family of each group: all ranks, groups that were made together, or None for groups of one rank."""
    found: list[_Family | None] = []
    taken = np.zeros(recording.ranks, bool)
    number, size = 0, 0
    for colours in recording.colours:
        groups = list(_groups(colours))
        largest = max((len(group) for group in groups), default=0)
        if largest <= 1 < recording.ranks:
            found.append(None)
        elif largest == recording.ranks:
            found.append(_Family(0, largest, False))
        else:
            members = np.concatenate(groups)
            if size != largest or taken[members].any():
                number, size = number + 1, largest
                taken[:] = False
            taken[members] = True
            group = max(groups, key=len)
            found.append(_Family(number, largest, bool(group[1] - group[0] > 1)))
    return found


def _groups(colours: Int64s) -> Iterator[Int64s]:
    for colour in np.unique(colours[colours != NONE]):
        yield np.flatnonzero(colours == colour)
