"""Randomness applied to the durations of a Plan: imbalance and slow nodes, demands that vary, noise, bursts.

A computation has its rank's share, its processor's speed, its node's slowness, the factor of its demand, then the
factor of the noise; other operations have the applicable ones of these. Bursts add to the result.

Every factor has its place in a stream named after its phase, in the order of ranks and of their operations. So a phase
alone has the same factors as within its program; and so have two machines, whatever their constants are: repetition k
of a demand in rank r is as long a one on both (common random numbers).

Bursts: the operating system takes a length out of each period of a node's processors. When an operation begins is not
known before an engine runs, and an engine uses the durations in the Plan; so the bursts of a rank come on
the clock of its own work, the sum of its computations so far: after every ``period - length`` of it, beginning at a
phase that is sampled for each node (one for all, if together). Waiting does not move that clock. Ranks that compute all
the time meet bursts exactly when they come; of those that wait, bursts during the waits do not matter and are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPUTE, FILE_KINDS, KERNEL, MEMORY, METADATA, SEND
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.generate.passes.draft import Draft
from simcodesign.generate.passes.message_factors import MessageFactors
from simcodesign.generate.plan import NONE
from simcodesign.generate.randomness.random_streams import (
    imbalance_shares,
    random_factors,
    slow_factors,
    speed_factors,
    stream,
)

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
#: Bursts above which a clock cannot count them one by one.
MOST_BURSTS = 2.0**52
KINDS_OF = {
    "compute": (COMPUTE, KERNEL),
    "disk": (*FILE_KINDS, METADATA),
    "memory": (MEMORY,),
    "network": (SEND,),
}


def apply_randomness(draft: Draft) -> MessageFactors | None:
    """Give operations the factors of the effects; return the factors of messages, if they have any."""
    builder = draft.builder
    point, on, seed = builder.design_point, builder.on, builder.seed
    computes, duration_s = np.flatnonzero(np.isin(draft.kind, KINDS_OF["compute"])), draft.own("duration_s")
    for every in (imbalance_shares(point, on, seed), slow_factors(point, on, seed)):
        if every is not None:
            duration_s[computes] *= every[draft.rank[computes]]
    if (slowness := speed_factors(point, on)) is not None:
        on_processors = np.flatnonzero(draft.kind == COMPUTE)
        duration_s[on_processors] *= slowness[draft.rank[on_processors]]
    if Mechanism.VARIED_TIMES not in on:
        return None
    if "varies" in draft.fields:
        _apply_variations(draft)
    messages = None
    for part in point.machine.varied_parts:
        ops = computes if part == "compute" else np.flatnonzero(np.isin(draft.kind, KINDS_OF[part]))
        factor = np.ones(len(ops))
        for law, here in point.machine.noises_of(part, draft.ranks):
            if law is not None:
                every = _noise(draft, part, law, ops, builder.variations.slices if part == "memory" else 1)
                factor = every if here is None else np.where(here[draft.rank[ops]], every, factor)
        duration_s[ops] *= factor
        if part == "network":
            for name in {"flight_s", "gap_s"} & draft.fields.keys():
                draft.own(name)[ops] *= factor
            messages = MessageFactors(ops, factor)
    if point.machine.noise_model.bursts:
        _add_bursts(draft, np.flatnonzero(draft.kind == COMPUTE))
    return messages


def _apply_variations(draft: Draft) -> None:
    """One factor for every doing of a demand."""
    varies, rows = draft.fields["varies"], draft.builder.variations.rows
    mine = np.flatnonzero(varies != NONE)
    order = mine[np.argsort(varies[mine], kind="stable")]
    ends = np.cumsum(np.bincount(varies[mine], minlength=len(rows)))
    for (name, law, width), ops in zip(rows, np.split(order, ends[:-1]), strict=True):
        factor = random_factors(law, stream(draft.builder.seed, name), len(ops) // width)
        draft.duration_s[ops] *= np.repeat(factor, width)


def _noise(draft: Draft, part: str, law: Distribution, ops: Int64s, width: int) -> Floats:
    """Return a factor for each ``width`` of these operations in a row, by phase.

    A phase alone then has the same noise.
    """
    factors = np.ones(len(ops))
    of = "" if part == "compute" else f" of {part}"
    for number, phase in enumerate(draft.phases):
        mine = draft.phase[ops] == number
        count = int(np.count_nonzero(mine)) // width
        factors[mine] = np.repeat(
            random_factors(law, stream(draft.builder.seed, f"noise{of} in {phase}"), count), width
        )
    return factors


def _add_bursts(draft: Draft, computes: Int64s) -> None:
    """Add to each computation the bursts that come in it, by the clock of its rank's work."""
    machine = draft.builder.design_point.machine
    bursts = machine.noise_model.bursts
    assert bursts is not None
    generator, node = stream(draft.builder.seed, "bursts"), machine.node_of(draft.ranks)
    share = np.full(draft.ranks, generator.random()) if bursts.together else generator.random(int(node.max()) + 1)[node]
    phase_s = share * bursts.between_s
    rank = draft.rank[computes]
    counts = np.bincount(rank, minlength=draft.ranks)
    with np.errstate(all="ignore"):
        clock_s = running_sums(draft.duration_s[computes], counts) + phase_s[rank]
        come = np.floor(clock_s / bursts.between_s)
        if not np.all(come < MOST_BURSTS):
            what = "a rank computes so long that its bursts cannot be counted"
            allowed = f"less than {MOST_BURSTS * bursts.between_s:.3g} s between them, or a longer period"
            raise InputError(what, bursts.place, allowed=allowed)
        before = np.concatenate([[0.0], come[:-1]]) if len(come) else come
        first = (np.cumsum(counts) - counts)[counts > 0]
        before[first] = np.floor(phase_s / bursts.between_s)[counts > 0]
        draft.duration_s[computes] += (come - before) * bursts.length_s


def running_sums(values: Floats, counts: NDArray[Any]) -> Floats:
    """Return sums up to each value, itself included, of groups of ``counts`` values, added one by one."""
    sums = np.empty_like(values)
    if not len(values):
        return sums
    first = np.cumsum(counts) - counts
    order = np.argsort(counts, kind="stable")
    sizes, starts = np.unique(counts[order], return_index=True)
    for size, groups in zip(sizes.tolist(), np.split(order, starts[1:]), strict=True):
        index = first[groups][:, None] + np.arange(size)
        sums[index] = np.cumsum(values[index], axis=1)
    return sums
