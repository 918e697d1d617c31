"""Constants of a machine that are formulas of the number of ranks, in both readings."""

from __future__ import annotations

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from tests.builders import read_machine, workload

TEXT = """simcodesign: 1
name: m
nodes: %s
parameters: {poll: {default: 0.25}}
processor: {rate: 1 FLOP/s}
network: {topology: {kind: crossbar}, startup: %s, bandwidth: 1 GB/s}
"""
STARTUP = '"1 + poll*max(P - 2, 0)"'  # a machine as large as the ranks need has one processor without a run
PROGRAM = "- allreduce: {bytes: 0, algorithm: recursive_doubling}"


def machine(nodes: object = 64, startup: str = STARTUP) -> Machine:
    return read_machine(TEXT % (nodes, startup))


@pytest.mark.parametrize("nodes", [64, "P"])
@pytest.mark.parametrize("ranks", [2, 8, 64])
@pytest.mark.parametrize("poll", [0.25, 3.0])
def test_startups_grow_with_ranks(nodes: object, ranks: int, poll: float) -> None:
    """log2 P rounds, each of one startup."""
    given = {"P": ranks, "machine.poll": poll}
    expected = np.log2(ranks) * (1 + poll * (ranks - 2))
    assert float(sc.forecast(workload(PROGRAM), machine(nodes), given).makespan_s) == pytest.approx(expected, rel=1e-12)
    for engine in ("simpy", "compiled"):
        simulated = sc.simulate(workload(PROGRAM), machine(nodes), given, engine=engine)
        assert simulated.makespan_s == pytest.approx(expected, rel=1e-12)


def test_a_forecast_takes_many_numbers_of_ranks() -> None:
    ranks = np.array([2.0, 4.0, 16.0])
    result = sc.forecast(workload(PROGRAM), machine(), {"P": ranks})
    assert np.asarray(result.makespan_s) == pytest.approx(np.log2(ranks) * (1 + 0.25 * (ranks - 2)), rel=1e-12)


def test_a_value_that_is_given_replaces_the_formula() -> None:
    given = {"P": 8, "network.startup": 5.0}
    assert float(sc.forecast(workload(PROGRAM), machine(), given).makespan_s) == 15.0


def test_without_a_run_all_processors_work() -> None:
    assert machine().constants()["network.startup"] == 1 + 0.25 * 62


def test_bandwidths_are_formulas_too() -> None:
    text = TEXT.replace("bandwidth: 1 GB/s", "bandwidth: 8/P") % (64, "0 s")
    assert float(sc.forecast(workload(PROGRAM.replace("0", "16")), read_machine(text), {"P": 4}).makespan_s) == 16.0


def test_formulas_of_topologies_have_no_ranks() -> None:
    with pytest.raises(InputError, match="P"):
        read_machine(TEXT.replace("{kind: crossbar}", "{kind: torus, shape: [P, 8]}") % (64, "1 s"))


def test_a_constant_that_cannot_be_used_names_the_formula() -> None:
    with pytest.raises(InputError, match=r"network\.startup"):
        sc.forecast(workload(PROGRAM), machine(startup="P - 4"), {"P": 2})
