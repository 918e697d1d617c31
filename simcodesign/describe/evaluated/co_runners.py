"""Which ranks do a memory demand at the same time at the caches that they share: its co-runners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import Ints, Memory, sharers_of


@dataclass(frozen=True)
class CoRunners:
    """Sharers of every cache level.

    ``sharers``: how many ranks do the demand at one cache, a number, or one of each rank in arrays with the ranks as
    the last axis. ``caches`` (levels, P): the number of the cache that each rank has at each level; None where the
    ranks are no axis. ``present`` (..., P): who does the demand.
    """

    sharers: tuple[FloatOrArray, ...]
    caches: Ints | None = None
    present: NDArray[np.bool_] | None = None


def co_runners(
    step: EvaluatedStep, memory: Memory | None = None, here: NDArray[np.bool_] | None = None
) -> CoRunners | None:
    """Return the co-runners of a demand, None if there are no shared caches.

    Ranks of a node that do it, on processors with a common cache of a ``memory`` (None: of the machine) which the ranks
    ``here`` have, None for all.
    """
    evaluation = step.evaluation
    memory = step.machine.memory if memory is None else memory
    if memory is None or not memory.has_shared_caches:
        return None
    if not evaluation.by_rank:
        several, where = np.unique(np.asarray(evaluation.ranks, dtype=np.int64), return_inverse=True)
        of_first = np.array([sharers_of(step.machine.caches_of(int(one)))[:, 0] for one in several], dtype=np.float64)
        place = where.reshape(np.shape(evaluation.ranks))
        return CoRunners(tuple(of_level[place] for of_level in of_first.T))
    ranks, applies = evaluation.design_point.ranks, step.applies
    present = np.ones(ranks, bool)
    if applies is not None:
        present = np.broadcast_to(applies, (*np.shape(applies)[:-1], ranks))
    return co_runners_among(step.machine, present if here is None else present & here, memory)


def co_runners_among(machine: Machine, present: NDArray[np.bool_], memory: Memory | None = None) -> CoRunners | None:
    """Co-runners of a demand that the ranks do which are ``present`` (..., P), by the caches of a ``memory``.

    None: the memory of the machine.
    """
    memory = machine.memory if memory is None else memory
    if memory is None or not memory.has_shared_caches:
        return None
    ranks = present.shape[-1]
    caches = machine.caches_of(ranks, memory)
    shared = np.stack([sharers_of(caches, row) for row in present.reshape(-1, ranks)], axis=1)
    return CoRunners(tuple(shared.reshape(-1, *present.shape).astype(np.float64)), caches, present)
