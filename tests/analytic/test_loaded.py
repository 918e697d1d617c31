"""Collectives whose messages share the memory and the interfaces of their nodes, against formulas by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
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
    passes, total = 2 * ranks * size > 1e6, 0.0
    for distance in range(1, ranks):
        out = min(distance, each, ranks - distance) if ranks > each else 0
        total += max(inside_s(size, each - out, passes), outside_s(size, out))
    return total


def loaded(step: dict[str, Any], ranks: int, **values: float) -> Any:
    work = {"name": "one", "program": [step], "parameters": {"n": {"default": 1}}}
    return sc.forecast(sc.Workload.load(work), sc.Machine.load(MACHINE), {"P": ranks, **values})


@pytest.mark.parametrize("ranks", [8, 16, 32])
@pytest.mark.parametrize("size", [1e3, 1e5, 1e6])
def test_pairwise_by_hand(size: float, ranks: int) -> None:
    """In round i, min(i, p, P - i) ranks of a node of p send to others."""
    result = loaded({"all_to_all": {"bytes": size, "algorithm": "pairwise"}}, ranks)
    assert result.loaded_s == pytest.approx(pairwise_s(size, ranks, 8), rel=ROUNDING)
