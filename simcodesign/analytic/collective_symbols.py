"""Collective operations as symbols: bytes that a process sends by cost functions, and messages one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.fitting.normal_form import COLLECTIVES

#: How cost functions of collective operations are called.
_NAMES = {"allreduce": "Allreduce", "broadcast": "Bcast", "all_to_all": "Alltoall", "allgather": "Allgather"}
#: Operations with several ranks, of the algorithms for which the paper gives these names.
_PAPER = {("allreduce", "recursive_doubling"), ("broadcast", "binomial"), ("all_to_all", "pairwise")}
#: (collective, algorithm) -> messages one after another for P = 2^k, and what they carry in units of ``bytes``.
MESSAGE_COUNTS: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType(
    {
        ("broadcast", "binomial"): ("log2(P)", "log2(P)"),
        ("broadcast", "linear"): ("P - 1", "P - 1"),
        ("allreduce", "recursive_doubling"): ("log2(P)", "log2(P)"),
        ("allreduce", "ring"): ("2*(P - 1)", "2*(P - 1)/P"),
        ("allreduce", "reduce_broadcast"): ("2*log2(P)", "2*log2(P)"),
        ("allgather", "ring"): ("P - 1", "P - 1"),
        ("allgather", "bruck"): ("log2(P)", "P - 1"),
        ("allgather", "linear"): ("P - 1", "P - 1"),
        ("all_to_all", "pairwise"): ("P - 1", "P - 1"),
        ("all_to_all", "linear"): ("P - 1", "P - 1"),
        ("all_to_all", "bruck"): ("log2(P)", "log2(P)*P/2"),
        ("all_broadcast", "linear"): ("P - 1", "P - 1"),
        ("barrier", "dissemination"): ("log2(P)", "log2(P)"),
    }
)


def _each_other(ranks: FloatOrArray) -> FloatOrArray:
    found: FloatOrArray = np.asarray(ranks) - 1.0
    return found


def _both_ways(ranks: FloatOrArray) -> FloatOrArray:
    found: FloatOrArray = 2.0 * (np.asarray(ranks) - 1.0) / np.asarray(ranks)
    return found


def _named(name: str) -> Callable[[FloatOrArray], FloatOrArray]:
    def shape(ranks: FloatOrArray) -> FloatOrArray:
        found: FloatOrArray = COLLECTIVES[name].numeric(np.asarray(ranks, dtype=np.float64))
        return found

    return shape


#: (collective, algorithm) -> bytes that a process sends on average, for each byte that it contributes.
COST_FUNCTIONS: Mapping[tuple[str, str], Callable[[FloatOrArray], FloatOrArray]] = MappingProxyType(
    {
        ("broadcast", "binomial"): _named("Bcast"),
        ("broadcast", "linear"): _named("Bcast"),
        ("allreduce", "recursive_doubling"): _named("Allreduce"),
        ("allreduce", "ring"): _both_ways,
        ("allreduce", "reduce_broadcast"): _both_ways,
        ("allgather", "ring"): _each_other,
        ("allgather", "bruck"): _each_other,
        ("allgather", "linear"): _each_other,
        ("all_to_all", "pairwise"): _named("Alltoall"),
        ("all_to_all", "linear"): _named("Alltoall"),
        ("all_to_all", "bruck"): lambda ranks: 0.5 * np.asarray(ranks) * np.log2(ranks),
        ("all_broadcast", "linear"): _each_other,
        ("barrier", "dissemination"): lambda ranks: 0.0 * np.asarray(ranks),
    }
)


def cost_name(operation: str, algorithm: str) -> str:
    """Its cost function as a call of a function, which stays as it is."""
    assert (operation, algorithm) in COST_FUNCTIONS
    name = _NAMES.get(operation, operation)
    return f"{name}(P)" if (operation, algorithm) in _PAPER else f"{name}_{algorithm}(P)"
