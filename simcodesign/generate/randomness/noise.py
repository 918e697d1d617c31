"""Randomness applied to the durations of a Plan: imbalance and slow nodes, demands that vary, noise, bursts.

A computation has its rank's share, its processor's speed, its node's slowness, the factor of its demand, then that of
the noise; other operations have those of these that are theirs. Bursts add to what comes out.

Every factor has its place in a stream named after its phase, in the order of ranks and of their operations. So a phase
alone has the same factors as within its program; and so have two machines, whatever their constants are: repetition k
of a demand in rank r is as long a one on both (common random numbers).

Bursts: the operating system takes a length out of each period of a node's processors. When an operation begins is not
known before an engine runs, and an engine takes durations as they stand in the Plan; so the bursts of a rank come on
the clock of its own work, the sum of its computations so far: after every ``period - length`` of it, beginning at a
phase that is sampled for each node (one for all, if together). Waiting does not move that clock. Ranks that compute all
the time meet bursts exactly when they come; of those that wait, bursts during the waits do not matter and are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.memory_limit import check_memory
from simcodesign.core.operation_kinds import COMPUTE, FILE_KINDS, KERNEL, MEMORY, METADATA, SEND
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.generate.plan import NONE, LogGOPS, Plan, Routes
from simcodesign.generate.randomness.random_streams import (
    imbalance_shares,
    random_factors,
    slow_factors,
    speed_factors,
    stream,
)

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
#: Bytes that a message with a row of its own takes in the table of costs.
BYTES_PER_MESSAGE = 48
#: Bursts above which a clock cannot count them one by one.
MOST_BURSTS = 2.0**52
KINDS_OF = {
    "compute": (COMPUTE, KERNEL),
    "disk": (*FILE_KINDS, METADATA),
    "memory": (MEMORY,),
    "network": (SEND,),
}


@dataclass
class Variations:
    """The demands whose times vary, in the order of the program; ``slices``: operations that a memory demand takes;
    ``marked``: whether operations say which demand they are of."""

    slices: int = 1
    marked: bool = False
    rows: list[tuple[str, Distribution, int]] = field(default_factory=list)  # stream, law, operations at a time
    _counts: Counter[str] = field(default_factory=Counter)

    def add(self, phase: str, distribution: Distribution, width: int = 1) -> int:
        """The number of a demand of a phase, each doing of which takes ``width`` operations in a row."""
        self._counts[phase] += 1
        self.rows.append((f"demand {self._counts[phase]} of {phase}", distribution, width))
        return len(self.rows) - 1


@dataclass(frozen=True)
class Messages:
    """Factors on the times of messages: of every send of a Plan, in their order."""

    sends: Int64s
    factor: Floats

    def on_the_way(self, routes: Routes) -> Routes:
        """The routes where every message has a row of costs for itself, times its factor. Those of others, with the
        numbers after all operations, have none."""
        is_far = routes.route != NONE
        far = is_far[self.sends]
        is_far[self.sends] = False
        others = np.flatnonzero(is_far)
        sends = np.concatenate([self.sends[far], others])
        factor = np.concatenate([self.factor[far], np.ones(len(others))])
        check_memory(f"the costs of {len(sends):.3g} messages take", BYTES_PER_MESSAGE * float(len(sends)), Place())
        row, cost = routes.cost[sends], np.zeros_like(routes.cost)
        cost[sends] = np.arange(len(sends))
        names = ("inject_s", "tail_s", "interface_s", "link_s", "after_interface_s", "latency_s")
        # Transposed, since there may be a column for each group of links.
        times: dict[str, Any] = {name: (getattr(routes, name)[row].T * factor).T for name in names}
        return replace(routes, cost=cost, **times)

    def in_loggops(self, rules: LogGOPS) -> LogGOPS:
        """The rules where every message has its factor at the receiver, too."""
        times: dict[str, Any] = {name: getattr(rules, name).copy() for name in ("receive_s", "spread_s")}
        for seconds in times.values():
            seconds[self.sends] *= self.factor
        return replace(rules, **times)


def apply_randomness(
    plan: Plan,
    design_point: DesignPoint,
    effects: Collection[str],
    seed: int,
    variations: Variations,
    varies: NDArray[np.int32] | None = None,
) -> Messages | None:
    """Give the operations of a Plan their factors, in place; the factors of messages, where these have any.

    ``varies``: (N,) number of the demand of an operation among ``variations``, or NONE.
    """
    if not {"imbalance", "noise"} & {*effects}:
        return None
    computes = np.flatnonzero(np.isin(plan.kind, KINDS_OF["compute"]))
    for every in (imbalance_shares(design_point, effects, seed), slow_factors(design_point, effects, seed)):
        if every is not None:
            plan.duration_s[computes] *= every[plan.rank[computes]]
    if (slowness := speed_factors(design_point, effects)) is not None:
        on_processors = np.flatnonzero(plan.kind == COMPUTE)
        plan.duration_s[on_processors] *= slowness[plan.rank[on_processors]]
    if "noise" not in effects:
        return None
    if varies is not None:
        _apply_variations(plan, seed, variations, varies)
    messages = None
    for part in design_point.machine.varied_parts:
        ops = computes if part == "compute" else np.flatnonzero(np.isin(plan.kind, KINDS_OF[part]))
        factor = np.ones(len(ops))
        for law, here in design_point.machine.noises_of(part, plan.ranks):
            if law is not None:
                every = _noise(plan, part, law, seed, ops, variations.slices if part == "memory" else 1)
                factor = every if here is None else np.where(here[plan.rank[ops]], every, factor)
        for times in (plan.duration_s, *((plan.flight_s, plan.gap_s) if part == "network" else ())):
            if times is not None:
                times[ops] *= factor
        if part == "network":
            messages = Messages(ops, factor)
    if design_point.machine.noise_model.bursts:
        _add_bursts(plan, design_point, seed, np.flatnonzero(plan.kind == COMPUTE))
    return messages


def _apply_variations(plan: Plan, seed: int, variations: Variations, varies: NDArray[np.int32]) -> None:
    """One factor for every doing of a demand."""
    mine = np.flatnonzero(varies != NONE)
    order = mine[np.argsort(varies[mine], kind="stable")]
    ends = np.cumsum(np.bincount(varies[mine], minlength=len(variations.rows)))
    for (name, law, width), ops in zip(variations.rows, np.split(order, ends[:-1]), strict=True):
        factor = random_factors(law, stream(seed, name), len(ops) // width)
        plan.duration_s[ops] *= np.repeat(factor, width)


def _noise(plan: Plan, part: str, law: Distribution, seed: int, ops: Int64s, width: int) -> Floats:
    """A factor for each ``width`` of these operations in a row, by phase, so that a phase alone has the same noise."""
    factors = np.ones(len(ops))
    of = "" if part == "compute" else f" of {part}"
    for number, phase in enumerate(plan.phases):
        mine = plan.phase[ops] == number
        count = int(np.count_nonzero(mine)) // width
        factors[mine] = np.repeat(random_factors(law, stream(seed, f"noise{of} in {phase}"), count), width)
    return factors


def _add_bursts(plan: Plan, design_point: DesignPoint, seed: int, computes: Int64s) -> None:
    """Add to each computation the bursts that come in it, by the clock of its rank's work."""
    bursts = design_point.machine.noise_model.bursts
    assert bursts is not None
    generator, node = stream(seed, "bursts"), design_point.machine.node_of(plan.ranks)
    share = np.full(plan.ranks, generator.random()) if bursts.together else generator.random(int(node.max()) + 1)[node]
    phase_s = share * bursts.between_s
    rank = plan.rank[computes]
    counts = np.bincount(rank, minlength=plan.ranks)
    with np.errstate(all="ignore"):
        clock_s = running_sums(plan.duration_s[computes], counts) + phase_s[rank]
        come = np.floor(clock_s / bursts.between_s)
        if not np.all(come < MOST_BURSTS):
            what = "a rank computes for so long that its bursts cannot be counted"
            allowed = f"less than {MOST_BURSTS * bursts.between_s:.3g} s between them, or a longer period"
            raise InputError(what, bursts.place, allowed=allowed)
        before = np.concatenate([[0.0], come[:-1]]) if len(come) else come
        first = (np.cumsum(counts) - counts)[counts > 0]
        before[first] = np.floor(phase_s / bursts.between_s)[counts > 0]
        plan.duration_s[computes] += (come - before) * bursts.length_s


def running_sums(values: Floats, counts: NDArray[Any]) -> Floats:
    """Sums up to each value, itself included, of groups of so many, added one by one."""
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
