"""Collectives whose messages share the memory and the interfaces of their nodes, against formulas by hand."""

from __future__ import annotations

from typing import Any

import pytest

import simcodesign as sc

ROUNDING = 1e-12
#: 30 GB/s of memory over 2 x 1.5 copies: R_m is 10 GB/s, twice the bandwidth of a message within a node.
MACHINE: dict[str, Any] = {
    "name": "full-nodes",
    "nodes": 4,
    "processors_per_node": 8,
    "processor": {"rate": "1 GFLOP/s"},
    "memory": {"latency": "90 ns", "bandwidth": "30 GB/s"},
    "network": {"topology": {"kind": "crossbar"}, "startup": "4 us", "bandwidth": "10 GB/s"},
    "node": {
        "network": {
            "topology": {"kind": "crossbar"},
            "startup": "1 us",
            "bandwidth": "5 GB/s",
            "holds_receiver": True,
        },
        "memory": {"copies": 1.5, "cache": "1 MB"},
    },
}
IN_S, IN_B, R_M = 1e-6, 5e9, 10e9
OUT_S, OUT_B = 4e-6, 10e9


def inside_s(size: float, count: float, passes: bool) -> float:
    """A round of a node: both ends are held, or the memory is the slower one."""
    lone = 2 * (IN_S + size / IN_B)
    return max(lone, IN_S + count * size / R_M) if passes and count else lone if count else 0.0


def outside_s(size: float, count: float) -> float:
    return OUT_S + size * max(1 / OUT_B, count / OUT_B) if count else 0.0


def pairwise_s(size: float, ranks: int, each: int) -> float:
    """In round i, min(i, p, P - i) ranks of a node of p send to others."""
    passes, total = 2 * ranks * size > 1e6, 0.0
    for distance in range(1, ranks):
        out = min(distance, each, ranks - distance) if ranks > each else 0
        total += max(inside_s(size, each - out, passes), outside_s(size, out))
    return total


def ring_s(size: float, ranks: int, each: int) -> float:
    """In every round one rank of a node sends to the next one."""
    out = 1 if ranks > each else 0
    passes = (ranks + 1) * size > 1e6
    return (ranks - 1) * max(inside_s(size, each - out, passes), outside_s(size, out))


def doubling_s(size: float, ranks: int, each: int) -> float:
    """Rounds at distances below p are inside, all others outside."""
    bits = [2**place for place in range(ranks.bit_length() - 1)]
    return sum(inside_s(size, each, 2 * size > 1e6) if bit < each else outside_s(size, each) for bit in bits)


def loaded(step: dict[str, Any], ranks: Any, **values: Any) -> Any:
    work = {"name": "one", "program": [step], "parameters": {"n": {"default": 1}}}
    return sc.forecast(sc.Workload.load(work), sc.Machine.load(MACHINE), {"P": ranks, **values})


@pytest.mark.parametrize("ranks", [8, 16, 32])
@pytest.mark.parametrize("size", [1e5, 1e6])
@pytest.mark.parametrize(
    ("operation", "algorithm", "by_hand"),
    [
        ("all_to_all", "pairwise", pairwise_s),
        ("allgather", "ring", ring_s),
        ("allreduce", "recursive_doubling", doubling_s),
    ],
)
def test_full_nodes_by_hand(operation: str, algorithm: str, by_hand: Any, size: float, ranks: int) -> None:
    """The max-rate model of a round: within nodes, and between them, the longer one."""
    result = loaded({operation: {"bytes": size, "algorithm": algorithm}}, ranks)
    assert result.loaded_s == pytest.approx(by_hand(size, ranks, 8), rel=ROUNDING)
    assert [one.shared_s for one in result.loaded] == [result.loaded_s]


def test_nothing_is_loaded_where_no_message_is_slower() -> None:
    """One node, and a footprint below the cache; and a machine that states nothing of what is shared."""
    result = loaded({"all_to_all": {"bytes": 1e3, "algorithm": "pairwise"}}, 8)
    assert result.loaded_s == result.makespan_s
    assert sc.forecast("jacobi", "torus-cluster", {"P": 16}).loaded_s is None


def test_many_points_are_those_of_single_forecasts() -> None:
    step = {"all_to_all": {"bytes": "n", "algorithm": "pairwise"}}
    sizes, ranks = [1e3, 1e5, 1e6, 1e5], [8, 8, 16, 16]
    every = loaded(step, ranks, n=sizes)
    for point, (size, count) in enumerate(zip(sizes, ranks, strict=True)):
        assert every.loaded_s[point] == pytest.approx(loaded(step, count, n=size).loaded_s, rel=ROUNDING)


@pytest.mark.parametrize("operation", ["broadcast", "allreduce", "allgather", "all_to_all", "barrier", "scan"])
def test_a_rank_by_itself_shares_nothing(operation: str) -> None:
    """One rank, and groups of one rank, send no message: nothing is later under load."""
    content = {} if operation == "barrier" else {"bytes": 2e6}
    assert loaded({operation: content}, 1).loaded_s == loaded({operation: content}, 1).makespan_s == 0
    alone = {"name": "one", "groups": {"own": "rank"}, "program": [{operation: {**content, "group": "own"}}]}
    result = sc.forecast(sc.Workload.load(alone), sc.Machine.load(MACHINE), {"P": 8})
    assert result.loaded_s == result.makespan_s == 0
